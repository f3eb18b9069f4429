"""Collective operations between processes: each rank calls the same ones in the same order."""

from __future__ import annotations

import atexit
import ctypes
import sys
import weakref
from array import array
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_int64, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from . import _abi
from ._calls import say
from ._library import Handle, call, encode, increment, library, long_call, long_make, make, take_number, take_text
from ._vectors import DeviceVector, Vector, counts_of, device_name, fresh, numbers_of, vector
from .column import Column
from .device import Device, device_of
from .errors import CollectiveFault, Mismatch, Unsupported

if TYPE_CHECKING:
    from typing_extensions import Self

    from .fusion import Fuser
    from .table import Table



def _algorithms(chosen: str | Mapping[str, str] | None) -> str | None:
    """The algorithms as C takes them."""
    return ",".join(f"{op}={name}" for op, name in chosen.items()) if isinstance(chosen, Mapping) else chosen


# Groups over MPI, which ends with the process: after they were left.
_over_mpi: weakref.WeakSet[Handle] = weakref.WeakSet()
# How long a process that ends waits for the other ranks of an MPI job, in milliseconds.
_FINALIZE = 10_000


@atexit.register
def _end_mpi() -> None:
    """Leaves the groups over MPI and ends it: a rank that goes without is a failure to its launcher."""
    if not _used_mpi:
        return
    for comm in list(_over_mpi):
        comm.close()
    library().volley_comm_finalize(_FINALIZE, None)  # where a rank has died the launcher says so


_used_mpi: list[bool] = []


class Grouped(Handle):
    """What has a group of ranks, and knows what ended its work."""

    __slots__ = ()
    _fault: ClassVar[str]

    def fault(self) -> tuple[str, list[int]] | None:
        """What ended the group's work, and the ranks to blame; None where nothing did."""
        ranks, cause, count = (c_int64 * 64)(), c_void_p(), c_int64()
        call(self._fault, self, ranks, len(ranks), byref(cause), byref(count))
        text = ctypes.string_at(cause.value or 0).decode()
        library().volley_string_free(cause)
        return (text, list(ranks[: min(count.value, len(ranks))])) if text else None

    def _explained(self, operation: Callable[[], Any]) -> Any:
        try:
            return operation()
        except CollectiveFault as e:
            found = self.fault()
            if found:
                e.cause, e.ranks = found
            raise


class Request(Handle):
    """A collective operation that was started. Its arrays belong to it until ``wait`` returns, or ``done`` is true."""

    __slots__ = ("_arrays", "_comm", "_result")
    _free = "volley_request_free"
    _arrays: Sequence[Vector]
    _comm: Grouped
    _result: Any

    @classmethod
    def _of(cls, handle: int, comm: Grouped, arrays: Sequence[Vector], result: Any) -> Self:
        r = cls.__new__(cls)
        Handle.__init__(r, handle)
        r._comm, r._arrays, r._result = comm, arrays, result
        return r

    _stays = "it is an operation of this process that runs"
    _outlives = True

    def __del__(self, _ending: Any = sys.is_finalizing, _keep: Any = increment) -> None:
        """A process that ends does not wait for ranks that may never come: the operation ends with the group, and its arrays stay as long as the process."""
        if _ending():
            _keep(self._arrays)
        else:
            super().__del__()

    @property
    def done(self) -> bool:
        """Whether the operation has ended."""
        return bool(take_number("volley_request_done", self))

    def wait(self) -> Any:
        """Waits for the operation and gives its result."""
        self._comm._explained(lambda: long_call("volley_request_wait", [self]))
        return self._result

    def close(self) -> None:
        """Waits for the operation, whose arrays could not be freed before, and gives it back."""
        if self._value is not None:
            library().volley_request_wait(self, None)
        super().close()


class Comm(Grouped):
    """A rank's membership in a group of processes.

    Without an address the ranks are those that a launcher started: torchrun, mpirun, srun, ``volley launch``; without any there is one.
    Arrays are anything with the buffer protocol (NumPy's, ``array.array``, memoryview), with DLPack (PyTorch's, CuPy's), or columns without nulls: of any
    shape, contiguous, of integers or floats. Results go to ``out``, which may be the array that is given where its memory may be written to, or to a
    new array of its kind: NumPy's, PyTorch's, CuPy's, a column; an ``array.array`` of others on the host, a column of others on a device.

    Arrays in a device's memory stay there: those of one operation are on one device, and all ranks' devices are of one kind. They pass through
    pinned memory of the host, or go from GPU to GPU with ``transport="nccl"`` or after ``use_nccl``.

    algorithm names the algorithm of all operations that it can do ("ring"), or of some: ``{"allreduce": "ring", "broadcast": "tree"}``; without it
    costs decide, which ``explain`` shows. transport is "shm", "tcp", or under mpirun "mpi": then its library carries
    the messages. With transport="nccl" device is this rank's GPU; without it that of its number on its machine.

    timeout is how many seconds a rank may be late for an operation, join_timeout how many ranks may take to come (without it as many); after 5 s
    who has not come is printed to standard error.

    Errors of arguments name the call, the argument and this rank; a CollectiveFault has the ranks to blame. Ctrl-C ends a call, on all ranks.

    >>> with Comm() as comm:
    ...     comm.allreduce(array("d", [1.0, 2.0]))
    array('d', [1.0, 2.0])
    """

    __slots__ = ()
    _free = "volley_comm_free"
    _fault = "volley_comm_fault"
    _join = "volley_comm_init"

    def __init__(
        self,
        address: str | None = None,
        rank: int | None = None,
        size: int | None = None,
        *,
        transport: str | None = None,
        secret_file: str | None = None,
        deterministic: bool = False,
        checksum: bool = False,
        timeout: float | None = None,
        join_timeout: float | None = None,
        deadline: float | None = None,
        wire: str | None = None,
        algorithm: str | Mapping[str, str] | None = None,
        device: Device | str | None = None,
    ) -> None:
        if (rank is None) != (size is None) or (rank is not None and address is None):
            raise ValueError("rank and size are given with address, or none of them")
        def text(t: str | None) -> bytes | None:
            return None if t is None else encode(t)

        options: Any = _abi.volley_comm_options
        o = options(
            size=ctypes.sizeof(_abi.volley_comm_options),
            address=text(address),
            rank=rank or 0,
            ranks=size or 0,
            transport=text(transport),
            secret_file=text(secret_file),
            deterministic=deterministic,
            checksum=checksum,
            timeout=round(1000 * timeout) if timeout else 0,
            join_timeout=max(1, round(1000 * join_timeout)) if join_timeout and join_timeout > 0 else round(1000 * (join_timeout or 0)),
            deadline=round(1000 * deadline) if deadline else 0,
            wire=text(wire),
            algorithms=text(_algorithms(algorithm)),
            device=text(None if device is None else device_name(device)),
        )
        super().__init__(long_make(self._join, byref(o), free="volley_comm_free"))
        if transport == "mpi":
            _over_mpi.add(self)
            _used_mpi.append(True)

    @classmethod
    def _of(cls, handle: int) -> Comm:
        c = cls.__new__(cls)
        Handle.__init__(c, handle)
        if _used_mpi:  # it may be a part of one
            _over_mpi.add(c)
        return c

    _stays = "it is this process's place among the ranks: each rank opens its own"
    _outlives = True

    def __enter__(self) -> Comm:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Comm {self.rank} of {self.size}>" if self._value is not None else "<Comm, closed>"

    @property
    def rank(self) -> int:
        """This rank's number, from 0."""
        return take_number("volley_comm_rank", self)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return take_number("volley_comm_size", self)

    @property
    def transport(self) -> str:
        """What carries the messages: inproc, shm, tcp, shm+tcp (shared memory within machines, TCP between them) or mpi; +nccl with NCCL beside it."""
        return take_text("volley_comm_transport", self)

    def _run(self, name: str, *args: Any) -> None:
        handle = self._handle
        self._explained(lambda: long_call("volley_comm_" + name, [handle, *args]))

    def explain(self, op: str, n: int, dtype: str = "float64", *, device: Device | str | None = None, reduction: str = "sum") -> str:
        """Which algorithm an operation would use and why, and what the others would cost.

        op is "allreduce", "broadcast" or another operation, n the elements of all blocks together, of a type such as "float32". With a device
        it says where a reduction ("sum") of arrays in its memory is computed, and what carries it. A name or type that is none is a Mismatch.

        >>> with Comm() as comm:
        ...     print(comm.explain("allreduce", 1000).splitlines()[0])
        AllReduce of 1000 float64 on 1 ranks over inproc:
        """
        text = take_text("volley_comm_explain", self, encode(op), n, encode(dtype))
        if device is None:
            return text
        return text + take_text("volley_vector_explain", self, device_of(device), encode(dtype), encode(reduction)) + "\n"

    def use_nccl(self, device: Device | str) -> None:
        """Has NVIDIA's NCCL carry arrays in a device's memory from now on, from GPU to GPU. All ranks call it, each with a GPU of its own.

        Unavailable, on all ranks, says which rank lacks what; arrays then go by the host as before. Groups made of this one ask for themselves.
        """
        self._run("use_nccl", device_of(device))

    def fusion(self, *, bytes: int | None = None, delay: float | None = None) -> Fuser:
        """Makes one operation of many small allreduces, which are given one by one; all ranks call it.

        An operation starts with so many bytes of arrays (262,144 without), or when the first has waited for delay seconds (0.001).

        >>> with Comm() as comm, comm.fusion() as fused:
        ...     sums = [fused.allreduce(array("d", [x])) for x in range(3)]
        ...     fused.wait()
        ...     [s.wait()[0] for s in sums]
        [0.0, 1.0, 2.0]
        """
        from .fusion import Fuser

        return Fuser(self, bytes, delay)

    def split(self, color: int | None, key: int = 0) -> Comm | None:
        """A group of all ranks with the same color, ordered by key and then by rank; none for a rank whose color is None."""
        made = long_make("volley_comm_split", self, -1 if color is None else color, key, free="volley_comm_free")
        return Comm._of(made) if made else None

    def sub(self, ranks: Sequence[int]) -> Comm:
        """A group of some of the ranks, numbered in the order given, which all of them give alike; only these ranks call it.

        Mismatch of ranks that there are not, that are named twice, or that leave this one out.
        """
        self._handle  # noqa: B018 - a group that was left is refused before the ranks are looked at
        listed = numbers_of("ranks", ranks)
        return Comm._of(long_make("volley_comm_sub", self, listed, len(listed), free="volley_comm_free"))

    def shrink(self) -> Comm:
        """The group of the ranks that survived a fault."""
        return Comm._of(long_make("volley_comm_shrink", self, free="volley_comm_free"))

    def grow(self, size: int, address: str | None = None) -> Comm:
        """Admits others to the group, so that there are size ranks: replacements after shrink, for example. All ranks of the group call it.

        They keep their numbers; those that are new call ``Comm.enter`` with a number from the old size on. All meet at an address, tcp://host:port of
        rank 0 or file:///path; without one, where the group met at first. Unavailable where somebody does not come in time: this group goes on.
        """
        where = None if address is None else encode(address)
        return Comm._of(long_make("volley_comm_grow", self, size, where, free="volley_comm_free"))

    @classmethod
    def enter(cls, address: str, rank: int, size: int, **options: Any) -> Comm:
        """Joins a group whose ranks call grow, as a rank from their old size on. The options are those of Comm, and as the others'."""
        return _Entered(address, rank, size, **options)

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._run("barrier")

    # What operations have in common.

    def _wrong(self, text: str) -> Mismatch:
        return Mismatch(say(f"rank {self.rank}: {text}"), "mismatch")

    def _vector(self, what: str, data: Any, writable: bool = False) -> Vector:
        try:
            return vector(data, writable)
        except (Mismatch, Unsupported) as e:
            raise type(e)(say(f"rank {self.rank}: {what}: {e}"), e.kind) from None

    def _sides(self, data: Any, out: Any, size: Any = lambda count: count) -> tuple[Vector, Any, Vector]:
        """The memory that is given, the result, and its memory; size is how many elements that has."""
        given = self._vector("data", data)
        count = size(given.count)
        if out is None:
            try:
                return given, *fresh(data, given, count)
            except Unsupported as e:
                raise Unsupported(say(f"rank {self.rank}: {e}"), e.kind) from None
        taken = self._vector("out", out, writable=True)
        self._alike(given, taken, count)
        return given, out, taken

    def _alike(self, given: Vector, taken: Vector, count: int) -> None:
        if taken.count != count or taken.type != given.type:
            raise self._wrong(f"out holds {taken.count} {taken.type}, the result is {count} {given.type}")
        if given.device != taken.device:
            raise self._wrong(f"data is on {given.device} and out on {taken.device}: bring one to the other's device")

    def _no_device(self, v: Vector) -> Unsupported:
        return Unsupported(say(f"rank {self.rank}: data is on {v.device}: bring it to the host first"), "unsupported")

    def _each(self, what: str, counts: Sequence[int] | None) -> Any:
        try:
            return None if counts is None else counts_of(what, counts, self.size)
        except Mismatch as e:
            raise self._wrong(str(e)) from None

    def _own(self, counts: Any, count: int, what: str) -> None:
        """Holds this rank's part of counts against what it gives or takes."""
        if counts is not None and counts[self.rank] != count:
            raise self._wrong(f"counts has {counts[self.rank]} for this rank, {what} has {count}")

    def _shared(self, count: int, counts: Any) -> int:
        """This rank's part of so many elements."""
        if counts is None:
            if count % self.size:
                raise self._wrong(f"{count} elements for {self.size} ranks")
            return count // self.size
        if sum(counts) != count:
            raise self._wrong(f"counts has {sum(counts)} elements in all, data has {count}")
        return int(counts[self.rank])

    def _carry(self, name: str, given: Vector | None, taken: Vector | None, host: Sequence[Any], device: Sequence[Any]) -> None:
        """Runs an operation with the arguments that it has on the host's memory, or on a device's."""
        any_side = given if given is not None else taken
        if any_side is not None and any_side.on_device:
            handle = self._handle
            self._explained(lambda: long_call("volley_vector_" + name, [handle, given, taken, *device]))
        else:
            self._run(name, *host)

    # Operations.

    def allreduce(self, data: Any, op: str = "sum", out: Any = None) -> Any:
        """Combines all ranks' arrays element by element, for each: sum, prod, min, max, avg, and, or, xor."""
        given, result, taken = self._sides(data, out)
        how = encode(op)
        self._carry("all_reduce", given, taken, [given.address, taken.address, given.count, given.type.encode(), how], [how])
        return result

    def allreduce_async(self, data: Any, op: str = "sum", out: Any = None) -> Request:
        """Starts an allreduce. One of a device's memory is waited for before the next operation of the group."""
        given, result, taken = self._sides(data, out)
        if given.on_device:
            made = make("volley_vector_start_all_reduce", self, given, taken, encode(op))
        else:
            made = make("volley_comm_start_all_reduce", self, given.address, taken.address, given.count, given.type.encode(), encode(op))
        return Request._of(made, self, (given, taken), result)

    def reduce(self, data: Any, op: str = "sum", root: int = 0, out: Any = None) -> Any:
        """Combines all ranks' arrays element by element, for the root; None elsewhere."""
        taken: Vector | None = None
        if self.rank == root:
            given, result, taken = self._sides(data, out)
        else:
            given, result = self._vector("data", data), None
        how = encode(op)
        self._carry("reduce", given, taken, [given.address, taken and taken.address, given.count, given.type.encode(), how, root], [how, root])
        return result

    def broadcast(self, data: Any, root: int = 0) -> Any:
        """Puts the root's array into all ranks', in place, and gives it. A column, which is not written to, is the root's own or a new one."""
        at_root, is_column = self.rank == root, isinstance(data, Column)
        own = taken = self._vector("data", data, writable=not at_root and not is_column)
        result = data
        if is_column and not at_root or at_root and isinstance(own, DeviceVector) and own.read_only:
            made, taken = fresh(data, own, own.count)
            result = data if at_root else made
        given = own if at_root else None
        self._carry("broadcast", given, taken, [given and given.address, taken.address, taken.count, taken.type.encode(), root], [root])
        return result

    def allgather(self, data: Any, out: Any = None, *, counts: Sequence[int] | None = None) -> Any:
        """All ranks' arrays one after another, for each, in one dimension. They are of one length, or of that which counts has for each rank."""
        each = self._each("counts", counts)
        given, result, taken = self._sides(data, out, lambda n: n * self.size if each is None else sum(each))
        self._own(each, given.count, "data")
        self._carry("all_gather", given, taken, [given.address, given.count, taken.address, each, given.type.encode()], [each])
        return result

    def gather(self, data: Any, root: int = 0, out: Any = None, *, counts: Sequence[int] | None = None) -> Any:
        """All ranks' arrays one after another, for the root; None elsewhere. counts is as in allgather."""
        each, taken = self._each("counts", counts), None
        if self.rank == root:
            given, result, taken = self._sides(data, out, lambda n: n * self.size if each is None else sum(each))
        else:
            given, result = self._vector("data", data), None
        self._own(each, given.count, "data")
        self._carry("gather", given, taken, [given.address, given.count, taken and taken.address, each, given.type.encode(), root], [each, root])
        return result

    def reduce_scatter(self, data: Any, op: str = "sum", out: Any = None, *, counts: Sequence[int] | None = None) -> Any:
        """Combines all ranks' arrays and gives each rank its block of the result: blocks of one length, or of counts for each rank."""
        each = self._each("counts", counts)
        given, result, taken = self._sides(data, out, lambda n: self._shared(n, each))
        how = encode(op)
        self._carry("reduce_scatter", given, taken, [given.address, each, taken.address, taken.count, given.type.encode(), how], [each, how])
        return result

    def scatter(self, data: Any, out: Any, root: int = 0, *, counts: Sequence[int] | None = None) -> Any:
        """Gives each rank its block of the root's array, in out: blocks of one length, or of counts for each rank. Other ranks give None."""
        each = self._each("counts", counts)
        taken = self._vector("out", out, writable=True)
        self._own(each, taken.count, "out")
        given = self._vector("data", data) if self.rank == root else None
        if given is not None:
            self._alike(given, taken, self._shared(given.count, each))
        self._carry("scatter", given, taken, [given and given.address, each, taken.address, taken.count, taken.type.encode(), root], [each, root])
        return out

    def alltoall(self, data: Any, out: Any = None, *, counts: Sequence[int] | None = None, recv_counts: Sequence[int] | None = None) -> Any:
        """Sends a block to each rank and gives what they sent, in their order.

        Blocks are of one length, or counts has the number of elements for each rank, one after another in data; recv_counts those that come from
        each, and is asked of the ranks where it is not given, by all or by none. With counts the result has one dimension.

        >>> with Comm() as comm:
        ...     comm.alltoall(array("q", [1, 2, 3]), counts=[3])
        array('q', [1, 2, 3])
        """
        if counts is None:
            if recv_counts is not None:
                raise self._wrong("recv_counts without counts")
            given, result, taken = self._sides(data, out)
            block = self._shared(given.count, None)
            self._carry("all_to_all", given, taken, [given.address, taken.address, block, given.type.encode()], [None, None])
            return result
        each = self._each("counts", counts)
        self._shared(self._vector("data", data).count, each)
        coming = self._each("recv_counts", self.alltoall(array("q", each)) if recv_counts is None else recv_counts)
        given, result, taken = self._sides(data, out, lambda n: sum(coming))
        if given.on_device:
            self._carry("all_to_all", given, taken, [], [each, coming])
        else:
            self._run("all_to_all_v", given.address, each, taken.address, coming, given.type.encode())
        return result

    def exchange(self, parts: Sequence[Table]) -> Table:
        """Gives each rank a table, and this one what all have for it: rows by the rank that they come from. parts has one for each rank, of the same columns.

        >>> from volley import Table
        >>> with Comm() as comm:
        ...     comm.exchange(Table({"k": [2, 1], "v": [5, 6]}).partition("k", comm.size)).to_pydict()
        {'k': [2, 1], 'v': [5, 6]}
        """
        from .distributed import exchange

        return exchange(self, parts)

    def send(self, data: Any, to: int) -> None:
        """Sends an array to a rank that calls recv."""
        v = self._vector("data", data)
        if v.on_device:
            self._one_sided("send", v, to)
        else:
            self._run("send", v.address, v.count, v.type.encode(), to)

    def recv(self, out: Any, source: int) -> Any:
        """Takes an array from a rank that calls send."""
        v = self._vector("out", out, writable=True)
        if v.on_device:
            self._one_sided("receive", v, source)
        else:
            self._run("receive", v.address, v.count, v.type.encode(), source)
        return out

    def _one_sided(self, name: str, v: Vector, peer: int) -> None:
        handle = self._handle
        self._explained(lambda: long_call("volley_vector_" + name, [handle, v, peer]))


class _Entered(Comm):
    """The Comm of a rank that came to a group later."""

    __slots__ = ()
    _join = "volley_comm_enter"
