"""Groups of processes: parts of them and larger ones, counts of elements for each rank, algorithms by name, reductions that are fused."""

from __future__ import annotations

import _thread
import threading
import time
from array import array
from pathlib import Path

import pytest
from test_comm import ranks

import volley


def passes(folder: Path, body: str) -> None:
    for p in ranks(folder, body):
        assert p.returncode == 0, p.stderr


def test_counts_of_each_rank(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
        mine = array("q", range(10 * rank, 10 * rank + 3))
        # Rank 0 sends one and two elements, rank 1 three and none.
        sends = [1, 2] if rank == 0 else [3, 0]
        expected = array("q", [0, 10, 11, 12]) if rank == 0 else array("q", [1, 2])
        assert comm.alltoall(mine, counts=sends) == expected
        assert comm.alltoall(mine, counts=sends, recv_counts=[1, 3] if rank == 0 else [2, 0]) == expected
        out = array("q", bytes(8 * len(expected)))
        assert comm.alltoall(mine, out, counts=sends) is out and out == expected
        part = mine[: rank + 1]
        assert comm.allgather(part, counts=[1, 2]) == array("q", [0, 10, 11])
        assert comm.gather(part, root=1, counts=[1, 2]) == (array("q", [0, 10, 11]) if rank == 1 else None)
        assert comm.reduce_scatter(mine, counts=[1, 2]) == (array("q", [10]) if rank == 0 else array("q", [12, 14]))
        room = array("q", bytes(8 * (rank + 1)))
        assert comm.scatter(mine if rank == 0 else None, room, counts=[1, 2]) is room and room == (array("q", [0]) if rank == 0 else array("q", [1, 2]))
        for wrong, text in ([1], "each of 2 ranks"), ([1, -1], "each of 2 ranks"), ([9, 9], "has 18 elements in all"):
            try:
                comm.alltoall(mine, counts=wrong)
            except volley.Mismatch as e:
                assert text in str(e) and f"alltoall: rank {rank}: " in str(e), str(e)
            else:
                raise AssertionError(wrong)
        for wrong in [1.5, 1.5], 3, ["a", "b"]:
            try:
                comm.alltoall(mine, counts=wrong)
            except TypeError as e:
                assert "Comm.alltoall: counts: a list of whole numbers" in str(e), str(e)
            else:
                raise AssertionError(wrong)
        try:
            comm.allgather(mine, counts=[1, 2])
        except volley.Mismatch as e:
            assert f"allgather: rank {rank}: counts has {rank + 1} for this rank, data has 3" in str(e), str(e)
        else:
            raise AssertionError("counts that are another rank's")
        comm.barrier()
        """,
    )


def test_columns_and_arrays(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
        column = volley.Column([rank, 5])
        total = comm.allreduce(column)
        assert isinstance(total, volley.Column) and total.to_pylist() == [1, 10] and column.to_pylist() == [rank, 5]
        assert comm.allgather(column).to_pylist() == [0, 5, 1, 5]
        given = comm.broadcast(column, root=1)
        assert given.to_pylist() == [1, 5] and (given is column) == (rank == 1)
        assert comm.alltoall(volley.Column([1.5, 2.5, 3.5]), counts=[1, 2]).to_pylist() == ([1.5, 1.5] if rank == 0 else [2.5, 3.5, 2.5, 3.5])
        try:
            comm.allreduce(volley.Column([1, None]))
        except volley.Mismatch as e:
            assert f"allreduce: rank {rank}: data: a column with 1 nulls" in str(e), str(e)
        else:
            raise AssertionError("nulls were reduced")
        try:
            comm.allreduce(array("q", [1, 2]), out=column)
        except volley.Mismatch as e:
            assert "out: a column, which must not be written to" in str(e)
        else:
            raise AssertionError("a column was written to")
        comm.barrier()
        """,
    )


def test_explain_and_algorithms(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
        assert "allreduce" not in comm.explain("allreduce", 10) and comm.explain("all_reduce", 10, "int8").startswith("AllReduce of 10 int8 on 2 ranks")
        by_name = volley.Comm(address + "-2", rank, 2, algorithm={"allreduce": "ring", "broadcast": "linear"})
        assert "ring, because Options.Algorithms names it" in by_name.explain("allreduce", 10)
        assert "linear, because Options.Algorithms names it" in by_name.explain("broadcast", 10, "float32")
        assert "Options.Algorithms" not in by_name.explain("allgather", 10)
        assert by_name.allreduce(array("d", [1.0] * 1000))[999] == 2.0
        everywhere = volley.Comm(address + "-3", rank, 2, algorithm="butterfly")
        assert "butterfly, because Options.Algorithms" in everywhere.explain("reduce_scatter", 10)
        assert everywhere.allreduce(array("q", [rank]))[0] == 1
        for c in everywhere, by_name, comm:
            c.barrier()
        """,
    )


def test_algorithms_that_there_are_not() -> None:
    for algorithm, text in ("butterflies", '"butterflies"'), ({"broadcast": "ring"}, '"ring" for Broadcast'), ({"sum": "ring"}, '"sum"'):
        with pytest.raises(volley.Mismatch, match=text):
            volley.Comm(algorithm=algorithm)
    with volley.Comm() as comm:
        for arguments, text in (("sum", 10), "op is"), (("allreduce", -1), "count is"), (("allreduce", 1, "text"), "text"):
            with pytest.raises(volley.Mismatch, match=text):
                comm.explain(*arguments)
    with pytest.raises(volley.Closed):
        comm.explain("allreduce", 1)


def test_sub_and_grow(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
        turned = comm.sub([1, 0])
        assert (turned.rank, turned.size) == (1 - rank, 2) and turned.allgather(array("b", [rank])) == array("b", [1, 0])
        for wrong in [0, 0], [1 - rank], [0, 7]:
            try:
                comm.sub(wrong)
            except volley.Mismatch as e:
                assert f"rank {rank}: " in str(e), str(e)
            else:
                raise AssertionError(wrong)
        alone = comm.sub([rank])
        assert alone.size == 1
        try:
            alone.grow(1)
        except volley.Mismatch as e:
            assert "1 ranks are to become 1" in str(e)
        else:
            raise AssertionError("a group grew by none")
        # Rank 0 leaves the group of its own and enters that of rank 1, as rank 1 of it.
        if rank == 1:
            grown = alone.grow(2, address + "-grown")
            assert (grown.rank, grown.size) == (0, 2)
        else:
            grown = volley.Comm.enter(address + "-grown", 1, 2, deadline=2)
            assert (grown.rank, grown.size) == (1, 2)
        assert grown.allreduce(array("q", [rank + 1]))[0] == 3
        grown.barrier()
        comm.barrier()
        """,
    )


def test_shrink_and_grow(tmp_path: Path) -> None:
    """A rank that dies is replaced by a new process, which meets the others where they met at first."""
    zero, one = ranks(
        tmp_path,
        """
        import os, subprocess
        comm.barrier()
        if rank == 1:
            os._exit(3)
        try:
            comm.barrier()
        except volley.CollectiveFault:
            left = comm.shrink()
        script = "import sys, volley; from array import array; c = volley.Comm.enter(sys.argv[1], 1, 2); print(c.allreduce(array('q', [5]))[0]); c.barrier()"
        new = subprocess.Popen([sys.executable, "-c", script, address], stdout=subprocess.PIPE, text=True)
        whole = left.grow(2)
        assert (whole.rank, whole.size) == (0, 2) and whole.allreduce(array("q", [4]))[0] == 9
        whole.barrier()
        assert new.communicate(timeout=60)[0].split() == ["9"] and new.returncode == 0
        """,
    )
    assert one.returncode == 3
    assert zero.returncode == 0, zero.stderr


def test_fusion(tmp_path: Path) -> None:
    passes(
        tmp_path,
        """
        with comm.fusion(bytes=1 << 20, delay=1000) as fused: # only who waits starts it
            given = [fused.allreduce(array("q", [rank + i])) for i in range(100)]
            fused.wait()
            assert [g.wait()[0] for g in given] == [2 * i + 1 for i in range(100)]
            x = array("d", [rank + 1.0])
            assert fused.allreduce(x, op="max", out=x).wait.__self__ is not None
            fused.allreduce(volley.Column([rank, 7]))
            for wrong, kind in ((array("q", [1]), "mean"), volley.Mismatch), ((memoryview(array("d", [1, 2, 3]))[::2], "sum"), volley.Mismatch):
                try:
                    fused.allreduce(*wrong)
                except kind:
                    pass
                else:
                    raise AssertionError(wrong)
        assert x[0] == 2.0
        for late in lambda: fused.allreduce(x), lambda: fused.wait():
            try:
                late()
            except volley.Closed:
                pass
            else:
                raise AssertionError("a Fuser that was closed")
        fused.close()
        try:
            with comm.fusion() as fused:
                comm.barrier()
                raise KeyError("the body's own")
        except KeyError:
            pass
        comm.barrier()
        """,
    )
    with volley.Comm() as comm:
        before = volley._library.live()
        with comm.fusion() as fused:
            kept = [fused.allreduce(array("d", [1.5])) for _ in range(10)]
        assert all(k.wait()[0] == 1.5 for k in kept)
        del kept, fused
        assert volley._library.live() == before
        with pytest.raises(ValueError, match="bytes is 0"):
            comm.fusion(bytes=0)
        with pytest.raises(ValueError, match="delay"):
            comm.fusion(delay=-1)


def test_fused_reductions_name_who_died(tmp_path: Path) -> None:
    zero, one = ranks(
        tmp_path,
        """
        import os
        fused = comm.fusion()
        assert fused.fault() is None
        comm.barrier()
        if rank == 1:
            os._exit(3)
        given = fused.allreduce(array("q", [1]))
        for wait in fused.wait, given.wait, fused.close:
            try:
                wait()
            except volley.CollectiveFault as e:
                assert e.ranks == [1] and e.cause in ("lost", "left") and "rank 1" in str(e), (e, e.ranks, e.cause)
                print("named")
        """,
    )
    assert one.returncode == 3
    assert zero.returncode == 0 and zero.stdout.split() == ["named"] * 3, (zero.stdout, zero.stderr)


def interrupted(call: object) -> float:
    """How long a call goes on after a Ctrl-C, in seconds."""
    struck: list[float] = []

    def strike() -> None:
        struck.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(0.3, strike)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()  # type: ignore[operator]
    ended = time.monotonic()
    timer.join()
    return ended - struck[0]


def test_interrupts(tmp_path: Path) -> None:
    """Calls that wait for ranks who never come end with Ctrl-C. How soon is a matter of the machine's load, so the best of some is held."""
    with volley.Comm() as comm:
        meeting = f"file://{tmp_path}/meeting"
        calls = [
            lambda: comm.grow(2, meeting),
            lambda: volley.Comm.enter(meeting + "-2", 1, 2),
            lambda: volley.Comm(meeting + "-3", 0, 2),
        ]
        for call in calls:
            assert min(interrupted(call) for _ in range(2)) < 5
        assert comm.allreduce(array("q", [3]))[0] == 3


def test_nccl_where_there_is_none() -> None:
    with pytest.raises(volley.Unavailable, match="rank 0: .*cpu is no GPU of CUDA"):
        volley.Comm(transport="nccl", device="cpu")
    with pytest.raises(volley.Mismatch, match="for transport nccl"):
        volley.Comm(device="cpu")
    with volley.Comm() as comm:
        with pytest.raises(volley.Unavailable, match="cpu is no GPU of CUDA"):
            comm.use_nccl("cpu")
        assert comm.transport == "inproc" and comm.allreduce(array("q", [3]))[0] == 3
        assert comm.explain("allreduce", 10, device="cpu").splitlines()[-1] == "sum of float64: the memory of cpu is the host's"


def test_nccl_where_one_rank_has_no_device(tmp_path: Path) -> None:
    """All ranks have the same reason, and none waits."""
    passes(
        tmp_path,
        """
        for turn, device in enumerate((["cpu", "cuda:77"][rank], "cuda:77")):
            try:
                volley.Comm(f"{address}-nccl-{turn}", rank, 2, transport="nccl", device=device)
            except volley.Unavailable as e:
                assert "rank 1: cuda" in str(e), str(e)
            else:
                raise AssertionError("NCCL on the host")
            comm.barrier()
        assert comm.allreduce(array("q", [rank]))[0] == 1
        comm.barrier()
        """,
    )
