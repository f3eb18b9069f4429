#!/usr/bin/env bash
# Makes the virtual environment out/venv/loader with what `volley bench loader --peers` races: PyTorch, torchdata, TensorFlow and pyarrow from PyPI, in
# these versions, 7 GB with the CUDA libraries that PyPI's PyTorch wants, in the user's cache folder; and the Python package of this clone.
# The downloads are done once a user; a second call builds the package anew and ends.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

python_venv loader-peers torch==2.9.1 torchdata==0.11.0 numpy==2.4.6 pyarrow==26.0.1 tensorflow-cpu==2.21.0 || { echo "loader_peers.sh: $why" >&2; exit 1; }
venv_over out/venv/loader "$venv"
bash scripts/capi.sh build
VOLLEY_LIBRARY=$PWD/out/capi/libvolley.so.1 "$venv/bin/python" -m pip --python out/venv/loader/bin/python install -q --no-deps --no-index --force-reinstall \
	--no-build-isolation --disable-pip-version-check ./python
