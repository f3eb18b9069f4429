"""What filter is given: predicates, which a query evaluates, and masks, which say of each row of a table whether it stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._calls import say, shown
from .column import Column
from .errors import Mismatch
from .expr import Expr, col, function, lit

if TYPE_CHECKING:
    from .table import Table

_ARRAYS = ("__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_stream__", "__dlpack__", "__array__", "__array_interface__", "__cuda_array_interface__")


def is_array(value: Any) -> bool:
    """Whether it is values that lie side by side: an array or a column, and no scalar of NumPy's."""
    return any(hasattr(value, name) for name in _ARRAYS) and getattr(value, "shape", None) != () or isinstance(value, Column)


def names_in(value: Any) -> list[str] | None:
    """The texts of an array or a list of them, such as names of columns are; None of everything else."""
    if not (is_array(value) or isinstance(value, list)) or not isinstance(value, Iterable) or isinstance(value, Column) and value.dtype != "utf8":
        return None
    if not isinstance(next(iter(value), None), str):  # a mask is not walked through
        return None
    items = list(value)
    return items if all(isinstance(x, str) for x in items) else None


def _is_flag(value: Any) -> bool:
    return value is None or isinstance(value, bool) or type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def sorted_out(given: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """The predicates and the masks among filter's arguments. What is neither is an error."""
    predicates: list[Any] = []
    masks: list[Any] = []
    for p in given:
        if isinstance(p, (Expr, str, bool)) or _is_flag(p) and p is not None:
            predicates.append(p)
        elif hasattr(p, "lazy") or hasattr(p, "collect"):
            raise TypeError(say(f"rows are chosen by an expression, its text, or a mask of bools, not by {shown(p)}", p))
        elif is_array(p):
            masks.append(p)
        elif isinstance(p, Iterable) and not isinstance(p, (bytes, bytearray, Mapping)):
            items = list(p)
            if items and all(map(_is_flag, items)):
                masks.append(p if isinstance(p, (list, tuple)) else items)
            elif wrong := [x for x in items if not isinstance(x, (Expr, str))]:
                raise TypeError(say(f"a list is one of predicates or a mask of bools, not one with {shown(wrong[0])}", p))
            else:
                predicates.extend(items)
        else:
            raise TypeError(say(f"rows are chosen by an expression, its text, or a mask of bools, not by {shown(p)}", p))
    return predicates, masks


def mask_of(given: Any, rows: int) -> Column:
    """A mask of so many rows, as a column of bools."""
    if getattr(given, "ndim", 1) != 1:
        raise Mismatch(say(f"a mask has one dimension, not the shape {tuple(given.shape)}", given), "mismatch")
    mask = given if isinstance(given, Column) else Column(given, "bool") if isinstance(given, (list, tuple)) else Column(given)
    if mask.dtype != "bool":
        raise TypeError(say(f"a mask is of bool, not of {mask.dtype}", given))
    if len(mask) != rows:
        raise Mismatch(say(f"a mask of {len(mask)} for {rows} rows", given), "mismatch")
    return mask


def beside(table: Table, more: Mapping[str, Column]) -> Table:
    """A table with further columns, as many rows long. The chunks of a table on the host stay, and their memory."""
    from .table import Table, concat

    def part(of: Table, offset: int, length: int) -> Table:
        columns = {name: of.column(name) for name in of.columns}
        return Table(columns | {name: c.slice(offset, length) for name, c in more.items()}, device=of.device)

    lengths = [chunk.length for chunk in table._chunks()] if table.device.name == "cpu" else []
    if len(lengths) < 2:
        return part(table, 0, len(table))
    parts, at = [], 0
    for n in lengths:
        parts.append(part(table.slice(at, n), at, n))
        at += n
    return concat(parts)


def columns_of(table: Table, arrays: Mapping[str, Any]) -> dict[str, Column]:
    """Arrays and lists as columns that are as long as a table."""
    made: dict[str, Column] = {}
    for name, given in arrays.items():
        made[name] = given if isinstance(given, Column) else Column(given)
        if len(made[name]) != len(table):
            raise Mismatch(say(f"a column of {len(made[name])} for {len(table)} rows", given), "mismatch")
    return made


def free_names(table: Table, count: int) -> list[str]:
    """Names that no column of a table has."""
    taken = set(table.columns)
    candidates = (f"mask {i}" for i in range(len(taken) + count))
    return [n for n in candidates if n not in taken][:count]


def compared(column: Column, op: str, others: Iterable[Any]) -> Column:
    """What an operation of expressions makes of a column and of values, or columns as long as it."""
    from .table import Table

    columns, args = {"0": column}, [col("0")]
    for i, other in enumerate(others, 1):
        if isinstance(other, Expr):
            raise TypeError(say("a column is compared with values or columns: in an expression it goes by its name, col(name)", other))
        if not (is_array(other) or isinstance(other, (list, tuple))):
            args.append(lit(other))
            continue
        c = other if isinstance(other, Column) else Column(other)
        if len(c) != len(column):
            raise Mismatch(say(f"a column of {len(column)} and one of {len(c)}", other), "mismatch")
        columns[str(i)] = c
        args.append(col(str(i)))
    return Table(columns, device=column.device).select(**{"0": function(op, *args)}).column("0")
