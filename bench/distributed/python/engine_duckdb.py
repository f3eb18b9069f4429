"""DuckDB, in one process: results are tables of its own."""

import duckdb

QUERIES = {
    "join": 'select l.k, a, b from "left" l join "right" r on l.k = r.k',
    "group": 'select k, sum(a)::bigint total, count(*) n from "left" group by k',
    "group_few": 'select a, sum(k)::bigint total, count(*) n from "left" group by a',
    "sort": 'select k, a from "left" order by k, a',
    "distinct": 'select distinct k from "left"',
}


class Engine:
    version = duckdb.__version__

    def __init__(self, threads):
        self.con = duckdb.connect(config={"threads": threads})

    def load(self, left, right):
        for name, files in (("left", left), ("right", right)):
            self.con.execute(f'create table "{name}" as select * from read_parquet({files!r})')

    def run(self, op):
        self.con.execute(f"create or replace temp table result as {QUERIES[op]}")
        return "result"

    def table(self, name):
        return self.con.execute(f"select * from {name}").to_arrow_table()

    def close(self):
        self.con.close()
