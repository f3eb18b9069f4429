#!/usr/bin/env bash
# Everything that must hold before a change goes in: house rules, vet, staticcheck, types on every system, tests, tests under the race
# detector, and the main job with its answers checked. Stops at the first section that fails.
# The GPU backends run without a GPU: OpenCL on the processor, CUDA on an emulated driver; their PTX is made again and assembled (see gpu.sh).
# Installs: Go modules into Go's module cache; with apt-get gcc, libc6-dev, g++, PoCL and oclgrind where they are missing (see compiler.sh,
# opencl.sh, cuda.sh); from PyPI NVIDIA's compilers and headers into .cuda/ (see cuda.sh, gorgonia.sh).
# Libraries to compare results with, from PyPI into .venv and with apt-get (see peers.sh, collective_peers.sh).
# What needs one processor for long runs beside the rest, and so does what is downloaded (see beside, in lib.sh): its output comes when both are through.
# CI=true makes leaving anything out a failure.
. "$(dirname "$0")/lib.sh"
. scripts/compiler.sh
. scripts/packages.sh
. scripts/opencl.sh
. scripts/opencl_tests.sh
. scripts/cuda.sh

against=openmpi,mpich
if [ "${CI:-}" = true ] || /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	against=$against,gloo
fi

# What is missing is downloaded while Go compiles. A section that finds it missing all the same tries again, and says why.
libraries() {
	section "downloads: compilers, OpenCL, NVIDIA's compilers"
	opencl || true
	c_compiler || true
	packages g++ g++ || true
	wheel nvidia/cuda_nvrtc/lib/libnvrtc.so.12 nvidia-cuda-nvrtc-cu12==12.0.140 || true
	wheel nvidia/cu13/bin/ptxas nvidia-cuda-nvcc==13.0.88 || true
	intel_opencl || true
}
partners() {
	section "downloads: libraries to compare with"
	bash scripts/peers.sh || true
	bash scripts/collective_peers.sh "$against" || true
	bash scripts/python.sh environment || true
	packages valgrind valgrind || true
	packages pkg-config pkg-config || true
	packages cmake cmake make || true
}
# Compilers and tests that collect garbage seldom take a tenth less time, and up to the limit the memory is there. Sections that measure are without it.
export GOGC=400 GOMEMLIMIT=3GiB
go version
beside libraries
beside partners
house_rules
vet
staticcheck
build
assembly

# Another processor's code is for a compiler: ours as it is shipped, the packages of others, of which it wants only the exported names, not optimised.
# Nobody debugs them. A compiler that runs for seconds need not collect. Other systems have other files, of which reading says as much as compiling them
# and all that they import would, in a tenth of the time.
section "build for linux/arm64"
plain='-N -l -dwarf=false'
GOGC=off GOMEMLIMIT=1GiB GOOS=linux GOARCH=arm64 CGO_ENABLED=0 \
	go build -ldflags='-s -w' -gcflags="all=$plain" -gcflags="$(go list -m)/...=" ./...

section "types for other systems"
CGO_ENABLED=0 go run ./internal/typecheck darwin/arm64 windows/amd64

section "build with the tag purego: no assembly"
CGO_ENABLED=0 go vet -tags purego ./kernels/cpu ./internal/release
CGO_ENABLED=0 go test -tags purego -run '^(TestTiers|TestTierByName)' ./kernels/cpu

section "build with the tag cpuonly: a program that needs no library"
program=$(mktemp)
CGO_ENABLED=0 GOOS=linux go build -tags cpuonly -o "$program" ./cmd/volley
if grep -q -a -F ld-linux "$program"; then
	echo "volley built with the tag cpuonly is linked with the C library" >&2
	exit 1
fi
rm "$program"
CGO_ENABLED=0 go test -tags cpuonly ./internal/dl ./device/...

# Everything has been vetted above. What has other files elsewhere, by a tag or with cgo, says so: see gogl.sh, gorgonia.sh and capi.sh.
export GOFLAGS="$GOFLAGS -vet=off"

together libraries
section "OpenCL on this machine's processor"
if opencl; then
	export VOLLEY_REQUIRE=opencl # a test that finds no OpenCL fails
else
	leave_out "tests on OpenCL" "$why_no_opencl"
fi

emulated=none
packages g++ g++ && emulated=$(go list -m)/kernels/cuda # emulator_sections says when it is missing

# The interfaces to other languages: compilers and short programs, of which each waits for the one before.
bindings() {
	section "C interface and Python package"
	if c_compiler && packages g++ g++; then
		bash scripts/capi.sh
		bash scripts/python.sh
	else
		leave_out "the C interface and the Python package" "${why_no_compiler:-$why}"
	fi
}

# What is about devices has mostly one thread, and goes beside the rest, and so does what is about other languages.
devices() {
	emulator_sections
	oclgrind_sections
	section "CUDA through gorgonia.org/cu"
	bash scripts/gorgonia.sh
	section "OpenCL through go-gl/cl"
	bash scripts/gogl.sh
	opencl_sections
	ptx_sections
	unset GOGC GOMEMLIMIT
	bindings
}
together partners # bindings compares with them
beside devices

section "tests"
# The longest go first, so that none of them is left for the end; kernels/gpu well ahead of kernels/opencl, which finds its compiled programs. Without cgo
# there is no package cgo, which is tested below.
longest=$(printf "$(go list -m)/%s\n" kernels/{gpu,cuda,cpu} table/storage kernels/kerneltest dataloader table expr kernels/opencl collective)
ordered=$longest$'\n'$(CGO_ENABLED=0 go list ./... | grep -v -x -F "$longest")
# Where there is a C++ compiler, emulator_sections runs the tests of kernels/cuda, on devices that do all in an order of their own.
CGO_ENABLED=0 go test -timeout 20m $(grep -v -x "$emulated" <<<"$ordered")

unset GOGC GOMEMLIMIT
section "tests under the race detector"
if c_compiler; then
	# Proves that goroutines share nothing unguarded. Of the backends of kernels/gpu one is enough: the host side is the same, and device/cuda has its
	# own tests; collective/algorithm starts no goroutine. Of tables, files of every damaged byte and joins of millions of rows are left to the section
	# without the detector, which makes them ten times as long: they run the same goroutines as short ones.
	# Loops in assembly it cannot see, and wrong answers, which kerneltest plants to be found, are not what it is about. Products of matrices, the million
	# flights, their command, which measures the memory first, and the simulator's are minutes of arithmetic that the tests of their kernels, tables and
	# loader run under it as well; the matrix of faults is the same goroutines as random faults over the same transports, long merged vectors are added by
	# those of short ones, and a set with fewer types has the kernels of the whole one. What a batch or an operation allocates it cannot tell: it makes pools forget.
	# House rules are read from files.
	# A race is told when it happens. The second that each program would wait at its end, for goroutines that are still running, is one for each of a
	# hundred processes that tests start and kill.
	export GORACE=atexit_sleep_ms=10
	skip='Loops$|^TestPlanted|^TestSuiteOnReference$/^Planted$|^TestSuiteOnRemoteDevice$/^Matrix$'
	skip="$skip|^(TestGEMM|TestMillion|TestWholeFlights|TestSimulate|TestFaultMatrix|TestFaultMatrixOwnProcessors|TestLongMergeFaults|TestManyRanks|TestObjects|TestDiedMultiplying|TestSteady|TestHouse|TestPredictions|TestSuiteOnFewTypes)$"
	watched="$(grep -v -e '/kernels/opencl$' -e '/kernels/cuda$' -e '/collective/algorithm$' -e '/table$' -e '/table/storage$' <<<"$ordered") ./cgo"
	# Compiled first, by compilers that collect seldom (see the top): what is tested collects as programs do.
	GOGC=400 CGO_ENABLED=1 go list -race -test -export -deps $watched ./table ./table/storage ./kernels/opencl >/dev/null
	CGO_ENABLED=1 go test -race -timeout 40m -skip "$skip" $watched
	# Joins of millions of rows, one of which takes them whatever -short says; what decodes texts and pages on one goroutine.
	skip="$large_tables|^(TestJoinOfCloseKeys|TestGrid|TestLastDigits|TestParseFloat|TestWordsDamaged|TestDictionaryIndex)$"
	CGO_ENABLED=1 go test -race -short -skip "$skip" -timeout 40m ./table ./table/storage
	VOLLEY_KERNELTEST=tiny CGO_ENABLED=1 go test -race -timeout 40m ./kernels/opencl
	unset GORACE
else
	leave_out "tests under the race detector" "$why_no_compiler"
fi

# The program ends with a status other than 0 when an answer is wrong or the devices disagree.
section "main job: volley bench flights"
answers=$(CGO_ENABLED=0 go run ./cmd/volley bench flights --json)
printf '%s\n' "$answers"
case $answers in
*'"answer"'*) ;;
*)
	echo "volley bench flights printed no answer" >&2
	exit 1
	;;
esac

# Every operation by every peer, at a size that takes seconds; the program fails where a result is not ours.
section "peers: results equal"
if bash scripts/peers.sh; then
	raced=$(CGO_ENABLED=0 go run ./cmd/volley bench columnar --peers --rows 1e5 --runs 1)
	printf '%s\n' "$raced"
	case $raced in
	*': failed: '*)
		echo "a peer failed at an operation that it has" >&2
		exit 1
		;;
	esac
else
	leave_out "races against other libraries" "scripts/peers.sh could not install them"
fi

# Ranks wait for each other by looking: they want the processors for themselves.
together devices

# A few sizes by every library: the program fails where a result is wrong. On a build machine (CI=true) all three must be there; elsewhere Gloo,
# which comes with PyTorch (1.5 GB), is asked where that is installed.
section "collective operations: results equal"
if bash scripts/collective_peers.sh "$against"; then
	CGO_ENABLED=0 go run ./cmd/volley bench collective --peers --against "$against" --sizes 8,4K,1M --ranks 2 --runs 1

	section "collective operations over MPI"
	bash scripts/mpi.sh
else
	leave_out "races of collective operations, and those over MPI" "scripts/collective_peers.sh could not install the libraries"
fi

finish
