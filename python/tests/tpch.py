"""The 22 queries of TPC-H as programs write them, over tables or over files: with the parameters of the validation run."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import NamedTuple

import volley as vo
from volley import Query, col, count

NAMES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


class Data(NamedTuple):
    """The eight tables."""

    customer: Query
    lineitem: Query
    nation: Query
    orders: Query
    part: Query
    partsupp: Query
    region: Query
    supplier: Query


def scan(folder: pathlib.Path) -> Data:
    """The tables in files, which each query reads anew."""
    return Data(*[vo.scan_parquet(folder / f"{name}.parquet") for name in NAMES])


def load(folder: pathlib.Path) -> Data:
    """The tables in memory."""
    return Data(*[q.collect().lazy() for q in scan(folder)])


VOLUME = col("l_extendedprice") * (1 - col("l_discount"))


def q1(d: Data) -> Query:
    return (
        d.lineitem.filter("l_shipdate <= date '1998-09-02'")
        .with_columns(disc_price=VOLUME)
        .with_columns(charge=col("disc_price") * (1 + col("l_tax")))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=col("l_quantity").sum(), sum_base_price=col("l_extendedprice").sum(), sum_disc_price=col("disc_price").sum(), sum_charge=col("charge").sum(),
            avg_qty=col("l_quantity").mean(), avg_price=col("l_extendedprice").mean(), avg_disc=col("l_discount").mean(), count_order=count(),
        )
        .sort("l_returnflag", "l_linestatus")
    )  # fmt: skip


def q2(d: Data) -> Query:
    offers = (
        d.part.filter((col("p_size") == 15) & col("p_type").like("%BRASS"))
        .join(d.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(d.supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(d.nation, left_on="s_nationkey", right_on="n_nationkey")
        .join(d.region.filter(r_name="EUROPE"), left_on="n_regionkey", right_on="r_regionkey", how="semi")
    )
    least = offers.group_by("p_partkey").agg(least=col("ps_supplycost").min())
    return (
        offers.join(least, on="p_partkey", how="semi", where="ps_supplycost = least")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
    )


def q3(d: Data) -> Query:
    return (
        d.customer.filter(c_mktsegment="BUILDING")
        .join(d.orders.filter("o_orderdate < date '1995-03-15'"), left_on="c_custkey", right_on="o_custkey")
        .join(d.lineitem.filter("l_shipdate > date '1995-03-15'"), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=VOLUME.sum())
        .sort("revenue", "o_orderdate", "l_orderkey", descending=[True, False, False])
        .head(10)
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
    )


def q4(d: Data) -> Query:
    return (
        d.orders.filter("o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'")
        .join(d.lineitem.filter("l_commitdate < l_receiptdate"), left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(order_count=count())
        .sort("o_orderpriority")
    )


def q5(d: Data) -> Query:
    return (
        d.region.filter(r_name="ASIA")
        .join(d.nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(d.customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(d.orders.filter("o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'"), left_on="c_custkey", right_on="o_custkey")
        .join(d.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(d.supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .group_by("n_name")
        .agg(revenue=VOLUME.sum())
        .sort("revenue", descending=True)
    )


def q6(d: Data) -> Query:
    return d.lineitem.filter(
        "l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'", col("l_discount").is_between(0.05, 0.07), col("l_quantity") < 24
    ).agg(revenue=(col("l_extendedprice") * col("l_discount")).sum())


def q7(d: Data) -> Query:
    two = d.nation.filter(col("n_name").is_in(["FRANCE", "GERMANY"])).select("n_nationkey", "n_name")
    return (
        d.supplier.join(two.rename({"n_name": "supp_nation"}), left_on="s_nationkey", right_on="n_nationkey")
        .join(d.lineitem.filter("l_shipdate between date '1995-01-01' and date '1996-12-31'"), left_on="s_suppkey", right_on="l_suppkey")
        .join(d.orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(d.customer, left_on="o_custkey", right_on="c_custkey")
        .join(two.rename({"n_name": "cust_nation"}), left_on="c_nationkey", right_on="n_nationkey", where="supp_nation <> cust_nation")
        .group_by("supp_nation", "cust_nation", col("l_shipdate").year().alias("l_year"))
        .agg(revenue=VOLUME.sum())
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q8(d: Data) -> Query:
    return (
        d.part.filter(p_type="ECONOMY ANODIZED STEEL")
        .join(d.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(d.orders.filter("o_orderdate between date '1995-01-01' and date '1996-12-31'"), left_on="l_orderkey", right_on="o_orderkey")
        .join(d.customer, left_on="o_custkey", right_on="c_custkey")
        .join(d.nation.select("n_nationkey", "n_regionkey"), left_on="c_nationkey", right_on="n_nationkey")
        .join(d.region.filter(r_name="AMERICA"), left_on="n_regionkey", right_on="r_regionkey", how="semi")
        .join(d.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(d.nation.select("n_nationkey", "n_name"), left_on="s_nationkey", right_on="n_nationkey")
        .with_columns(volume=VOLUME)
        .group_by(col("o_orderdate").year().alias("o_year"))
        .agg(own=vo.when(col("n_name") == "BRAZIL").then(col("volume")).otherwise(0).sum(), all=col("volume").sum())
        .sort("o_year")
        .select("o_year", mkt_share=col("own") / col("all"))
    )


def q9(d: Data) -> Query:
    return (
        d.part.filter(col("p_name").like("%green%"))
        .join(d.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(d.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(d.partsupp, left_on=["p_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
        .join(d.orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(d.nation, left_on="s_nationkey", right_on="n_nationkey")
        .group_by(col("n_name").alias("nation"), col("o_orderdate").year().alias("o_year"))
        .agg(sum_profit=(VOLUME - col("ps_supplycost") * col("l_quantity")).sum())
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(d: Data) -> Query:
    return (
        d.customer.join(d.orders.filter("o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01'"), left_on="c_custkey", right_on="o_custkey")
        .join(d.lineitem.filter(l_returnflag="R"), left_on="o_orderkey", right_on="l_orderkey")
        .join(d.nation, left_on="c_nationkey", right_on="n_nationkey")
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
        .agg(revenue=VOLUME.sum())
        .sort("revenue", "c_custkey", descending=[True, False])
        .head(20)
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
    )


def q11(d: Data) -> Query:
    stock = (
        d.nation.filter(n_name="GERMANY")
        .join(d.supplier, left_on="n_nationkey", right_on="s_nationkey")
        .join(d.partsupp, left_on="s_suppkey", right_on="ps_suppkey")
        .with_columns(worth=col("ps_supplycost") * col("ps_availqty"))
    )
    return (
        stock.group_by("ps_partkey")
        .agg(value=col("worth").sum())
        .with_scalar(total=stock.agg(col("worth").sum()))
        .filter("value > total * 0.0001")
        .sort("value", "ps_partkey", descending=[True, False])
        .drop("total")
    )


def q12(d: Data) -> Query:
    high = vo.when(col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])).then(1).otherwise(0)
    return (
        d.lineitem.filter(col("l_shipmode").is_in(["MAIL", "SHIP"]), "l_commitdate < l_receiptdate and l_shipdate < l_commitdate")
        .filter("l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01'")
        .join(d.orders, left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_shipmode")
        .agg(high_line_count=high.sum(), low_line_count=(1 - high).sum())
        .sort("l_shipmode")
    )


def q13(d: Data) -> Query:
    return (
        d.customer.join(d.orders, left_on="c_custkey", right_on="o_custkey", how="left", where=~col("o_comment").like("%special%requests%"))
        .group_by("c_custkey")
        .agg(c_count=col("o_orderkey").count())
        .group_by("c_count")
        .agg(custdist=count())
        .sort("custdist", "c_count", descending=True)
    )


def q14(d: Data) -> Query:
    return (
        d.lineitem.filter("l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'")
        .join(d.part, left_on="l_partkey", right_on="p_partkey")
        .with_columns(volume=VOLUME)
        .agg(promoted=vo.when(col("p_type").like("PROMO%")).then(col("volume")).otherwise(0).sum(), all=col("volume").sum())
        .select(promo_revenue=100 * col("promoted") / col("all"))
    )


def q15(d: Data) -> Query:
    revenue = (
        d.lineitem.filter("l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01'").group_by("l_suppkey").agg(total_revenue=VOLUME.sum())
    )
    return (
        revenue.with_scalar(best=revenue.agg(col("total_revenue").max()))
        .filter("total_revenue = best")
        .join(d.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .sort("s_suppkey")
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
    )


def q16(d: Data) -> Query:
    return (
        d.part.filter(col("p_brand") != "Brand#45", ~col("p_type").like("MEDIUM POLISHED%"), col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]))
        .join(d.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(d.supplier.filter(col("s_comment").like("%Customer%Complaints%")), left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(supplier_cnt=col("ps_suppkey").n_unique())
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )


def q17(d: Data) -> Query:
    lines = d.lineitem.join(d.part.filter(p_brand="Brand#23", p_container="MED BOX"), left_on="l_partkey", right_on="p_partkey", how="semi")
    means = lines.group_by("l_partkey").agg(mean=col("l_quantity").mean())
    return (
        lines.join(means, on="l_partkey", how="semi", where=col("l_quantity") < 0.2 * col("mean"))
        .agg(price=col("l_extendedprice").sum())
        .select(avg_yearly=col("price") / 7.0)
    )


def q18(d: Data) -> Query:
    large = d.lineitem.group_by("l_orderkey").agg(sum_qty=col("l_quantity").sum()).filter("sum_qty > 300")
    return (
        d.orders.join(large, left_on="o_orderkey", right_on="l_orderkey")
        .join(d.customer, left_on="o_custkey", right_on="c_custkey")
        .sort("o_totalprice", "o_orderdate", "o_orderkey", descending=[True, False, False])
        .head(100)
        .select("c_name", col("o_custkey").alias("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
    )


def q19(d: Data) -> Query:
    def kind(brand: str, containers: list[str], quantity: int, size: int) -> vo.Expr:
        return (
            (col("p_brand") == brand) & col("p_container").is_in(containers) & col("l_quantity").is_between(quantity, quantity + 10) & col("p_size").is_between(1, size)
        )  # fmt: skip

    small = kind("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
    medium = kind("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
    large = kind("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
    return (
        d.lineitem.filter(col("l_shipmode").is_in(["AIR", "AIR REG"]), l_shipinstruct="DELIVER IN PERSON")
        .join(d.part, left_on="l_partkey", right_on="p_partkey", where=small | medium | large)
        .agg(revenue=VOLUME.sum())
    )


def q20(d: Data) -> Query:
    sold = (
        d.lineitem.filter("l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'")
        .group_by("l_partkey", "l_suppkey")
        .agg(sold=col("l_quantity").sum())
    )
    stock = d.partsupp.join(d.part.filter(col("p_name").like("forest%")), left_on="ps_partkey", right_on="p_partkey", how="semi").join(
        sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"], how="semi", where="ps_availqty > 0.5 * sold"
    )
    return (
        d.supplier.join(d.nation.filter(n_name="CANADA"), left_on="s_nationkey", right_on="n_nationkey", how="semi")
        .join(stock, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .sort("s_name")
        .select("s_name", "s_address")
    )


def q21(d: Data) -> Query:
    late = d.lineitem.filter("l_receiptdate > l_commitdate")
    return (
        late.join(d.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(d.nation.filter(n_name="SAUDI ARABIA"), left_on="s_nationkey", right_on="n_nationkey", how="semi")
        .join(d.orders.filter(o_orderstatus="F"), left_on="l_orderkey", right_on="o_orderkey", how="semi")
        .join(d.lineitem, on="l_orderkey", how="semi", where="l_suppkey <> l_suppkey_right")
        .join(late, on="l_orderkey", how="anti", where="l_suppkey <> l_suppkey_right")
        .group_by("s_name")
        .agg(numwait=count())
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


def q22(d: Data) -> Query:
    some = d.customer.with_columns(cntrycode=col("c_phone").substring(1, 2)).filter(col("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"]))
    return (
        some.with_scalar(mean=some.filter("c_acctbal > 0").agg(col("c_acctbal").mean()))
        .filter("c_acctbal > mean")
        .join(d.orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        .group_by("cntrycode")
        .agg(numcust=count(), totacctbal=col("c_acctbal").sum())
        .sort("cntrycode")
    )


QUERIES: dict[str, Callable[[Data], Query]] = {
    f.__name__: f for f in (q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22)
}  # fmt: skip
