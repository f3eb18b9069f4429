#!/usr/bin/env bash
# What `volley bench distributed --peers` races against, in one virtual environment in the user's cache folder; out/venv/distributed links to it. Installs from
# PyPI, in these versions, about 1.3 GB: DuckDB, Dask, Ray, Modin, pyspark, and what they want. INSTALLS Java with apt-get for pyspark, if the user is root.
# Done once a user; a second call looks and ends.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh

packages java default-jre-headless || leave_out "pyspark" "$why"
python_venv distributed numpy==2.4.6 pandas==2.3.3 pyarrow==25.0.0 polars==2.1.0 duckdb==2.0.0 dask==2026.8.0 distributed==2026.8.0 ray==2.60.0 modin==0.37.1 \
	pyspark==4.3.0 || { echo "distributed_peers.sh: $why" >&2; exit 1; }
