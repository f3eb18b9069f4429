"""DuckDB: over tables of its own, or over the files; the result is an Arrow table."""

import time

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

    def settle(self):
        """Before a measurement of memory: imports what the first result does (pyarrow, some 50 MiB that no query needs), and has the allocator
        give back what loading left it (some 80 MiB, in which a query would run unseen). The settings are then what they were."""
        self.con.sql("SELECT 1").to_arrow_table()
        names = ("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold", "allocator_background_threads")
        before = [self.con.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in names]
        for name, value in zip(names, ("0B", "0B", "true")):
            self.con.execute(f"SET {name} = '{value}'")
        self.con.execute("SELECT count(*) FROM lineitem")
        time.sleep(2)  # threads without work flush half a second later
        for name, value in zip(names, before):
            self.con.execute(f"SET {name} = '{value}'")

    def run(self, query):
        return self.con.sql(QUERIES[query]).to_arrow_table()

    def write(self, result, path):
        self.con.execute("SET preserve_insertion_order = true")
        self.con.execute(f"COPY (SELECT * FROM result) TO '{path}' (HEADER)")
        self.con.execute("SET preserve_insertion_order = false")
