# Sourced after lib.sh, packages.sh and opencl.sh. The GPU backends without a GPU: OpenCL on PoCL; CUDA on the emulated driver of internal/cuemu, with
# threads and blocks in an order that its seed draws, and its PTX made again and assembled. The functions ending in _long are for exhaust.sh.
# They install PoCL, Oclgrind and g++ with apt-get, and fetch NVRTC, ptxas and Intel's runtime from PyPI into the user's cache folder.

# Tests of four million rows and of a hundred million pairs, which take a minute and more on a device here and depend neither on the number of devices nor
# on how the driver is called. The host runs them.
large_tables='^(TestPeakMemory|TestJoinOfManyPairs)$'
# The 22 queries of TPC-H, from memory and from files.
whole_queries='^TestAnswers$'
on_device='^(TestOnDevice|TestGathersOnDevice|TestGathersColumnsOnDevice|TestRefusedOnDevice|TestHostMakesForDevice)$'
device_collectives='^(TestBackend|TestColumnsOfABackend|TestReduceOfABackend|TestDeathOfAsync|TestCanceledAsync|TestClosed|TestRefusesCounts|TestCountsDiffer)$'

# device_test ARGUMENT...: go test, of what another device may have changed, vetted elsewhere.
device_test() { CGO_ENABLED=${CGO_ENABLED:-0} go test -vet=off -count=1 -timeout 20m "$@"; }

# with_opencl WHAT: whether there is PoCL; a test that does not find it fails then.
with_opencl() {
	if ! opencl; then
		leave_out "$1" "$why"
		return 1
	fi
	require opencl
}

# require THING: a test that does not find it fails.
require() {
	case ,${VOLLEY_REQUIRE:-}, in
	*,$1,*) ;;
	*) export VOLLEY_REQUIRE=${VOLLEY_REQUIRE:+$VOLLEY_REQUIRE,}$1 ;;
	esac
}

opencl_kernels() {
	seldom_collect
	with_opencl "kernels on OpenCL" || return 0
	section "OpenCL: the conformance suite"
	device_test -skip '^TestEntries$' ./device/opencl ./kernels/opencl ./kernels/gpu # opencl_long and oclgrind_long have those
}

opencl_tables() {
	seldom_collect
	with_opencl "tables on OpenCL" || return 0
	section "OpenCL: tables, files and expressions"
	VOLLEY_BACKEND=opencl device_test -short -skip "$large_tables" ./expr ./table ./table/storage
	VOLLEY_BACKEND=opencl device_test -run "$whole_queries" ./bench/tpch

	section "OpenCL: collectives, and batches copied to the device"
	VOLLEY_BACKEND=opencl device_test -run "$device_collectives" ./collective/ondevice ./collective/columns
	VOLLEY_BACKEND=opencl device_test -run "$on_device" ./dataloader
}

opencl_long() {
	with_opencl "kernels on OpenCL" || return 0
	section "OpenCL: two devices"
	POCL_DEVICES="pthread pthread" VOLLEY_KERNELTEST=tiny device_test ./device/opencl ./kernels/opencl
	device_test -run '^TestEntries$' ./kernels/gpu
	POCL_DEVICES="pthread pthread" CGO_ENABLED=0 go run ./cmd/volley bench flights --runs 1 --json
	POCL_DEVICES="pthread pthread" CGO_ENABLED=0 go run ./cmd/volley bench tpch --data testdata/tpch --scale 0.01 --runs 1 --json

	# On the second of two devices, and called with cgo: which device a call is for, and how it is called, know nothing of each other.
	section "OpenCL: with cgo"
	if c_compiler; then
		CGO_ENABLED=1 VOLLEY_KERNELTEST=tiny device_test ./device/opencl ./kernels/opencl
		CGO_ENABLED=1 go run ./cmd/volley bench flights --device opencl:0 --runs 1 --json
		POCL_DEVICES="pthread pthread" CGO_ENABLED=1 VOLLEY_BACKEND=opencl:1 device_test ./expr ./table ./table/storage
	else
		leave_out "OpenCL with cgo" "$why"
	fi
}

oclgrind_long() {
	with_opencl "kernels under Oclgrind" || return 0
	section "OpenCL: under Oclgrind"
	oclgrind || { leave_out "kernels under Oclgrind" "$why"; return 0; }
	under_oclgrind device_test ./device/opencl
	# Fails too where an entry of a kernel's module is launched by none of its cases.
	under_oclgrind device_test -run '^TestEntries$' ./kernels/gpu
	local planted status=0
	planted=$(VOLLEY_RACE=planted under_oclgrind device_test -run '^TestPlantedRace$' ./kernels/opencl 2>&1) || status=$?
	if [ "$status" = 0 ] || [ "${planted/data race/}" = "$planted" ]; then
		printf '%s\n' "$planted" "Oclgrind does not see a race that was planted" >&2
		exit 1
	fi
}

# What PoCL 3.1 has not got: warps made of sub-groups, and a second compiler and driver for all kernels. A test fails where sub-groups are not in use.
intel_long() {
	with_opencl "sub-groups on OpenCL" || return 0
	section "OpenCL: sub-groups (Intel's runtime)"
	intel_opencl || { leave_out "sub-groups on OpenCL" "$why"; return 0; }
	local devices
	devices=$(CGO_ENABLED=0 under_intel go run ./cmd/volley devices)
	if [ "${devices/opencl:0 /}" = "$devices" ]; then
		printf "%s\n" "$devices"
		leave_out "sub-groups on OpenCL" "Intel's runtime offers no device on this processor"
		return
	fi
	require subgroups
	VOLLEY_KERNELTEST=tiny under_intel device_test -skip '^TestPlanted|^TestConformance$/.*/^(Expressions|Support)$' ./device/opencl ./kernels/opencl ./kernels/gpu
	# A program is compiled for every expression, half of all that this compiler's time goes to: some of them.
	VOLLEY_KERNELTEST=least under_intel device_test -run '^TestConformance$/.*/^Expressions$' ./kernels/opencl
}

# on_emulator SEED COMMAND...: the command on the emulated driver, in an order of threads and blocks, with a log that must stay empty. A shell of its
# own keeps the variables from what comes after.
on_emulator() (
	log=$(mktemp "$scratch/XXXXXX")
	variables=$(CGO_ENABLED=0 go run ./internal/cuemu/build)
	eval "$variables"
	CUEMU_SEED=$1 CUEMU_LOG=$log CGO_ENABLED=0 VOLLEY_REQUIRE=cuda "${@:2}"
	if [ -s "$log" ]; then
		echo "the emulated driver found:" >&2
		head -n 40 "$log" >&2
		exit 1
	fi
)

# with_emulator WHAT: whether the emulated driver can be built.
with_emulator() {
	packages g++ g++ && return 0
	leave_out "$1" "$why"
	return 1
}

cuda_kernels() {
	seldom_collect
	with_emulator "the CUDA backend on the emulated driver" || return 0
	section "CUDA: the emulated driver"
	device_test ./internal/cuemu
	# Its tests set what the emulator writes, and where.
	(eval "$(CGO_ENABLED=0 go run ./internal/cuemu/build)" && CUEMU_SEED=1 VOLLEY_REQUIRE=cuda device_test ./device/cuda)
	section "CUDA on the emulated driver: the conformance suite"
	on_emulator 1 device_test ./kernels/cuda
}

cuda_tables() {
	seldom_collect
	with_emulator "tables on the emulated CUDA driver" || return 0
	section "CUDA on the emulated driver: tables, files and expressions"
	VOLLEY_BACKEND=cuda on_emulator 4 device_test -short -skip "$large_tables" ./expr ./table ./table/storage
	VOLLEY_BACKEND=cuda on_emulator 4 device_test -run "$whole_queries" ./bench/tpch
	section "CUDA on the emulated driver: collectives, also over the emulated NCCL, and batches copied to the device"
	VOLLEY_BACKEND=cuda CUEMU_DEVICES=4 VOLLEY_NCCL_LIBRARY=$(CGO_ENABLED=0 go run ./internal/ncclemu/build) \
		on_emulator 6 device_test ./collective/transport/nccl ./collective/internal/direct ./collective/ondevice ./collective/columns
	section "CUDA on the emulated driver: tables between GPUs over the emulated NCCL"
	VOLLEY_BACKEND=cuda CUEMU_DEVICES=4 VOLLEY_NCCL_LIBRARY=$(CGO_ENABLED=0 go run ./internal/ncclemu/build) on_emulator 6 device_test -run '^TestNCCL' ./distributed
	VOLLEY_BACKEND=cuda on_emulator 1 device_test -run "$on_device" ./dataloader
}

cuda_long() {
	with_emulator "two emulated cards" || return 0
	section "CUDA on the emulated driver: two devices, in the natural order"
	CUEMU_DEVICES=2 VOLLEY_KERNELTEST=tiny on_emulator 0 device_test -run '^TestConformance$/.*/(Elementwise|Movement|Joins)' ./kernels/cuda
	section "CUDA on the emulated driver: all tests of tables, files and expressions"
	VOLLEY_BACKEND=cuda on_emulator 4 device_test -skip "$large_tables" ./expr ./table ./table/storage
	# One run of each step: the answers are checked once, and times on an emulated driver say nothing.
	section "CUDA on the emulated driver: the main job and whole queries on every device"
	CUEMU_DEVICES=2 on_emulator 5 go run ./cmd/volley bench flights --runs 1 --json
	CUEMU_DEVICES=2 on_emulator 5 go run ./cmd/volley bench tpch --data testdata/tpch --scale 0.01 --runs 1 --json
}

ptx() {
	seldom_collect
	section "PTX: made again, byte for byte"
	if wheel nvidia/cuda_nvrtc/lib/libnvrtc.so.12 nvidia-cuda-nvrtc-cu12==12.0.140; then
		CGO_ENABLED=0 go run ./internal/ptxgen -check
	else
		leave_out "the PTX made again" "$why"
	fi
	section "PTX: assembled for each GPU, without spills"
	if wheel nvidia/cu13/bin/ptxas nvidia-cuda-nvcc==13.0.88; then
		CGO_ENABLED=0 go run ./internal/ptxgen -ptxas "$wheel_folder/nvidia/cu13/bin/ptxas"
	else
		leave_out "the PTX assembled" "$why"
	fi
}

# gpu_bundle: the bundle for a real card, whose runner is tried on the emulated driver.
gpu_bundle() {
	section "gpu-check: the bundle for a real GPU, its runner on the emulated driver"
	with_emulator "the dry run of gpu-check" || return 0
	bash scripts/gpu-check --dry-run
}
