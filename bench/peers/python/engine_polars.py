"""Polars: its in-memory and its streaming engine over frames; the result is an Arrow table in Polars' own types."""

import polars as pl


class Engine:
    lacks = {}
    unordered = {}

    def __init__(self, threads):
        self.version = pl.__version__
        if pl.thread_pool_size() != threads:
            raise RuntimeError(f"Polars runs on {pl.thread_pool_size()} threads, not {threads}")

    def load(self, op, inputs, file):
        newest = pl.CompatLevel.newest()
        if file:
            scan = pl.scan_csv if op == "csv" else pl.scan_parquet
            read = pl.read_csv if op == "csv" else pl.read_parquet
            return {
                "read": lambda: read(file).to_arrow(compat_level=newest),
                "streaming": lambda: scan(file).collect(engine="streaming").to_arrow(compat_level=newest),
            }
        frames = {n: pl.from_arrow(t) for n, t in inputs.items()}
        if op == "cumsum":
            v = frames["t"]["v"]
            return {"eager": lambda: v.cum_sum().to_frame().to_arrow(compat_level=newest)}
        q = plan(op, {n: f.lazy() for n, f in frames.items()})
        return {
            "in-memory": lambda: q.collect(engine="in-memory").to_arrow(compat_level=newest),
            "streaming": lambda: q.collect(engine="streaming").to_arrow(compat_level=newest),
        }

    def only(self, op, way):
        pass

    def unload(self):
        pass


def plan(op, f):
    """The operation as a lazy query."""
    t, v = f.get("t"), pl.col("v")
    if op == "sum":
        return t.select(v.sum())
    if op == "minmax":
        return t.select(v.min().alias("min"), v.max().alias("max"))
    if op == "filter_count":
        return t.filter(v < 0.1).select(pl.len())
    if op == "contains":
        return t.filter(pl.col("k").str.contains("qu", literal=True)).select(pl.len())
    if op == "starts_with":
        return t.filter(pl.col("k").str.starts_with("qu")).select(pl.len())
    if op.startswith("filter_"):
        return t.filter(v < float(op[7:]) / 100)
    if op.startswith("groupby_"):
        keys = ["k1", "k2"] if op == "groupby_two" else ["k"]
        count = v.count() if op == "groupby_nulls" else pl.len()
        return t.group_by(keys).agg(v.sum().alias("sum"), count.alias("count"))
    if op.startswith("join_"):
        return f["l"].join(f["r"], on="k", maintain_order="none")
    if op == "argsort":
        return t.select(pl.col("k").arg_sort())
    if op.startswith("sort"):
        return t.sort(["k1", "k2"] if op == "sort_two" else ["k"], nulls_last=True)
    if op == "topk":
        return t.bottom_k(100, by="k").sort("k")
    if op == "distinct":
        return t.unique(maintain_order=False)
    if op == "expr":
        return t.select(((pl.col("a") * pl.col("b") + pl.col("c")) > pl.col("d")) & pl.col("e"))
    if op == "bitmap_and":
        return t.select(pl.col("a") & pl.col("b"))
    if op == "bitmap_count":
        return t.select(pl.col("a").sum())
    raise KeyError(op)
