"""Cylon's join benchmark: two tables of two int64 columns, random keys, spread over the ranks. See README.md."""

from __future__ import annotations

import argparse
import time

import numpy as np
import volley as vo


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=5_000_000, help="rows a side, of all ranks")
    p.add_argument("--weak", action="store_true", help="rows are those of each rank: weak scaling")
    p.add_argument("--unique", type=float, default=0.9, help="how many keys there are, as a share of the rows")
    p.add_argument("--runs", type=int, default=4)
    a = p.parse_args()

    with vo.Comm() as comm:
        rows = a.rows if a.weak else a.rows // comm.size
        keys = max(1, int(rows * comm.size * a.unique))
        random = np.random.default_rng([7, comm.rank])
        sides = [random.integers(0, keys, (2, rows)) for _ in range(2)]
        left, right = (vo.distributed.Table(vo.Table({"k": k, name: v}), comm) for (k, v), name in zip(sides, "ab", strict=True))
        times = []
        for _ in range(a.runs):
            comm.barrier()
            start = time.perf_counter()
            joined = left.join(right, on="k", maintain_order=False)
            times.append(comm.allreduce(np.array([time.perf_counter() - start]), "max")[0])
        # How often each key is on either side says how many rows there must be.
        counts = [comm.allreduce(np.bincount(k, minlength=keys)) for k, _ in sides]
        expected = int(np.sum(counts[0] * counts[1]))
        if comm.rank == 0:
            print(f"{comm.size} ranks, {comm.size * rows} rows a side, {len(joined)} rows: {min(times):.3f} s, {2 * comm.size * rows / min(times) / 1e6:.1f} million rows a second")
        if len(joined) != expected:
            raise SystemExit(f"{len(joined)} rows, {expected} are right")


if __name__ == "__main__":
    main()
