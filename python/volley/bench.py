"""What volley costs from Python: python -m volley.bench.

Three figures, each the least of several runs, as JSON with --json:

- the overhead of a call, in microseconds, with the floor beside it: what ctypes takes to call any C function;
- with --flights, a folder with flights-1m.parquet and airports.csv: a pipeline that reads, filters, joins, groups and sorts; with --go, the program made
  of bench/pipeline, the same in Go, turn by turn;
- memory: objects of the library and bytes of the process before and after 1,000 runs of a query.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from ctypes import byref, c_int64, c_void_p
from pathlib import Path
from typing import Any

from . import col, count, scan_csv, scan_parquet
from ._library import library, live
from .column import Column
from .device import Device
from .query import Query
from .table import Table


def overhead(calls: int = 20_000) -> dict[str, float]:
    """Microseconds of a call: of C's labs (the floor), of a function of volley.h that does nothing but answer, of the same by the package's method,
    of a slice of no values, and of the filter kernel on columns of no values."""
    lib, out, made = library(), c_int64(), c_void_p()
    labs = ctypes.CDLL(None).labs
    labs.argtypes, labs.restype = [ctypes.c_long], ctypes.c_long
    column, values, mask, cpu = Column([1, 2, 3]), Column([], "int64"), Column([], "bool"), Device("cpu")
    handle, answer = column._handle, byref(out)

    def kernel() -> None:
        lib.volley_filter(cpu, values, mask, None, byref(made))
        lib.volley_column_free(made)

    def of(f: Callable[[], Any], n: int) -> float:
        return round(min(timeit.repeat(f, number=max(1, n), repeat=7)) / max(1, n) * 1e6, 3)

    return {
        "ctypes floor": of(lambda: labs(1), calls),
        "volley_column_length": of(lambda: lib.volley_column_length(handle, answer), calls),
        "len(column)": of(lambda: len(column), calls),
        "column.slice(0, 0)": of(lambda: column.slice(0, 0), calls),
        "empty filter kernel, and its result freed": of(kernel, calls // 4),
    }


def query(folder: Path) -> Query:
    """The pipeline; bench/pipeline has the same words."""
    airports = scan_csv(folder / "airports.csv", device="cpu")
    return (
        scan_parquet(folder / "flights-1m.parquet", device="cpu")
        .filter("distance >= 500")
        .join(airports, left_on="origin", right_on="iata")
        .group_by("state", "destination")
        .agg(count(), col("delay").mean(), col("distance").max())
        .sort("count", "state", "destination", descending=[True, False, False])
    )


def pipeline(folder: Path, runs: int, go: str | None = None) -> dict[str, Any]:
    """Seconds of the pipeline in Python, and in Go, turn by turn; both must have one answer."""
    other = subprocess.Popen([go, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) if go else None
    mine, theirs = [], []
    try:
        for run in range(runs + 1):
            started = time.perf_counter()
            late = query(folder).collect()
            took = time.perf_counter() - started
            answer = [len(late), sum(late["count"].to_pylist())]
            late.close()
            if run:  # the first one warms up
                mine.append(took)
            if other is not None:
                assert other.stdin is not None and other.stdout is not None
                other.stdin.write("run\n")
                took_there, *answer_there = map(int, other.stdout.readline().split())
                if answer_there != answer:
                    raise SystemExit(f"Python has {answer}, Go {answer_there}: rows, and the sum of counts")
                if run:
                    theirs.append(took_there / 1e9)
    finally:
        if other is not None:
            other.communicate()
    made: dict[str, Any] = {"rows": answer[0], "python": min(mine), "python median": statistics.median(mine)}
    if theirs:
        made |= {"go": min(theirs), "go median": statistics.median(theirs), "python / go": min(mine) / min(theirs)}
    return made


def memory(runs: int = 1000) -> dict[str, int]:
    """Objects of the library and bytes of the process, before and after runs of a query over 100,000 rows of which each makes a megabyte and more."""
    t = Table({"k": list(range(1000)) * 100, "v": [0.5] * 100_000}, device="cpu")
    plan = t.lazy().filter("k >= 100").with_columns(w=col("v") * 2).group_by("k").agg(col("w").sum())

    def once() -> None:
        plan.collect().to_pydict()

    for _ in range(50):
        once()
    gc.collect()
    objects, resident = live(), _resident()
    for _ in range(runs):
        once()
    gc.collect()
    return {"runs": runs, "objects before": objects, "objects after": live(), "bytes before": resident, "bytes after": _resident()}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def main(arguments: list[str] | None = None) -> None:
    """Prints the figures."""
    p = argparse.ArgumentParser(prog="python -m volley.bench", description="What volley costs from Python.")
    p.add_argument("--flights", type=Path, metavar="FOLDER", help="with flights-1m.parquet and airports.csv: times the pipeline too")
    p.add_argument("--go", metavar="PROGRAM", help="made of bench/pipeline: the same pipeline in Go")
    p.add_argument("--runs", type=int, default=10, help="of the pipeline")
    p.add_argument("--calls", type=int, default=20_000, help="of each function")
    p.add_argument("--memory-runs", type=int, default=1000, help="of the query after which memory is counted")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    o = p.parse_args(arguments)
    if o.runs < 1 or o.go and not o.flights:
        p.error("--runs is 1 at least, and --go wants --flights")
    figures: dict[str, Any] = {"overhead": overhead(o.calls), "memory": memory(o.memory_runs)}
    if o.flights:
        figures["pipeline"] = pipeline(o.flights, o.runs, o.go)
    if o.json:
        print(json.dumps(figures))
        return
    print("a call, microseconds")
    for name, value in figures["overhead"].items():
        print(f"  {name:<44}{value:8.2f}")
    m = figures["memory"]
    print(f"after {m['runs']} runs: {m['objects after'] - m['objects before']:+d} objects, {(m['bytes after'] - m['bytes before']) / 2**20:+.1f} MiB")
    for name, value in figures.get("pipeline", {}).items():
        print(f"  {name:<44}{value:8.4f}" if isinstance(value, float) else f"pipeline of {value} rows out, seconds")


if __name__ == "__main__":
    main(sys.argv[1:])
