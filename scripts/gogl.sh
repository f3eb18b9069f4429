#!/usr/bin/env bash
# The OpenCL suite on the other provider of the driver: github.com/go-gl/cl behind the build tag gogl_cl, linked with cgo. It needs a C
# compiler, the headers in CL/ and the loader libOpenCL. Its cgo lines name a library CL, which is no longer called so: a linker script
# stands in for it; and its structs are those of OpenCL 1.2, which today's headers give when asked for that version, but for two
# names of values that came later.
. "$(dirname "$0")/lib.sh"

section "OpenCL suite on go-gl/cl"
stand_in=$(mktemp -d)
echo 'INPUT(-lOpenCL)' >"$stand_in/libCL.so"
CGO_ENABLED=1 CGO_CFLAGS="-O2 -DCL_TARGET_OPENCL_VERSION=120 -DCL_DEVICE_IMAGE_PITCH_ALIGNMENT=0x104A -DCL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT=0x104B" CGO_LDFLAGS="-L$stand_in" VOLLEY_REQUIRE=opencl \
	go test -count=1 -timeout 10m -tags gogl_cl ./device/opencl "$@"
rm -r "$stand_in"
finish
