"""Tables that are split into several."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any

from ._calls import say, shown
from ._library import Handle, library, long_call, texts
from .column import Column
from .expr import Expr
from .query import _names, _orders

if TYPE_CHECKING:
    from .table import Table

_MOST = 1 << 20  # the library's limit


def by_hash(table: Table, by: str | Sequence[str], n: int) -> list[Table]:
    """The parts of Table.partition."""
    keys = _names(by)
    return _made("volley_table_partition", (table, texts(keys), len(keys)), n)


def round_robin(table: Table, n: int) -> list[Table]:
    """The parts of Table.partition_round_robin."""
    return _made("volley_table_partition_round_robin", (table,), n)


def by_range(table: Table, by: Any, bounds: Any, descending: bool | Sequence[bool], nulls_last: bool) -> list[Table]:
    """The parts of Table.partition_by_range."""
    given = by if isinstance(by, Iterable) and not isinstance(by, (str, Expr)) else [by]
    orders = _orders(given, descending, nulls_last)
    limits = _bounds(table, bounds)
    return _made("volley_table_partition_range", (table, limits, orders.rows, len(orders.keys)), len(limits) + 1)


def _bounds(table: Table, given: Any) -> Table:
    """The bounds as a table on the table's device."""
    cls = type(table)
    if isinstance(given, cls):
        return given
    if isinstance(given, (str, bytes, Expr, Handle)) and not isinstance(given, Column) or not isinstance(given, Iterable):
        raise TypeError(say(f"bounds are a table with a column for each key, or the values of one key, not {shown(given)}", given))
    return cls({"bounds": given}, device=table.device)


def _made(name: str, args: tuple[Any, ...], n: int) -> list[Table]:
    from .table import Table

    parts = operator.index(n)
    outs = (c_void_p * (parts if 1 <= parts <= _MOST else 1))()
    try:
        long_call(name, (*args, parts), [outs])
    except BaseException:
        for out in outs:
            if out:
                library().volley_table_free(out)
        raise
    return [Table._of(out or 0) for out in outs]
