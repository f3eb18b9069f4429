"""Arrow's arrays as lists of Python's values."""

from __future__ import annotations

import ctypes
import datetime as _dt
import itertools
import struct
from collections.abc import Callable
from ctypes import c_void_p
from decimal import Decimal
from typing import Any

from ._capsule import ArrowArray, ArrowSchema
from .errors import Unsupported

# Numbers by Arrow's letters: the letter of struct, bytes.
_NUMBERS = {
    "c": ("b", 1), "s": ("h", 2), "i": ("i", 4), "l": ("q", 8), "C": ("B", 1), "S": ("H", 2), "I": ("I", 4), "L": ("Q", 8),
    "e": ("e", 2), "f": ("f", 4), "g": ("d", 8),
}  # fmt: skip
_MICROS = {"s": 1_000_000, "m": 1000, "u": 1}
_EPOCH = _dt.date(1970, 1, 1)
_PLAIN = _dt.datetime(1970, 1, 1)
_ZERO = _dt.datetime(1970, 1, 1, tzinfo=_dt.timezone.utc)


def pylist(schema: ArrowSchema, array: ArrowArray) -> list[Any]:
    """The values of an array: numbers, bools, texts, bytes, Decimals, dates, times, lists, dicts of structs, None. Parts of microseconds are cut off."""
    return _part(schema, array, array.offset, array.length)


def children(schema: ArrowSchema, array: ArrowArray) -> list[list[Any]]:
    """The values of each column of a batch."""
    kinds, arrays = _children(schema, array)
    return [_part(k, a, a.offset + array.offset, array.length) for k, a in zip(kinds, arrays)]


def fields(schema: ArrowSchema, array: ArrowArray) -> list[tuple[ArrowSchema, ArrowArray]]:
    """Type and values of each column of a batch, which owns them."""
    return list(zip(*_children(schema, array)))


def value(schema: ArrowSchema, array: ArrowArray, at: int) -> Any:
    """One value, by its number from the beginning of the buffers; of a dictionary no more than that one word."""
    if not schema.dictionary:
        return _part(schema, array, at, 1)[0]
    if array.null_count != 0 and array.buffers[0] and not _bits(array.buffers[0], at, 1)[0]:
        return None
    words = ArrowArray.from_address(array.dictionary)
    return value(ArrowSchema.from_address(schema.dictionary), words, words.offset + _numbers((schema.format or b"").decode(), array, at, 1)[0])


def _children(schema: ArrowSchema, array: ArrowArray) -> tuple[list[ArrowSchema], list[ArrowArray]]:
    n = schema.n_children
    if n == 0:
        return [], []
    kinds, arrays = (c_void_p * n).from_address(schema.children or 0), (c_void_p * n).from_address(array.children or 0)
    return [ArrowSchema.from_address(k or 0) for k in kinds], [ArrowArray.from_address(a or 0) for a in arrays]


def _part(schema: ArrowSchema, array: ArrowArray, start: int, n: int) -> list[Any]:
    """n values from start, which counts from the beginning of the buffers."""
    code = (schema.format or b"").decode()
    if n == 0:
        return []
    if code == "n":
        return [None] * n
    valid = _bits(array.buffers[0], start, n) if array.n_buffers and array.null_count != 0 and array.buffers[0] else None
    if schema.dictionary:
        inner = ArrowArray.from_address(array.dictionary)
        words = pylist(ArrowSchema.from_address(schema.dictionary), inner)
        indices = _numbers(code, array, start, n)
        return [words[i] if valid is None or valid[at] else None for at, i in enumerate(indices)]
    raw, convert = _raw(code, schema, array, start, n)
    if convert is None:
        return raw if valid is None else [x if ok else None for x, ok in zip(raw, valid)]
    return [convert(x) for x in raw] if valid is None else [convert(x) if ok else None for x, ok in zip(raw, valid)]


def _raw(code: str, schema: ArrowSchema, array: ArrowArray, start: int, n: int) -> tuple[list[Any], Callable[[Any], Any] | None]:
    """Values under nulls too, and what makes Python's values of them."""
    if code in _NUMBERS:
        return _numbers(code, array, start, n), None
    if code == "b":
        return _bits(array.buffers[1], start, n), None
    if code in ("u", "U", "z", "Z"):
        ends = _ends(code in "UZ", array, start, n)
        data = ctypes.string_at(array.buffers[2] + ends[0], ends[-1] - ends[0]) if ends[-1] > ends[0] else b""
        if code in "uU" and data.isascii():  # whose bytes are letters
            text = data.decode("ascii")
            return [text[a - ends[0] : b - ends[0]] for a, b in itertools.pairwise(ends)], None
        parts = [data[a - ends[0] : b - ends[0]] for a, b in itertools.pairwise(ends)]
        return parts, bytes.decode if code in "uU" else None
    if code.startswith("w:"):
        return _blocks(array, start, n, int(code[2:])), None
    if code.startswith("d:"):
        _, scale, bits = (*code[2:].split(","), "128")[:3]
        return _blocks(array, start, n, int(bits) // 8), lambda b: Decimal(f"{int.from_bytes(b, 'little', signed=True)}E{-int(scale)}")
    if code.startswith("t"):
        return _numbers("i" if code in ("tdD", "tts", "ttm") else "l", array, start, n), _moment(code)
    if code.startswith("+"):
        return _nested(code, schema, array, start, n)
    raise Unsupported(f"values of Arrow's type {code!r} as Python's: hand the column to pyarrow", "unsupported")


def _nested(code: str, schema: ArrowSchema, array: ArrowArray, start: int, n: int) -> tuple[list[Any], Callable[[Any], Any] | None]:
    kinds, arrays = _children(schema, array)
    if code == "+s":
        columns = [_part(k, a, a.offset + start, n) for k, a in zip(kinds, arrays)]
        names = [(k.name or b"").decode() for k in kinds]
        return ([dict(zip(names, row)) for row in zip(*columns)] if columns else [{} for _ in range(n)]), None
    if code in ("+l", "+L", "+m"):
        ends = _ends(code == "+L", array, start, n)
    elif code.startswith("+w:"):
        width = int(code[3:])
        ends = [(start + i) * width for i in range(n + 1)]
    else:
        raise Unsupported(f"values of Arrow's type {code!r} as Python's: hand the column to pyarrow", "unsupported")
    values = _part(kinds[0], arrays[0], arrays[0].offset + ends[0], ends[-1] - ends[0])
    lists = [values[a - ends[0] : b - ends[0]] for a, b in itertools.pairwise(ends)]
    return lists, (lambda items: [tuple(i.values()) for i in items]) if code == "+m" else None


def _numbers(code: str, array: ArrowArray, start: int, n: int) -> list[Any]:
    letter, width = _NUMBERS[code]
    return list(struct.unpack(f"={n}{letter}", ctypes.string_at(array.buffers[1] + start * width, n * width)))


def _blocks(array: ArrowArray, start: int, n: int, width: int) -> list[bytes]:
    data = ctypes.string_at(array.buffers[1] + start * width, n * width)
    return [data[i * width : (i + 1) * width] for i in range(n)]


def _ends(large: bool, array: ArrowArray, start: int, n: int) -> list[int]:
    letter, width = ("q", 8) if large else ("i", 4)
    return list(struct.unpack(f"={n + 1}{letter}", ctypes.string_at(array.buffers[1] + start * width, (n + 1) * width)))


def _bits(address: int, start: int, n: int) -> list[Any]:
    first = start >> 3
    text = bin(int.from_bytes(b"\1" + ctypes.string_at(address + first, (start + n + 7 >> 3) - first)[::-1], "big"))
    low = len(text) - (start & 7)
    return [c == "1" for c in text[low - n : low][::-1]]


def _moment(code: str) -> Callable[[int], Any]:
    """What makes dates, times, durations and timestamps of their numbers; None of years that Python has not got."""
    kind, unit = code[:2], code[2]
    if kind == "td":
        first, day = _EPOCH.toordinal(), _dt.date.fromordinal
        return _guarded((lambda v: day(v + first)) if unit == "D" else (lambda v: day(v // 86_400_000 + first)))
    micros = _micros(unit)
    if kind == "tD":
        return _guarded(micros)
    if kind == "tt":
        return _guarded(lambda v: (_ZERO + micros(v)).time())
    if kind != "ts":
        raise Unsupported(f"values of Arrow's type {code!r} as Python's: hand the column to pyarrow", "unsupported")
    zone = code.partition(":")[2]
    if not zone:
        return _guarded(lambda v: _PLAIN + micros(v))
    if zone == "UTC":
        return _guarded(lambda v: _ZERO + micros(v))
    place = _place(zone)
    return _guarded(lambda v: (_ZERO + micros(v)).astimezone(place))


def _micros(unit: str) -> Callable[[int], _dt.timedelta]:
    """What makes durations of numbers of a unit."""
    delta, each = _dt.timedelta, _MICROS.get(unit, 0)
    if each == 1:
        return lambda v: delta(0, 0, v)
    return (lambda v: delta(0, 0, v * each)) if each else (lambda v: delta(0, 0, v // 1000))


def _place(zone: str) -> _dt.tzinfo:
    """A time zone by its name, or its offset: "+05:30"."""
    from zoneinfo import ZoneInfo

    if zone[:1] in ("+", "-"):
        hours, _, minutes = zone[1:].partition(":")
        return _dt.timezone((-1 if zone[0] == "-" else 1) * _dt.timedelta(hours=int(hours[:2]), minutes=int(minutes or hours[2:] or 0)))
    return ZoneInfo(zone)


def _guarded(f: Callable[[int], Any]) -> Callable[[int], Any]:
    def convert(v: int) -> Any:
        try:
            return f(v)
        except (OverflowError, ValueError):
            return None

    return convert
