"""Makes the Parquet files and the answers of this folder from those that tpchgen-cli makes at scale 0.01.

    pip install tpchgen-cli duckdb pyarrow
    tpchgen-cli parquet -s 0.01 --output-dir /tmp/tpch
    python testdata/tpch/make.py /tmp/tpch

Kept of the orders are those that the queries with few answers need, and a tenth of the others, with all their lines; of the
comments those that a query reads; some parts are made others. Answers are DuckDB's, a CSV file a query.
"""

import pathlib
import sys

import duckdb
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent.parent / "bench" / "tpch" / "python"))
from sql import QUERIES, TABLES  # noqa: E402

# The orders that answers of few rows come from.
NEEDED = """
select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300
union select l_orderkey from lineitem, part where p_partkey = l_partkey and (p_brand = 'Brand#23' and p_container = 'MED BOX' or p_type = 'ECONOMY ANODIZED STEEL')
union select l_orderkey from lineitem, part where p_partkey = l_partkey and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON' and l_quantity <= 30
  and p_brand in ('Brand#12', 'Brand#23', 'Brand#34')
union select l_orderkey from lineitem, part where p_partkey = l_partkey and p_name like 'forest%'
union select l_orderkey from lineitem, supplier, nation, orders, customer where l_suppkey = s_suppkey and s_nationkey = n_nationkey and o_orderkey = l_orderkey
  and c_custkey = o_custkey and n_name in ('FRANCE', 'GERMANY') and c_nationkey in (6, 7) and l_shipdate between date '1995-01-01' and date '1996-12-31'
union select l_orderkey from lineitem, supplier, nation where l_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' and l_receiptdate > l_commitdate
union select o_orderkey from orders, customer, nation where o_custkey = c_custkey and c_nationkey = n_nationkey and n_regionkey = 2 and year(o_orderdate) = 1994
union select o_orderkey from orders where o_orderkey // 32 % 10 = 3"""

# There are more parts of the kinds that q8 and q17 ask for: else one would find nothing and the other a share of 0.
PARTS = """select * replace (if(p_partkey % 40 = 7, 'Brand#23', p_brand) as p_brand, if(p_partkey % 40 = 7, 'MED BOX', p_container) as p_container,
  if(p_partkey % 60 = 11, 'ECONOMY ANODIZED STEEL', p_type) as p_type) from '{}/part.parquet'"""

whole = pathlib.Path(sys.argv[1])
source = duckdb.connect()
for name in TABLES:
    source.execute(f"create view {name} as from '{whole}/{name}.parquet'" if name != "part" else f"create view part as {PARTS.format(whole)}")
source.execute(f"create table kept as {NEEDED}")
KEPT = {
    "lineitem": "select * exclude (l_comment) from lineitem where l_orderkey in (from kept) order by l_orderkey, l_linenumber",
    "orders": "select * exclude (o_clerk) from orders where o_orderkey in (from kept) order by o_orderkey",
    "part": "select * exclude (p_comment) from part order by p_partkey",
    "partsupp": "select * exclude (ps_comment) from partsupp order by ps_partkey, ps_suppkey",
}
answers = duckdb.connect()
(here / "answers").mkdir(exist_ok=True)
for name in TABLES:
    rows = source.sql(KEPT.get(name, f"from {name} order by 1")).to_arrow_table()
    pq.write_table(rows, here / f"{name}.parquet", row_group_size=5000, compression="zstd", compression_level=19)
    answers.execute(f"create view {name} as from '{here}/{name}.parquet'")
for name, text in QUERIES.items():
    answers.execute(f"copy ({text}) to '{here}/answers/{name}.csv' (header)")
    print(name, len(answers.execute(text).fetchall()))
