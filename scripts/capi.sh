#!/usr/bin/env bash
# The C interface: `capi.sh` builds libvolley.so into out/capi and tests it; `capi.sh test` does without valgrind, which exhaust.sh runs;
# `capi.sh build` builds alone; `capi.sh install PREFIX` builds and installs the library, the headers, and what pkg-config and CMake look for.
# VOLLEY_LIBRARY names a libvolley.so.1 to test in place of a new one: bindings.sh tests the wheel's.
# Wants a C and a C++ compiler, valgrind, pkg-config and CMake; packages.sh says what is installed with apt-get where it is missing.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/opencl.sh

out=out/capi
mkdir -p "$out"

# The symbols that volley.map does not name stay inside. -s -w leave out what debuggers read, half of the size.
library() {
	c_compiler || { echo "capi.sh: $why" >&2; exit 1; }
	if [ -n "${VOLLEY_LIBRARY:-}" ]; then
		[ "$VOLLEY_LIBRARY" -ef "$out/libvolley.so.1" ] || cp "$VOLLEY_LIBRARY" "$out/libvolley.so.1"
		ln -sf libvolley.so.1 "$out/libvolley.so"
		return
	fi
	CGO_ENABLED=1 go build -buildmode=c-shared -ldflags="-s -w -extldflags=-Wl,--version-script=$PWD/cgo/volley.map,-soname,libvolley.so.1" \
		-o "$out/libvolley.so.1" ./cgo
	rm -f "$out/libvolley.so.h" "$out/libvolley.so.1.h" "$out/libvolley.h"
	ln -sf libvolley.so.1 "$out/libvolley.so"
}

install_into() {
	local prefix=$1 file
	mkdir -p "$prefix/lib/pkgconfig" "$prefix/lib/cmake/volley" "$prefix/include"
	cp "$out/libvolley.so.1" "$prefix/lib/"
	ln -sf libvolley.so.1 "$prefix/lib/libvolley.so"
	cp cgo/include/*.h* "$prefix/include/"
	sed "s|@PREFIX@|$prefix|" cgo/volley.pc.in >"$prefix/lib/pkgconfig/volley.pc"
	cp cgo/volley-config.cmake cgo/volley-config-version.cmake "$prefix/lib/cmake/volley/"
	mkdir -p "$prefix/share/doc/volley"
	cp -R LICENSE NOTICE cgo/licenses "$prefix/share/doc/volley/"
}

strict="-Wall -Wextra -Wpedantic -Werror"

case ${1:-all} in
build)
	library
	exit
	;;
install)
	[ -n "${2:-}" ] || { echo "capi.sh install PREFIX" >&2; exit 2; }
	library
	mkdir -p "$2"
	install_into "$(cd "$2" && pwd)"
	exit
	;;
all | test) packages g++ g++ || { echo "capi.sh: $why" >&2; exit 1; } ;;
*)
	echo "capi.sh [all | test | build | install PREFIX]" >&2
	exit 2
	;;
esac

section "C interface: build"
library

section "C interface: headers"
for standard in c99 c11; do
	printf '#include "volley.h"\nint main(void) { return 0; }\n' | gcc -std=$standard $strict -Icgo/include -x c -fsyntax-only -
done
printf '#include "volley.h"\nint main() { return 0; }\n' | g++ -std=c++17 $strict -Icgo/include -x c++ -fsyntax-only -
printf '#include "volley.hpp"\nint main() { return 0; }\n' | g++ -std=c++17 $strict -Icgo/include -x c++ -fsyntax-only -

section "C interface: every function, under the address and undefined behaviour sanitizers"
gcc -std=c11 -D_POSIX_C_SOURCE=200809L $strict -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Icgo/include cgo/test/*.c \
	-L"$out" -lvolley -lpthread -ldl -Wl,-rpath,"$PWD/$out" -o "$out/test"
# Everything that the header declares is called by the tests, and nothing else is exported.
declared=$(grep -o 'volley_[a-z0-9_]*(' cgo/testdata/abi.txt | tr -d '(' | sort)
called=$(nm -u "$out/test" | grep -o 'volley_[a-z0-9_]*' | sort)
exported=$(nm -D --defined-only "$out/libvolley.so" | grep -o 'volley_[a-z0-9_]*' | sort)
diff <(echo "$declared") <(echo "$called") || { echo "the tests in cgo/test do not call these functions" >&2; exit 1; }
diff <(echo "$declared") <(echo "$exported") || { echo "the library exports something else than the header declares" >&2; exit 1; }
files=$(mktemp -d "$scratch/XXXXXX")
# The devices that there are: CUDA is the emulated driver, or the one that VOLLEY_CUDA_LIBRARY names.
devices=(cuda:0)
if [ -z "${VOLLEY_CUDA_LIBRARY:-}" ]; then
	variables=$(CGO_ENABLED=0 go run ./internal/cuemu/build)
	eval "$variables"
fi
if opencl; then
	devices+=(opencl:0)
else
	leave_out "the C interface on OpenCL" "$why"
fi
# On the host leaks are looked for too. Drivers of devices keep what they have as long as the process; what the library leaves there is counted by
# volley_live.
# A loader that asks for pinned memory looks for CUDA: the driver keeps things too, and valgrind has no room for the emulated one.
none=/no/libcuda.so
VOLLEY_CUDA_LIBRARY=$none ASAN_OPTIONS=detect_leaks=1 timeout 300 "$out/test" "$files"
files=$(mktemp -d "$scratch/XXXXXX")
log=$PWD/$out/cuemu.log
: >"$log"
CUEMU_LOG=$log ASAN_OPTIONS=detect_leaks=0 timeout 300 "$out/test" "$files" "${devices[@]}"
if [ -s "$log" ]; then
	echo "the emulated driver found:" >&2
	head -n 40 "$log" >&2
	exit 1
fi

# With an argument of `test` this is left to exhaust.sh.
leaks() {
	section "C interface: leaks, as valgrind sees them"
	# lost PROGRAM ARGUMENT...: whether valgrind finds memory at its end that nothing points to. What it says of stacks is left aside: it does not know Go's.
	lost() {
		VOLLEY_CUDA_LIBRARY=$none timeout 300 valgrind --undef-value-errors=no --child-silent-after-fork=yes --leak-check=full --log-file="$out/valgrind.log" "$@" || exit 1
		! grep -q -e 'definitely lost: 0 bytes' -e 'no leaks are possible' "$out/valgrind.log"
	}
	if packages valgrind valgrind; then
		printf '#include <stdlib.h>\nint main(void) { void* volatile p = malloc(16); p = NULL; return p != NULL; }\n' | gcc -x c - -o "$out/loses"
		lost "$out/loses" || { echo "valgrind does not see a leak that was planted" >&2; exit 1; }
		gcc -std=c11 -D_POSIX_C_SOURCE=200809L $strict -g -O1 -Icgo/include cgo/test/*.c -L"$out" -lvolley -lpthread -ldl -Wl,-rpath,"$PWD/$out" -o "$out/plain"
		files=$(mktemp -d "$scratch/XXXXXX")
		if lost "$out/plain" "$files"; then
			cat "$out/valgrind.log" >&2
			exit 1
		fi
	else
		leave_out "leaks as valgrind sees them" "$why"
	fi
}
[ "${1:-all}" != all ] || leaks

section "C interface: the host's signals"
gcc -std=c11 -D_DEFAULT_SOURCE $strict -g -O1 -Icgo/include cgo/test/host/signals.c -lpthread -ldl -o "$out/signals"
timeout 300 "$out/signals" "$PWD/$out/libvolley.so.1"

section "C interface: import of random structures, under pages that are not mapped"
CGO_ENABLED=1 go test -count=1 ./cgo

section "C++ header: installed, found by pkg-config and CMake, the example"
prefix=$PWD/$out/prefix
rm -rf "$prefix" "$out/cmake"
mkdir -p "$prefix"
install_into "$prefix"
if packages pkg-config pkg-config; then
	for example in example ranks; do
		g++ -std=c++17 $strict -g -fsanitize=address,undefined -fno-sanitize-recover=all "examples/cpp/$example.cpp" -o "$out/$example" \
			$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs volley) -lpthread -Wl,-rpath,"$prefix/lib"
	done
	ASAN_OPTIONS=detect_leaks=1 timeout 60 "$out/example"
	files=$(mktemp -d "$scratch/XXXXXX")
	ASAN_OPTIONS=detect_leaks=1 timeout 60 "$out/ranks" "$files"
else
	leave_out "pkg-config" "$why"
fi
if packages cmake cmake make; then
	cmake -S examples/cpp -B "$out/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
	cmake --build "$out/cmake" >/dev/null
	timeout 60 "$out/cmake/example" testdata/flights
	timeout 60 "$out/cmake/ranks"
else
	leave_out "CMake" "$why"
fi
finish
