"""ETTh1 as the papers split it, and windows over it that a loader draws and gathers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import volley as vo
from volley.loader_torch import TorchLoader

FILE = Path(__file__).resolve().parents[2] / "testdata" / "etth1" / "ETTh1.csv"
COLUMNS = ["HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"]
# Months of 30 days: 12 to train on, 4 to choose by, 4 to test on. What comes after them is not used.
TRAIN, VALIDATE, TEST = 12 * 30 * 24, 4 * 30 * 24, 4 * 30 * 24


def series(file: Path = FILE) -> vo.Table:
    """The hours, scaled to mean 0 and deviation 1 of those to train on."""
    hours = vo.read_csv(file)
    known = hours.slice(0, TRAIN).lazy().agg(
        *[vo.col(n).mean().alias(f"{n}_mean") for n in COLUMNS], *[vo.col(n).std(ddof=0).alias(f"{n}_std") for n in COLUMNS]
    ).collect().to_pydict()  # fmt: skip
    return hours.select(*[((vo.col(n) - known[f"{n}_mean"][0]) / known[f"{n}_std"][0]).alias(n) for n in COLUMNS])


def windows(hours: vo.Table, part: str, history: int, horizon: int, batch: int, *, most: int | None = None, **more: Any) -> TorchLoader:
    """Pairs of history and horizon, each windows × hours × columns, of a part of the data: to validate and to test with the history before them."""
    first, end = {
        "train": (0, TRAIN), "validate": (TRAIN - history, TRAIN + VALIDATE), "test": (TRAIN + VALIDATE - history, TRAIN + VALIDATE + TEST),
    }[part]  # fmt: skip
    if most is not None:
        end = min(end, first + most + history + horizon - 1)
    return vo.Loader(hours.slice(first, end - first), batch, features=COLUMNS, labels=COLUMNS, history=history, horizon=horizon, **more).torch()
