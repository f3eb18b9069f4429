#!/usr/bin/env bash
# The C interface and the Python package, tested with one library (see library.sh).
# What they install: see capi.sh and python.sh. Arguments go to both: `bindings.sh test` leaves out what exhaust.sh runs.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/library.sh

if ! packages g++ g++ || ! one_library; then
	leave_out "the C interface and the Python package" "$why"
	exit
fi
bash scripts/capi.sh "${1:-all}"
bash scripts/python.sh "${1:-all}"
finish
