"""Moments and durations of NumPy and pandas: every unit, with their NaT as nulls."""

from __future__ import annotations

import datetime as _dt
import sys
from collections.abc import Sequence
from typing import Any

from ._calls import say, shown
from ._memory import address_of, aligned, copied, wrap
from .errors import Mismatch, Unsupported

_KEPT = ("s", "ms", "us", "ns")
# Units that Arrow has not got, and the one that holds them.
_HELD_BY = {
    "M": {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s", "ps": "ns", "fs": "ns", "as": "ns", "generic": "us"},
    "m": {"W": "s", "D": "s", "h": "s", "m": "s", "ps": "ns", "fs": "ns", "as": "ns", "generic": "us"},
}


def is_of(data: Any) -> bool:
    """Whether it is an array of moments or durations, of NumPy or pandas."""
    return getattr(getattr(data, "dtype", None), "kind", "") in ("M", "m") and hasattr(data, "__len__")


def of_array(data: Any, dtype: str | None = None) -> int | None:
    """A column of an array of NumPy or pandas, of the same memory where the unit is one of Arrow's and nothing is to be changed; None where NumPy has no
    array of times of it."""
    import numpy as np

    zone = _zone(getattr(data.dtype, "tz", None))
    if zone is not None:
        data = data.dt.tz_convert(None) if hasattr(data, "dt") else data.tz_convert(None)
    hidden = np.ma.getmaskarray(data) if isinstance(data, np.ma.MaskedArray) else None
    a = np.asarray(data)
    if a.dtype.kind not in "Mm":
        return None
    if a.ndim != 1:
        raise Mismatch(say(f"a column is of one dimension, not an array of shape {a.shape}", data), "mismatch")
    missing = np.isnat(a) if hidden is None else np.isnat(a) | hidden
    unit = _unit_of(dtype, a, zone) if dtype is not None else _unit_for(a, missing)
    a = _converted(a, unit, missing)
    if unit == "D":
        return _dates(a, missing)
    name = f"{'timestamp' if a.dtype.kind == 'M' else 'duration'}[{unit}{'' if zone is None else f', tz={zone}'}]"
    view = memoryview(a.view("int64"))
    if not missing.any():
        return wrap(name, len(a), view, address_of(view))
    block, at = aligned(np.packbits(~missing, bitorder="little").tobytes())
    return wrap(name, len(a), (view, block), address_of(view), 0, at)


def _unit_for(a: Any, missing: Any) -> str:
    """The unit of Arrow's that holds an array's values."""
    import numpy as np

    unit = str(np.datetime_data(a.dtype)[0])
    if unit in _KEPT:
        return unit
    held = _HELD_BY[a.dtype.kind].get(unit)
    if held is None or unit == "generic" and not missing.all():
        raise Unsupported(say(f"durations of {a.dtype} as a column: give them a unit of a fixed length, as astype('timedelta64[s]') does"), "unsupported")
    return held


def _unit_of(dtype: str, a: Any, zone: str | None) -> str:
    """The unit of a type that is asked for."""
    name, _, rest = dtype.partition("[")
    unit, _, place = rest.rstrip("]").partition(", tz=")
    if dtype == "date32" and a.dtype.kind == "M":
        return "D"
    if name != ("timestamp" if a.dtype.kind == "M" else "duration") or unit not in _KEPT or (place or None) != zone:
        raise Unsupported(say(f"{a.dtype}{'' if zone is None else f' of {zone}'} as a column of {dtype}: make the column and cast it"), "unsupported")
    return unit


def _converted(a: Any, unit: str, missing: Any) -> Any:
    """An array in another unit; what changes a value is an error."""
    import numpy as np

    wanted = np.dtype(f"{a.dtype.kind}8[{unit}]")
    if a.dtype == wanted and a.flags.c_contiguous:
        return a
    source = a.astype(a.dtype.newbyteorder("="))
    try:
        made = np.ascontiguousarray(source.astype(wanted))
        same = (made.astype(source.dtype) == source) | missing
    except OverflowError:
        same = np.zeros(1, bool)
    if not same.all():
        raise OverflowError(say(f"{a.dtype} as a column in {unit}: value {int(np.argmin(same))} does not fit"))
    return made


def _dates(a: Any, missing: Any) -> int:
    days = a.view("int64").copy()
    days[missing] = 0
    if len(days) and (days.min() < -(2**31) or days.max() >= 2**31):
        raise OverflowError(say(f"{a.dtype} as a column of date32: a day does not fit"))
    import numpy as np

    validity = np.packbits(~missing, bitorder="little").tobytes() if missing.any() else b""
    return copied("date32", len(days), days.astype("int32").tobytes(), validity)


def _zone(tz: Any) -> str | None:
    """The name of a time zone as Arrow has it."""
    if tz is None:
        return None
    for name in (getattr(tz, "key", None), getattr(tz, "zone", None)):
        if isinstance(name, str):
            return name
    offset = tz.utcoffset(None)
    if offset is None:
        raise Unsupported(say(f"the time zone {tz!r} as a column's: it has no name"), "unsupported")
    minutes = int(offset.total_seconds()) // 60
    return "UTC" if minutes == 0 else f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def of_list(items: list[Any], kinds: set[type], dtype: str | None) -> tuple[list[Any], int | None]:
    """A list with scalars of NumPy and pandas among its values: as Python's values, or as a column where there are times."""
    names = {k.__name__ for k in kinds}
    if "NAType" in names:
        items = [None if type(x).__name__ == "NAType" else x for x in items]
    if names.isdisjoint(("datetime64", "timedelta64", "Timestamp", "Timedelta", "NaTType")):
        return [x.item() if hasattr(x, "item") and not hasattr(x, "__len__") else x for x in items], None
    import numpy as np

    spans = bool(names & {"timedelta64", "Timedelta", "timedelta"})
    zones = {getattr(x, "tzinfo", None) is not None for x in items if x is not None and type(x).__name__ != "NaTType"}
    if len(zones) == 2:
        raise TypeError(say("a list of datetimes with and without a time zone as a column"))
    parts = [_scalar(x, spans) for x in items]
    a = np.array(parts, "m8" if spans and all(np.isnat(p) for p in parts) else None)
    if zones != {True}:
        return items, of_array(a, dtype)
    return items, of_array(_Zoned(a), dtype)


class _Zoned:
    """Moments of NumPy as those of UTC, with what of_array asks for."""

    def __init__(self, moments: Any) -> None:
        self._moments = moments
        self.dtype, self.tz = self, _dt.timezone.utc

    def tz_convert(self, zone: None) -> Any:
        return self._moments


def _scalar(x: Any, spans: bool) -> Any:
    """A value as a scalar of NumPy."""
    import numpy as np

    kind, missing = (np.timedelta64, np.timedelta64("NaT")) if spans else (np.datetime64, np.datetime64("NaT"))
    if x is None or type(x).__name__ == "NaTType":
        return missing
    if isinstance(x, kind):
        return x
    for name in ("to_timedelta64",) if spans else ("to_datetime64",):
        if hasattr(x, name):
            return getattr(x, name)()
    if spans and isinstance(x, _dt.timedelta):
        return np.timedelta64(x)
    if not spans and isinstance(x, _dt.date):
        if isinstance(x, _dt.datetime) and x.tzinfo is not None:
            x = x.astimezone(_dt.timezone.utc).replace(tzinfo=None)
        return np.datetime64(x)
    raise TypeError(say(f"a list of {'durations' if spans else 'moments'} and {shown(x)} as a column"))


def literal(value: Any) -> tuple[str, str] | None:
    """A scalar of NumPy or pandas as text or a whole number, and its type; the text is empty where it is NaT. None where it is no such scalar."""
    kind = type(value).__name__
    if kind in ("NaTType", "NAType"):
        return "", ""
    if kind in ("Timestamp", "Timedelta") and any(getattr(value, name, 0) for name in ("nanosecond", "nanoseconds")):
        zone = getattr(value, "tzinfo", None)
        value = value.tz_convert(None).to_datetime64() if zone is not None else value.to_numpy()
        text, name = literal(value) or ("", "")
        return (text, name.replace("]", ", tz=UTC]")) if zone is not None else (text, name)
    if kind not in ("datetime64", "timedelta64"):
        return None
    np: Any = sys.modules["numpy"]
    if np.isnat(value):
        return "", ""
    a = np.array([value])
    unit = _unit_for(a, np.array([False]))
    made = _converted(a, unit, np.array([False]))[0]
    if kind == "timedelta64":
        return str(int(made.astype("int64"))), f"duration[{unit}]"
    text = str(np.datetime_as_string(made)).replace("T", " ")
    return text, "date32" if unit == "D" else f"timestamp[{unit}]"


__all__: Sequence[str] = ["is_of", "literal", "of_array", "of_list"]
