"""The operators of tables on ranks."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref, c_char_p, c_int64
from typing import TYPE_CHECKING, Any, cast

from . import _abi
from ._calls import public, say, shown
from ._library import encode, handles, long_call, long_make, texts
from ._masks import sorted_out
from ._rows import window
from ._agreed import agreed, told
from .expr import Agg, Expr, col, lit, sql
from .query import Paths, _Aggregates, _column, _flat, _names, _orders, _paths, by_name, constants

if TYPE_CHECKING:
    from .comm import Comm
    from .distributed import Table
    from .loader import Loader


@public
class Operators:
    """What a distributed Table can do besides moving its rows: the operations of Table, over the rows of all ranks."""

    __slots__ = ()
    _comm: Comm
    _handle: int

    if TYPE_CHECKING:

        def _made(self, name: str, *args: Any) -> Table: ...

        def __len__(self) -> int: ...

    @agreed("Filter")
    def filter(self, *predicates: Expr | str | Iterable[Expr | str], **constraints: Any) -> Table:
        """The rows for which all predicates are true, as Query.filter has them. No row moves."""
        given, masks = sorted_out(predicates)
        if masks:
            raise TypeError(say("a mask is of the rows of one rank: write the condition as an expression, or filter the local part and make a table of it", masks[0]))
        self._handle  # noqa: B018 - a closed table has no rows
        d: Any = self
        for p in [*given, *(col(n) == v for n, v in constraints.items())]:
            d = d._made("filter", (sql(p) if isinstance(p, str) else lit(p)))
        made: Table = d
        return made

    @agreed("Select")
    def select(self, *items: Expr | str | Iterable[Expr | str], **named: Any) -> Table:
        """These columns, in this order, as Query.select has them; or aggregates of all rows. No row moves."""
        given = _flat(items)
        whole = [isinstance(i, Agg) for i in (*given, *named.values())]
        if any(whole):
            if not all(whole):
                raise TypeError(say("aggregates make one row, and columns as many as there are: select either, or join what agg gives"))
            return self.agg(*given, **named)
        all_ = [_column(i) for i in given] + [by_name(v).alias(n) for n, v in named.items()]
        return self._made("select", handles(all_), len(all_))

    @agreed("WithColumns")
    def with_columns(self, *items: Expr | Iterable[Expr], **named: Any) -> Table:
        """With further columns, or others in place of those of their names, as Query.with_columns has them. No row moves."""
        given: list[tuple[str | None, Any]] = [*((None, _column(i)) for i in _flat(items)), *named.items()]
        values = [by_name(value) for _, value in given]
        names = (c_char_p * max(1, len(given)))(*[None if name is None else encode(name) for name, _ in given])
        return self._made("with_columns", names, handles(values), len(values))

    @agreed("WithColumns")
    def with_column(self, /, *items: Any, **named: Any) -> Table:
        """One more column: its name and what it is, or what ``with_columns`` takes. No row moves."""
        if len(items) == 2 and isinstance(items[0], str) and not named:
            return self.with_columns(**{items[0]: items[1]})
        return self.with_columns(*items, **named)

    @agreed("WithColumns")
    def assign(self, **named: Any) -> Table:
        """``with_columns`` by pandas' name: a text is a constant, as it is there."""
        return self.with_columns(**constants(named))

    @agreed("Join")
    def with_scalar(self, **named: Table) -> Table:
        """With further columns, or others in place of those of their names: each has the one value of another table on the same Comm, which has one column,
        in every row, as Query.with_scalar has it. Without a row it is null; two rows are an error. No row of this table moves."""
        self._handle  # noqa: B018 - a table that was closed is refused, also where no column is asked for
        d: Any = self
        for name, other in named.items():
            if not hasattr(other, "_comm"):
                raise TypeError(say(f"a distributed.Table is wanted, not {shown(other)}", other))
            columns, rows = other.schema, len(other)
            if len(columns) != 1 or rows > 1:
                raise ValueError(say(f"{name}: {rows} rows of {len(columns)} columns are no scalar", other))
            ((only, kind),) = columns.items()
            if rows == 0:
                d = d.with_columns(**{name: lit(None).cast(kind)})
                continue
            there = d.columns
            free = name
            while free in there:
                free += "_"
            d = d.join(other if only == free else other.rename({only: free}), how="cross")
            if free != name:
                d = d.with_columns(**{name: col(free)}).drop(free)
        made: Table = d
        return made

    @agreed("Drop")
    def drop(self, *columns: str | Iterable[str]) -> Table:
        """Without these columns. No row moves."""
        names = _flat(columns)
        return self._made("drop", texts(names), len(names))

    @agreed("Rename")
    def rename(self, mapping: Mapping[str, str]) -> Table:
        """With other names for columns, all at once. No row moves."""
        return self._made("rename", texts(list(mapping)), texts(list(mapping.values())), len(mapping))

    @agreed("GroupBy")
    def group_by(self, *keys: Expr | str | Iterable[Expr | str], maintain_order: bool = True, drop_nulls: bool = False) -> DistributedGroupBy:
        """Groups of the rows of all ranks whose keys are equal: go on with ``agg``. They come in the order of first appearance over all ranks; without
        maintain_order they stay on the ranks of their keys, which moves many groups once and not twice."""
        self._handle  # noqa: B018 - a closed table has no groups
        return DistributedGroupBy(cast("Table", self), [_column(k) for k in _flat(keys)], not maintain_order, drop_nulls)

    @agreed("GroupBy")
    def agg(self, *aggregates: Agg | Iterable[Agg], **named: Agg) -> Table:
        """Aggregates all rows to one, which every rank has: see ``local``."""
        return DistributedGroupBy(cast("Table", self), [], False, False).agg(*aggregates, **named)

    @agreed("GroupBy")
    def describe(self) -> Table:
        """Counts, means, extremes of each column over all ranks, as Query.describe has them. Every rank has them: see ``local``."""
        return self._made("describe")

    @agreed("Sort")
    def sort(self, by: Expr | str | Iterable[Expr | str], *more_by: Expr | str, descending: bool | Sequence[bool] = False, nulls_last: bool = True) -> Table:
        """Orders the rows: rank r has those that come before the rows of rank r + 1. Stable, and as many rows on each rank within 10 percent, also where
        one key has most of them."""
        orders = _orders((by, *more_by), descending, nulls_last)
        return self._made("sort", orders.rows, len(orders.keys))

    @agreed("Sort")
    def sort_values(self, by: str | Sequence[str], ascending: bool | Sequence[bool] = True, na_position: str = "last") -> Table:
        """``sort`` by pandas' names."""
        if na_position not in ("first", "last"):
            raise ValueError(say(f"na_position is first or last, not {na_position!r}", na_position))
        down = not ascending if isinstance(ascending, bool) else [not a for a in ascending]
        return self.sort(by, descending=down, nulls_last=na_position == "last")

    @agreed("TopK")
    def top_k(self, k: int, by: Expr | str | Iterable[Expr | str]) -> Table:
        """The k rows with the greatest values of by, in order."""
        orders = _orders((by,), True, True)
        return self._made("top_k", k, orders.rows, len(orders.keys))

    @agreed("TopK")
    def bottom_k(self, k: int, by: Expr | str | Iterable[Expr | str]) -> Table:
        """The k rows with the least values of by, in order."""
        orders = _orders((by,), False, True)
        return self._made("top_k", k, orders.rows, len(orders.keys))

    @agreed("Distinct")
    def unique(self, subset: str | Sequence[str] | None = None) -> Table:
        """The first of rows that are equal in the columns of subset, in all without one, over all ranks. They stay on their ranks, in their order."""
        names = _names(subset)
        return self._made("distinct", texts(names), len(names))

    groupby = group_by
    nlargest, nsmallest = top_k, bottom_k
    drop_duplicates = unique

    @agreed("Union")
    def union(self, *others: Table) -> Table:
        """On each rank the rows of the table and then those of the others, doubles and all. No row moves."""
        return self._made("union", handles(others), len(others))

    @agreed("Intersect")
    def intersect(self, other: Table) -> Table:
        """The distinct rows that other has too. They stay on their ranks, in their order."""
        return self._made("intersect", other)

    @agreed("Except")
    def subtract(self, other: Table) -> Table:
        """The distinct rows that other has not. They stay on their ranks, in their order."""
        return self._made("except", other)

    @agreed("Slice")
    def slice(self, offset: int, length: int | None = None) -> Table:
        """Rows from offset on, from the end where it is below 0, counted over all ranks. No row moves."""
        return self._made("slice", *window(offset, length, len(self)))

    @agreed("Slice")
    def head(self, n: int = 5) -> Table:
        """The first rows of all ranks."""
        return self.slice(0, n)

    limit = head

    @agreed("Slice")
    def tail(self, n: int = 5) -> Table:
        """The last rows of all ranks."""
        rows = len(self)
        return self.slice(max(0, rows - n), min(n, rows))

    @agreed("Even")
    def even(self) -> Table:
        """As many rows on each rank as on every other, without the last ones, fewer than there are ranks, that do not go round."""
        return self._made("even")

    def loader(self, batch_size: int, **options: Any) -> Loader:
        """A Loader of this rank's part of ``even``, so that the loaders of all ranks take as many steps. options are those of Loader."""
        from .loader import Loader

        return Loader(self.even().local, batch_size, **options)

    @agreed("WithRowNumber")
    def with_row_index(self, name: str = "index", offset: int = 0) -> Table:
        """With a column of int64 behind the others: offset for the first row of all ranks, and one more for each. No row moves."""
        return self._made("row_number", encode(name), offset)

    @agreed("Equal")
    def equals(self, other: Table, *, check_row_order: bool = True) -> bool:
        """Whether both have the same columns and the same rows, in the same order unless check_row_order is false, however they are spread over the ranks.
        Nulls are equal, and NaNs. Sums of 128-bit hashes of the rows are compared, so no row moves."""
        same = c_int64()
        d: Any = self
        told(lambda: self._comm._explained(lambda: long_call("volley_distributed_equal", (d, other, not check_row_order), [byref(same)])))
        return bool(same.value)

    @agreed("Write")
    def write_parquet(self, folder: str | os.PathLike[str], *, compression: str | None = None, row_group_size: int = 0) -> None:
        """Writes a new folder, which all ranks reach by this path: a file of each rank that has rows. It is not there before all is written."""
        self._write(folder, "parquet", compression=compression, row_group_rows=row_group_size)

    @agreed("Write")
    def write_csv(self, folder: str | os.PathLike[str], *, separator: str = ",", null_value: str = "", include_header: bool = True) -> None:
        """Writes a new folder of CSV files, as write_parquet has it."""
        self._write(folder, "csv", delimiter=separator, null_text=null_value, no_header=not include_header)

    @agreed("Write")
    def write_ipc(self, folder: str | os.PathLike[str], *, compression: str | None = None) -> None:
        """Writes a new folder of Arrow IPC files, as write_parquet has it. compression is none, lz4 or zstd."""
        self._write(folder, "arrow", compression=compression)

    def _write(self, folder: str | os.PathLike[str], format: str, **more: Any) -> None:
        if not isinstance(folder, (str, os.PathLike)):
            raise TypeError(say(f"a path is wanted, not {shown(folder)}", folder))
        o = _abi.volley_write_options(size=ctypes.sizeof(_abi.volley_write_options), format=encode(format))
        for name, value in more.items():
            setattr(o, name, encode(value) if name in ("delimiter", "null_text", "compression") and value is not None else value)
        d: Any = self
        args = d, encode(os.fspath(folder)), byref(o)
        told(lambda: self._comm._explained(lambda: long_call("volley_distributed_write", args)))


@public
class DistributedGroupBy:
    """Groups of the rows of all ranks: go on with ``agg``."""

    def __init__(self, table: Table, keys: list[Expr], any_order: bool, drop_nulls: bool) -> None:
        self._table, self._keys, self._any_order, self._drop_nulls = table, keys, any_order, drop_nulls
        self._comm = table._comm

    @agreed("GroupBy")
    def agg(self, *aggregates: Agg | Iterable[Agg] | Mapping[str, str | Sequence[str]], **named: Any) -> Table:
        """A row for each group: the keys and then the aggregates. See GroupBy.agg."""
        given = _Aggregates(aggregates, named)
        o = _abi.volley_group_options(ctypes.sizeof(_abi.volley_group_options), self._drop_nulls, self._any_order)
        return self._table._made("group_by", handles(self._keys), len(self._keys), given.rows, len(given.all), byref(o))

    def len(self) -> Table:
        """How many rows each group has, as the column "count"."""
        return self.agg(Agg("count", None))

    size = count = len


def scan(comm: Comm, paths: Paths, columns: str | Sequence[str] | None, format: str) -> int:
    """The handle of a table of files of which each rank reads a part."""
    names = _names(columns)
    return _scanned(comm, "volley_distributed_scan", comm, encode(format), *_paths(paths), texts(names), len(names))


def scan_with(comm: Comm, paths: Paths, columns: str | Sequence[str] | None, o: _abi.volley_csv_options) -> int:
    """scan of CSV files with options."""
    names = _names(columns)
    return _scanned(comm, "volley_distributed_scan_csv", comm, *_paths(paths), byref(o), texts(names), len(names))


def _scanned(comm: Comm, name: str, *args: object) -> int:
    made: int = told(lambda: comm._explained(lambda: long_make(name, *args, free="volley_distributed_free")))
    return made
