"""Tables: named columns on a device, with operations that run at once."""

from __future__ import annotations

import builtins
import ctypes
import html
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import Any, SupportsIndex, overload

from . import _abi, _capsule
from ._library import Handle, call, encode, handles, long_call, long_make, make, take_number, take_text, texts
from ._calls import public, say, shown
from ._interchange import InterchangeFrame
from ._joined import Alone, Shared
from ._partition import by_hash, by_range, round_robin
from ._pickle import reduce_table
from ._values import children
from .column import Column, import_options, is_scalar
from .device import Device, device_of, no_array, no_host_memory, place_of
from .errors import Unsupported
from ._masks import beside, columns_of, free_names, is_array, mask_of, names_in, sorted_out
from ._rows import rows_of, window
from .expr import Agg, Expr, col
from .query import GroupBy, Paths, Query, constants, query_of, scan_csv, scan_ipc, scan_parquet


class Table(Handle):
    """An immutable table. It is made of a dict of columns, or of anything that has Arrow's protocol: pyarrow, Polars, pandas, DuckDB, a Query. A scalar in
    the dict is a column of that value.

    >>> Table({"a": [1, 2, 3]}).filter(col("a") > 1).shape
    (2, 1)

    Operations are those of Query, run at once.
    """

    __slots__ = ("_apart", "_chunk_count", "_fields", "_types", "_where")
    # What was asked once, of a table that never changes.
    _apart: dict[str, Alone | Shared]
    _chunk_count: int
    _fields: list[str]
    _types: list[str]
    _where: tuple[int, int]
    _free = "volley_table_free"

    def __init__(self, data: Any, *, device: Device | str | None = None, validate: str = "cheap") -> None:
        super().__init__(_import(data, device, validate))

    @classmethod
    def _of(cls, handle: int) -> Table:
        t = cls.__new__(cls)
        Handle.__init__(t, handle)
        return t

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A pickle carries the rows, and the name of the device that they are moved to again."""
        return reduce_table(self, int(protocol))

    def __copy__(self) -> Table:
        """Another object of the same memory, which nobody changes."""
        return self.to(self.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self.__copy__()

    def __len__(self) -> int:
        return take_number("volley_table_rows", self)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._names())

    def _names(self) -> list[str]:
        self._handle  # noqa: B018 - a closed table has no columns
        known: list[str] | None = getattr(self, "_fields", None)
        if known is None:
            self._fields = known = _capsule.names(self._schema())
        return known

    def _schema(self) -> _capsule.Schema:
        schema = _capsule.Schema()
        call("volley_table_schema", self, byref(schema))
        return schema

    def _place(self) -> tuple[int, int]:
        """The device, in DLPack's numbers."""
        self._handle  # noqa: B018 - a closed table is nowhere
        known: tuple[int, int] | None = getattr(self, "_where", None)
        if known is None:
            self._where = known = place_of(self.device)
        return known

    @property
    def dtypes(self) -> list[str]:
        """The types of the columns."""
        names = self._names()
        known: list[str] | None = getattr(self, "_types", None)
        if known is None:
            self._types = known = [take_text("volley_table_type", self, i) for i in range(len(names))]
        return list(known)

    @property
    def schema(self) -> dict[str, str]:
        """The types of the columns by their names."""
        return dict(zip(self.columns, self.dtypes))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self._names())

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.shape[1]

    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return len(self) == 0

    @property
    def num_chunks(self) -> int:
        """How many parts the rows lie in, one after the other: row groups of a file, tables that were put together."""
        known: int | None = getattr(self, "_chunk_count", None)
        if known is None:
            self._chunk_count = known = sum(1 for _ in self._chunks())
        return known

    def _chunks(self) -> Iterator[_capsule.ArrowArray]:
        stream = _capsule.ArrowArrayStream()
        call("volley_table_export", self, byref(stream))
        return _capsule.arrays(stream)

    @property
    def device(self) -> Device:
        """Where the table lives."""
        return Device._of(make("volley_table_device", self))

    def column(self, name: str) -> Column:
        """A column; that of a table of several chunks is put together when its memory is asked for, which copies it: its values one by one are not."""
        if not isinstance(name, str) or self._place()[0] != 1:
            return self._whole(name)
        known: dict[str, Alone | Shared] | None = getattr(self, "_apart", None)
        if known is None:
            self._apart = known = {}
        parts = known.get(name)
        if parts is None:
            several = self.num_chunks > 1
            known[name] = parts = Alone(self.select(col(name)), name) if several else Shared(self._whole(name))
        return Column._later(parts)

    def _whole(self, name: str) -> Column:
        return Column._of(long_make("volley_table_column", self, encode(name), free="volley_column_free"))

    def close(self) -> None:
        """Gives the table back now; later use is an error. Columns that were taken from it live on."""
        self._apart = {}
        super().close()

    @overload
    def __getitem__(self, key: str) -> Column: ...

    @overload
    def __getitem__(self, key: builtins.slice | Column | Expr | Iterable[Any]) -> Table: ...

    def __getitem__(self, key: Any) -> Column | Table:
        """A column by its name, columns by a list of names; rows by a slice, a mask or an expression.

        >>> t = Table({"a": [1, 2, 3, 4], "b": ["w", "x", "y", "z"]})
        >>> t["a"].to_pylist(), t[-2:].to_pydict(), t[["b"]].columns, t[t["a"] > 3].rows()
        ([1, 2, 3, 4], {'a': [3, 4], 'b': ['y', 'z']}, ['b'], [(4, 'z')])
        """
        if isinstance(key, str):
            return self.column(key)
        if isinstance(key, builtins.slice):
            return self._part(*rows_of(key, len(self)))
        if (names := names_in(key)) is not None:
            return self.select(names)
        if isinstance(key, Expr) or is_array(key) or isinstance(key, list):
            return self.filter(key)
        raise TypeError(say(f"table[key] takes a name, a list of names, a slice, a mask or an expression, not {shown(key)}", key))

    def get_column(self, name: str) -> Column:
        """``column`` by Polars' name."""
        return self.column(name)

    def explain(self) -> str:
        """What an operation of the table begins with: its rows and columns. See Query.explain."""
        return self.lazy().explain()

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def to(self, device: Device | str) -> Table:
        """The table on another device; the same memory where both work on the host's."""
        return Table._of(long_make("volley_table_to", self, device_of(device), free="volley_table_free"))

    def _moved(self, device: Device) -> int:
        return long_make("volley_table_to", self, device, free="volley_table_free")

    def lazy(self) -> Query:
        """A query of all rows."""
        return Query(make("volley_query_table", self))

    # The operations of Query.

    def filter(self, *predicates: Expr | str | Column | Iterable[Any], **constraints: Any) -> Table:
        """The rows for which all predicates are true, as Query.filter has them; or a mask is: bools, one for each row, in a NumPy array, a list, a Column
        or what else makes one. A null in it is not true.

        >>> t = Table({"a": [1, 2, 3]})
        >>> t.filter([True, False, None]).to_pydict(), t.filter(t["a"] != 2).to_pydict()
        ({'a': [1]}, {'a': [1, 3]})
        """
        given, masks = sorted_out(predicates)
        if not masks:
            return self.lazy().filter(*given, **constraints).collect()
        names = free_names(self, len(masks))
        with_masks = beside(self, {n: mask_of(m, len(self)) for n, m in zip(names, masks)})
        return with_masks.lazy().filter([col(n) for n in names], *given, **constraints).drop(names).collect()

    def select(self, *items: Expr | str | Iterable[Expr | str], **named: Any) -> Table:
        """See Query.select."""
        return self.lazy().select(*items, **named).collect()

    def with_columns(self, /, *items: Expr | Iterable[Expr], **named: Any) -> Table:
        """See Query.with_columns. An array, a list or a Column that is given by name is the column itself, a value for each row.

        >>> Table({"a": [1, 2]}).with_columns(b=[3, None], c=col("a") * 2).to_pydict()
        {'a': [1, 2], 'b': [3, None], 'c': [2, 4]}
        """
        arrays = {n: v for n, v in named.items() if is_array(v) or isinstance(v, list)}
        if not arrays:
            return self.lazy().with_columns(*items, **named).collect()
        hidden = dict(zip(arrays, free_names(self, len(arrays))))
        longer = beside(self, {hidden[n]: c for n, c in columns_of(self, arrays).items()})
        given = {n: col(hidden[n]) if n in hidden else v for n, v in named.items()}
        return longer.lazy().with_columns(*items, **given).drop(list(hidden.values())).collect()

    def with_column(self, /, *items: Any, **named: Any) -> Table:
        """See Query.with_column; an array or a list is the column itself."""
        if len(items) == 2 and isinstance(items[0], str) and not named:
            return self.with_columns(**{items[0]: items[1]})
        return self.with_columns(*items, **named)

    def assign(self, **named: Any) -> Table:
        """See Query.assign."""
        return self.with_columns(**constants(named))

    def drop(self, *columns: str | Iterable[str]) -> Table:
        """See Query.drop."""
        return self.lazy().drop(*columns).collect()

    def rename(self, mapping: Mapping[str, str]) -> Table:
        """See Query.rename."""
        return self.lazy().rename(mapping).collect()

    def join(self, other: Table | Query, on: str | Sequence[str] | None = None, how: str = "inner", **more: Any) -> Table:
        """See Query.join."""
        return self.lazy().join(other, on, how, **more).collect()

    def with_scalar(self, **named: Table | Query) -> Table:
        """See Query.with_scalar."""
        return self.lazy().with_scalar(**named).collect()

    def merge(self, right: Table | Query, how: str = "inner", on: str | Sequence[str] | None = None, **more: Any) -> Table:
        """See Query.merge."""
        return self.join(right, on, how, **more)

    def group_by(self, *keys: Expr | str | Iterable[Expr | str], maintain_order: bool = True, drop_nulls: bool = False) -> TableGroupBy:
        """See Query.group_by."""
        return TableGroupBy(self.lazy().group_by(*keys, maintain_order=maintain_order, drop_nulls=drop_nulls))

    groupby = group_by

    def agg(self, *aggregates: Agg | Iterable[Agg], **named: Agg) -> Table:
        """See Query.agg."""
        return self.lazy().agg(*aggregates, **named).collect()

    def sort(self, by: Expr | str | Iterable[Expr | str], *more_by: Expr | str, descending: bool | Sequence[bool] = False, nulls_last: bool = True) -> Table:
        """See Query.sort."""
        return self.lazy().sort(by, *more_by, descending=descending, nulls_last=nulls_last).collect()

    def sort_values(self, by: str | Sequence[str], ascending: bool | Sequence[bool] = True, na_position: str = "last") -> Table:
        """See Query.sort_values."""
        return self.lazy().sort_values(by, ascending, na_position).collect()

    def top_k(self, k: int, by: Expr | str | Iterable[Expr | str]) -> Table:
        """See Query.top_k."""
        return self.lazy().top_k(k, by).collect()

    nlargest = top_k

    def bottom_k(self, k: int, by: Expr | str | Iterable[Expr | str]) -> Table:
        """See Query.bottom_k."""
        return self.lazy().bottom_k(k, by).collect()

    nsmallest = bottom_k

    def slice(self, offset: int, length: int | None = None) -> Table:
        """Rows from offset on, from the end where it is below 0, and all that follow where there is no length.

        >>> Table({"a": [1, 2, 3]}).slice(-2, 1).to_pydict()
        {'a': [2]}
        """
        known = length is not None and type(offset) is int and offset >= 0  # then the number of rows need not be asked for
        return self._part(*window(offset, length, 0 if known else len(self)))

    def _part(self, offset: int, length: int) -> Table:
        return Table._of(make("volley_table_slice", self, offset, length))

    def head(self, n: int = 5) -> Table:
        """See Query.head."""
        return self.slice(0, n)

    limit = head

    def tail(self, n: int = 5) -> Table:
        """The last rows."""
        count = window(0, n, 0)[1]
        return self._part(-count if count else 0, count)

    def unique(self, subset: str | Sequence[str] | None = None) -> Table:
        """See Query.unique."""
        return self.lazy().unique(subset).collect()

    drop_duplicates = unique

    def union(self, *others: Table | Query) -> Table:
        """See Query.union."""
        return self.lazy().union(*others).collect()

    def intersect(self, other: Table | Query) -> Table:
        """See Query.intersect."""
        return self.lazy().intersect(other).collect()

    def subtract(self, other: Table | Query) -> Table:
        """See Query.subtract."""
        return self.lazy().subtract(other).collect()

    def with_row_index(self, name: str = "index", offset: int = 0) -> Table:
        """The table with a column of int64 behind the others: offset for the first row, and one more for each."""
        return Table._of(long_make("volley_table_row_number", self, encode(name), offset, free="volley_table_free"))

    def partition(self, by: str | Sequence[str], n: int) -> list[Table]:
        """n tables by a hash of columns: rows of equal keys are in one of them, on every device and in every process, and in the table's order. A null is a
        key like others, NaNs are equal, -0 equals 0; integers of all widths are equal by value, texts by their bytes.

        >>> parts = Table({"k": [1, 2, 1, 2], "v": [1, 2, 3, 4]}).partition("k", 2)
        >>> sorted(row for part in parts for row in part.rows())
        [(1, 1), (1, 3), (2, 2), (2, 4)]
        """
        return by_hash(self, by, n)

    def partition_by_range(self, by: Any, bounds: Any, *, descending: bool | Sequence[bool] = False, nulls_last: bool = True) -> list[Table]:
        """Tables between sorted bounds: a row is in the one whose number is that of the bounds that it does not come before, in the order of sort. The bounds
        are the values of one key, or a table with a column for each.

        >>> [part.rows() for part in Table({"k": [5, 1, 3]}).partition_by_range("k", [3])]
        [[(1,)], [(5,), (3,)]]
        """
        return by_range(self, by, bounds, descending, nulls_last)

    def partition_round_robin(self, n: int) -> list[Table]:
        """n tables: row i is in the one of number i % n."""
        return round_robin(self, n)

    def describe(self) -> Table:
        """See Query.describe."""
        return self.lazy().describe()

    # Out of it.

    def to_pydict(self) -> dict[str, list[Any]]:
        """Lists of Python's values by the columns' names, as Column.to_pylist gives them.

        >>> Table({"a": [1, 2], "b": ["x", None]}).to_pydict()
        {'a': [1, 2], 'b': ['x', None]}
        """
        schema = self._schema()
        out: dict[str, list[Any]] = {n: [] for n in self.columns}
        for chunk in self._chunks():
            for values, more in zip(out.values(), children(schema, chunk)):
                values += more
        return out

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each row.

        >>> Table({"a": [1, 2], "b": ["x", None]}).to_dicts()
        [{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]
        """
        columns = self.to_pydict()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def rows(self) -> list[tuple[Any, ...]]:
        """A tuple for each row."""
        return list(zip(*self.to_pydict().values()))

    def to_arrow(self) -> Any:
        """A pyarrow table: of the same memory, or a copy of a device's."""
        import pyarrow as pa

        return pa.table(self._near())

    def to_pandas(self) -> Any:
        """A pandas data frame, by way of pyarrow."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A Polars data frame."""
        import polars as pl

        return pl.DataFrame(self._near())

    def write_parquet(self, path: str | os.PathLike[str], *, compression: str | None = None, row_group_size: int = 0) -> None:
        """Writes a Parquet file, which replaces one of that name when all is written. compression is none, snappy or zstd."""
        self._write(path, "parquet", compression=compression, row_group_rows=row_group_size)

    def write_csv(self, path: str | os.PathLike[str], *, separator: str = ",", null_value: str = "", include_header: bool = True) -> None:
        """Writes a CSV file."""
        self._write(path, "csv", delimiter=separator, null_text=null_value, no_header=not include_header)

    def write_ipc(self, path: str | os.PathLike[str], *, compression: str | None = None, stream: bool = False) -> None:
        """Writes an Arrow IPC file, or stream. compression is none, lz4 or zstd."""
        self._write(path, "arrows" if stream else "arrow", compression=compression)

    def _write(self, path: str | os.PathLike[str], format: str, **more: Any) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(say(f"a path is wanted, not {shown(path)}", path))
        o = _abi.volley_write_options(size=ctypes.sizeof(_abi.volley_write_options), format=encode(format))
        for name, value in more.items():
            setattr(o, name, encode(value) if name in ("delimiter", "null_text", "compression") and value is not None else value)
        long_call("volley_table_write", (self, encode(os.fspath(path)), byref(o)))

    def __repr__(self) -> str:
        return take_text("volley_table_format", self, 10, 0)

    def _repr_html_(self) -> str:
        shown = self.head(10)
        names = shown.columns
        try:
            values = list(shown.to_pydict().values())
        except Unsupported:
            values = [["…"] * len(shown)] * len(names)
        head = "".join(f"<th>{html.escape(n)}<br><small>{html.escape(t)}</small></th>" for n, t in zip(names, shown.dtypes))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row) + "</tr>" for row in zip(*values))
        rows, columns = self.shape
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{rows:,} rows × {columns} columns</small>"

    # Protocols.

    def __arrow_c_schema__(self) -> Any:
        schema = _capsule.ArrowSchema()
        call("volley_table_schema", self, byref(schema))
        return _capsule.wrap(schema)

    @property
    def __arrow_c_stream__(self) -> Callable[..., Any]:
        no_host_memory("table", place_of(self.device))
        return self._arrow_c_stream

    def _arrow_c_stream(self, requested_schema: Any = None) -> Any:
        stream = _capsule.ArrowArrayStream()
        call("volley_table_export", self, byref(stream))
        return _capsule.wrap(stream)

    def __arrow_c_device_stream__(self, requested_schema: Any = None, **options: Any) -> Any:
        """The chunks where they are."""
        _capsule.no_options(options)
        stream = _capsule.ArrowDeviceArrayStream()
        call("volley_table_export_device", self, byref(stream))
        return _capsule.wrap(stream)

    def _near(self) -> Table:
        """The table in host memory."""
        return self if place_of(self.device)[0] == 1 else self.to("cpu")


    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> InterchangeFrame:
        """The interchange protocol. allow_copy is about what would be copied: tables that are on a device or in several chunks."""
        here = self.device.name == "cpu"
        if not allow_copy and (not here or self.num_chunks > 1):
            raise RuntimeError(f"a table of {self.num_chunks} chunks on {self.device.name} is copied to be interchanged")
        return InterchangeFrame(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        if copy is False:
            raise ValueError("a table's columns do not stand side by side: an array of them is a copy")
        no_array("table", place_of(self.device))
        columns = [np.asarray(self.column(n)) for n in self.columns]
        made = np.column_stack(columns) if columns else np.empty((0, 0))
        return made if dtype is None else made.astype(dtype)

    def to_numpy(self) -> Any:
        """A NumPy array of two dimensions, a copy: rows of all columns in one type that holds them. A single column comes without one."""
        return self._near().__array__()


@public
class TableGroupBy:
    """Groups of a table: go on with ``agg``."""

    def __init__(self, groups: GroupBy) -> None:
        self._groups = groups

    def agg(self, *aggregates: Any, **named: Any) -> Table:
        """See GroupBy.agg."""
        return self._groups.agg(*aggregates, **named).collect()

    def len(self) -> Table:
        """How many rows each group has, as the column "count"."""
        return self._groups.len().collect()

    size = count = len


def _import(data: Any, device: Device | str | None, validate: str) -> int:
    where = device_of(device)
    if isinstance(data, Mapping):
        columns = _columns(data, validate)
        if where is None:  # columns of a device stay there
            where = next((d for d in (c.device for c in data.values() if isinstance(c, Column)) if d.name != "cpu"), None)
        return long_make("volley_table_new", where, texts(data), handles(columns), len(columns), free="volley_table_free")
    options = import_options(validate)
    if hasattr(data, "__arrow_c_stream__"):
        capsule = data.__arrow_c_stream__()
        return long_make("volley_table_import", where, _capsule.unwrap(capsule, b"arrow_array_stream"), options, free="volley_table_free")
    if hasattr(data, "__arrow_c_device_stream__"):
        capsule = data.__arrow_c_device_stream__()
        there = long_make("volley_table_import_device", _capsule.unwrap(capsule, b"arrow_device_array_stream"), options, free="volley_table_free")
        return there if where is None else Table._of(there)._moved(where)
    if hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_device_array__"):
        import_one = Column(data, validate=validate)
        return long_make("volley_table_new", where, texts(["0"]), handles([import_one]), 1, free="volley_table_free")
    raise TypeError(say(f"{shown(data)} is nothing that a table is made of: it is no dict and has no __arrow_c_stream__", data))


def _columns(data: Mapping[str, Any], validate: str) -> list[Column]:
    """The columns of a dict. A scalar is a column of that value, as long as the others, or of one row where there are no others."""
    made: dict[str, Column | None] = {}
    for name, value in data.items():
        try:
            made[name] = value if isinstance(value, Column) else None if is_scalar(value) else Column(value, validate=validate)
        except (TypeError, ValueError, ArithmeticError, NotImplementedError) as e:
            e.args = (f"{e}: column {name!r}", *e.args[1:]) if len(e.args) == 1 else e.args  # those of Unicode have five
            raise
    rows = next((len(c) for c in made.values() if c is not None), 1)
    return [Column([data[name]] * rows) if c is None else c for name, c in made.items()]


def concat(tables: Sequence[Table | Query]) -> Table:
    """The rows of the first table and then those of the others, which have the same columns."""
    if isinstance(tables, (Table, Query)):
        raise TypeError(say("a list of tables is wanted, not one", tables))
    given = list(tables)
    if not given:
        raise ValueError(say("there are no tables", tables))
    if all(isinstance(t, Table) for t in given):
        return Table._of(long_make("volley_table_concat", handles(given), len(given), free="volley_table_free"))
    return query_of(given[0]).union(*given[1:]).collect()


def from_arrow(data: Any, *, device: Device | str | None = None, validate: str = "cheap") -> Table:
    """A table of anything that has Arrow's protocol, without a copy."""
    return Table(data, device=device, validate=validate)


def from_pandas(frame: Any, *, device: Device | str | None = None) -> Table:
    """A table of a pandas data frame."""
    return Table(frame, device=device)


def read_parquet(source: Paths, *, columns: Sequence[str] | None = None, **more: Any) -> Table:
    """Reads Parquet files, with the arguments of scan_parquet."""
    q = scan_parquet(source, **more)
    return (q if columns is None else q.select(columns)).collect()


def read_ipc(source: Paths, *, columns: Sequence[str] | None = None, **more: Any) -> Table:
    """Reads Arrow IPC files or streams, with the arguments of scan_ipc."""
    q = scan_ipc(source, **more)
    return (q if columns is None else q.select(columns)).collect()


def read_csv(source: Paths, *, columns: Sequence[str] | None = None, **more: Any) -> Table:
    """Reads CSV files, with the arguments of scan_csv."""
    q = scan_csv(source, **more)
    return (q if columns is None else q.select(columns)).collect()
