#!/usr/bin/env bash
# Makes .venv/loader of this clone with what `volley bench loader --peers` races: PyTorch, torchdata, TensorFlow and pyarrow from PyPI, in these
# versions, 7 GB with the CUDA libraries that PyPI's PyTorch wants, and the Python package of this clone.
# Done once; a second call builds the package anew and ends.
. "$(dirname "$0")/lib.sh"

wanted="torch==2.9.1 torchdata==0.11.0 numpy==2.4.6 pyarrow==26.0.1 tensorflow-cpu==2.21.0"

command -v python3 >/dev/null || { echo "loader_peers.sh: python3 is not installed or not on PATH" >&2; exit 2; }
if [ "$(cat .venv/loader/peers 2>/dev/null)" != "$wanted" ]; then
	[ -x .venv/loader/bin/python ] || { echo "makes .venv/loader"; python3 -m venv .venv/loader; }
	echo "installs $wanted into .venv/loader"
	.venv/loader/bin/python -m pip install -q --disable-pip-version-check $wanted
	printf '%s\n' "$wanted" >.venv/loader/peers
fi
bash scripts/capi.sh build
VOLLEY_LIBRARY=$PWD/out/capi/libvolley.so.1 .venv/loader/bin/python -m pip install -q --no-deps --no-index --no-build-isolation --force-reinstall \
	--disable-pip-version-check ./python
