"""Polars: its streaming engine over frames or over the files; the result is a frame."""

from datetime import date

import polars as pl
from polars import col
from sql import TABLES

# A product of decimals has the scale of its operands in Polars, and is rounded to it: they are given the scale that SQL's product has.
FOUR, SIX = pl.Decimal(38, 4), pl.Decimal(38, 6)
VOLUME = col("l_extendedprice").cast(FOUR) * (1 - col("l_discount")).cast(FOUR)


class Engine:
    def __init__(self, threads):
        self.version = pl.__version__
        if pl.thread_pool_size() != threads:
            raise RuntimeError(f"Polars runs on {pl.thread_pool_size()} threads, not {threads}")

    def load(self, folder, files):
        scans = {name: pl.scan_parquet(f"{folder}/{name}.parquet") for name in TABLES}
        self.tables = {name: scan if files else scan.collect().lazy() for name, scan in scans.items()}

    def settle(self):
        """Polars gives back by itself what reading left, and imports nothing for a result."""

    def run(self, query):
        return globals()[query](**{name: self.tables[name] for name in TABLES}).collect(engine="streaming")

    def write(self, result, path):
        result.write_csv(path)


def q1(lineitem, **_):
    return (
        lineitem.filter(col("l_shipdate") <= date(1998, 9, 2)).with_columns(disc_price=VOLUME)
        .with_columns(charge=col("disc_price").cast(SIX) * (1 + col("l_tax")).cast(SIX)).group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=col("l_quantity").sum(), sum_base_price=col("l_extendedprice").sum(), sum_disc_price=col("disc_price").sum(), sum_charge=col("charge").sum(),
            avg_qty=col("l_quantity").cast(pl.Float64).mean(), avg_price=col("l_extendedprice").cast(pl.Float64).mean(),
            avg_disc=col("l_discount").cast(pl.Float64).mean(), count_order=pl.len(),
        ).sort("l_returnflag", "l_linestatus")
    )  # fmt: skip


def q2(part, partsupp, supplier, nation, region, **_):
    offers = (
        part.filter(col("p_size") == 15, col("p_type").str.ends_with("BRASS")).join(partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(supplier, left_on="ps_suppkey", right_on="s_suppkey").join(nation, left_on="s_nationkey", right_on="n_nationkey")
        .join(region.filter(col("r_name") == "EUROPE"), left_on="n_regionkey", right_on="r_regionkey", how="semi")
    )  # fmt: skip
    least = offers.group_by("p_partkey").agg(ps_supplycost=col("ps_supplycost").min())
    return (
        offers.join(least, on=["p_partkey", "ps_supplycost"], how="semi")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False]).head(100)
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
    )  # fmt: skip


def q3(customer, orders, lineitem, **_):
    return (
        customer.filter(col("c_mktsegment") == "BUILDING").join(orders.filter(col("o_orderdate") < date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
        .join(lineitem.filter(col("l_shipdate") > date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey")
        .group_by(col("o_orderkey").alias("l_orderkey"), "o_orderdate", "o_shippriority").agg(revenue=VOLUME.sum())
        .sort("revenue", "o_orderdate", "l_orderkey", descending=[True, False, False]).head(10).select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
    )  # fmt: skip


def q4(orders, lineitem, **_):
    return (
        orders.filter(col("o_orderdate") >= date(1993, 7, 1), col("o_orderdate") < date(1993, 10, 1))
        .join(lineitem.filter(col("l_commitdate") < col("l_receiptdate")), left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority").agg(order_count=pl.len()).sort("o_orderpriority")
    )  # fmt: skip


def q5(customer, orders, lineitem, supplier, nation, region, **_):
    return (
        region.filter(col("r_name") == "ASIA").join(nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(orders.filter(col("o_orderdate") >= date(1994, 1, 1), col("o_orderdate") < date(1995, 1, 1)), left_on="c_custkey", right_on="o_custkey")
        .join(lineitem, left_on="o_orderkey", right_on="l_orderkey").join(supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .group_by("n_name").agg(revenue=VOLUME.sum()).sort("revenue", descending=True)
    )  # fmt: skip


def q6(lineitem, **_):
    return lineitem.filter(
        col("l_shipdate") >= date(1994, 1, 1), col("l_shipdate") < date(1995, 1, 1), col("l_discount").is_between(pl.lit("0.05").cast(pl.Decimal(15, 2)), pl.lit("0.07").cast(pl.Decimal(15, 2))),
        col("l_quantity") < 24,
    ).select(revenue=(col("l_extendedprice").cast(FOUR) * col("l_discount").cast(FOUR)).sum())  # fmt: skip


def q7(supplier, lineitem, orders, customer, nation, **_):
    two = nation.filter(col("n_name").is_in(["FRANCE", "GERMANY"])).select("n_nationkey", "n_name")
    return (
        supplier.join(two.rename({"n_name": "supp_nation"}), left_on="s_nationkey", right_on="n_nationkey")
        .join(lineitem.filter(col("l_shipdate").is_between(date(1995, 1, 1), date(1996, 12, 31))), left_on="s_suppkey", right_on="l_suppkey")
        .join(orders, left_on="l_orderkey", right_on="o_orderkey").join(customer, left_on="o_custkey", right_on="c_custkey")
        .join(two.rename({"n_name": "cust_nation"}), left_on="c_nationkey", right_on="n_nationkey").filter(col("supp_nation") != col("cust_nation"))
        .group_by("supp_nation", "cust_nation", col("l_shipdate").dt.year().alias("l_year")).agg(revenue=VOLUME.sum()).sort("supp_nation", "cust_nation", "l_year")
    )  # fmt: skip


def q8(part, supplier, lineitem, orders, customer, nation, region, **_):
    return (
        part.filter(col("p_type") == "ECONOMY ANODIZED STEEL").join(lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(orders.filter(col("o_orderdate").is_between(date(1995, 1, 1), date(1996, 12, 31))), left_on="l_orderkey", right_on="o_orderkey")
        .join(customer, left_on="o_custkey", right_on="c_custkey").join(nation.select("n_nationkey", "n_regionkey"), left_on="c_nationkey", right_on="n_nationkey")
        .join(region.filter(col("r_name") == "AMERICA"), left_on="n_regionkey", right_on="r_regionkey", how="semi")
        .join(supplier, left_on="l_suppkey", right_on="s_suppkey").join(nation.select("n_nationkey", "n_name"), left_on="s_nationkey", right_on="n_nationkey")
        .with_columns(volume=VOLUME).group_by(col("o_orderdate").dt.year().alias("o_year"))
        .agg(own=col("volume").filter(col("n_name") == "BRAZIL").sum(), all=col("volume").sum())
        .select("o_year", mkt_share=col("own").cast(pl.Float64) / col("all").cast(pl.Float64)).sort("o_year")
    )  # fmt: skip


def q9(part, supplier, lineitem, partsupp, orders, nation, **_):
    return (
        part.filter(col("p_name").str.contains("green", literal=True)).join(lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(supplier, left_on="l_suppkey", right_on="s_suppkey").join(partsupp, left_on=["p_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
        .join(orders, left_on="l_orderkey", right_on="o_orderkey").join(nation, left_on="s_nationkey", right_on="n_nationkey")
        .group_by(col("n_name").alias("nation"), col("o_orderdate").dt.year().alias("o_year"))
        .agg(sum_profit=(VOLUME - col("ps_supplycost").cast(FOUR) * col("l_quantity").cast(FOUR)).sum()).sort("nation", "o_year", descending=[False, True])
    )  # fmt: skip


def q10(customer, orders, lineitem, nation, **_):
    return (
        customer.join(orders.filter(col("o_orderdate") >= date(1993, 10, 1), col("o_orderdate") < date(1994, 1, 1)), left_on="c_custkey", right_on="o_custkey")
        .join(lineitem.filter(col("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey").join(nation, left_on="c_nationkey", right_on="n_nationkey")
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment").agg(revenue=VOLUME.sum())
        .sort("revenue", "c_custkey", descending=[True, False]).head(20)
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
    )  # fmt: skip


def q11(partsupp, supplier, nation, **_):
    stock = (
        nation.filter(col("n_name") == "GERMANY").join(supplier, left_on="n_nationkey", right_on="s_nationkey")
        .join(partsupp, left_on="s_suppkey", right_on="ps_suppkey").select("ps_partkey", worth=col("ps_supplycost") * col("ps_availqty"))
    )  # fmt: skip
    return (
        stock.group_by("ps_partkey").agg(value=col("worth").sum()).join(stock.select(total=col("worth").sum()), how="cross")
        .filter(col("value").cast(pl.Float64) > col("total").cast(pl.Float64) * 0.0001).select("ps_partkey", "value").sort("value", "ps_partkey", descending=[True, False])
    )  # fmt: skip


def q12(orders, lineitem, **_):
    high = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        lineitem.filter(
            col("l_shipmode").is_in(["MAIL", "SHIP"]), col("l_commitdate") < col("l_receiptdate"), col("l_shipdate") < col("l_commitdate"),
            col("l_receiptdate") >= date(1994, 1, 1), col("l_receiptdate") < date(1995, 1, 1),
        ).join(orders, left_on="l_orderkey", right_on="o_orderkey").group_by("l_shipmode")
        .agg(high_line_count=high.sum(), low_line_count=(~high).sum()).sort("l_shipmode")
    )  # fmt: skip


def q13(customer, orders, **_):
    return (
        customer.join(orders.filter(~col("o_comment").str.contains("special.*requests")), left_on="c_custkey", right_on="o_custkey", how="left")
        .group_by("c_custkey").agg(c_count=col("o_orderkey").count()).group_by("c_count").agg(custdist=pl.len()).sort("custdist", "c_count", descending=True)
    )  # fmt: skip


def q14(lineitem, part, **_):
    return (
        lineitem.filter(col("l_shipdate") >= date(1995, 9, 1), col("l_shipdate") < date(1995, 10, 1)).join(part, left_on="l_partkey", right_on="p_partkey")
        .with_columns(volume=VOLUME).select(promoted=col("volume").filter(col("p_type").str.starts_with("PROMO")).sum(), all=col("volume").sum())
        .select(promo_revenue=100 * col("promoted").cast(pl.Float64) / col("all").cast(pl.Float64))
    )  # fmt: skip


def q15(lineitem, supplier, **_):
    revenue = (
        lineitem.filter(col("l_shipdate") >= date(1996, 1, 1), col("l_shipdate") < date(1996, 4, 1)).group_by("l_suppkey").agg(total_revenue=VOLUME.sum())
    )  # fmt: skip
    return (
        revenue.join(revenue.select(best=col("total_revenue").max()), how="cross").filter(col("total_revenue") == col("best"))
        .join(supplier, left_on="l_suppkey", right_on="s_suppkey").sort("l_suppkey")
        .select(col("l_suppkey").alias("s_suppkey"), "s_name", "s_address", "s_phone", "total_revenue")
    )  # fmt: skip


def q16(part, partsupp, supplier, **_):
    return (
        part.filter(col("p_brand") != "Brand#45", ~col("p_type").str.starts_with("MEDIUM POLISHED"), col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]))
        .join(partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(supplier.filter(col("s_comment").str.contains("Customer.*Complaints")), left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size").agg(supplier_cnt=col("ps_suppkey").n_unique())
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )  # fmt: skip


def q17(lineitem, part, **_):
    lines = lineitem.join(part.filter(col("p_brand") == "Brand#23", col("p_container") == "MED BOX"), left_on="l_partkey", right_on="p_partkey", how="semi")
    means = lines.group_by("l_partkey").agg(mean=col("l_quantity").cast(pl.Float64).mean())
    return (
        lines.join(means, on="l_partkey").filter(col("l_quantity").cast(pl.Float64) < 0.2 * col("mean"))
        .select(price=pl.when(pl.len() > 0).then(col("l_extendedprice").sum().cast(pl.Float64))).select(avg_yearly=col("price") / 7.0)
    )  # fmt: skip


def q18(customer, orders, lineitem, **_):
    large = lineitem.group_by("l_orderkey").agg(sum_qty=col("l_quantity").sum()).filter(col("sum_qty") > 300)
    return (
        orders.join(large, left_on="o_orderkey", right_on="l_orderkey").join(customer, left_on="o_custkey", right_on="c_custkey")
        .sort("o_totalprice", "o_orderdate", "o_orderkey", descending=[True, False, False]).head(100)
        .select("c_name", col("o_custkey").alias("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
    )  # fmt: skip


def q19(lineitem, part, **_):
    def kind(brand, containers, quantity, size):
        return (col("p_brand") == brand) & col("p_container").is_in(containers) & col("l_quantity").is_between(quantity, quantity + 10) & col("p_size").is_between(1, size)

    small = kind("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
    medium = kind("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
    large = kind("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
    return (
        lineitem.filter(col("l_shipmode").is_in(["AIR", "AIR REG"]), col("l_shipinstruct") == "DELIVER IN PERSON")
        .join(part, left_on="l_partkey", right_on="p_partkey").filter(small | medium | large).select(revenue=pl.when(pl.len() > 0).then(VOLUME.sum()))
    )  # fmt: skip


def q20(supplier, nation, partsupp, part, lineitem, **_):
    sold = (
        lineitem.filter(col("l_shipdate") >= date(1994, 1, 1), col("l_shipdate") < date(1995, 1, 1))
        .group_by("l_partkey", "l_suppkey").agg(sold=col("l_quantity").sum().cast(pl.Float64) * 0.5)
    )  # fmt: skip
    stock = (
        partsupp.join(part.filter(col("p_name").str.starts_with("forest")), left_on="ps_partkey", right_on="p_partkey", how="semi")
        .join(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"]).filter(col("ps_availqty") > col("sold"))
    )  # fmt: skip
    return (
        supplier.join(nation.filter(col("n_name") == "CANADA"), left_on="s_nationkey", right_on="n_nationkey", how="semi")
        .join(stock, left_on="s_suppkey", right_on="ps_suppkey", how="semi").sort("s_name").select("s_name", "s_address")
    )  # fmt: skip


def q21(supplier, lineitem, orders, nation, **_):
    """An order is waited for by several suppliers if it has lines of more than one, and by one alone if late lines are of one: both are counts by order."""
    late = lineitem.filter(col("l_receiptdate") > col("l_commitdate"))
    several = lineitem.group_by("l_orderkey").agg(n=col("l_suppkey").n_unique()).filter(col("n") > 1)
    alone = late.group_by("l_orderkey").agg(n=col("l_suppkey").n_unique()).filter(col("n") == 1)
    return (
        late.join(supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(nation.filter(col("n_name") == "SAUDI ARABIA"), left_on="s_nationkey", right_on="n_nationkey", how="semi")
        .join(orders.filter(col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey", how="semi")
        .join(several, on="l_orderkey", how="semi").join(alone, on="l_orderkey", how="semi")
        .group_by("s_name").agg(numwait=pl.len()).sort("numwait", "s_name", descending=[True, False]).head(100)
    )  # fmt: skip


def q22(customer, orders, **_):
    some = (
        customer.with_columns(cntrycode=col("c_phone").str.slice(0, 2)).filter(col("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"]))
        .with_columns(balance=col("c_acctbal").cast(pl.Float64))
    )  # fmt: skip
    return (
        some.join(some.filter(col("balance") > 0).select(mean=col("balance").mean()), how="cross").filter(col("balance") > col("mean"))
        .join(orders, left_on="c_custkey", right_on="o_custkey", how="anti").group_by("cntrycode").agg(numcust=pl.len(), totacctbal=col("c_acctbal").sum())
        .sort("cntrycode")
    )  # fmt: skip
