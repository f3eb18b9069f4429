"""Columns: Arrow arrays, shared without a copy with whoever speaks Arrow's or DLPack's protocols, NumPy among them."""

from __future__ import annotations

import ctypes
import datetime as _dt
import itertools
import struct
from array import array
from collections.abc import Iterator, Sequence
from ctypes import CFUNCTYPE, byref, c_void_p
from typing import Any

from . import _abi, _capsule
from ._library import Handle, call, long_make, make, take_number, take_text
from .device import Device
from .errors import Unsupported

# Types whose values are numbers: the letter of struct, the letter of NumPy, bytes.
_NUMBERS = {
    "int8": ("b", "i", 1), "int16": ("h", "i", 2), "int32": ("i", "i", 4), "int64": ("q", "i", 8),
    "uint8": ("B", "u", 1), "uint16": ("H", "u", 2), "uint32": ("I", "u", 4), "uint64": ("Q", "u", 8),
    "float16": ("e", "f", 2), "float32": ("f", "f", 4), "float64": ("d", "f", 8),
}  # fmt: skip
_OF_BUFFER = {letter: name for name, (letter, _, _) in _NUMBERS.items()} | {"l": "int64", "L": "uint64"}
_NUMPY_UNITS = {"s": "timestamp[s]", "ms": "timestamp[ms]", "us": "timestamp[us]", "ns": "timestamp[ns]"}
_VALIDATE = {"cheap": _abi.VALIDATE_CHEAP, "none": _abi.VALIDATE_NONE, "full": _abi.VALIDATE_FULL}

_lent: dict[int, Any] = {}  # what columns over Python's memory keep alive
_tickets = itertools.count(1)


def _forget(ticket: int) -> None:
    _lent.pop(ticket, None)


_give_back = CFUNCTYPE(None, c_void_p)(_forget)


def import_options(validate: str) -> Any:
    """The options of an import at a level of validation."""
    if validate not in _VALIDATE:
        raise ValueError(f"validate is one of {', '.join(_VALIDATE)}, not {validate!r}")
    return byref(_abi.volley_import_options(ctypes.sizeof(_abi.volley_import_options), _VALIDATE[validate]))


class Column(Handle):
    """An immutable column. It is made of anything that has Arrow's or DLPack's protocol or a buffer, without a copy, and of lists.

    >>> Column([1, 2, None]).null_count
    1
    """

    __slots__ = ()
    _free = "volley_column_free"

    def __init__(self, data: Any, dtype: str | None = None, *, validate: str = "cheap") -> None:
        super().__init__(_import(data, dtype, validate))

    @classmethod
    def _of(cls, handle: int) -> Column:
        c = cls.__new__(cls)
        Handle.__init__(c, handle)
        return c

    def __len__(self) -> int:
        return take_number("volley_column_length", self)

    @property
    def dtype(self) -> str:
        """The name of the type: "int64", "utf8", "timestamp[us, tz=UTC]"."""
        return take_text("volley_column_type", self)

    @property
    def null_count(self) -> int:
        """How many values are null."""
        return take_number("volley_column_null_count", self)

    def slice(self, offset: int, length: int | None = None) -> Column:
        """Values from offset on, without a copy."""
        return Column._of(make("volley_column_slice", self, offset, len(self) - offset if length is None else length))

    def _view(self) -> _abi.volley_array:
        view = _abi.volley_array(size=ctypes.sizeof(_abi.volley_array))
        call("volley_column_view", self, byref(view))
        return view

    def to_pylist(self) -> list[Any]:
        """The values as Python's: numbers, bools, texts, bytes, dates, datetimes, None."""
        v = self._view()
        name, n = (v.type or b"").decode(), v.length
        values = _values(name, v, n)
        if not v.validity:
            return values
        bits = ctypes.string_at(v.validity, (v.bit_offset + n + 7) // 8)
        return [x if bits[(v.bit_offset + i) >> 3] >> ((v.bit_offset + i) & 7) & 1 else None for i, x in enumerate(values)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_pylist())

    def __getitem__(self, i: int) -> Any:
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"value {i} of a column of {n}")
        return self.slice(i % n, 1).to_pylist()[0]

    def __repr__(self) -> str:
        n = len(self)
        try:
            shown = ", ".join(repr(v) for v in self.slice(0, min(n, 8)).to_pylist())
        except Unsupported:
            shown = "…"
        return f"<Column {self.dtype} of {n}: {shown}{', …' if n > 8 else ''}>"

    # Protocols.

    def __arrow_c_schema__(self) -> Any:
        schema = _capsule.ArrowSchema()
        call("volley_column_export", self, None, byref(schema))
        return _capsule.wrap(schema)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        schema, exported = _capsule.ArrowSchema(), _capsule.ArrowArray()
        call("volley_column_export", self, byref(exported), byref(schema))
        return _capsule.wrap(schema), _capsule.wrap(exported)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        if stream is not None:
            raise BufferError("the tensor is in host memory: there is no stream to wait for")
        if dl_device is not None and tuple(map(int, dl_device)) != (1, 0):
            raise BufferError(f"the tensor is on device (1, 0), not {dl_device}")
        if copy:
            raise BufferError("a column is exported as it is, without a copy")
        versioned = max_version is not None and max_version[0] >= 1
        try:
            near = Column._of(long_make("volley_column_to", self, Device("cpu"), free="volley_column_free"))
            address = make("volley_column_to_dlpack" + ("_versioned" if versioned else ""), near)
        except Unsupported as e:
            raise BufferError(str(e)) from e
        return _capsule.wrap_tensor(address, versioned)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.dtype not in _NUMBERS or self.null_count:
            raise AttributeError("only numbers without nulls lie as NumPy's arrays do")
        v = self._view()
        _, kind, width = _NUMBERS[(v.type or b"").decode()]
        return {"version": 3, "shape": (v.length,), "typestr": f"<{kind}{width}", "data": (v.values or 0, True)}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        if self.dtype in _NUMBERS and not self.null_count:
            a = np.asarray(_Shared(self, self.__array_interface__))
            if dtype is not None and a.dtype != np.dtype(dtype):
                if copy is False:
                    raise ValueError(f"a column of {self.dtype} as {dtype} is a copy")
                return a.astype(dtype)
            return a.copy() if copy else a
        if copy is False:
            raise ValueError(f"a column of {self.dtype} with {self.null_count} nulls is an array only as a copy")
        values = self.to_pylist()
        if self.dtype in _NUMBERS:
            return np.array([np.nan if v is None else v for v in values], dtype or "float64")
        if self.dtype == "bool" and not self.null_count:
            return np.array(values, dtype or bool)
        return np.array(values, dtype or object)

    def to_numpy(self) -> Any:
        """A NumPy array: the same memory, read-only, where the values are numbers without nulls; else a copy."""
        return self.__array__()

    def to_arrow(self) -> Any:
        """A pyarrow array of the same memory."""
        import pyarrow as pa

        return pa.array(self)


class _Shared:
    """What NumPy keeps for the memory of a column."""

    def __init__(self, owner: Column, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def _values(name: str, v: _abi.volley_array, n: int) -> list[Any]:
    if n == 0:
        return []
    if name in _NUMBERS:
        letter, _, width = _NUMBERS[name]
        return list(struct.unpack(f"={n}{letter}", ctypes.string_at(v.values, n * width)))
    if name == "bool":
        bits = ctypes.string_at(v.values, (v.bit_offset + n + 7) // 8)
        return [bool(bits[(v.bit_offset + i) >> 3] >> ((v.bit_offset + i) & 7) & 1) for i in range(n)]
    if name in ("utf8", "large_utf8", "binary", "large_binary"):
        width, letter = (8, "q") if name.startswith("large") else (4, "i")
        ends = struct.unpack(f"={n + 1}{letter}", ctypes.string_at(v.offsets, (n + 1) * width))
        data = ctypes.string_at(v.values, ends[-1])
        parts = [data[a:b] for a, b in itertools.pairwise(ends)]
        return [p.decode() for p in parts] if name.endswith("utf8") else list(parts)
    if name == "date32":
        days = memoryview(ctypes.string_at(v.values, 4 * n)).cast("i").tolist()
        return [_date(d) for d in days]
    if name.startswith("timestamp["):
        ticks = memoryview(ctypes.string_at(v.values, 8 * n)).cast("q").tolist()
        unit, _, zone = name[len("timestamp[") : -1].partition(", tz=")
        return [_moment(t, unit, zone) for t in ticks]
    raise Unsupported(f"values of {name} as Python's: hand the column to pyarrow", "unsupported")


def _date(days: int) -> Any:
    try:
        return _dt.date(1970, 1, 1) + _dt.timedelta(days=days)
    except OverflowError:  # under a null, or of a year that Python has not got
        return None


def _moment(ticks: int, unit: str, zone: str) -> Any:
    scale = {"s": 1_000_000, "ms": 1000, "us": 1}
    micros = ticks * scale[unit] if unit in scale else ticks // 1000
    try:
        at = _dt.datetime(1970, 1, 1, tzinfo=_dt.timezone.utc) + _dt.timedelta(microseconds=micros)
    except OverflowError:
        return None
    if not zone:
        return at.replace(tzinfo=None)
    if zone == "UTC":
        return at
    from zoneinfo import ZoneInfo

    return at.astimezone(ZoneInfo(zone))


def _import(data: Any, dtype: str | None, validate: str) -> int:
    options = import_options(validate)
    if dtype is None:
        if hasattr(data, "__arrow_c_array__"):
            schema, exported = data.__arrow_c_array__()
            return make("volley_column_import", _capsule.unwrap(exported, b"arrow_array"), _capsule.unwrap(schema, b"arrow_schema"), options)
        if hasattr(data, "__arrow_c_stream__"):
            return _from_stream(data, validate)
        handle = _from_buffer(data)
        if handle is not None:
            return handle
        if hasattr(data, "__dlpack__"):
            address, versioned = _capsule.take_tensor(data)
            return make("volley_column_from_dlpack" + ("_versioned" if versioned else ""), address)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) or hasattr(data, "tolist"):
        return _from_list(data.tolist() if hasattr(data, "tolist") else list(data), dtype)
    raise TypeError(f"a {type(data).__name__} is nothing that a column is made of: it has no Arrow or DLPack protocol, no buffer, and is no list")


def _from_stream(data: Any, validate: str) -> int:
    from .table import Table  # a chunked array is a table of one column

    t = Table(data, device="cpu", validate=validate)
    column = t.column(t.columns[0])
    handle, column._value = column._handle, None
    return handle


def _wrap(name: str, length: int, keep: Any, values: int, offsets: int = 0, validity: int = 0) -> int:
    """A column over memory that Python holds."""
    ticket = next(_tickets)
    raw = _abi.volley_array(ctypes.sizeof(_abi.volley_array), name.encode(), length, values, offsets or None, validity or None, 0)
    _lent[ticket] = keep
    return make("volley_column_wrap", byref(raw), _give_back, ticket)


def _from_buffer(data: Any) -> int | None:
    """A column over the memory of a NumPy array, an array.array or another one-dimensional buffer of numbers; None where it is none."""
    name = None
    unit = getattr(getattr(data, "dtype", None), "str", "")
    if unit[1:3] == "M8":
        name = _NUMPY_UNITS.get(unit[4:-1])
        if name is None:
            return None
        data = data.view("int64")
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError):
        return None
    letter = view.format.lstrip("@=<")
    if view.ndim != 1 or letter not in _OF_BUFFER:
        return None
    if not view.contiguous:
        return _copied(name or _OF_BUFFER[letter], len(view), view.tobytes(), b"")
    return _wrap(name or _OF_BUFFER[letter], len(view), view, _address(view))


def _address(view: memoryview) -> int:
    """The address of a buffer, which may be read-only."""
    if view.nbytes == 0:
        return 0
    if not view.readonly:
        return ctypes.addressof(ctypes.c_char.from_buffer(view))
    raw = (ctypes.c_char * 128)()  # a Py_buffer
    get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_void_p, ctypes.c_int)(("PyObject_GetBuffer", ctypes.pythonapi))
    release = ctypes.PYFUNCTYPE(None, c_void_p)(("PyBuffer_Release", ctypes.pythonapi))
    get(view, ctypes.addressof(raw), 0)
    address = c_void_p.from_buffer(raw).value or 0
    release(ctypes.addressof(raw))
    return address


def _from_list(items: list[Any], dtype: str | None) -> int:
    name = dtype or _type_of(items)
    n = len(items)
    validity = bytes(_bits([x is not None for x in items])) if any(x is None for x in items) else b""
    if name in ("utf8", "binary"):
        encoded = [x.encode() if isinstance(x, str) else bytes(x or b"") for x in items]
        ends = array("i", itertools.accumulate(map(len, encoded), initial=0))
        return _copied(name, n, b"".join(encoded), validity, ends.tobytes())
    if name == "bool":
        return _copied(name, n, bytes(_bits([bool(x) for x in items])), validity)
    if name in _NUMBERS and name != "float16":
        return _copied(name, n, array(_NUMBERS[name][0], [0 if x is None else x for x in items]).tobytes(), validity)
    if name == "date32":
        epoch = _dt.date(1970, 1, 1)
        return _copied(name, n, array("i", [0 if x is None else (x - epoch).days for x in items]).tobytes(), validity)
    if name == "timestamp[us]" or name == "timestamp[us, tz=UTC]":
        zero = _dt.datetime(1970, 1, 1, tzinfo=None if name == "timestamp[us]" else _dt.timezone.utc)
        micro = _dt.timedelta(microseconds=1)
        return _copied(name, n, array("q", [0 if x is None else (x - zero) // micro for x in items]).tobytes(), validity)
    raise Unsupported(f"a list as a column of {name}: hand it to pyarrow first", "unsupported")


def _type_of(items: list[Any]) -> str:
    kinds = {type(x) for x in items if x is not None}
    if not kinds:
        return "float64"
    if kinds == {bool}:
        return "bool"
    if kinds == {int}:
        return "int64"
    if kinds <= {int, float}:
        return "float64"
    if kinds == {str}:
        return "utf8"
    if kinds == {bytes}:
        return "binary"
    if kinds == {_dt.date}:
        return "date32"
    if kinds == {_dt.datetime}:
        return "timestamp[us, tz=UTC]" if all(x.tzinfo for x in items if x is not None) else "timestamp[us]"
    raise TypeError(f"a list of {', '.join(sorted(k.__name__ for k in kinds))} as a column")


def _bits(flags: list[bool]) -> bytearray:
    out = bytearray((len(flags) + 7) // 8)
    for i, f in enumerate(flags):
        if f:
            out[i >> 3] |= 1 << (i & 7)
    return out


def _copied(name: str, n: int, values: bytes, validity: bytes, offsets: bytes = b"") -> int:
    keep = [ctypes.create_string_buffer(b, max(8, len(b))) for b in (values, validity, offsets)]
    at = [ctypes.addressof(k) for k in keep]
    return _wrap(name, n, keep, at[0], at[2] if offsets else 0, at[1] if validity else 0)

