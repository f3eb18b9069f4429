"""Columns over Python's memory: buffers as they are, lists written into new ones."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from typing import Any

from . import _abi
from ._library import lend, library, make

# Types whose values are numbers: the letter of struct, the letter of NumPy, bytes.
NUMBERS = {
    "int8": ("b", "i", 1), "int16": ("h", "i", 2), "int32": ("i", "i", 4), "int64": ("q", "i", 8),
    "uint8": ("B", "u", 1), "uint16": ("H", "u", 2), "uint32": ("I", "u", 4), "uint64": ("Q", "u", 8),
    "float16": ("e", "f", 2), "float32": ("f", "f", 4), "float64": ("d", "f", 8),
}  # fmt: skip
_OF_BUFFER = {letter: name for name, (letter, _, _) in NUMBERS.items()} | {"l": "int64", "L": "uint64"}


def wrap(name: str, length: int, keep: Any, values: int, offsets: int = 0, validity: int = 0) -> int:
    """A column over memory that Python holds in keep."""
    raw = _abi.volley_array(ctypes.sizeof(_abi.volley_array), name.encode(), length, values, offsets or None, validity or None, 0)
    return make("volley_column_wrap", byref(raw), library().volley_python_release, lend(keep))


def from_buffer(data: Any) -> int | None:
    """A column over the memory of a NumPy array, an array.array or another one-dimensional buffer of numbers; None where it is none."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError):
        return None
    letter = view.format.lstrip("@=<")
    if view.ndim != 1 or letter not in _OF_BUFFER:
        return None
    if not view.contiguous:
        return copied(_OF_BUFFER[letter], len(view), view.tobytes(), b"")
    return wrap(_OF_BUFFER[letter], len(view), view, address_of(view))


def address_of(view: memoryview) -> int:
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
