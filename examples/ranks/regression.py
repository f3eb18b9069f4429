"""A distributed join, its result as a matrix, and a linear regression whose gradients are summed over the ranks: HPTMT's figure 17. See README.md."""

from __future__ import annotations

import argparse

import numpy as np
import volley as vo
from features import NAMES, descend, features, matrix, total


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--rate", type=float, default=0.2)
    a = p.parse_args()

    with vo.Comm() as comm:
        flights = features(comm, a.rows)
        x, y = matrix(flights.local)

        def said(step: int, loss: float) -> None:
            if comm.rank == 0 and step % 100 == 0:
                print(f"step {step}: loss {loss:.5f}", flush=True)

        w = descend(comm, x, y, a.rate, 0, a.steps, said)
        # The same by the normal equations, whose sums over rows are sums over ranks too.
        gram = np.asarray(vo.Matrix(x).transpose().multiply(vo.Matrix(x)))
        exact = np.linalg.solve(total(comm, gram), total(comm, x.T @ y))
        off = float(np.max(np.abs(w - exact)))
        if comm.rank == 0:
            print(f"{len(flights)} flights on {comm.size} ranks: " + ", ".join(f"{n} {v:.4f}" for n, v in zip(["mean", *NAMES], w, strict=True)))
            print(f"off by {off:.1e} from the normal equations")
        if not off < 1e-3:
            raise SystemExit("the descent has not arrived")


if __name__ == "__main__":
    main()
