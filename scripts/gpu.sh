#!/usr/bin/env bash
# The GPU backends without a GPU: OpenCL on PoCL, CUDA on the emulated driver, the PTX, and the bundle for a real card (see devices.sh).
# gpu.sh runs what test.sh runs of them; gpu.sh opencl|emulator|ptx|check|long one part; gpu.sh generate makes the PTX that is missing or out of date.
# CI=true makes leaving anything out a failure.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/opencl.sh
. scripts/devices.sh

case ${1:-all} in
all)
	opencl_kernels
	opencl_tables
	cuda_kernels
	cuda_tables
	ptx
	;;
opencl)
	opencl_kernels
	opencl_tables
	;;
emulator)
	cuda_kernels
	cuda_tables
	;;
ptx) ptx ;;
check) gpu_bundle ;;
long)
	opencl_long
	oclgrind_long
	intel_long
	cuda_long
	gpu_bundle
	;;
generate)
	wheel nvidia/cuda_nvrtc/lib/libnvrtc.so.12 nvidia-cuda-nvrtc-cu12==12.0.140 || { echo "$why" >&2; exit 1; }
	section "PTX: made"
	CGO_ENABLED=0 go generate ./kernels/cuda
	;;
*)
	echo "usage: gpu.sh [opencl|emulator|ptx|check|long|generate]" >&2
	exit 2
	;;
esac
finish
