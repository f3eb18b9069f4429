"""What the ranks of an engine run in the tests: the flights query, whose answer other software found, and a rank that is killed the first time."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import volley as vo

ROOT = Path(__file__).resolve().parents[3]
FLIGHTS, AIRPORTS = ROOT / "testdata" / "flights" / "flights-1m.parquet", ROOT / "testdata" / "flights" / "airports.csv"

# A state, how many flights of at least 500 miles leave from it, their mean and greatest delay, and the share that is late: the states of the latest first.
Row = tuple[str, int, float, int, float]


def answer() -> list[Row]:
    """What the query gives, as it is recorded beside the main benchmark."""
    states = json.loads((ROOT / "bench" / "flights" / "golden.json").read_text())["states"]
    return rounded([(s["state"], s["flights"], s["mean_delay"], s["max_delay"], s["late_share"]) for s in states])


def rounded(rows: list[Row]) -> list[Row]:
    return [(state, flights, round(mean, 9), most, round(late, 9)) for state, flights, mean, most, late in rows]


def states_of(flights: vo.distributed.Table, comm: vo.Comm) -> vo.distributed.Table:
    """The flights of all ranks, joined with the airports that they leave from, by state."""
    airports = vo.distributed.scan_csv(AIRPORTS, comm, columns=["iata", "state"])
    joined = flights.filter("distance >= 500").join(airports, left_on="origin", right_on="iata")
    late = joined.with_columns(late=vo.sql("case when delay > 15 then 1.0 else 0.0 end"))
    found = late.group_by("state").agg(flights=vo.count(), mean_delay=vo.col("delay").mean(), max_delay=vo.col("delay").max(), late_share=vo.col("late").mean())
    return found.sort("mean_delay", descending=True)


def query() -> list[Row]:
    """The flights query on the ranks of the gang that runs this; every rank has the answer."""
    return query_on(vo.gang.current())


def query_on(w: vo.gang.Worker) -> list[Row]:
    flights = vo.distributed.scan_parquet(FLIGHTS, w.comm, columns=["delay", "distance", "origin"])
    if sum(flights.counts) != 1_000_000 or max(flights.counts) == 1_000_000 and w.size > 1:
        raise AssertionError(f"the ranks have {flights.counts} flights")
    return rounded(states_of(flights, w.comm).replicate().local.rows())


def query_after_a_kill(marker: str, rank: int) -> list[Row]:
    """The same, but the first time the process of a rank is killed in the middle."""
    w = vo.gang.current()
    if w.rank == rank and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return query()


def part_of(ref: vo.gang.Ref) -> vo.Table:
    """This rank's part of a table that lies in parts."""
    return vo.gang.current().redistribute(ref)


def killed(rank: int) -> list[Row]:
    if vo.gang.current().rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    return query()


def threads() -> int:
    """How many threads loops take in the process that runs this."""
    return next(d.units for d in vo.devices() if d.kind == "cpu")


def until(path: str) -> bool:
    """Waits for a file, a minute at most."""
    end = time.monotonic() + 60
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.01)
    return Path(path).exists()


def task_of_ray() -> int:
    """What a task gives that a rank begins and waits for."""
    import ray

    return int(ray.get(ray.remote(_sum).remote(1, 2), timeout=60))


def _sum(a: int, b: int) -> int:  # Ray takes no function that is written in C
    return a + b


def keys(ref: vo.gang.Ref) -> list[int]:
    """A rank's part of a table of others."""
    return [int(k) for k in vo.gang.current().redistribute(ref).to_pydict()["k"]]
