#!/usr/bin/env bash
# Gangs under the engines that people run, each for real: a gang whose ranks run the flights query, with its known answer, and one whose worker is killed and
# that then is tried again. `engines.sh test` has processes, torchrun, Slurm's variables and Dask; `engines.sh all` Ray, Spark, Parsl, RADICAL-Pilot and Modin too.
# Installs from PyPI the engines, each in a virtual environment of its own in the user's cache folder: Dask 150 MB, Ray 300 MB, Spark 600 MB (which wants
# Java), Parsl and RADICAL-Pilot 150 MB. torchrun is Debian's PyTorch, MPI Debian's Open MPI and MPICH from PyPI.
# VOLLEY_LIBRARY names a library that is there already; without it one is built, or taken that another job has built (see library.sh).
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/library.sh

common=(pytest==8.4.2 numpy==2.4.6 pyarrow==25.0.0 cloudpickle==3.1.1)
one=${1:-test}

library() { one_library || { leave_out "gangs under engines" "$why"; exit; }; }

# engine NAME REQUIREMENT...: tests an engine with what it needs.
engine() {
	local name=$1
	shift
	section "$name"
	python_venv "engine-$name" "${common[@]}" "$@" || { leave_out "$name" "$why"; return 0; }
	[ "$one" != environment ] || return 0
	# Programs of engines are found by their PATH, and RADICAL-Pilot goes by the environment that is active.
	env VOLLEY_REQUIRE=partners VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH" PYTHONPATH=python PYSPARK_PYTHON="$venv/bin/python" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		"$venv/bin/python" -m pytest -q -p no:cacheprovider -c python/pyproject.toml "python/tests/engines/test_$name.py"
}

short_round() {
	packages python:torch python3-torch || leave_out "PyTorch" "$why"
	packages mpirun openmpi-bin || leave_out "Open MPI" "$why"
	if bash scripts/collective_peers.sh mpich; then export MPICH=$PWD/out/venv/mpich; else leave_out "MPICH" "collective_peers.sh could not install it"; fi
	venv_options=--system-site-packages engine launchers
	engine dask dask==2026.8.0 distributed==2026.8.0 pandas==2.3.3
}

all_engines() {
	short_round
	engine ray ray==2.60.0 pandas==2.3.3
	if packages java default-jre-headless; then engine spark pyspark==4.3.0 pandas==2.3.3; else leave_out "Spark" "$why"; fi
	engine parsl parsl==2026.10.26
	engine radical radical.pilot==1.103.2
	engine modin 'modin[dask]==0.37.1'
}

case $one in
test)
	library
	short_round
	;;
all)
	library
	all_engines
	;;
environment) short_round ;;
*) echo "usage: engines.sh test|all|environment" >&2; exit 2 ;;
esac
finish
