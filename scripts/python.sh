#!/usr/bin/env bash
# The Python package: builds the wheel and tests it. `python.sh test` leaves the long rest to exhaust.sh (races of loaders, costs of calls, README with
# one partner at a time); `python.sh environment` only installs what the tests want.
# With the wheel alone in an empty environment: README's Python part.
# With NumPy, pyarrow, pandas, Polars and DuckDB, which peers.sh installs, nanoarrow, narwhals, JAX, TensorFlow, Numba and torchdata from PyPI and
# Debian's PyTorch for processors (python3-torch, 1.5 GB with what it needs; see packages.sh): the protocols between them and volley.
# Random plans run on PoCL, which is installed with apt-get (see opencl.sh).
# Installs from PyPI those, pytest, mypy, and what builds the wheel, ziglang and auditwheel; 1.5 GB in all, in the user's cache folder.
# VOLLEY_LIBRARY and VOLLEY_WHEEL_TAG name a library that is there already: see bindings.sh.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/opencl.sh

out=$PWD/out/python
mkdir -p "$out"

# environment makes out/python/venv, of this clone, over what the user's cache folder has; torch says whether PyTorch is in it.
torch=
environment() {
	local partners
	packages python:torch python3-torch || leave_out "PyTorch" "$why"
	bash scripts/peers.sh || { why="peers.sh could not install the libraries that are tested together with the package"; return 1; }
	partners=$(readlink out/venv/peers)
	python_venv tests pytest==8.4.2 mypy==1.18.2 ziglang==0.17.1 auditwheel==6.8.2 numpy==2.4.6 nanoarrow==0.9.0 narwhals==2.29.0 \
		'jax[cpu]==0.10.2' tensorflow-cpu==2.21.0 numba==0.68.1 || return
	local tests=$venv
	if there python:torch && [ "$python" = /usr/bin/python3 ]; then
		# Beside Debian's PyTorch, not in place of it.
		wheel torchdata/__init__.py torchdata==0.11.0 || return
		torch=yes venv_options=--system-site-packages
		venv_over "$out/venv" "$tests" "$partners" "$wheel_folder"
	else
		[ -z "$(there python:torch && echo yes)" ] || leave_out "PyTorch" "it is for /usr/bin/python3, which cannot make virtual environments"
		venv_over "$out/venv" "$tests" "$partners"
	fi
}

types() {
	section "Python: types"
	(cd python && "$here" -m mypy --cache-dir "$cache/mypy")
}

wheel_of_this_clone() {
	section "Python: wheel"
	rm -rf "$out"/*.whl
	"$here" -m pip wheel -q --no-deps --no-index --no-build-isolation --disable-pip-version-check -w "$out" ./python
	wheel=$(echo "$out"/*.whl)
	local size
	size=$(stat -c %s "$wheel")
	echo "$(basename "$wheel"): $((size >> 20)) MiB"
	[ "$size" -le $((40 << 20)) ] || { echo "the wheel is larger than 40 MiB" >&2; exit 1; }
	[[ "$wheel" == *-py3-none-manylinux_2_28_*.whl ]] || { echo "the wheel is no manylinux_2_28 wheel" >&2; exit 1; }
	"$here" -m pip install -q --no-index --no-deps --force-reinstall --disable-pip-version-check "$wheel"
}

readme() { "$python" scripts/readme_python.py README.md "$@"; }

alone() {
	section "Python: README with the wheel alone"
	rm -rf "$out/alone"
	venv_options= venv_over "$out/alone"
	local pip=("$here" -m pip --python "$out/alone/bin/python")
	"${pip[@]}" install -q --no-index --disable-pip-version-check "$wheel"
	[ "$("${pip[@]}" list --format=freeze | grep -c -v -e '^pip=' -e '^setuptools=')" = 1 ]
	readme "$out/alone/bin/python"
}

tests() {
	section "Python: tests"
	pytest python/tests --ignore=python/tests/test_devices.py --ignore=python/tests/engines # engines.sh has those
	# Device memory: CUDA is the emulated driver, or the one that VOLLEY_CUDA_LIBRARY names.
	if packages g++ g++; then
		( [ -n "${VOLLEY_CUDA_LIBRARY:-}" ] || eval "$(CGO_ENABLED=0 go run ./internal/cuemu/build)"; pytest python/tests/test_devices.py )
	else
		leave_out "Python's protocols of device memory" "$why"
	fi
	# Queries as users write them, on a device, beside DuckDB's answers.
	if opencl; then
		RANDOM_PLANS_DEVICE=opencl:0 "$here" python/tests/random_plans.py 50000 80
	else
		leave_out "random plans on OpenCL" "$why"
	fi
	readme "$here" all
}

one_partner_at_a_time() {
	section "Python: README with one partner at a time"
	local partner
	for partner in numpy pandas pyarrow polars duckdb jax tensorflow nanoarrow narwhals numba ${torch:+torch}; do
		readme "$here" $partner
	done
}

# An epoch by every loader that is here: the program fails where a row does not come exactly once.
loaders() {
	[ -n "$torch" ] || return 0 # environment has said why
	section "Python: loaders beside each other"
	local race=(go run ./cmd/volley bench loader --peers --python "$here" --rows 2e4 --runs 1)
	raced "${race[@]}" --against torch-batch,torch-gather,tfdata,pyarrow
	# These ask for a row at a time, of a tensor that those before them had as well: the million flights would take them minutes.
	raced "${race[@]}" --data made --against torch-loader-0,torch-loader-2,torchdata
}

costs() {
	section "Python: what a call costs, and a pipeline in Python and in Go"
	CGO_ENABLED=0 go build -o "$out/pipeline" ./bench/pipeline
	timeout 120 "$here" -m volley.bench --flights testdata/flights --go "$out/pipeline" --runs 5
}

# The pipelines on small sizes; each fails where it does not learn, or where gradients summed by Gloo and by volley give other losses.
examples() {
	section "Python: examples"
	"$here" scripts/notebook.py --check examples/python/flights.py examples/python/flights.ipynb
	pytest examples/hydrology
	TF_CPP_MIN_LOG_LEVEL=2 timeout 200 "$here" -W ignore examples/hydrology/train.py --basins 4 --years 3 --days 30 --epochs 3 --hidden 16 --least -1
	[ -n "$torch" ] || return 0
	timeout 120 "$here" -W ignore examples/python/flights.py 2>/dev/null
	timeout 200 "$here" -W ignore examples/flights/train.py --rows 50000 --epochs 2
	local model
	for model in nlinear lstm; do
		timeout 200 "$here" -W ignore examples/forecasting/train.py --model "$model" --history 96 --windows 400 --epochs 1 --ranks 2
	done
}

section "Python: environment"
environment || { echo "python.sh: $why" >&2; exit 1; }
here=$out/venv/bin/python
# Everything that the tests import is there: a skip would hide a fault.
[ -z "$torch" ] || export VOLLEY_REQUIRE=partners
pytest() { timeout 900 "$here" -m pytest -q -p no:cacheprovider --durations=5 -c python/pyproject.toml "$@"; }
case ${1:-all} in
environment) exit ;;
test)
	types
	wheel_of_this_clone
	alone
	tests
	examples
	;;
all)
	types
	wheel_of_this_clone
	alone
	tests
	examples
	one_partner_at_a_time
	loaders
	costs
	;;
*)
	echo "python.sh [all | test | environment]" >&2
	exit 2
	;;
esac
finish
