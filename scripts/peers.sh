#!/usr/bin/env bash
# Makes .venv of this clone with the libraries that `volley bench columnar --peers` and `volley bench gemm --peers` race against.
# Installs from PyPI, in these versions, about 1.5 GB: DuckDB, Polars, pyarrow, DataFusion, pandas, NumPy (with its OpenBLAS), and Intel's MKL.
# Done once; a second call looks and ends.
. "$(dirname "$0")/lib.sh"

wanted="numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.0 datafusion==55.0.0 mkl==2026.2.0"

if [ "$(cat .venv/peers 2>/dev/null)" = "$wanted" ]; then
	exit 0
fi
command -v python3 >/dev/null || { echo "peers.sh: python3 is not installed or not on PATH" >&2; exit 2; }
[ -x .venv/bin/python ] || { echo "makes .venv"; python3 -m venv .venv; }
echo "installs $wanted into .venv"
.venv/bin/python -m pip install -q --no-compile --disable-pip-version-check $wanted
printf '%s\n' "$wanted" >.venv/peers
