"""Columns over Python's memory: buffers as they are, lists written into new ones."""

from __future__ import annotations

import ctypes
import datetime as _dt
import itertools
from array import array
from ctypes import CFUNCTYPE, byref, c_void_p
from typing import Any

from . import _abi
from ._library import make
from .errors import Unsupported

# Types whose values are numbers: the letter of struct, the letter of NumPy, bytes.
NUMBERS = {
    "int8": ("b", "i", 1), "int16": ("h", "i", 2), "int32": ("i", "i", 4), "int64": ("q", "i", 8),
    "uint8": ("B", "u", 1), "uint16": ("H", "u", 2), "uint32": ("I", "u", 4), "uint64": ("Q", "u", 8),
    "float16": ("e", "f", 2), "float32": ("f", "f", 4), "float64": ("d", "f", 8),
}  # fmt: skip
_OF_BUFFER = {letter: name for name, (letter, _, _) in NUMBERS.items()} | {"l": "int64", "L": "uint64"}
_UNITS = ("s", "ms", "us", "ns")

_lent: dict[int, Any] = {}  # what columns over Python's memory keep alive
_tickets = itertools.count(1)


def _forget(ticket: int) -> None:
    _lent.pop(ticket, None)


_give_back = CFUNCTYPE(None, c_void_p)(_forget)


def wrap(name: str, length: int, keep: Any, values: int, offsets: int = 0, validity: int = 0) -> int:
    """A column over memory that Python holds in keep."""
    ticket = next(_tickets)
    raw = _abi.volley_array(ctypes.sizeof(_abi.volley_array), name.encode(), length, values, offsets or None, validity or None, 0)
    _lent[ticket] = keep
    return make("volley_column_wrap", byref(raw), _give_back, ticket)


def from_buffer(data: Any) -> int | None:
    """A column over the memory of a NumPy array, an array.array or another one-dimensional buffer of numbers; None where it is none."""
    name = None
    dtype = getattr(getattr(data, "dtype", None), "str", "")
    if dtype[1:3] in ("M8", "m8"):
        if dtype[0] == ">" or dtype[4:-1] not in _UNITS:
            return None
        name = f"{'timestamp' if dtype[1] == 'M' else 'duration'}[{dtype[4:-1]}]"
        data = data.view("int64")
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError):
        return None
    letter = view.format.lstrip("@=<")
    if view.ndim != 1 or letter not in _OF_BUFFER:
        return None
    if not view.contiguous:
        return copied(name or _OF_BUFFER[letter], len(view), view.tobytes(), b"")
    return wrap(name or _OF_BUFFER[letter], len(view), view, _address(view))


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


def from_list(items: list[Any], dtype: str | None) -> int:
    """A column of a list's values; the type is that of the values where it is not given."""
    items = [x.item() if hasattr(x, "item") else x for x in items]  # NumPy's scalars
    name = dtype or type_of(items)
    n = len(items)
    validity = bytes(_bits([x is not None for x in items])) if any(x is None for x in items) else b""
    if name in ("utf8", "binary"):
        encoded = [x.encode() if isinstance(x, str) else bytes(x or b"") for x in items]
        ends = array("i", itertools.accumulate(map(len, encoded), initial=0))
        return copied(name, n, b"".join(encoded), validity, ends.tobytes())
    if name == "bool":
        return copied(name, n, bytes(_bits([bool(x) for x in items])), validity)
    if name in NUMBERS and name != "float16":
        return copied(name, n, array(NUMBERS[name][0], [0 if x is None else x for x in items]).tobytes(), validity)
    if name == "date32":
        epoch = _dt.date(1970, 1, 1)
        return copied(name, n, array("i", [0 if x is None else (x - epoch).days for x in items]).tobytes(), validity)
    micro = _dt.timedelta(microseconds=1)
    if name == "duration[us]":
        return copied(name, n, array("q", [0 if x is None else x // micro for x in items]).tobytes(), validity)
    if name == "timestamp[us]" or name == "timestamp[us, tz=UTC]":
        zero = _dt.datetime(1970, 1, 1, tzinfo=None if name == "timestamp[us]" else _dt.timezone.utc)
        return copied(name, n, array("q", [0 if x is None else (x - zero) // micro for x in items]).tobytes(), validity)
    raise Unsupported(f"a list as a column of {name}: hand it to pyarrow first", "unsupported")


def type_of(items: list[Any]) -> str:
    """The type of a column that holds all the values."""
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
    if kinds == {_dt.timedelta}:
        return "duration[us]"
    if kinds == {_dt.datetime}:
        aware = {x.tzinfo is not None for x in items if x is not None}
        if len(aware) == 2:
            raise TypeError("a list of datetimes with and without a time zone as a column")
        return "timestamp[us, tz=UTC]" if aware == {True} else "timestamp[us]"
    raise TypeError(f"a list of {', '.join(sorted(k.__name__ for k in kinds))} as a column")


def _bits(flags: list[bool]) -> bytearray:
    out = bytearray((len(flags) + 7) // 8)
    for i, f in enumerate(flags):
        if f:
            out[i >> 3] |= 1 << (i & 7)
    return out


def copied(name: str, n: int, values: bytes, validity: bytes, offsets: bytes = b"") -> int:
    """A column of copies."""
    keep, at = zip(*map(aligned, (values, validity, offsets)))
    return wrap(name, n, keep, at[0], at[2] if offsets else 0, at[1] if validity else 0)


def aligned(data: bytes) -> tuple[Any, int]:
    """A copy at an address that is a multiple of 64, as Arrow and JAX like it: what holds it, and the address."""
    block = ctypes.create_string_buffer(len(data) + 72)
    at = -(-ctypes.addressof(block) // 64) * 64
    ctypes.memmove(at, data, len(data))
    return block, at
