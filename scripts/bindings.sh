#!/usr/bin/env bash
# The C interface and the Python package, tested with one library: the wheel's, which Zig's compiler links with the C library of 2018.
# What they install: see capi.sh and python.sh. Arguments go to both: `bindings.sh test` leaves out what exhaust.sh runs.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

if ! c_compiler || ! packages g++ g++; then
	leave_out "the C interface and the Python package" "$why"
	exit
fi
bash scripts/python.sh environment
section "libvolley.so for C and Python"
mkdir -p out/capi
VOLLEY_WHEEL_TAG=$(out/python/venv/bin/python python/_build/backend.py "$PWD/out/capi")
export VOLLEY_WHEEL_TAG VOLLEY_LIBRARY=$PWD/out/capi/libvolley.so.1
section_end
bash scripts/capi.sh "${1:-all}"
bash scripts/python.sh "${1:-all}"
finish
