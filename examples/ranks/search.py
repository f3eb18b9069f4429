"""A search for hyper-parameters on Dask: each trial is a task that ends when it ends, and inside of it ranks train in step. See README.md."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path

from dask.distributed import Client, LocalCluster
from volley.engines import dask

HERE = str(Path(__file__).resolve().parent)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=100_000)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--ranks", type=int, default=2, help="of each trial")
    p.add_argument("--trials", type=int, default=9)
    a = p.parse_args()

    with LocalCluster(n_workers=a.workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
        client.register_worker_callbacks(lambda: sys.path.insert(0, HERE))
        running: dict[Future[list[float]], tuple[float, float]] = {}
        found: dict[tuple[float, float], float] = {}

        def begin(rate: float, l2: float) -> None:
            tried = {*found, *running.values()}
            if (rate, l2) not in tried and len(tried) < a.trials:
                running[dask.submit(client, a.ranks, "training:train", a.rows, rate, l2, a.steps)] = rate, l2

        for rate in (0.01, 0.1, 0.5):
            begin(rate, 0.0)
        while running:  # as soon as one trial has ended, others begin beside the best so far
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                tried, losses = running.pop(future), future.result()
                if len(set(losses)) != 1:
                    raise SystemExit(f"the ranks of a trial do not agree: {losses}")
                found[tried] = losses[0]
                print(f"rate {tried[0]:.4f}, l2 {tried[1]:.4f}: loss {losses[0]:.5f}", flush=True)
                rate, l2 = min(found, key=found.__getitem__)
                for beside in ((rate * 1.5, l2), (rate / 1.5, l2), (rate, l2 + 0.001)):
                    begin(*beside)
        best = min(found, key=found.__getitem__)
        print(f"{len(found)} trials of {a.ranks} ranks: the best has rate {best[0]:.4f}, l2 {best[1]:.4f}, loss {found[best]:.5f}")
        if not found[best] < max(found.values()):
            raise SystemExit("no trial is better than another")


if __name__ == "__main__":
    main()
