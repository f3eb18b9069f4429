"""pyarrow: the functions of pyarrow.compute and the plans of its engine Acero."""

import pyarrow as pa
import pyarrow.acero as ac
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet


class Engine:
    lacks = {}
    unordered = {"expr": ("acero",), "bitmap_and": ("acero",)}

    def __init__(self, threads):
        self.version = pa.__version__

    def load(self, op, inputs, file):
        if file:
            if op == "csv":
                return {"read_csv": lambda: pa.csv.read_csv(file)}
            return {
                "read_table": lambda: pa.parquet.read_table(file, memory_map=True),
                "dataset": lambda: pa.dataset.dataset(file).to_table(),
            }
        if op.startswith("join_"):
            return {"acero": lambda: joined(inputs["l"], inputs["r"])}
        return ways(op, inputs["t"])

    def only(self, op, way):
        pass

    def unload(self):
        pass


def joined(left, right):
    return left.join(right, "k", join_type="inner")


def acero(t, *steps):
    """A plan over a table, run on all threads, its rows in any order."""
    plan = ac.Declaration("table_source", ac.TableSourceNodeOptions(t))
    for name, options in steps:
        plan = ac.Declaration(name, options, inputs=[plan])
    return plan.to_table(use_threads=True)


def grouped(t, keys, count):
    return t.group_by(keys, use_threads=True).aggregate([("v", "sum"), ("v", "count", count)])


def ways(op, t):
    """The operation on one table."""
    if op == "sum":
        return {"compute": lambda: pa.table({"sum": [pc.sum(t["v"]).as_py()]})}
    if op == "minmax":

        def minmax():
            r = pc.min_max(t["v"])
            return pa.table({"min": [r["min"].as_py()], "max": [r["max"].as_py()]})

        return {"compute": minmax}
    if op == "filter_count":
        return {"compute": lambda: pa.table({"count": [pc.sum(pc.less(t["v"], 0.1)).as_py()]})}
    if op in ("contains", "starts_with"):
        find = pc.match_substring if op == "contains" else pc.starts_with
        return {"compute": lambda: pa.table({"count": [pc.sum(find(t["k"], "qu")).as_py()]})}
    if op.startswith("filter_"):
        share = float(op[7:]) / 100
        return {
            "compute": lambda: t.filter(pc.less(t["v"], share)),
            "acero": lambda: acero(t, ("filter", ac.FilterNodeOptions(pc.field("v") < share))),
        }
    if op.startswith("groupby_"):
        keys = ["k1", "k2"] if op == "groupby_two" else ["k"]
        count = pc.CountOptions(mode="only_valid" if op == "groupby_nulls" else "all")
        return {"acero": lambda: grouped(t, keys, count)}
    if op == "argsort":
        return {"compute": lambda: pa.table({"row": pc.sort_indices(t["k"])})}
    if op.startswith("sort"):
        keys = [("k1", "ascending"), ("k2", "ascending")] if op == "sort_two" else [("k", "ascending")]
        return {"compute": lambda: t.sort_by(keys)}
    if op == "topk":
        return {"compute": lambda: t.take(pc.select_k_unstable(t, 100, [("k", "ascending")]))}
    if op == "cumsum":
        return {"compute": lambda: pa.table({"cumsum": pc.cumulative_sum(t["v"])})}
    if op == "distinct":
        return {"compute": lambda: pa.table({"k": pc.unique(t["k"])})}
    if op == "expr":
        field = (pc.field("a") * pc.field("b") + pc.field("c") > pc.field("d")) & pc.field("e")

        def functions():
            return pa.table({"expr": pc.and_(pc.greater(pc.add(pc.multiply(t["a"], t["b"]), t["c"]), t["d"]), t["e"])})

        return {"compute": functions, "acero": lambda: acero(t, ("project", ac.ProjectNodeOptions([field], ["expr"])))}
    if op == "bitmap_and":
        both = pc.field("a") & pc.field("b")
        return {
            "compute": lambda: pa.table({"and": pc.and_(t["a"], t["b"])}),
            "acero": lambda: acero(t, ("project", ac.ProjectNodeOptions([both], ["and"]))),
        }
    if op == "bitmap_count":
        return {"compute": lambda: pa.table({"count": [pc.sum(t["a"]).as_py()]})}
    raise KeyError(op)
