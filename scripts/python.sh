#!/usr/bin/env bash
# The Python package: builds the wheel and tests it. Alone in an empty environment: the tests that want nothing else, and README's Python part.
# With pyarrow, NumPy, pandas, Polars and DuckDB, which scripts/peers.sh installs into .venv: the protocols between them and volley.
# Makes out/python/alone and out/python/venv, and installs from PyPI into the second one pytest and mypy.
. "$(dirname "$0")/lib.sh"

out=$PWD/out/python
mkdir -p "$out"

section "Python: wheel"
bash scripts/capi.sh build
rm -rf "$out"/*.whl "$out/alone"
VOLLEY_LIBRARY=$PWD/out/capi/libvolley.so.1 python3 -m pip wheel -q --no-deps --no-index --disable-pip-version-check -w "$out" ./python
wheel=$(echo "$out"/*.whl)
size=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $((size >> 20)) MiB"
[ "$size" -le $((40 << 20)) ] || { echo "the wheel is larger than 40 MiB" >&2; exit 1; }

section "Python: README with the wheel alone"
python3 -m venv "$out/alone"
"$out/alone/bin/python" -m pip install -q --no-index --disable-pip-version-check "$wheel"
[ "$("$out/alone/bin/python" -m pip list --format=freeze | grep -c -v -e '^pip=' -e '^setuptools=')" = 1 ]
python3 scripts/readme_python.py README.md "$out/alone/bin/python"

section "Python: tests"
bash scripts/peers.sh
if [ ! -x "$out/venv/bin/pytest" ]; then
	python3 -m venv "$out/venv"
	"$out/venv/bin/python" -m pip install -q --disable-pip-version-check pytest==8.4.2 mypy==1.18.2
fi
"$out/venv/bin/python" -m pip install -q --no-index --no-deps --force-reinstall --disable-pip-version-check "$wheel"
# The partners of .venv, without installing them again.
"$out/venv/bin/python" - "$PWD/.venv" <<'PYTHON'
import pathlib, sys, sysconfig
version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
pathlib.Path(sysconfig.get_path("purelib"), "partners.pth").write_text(f"{sys.argv[1]}/lib/{version}/site-packages\n")
PYTHON
timeout 280 "$out/venv/bin/pytest" -q -p no:cacheprovider -c python/pyproject.toml python/tests

python3 scripts/readme_python.py README.md "$out/venv/bin/python" all

section "Python: types"
(cd python && "$out/venv/bin/python" -m mypy --cache-dir "$out/mypy")
finish
