# Sourced after lib.sh, packages.sh and devices.sh. The tests of the packages, as they are and under the race detector. The functions beginning with all_ are
# for exhaust.sh. What the short round leaves to them stands here; no test skips itself. internal/lint finds names here that no test has.
module=$(go list -m)

# either NAME...: the pattern of tests that are called so.
either() { local IFS='|'; printf '^(%s)$' "$*"; }

# Whole matrices of faults and of shapes, of which a part runs in the short round too: random faults, the kernels' conformance, the main job itself.
long_tests=(
	TestFaultMatrix TestFaultMatrixOwnProcessors TestLongMergeFaults TestMergeFaults # every operation by every fault: TestSoak draws some
	TestTimesOfMerges TestPredictions                                                # the simulator beside recorded figures
	TestWholeFlights TestWholeColumnar TestMillion                                   # the main job, which runs by itself
	TestEvaluateOnThreads TestSameOperations                                         # tiers and threads held to each other once more
	TestPlantedOnRemoteDevice TestOnRemoteDevice                                     # a pretended device: PoCL and the emulator run the same; ranks have a line
)

# packages_but NAME...: all packages but those that begin so, the longest first, so that none of them is left for the end.
packages_but() {
	local longest but
	longest=$(printf "$module/%s\n" collective collective/faultinject table/storage dataloader table expr)
	but=$(printf "^$module/%s(/|\$)\n" "$@")
	{ printf '%s\n' "$longest"; CGO_ENABLED=0 go list ./... | grep -v -x -F "$longest"; } | grep -v -E "$but"
}

# Kernels of devices and the emulator are tested on those devices: see devices.sh. TestHouse is a section of checks.
package_tests() {
	seldom_collect
	section "tests"
	with_opencl "tests on OpenCL" || true
	with_duckdb
	local packages
	packages=$(packages_but kernels/cpu kernels/cuda kernels/opencl kernels/gpu device/cuda device/opencl internal/cuemu collective)
	VOLLEY_KERNELTEST=brief CGO_ENABLED=0 go test -vet=off -timeout 20m -skip "$(either TestHouse "${long_tests[@]}")" $packages
	section "tables on ranks, on a pretended device"
	CGO_ENABLED=0 go test -vet=off -timeout 20m -run '^TestOnRemoteDevice$' ./distributed
}

# with_duckdb: bench/distributed races DuckDB, and its test fails then without it.
with_duckdb() {
	if bash scripts/peers.sh; then require duckdb; else leave_out "DuckDB beside tables on ranks" "peers.sh could not install it"; fi
}

rank_tests() {
	seldom_collect
	section "tests of ranks, and random faults"
	CGO_ENABLED=0 go test -vet=off -timeout 20m -skip "$(either "${long_tests[@]}")" ./collective/...
}

kernel_tests() {
	seldom_collect
	section "tests of the processor's kernels, by tiers"
	VOLLEY_KERNELTEST=brief CGO_ENABLED=0 go test -vet=off -timeout 20m -skip "$(either "${long_tests[@]}")" ./kernels/cpu
}

# Ranks that look for each other a second at a time are not found where another test has the processors: they run alone.
ranks=(collective distributed gang)

all_tests() {
	section "tests at their full extent"
	with_opencl "tests on OpenCL" || true
	with_duckdb
	local packages
	packages=$(packages_but kernels/cuda kernels/opencl kernels/gpu device/cuda device/opencl internal/cuemu "${ranks[@]}")
	CGO_ENABLED=0 go test -count=1 -vet=off -timeout 40m $packages
}

all_rank_tests() {
	section "tests of ranks at their full extent"
	CGO_ENABLED=0 go test -count=1 -vet=off -timeout 40m $(printf './%s/... ' "${ranks[@]}")
}

# The race detector proves that goroutines share nothing unguarded. It cannot see loops in assembly, and wrong answers, which the tests without it find, are
# not what it is for. Left out therefore: products of matrices, millions of rows, planted errors, and what decodes on one goroutine. It makes pools forget, so
# that what an operation allocates cannot be told under it. Programs need not sleep for a second before they end, for goroutines that are still running.
export GORACE=atexit_sleep_ms=10
race_skips='Loops$|Planted|^TestSuiteOnRemoteDevice$/^Matrix$'
no_race=(TestGEMM TestMillion TestWholeFlights TestSimulate TestLongMergeFaults TestManyRanks TestObjects TestDiedMultiplying TestSteady TestHouse
	TestPredictions TestSuiteOnFewTypes TestPeakMemory TestJoinOfManyPairs TestJoinOfCloseKeys TestGrid TestLastDigits TestParseFloat TestWordsDamaged
	TestDictionaryIndex)

# race ARGUMENT...: go test under the detector. What is tested collects garbage as programs do.
race() { CGO_ENABLED=1 go test -race -vet=off -timeout 80m "$@"; }

# with_race_detector WHAT: whether the race detector can be had; drivers that are there are a must, so that tests of devices find some.
with_race_detector() {
	c_compiler || { leave_out "$1" "$why"; return 1; }
	with_opencl "$1 on OpenCL" || true
	if with_emulator "$1 on the emulated CUDA driver"; then require cuda; fi
}

# Where goroutines share memory, short. Of the backends of kernels/gpu none is needed: device/opencl and device/cuda start the goroutines.
races() {
	section "tests under the race detector"
	with_race_detector "tests under the race detector" || return 0
	race -short -skip "$race_skips|$(either "${no_race[@]}" "${long_tests[@]}" "${slow_races[@]}")" ./device/... ./memory ./expr ./table/... ./dataloader/... ./cgo \
		./collective ./collective/transport/... ./flow/... ./gang
	race -short -run "$(either "${race_tables[@]}")" ./distributed
	# The pool and what calls it: whole columns on several workers.
	VOLLEY_KERNELTEST=tiny race -short -run 'Threads|Detour|Pool|^(TestGeneric|TestJoinOneKeyTwice)$' -skip "$(either "${long_tests[@]}")" ./kernels/cpu
}
# Tables on ranks: one or two of each kind. All of them take minutes under the detector.
race_tables=(
	TestTransports TestRankDies TestOneRankIsCanceled TestOneRankHasNoMemory TestJoinAfterJoin TestJoinSpreadsHeavyKeys TestWriteAndScan
	TestDictionariesThatDoNotFitTogether
)
# More of the same, each of which takes half a minute and more under the detector.
slow_races=(
	TestDeterministic TestDeterministicOnMachines TestOperationsOverTransports TestGatherAndScatterInPlace TestExchangesAgainAndAgain TestMachines
	TestMergedAllReduce TestMiddleMessages TestWeighsBothWays TestNoMismatchPassesEverywhere
	TestOperationsWithinTooLittleMemory TestWorkersGiveTheSameBits TestWorkersGiveTheSameBitsOfManyRows TestFlowOfConstants TestFlowOfSpoiltTables
	TestJoinKeysInReaders TestFiltersOfSmallBatches TestIPCFlips TestIPCFlipsWithoutChecksums TestIPCCut TestFrames TestFlips TestFlipsFlights TestParquetAsArrow TestWorthDictionary
)

all_races() {
	section "all tests under the race detector"
	with_race_detector "tests under the race detector" || return 0
	with_duckdb
	local packages
	packages=$(packages_but kernels/opencl kernels/cuda "${ranks[@]}")
	race -count=1 -skip "$race_skips|$(either "${no_race[@]}")" $packages ./cgo
	VOLLEY_KERNELTEST=tiny race -count=1 ./kernels/opencl
}

# collective/algorithm starts no goroutine.
all_rank_races() {
	section "tests of ranks under the race detector"
	c_compiler || { leave_out "tests of ranks under the race detector" "$why"; return 0; }
	local packages
	packages=$(CGO_ENABLED=0 go list $(printf './%s/... ' "${ranks[@]}"))
	race -count=1 -skip "$race_skips|$(either "${no_race[@]}")" $(grep -v -x -F -e "$module/collective/algorithm" -e "$module/collective/faultinject" <<<"$packages")
}

fault_races() {
	section "faults of ranks under the race detector"
	c_compiler || { leave_out "faults of ranks under the race detector" "$why"; return 0; }
	race -count=1 -skip "$race_skips|$(either "${no_race[@]}")" ./collective/faultinject
}

# The program ends with a status other than 0 when an answer is wrong or the devices disagree.
main_job() {
	section "main job: volley bench flights"
	opencl || leave_out "the main job on OpenCL" "$why"
	keep env CGO_ENABLED=0 go run ./cmd/volley bench flights --json
	case $kept in
	*'"answer"'*'"agree":true'*) ;;
	*)
		echo "volley bench flights printed no answer on which all engines agree" >&2
		exit 1
		;;
	esac
}
