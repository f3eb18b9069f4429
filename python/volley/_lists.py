"""Columns of lists of Python's values."""

from __future__ import annotations

import datetime as _dt
import decimal
import itertools
import operator
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from . import _times
from ._arrays import Kind, Made, kind_of, Values, values_of
from ._calls import say, shown
from ._memory import NUMBERS, copied
from ._read import read
from .errors import Unsupported

_EPOCH = _dt.date(1970, 1, 1)
_MICRO = _dt.timedelta(microseconds=1)
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_FORMATTED = re.compile(r"(timestamp|duration|time32|time64)\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)")
_SCALES = 4
_EXACT = decimal.Context(prec=100, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])
_DIGITS = bytes.maketrans(b"\0\1", b"01")
# Of a class, the first that it is one of.
_KINDS = (bool, int, float, str, bytes, _dt.datetime, _dt.date, _dt.time, _dt.timedelta, Decimal)
_NAMES = {bool: "bool", int: "int64", float: "float64", str: "utf8", bytes: "binary", _dt.date: "date32", _dt.timedelta: "duration[us]", _dt.time: "time64[us]"}


def from_list(items: list[Any], dtype: str | None) -> int:
    """A column of a list's values; the type is that of the values where it is not given."""
    if (quick := read(items, dtype)) is not None:
        return quick
    kinds = set(map(type, items))
    if any(k.__module__.partition(".")[0] in ("numpy", "pandas") for k in kinds):
        items, handle = _times.of_list(items, kinds, dtype)
        if handle is not None:
            return handle
        kinds = set(map(type, items))
    missing = type(None) in kinds
    kinds.discard(type(None))
    if any(map(_is_list, kinds)):
        return _lists(items, kinds, dtype)
    if unknown := [k for k in kinds if not issubclass(k, (*_KINDS, bytearray, memoryview))]:
        raise TypeError(say(f"a list of {', '.join(sorted(k.__name__ for k in unknown))} as a column"))
    name = dtype or ("int64" if kinds == {int} else type_of(items, kinds))
    validity = bits(bytes(map(operator.is_not, items, itertools.repeat(None)))) if missing else b""
    try:
        return _written(items, name, missing, validity)
    except OverflowError as e:
        if dtype is not None or kinds != {int}:
            raise OverflowError(say(f"a list as a column of {name}: {e}")) from None
    except UnicodeError:
        raise
    except (TypeError, ValueError, AttributeError) as e:
        kind = TypeError if isinstance(e, AttributeError) else type(e)
        raise kind(say(f"a list as a column of {name}: {e}")) from None
    # Whole numbers that int64 does not hold, which are looked for when one was found.
    return _written(items, _integers([x for x in items if x is not None]), missing, validity)


def type_of(items: Sequence[Any], kinds: set[type]) -> str:
    """The type of a column that holds all the values, which are of these classes or None."""
    base = {next((b for b in _KINDS if issubclass(k, b)), bytes) for k in kinds}
    if not base:
        return "float64"
    if base == {int}:
        return _integers([x for x in items if x is not None])
    if base == {int, float}:
        return "float64"
    if base <= {int, Decimal}:
        return _decimals([x for x in items if x is not None])
    if base == {_dt.datetime}:
        aware = {x.tzinfo is not None for x in items if x is not None}
        if len(aware) == 2:
            raise TypeError(say("a list of datetimes with and without a time zone as a column"))
        return "timestamp[us, tz=UTC]" if aware == {True} else "timestamp[us]"
    if len(base) == 1:
        return _NAMES[base.pop()]
    raise TypeError(say(f"a list of {', '.join(sorted(k.__name__ for k in kinds))} as a column"))


def _integers(values: list[int]) -> str:
    least, most = min(values), max(values)
    if -(2**63) <= least and most < 2**63:
        return "int64"
    if least >= 0 and most < 2**64:
        return "uint64"
    raise OverflowError(say(f"a list of integers from {least} to {most} as a column: it has 64 bits, with a sign or without"))


def _decimals(values: list[Any]) -> str:
    """The decimal type that holds all the values as they are."""
    whole = scale = 1
    seen: list[Decimal] = []  # one of each scale, as far as there are few of them: the parts of a decimal take long to get
    for x in values:
        d = x if type(x) is Decimal else Decimal(x)
        whole = max(whole, d.adjusted() + 1)
        if any(map(d.same_quantum, seen)):
            continue
        exponent = d.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueError(say(f"{x} in a list of decimals: it is no number"))
        scale = max(scale, -exponent)
        if len(seen) < _SCALES:
            seen.append(d)
    if whole + scale > 38:
        raise OverflowError(say(f"a list of decimals with {whole} digits before the point and {scale} behind it as a column: it has 38 of them"))
    return f"decimal({whole + scale}, {scale})"


def _written(items: list[Any], name: str, missing: bool, validity: bytes) -> int:
    n = len(items)

    def numbers(letter: str, of: Callable[[Any], int] | None = None) -> bytes:
        if of is not None:
            return array(letter, [0 if x is None else of(x) for x in items]).tobytes()
        return array(letter, [0 if x is None else x for x in items] if missing else items).tobytes()

    if name in ("utf8", "large_utf8", "binary", "large_binary"):
        return _texts(items, name, validity)
    if name == "bool":
        return copied(name, n, bits(bytes([_flag(x) for x in items]) if missing else _flags(items)), validity)
    if name in NUMBERS and name != "float16":
        return copied(name, n, numbers(NUMBERS[name][0]), validity)
    if name == "date32":
        return copied(name, n, numbers("i", _days), validity)
    if found := _DECIMAL.fullmatch(name):
        scale, limit = int(found[2]), 10 ** int(found[1])
        return copied(name, n, b"".join(_decimal(x, scale, limit) for x in items), validity)
    if found := _FORMATTED.fullmatch(name):
        kind, unit, zone = found.groups()
        width = "i" if kind == "time32" else "q"
        return copied(name, n, numbers(width, _moment(kind, unit, zone)), validity)
    raise Unsupported(say(f"a list as a column of {name}: hand it to pyarrow first"), "unsupported")


def _flags(items: list[Any]) -> bytes:
    """Bools without None as bytes."""
    try:
        made = bytes(items)
    except (TypeError, ValueError):
        made = b"\2"
    return made if not made.translate(None, b"\0\1") else bytes([_flag(x) for x in items])


def _flag(x: Any) -> bool:
    if x is None or x in (0, 1):
        return bool(x)
    raise TypeError(f"{shown(x)} is no bool")


def _days(x: _dt.date) -> int:
    if isinstance(x, _dt.datetime):
        raise TypeError(f"{x} is no date")
    return (x - _EPOCH).days


def _decimal(x: Any, scale: int, limit: int) -> bytes:
    """A decimal as Arrow has it: 16 bytes of its number of the last digit."""
    if x is None:
        return bytes(16)
    if type(x) is Decimal:
        try:
            moved = _EXACT.scaleb(x, scale)
            number = int(moved) if moved.adjusted() < 39 else limit
            if -limit < number < limit and number == moved:
                return number.to_bytes(16, "little", signed=True)
        except (decimal.DecimalException, ValueError, OverflowError):
            pass  # what is wrong is said below
    if isinstance(x, float):
        raise TypeError(f"{x!r} is a float: Decimal(str(x)) is what it shows")
    sign, digits, exponent = Decimal(x).as_tuple()
    shift = exponent + scale  # type: ignore[operator]
    units, rest = divmod(int("".join(map(str, digits))) * 10 ** max(0, shift), 10 ** max(0, -shift))
    if rest or units >= limit:
        raise ValueError(f"{x} does not fit")
    last = -units if sign else units
    return bytes(last.to_bytes(16, "little", signed=True))


def _moment(kind: str, unit: str, zone: str | None) -> Callable[[Any], int]:
    """What makes a number of a unit of a time."""
    zero = _dt.datetime(1970, 1, 1, tzinfo=None if zone is None else _dt.timezone.utc)
    wanted: Any = {"timestamp": _dt.datetime, "duration": _dt.timedelta}.get(kind, _dt.time)

    def count(x: Any) -> int:
        if not isinstance(x, wanted):
            raise TypeError(f"{shown(x)} is no {wanted.__name__}")
        if kind == "timestamp":
            x -= zero
        elif kind != "duration":
            if x.tzinfo is not None:
                raise TypeError(f"{x!r} has a time zone, which a time of day is without")
            x = _dt.timedelta(hours=x.hour, minutes=x.minute, seconds=x.second, microseconds=x.microsecond)
        made, rest = divmod((x // _MICRO) * _PER_SECOND[unit], 1_000_000)
        if rest:
            raise ValueError(f"{x} is no whole number of {unit}")
        return int(made)

    return count


def _texts(items: list[Any], name: str, validity: bytes) -> int:
    joined = _letters(items, bool(validity)) if name.endswith("utf8") else None
    if joined is not None:
        return _ended(joined[0], itertools.accumulate(joined[1], initial=0), len(items), name, validity)
    if name.endswith("utf8"):
        encoded = [b"" if x is None else x.encode() for x in items]
    else:
        encoded = [b"" if x is None else bytes(memoryview(x)) for x in items]
    return _ended(b"".join(encoded), itertools.accumulate(map(len, encoded), initial=0), len(items), name, validity)


def _letters(items: list[Any], missing: bool) -> tuple[bytes, Iterable[int]] | None:
    """Texts of ASCII together, and their lengths; None where they are other ones."""
    texts = ["" if x is None else x for x in items] if missing else items
    try:
        text = "".join(texts)
    except TypeError:  # which says nothing of the column's type
        return None
    return (text.encode(), map(len, texts)) if text.isascii() else None


def _ended(data: bytes, ends: Iterable[int], n: int, name: str, validity: bytes) -> int:
    """A column of texts that end at the given bytes of data."""
    large = name.startswith("large_") or len(data) >= 2**31
    name = name if name.startswith("large_") or not large else f"large_{name}"
    return copied(name, n, data, validity, array("q" if large else "i", ends).tobytes())


def _is_list(kind: type) -> bool:
    return issubclass(kind, (list, tuple)) or hasattr(kind, "tolist") and not issubclass(kind, memoryview)


def _lists(items: list[Any], kinds: set[type], dtype: str | None) -> int:
    """A column of lists."""
    from .column import Column

    if not all(map(_is_list, kinds)):
        raise TypeError(say(f"a list of {', '.join(sorted(k.__name__ for k in kinds))} as a column"))
    if dtype is not None:
        raise Unsupported(say(f"a list of lists as a column of {dtype}: hand it to pyarrow first"), "unsupported")
    plain = [x if x is None or isinstance(x, (list, tuple)) else x.tolist() for x in items]
    ends = list(itertools.accumulate((0 if x is None else len(x) for x in plain), initial=0))
    inner = Column._of(from_list(list(itertools.chain.from_iterable(x for x in plain if x is not None)), None))
    schema, exported = inner._exported()
    kind = kind_of(schema)
    large = ends[-1] >= 2**31
    nulls = sum(x is None for x in plain)
    validity = bits(bytes(map(operator.is_not, plain, itertools.repeat(None)))) if nulls else None
    offsets = array("q" if large else "i", ends).tobytes()
    made = Made(
        Kind("+L" if large else "+l", b"", children=(kind._replace(name=b"item"),)),
        Values(len(plain), nulls, 0, (validity, offsets), (values_of(kind, exported, exported),)),
    )
    column = Column(made)
    handle, column._value = column._handle, None
    return handle


def bits(flags: bytes) -> bytes:
    """Bytes that are 0 or 1 as bits, the first the lowest."""
    if not flags:
        return b""
    return int(flags[::-1].translate(_DIGITS), 2).to_bytes((len(flags) + 7) // 8, "little")


__all__ = ["bits", "from_list", "type_of"]
