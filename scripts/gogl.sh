#!/usr/bin/env bash
# Tests device/opencl and, at a small extent, kernels/opencl with the tag gogl_cl: the OpenCL driver through github.com/go-gl/cl, linked with
# cgo. That package's cgo lines name a library CL, which is no longer called so: a linker script stands in for it. Its structs are those of OpenCL
# 1.2, which today's headers give when they are asked for that version, but for two names of values that came later.
# Installs PoCL, OpenCL's headers and gcc with apt-get where there are none. `gogl.sh build` vets and builds the tests without running them; other
# arguments go to `go test`.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/opencl.sh

section "go-gl/cl: the OpenCL driver"
if ! c_compiler; then
	leave_out "the tag gogl_cl" "$why"
elif ! opencl || ! opencl_headers; then
	leave_out "the tag gogl_cl" "$why"
else
	stand_in=$cache/gogl # its path is part of the keys of Go's build cache, which all clones share
	mkdir -p "$stand_in"
	echo 'INPUT(-lOpenCL)' >"$stand_in/libCL.so"
	export CGO_ENABLED=1 VOLLEY_REQUIRE=opencl CGO_LDFLAGS=-L$stand_in
	export CGO_CFLAGS="-O2 -DCL_TARGET_OPENCL_VERSION=120 -DCL_DEVICE_IMAGE_PITCH_ALIGNMENT=0x104A -DCL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT=0x104B"
	go vet -tags gogl_cl ./device/opencl ./kernels/opencl
	if [ "${1:-}" = build ]; then
		go test -vet=off -tags gogl_cl -c -o /dev/null ./device/opencl ./kernels/opencl
		finish
		exit
	fi
	VOLLEY_KERNELTEST=tiny go test -vet=off -count=1 -timeout 10m -tags gogl_cl "$@" ./device/opencl ./kernels/opencl
fi
finish
