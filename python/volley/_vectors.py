"""The memory of arrays as collective operations take it: an address of the host's, or a vector of a device's."""

from __future__ import annotations

import ctypes
import operator
import sys
from array import array
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import Any

from . import _memory, _tensor
from ._calls import say, shown
from ._library import Handle, encode, make, take_number
from ._numbers import check
from .column import Column
from .device import Device, _named
from .errors import Mismatch, Unsupported

_FORMATS = {
    "b": "int8", "h": "int16", "i": "int32", "B": "uint8", "H": "uint16", "I": "uint32", "e": "float16", "f": "float32", "d": "float64",
    "l": f"int{8 * ctypes.sizeof(ctypes.c_long)}", "L": f"uint{8 * ctypes.sizeof(ctypes.c_long)}", "q": "int64", "Q": "uint64",
}  # fmt: skip
_CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "float32": "f", "float64": "d"}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_HOST = (1, 3, 13)  # DLPack's kinds of memory that the host reads
_NAMES = {2: "cuda", 4: "opencl"}


class HostVector:
    """The memory of an object on the host: anything with the buffer protocol, or with DLPack."""

    device = "the host"
    on_device = False

    def __init__(self, data: Any, writable: bool) -> None:
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
        if writable and versioned and managed.flags & 1:
            raise Mismatch("a tensor that must not be written to", "mismatch")
        self.type, self.count = described(t)
        self.address = (t.data or 0) + t.byte_offset

    def __del__(self) -> None:
        if self._delete:
            self._delete[0](self._delete[1])


def described(t: Any) -> tuple[str, int]:
    """The type and the number of the elements of a tensor that is contiguous."""
    step = 1
    for i in reversed(range(t.ndim)):
        if t.strides and t.shape[i] > 1 and t.strides[i] != step:
            raise Mismatch("a tensor that is not contiguous", "mismatch")
        step *= t.shape[i]
    return f"{_KINDS.get(t.code, 'code ')}{t.bits}", step


class DeviceVector(Handle):
    """The memory of a device."""

    __slots__ = ("count", "device", "read_only", "type")
    _free = "volley_vector_free"
    on_device = True

    def __init__(self, handle: int, kind: str, device: str, read_only: bool = False) -> None:
        super().__init__(handle)
        self.type, self.device, self.read_only = kind, device, read_only
        self.count = take_number("volley_vector_length", self)

    @property
    def address(self) -> None:
        """Not known to the host."""
        return None


Vector = HostVector | DeviceVector


def _device_of(data: Any) -> str | None:
    """The name of the device whose memory an object is, None of the host's."""
    if isinstance(data, Column) or hasattr(data, "__dlpack_device__"):
        kind, number = map(int, data.__dlpack_device__())
        return None if kind in _HOST else f"{_NAMES[kind]}:{number}" if kind in _NAMES else f"device {number} of kind {kind}"
    return "cuda" if hasattr(data, "__cuda_array_interface__") else None


def vector(data: Any, writable: bool = False) -> Vector:
    """The memory of an array: NumPy's, a tensor, a column, or another one with the buffer protocol or DLPack."""
    where = _device_of(data)
    if isinstance(data, Column):
        if writable:
            raise Mismatch("a column, which must not be written to", "mismatch")
        if data.null_count:
            raise Mismatch(f"a column with {data.null_count} nulls: fill them first", "mismatch")
        if where is not None:
            return DeviceVector(make("volley_vector_from_column", data), data.dtype, where, True)
    if where is None:
        return HostVector(data, writable)
    if where.startswith("device"):
        raise Unsupported(f"a tensor on {where}: bring it to the host first", "unsupported")
    if not hasattr(data, "__dlpack__"):  # Numba's, for one
        if writable:
            raise Mismatch("an array without __dlpack__, which is not written to", "mismatch")
        return vector(Column(data))
    address, versioned = _tensor.take(data)
    managed = (_tensor.Versioned if versioned else _tensor.Managed).from_address(address)
    kind = f"{_KINDS.get(managed.tensor.code, 'code ')}{managed.tensor.bits}"
    read_only = versioned and bool(managed.flags & 1)
    made = DeviceVector(make("volley_vector_from_dlpack" + ("_versioned" if versioned else ""), address), kind, where, read_only)
    if writable and read_only:
        raise Mismatch("a tensor that must not be written to", "mismatch")
    return made


def fresh(data: Any, like: Vector, count: int) -> tuple[Any, Vector]:
    """An array of so many elements for a result, of the kind that data is, and its memory."""
    module = type(data).__module__.partition(".")[0]
    shape = count if count != like.count else getattr(data, "shape", count)
    if module in ("numpy", "cupy") and not isinstance(like, DeviceVector) or module == "cupy":
        made = sys.modules[module].empty(shape, data.dtype)
        return made, vector(made, writable=True)
    if module == "torch":
        made = sys.modules["torch"].empty(shape, dtype=data.dtype, device=data.device)
        return made, vector(made, writable=True)
    if isinstance(like, DeviceVector):
        to = DeviceVector(make("volley_vector_new", _named(like.device), encode(like.type), count), like.type, like.device)
        return Column._of(make("volley_vector_to_column", to)), to
    if like.type not in _CODES and not isinstance(data, Column):
        raise Unsupported(f"a result of {like.type} without out", "unsupported")
    width = int("".join(filter(str.isdigit, like.type))) // 8
    if isinstance(data, Column):
        block = bytearray(max(1, count * width))
        letter: Any = _memory.NUMBERS[like.type][0] if like.type != "float16" else "H"  # memoryviews had no halves
        raw = memoryview(block)[: count * width].cast(letter)
        to_host = HostVector(raw, writable=True)
        to_host.type = like.type
        return Column._of(_memory.wrap(like.type, count, block, to_host.address)), to_host
    values = array(_CODES[like.type], bytes(count * width))
    return values, HostVector(values, writable=True)


def numbers_of(name: str, numbers: Sequence[int]) -> Any:
    """A list of whole numbers as C takes it."""
    try:
        values = [operator.index(n) for n in numbers]
    except TypeError:
        raise TypeError(say(f"{name}: a list of whole numbers is wanted, not {shown(numbers)}")) from None
    for n in values:
        check(name, c_int64, n)
    return (c_int64 * len(values))(*values)


def counts_of(name: str, counts: Sequence[int], ranks: int) -> Any:
    """Elements for each rank as C takes them."""
    values = numbers_of(name, counts)
    if len(values) != ranks or any(n < 0 for n in values):
        raise Mismatch(f"{name} is {list(values)}: a number of elements for each of {ranks} ranks", "mismatch")
    return values


def device_name(device: Device | str) -> str:
    """The name of a device."""
    return device if isinstance(device, str) else device.name
