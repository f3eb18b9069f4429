"""Functions that workers of a gang run in the tests."""

import ctypes
import os
import signal
import sys
import time
from array import array
from typing import Any

import volley as vo


def total(x: int = 0) -> int:
    w = vo.gang.current()
    return int(w.comm.allreduce(array("q", [w.rank + x]))[0])


def echo(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def hold(seconds: int) -> int:
    """Sleeps in C without letting other threads of Python run."""
    ctypes.PyDLL(None).sleep(seconds)
    return vo.gang.current().rank


def part(rows: int) -> vo.Table:
    w = vo.gang.current()
    return vo.Table({"n": list(range(rows * w.rank, rows * (w.rank + 1))), "s": [f"{w.rank}"] * rows})


def rows_of(ref: vo.gang.Ref) -> list[int]:
    return [int(v) for v in vo.gang.current().redistribute(ref).to_pydict()["n"]]


def fail(rank: int) -> int:
    if vo.gang.current().rank == rank:
        raise LookupError("it is the one that fails")
    return total()


def leave(rank: int) -> int:
    if vo.gang.current().rank == rank:
        sys.exit(7)
    return total()


def die(rank: int) -> int:
    if vo.gang.current().rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    return total()


def ring(message: Any) -> Any:
    w = vo.gang.current()
    w.send((w.rank + 1) % w.size, 5, (w.rank, message))
    return w.recv((w.rank - 1) % w.size, 5)


def group() -> int:
    w = vo.gang.current()
    with w.group(f"of {w.rank % 2}", [r for r in range(w.size) if r % 2 == w.rank % 2]) as comm:
        return int(comm.allreduce(array("q", [w.rank]))[0])


def forever() -> None:
    time.sleep(600)
