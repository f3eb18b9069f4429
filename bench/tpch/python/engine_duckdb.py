"""DuckDB: over tables of its own, or over the files; the result is an Arrow table."""

import duckdb
from sql import QUERIES, TABLES


class Engine:
    def __init__(self, threads):
        self.version = duckdb.__version__
        self.con = duckdb.connect(":memory:")
        self.con.execute(f"SET threads = {threads}")
        self.con.execute("SET preserve_insertion_order = false")

    def load(self, folder, files):
        for name in TABLES:
            self.con.execute(f"CREATE {'VIEW' if files else 'TABLE'} {name} AS SELECT * FROM read_parquet('{folder}/{name}.parquet')")

    def run(self, query):
        return self.con.sql(QUERIES[query]).to_arrow_table()

    def write(self, result, path):
        self.con.execute("SET preserve_insertion_order = true")
        self.con.execute(f"COPY (SELECT * FROM result) TO '{path}' (HEADER)")
        self.con.execute("SET preserve_insertion_order = false")
