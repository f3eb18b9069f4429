#!/usr/bin/env bash
# The GPU backends without a GPU, as scripts/test.sh runs them: OpenCL on PoCL and oclgrind, CUDA on the emulated driver, the PTX.
# Then the bundle for a real card, whose runner is tried (gpu-check).
# gpu.sh opencl|emulator|ptx|check runs one part; gpu.sh generate makes the PTX that is missing or out of date.
# Installs: see opencl.sh and cuda.sh. CI=true makes leaving anything out a failure.
. "$(dirname "$0")/lib.sh"
. scripts/compiler.sh
. scripts/packages.sh
. scripts/opencl.sh
. scripts/opencl_tests.sh
. scripts/cuda.sh

opencl_suite() {
	opencl || return 0 # opencl_sections says why
	section "OpenCL: the conformance suite"
	CGO_ENABLED=0 VOLLEY_REQUIRE=opencl go test -count=1 -timeout 20m ./device/opencl ./kernels/opencl
	c_compiler || return 0 # opencl_sections says why
	CGO_ENABLED=1 VOLLEY_REQUIRE=opencl VOLLEY_KERNELTEST=tiny go test -count=1 -timeout 20m ./device/opencl ./kernels/opencl
}

check_section() {
	section "gpu-check: the bundle for a real GPU, its runner on the emulated driver"
	if packages g++ g++; then
		bash scripts/gpu-check --dry-run
	else
		leave_out "the dry run of gpu-check" "$why"
	fi
}

case ${1:-all} in
all)
	opencl_suite
	opencl_sections
	emulator_sections
	ptx_sections
	check_section
	;;
opencl)
	opencl_suite
	opencl_sections
	;;
emulator) emulator_sections ;;
ptx) ptx_sections ;;
check) check_section ;;
generate)
	wheel nvidia/cuda_nvrtc/lib/libnvrtc.so.12 nvidia-cuda-nvrtc-cu12==12.0.140 || { echo "$why" >&2; exit 1; }
	section "PTX: made"
	CGO_ENABLED=0 go generate ./kernels/cuda
	;;
*)
	echo "usage: gpu.sh [opencl|emulator|ptx|check|generate]" >&2
	exit 2
	;;
esac
finish
