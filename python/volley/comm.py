"""Collective operations between processes: each rank calls the same ones in the same order."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from types import TracebackType
from typing import Any

from . import _abi, _tensor
from ._library import Handle, call, encode, library, long_call, long_make, make, take_number, take_text
from .errors import CollectiveFault, Mismatch, Unsupported

_FORMATS = {
    "b": "int8", "h": "int16", "i": "int32", "B": "uint8", "H": "uint16", "I": "uint32", "e": "float16", "f": "float32", "d": "float64",
    "l": f"int{8 * ctypes.sizeof(ctypes.c_long)}", "L": f"uint{8 * ctypes.sizeof(ctypes.c_long)}", "q": "int64", "Q": "uint64",
}  # fmt: skip
_CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "float32": "f", "float64": "d"}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}


class _Vector:
    """The memory of an object as the library takes it: anything with the buffer protocol, or with DLPack in host memory."""

    def __init__(self, data: Any, *, writable: bool = False) -> None:
        self._delete: Any = None
        try:
            view = memoryview(data)
        except TypeError:
            if not hasattr(data, "__dlpack__"):
                raise TypeError(f"a {type(data).__name__} has neither the buffer protocol nor __dlpack__") from None
            self._take_tensor(data, writable)
            return
        if not view.c_contiguous:
            raise Mismatch("an array that is not contiguous", "mismatch")
        if writable and view.readonly:
            raise Mismatch("an array that must not be written to", "mismatch")
        if view.format.lstrip("@=<") not in _FORMATS:
            raise Unsupported(f"elements of format {view.format!r}", "unsupported")
        self.type, self.count = _FORMATS[view.format.lstrip("@=<")], view.nbytes // view.itemsize
        raw = view.cast("B") if view.nbytes else memoryview(bytearray(1))
        self._keep: Any = (ctypes.c_char * raw.nbytes).from_buffer_copy(raw) if raw.readonly else (ctypes.c_char * raw.nbytes).from_buffer(raw)
        self.address = ctypes.addressof(self._keep)

    def _take_tensor(self, data: Any, writable: bool) -> None:
        address, versioned = _tensor.take(data)
        managed = (_tensor.Versioned if versioned else _tensor.Managed).from_address(address)
        self._delete = (ctypes.CFUNCTYPE(None, c_void_p)(managed.deleter), address) if managed.deleter else None
        t = managed.tensor
        if t.device_type not in (1, 3, 13):
            raise Unsupported(f"a tensor on a device of type {t.device_type}: bring it to the host first", "unsupported")
        if writable and versioned and managed.flags & 1:
            raise Mismatch("a tensor that must not be written to", "mismatch")
        step = self.count = 1
        for i in reversed(range(t.ndim)):
            if t.strides and t.shape[i] > 1 and t.strides[i] != step:
                raise Mismatch("a tensor that is not contiguous", "mismatch")
            step *= t.shape[i]
        self.count, self.type = step, f"{_KINDS.get(t.code, 'code ')}{t.bits}"
        self.address = (t.data or 0) + t.byte_offset

    def __del__(self) -> None:
        if self._delete:
            self._delete[0](self._delete[1])


def _like(data: Any, vector: _Vector, count: int) -> Any:
    """An array of so many elements for a result, of the kind that data is."""
    kind = type(data).__module__.partition(".")[0]
    if kind == "numpy":
        numpy = sys.modules["numpy"]
        return numpy.empty(data.shape if count == vector.count else count, data.dtype)
    if kind == "torch":
        torch = sys.modules["torch"]
        return torch.empty(data.shape if count == vector.count else count, dtype=data.dtype)
    if vector.type not in _CODES:
        raise Unsupported(f"a result of {vector.type} without out", "unsupported")
    return array(_CODES[vector.type], bytes(count * int("".join(filter(str.isdigit, vector.type))) // 8))


class Request(Handle):
    """A collective operation that was started. Its arrays belong to it until ``wait`` returns, or ``done`` is true."""

    __slots__ = ("_arrays", "_comm", "_result")
    _free = "volley_request_free"
    _arrays: Sequence[_Vector]
    _comm: Comm
    _result: Any

    @classmethod
    def _of(cls, handle: int, comm: Comm, arrays: Sequence[_Vector], result: Any) -> Request:
        r = cls.__new__(cls)
        Handle.__init__(r, handle)
        r._comm, r._arrays, r._result = comm, arrays, result
        return r

    _stays = "it is an operation of this process that runs"

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


class Comm(Handle):
    """A rank's membership in a group of processes.

    Without an address the ranks are those that a launcher started: torchrun, mpirun, srun, ``volley launch``; without any there is one.
    Arrays are anything with the buffer protocol (NumPy's, ``array.array``, memoryview) or with DLPack in host memory (PyTorch's): contiguous,
    of integers or floats. Results go to ``out``, which may be the array that is given, or to a new array of its kind.

    >>> with Comm() as comm:
    ...     comm.allreduce(array("d", [1.0, 2.0]))
    array('d', [1.0, 2.0])
    """

    __slots__ = ()
    _free = "volley_comm_free"

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
        deadline: float | None = None,
        wire: str | None = None,
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
            deadline=round(1000 * deadline) if deadline else 0,
            wire=text(wire),
        )
        super().__init__(long_make("volley_comm_init", byref(o), free="volley_comm_free"))

    @classmethod
    def _of(cls, handle: int) -> Comm:
        c = cls.__new__(cls)
        Handle.__init__(c, handle)
        return c

    _stays = "it is this process's place among the ranks: each rank opens its own"

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
        """What carries the messages: inproc, shm, tcp, or shm+tcp (shared memory within machines, TCP between them)."""
        return take_text("volley_comm_transport", self)

    def fault(self) -> tuple[str, list[int]] | None:
        """What ended the group's work, and the ranks to blame; None where nothing did."""
        ranks, cause, count = (c_int64 * 64)(), c_void_p(), c_int64()
        call("volley_comm_fault", self, ranks, len(ranks), byref(cause), byref(count))
        text = ctypes.string_at(cause.value or 0).decode()
        library().volley_string_free(cause)
        return (text, list(ranks[: min(count.value, len(ranks))])) if text else None

    def _explained(self, operation: Any) -> None:
        try:
            operation()
        except CollectiveFault as e:
            found = self.fault()
            if found:
                e.cause, e.ranks = found
            raise

    def _run(self, name: str, *args: Any) -> None:
        handle = self._handle
        self._explained(lambda: long_call("volley_comm_" + name, [handle, *args]))

    def split(self, color: int | None, key: int = 0) -> Comm | None:
        """A group of all ranks with the same color, ordered by key and then by rank; none for a rank whose color is None."""
        made = long_make("volley_comm_split", self, -1 if color is None else color, key, free="volley_comm_free")
        return Comm._of(made) if made else None

    def shrink(self) -> Comm:
        """The group of the ranks that survived a fault."""
        return Comm._of(long_make("volley_comm_shrink", self, free="volley_comm_free"))

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._run("barrier")

    def _sides(self, data: Any, out: Any, factor: int = 1, divisor: int = 1) -> tuple[_Vector, Any, _Vector]:
        given = _Vector(data)
        if given.count % divisor:
            raise Mismatch(f"{given.count} elements for {divisor} ranks", "mismatch")
        count = given.count * factor // divisor
        result = _like(data, given, count) if out is None else out
        taken = _Vector(result, writable=True)
        if taken.count != count or taken.type != given.type:
            raise Mismatch(f"out holds {taken.count} {taken.type}, the result is {count} {given.type}", "mismatch")
        return given, result, taken

    def allreduce(self, data: Any, op: str = "sum", out: Any = None) -> Any:
        """Combines all ranks' arrays element by element, for each: sum, prod, min, max, avg, and, or, xor."""
        given, result, taken = self._sides(data, out)
        self._run("all_reduce", given.address, taken.address, given.count, given.type.encode(), encode(op))
        return result

    def allreduce_async(self, data: Any, op: str = "sum", out: Any = None) -> Request:
        """Starts an allreduce."""
        given, result, taken = self._sides(data, out)
        made = make("volley_comm_start_all_reduce", self, given.address, taken.address, given.count, given.type.encode(), encode(op))
        return Request._of(made, self, (given, taken), result)

    def reduce(self, data: Any, op: str = "sum", root: int = 0, out: Any = None) -> Any:
        """Combines all ranks' arrays element by element, for the root; None elsewhere."""
        if self.rank != root:
            given = _Vector(data)
            self._run("reduce", given.address, None, given.count, given.type.encode(), encode(op), root)
            return None
        given, result, taken = self._sides(data, out)
        self._run("reduce", given.address, taken.address, given.count, given.type.encode(), encode(op), root)
        return result

    def broadcast(self, data: Any, root: int = 0) -> Any:
        """Puts the root's array into all ranks', in place, and gives it."""
        v = _Vector(data, writable=self.rank != root)
        self._run("broadcast", v.address if self.rank == root else None, v.address, v.count, v.type.encode(), root)
        return data

    def allgather(self, data: Any, out: Any = None) -> Any:
        """All ranks' arrays one after another, for each; they are of one length."""
        given, result, taken = self._sides(data, out, factor=self.size)
        self._run("all_gather", given.address, given.count, taken.address, None, given.type.encode())
        return result

    def gather(self, data: Any, root: int = 0, out: Any = None) -> Any:
        """All ranks' arrays one after another, for the root; None elsewhere."""
        if self.rank != root:
            given = _Vector(data)
            self._run("gather", given.address, given.count, None, None, given.type.encode(), root)
            return None
        given, result, taken = self._sides(data, out, factor=self.size)
        self._run("gather", given.address, given.count, taken.address, None, given.type.encode(), root)
        return result

    def reduce_scatter(self, data: Any, op: str = "sum", out: Any = None) -> Any:
        """Combines all ranks' arrays and gives each rank its block of the result."""
        given, result, taken = self._sides(data, out, divisor=self.size)
        self._run("reduce_scatter", given.address, None, taken.address, taken.count, given.type.encode(), encode(op))
        return result

    def scatter(self, data: Any, out: Any, root: int = 0) -> Any:
        """Gives each rank its block of the root's array, in out; other ranks give None."""
        taken = _Vector(out, writable=True)
        given = _Vector(data) if self.rank == root else None
        if given is not None and (given.count != taken.count * self.size or given.type != taken.type):
            raise Mismatch(f"{given.count} {given.type} for {self.size} ranks of {taken.count} {taken.type}", "mismatch")
        self._run("scatter", given.address if given else None, None, taken.address, taken.count, taken.type.encode(), root)
        return out

    def alltoall(self, data: Any, out: Any = None) -> Any:
        """Sends a block to each rank and gives what they sent, in their order."""
        given, result, taken = self._sides(data, out)
        if given.count % self.size:
            raise Mismatch(f"{given.count} elements for {self.size} ranks", "mismatch")
        self._run("all_to_all", given.address, taken.address, given.count // self.size, given.type.encode())
        return result

    def send(self, data: Any, to: int) -> None:
        """Sends an array to a rank that calls recv."""
        v = _Vector(data)
        self._run("send", v.address, v.count, v.type.encode(), to)

    def recv(self, out: Any, source: int) -> Any:
        """Takes an array from a rank that calls send."""
        v = _Vector(out, writable=True)
        self._run("receive", v.address, v.count, v.type.encode(), source)
        return out
