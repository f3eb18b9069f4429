"""Delays of flights by an MLP in PyTorch: a query makes the features, a loader the batches, nothing is copied in between. See README.md."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
import volley as vo

DATA = Path(__file__).resolve().parents[2] / "testdata" / "flights"


def features(rows: int) -> vo.Query:
    """Distance, hour, weekday's place in the week, and where the two airports are; the delay last. All near 1 in size."""
    airports = vo.scan_csv(DATA / "airports.csv").select([vo.col("iata"), vo.col("latitude"), vo.col("longitude")])
    flights = vo.scan_parquet(DATA / "flights-1m.parquet").slice(0, rows)
    q = flights.join(airports, left_on="origin", right_on="iata").join(airports, left_on="destination", right_on="iata", suffix="_there")
    return q.filter("delay < 300").select(
        vo.sql("distance / 1000.0 as distance"), vo.sql("(hour(date) - 12) / 6.0 as hour"), vo.sql("(day(date) - 15) / 10.0 as day"),
        vo.sql("latitude / 50 as lat"), vo.sql("longitude / 100 as lon"),
        vo.sql("latitude_there / 50 as lat_there"), vo.sql("longitude_there / 100 as lon_there"), vo.sql("delay / 30.0 as delay"),
    )  # fmt: skip


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=4096)
    p.add_argument("--most-waiting", type=float, help="fail where a larger share of the time than this goes into waiting for data")
    a = p.parse_args()

    torch.manual_seed(7)
    table = features(a.rows).collect()
    loader = vo.Loader(table, a.batch, labels="delay", shuffle=True, seed=7)
    model = torch.nn.Sequential(torch.nn.Linear(7, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses, waiting, start = [], 0.0, time.perf_counter()
    first = []  # losses of the first tenth of an epoch, for one that is the only one
    for epoch in range(a.epochs):
        total, rows, batches = 0.0, 0, iter(loader.torch())
        while True:
            asked = time.perf_counter()
            batch = next(batches, None)
            waiting += time.perf_counter() - asked
            if batch is None:
                break
            x, y = batch
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total, rows = total + loss.item() * len(x), rows + len(x)
            if not losses and (not first or 10 * rows <= len(table)):
                first.append(loss.item())
            del x, y, batch  # the batch's memory goes back to the ring
        if rows != len(table):
            raise SystemExit(f"{rows} rows of {len(table)} in an epoch")
        losses.append(total / rows)
        print(f"epoch {epoch}: loss {losses[-1]:.5f}", flush=True)
    share = waiting / (time.perf_counter() - start)
    print(f"{len(table)} rows an epoch, {100 * share:.2f} % of the time waited for data")
    if losses and not losses[-1] < (losses[0] if len(losses) > 1 else sum(first) / len(first)):
        raise SystemExit("the loss did not fall")
    if a.most_waiting is not None and share > a.most_waiting:
        raise SystemExit(f"more than {100 * a.most_waiting} % of the time")


if __name__ == "__main__":
    main()
