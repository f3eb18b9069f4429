"""pandas; the result is handed over as an Arrow table, which copies no numbers."""

import pandas as pd
import pyarrow as pa


class Engine:
    lacks = {}
    unordered = {}

    def __init__(self, threads):
        self.version = pd.__version__

    def load(self, op, inputs, file):
        if file:
            if op == "csv":
                return {"c": lambda: arrow(pd.read_csv(file)), "pyarrow": lambda: arrow(pd.read_csv(file, engine="pyarrow"))}
            return {"read_parquet": lambda: arrow(pd.read_parquet(file))}
        frames = {n: t.to_pandas() for n, t in inputs.items()}
        if op.startswith("join_"):
            return {"merge": lambda: arrow(frames["l"].merge(frames["r"], on="k"))}
        f = operation(op, frames["t"])
        if op == "groupby_nulls":  # keys with nulls are floats to pandas; as a key of whole numbers they go on
            integers = pa.schema([("k", pa.int64()), ("sum", pa.float64()), ("count", pa.int64())])
            return {"frame": lambda: arrow(f()).cast(integers)}
        return {"frame": lambda: arrow(f())}

    def only(self, op, way):
        pass

    def unload(self):
        pass


def arrow(f):
    return pa.Table.from_pandas(f, preserve_index=False)


def one(**values):
    return pd.DataFrame({k: [v] for k, v in values.items()})


def operation(op, t):
    """The operation on one frame."""
    if op == "sum":
        return lambda: one(sum=t.v.sum())
    if op == "minmax":
        return lambda: one(min=t.v.min(), max=t.v.max())
    if op == "filter_count":
        return lambda: one(count=(t.v < 0.1).sum())
    if op == "contains":
        return lambda: one(count=t.k.str.contains("qu", regex=False).sum())
    if op == "starts_with":
        return lambda: one(count=t.k.str.startswith("qu").sum())
    if op.startswith("filter_"):
        share = float(op[7:]) / 100
        return lambda: t[t.v < share]
    if op.startswith("groupby_"):
        keys = ["k1", "k2"] if op == "groupby_two" else "k"
        return lambda: t.groupby(keys, sort=False, dropna=False).v.agg(["sum", "count"]).reset_index()
    if op == "argsort":
        return lambda: pd.DataFrame({"row": t.k.argsort()})
    if op.startswith("sort"):
        keys = ["k1", "k2"] if op == "sort_two" else "k"
        return lambda: t.sort_values(keys)
    if op == "topk":
        return lambda: t.nsmallest(100, "k")
    if op == "cumsum":
        return lambda: t.v.cumsum().to_frame()
    if op == "distinct":
        return lambda: pd.DataFrame({"k": t.k.unique()})
    if op == "expr":
        return lambda: ((t.a * t.b + t.c > t.d) & t.e).to_frame("expr")
    if op == "bitmap_and":
        return lambda: (t.a & t.b).to_frame("and")
    if op == "bitmap_count":
        return lambda: one(count=t.a.sum())
    raise KeyError(op)
