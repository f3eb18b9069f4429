#!/usr/bin/env bash
# The CUDA driver through gorgonia.org/cu: vets device/cuda with the tag gorgonia_cu, builds its tests, and runs them on the emulated driver;
# `gorgonia.sh build` does not run them.
# That package is linked to libcuda.so.1 and ends a program in its init where there is no GPU; the emulator is found as that library.
# Fetches CUDA 12's headers from PyPI into the user's cache folder, makes a stub of libcuda there to link to, and installs gcc, and g++ for
# the emulator, with apt-get where there is none.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

home=$cache/gorgonia # its path is part of the keys of Go's build cache, which all clones share
mkdir -p "$home"

headers() {
	wheel nvidia/cuda_runtime/include/cuda.h nvidia-cuda-runtime-cu12==12.9.79 && include=$wheel_folder/nvidia/cuda_runtime/include
}

# A library with every function of the driver that the package calls, each of which fails: enough to link to.
stub() {
	local package names
	package=$(go list -tags gorgonia_cu -f '{{.Dir}}' gorgonia.org/cu)
	names=$(cat "$package"/*.go "$package"/*.c | grep -oE '\bcu[A-Z][A-Za-z0-9_]*[(]' | tr -d '(' | sort -u)
	# cuda.h gives some names their version: cuMemAlloc is cuMemAlloc_v2.
	{ echo '#include <cuda.h>'; sed 's/.*/symbol: &/' <<<"$names"; } |
		$(go env CC) -E -P -I"$include" - | awk '$1 == "symbol:" { print "int " $2 "(void) { return 999; }" }' | sort -u >"$home/stub.c"
	$(go env CC) -shared -fPIC -w -Wl,-soname,libcuda.so.1 -o "$home/libcuda.so" "$home/stub.c"
}

section "gorgonia.org/cu: headers and stub"
if ! c_compiler; then
	leave_out "the tag gorgonia_cu" "$why"
elif ! headers; then
	leave_out "the tag gorgonia_cu" "$why"
else
	stub
	export CGO_ENABLED=1 CGO_CFLAGS="-I$include" CGO_LDFLAGS="-L$home"
	section "gorgonia.org/cu: vet"
	go vet -tags gorgonia_cu ./device/cuda
	section "gorgonia.org/cu: build of the tests"
	go test -vet=off -tags gorgonia_cu -c -o /dev/null ./device/cuda
	if [ "${1:-}" = build ]; then
		finish
		exit
	fi
	section "gorgonia.org/cu: tests on the emulated driver"
	if packages g++ g++; then
		variables=$(CGO_ENABLED=0 go run ./internal/cuemu/build)
		eval "$variables"
		# What the tests set for the emulator comes too late here: it starts with the program.
		export CUEMU_DEVICES=2 CUEMU_MEMORY=268435456
		LD_LIBRARY_PATH=$(dirname "$VOLLEY_CUDA_LIBRARY") VOLLEY_CUDA_LIBRARY=libcuda.so.1 \
			go test -vet=off -tags gorgonia_cu -count=1 -timeout 10m ./device/cuda
	else
		leave_out "tests of gorgonia.org/cu" "$why"
	fi
fi
finish
