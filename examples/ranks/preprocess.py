"""Flights are prepared on the ranks, and each rank's loader draws its batches from what it has, without a file between. See README.md."""

from __future__ import annotations

import argparse

import numpy as np
import volley as vo
from features import NAMES, features, total


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch", type=int, default=1024)
    p.add_argument("--rate", type=float, default=0.02)
    a = p.parse_args()

    with vo.Comm() as comm:
        flights = features(comm, a.rows).rebalance()
        loader = flights.loader(a.batch, features=NAMES, labels="delay", shuffle=True, seed=7 + comm.rank, row_numbers=True)
        w, losses = np.zeros(len(NAMES) + 1), []
        for epoch in range(a.epochs):
            steps, seen, squares = 0, [], 0.0
            loader.set_epoch(epoch)
            for x, y, numbers in loader.numpy():
                x = np.column_stack([np.ones(len(x)), x]).astype(np.float64)
                error = x @ w - y.reshape(-1)
                gradient = total(comm, np.append(x.T @ error, len(error)))  # all ranks take this step together
                w -= a.rate * 2 * gradient[:-1] / gradient[-1]
                squares, steps = squares + float(error @ error), steps + 1
                seen.append(np.array(numbers))
            if not np.array_equal(np.sort(np.concatenate(seen)), np.arange(len(flights) // comm.size)):
                raise SystemExit(f"rank {comm.rank}: not every row came once")
            counts = comm.allgather(np.array([steps, sum(map(len, seen))]))
            if len(set(counts[::2].tolist())) > 1:
                raise SystemExit(f"the ranks took {counts[::2].tolist()} steps")
            losses.append(float(total(comm, [squares])[0]) / int(counts[1::2].sum()))
            if comm.rank == 0:
                print(f"epoch {epoch}: {steps} steps on {comm.size} ranks, {int(counts[1::2].sum())} rows, loss {losses[-1]:.5f}", flush=True)
        if len(losses) > 1 and not losses[-1] < losses[0]:
            raise SystemExit("the loss did not fall")


if __name__ == "__main__":
    main()
