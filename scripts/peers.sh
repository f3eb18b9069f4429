#!/usr/bin/env bash
# Makes a virtual environment with the libraries that `volley bench columnar --peers` and `volley bench gemm --peers` race against, in the user's cache
# folder; out/venv/peers links to it. Installs from PyPI, in these versions, about 1.5 GB: DuckDB, Polars, pyarrow, DataFusion, pandas, NumPy (with its
# OpenBLAS), and Intel's MKL. Where there is no python3 with venv, as root on Debian, it installs python3 and python3-venv with apt-get.
# Done once a user; a second call looks and ends.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

python_venv peers numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.0 datafusion==55.0.0 mkl==2026.2.0 tpchgen-cli==4.0.0 ||
	{ echo "peers.sh: $why" >&2; exit 1; }
