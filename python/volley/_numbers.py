"""Integers as C takes them. ctypes keeps the low bits of one that is too large: 2**64 + 2 would be 2."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import Structure, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from types import NoneType
from typing import Any

from ._calls import say, shown

_RANGES: dict[Any, tuple[int, int]] = {
    c_int32: (-(2**31), 2**31 - 1),
    c_uint32: (0, 2**32 - 1),
    c_int64: (-(2**63), 2**63 - 1),
    c_uint64: (0, 2**64 - 1),
    c_void_p: (0, 2**64 - 1),
}


def check(name: str, kind: Any, value: Any) -> None:
    """Raises OverflowError where an integer is none of a type of C, and TypeError where it would be an address that is read."""
    if kind is c_char_p and not isinstance(value, (bytes, NoneType)):
        raise TypeError(say(f"{name} is {shown(value)}, and has to be a text", value))
    least, most = _RANGES.get(kind, (0, 0))
    if most and isinstance(value, int) and not least <= value <= most:
        raise OverflowError(say(f"{name} is {value}, and has to be {least} to {most}", value))


def check_arguments(function: Any, args: Sequence[Any]) -> None:
    """check of those arguments of a function of the library that may be too large."""
    for i, a in enumerate(args):
        if isinstance(a, int) and not 0 <= a < 2**31:
            check("a number", function.argtypes[i], a)


class Checked(Structure):
    """A structure whose fields hold what they are given."""

    def __init__(self, *values: Any, **fields: Any) -> None:
        kinds = {name: kind for name, kind, *_ in self._fields_}
        for name, value in [*zip(kinds, values), *fields.items()]:
            check(name, kinds.get(name), value)
        try:
            super().__init__(*values, **fields)
        except TypeError:
            raise self._wrong([*zip(kinds, values), *fields.items()]) from None

    def _wrong(self, given: Sequence[tuple[str, Any]]) -> TypeError:
        """The error of the field that C does not take."""
        for name, value in given:
            try:
                setattr(self, name, value)
            except TypeError as e:
                return TypeError(say(f"{name} is {shown(value)}: {e}", value))
        return TypeError(say(f"a {type(self).__name__} has no such fields"))
