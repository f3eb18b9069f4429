"""Rows by their numbers, as Python counts them: from the end where they are below 0."""

from __future__ import annotations

import operator
from typing import Any

from ._calls import say, shown


def number(value: Any, wanted: str = "a whole number is wanted") -> int:
    """A whole number: Python's, or a scalar of NumPy's."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(say(f"{wanted}, not {shown(value)}", value)) from None


def rows_of(key: slice, rows: int) -> tuple[int, int]:
    """The first of a slice's rows, and how many there are. They follow one another."""
    if key.step not in (None, 1):
        raise ValueError(say(f"the step of a slice is 1, not {key.step!r}: rows in another order come by sort", key))
    try:
        first, end, _ = key.indices(rows)
    except TypeError:
        raise TypeError(say(f"the ends of a slice are whole numbers, not {key.start!r} and {key.stop!r}", key)) from None
    return first, max(0, end - first)


def window(offset: Any, length: Any, rows: int) -> tuple[int, int]:
    """An offset and a length as the library takes them: an offset below 0 counts from the end, and all rows follow where there is no length."""
    first = number(offset)
    if first < 0:
        if first < -rows:
            raise IndexError(say(f"an offset of {first} in {rows} rows", offset))
        first += rows
    if length is None:
        return first, max(0, rows - first)
    count = number(length)
    if -(2**63) <= count < 0:  # what C has no number for is its caller's error
        raise ValueError(say(f"a length is not below 0: {count}", length))
    return first, count
