"""What the programs of this folder have in common: features of flights as a matrix, made on the ranks of a Comm by a distributed join, and a model on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import volley as vo

DATA = Path(__file__).resolve().parents[2] / "testdata" / "flights"
NAMES = ["distance", "hour", "latitude", "longitude"]


def features(comm: vo.Comm, rows: int) -> vo.distributed.Table:
    """The first flights with where they leave from, each rank with a part of them: four features near 1 in size, and the delay in half hours."""
    flights = vo.distributed.scan_parquet(DATA / "flights-1m.parquet", comm).head(rows)
    airports = vo.distributed.scan_csv(DATA / "airports.csv", comm, columns=["iata", "latitude", "longitude"])
    joined = flights.filter("delay < 300").join(airports, left_on="origin", right_on="iata")
    return joined.select(
        vo.sql("distance / 1000.0 as distance"), vo.sql("(hour(date) - 12) / 6.0 as hour"),
        vo.sql("(latitude - 38) / 10 as latitude"), vo.sql("(longitude + 95) / 20 as longitude"), vo.sql("delay / 30.0 as delay"),
    )  # fmt: skip


def matrix(t: vo.Table) -> tuple[Any, Any]:
    """A rank's rows as a matrix with a column of ones in front, and the delays."""
    x = np.column_stack([np.ones(len(t)), *(np.asarray(t[n]) for n in NAMES)])
    return x, np.asarray(t["delay"])


def total(comm: vo.Comm, x: Any) -> Any:
    """The sum of all ranks' arrays."""
    return comm.allreduce(np.ascontiguousarray(x, dtype=np.float64))


def descend(comm: vo.Comm, x: Any, y: Any, rate: float, l2: float, steps: int, each: Callable[[int, float], None] | None = None) -> Any:
    """Gradient descent on the mean squared error: every rank takes the same steps, by the sum of the gradients of all rows."""
    rows = total(comm, [len(y)])[0]
    w = np.zeros(x.shape[1])
    for step in range(steps):
        error = x @ w - y
        gradient = total(comm, np.append(2 * (x.T @ error), error @ error)) / rows
        w -= rate * (gradient[:-1] + 2 * l2 * w)
        if each is not None:
            each(step, gradient[-1])
    return w
