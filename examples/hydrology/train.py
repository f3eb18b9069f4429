"""Streamflow of many basins by one LSTM in TensorFlow, after Kratzert et al. (2019). See README.md."""

from __future__ import annotations

import argparse
import math
import tempfile
from typing import Any

import camels
import generate
import keras
import numpy as np
import tensorflow as tf
import volley as vo

# By name: where OpenCL has a driver made with LLVM (PoCL), a process that has TensorFlow's LLVM cannot look for it.
CPU = "cpu"


def numbers(basins: list[camels.Basin]) -> tuple[vo.Table, list[str]]:
    """A row for each basin and day: forcings, what is known of the basin, and the flow, null where it was not observed."""
    names = list(basins[0].forcings)
    columns: dict[str, list[Any]] = {n: [v for b in basins for v in b.forcings[n]] for n in names}
    for name, of in (("latitude", lambda b: b.latitude), ("elevation", lambda b: b.elevation), ("area", lambda b: math.log(b.area))):
        columns[name] = [of(b) for b in basins for _ in b.days]
    columns["flow"] = [v for b in basins for v in b.flow]
    return vo.Table(columns, device=CPU), [*names, "latitude", "elevation", "area"]


def scaled(table: vo.Table, inputs: list[str]) -> tf.Tensor:
    """The inputs, rows × columns, each with mean 0 and deviation 1."""
    known = table.lazy().agg(*[vo.col(n).mean().alias(f"m {n}") for n in inputs], *[vo.col(n).std(ddof=0).alias(f"s {n}") for n in inputs]).collect()
    k = known.to_pydict()
    made = table.select(*[((vo.col(n) - k[f"m {n}"][0]) / max(k[f"s {n}"][0], 1e-6)).alias(n) for n in inputs])
    return next(iter(vo.Loader(made, len(made)).tensorflow()))


def ends(basins: list[camels.Basin], days: int, train: bool) -> vo.Table:
    """The rows at which a window of so many days ends, inside one basin, on a day with a flow: the first 70 % of the days, or the rest."""
    rows, first = [], 0
    for b in basins:
        cut = int(0.7 * len(b.days))
        span = range(days - 1, cut) if train else range(max(cut, days - 1), len(b.days))
        rows += [first + i for i in span if b.flow[i] is not None]
        first += len(b.days)
    return vo.Table({"end": np.array(rows)}, device=CPU)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--camels", help="folder of CAMELS; else basins are made")
    p.add_argument("--basins", type=int, default=20)
    p.add_argument("--years", type=int, default=6)
    p.add_argument("--days", type=int, default=60, help="of a window")
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--least", type=float, default=0.0, help="fail where the Nash-Sutcliffe efficiency of the test days is less")
    a = p.parse_args()

    keras.utils.set_random_seed(7)
    if a.camels:
        basins = camels.read(a.camels)
    else:
        with tempfile.TemporaryDirectory() as folder:  # by way of the published layout
            camels.write(folder, [generate.basin(i, 365 * a.years, 7) for i in range(a.basins)])
            basins = camels.read(folder)
    table, inputs = numbers(basins)
    x = scaled(table, inputs)
    flow = tf.constant([0.0 if v is None else math.sqrt(v) for b in basins for v in b.flow])  # its root: floods count less
    back = tf.range(-a.days + 1, 1, dtype=tf.int64)

    def windows(rows: Any) -> Any:
        return tf.gather(x, rows + back), tf.gather(flow, rows)

    batches = vo.Loader(ends(basins, a.days, True), a.batch, dtype="int64", shuffle=True, seed=7).dataset().map(windows)
    late = vo.Loader(ends(basins, a.days, False), a.batch, dtype="int64").dataset().map(windows)
    model = keras.Sequential([keras.Input((a.days, len(inputs))), keras.layers.LSTM(a.hidden), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
    losses = model.fit(batches, epochs=a.epochs, verbose=2).history["loss"]

    seen, said = [], []
    for inputs_, observed in late:
        seen.append(np.square(observed.numpy().ravel()))
        said.append(np.square(np.maximum(model(inputs_).numpy().ravel(), 0)))
    o, s = np.concatenate(seen), np.concatenate(said)
    efficiency = 1 - np.square(s - o).sum() / np.square(o - o.mean()).sum()
    print(f"{len(basins)} basins, {len(table)} days, loss {losses[0]:.4f} to {losses[-1]:.4f}, Nash-Sutcliffe efficiency of {len(o)} test days {efficiency:.3f}")
    if len(losses) > 1 and not losses[-1] < losses[0] or not efficiency > a.least:
        raise SystemExit("it has not learned")


if __name__ == "__main__":
    main()
