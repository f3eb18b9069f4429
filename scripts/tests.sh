# Sourced after lib.sh and packages.sh. The tests of the packages, as they are and under the race detector. The functions beginning with all_ are for
# exhaust.sh. What the short round leaves to them stands here; no test skips itself.
module=$(go list -m)

# either NAME...: the pattern of tests that are called so.
either() { local IFS='|'; printf '^(%s)$' "$*"; }

# Whole matrices of faults and of shapes, of which a part runs in the short round too: random faults, the kernels' conformance, the main job itself.
long_tests=(
	TestFaultMatrix TestFaultMatrixOwnProcessors TestLongMergeFaults TestMergeFaults # every operation by every fault: TestSoak draws some
	TestTimesOfMerges TestPredictions                                                # the simulator beside recorded figures
	TestWholeFlights TestWholeColumnar TestMillion                                   # the main job, which runs by itself
	TestEvaluateOnThreads TestSameOperations                                         # tiers and threads held to each other once more
	TestPlantedOnRemoteDevice TestOnRemoteDevice                                     # a pretended device: PoCL and the emulator run the same
)

# packages_but NAME...: all packages but those that begin so, the longest first, so that none of them is left for the end.
packages_but() {
	local longest but
	longest=$(printf "$module/%s\n" collective collective/faultinject table/storage dataloader table expr)
	but=$(printf "^$module/%s(/|\$)\n" "$@")
	{ printf '%s\n' "$longest"; CGO_ENABLED=0 go list ./... | grep -v -x -F "$longest"; } | grep -v -E "$but"
}

# Kernels of devices and the emulator are tested on those devices: see devices.sh.
package_tests() {
	seldom_collect
	section "tests"
	with_opencl "tests on OpenCL" || true
	CGO_ENABLED=0 go test -vet=off -timeout 20m -skip "$(either "${long_tests[@]}")" \
		$(packages_but kernels/cpu kernels/cuda kernels/opencl kernels/gpu device/cuda device/opencl internal/cuemu collective)
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

all_tests() {
	section "tests at their full extent"
	with_opencl "tests on OpenCL" || true
	CGO_ENABLED=0 go test -count=1 -vet=off -timeout 40m $(packages_but kernels/cuda kernels/opencl kernels/gpu device/cuda device/opencl internal/cuemu)
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
race() { CGO_ENABLED=1 go test -race -vet=off -timeout 40m "$@"; }

# Where goroutines share memory, short. Of the backends of kernels/gpu none is needed: device/opencl and device/cuda start the goroutines.
races() {
	section "tests under the race detector"
	c_compiler || { leave_out "tests under the race detector" "$why"; return 0; }
	race -short -skip "$race_skips|$(either "${no_race[@]}" "${long_tests[@]}" "${slow_races[@]}")" ./device/... ./memory ./expr ./table/... ./dataloader/... ./cgo \
		./collective ./collective/transport/...
	# The pool and what calls it: whole columns on several workers.
	VOLLEY_KERNELTEST=tiny race -short -run 'Threads|Detour|Pool|^TestGeneric$' -skip "$(either "${long_tests[@]}")" ./kernels/cpu
}
# More of the same, each of which takes half a minute and more under the detector.
slow_races=(
	TestDeterministic TestDeterministicOnMachines TestOperationsOverTransports TestGatherAndScatterInPlace TestExchangesAgainAndAgain TestMachines
	TestMergedAllReduce TestMiddleMessages TestWeighsBothWays TestNoMismatchPassesEverywhere
	TestIPCFlips TestIPCFlipsWithoutChecksums TestIPCCut TestFrames TestFlips TestFlipsFlights TestParquetAsArrow TestWorthDictionary
)

all_races() {
	section "all tests under the race detector"
	c_compiler || { leave_out "tests under the race detector" "$why"; return 0; }
	with_opencl "tests on OpenCL" || true
	race -count=1 -skip "$race_skips|$(either "${no_race[@]}")" $(packages_but kernels/opencl kernels/cuda collective/algorithm collective/faultinject) ./cgo
	VOLLEY_KERNELTEST=tiny race -count=1 ./kernels/opencl
}

# Ranks that look for each other a second at a time are not found by it where another test has the processors.
fault_races() {
	section "faults of ranks under the race detector"
	c_compiler || { leave_out "faults of ranks under the race detector" "$why"; return 0; }
	race -count=1 -skip "$race_skips|$(either "${no_race[@]}")" ./collective/faultinject
}

# The program ends with a status other than 0 when an answer is wrong or the devices disagree.
main_job() {
	section "main job: volley bench flights"
	opencl || leave_out "the main job on OpenCL" "$why"
	local answers
	answers=$(CGO_ENABLED=0 go run ./cmd/volley bench flights --json)
	case $answers in
	*'"answer"'*'"agree":true'*) printf '%s\n' "$answers" | cut -c 1-300 ;;
	*)
		printf '%s\n' "$answers"
		echo "volley bench flights printed no answer on which all engines agree" >&2
		exit 1
		;;
	esac
}
