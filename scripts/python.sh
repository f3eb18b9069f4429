#!/usr/bin/env bash
# The Python package: builds the wheel and tests it; `python.sh environment` only installs what that wants.
# Alone in an empty environment: the tests that want nothing else, and README's Python part.
# With NumPy, pyarrow, pandas, Polars and DuckDB, which scripts/peers.sh installs into .venv, nanoarrow, narwhals, JAX, TensorFlow, Numba and torchdata from
# PyPI and Debian's PyTorch for processors (python3-torch, 1.5 GB with what it needs; see packages.sh): the protocols between them and volley.
# Makes out/python/alone and out/python/venv, and installs from PyPI into the second one those, pytest, mypy, and what builds the wheel: ziglang and
# auditwheel; 1.5 GB in all.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

out=$PWD/out/python
mkdir -p "$out"
installed="pytest==8.4.2 mypy==1.18.2 ziglang==0.17.1 auditwheel==6.8.2 numpy==2.4.6 nanoarrow==0.9.0 narwhals==2.29.0 jax[cpu]==0.10.2 tensorflow-cpu==2.21.0 numba==0.68.1"
beside_torch=torchdata==0.11.0

section "Python: environment"
bash scripts/peers.sh
# Debian's PyTorch is for Debian's Python alone.
base=python3 options=
version='import sys; print(sys.version_info[:2])'
if ! packages /usr/lib/python3/dist-packages/torch python3-torch; then
	leave_out "PyTorch" "$why"
elif [ "$(/usr/bin/python3 -c "$version")" != "$(.venv/bin/python -c "$version")" ]; then
	leave_out "PyTorch" "it is for $(/usr/bin/python3 --version), and .venv is $(.venv/bin/python --version)"
else
	base=/usr/bin/python3 options=--system-site-packages
fi
if [ "$(cat "$out/venv/installed" 2>/dev/null)" != "$base $installed $beside_torch" ]; then
	rm -rf "$out/venv"
	$base -m venv $options "$out/venv"
	"$out/venv/bin/python" -m pip install -q --no-compile --disable-pip-version-check $installed
	# Beside Debian's PyTorch, not in place of it.
	[ "$base" = python3 ] || "$out/venv/bin/python" -m pip install -q --no-compile --no-deps --disable-pip-version-check $beside_torch
	echo "$base $installed $beside_torch" >"$out/venv/installed"
fi
# The partners of .venv, without installing them again.
"$out/venv/bin/python" - "$PWD/.venv" <<'PYTHON'
import pathlib, sys, sysconfig
version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
pathlib.Path(sysconfig.get_path("purelib"), "partners.pth").write_text(f"{sys.argv[1]}/lib/{version}/site-packages\n")
PYTHON
[ "${1:-}" != environment ] || exit 0

section "Python: types"
(cd python && "$out/venv/bin/python" -m mypy --cache-dir "$out/mypy")

section "Python: wheel"
rm -rf "$out"/*.whl "$out/alone"
"$out/venv/bin/python" -m pip wheel -q --no-deps --no-index --no-build-isolation --disable-pip-version-check -w "$out" ./python
wheel=$(echo "$out"/*.whl)
size=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $((size >> 20)) MiB"
[ "$size" -le $((40 << 20)) ] || { echo "the wheel is larger than 40 MiB" >&2; exit 1; }
[[ "$wheel" == *-py3-none-manylinux_2_28_*.whl ]] || { echo "the wheel is no manylinux_2_28 wheel" >&2; exit 1; }

section "Python: README with the wheel alone"
python3 -m venv "$out/alone"
"$out/alone/bin/python" -m pip install -q --no-index --disable-pip-version-check "$wheel"
[ "$("$out/alone/bin/python" -m pip list --format=freeze | grep -c -v -e '^pip=' -e '^setuptools=')" = 1 ]
python3 scripts/readme_python.py README.md "$out/alone/bin/python"

section "Python: tests"
"$out/venv/bin/python" -m pip install -q --no-index --no-deps --force-reinstall --disable-pip-version-check "$wheel"
tests() { timeout 280 "$out/venv/bin/pytest" -q -p no:cacheprovider -c python/pyproject.toml "$@"; }
tests python/tests --ignore=python/tests/test_devices.py
# Device memory: CUDA is the emulated driver, or the one that VOLLEY_CUDA_LIBRARY names.
if packages g++ g++; then
	( [ -n "${VOLLEY_CUDA_LIBRARY:-}" ] || eval "$(CGO_ENABLED=0 go run ./internal/cuemu/build)"; tests python/tests/test_devices.py )
else
	leave_out "Python's protocols of device memory" "$why"
fi

for partner in numpy pandas pyarrow polars duckdb jax tensorflow nanoarrow narwhals numba all; do
	python3 scripts/readme_python.py README.md "$out/venv/bin/python" $partner
done
[ "$base" != /usr/bin/python3 ] || python3 scripts/readme_python.py README.md "$out/venv/bin/python" torch

# An epoch by every loader that is here: the program fails where a row does not come exactly once.
section "Python: loaders beside each other"
if [ "$base" = /usr/bin/python3 ]; then
	loaders() { CGO_ENABLED=0 go run ./cmd/volley bench loader --peers --python "$out/venv/bin/python" --rows 2e4 --runs 1 "$@"; }
	raced=$(loaders --against torch-batch,torch-gather,tfdata,pyarrow)
	# These ask for a row at a time, of a tensor that those before them had as well: the million flights would take them minutes.
	raced+=$'\n'$(loaders --data made --against torch-loader-0,torch-loader-2,torchdata)
	printf '%s\n' "$raced"
	case $raced in
	*': failed: '*)
		echo "a loader failed" >&2
		exit 1
		;;
	esac
fi

section "Python: the example, and its notebook"
python3 scripts/notebook.py --check examples/python/flights.py examples/python/flights.ipynb
if [ "$base" = /usr/bin/python3 ]; then
	timeout 120 "$out/venv/bin/python" -W ignore examples/python/flights.py 2>/dev/null
fi

section "Python: what a call costs, and a pipeline in Python and in Go"
CGO_ENABLED=0 go build -o "$out/pipeline" ./bench/pipeline
timeout 120 "$out/venv/bin/python" -m volley.bench --flights testdata/flights --go "$out/pipeline" --runs 5

# The pipelines on small sizes; each fails where it does not learn, or where gradients summed by Gloo and by volley give other losses.
section "Python: examples"
here="$out/venv/bin/python"
"$out/venv/bin/pytest" -q -p no:cacheprovider -c python/pyproject.toml examples/hydrology
TF_CPP_MIN_LOG_LEVEL=2 timeout 200 "$here" -W ignore examples/hydrology/train.py --basins 4 --years 3 --days 30 --epochs 3 --hidden 16 --least -1
if [ "$base" = /usr/bin/python3 ]; then
	timeout 200 "$here" -W ignore examples/flights/train.py --rows 50000 --epochs 2
	for model in nlinear lstm; do
		timeout 200 "$here" -W ignore examples/forecasting/train.py --model "$model" --history 96 --windows 400 --epochs 1 --ranks 2
	done
fi

finish
