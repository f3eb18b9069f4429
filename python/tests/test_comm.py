"""Collective operations between processes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from array import array
from pathlib import Path
from typing import Any

import pytest

import volley

RANK = """
import sys
from array import array
import volley
address, rank = sys.argv[1], int(sys.argv[2])
comm = volley.Comm(address, rank, 2, deadline=2)
"""


def ranks(folder: Path, body: str) -> list[subprocess.CompletedProcess[str]]:
    """Runs the body as two processes."""
    text = RANK + textwrap.dedent(body)
    command = [sys.executable, "-c", text, f"file://{folder}/meeting"]
    started = [subprocess.Popen([*command, str(r)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for r in range(2)]
    ended = []
    for p in started:
        out, err = p.communicate(timeout=120)
        ended.append(subprocess.CompletedProcess(p.args, p.returncode, out, err))
    return ended


def test_two_processes(tmp_path: Path) -> None:
    for p in ranks(
        tmp_path,
        """
        with comm:
            assert (comm.rank, comm.size) == (rank, 2) and comm.fault() is None
            assert comm.allreduce(array("q", [rank, 5])) == array("q", [1, 10])
            x = array("d", [rank + 1.0])
            assert comm.allreduce(x, op="prod", out=x) is x and x[0] == 2.0
            r = comm.allreduce_async(array("i", [rank, 7]), op="max")
            assert r.wait() == array("i", [1, 7]) and r.done
            assert comm.reduce(array("q", [3]), root=1) == (array("q", [6]) if rank == 1 else None)
            assert comm.broadcast(array("f", [rank + 0.5]), root=1)[0] == 1.5
            assert comm.allgather(array("b", [rank])) == array("b", [0, 1])
            assert comm.gather(b"ab" if rank == 0 else b"cd", root=0) == (array("B", b"abcd") if rank == 0 else None)
            assert comm.reduce_scatter(array("q", [1, 2])) == array("q", [2 * (rank + 1)])
            assert comm.scatter(array("q", [8, 9]) if rank == 0 else None, array("q", [0]))[0] == 8 + rank
            assert comm.alltoall(array("q", [10 * rank, 10 * rank + 1])) == array("q", [rank, 10 + rank])
            if rank == 0:
                comm.send(array("q", [77]), to=1)
            else:
                assert comm.recv(array("q", [0]), source=0)[0] == 77
            comm.barrier()
            alone = comm.split(0 if rank == 0 else None)
            assert (alone is None) == (rank == 1)
            try:
                import numpy as np
            except ImportError:
                pass
            else:
                a = comm.allreduce(np.full((2, 3), rank, np.float32))
                assert a.shape == (2, 3) and a.dtype == np.float32 and (a == 1).all()
                assert comm.allgather(np.arange(3)).shape == (6,)
        """,
    ):
        assert p.returncode == 0, p.stderr


def test_a_process_that_dies_is_named(tmp_path: Path) -> None:
    zero, one = ranks(
        tmp_path,
        """
        import os
        comm.barrier()
        if rank == 1:
            os._exit(3)
        try:
            comm.allreduce(array("q", [1]))
        except volley.CollectiveFault as e:
            assert e.ranks == [1] and e.cause in ("lost", "left") and "1" in str(e), (e, e.ranks, e.cause)
            left = comm.shrink()
            print("left", left.size, left.allreduce(array("q", [4]))[0])
        """,
    )
    assert one.returncode == 3
    assert zero.returncode == 0, zero.stderr
    assert zero.stdout.split() == ["left", "1", "4"]


class Tensor:
    """What has DLPack and nothing else."""

    def __init__(self, values: list[float]) -> None:
        self.column = volley.Column(values)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.column.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.column.__dlpack__(**options)


def test_tensors() -> None:
    with volley.Comm() as comm:
        before = volley._library.live()
        for _ in range(3):
            assert comm.allreduce(Tensor([1.5, 2.5])) == array("d", [1.5, 2.5])
        assert volley._library.live() == before
        with pytest.raises(volley.Mismatch, match="written"):
            comm.recv(Tensor([1.0]), source=0)


def test_one_rank_and_bad_arguments() -> None:
    with volley.Comm() as comm:
        assert (comm.rank, comm.size) == (0, 1)
        assert repr(comm) == "<Comm 0 of 1>"
        assert comm.allreduce(array("d", [1.5])) == array("d", [1.5])
        with pytest.raises(volley.Mismatch, match="average"):
            comm.allreduce(array("d", [1.5]), op="average")
        with pytest.raises(volley.Mismatch, match="out holds"):
            comm.allreduce(array("d", [1.5]), out=array("d", [1, 2]))
        with pytest.raises(volley.Mismatch, match="written"):
            comm.recv(b"abc", source=0)
        with pytest.raises(volley.Mismatch, match="contiguous"):
            comm.allreduce(memoryview(array("d", [1, 2, 3]))[::2])
        with pytest.raises(TypeError, match="buffer protocol"):
            comm.allreduce(["1"])
    with pytest.raises(volley.Closed):
        comm.barrier()
    assert repr(comm) == "<Comm, closed>"
    with pytest.raises(ValueError, match="rank and size"):
        volley.Comm("tcp://localhost:1", rank=0)


def test_join_timeout_is_apart_from_timeout(tmp_path: Path) -> None:
    with pytest.raises(volley.Unavailable, match=r"rank 1 did not come: not all came within Options.JoinTimeout, 200ms"):
        volley.Comm(f"file://{tmp_path}/meeting", 0, 2, timeout=3600, join_timeout=0.2)
