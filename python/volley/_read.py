"""Lists of numbers and of texts read by the library itself, which asks the interpreter nothing for each value."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import byref, c_int32, c_int64, c_void_p
from typing import Any

from . import _abi
from ._library import library
from ._memory import wrap

# Of fewer values the calls take longer than the interpreter.
_LEAST = 64
_TYPE_AT = 8
_NAMES = {int: "int64", float: "float64", str: "utf8"}
_functions: tuple[Any, Callable[..., int], Callable[..., int]] | bool | None = None


def _known() -> bool:
    """Whether objects lie as this interpreter's do by its stable interface, and one thread at a time changes them."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16 or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    return all(c_void_p.from_address(id(x) + _TYPE_AT).value == id(type(x)) for x in (1, 1.5, "a", None))


def _begin() -> tuple[Any, Callable[..., int], Callable[..., int]] | bool:
    global _functions
    if not _known():
        _functions = False
        return False
    names = [field[0] for field in _abi.volley_python_values._fields_[1:6]]
    addresses = {name: ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p).value for name in names}
    by = _abi.volley_python_values(size=ctypes.sizeof(_abi.volley_python_values), none=id(None), type_at=_TYPE_AT, **addresses)
    lib, a_list, an_out = library(), ctypes.py_object, c_void_p
    numbers = ctypes.PYFUNCTYPE(c_int64, c_void_p, a_list, c_int64, a_list, c_int32, c_void_p, c_void_p, an_out)(("volley_python_numbers", lib))
    texts = ctypes.PYFUNCTYPE(c_int64, c_void_p, a_list, c_int64, a_list, c_int32, c_void_p, c_void_p, c_int64, c_void_p, an_out, an_out)(("volley_python_texts", lib))
    _functions = (by, numbers, texts)
    return _functions


class _Block:
    """Zeroed memory at a multiple of 64 bytes."""

    def __init__(self, size: int) -> None:
        self.memory = ctypes.create_string_buffer(size + 72)
        self.at = -(-ctypes.addressof(self.memory) // 64) * 64


def read(items: list[Any], dtype: str | None) -> int | None:
    """A column of a list of one class: whole numbers that int64 holds, floats or texts, and None. None where it is another list."""
    n = len(items)
    if n < _LEAST or type(items) is not list:
        return None
    kind = next((type(x) for x in items if x is not None), None)
    if kind not in _NAMES or dtype not in (None, _NAMES[kind]):
        return None
    functions = _begin() if _functions is None else _functions
    if isinstance(functions, bool):
        return None
    by, numbers, texts = functions
    nulls, size, validity = c_int64(), c_int64(), _Block((n + 7) // 8)
    if kind is not str:
        values = _Block(8 * n)
        if numbers(byref(by), items, n, kind, kind is float, values.at, validity.at, byref(nulls)) != n:
            return None
        return wrap(_NAMES[kind], n, (values, validity), values.at, 0, validity.at if nulls.value else 0)
    if texts(byref(by), items, n, kind, 0, None, None, 0, None, byref(nulls), byref(size)) != n:
        return None
    wide = size.value >= 2**31
    offsets, data = _Block((n + 1) * (8 if wide else 4)), _Block(size.value)
    if texts(byref(by), items, n, kind, wide, offsets.at, data.at, size.value, validity.at, byref(nulls), byref(size)) != n:
        return None
    return wrap("large_utf8" if wide else "utf8", n, (offsets, data, validity), data.at, offsets.at, validity.at if nulls.value else 0)


__all__ = ["read"]
