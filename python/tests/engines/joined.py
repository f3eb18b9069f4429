"""What the ranks of an engine run in the tests: a join with a known answer, and a rank that is killed the first time."""

import os
import signal
from array import array
from pathlib import Path

import numpy as np

import volley as vo

ROWS = 10_000


def side(rank: int, ranks: int, step: int, name: str) -> vo.Table:
    """A rank's rows of a table of ROWS keys, each step-th one."""
    keys = np.arange(rank, ROWS, ranks, dtype=np.int64) * step
    return vo.Table({"k": keys, name: keys + step})


def shuffled(w: vo.gang.Worker, t: vo.Table, tag: int) -> vo.Table:
    """The rows of all ranks whose keys are this rank's."""
    for to in range(w.size):
        w.send(to, tag, t.filter(vo.col("k") % w.size == to))
    return vo.concat([w.recv(source, tag) for source in range(w.size)])


def join() -> tuple[int, int]:
    """The rows of a join of all multiples of 2 below 2 ROWS with all multiples of 3 below 3 ROWS, and the sum of what came from both sides."""
    return join_on(vo.gang.current())


def join_on(w: vo.gang.Worker) -> tuple[int, int]:
    left, right = shuffled(w, side(w.rank, w.size, 2, "a"), 1), shuffled(w, side(w.rank, w.size, 3, "b"), 2)
    both = left.join(right, on="k")
    mine = [len(both), int(np.sum(np.asarray(both["a"])) + np.sum(np.asarray(both["b"]))) if len(both) else 0]
    rows, total = w.comm.allreduce(array("q", mine))
    return rows, total


def answer() -> tuple[int, int]:
    keys = range(0, 2 * ROWS, 6)
    return len(keys), sum(2 * k + 5 for k in keys)


def join_after_a_kill(marker: str, rank: int) -> tuple[int, int]:
    """The same, but the first time the process of a rank is killed in the middle."""
    w = vo.gang.current()
    if w.rank == rank and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return join()


def killed(rank: int) -> tuple[int, int]:
    if vo.gang.current().rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    return join()


def keys(ref: vo.gang.Ref) -> list[int]:
    """A rank's part of a table of others."""
    return [int(k) for k in vo.gang.current().redistribute(ref).to_pydict()["k"]]
