"""Forecasts of ETTh1 by NLinear or an LSTM in PyTorch, on one process or data-parallel on several. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable

import torch
import volley as vo
from data import COLUMNS, series, windows
from models import MODELS
from volley.loader_torch import TorchLoader

Reduce = Callable[[torch.Tensor], None]


def joined(by: str, ranks: int) -> tuple[Reduce, Callable[[], None]]:
    """What sums a vector over the ranks in place, and what ends it. The ranks find each other by torchrun's variables."""
    if ranks == 1:
        return lambda _: None, lambda: None
    if by == "gloo":
        torch.distributed.init_process_group("gloo")
        return torch.distributed.all_reduce, torch.distributed.destroy_process_group
    comm = vo.Comm()

    def allreduce(vector: torch.Tensor) -> None:
        comm.allreduce(vector, out=vector)

    return allreduce, comm.close


def mean_of_ranks(tensors: list[torch.Tensor], reduce: Reduce, ranks: int) -> None:
    """Makes the tensors their means over the ranks, by one all-reduce of them all."""
    flat = torch.cat([t.reshape(-1) for t in tensors])
    reduce(flat)
    flat /= ranks
    at = 0
    for t in tensors:
        t.copy_(flat[at : at + t.numel()].view_as(t))
        at += t.numel()


def error(model: torch.nn.Module, batches: TorchLoader) -> float:
    """The mean squared error over all windows, hours and columns."""
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += float(((model(x) - y) ** 2).sum())
            count += y.numel()
    return total / count


def train(a: argparse.Namespace, rank: int, ranks: int, by: str) -> dict[str, object]:
    torch.manual_seed(a.seed)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // ranks))
    reduce, end = joined(by, ranks)
    hours = series()
    model = MODELS[a.model](a.history, a.horizon, len(COLUMNS))
    optimizer = torch.optim.Adam(model.parameters(), lr=a.lr)

    def part(name: str, batch: int, **more: object) -> TorchLoader:
        return windows(hours, name, a.history, a.horizon, batch, most=a.windows, **more)

    batches = part("train", a.batch // ranks, shuffle=True, seed=a.seed, rank=rank, num_replicas=ranks, drop_last=True)
    validate, test = part("validate", 256), part("test", 256)
    losses: list[float] = []
    best, chosen, waited = float("inf"), model.state_dict(), 0
    for epoch in range(a.epochs):
        for group in optimizer.param_groups:
            group["lr"] = a.lr * 0.5**epoch
        for x, y in batches:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            both = loss.detach().clone()
            mean_of_ranks([p.grad for p in model.parameters() if p.grad is not None] + [both], reduce, ranks)
            optimizer.step()
            losses.append(float(both))
        now = error(model, validate)  # each rank all of it: the models are the same
        if rank == 0:
            print(f"{a.model} by {by}, epoch {epoch}: loss {losses[-1]:.6f}, validation {now:.4f}", file=sys.stderr, flush=True)
        if now < best:
            best, waited = now, 0
            chosen = {k: v.clone() for k, v in model.state_dict().items()}
        elif (waited := waited + 1) == 3:
            break
    model.load_state_dict(chosen)
    result = {"by": by, "losses": losses, "test_mse": error(model, test)}
    end()
    return result


def spread(a: argparse.Namespace, by: str) -> dict[str, object]:
    """Runs the ranks as processes of this program and gives what the first of them found."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    ranks = []
    for rank in range(a.ranks):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(a.ranks), "LOCAL_WORLD_SIZE": str(a.ranks),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}  # fmt: skip
        command = [sys.executable, *sys.argv, "--as-rank", by]
        ranks.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL, text=True))
    out, _ = ranks[0].communicate()
    if any(r.wait() != 0 for r in ranks):
        raise SystemExit(f"a rank by {by} failed")
    made: dict[str, object] = json.loads(out.splitlines()[-1])  # newer versions of Gloo print who is connected before
    return made


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", choices=list(MODELS), default="nlinear")
    p.add_argument("--history", type=int, default=336)
    p.add_argument("--horizon", type=int, default=96)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=32, help="windows of a step, of all ranks together")
    p.add_argument("--lr", type=float, default=0.005)
    p.add_argument("--seed", type=int, default=2021)
    p.add_argument("--windows", type=int, help="of each part at most")
    p.add_argument("--ranks", type=int, default=1)
    p.add_argument("--by", default="gloo,volley", help="what sums gradients over the ranks, several with commas: they must give the same losses")
    p.add_argument("--as-rank", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.as_rank:
        print(json.dumps(train(a, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), a.as_rank)))
        return
    results = [train(a, 0, 1, "one process")] if a.ranks == 1 else [spread(a, by) for by in a.by.split(",")]
    for r in results:
        losses = r["losses"]
        assert isinstance(losses, list)
        print(f"{a.model}, horizon {a.horizon}, {r['by']}: {len(losses)} steps, last loss {losses[-1]:.6f}, test MSE {r['test_mse']:.4f}")
    for r in results[1:]:
        if r["losses"] != results[0]["losses"]:
            raise SystemExit(f"{r['by']} and {results[0]['by']} give other losses")
    if len(results) > 1:
        print("the losses of all steps are equal")


if __name__ == "__main__":
    main()
