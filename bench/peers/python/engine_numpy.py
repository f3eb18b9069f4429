"""NumPy. Groups of whole numbers from 0 on are counted by bincount, which is an array and no hash table; others by unique."""

import numpy as np
import pyarrow as pa

NO_JOIN = "NumPy has no join"
NO_STRINGS = "NumPy has no columns of strings of any length that it sorts, groups or searches"
NO_NULLS = "NumPy has no nulls"
NO_FILES = "NumPy reads no such file"


class Engine:
    lacks = {
        **{op: NO_JOIN for op in ("join_1e5", "join_unique", "join_cylon", "join_sparse", "join_str")},
        **{op: NO_STRINGS for op in ("groupby_str", "sort_str", "contains", "starts_with")},
        **{op: NO_NULLS for op in ("groupby_nulls", "sort_nulls")},
        **{op: NO_FILES for op in ("parquet_snappy", "parquet_zstd", "csv")},
    }
    unordered = {}

    def __init__(self, threads):
        self.version = np.__version__

    def load(self, op, inputs, file):
        if op.startswith("bitmap_"):
            return bits(op, inputs["t"])
        return operation(op, {n: c.to_numpy() for n, c in zip(inputs["t"].column_names, inputs["t"].columns)})

    def only(self, op, way):
        pass

    def unload(self):
        pass


def counted(at, v):
    """Sums and counts by dense keys, and the keys that there are."""
    counts = np.bincount(at)
    keys = np.flatnonzero(counts)
    return keys, np.bincount(at, weights=v)[keys], counts[keys]


def grouped(k, v):
    keys, at = np.unique(k, return_inverse=True)
    return pa.table({"k": keys, "sum": np.bincount(at, weights=v), "count": np.bincount(at)})


def dense(k, v):
    keys, sums, counts = counted(k, v)
    return pa.table({"k": keys, "sum": sums, "count": counts})


def dense_two(k1, k2, v, wide):
    keys, sums, counts = counted(k1 * wide + k2, v)
    return pa.table({"k1": keys // wide, "k2": keys % wide, "sum": sums, "count": counts})


def ordered(c, rows):
    return pa.table({n: v[rows] for n, v in c.items()})


def least(c):
    rows = np.argpartition(c["k"], min(100, len(c["k"]) - 1))[:100]
    return ordered(c, rows[np.argsort(c["k"][rows])])


def bits(op, t):
    """Bools are bytes to NumPy, and their bits Arrow's only at the end; packed ones are eight rows a byte all the time, which NumPy has no type for."""
    n, columns = len(t), t.combine_chunks().columns
    packed = [np.frombuffer(c.chunk(0).buffers()[1], np.uint8)[: (n + 7) // 8] for c in columns]
    flat = [c.to_numpy() for c in columns]
    if op == "bitmap_and":
        return {
            "packed": lambda: pa.table({"and": pa.Array.from_buffers(pa.bool_(), n, [None, pa.py_buffer(packed[0] & packed[1])])}),
            "bytes": lambda: pa.table({"and": flat[0] & flat[1]}),
        }
    return {
        "packed": lambda: pa.table({"count": [np.bitwise_count(packed[0]).sum()]}),
        "bytes": lambda: pa.table({"count": [np.count_nonzero(flat[0])]}),
    }


def operation(op, c):
    """The ways to do the operation on columns."""
    v, k = c.get("v"), c.get("k")
    if op == "sum":
        return {"sum": lambda: pa.table({"sum": [v.sum()]})}
    if op == "minmax":
        return {"min, max": lambda: pa.table({"min": [v.min()], "max": [v.max()]})}
    if op == "filter_count":
        return {"count_nonzero": lambda: pa.table({"count": [np.count_nonzero(v < 0.1)]})}
    if op.startswith("filter_"):
        share = float(op[7:]) / 100
        return {
            "mask": lambda: ordered(c, v < share),
            "flatnonzero": lambda: ordered(c, np.flatnonzero(v < share)),
        }
    if op == "groupby_two":
        wide = int(c["k2"].max()) + 1
        return {"bincount": lambda: dense_two(c["k1"], c["k2"], v, wide)}
    if op in ("groupby_sparse", "groupby_skew"):
        return {"unique": lambda: grouped(k, v)}
    if op.startswith("groupby_"):
        return {"bincount": lambda: dense(k, v)}
    if op == "argsort":
        return {"argsort": lambda: pa.table({"row": np.argsort(k)})}
    if op == "sort_two":
        return {"lexsort": lambda: ordered(c, np.lexsort((c["k2"], c["k1"])))}
    if op == "sort":
        return {"argsort": lambda: ordered(c, np.argsort(k))}
    if op == "topk":
        return {"argpartition": lambda: least(c)}
    if op == "cumsum":
        return {"cumsum": lambda: pa.table({"cumsum": np.cumsum(v)})}
    if op == "distinct":
        return {"unique": lambda: pa.table({"k": np.unique(k)})}
    if op == "expr":
        return {"expression": lambda: pa.table({"expr": (c["a"] * c["b"] + c["c"] > c["d"]) & c["e"]})}
    raise KeyError(op)
