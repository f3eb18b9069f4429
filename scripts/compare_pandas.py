"""Times operations in pandas and in volley turn by turn; called by compare-pandas.

The data have the shape that `volley bench columnar` makes: keys drawn evenly, values even in [0, 1).
"""

import gc
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd


def frames(op, n):
    """The arguments of one operation."""
    rng = np.random.default_rng(42)
    if op.startswith("filter"):
        return (pd.DataFrame({"k": rng.integers(0, 1000, n), "v": rng.random(n)}),)
    if op.startswith("groupby"):
        if op == "groupby_unique":
            keys = rng.permutation(n)
        else:
            keys = rng.integers(0, {"groupby_100": 100, "groupby_1e5": 100_000}[op], n)
        return (pd.DataFrame({"k": keys, "v": rng.random(n)}),)
    if op == "join_1e5":
        m = min(n, 100_000)
        left = pd.DataFrame({"k": rng.integers(0, m, n), "v": rng.random(n)})
        return left, pd.DataFrame({"k": rng.permutation(m), "w": rng.random(m)})
    return (pd.DataFrame({"k": rng.integers(-(1 << 62), 1 << 62, n), "v": rng.random(n)}),)


def run(op, args):
    """One operation, its result materialised."""
    f = args[0]
    if op.startswith("filter"):
        return f[f.v < float(op[7:]) / 100]
    if op.startswith("groupby"):
        return f.groupby("k", sort=False, dropna=False).v.agg(["sum", "count"])
    if op == "join_1e5":
        return f.merge(args[1], on="k")
    return f.sort_values("k", kind="stable")


def main(volley, rows, rounds):
    """Prints a line for each operation."""
    n = int(float(rows))
    ops = ["filter_10", "filter_50", "groupby_100", "groupby_1e5", "groupby_unique", "join_1e5", "sort"]
    print(f"pandas {pd.__version__}, numpy {np.__version__}, {n} rows, {rounds} rounds, seconds of the fastest run")
    print(f"{'op':<16}{'pandas':>10}{'volley':>10}{'pandas/volley':>16}")
    for op in ops:
        args = frames(op, n)
        run(op, args)
        best = {"pandas": [], "volley": []}
        for _ in range(int(rounds)):
            gc.collect()
            start = time.perf_counter()
            run(op, args)
            best["pandas"].append(time.perf_counter() - start)
            lines = subprocess.run(
                [volley, "bench", "columnar", "--json", "--runs", "2", "--rows", str(n), "--ops", op],
                check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            ).stdout
            for line in map(json.loads, lines.splitlines()):
                if line.get("op") == op and line.get("engine") == "volley":
                    best["volley"].append(line["min_s"])
        p, v = min(best["pandas"]), min(best["volley"])
        print(f"{op:<16}{p:>10.3f}{v:>10.3f}{p / v:>16.2f}", flush=True)


main(*sys.argv[1:])
