"""Collective operations on arrays in a device's memory: of the devices that there are, the host where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_comm import ranks

import volley

DEVICES = [d.name for d in volley.devices() if not d.why and d.kind != "cpu"] or ["cpu"]

BEGIN = """
        device = {name!r}
        def there(*values, dtype=None):
            return volley.Column(list(values), dtype).to(device)
        def here(column):
            assert isinstance(column, volley.Column) and column.device.name == device
            return column.to("cpu").to_pylist()
        class Tensor:
            "What has DLPack and nothing else, and may be written to."
            def __init__(self, column):
                self.column = column
            def __dlpack_device__(self):
                return self.column.__dlpack_device__()
            def __dlpack__(self, **options):
                return self.column.__dlpack__(**{{k: v for k, v in options.items() if k != "max_version"}})
"""


def passes(folder: Path, name: str, body: str) -> None:
    for p in ranks(folder, BEGIN.format(name=name) + body):
        assert p.returncode == 0, p.stderr


@pytest.mark.parametrize("name", DEVICES)
def test_operations(tmp_path: Path, name: str) -> None:
    passes(
        tmp_path,
        name,
        """
        comm.explain("allreduce", 4, device=device) # which keeps the device
        here(comm.allreduce(there(1)))
        before = volley._library.live()
        own = there(10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3)
        assert here(comm.allreduce(own)) == [10, 12, 14, 16]
        assert here(comm.allreduce(own.slice(1, 2), op="max")) == [11, 12]
        assert here(comm.allreduce_async(own).wait()) == [10, 12, 14, 16]
        assert here(comm.allreduce(there(0.5, rank, dtype="float64"), op="avg")) == [0.5, 0.5]
        total = comm.reduce(own, op="prod", root=1)
        assert total is None if rank == 0 else here(total) == [0, 11, 24, 39]
        sent = comm.broadcast(own, root=1)
        assert here(sent) == [10, 11, 12, 13] and (sent is own) == (rank == 1)
        assert here(comm.allgather(own.slice(0, 2))) == [0, 1, 10, 11]
        assert here(comm.allgather(own.slice(0, rank + 1), counts=[1, 2])) == [0, 10, 11]
        all = comm.gather(own.slice(0, rank + 1), counts=[1, 2])
        assert all is None if rank == 1 else here(all) == [0, 10, 11]
        assert here(comm.reduce_scatter(own)) == ([10, 12] if rank == 0 else [14, 16])
        assert here(comm.reduce_scatter(own, counts=[1, 3])) == ([10] if rank == 0 else [12, 14, 16])
        assert here(comm.alltoall(own)) == ([0, 1, 10, 11] if rank == 0 else [2, 3, 12, 13])
        assert here(comm.alltoall(own, counts=[1, 3] if rank == 0 else [2, 2])) == ([0, 10, 11] if rank == 0 else [1, 2, 3, 12, 13])
        nothing = own.slice(0, 0)
        for none in nothing, there(dtype="int64"):
            assert here(comm.allreduce(none)) == [] and here(comm.allgather(none)) == [] and here(comm.reduce_scatter(none)) == []
        assert here(comm.alltoall(nothing if rank == 0 else own.slice(0, 1), counts=[0, 0] if rank == 0 else [1, 0])) == ([10] if rank == 0 else [])
        if device != "cpu":
            assert here(comm.allreduce(Tensor(nothing))) == []
        assert device in comm.explain("allreduce", 4, "int64", device=device)
        del own, total, sent, all, nothing, none
        assert volley._library.live() == before, (volley._library.live(), before)
        comm.barrier()
        """,
    )


@pytest.mark.parametrize("name", DEVICES)
def test_types_and_reductions(tmp_path: Path, name: str) -> None:
    """Columns on a device and on the host, and NumPy's arrays, come to the same."""
    passes(
        tmp_path,
        name,
        """
        import numpy as np
        kinds = [f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)] + ["float16", "float32", "float64"]
        for dtype in kinds:
            ops = ["sum", "prod", "min", "max", "avg"] + (["and", "or", "xor"] if "int" in dtype else [])
            mine = (np.arange(1, 9) * (rank + 1) % 7).astype(dtype)
            both = [(np.arange(1, 9) * k % 7).astype(dtype) for k in (1, 2)]
            for op in ops:
                expected = {
                    "sum": lambda: both[0] + both[1], "prod": lambda: both[0] * both[1], "min": lambda: np.minimum(*both), "max": lambda: np.maximum(*both),
                    "avg": lambda: ((both[0] + both[1]) / 2).astype(dtype), "and": lambda: both[0] & both[1], "or": lambda: both[0] | both[1], "xor": lambda: both[0] ^ both[1],
                }[op]()
                near, far = volley.Column(mine), volley.Column(mine).to(device)
                for given in mine, near, far, mine.reshape(2, 4):
                    got = comm.allreduce(given, op=op)
                    assert type(got) is type(given), (dtype, op)
                    got = got.to("cpu").to_numpy() if isinstance(got, volley.Column) else got
                    assert got.dtype == dtype and np.array_equal(got.ravel(), expected), (dtype, op, got, expected)
        comm.barrier()
        """,
    )


@pytest.mark.parametrize("name", DEVICES)
def test_in_place(tmp_path: Path, name: str) -> None:
    """Tensors that may be written to: what is there before is somebody else's memory, which changes."""
    passes(
        tmp_path,
        name,
        """
        if device != "cpu": # a column of the host is lent read only
            memory = there(rank + 1, 5)
            out = Tensor(memory)
            assert comm.allreduce(there(rank + 1, 5), out=out) is out and here(memory) == [3, 10]
            assert comm.scatter(there(7, 8, 9, 10) if rank == 0 else None, out) is out and here(memory) == ([7, 8] if rank == 0 else [9, 10])
            assert comm.broadcast(out, root=1) is out and here(memory) == [9, 10]
            if rank == 0:
                comm.send(there(1, 2), to=1)
            else:
                assert comm.recv(out, source=0) is out and here(memory) == [1, 2]
        comm.barrier()
        """,
    )


@pytest.mark.parametrize("name", DEVICES)
def test_refused(tmp_path: Path, name: str) -> None:
    passes(
        tmp_path,
        name,
        """
        import numpy as np
        own = there(1, 2)
        for call, kind, text in (
            (lambda: comm.allreduce(there(1, None)), volley.Mismatch, "1 nulls"),
            (lambda: comm.allreduce(own, op="average"), volley.Mismatch, "average"),
            (lambda: comm.allreduce(own, out=own), volley.Mismatch, "must not be written to"),
            (lambda: comm.reduce_scatter(there(1, 2, 3)), volley.Mismatch, "3 elements for 2 ranks"),
            (lambda: comm.recv(own, source=1 - rank), volley.Mismatch, "must not be written to"),
        ):
            try:
                call()
            except kind as e:
                assert text in str(e) and f"rank {rank}: " in str(e), str(e)
            else:
                raise AssertionError(text)
        if device != "cpu":
            for call, text in (lambda: comm.allreduce(own, out=np.zeros(2, "int64")), "out on the host"), (lambda: comm.fusion().allreduce(own), "bring it"):
                try:
                    call()
                except volley.VolleyError as e:
                    assert text in str(e) and f"rank {rank}: " in str(e), str(e)
                else:
                    raise AssertionError(text)
        comm.barrier()
        comm.close()
        try:
            comm.allreduce(own)
        except volley.Closed:
            pass
        else:
            raise AssertionError("a group that was left")
        """,
    )


@pytest.mark.parametrize("name", DEVICES)
def test_a_rank_that_dies_is_named(tmp_path: Path, name: str) -> None:
    zero, one = ranks(
        tmp_path,
        BEGIN.format(name=name)
        + """
        import os
        own = there(1, 2)
        comm.allreduce(own)
        if rank == 1:
            os._exit(3)
        try:
            comm.allreduce(own)
        except volley.CollectiveFault as e:
            assert e.ranks == [1] and e.cause in ("lost", "left"), (e, e.ranks, e.cause)
            assert here(comm.shrink().allreduce(own)) == [1, 2]
            print("named")
        """,
    )
    assert one.returncode == 3
    assert zero.returncode == 0 and zero.stdout.split() == ["named"], zero.stderr


@pytest.mark.parametrize("name", DEVICES)
def test_interrupts(tmp_path: Path, name: str) -> None:
    """Ctrl-C ends a call whose other ranks never come; they have the Fault that names the rank. The best of three is held, since machines are busy."""
    passes(
        tmp_path,
        name,
        """
        import _thread, threading, time
        own = there(1, 2)
        def fused(c):
            with c.fusion() as f:
                f.allreduce(array("d", [1.0]))
                f.wait()
        calls = lambda c: c.allreduce(own), lambda c: c.alltoall(own, counts=[1, 1]), lambda c: c.allreduce(array("d", [1.0])), lambda c: c.sub([0, 1]), fused
        for number, call in enumerate(calls):
            late = []
            for turn in range(3):
                c = comm.split(0)
                if rank == 1:
                    other = c.fusion() if call is fused else None
                    comm.barrier()
                    c.close()
                    continue
                def strike():
                    struck.append(time.monotonic())
                    _thread.interrupt_main()
                struck = []
                timer = threading.Timer(0.1, strike)
                timer.start()
                try:
                    call(c)
                except KeyboardInterrupt:
                    late.append(time.monotonic() - struck[0])
                else:
                    raise AssertionError("a call without its other ranks came to an end")
                timer.join()
                comm.barrier()
                c.close()
            assert rank == 1 or len(late) == 3 and min(late) < 0.5, (number, late)
        """,
    )
