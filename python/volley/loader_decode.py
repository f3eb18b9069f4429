"""Functions of the program that make numbers of a column's bytes: images, say."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, POINTER, c_char, c_int32, c_int64, c_void_p
from typing import Any

from _ctypes import CFuncPtr

from . import _abi
from ._library import address, encode
from .errors import Mismatch
from .user import _view

Decode = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_int64, c_void_p, c_int64, POINTER(c_char), c_int64)
"""The type of a decode function in C: it is given a context, a value and its bytes, where the elements go and their bytes, room for a message of so
many bytes, and returns 0, or another number if it fails."""

Decoder = tuple[Any, str, int]
"""A decode function, the type of the elements that it makes, and how many of them a row has."""


class Decoders:
    """The decode functions of a loader by their columns, kept alive for as long as the library may call them."""

    def __init__(self, given: Mapping[str, Decoder] | None) -> None:
        self.types: dict[str, str] = {}
        self.lengths: dict[str, int] = {}
        self._pointers: dict[str, int] = {}
        self._kept: list[Any] = []
        for name, of in (given or {}).items():
            if not isinstance(of, tuple) or len(of) != 3:
                raise Mismatch(f"decode of {name!r} is (function, dtype, elements of a row), not {of!r}", "mismatch")
            function, self.types[name], self.lengths[name] = of
            self._pointers[name] = self._address(function, self.types[name], self.lengths[name])

    def _address(self, function: Any, dtype: str, length: int) -> int:
        if isinstance(function, int):
            return function
        if hasattr(function, "address"):
            self._kept.append(function)
            return int(function.address)
        if not isinstance(function, CFuncPtr):
            if not callable(function):
                raise TypeError(f"a {type(function).__name__} is no function")
            function = Decode(_called(function, dtype, length))
        self._kept.append(function)
        return ctypes.cast(function, c_void_p).value or 0

    def __len__(self) -> int:
        return len(self.types)

    def structures(self) -> Any:
        """The library's structures."""
        if not self.types:
            return (_abi.volley_decoder * 1)()
        by = address("volley_python_decode")  # calls them only while there is an interpreter
        made = [
            _abi.volley_decoder(column=encode(n), type=encode(t), length=self.lengths[n], decode=by, context=self._pointers[n]) for n, t in self.types.items()
        ]
        return (_abi.volley_decoder * len(made))(*made)


def _called(f: Callable[..., Any], dtype: str, length: int) -> Callable[..., int]:
    """A function of Python as one of C."""

    def run(_: Any, value: int | None, size: int, to: int, _bytes: int, message: Any, room: int) -> int:
        try:
            f(ctypes.string_at(value or 0, size) if size else b"", _view(to, length, dtype))
        except BaseException as e:
            text = f"{type(e).__name__}: {e}".encode("utf-8", "replace")[: room - 1]
            ctypes.memmove(message, text, len(text))
            return _abi.VALUE
        return _abi.OK

    return run


__all__ = ["Decode", "Decoder", "Decoders"]
