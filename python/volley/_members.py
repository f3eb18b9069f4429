"""Long lists of values for is_in, as columns: a handle for each value would cost a hundred times what it takes to look it up."""

from __future__ import annotations

import datetime as _dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .column import Column

# Shorter lists are literals one by one.
SHORT = 32

_KINDS = (bool, int, float, str, _dt.date, _dt.time, _dt.datetime, _dt.timedelta, Decimal)


def members(values: Any) -> list[Column] | None:
    """Columns of the values, one for each class of them; None where they are few, or of a class that no column is for."""
    from .column import Column

    if len(values) == 0:
        return None
    if isinstance(values, Column):
        return [values._near()]
    if not isinstance(values, list):  # NumPy's
        return [Column(values)]
    kinds = set(map(type, values))
    if len(values) < SHORT and _dt.time not in kinds:  # which no literal is for
        return None
    if not kinds <= {type(None), *_KINDS}:
        return None
    made = [Column([None], "bool")] if type(None) in kinds else []
    for kind in _KINDS:
        if kind in kinds:
            same = values if len(kinds) == 1 else [x for x in values if type(x) is kind]
            made += [Column(part, dtype) for part, dtype in _parts(kind, same) if part]
    return made


def listed(values: Any) -> Any:
    """The values as a list, unless they are a column, or an array of NumPy's numbers."""
    from .column import Column

    plain = getattr(values, "ndim", 0) == 1 and getattr(getattr(values, "dtype", None), "kind", "") in "iuf" and not hasattr(values, "mask")
    return values if isinstance(values, (list, Column)) or plain else list(values)


def _parts(kind: type, same: list[Any]) -> list[tuple[list[Any], str | None]]:
    """The values of a class, apart where one column does not hold them, and the columns' types where they are not those of the class."""
    if kind is int:
        if -(2**63) <= min(same) and max(same) < 2**63:
            return [(same, "int64")]
        return [([x for x in same if x < 2**63], "int64"), ([x for x in same if x >= 2**63], "uint64")]
    if kind is _dt.datetime:
        return [([x for x in same if x.tzinfo is None], None), ([x for x in same if x.tzinfo is not None], None)]
    return [(same, None)]
