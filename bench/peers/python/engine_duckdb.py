"""DuckDB: over its own tables and over Arrow tables; the result is an Arrow table."""

import duckdb
import numpy as np
import pyarrow as pa

import sql


class Engine:
    lacks = {}
    unordered = {}

    def __init__(self, threads):
        self.version = duckdb.__version__
        self.con = duckdb.connect(":memory:")
        self.con.execute(f"SET threads = {threads}")
        self.made = []

    def load(self, op, inputs, file):
        # Order is kept only where the operation promises one and ORDER BY does not say it.
        keep = "true" if op in ("cumsum", "expr", "bitmap_and", "csv") or op.startswith("parquet") else "false"
        self.con.execute(f"SET preserve_insertion_order = {keep}")
        if file:
            read = "read_csv" if op == "csv" else "read_parquet"
            return {"sql": self.query(f"SELECT * FROM {read}('{file}')")}
        ways = {}
        for name, table in inputs.items():
            if op == "argsort":
                table = table.append_column("row", pa.array(np.arange(len(table), dtype=np.uint32)))
            self.con.register("arrow_" + name, table)
            self.con.execute(f"CREATE TABLE native_{name} AS SELECT * FROM arrow_{name}")
            self.made.append(name)
        for way in ("native", "arrow"):
            ways[way] = self.query(sql.OPERATIONS[op].format(**{n: f"{way}_{n}" for n in inputs}))
        return ways

    def query(self, text):
        return lambda: self.con.sql(text).to_arrow_table()

    def only(self, op, way):
        """Gives back what the other way is over."""
        for name in self.made:
            if way == "native":
                self.con.unregister("arrow_" + name)
            elif way == "arrow":
                self.con.execute(f"DROP TABLE native_{name}")

    def unload(self):
        for name in self.made:
            self.con.execute(f"DROP TABLE native_{name}")
            self.con.unregister("arrow_" + name)
        self.made = []
