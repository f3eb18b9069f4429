"""Queries: plans over tables and files, run by collect. A table has the same operations, run at once."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref
from html import escape
from typing import TYPE_CHECKING, Any

from . import _abi, _capsule
from ._calls import public, say, shown
from ._library import Handle, call, encode, handles, long_make, long_text, make, texts
from .device import Device, device_of
from .errors import VolleyError
from ._masks import is_array, names_in, sorted_out
from .expr import Agg, Expr, col, lit, sql

if TYPE_CHECKING:
    from .profile import Profile
    from .table import Table


class Query(Handle):
    """A plan. Every operation gives a new one, and nothing is read before ``collect``.

    Columns are named by their names, computed ones are expressions; ``filter("delay > 15")`` takes the text of one.
    """

    __slots__ = ()
    _free = "volley_query_free"

    _stays = "it is a plan over files and memory of this process: send what collect gives, or build it there"

    def __copy__(self) -> Query:
        """Another object of the same plan, which nobody changes."""
        return self.union()

    def __deepcopy__(self, memo: dict[int, Any]) -> Query:
        return self.__copy__()

    def __repr__(self) -> str:
        return "<volley.Query>"

    @property
    def schema(self) -> dict[str, str]:
        """The types of the columns by their names, in order. Files are opened for it, and no row is read, but those of a scalar's query.

        >>> Table({"a": [1, 2]}).lazy().with_columns(b="a * 0.5").schema
        {'a': 'int64', 'b': 'float64'}
        """
        return self.head(0).collect().schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns: see schema."""
        return list(self.schema)

    @property
    def dtypes(self) -> list[str]:
        """The types of the columns: see schema."""
        return list(self.schema.values())

    def _repr_html_(self) -> str:
        """The plan, or why there is none."""
        try:
            return f"<pre>{escape(self.explain())}</pre>"
        except VolleyError as e:
            return f"<pre>{escape(repr(self))}: {escape(str(e))}</pre>"

    def on(self, device: Device | str) -> Query:
        """Runs the query on a device. Queries over files run on the best one unless this says else."""
        return Query(make("volley_query_on", self, device_of(device)))

    def filter(self, *predicates: Expr | str | Iterable[Expr | str], **constraints: Any) -> Query:
        """The rows for which all predicates are true: expressions, their texts, and columns that equal a value.

        >>> Table({"a": [1, 2, 3], "b": ["x", "y", "y"]}).filter(col("a") > 1, "a < 3", b="y").to_pydict()
        {'a': [2], 'b': ['y']}
        """
        given, masks = sorted_out(predicates)
        if masks:
            raise TypeError(say("a mask is of rows that are there, and those of a query are not: write the condition as an expression, or filter the "
                                "table that collect gives", masks[0]))  # fmt: skip
        q = self
        for p in [*given, *(col(n) == v for n, v in constraints.items())]:
            q = Query(make("volley_query_filter", q, (sql(p) if isinstance(p, str) else lit(p))))
        return q

    def select(self, *items: Expr | str | Iterable[Expr | str], **named: Any) -> Query:
        """These columns, in this order; or aggregates of all rows, as agg makes them. A text is the name of a column, and of one that is given by
        name an expression, as in filter; ``lit`` makes a constant of it.

        >>> Table({"a": [1, 2, 3]}).select("a", twice="a * 2", unit=lit("m")).to_dicts()[0]
        {'a': 1, 'twice': 2, 'unit': 'm'}
        >>> Table({"a": [1, 2, 3]}).select(col("a").max()).to_pydict()
        {'max_a': [3]}
        """
        given = _flat(items)
        whole = [isinstance(i, Agg) for i in (*given, *named.values())]
        if any(whole):
            if not all(whole):
                raise TypeError(say("aggregates make one row, and columns as many as there are: select either, or join what agg gives"))
            return self.agg(*given, **named)
        all_ = [_column(i) for i in given] + [by_name(v).alias(n) for n, v in named.items()]
        return Query(make("volley_query_select", self, handles(all_), len(all_)))

    def with_columns(self, /, *items: Expr | Iterable[Expr], **named: Any) -> Query:
        """With further columns, or others in place of those of their names. All expressions see the columns as they were; one without ``alias``
        has the name of its text. Texts are as in select.

        >>> Table({"a": [1], "b": [2]}).with_columns(a=col("b"), b=col("a")).to_pydict()
        {'a': [2], 'b': [1]}
        """
        given: list[tuple[str | None, Any]] = [*((None, _column(i)) for i in _flat(items)), *named.items()]
        values = [by_name(value) for _, value in given]
        names = (ctypes.c_char_p * max(1, len(given)))(*[None if name is None else encode(name) for name, _ in given])
        return Query(make("volley_query_with_columns", self, names, handles(values), len(values)))

    def with_column(self, /, *items: Any, **named: Any) -> Query:
        """One more column: its name and what it is, or what ``with_columns`` takes.

        >>> Table({"a": [1, 2]}).lazy().with_column("twice", "a * 2").collect().to_pydict()
        {'a': [1, 2], 'twice': [2, 4]}
        """
        if len(items) == 2 and isinstance(items[0], str) and not named:
            return self.with_columns(**{items[0]: items[1]})
        return self.with_columns(*items, **named)

    def assign(self, **named: Any) -> Query:
        """``with_columns`` by pandas' name: a text is a constant, as it is there."""
        return self.with_columns(**constants(named))

    def with_scalar(self, **named: Query | Table) -> Query:
        """With further columns, or others in place of those of their names: each has the one value of another query or table, which has one
        column, in every row. Without a row it is null; two rows are an error. Conditions with it are pushed down as with a constant.

        >>> t = Table({"a": [1, 2, 3]})
        >>> t.lazy().with_scalar(mean=t.agg(col("a").mean())).filter("a > mean").collect().to_pydict()
        {'a': [3], 'mean': [2.0]}
        """
        q = self.union()
        for name, other in named.items():
            q = Query(make("volley_query_with_scalar", q, encode(name), query_of(other)))
        return q

    def drop(self, *columns: str | Iterable[str]) -> Query:
        """Without these columns.

        >>> Table({"a": [1], "b": [2]}).drop("b").columns
        ['a']
        """
        names = _flat(columns)
        return Query(make("volley_query_drop", self, texts(names), len(names)))

    def rename(self, mapping: Mapping[str, str]) -> Query:
        """With other names for columns, all at once: ``{"a": "b", "b": "a"}`` swaps two.

        >>> Table({"a": [1]}).rename({"a": "b"}).columns
        ['b']
        """
        return Query(make("volley_query_rename_columns", self, texts(list(mapping)), texts(list(mapping.values())), len(mapping)))

    def join(self, other: Query | Table, on: str | Sequence[str] | None = None, how: str = "inner", *, left_on: str | Sequence[str] | None = None,
             right_on: str | Sequence[str] | None = None, suffix: str = "_right", nulls_equal: bool = False, maintain_order: bool = True,
             where: Expr | str | None = None) -> Query:  # fmt: skip
        """Matches rows with those of another. how is inner, left, right, full (or outer), semi, anti or cross. Null keys match nothing, unless
        nulls_equal; rows come in left order and then right order, unless maintain_order is false.

        where is a condition that pairs of equal keys must meet to match, of inner, left, semi and anti joins: null is no match. It names columns
        as the result does; those of the right side too in semi and anti joins, as an inner join would name them. SQL's EXISTS and IN are semi
        joins, NOT EXISTS is an anti join; NOT IN is one only where no key is null, and for others there is no join.

        >>> t = Table({"k": [1, 1, 2], "s": ["a", "b", "c"]})
        >>> t.join(t, on="k", how="semi", where="s <> s_right").to_pydict()
        {'k': [1, 1], 's': ['a', 'b']}
        """
        if on is not None and (left_on is not None or right_on is not None):
            raise ValueError(say("on, or left_on and right_on, not both"))
        left = _names(on if on is not None else left_on)
        right = _names(on if on is not None else right_on)
        if len(left) != len(right):
            raise ValueError(say(f"{len(left)} keys on the left, {len(right)} on the right"))
        condition = residual(where)
        o = join_options(suffix, nulls_equal, maintain_order, condition)
        there = query_of(other)
        return Query(make("volley_query_join", self, there, encode(how), texts(left), texts(right), len(left), byref(o)))

    def merge(self, right: Query | Table, how: str = "inner", on: str | Sequence[str] | None = None, **more: Any) -> Query:
        """``join`` with pandas' order of arguments, and how its outer."""
        return self.join(right, on=on, how=how, **more)

    def group_by(self, *keys: Expr | str | Iterable[Expr | str], maintain_order: bool = True, drop_nulls: bool = False) -> GroupBy:
        """Groups of the rows whose keys are equal: go on with ``agg``. Null is a key like others unless drop_nulls."""
        return GroupBy(self, [_column(k) for k in _flat(keys)], not maintain_order, drop_nulls)

    groupby = group_by

    def agg(self, *aggregates: Agg | Iterable[Agg], **named: Agg) -> Query:
        """Aggregates all rows to one."""
        return GroupBy(self, [], False, False).agg(*aggregates, **named)

    def sort(self, by: Expr | str | Iterable[Expr | str], *more_by: Expr | str, descending: bool | Sequence[bool] = False, nulls_last: bool = True) -> Query:
        """Orders the rows; stable, nulls last unless nulls_last is false.

        >>> Table({"a": [1, 2, None]}).sort("a", descending=True).to_pydict()
        {'a': [2, 1, None]}
        """
        orders = _orders((by, *more_by), descending, nulls_last)
        return Query(make("volley_query_sort", self, orders.rows, len(orders.keys)))

    def sort_values(self, by: str | Sequence[str], ascending: bool | Sequence[bool] = True, na_position: str = "last") -> Query:
        """``sort`` by pandas' names."""
        if na_position not in ("first", "last"):
            raise ValueError(say(f"na_position is first or last, not {na_position!r}", na_position))
        down = not ascending if isinstance(ascending, bool) else [not a for a in ascending]
        return self.sort(by, descending=down, nulls_last=na_position == "last")

    def intersect(self, other: Query | Table) -> Query:
        """The distinct rows that other has too, where they first come. Nulls are equal, and NaNs.

        >>> Table({"a": [1, 2, 2]}).intersect(Table({"a": [2, 3]})).to_pydict()
        {'a': [2]}
        """
        return Query(make("volley_query_intersect", self, query_of(other)))

    def subtract(self, other: Query | Table) -> Query:
        """The distinct rows that other has not, as intersect has those that it has."""
        return Query(make("volley_query_except", self, query_of(other)))

    def top_k(self, k: int, by: Expr | str | Iterable[Expr | str]) -> Query:
        """The k rows with the greatest values of by."""
        orders = _orders((by,), True, True)
        return Query(make("volley_query_top_k", self, k, orders.rows, len(orders.keys)))

    nlargest = top_k

    def bottom_k(self, k: int, by: Expr | str | Iterable[Expr | str]) -> Query:
        """The k rows with the least values of by."""
        orders = _orders((by,), False, True)
        return Query(make("volley_query_top_k", self, k, orders.rows, len(orders.keys)))

    nsmallest = bottom_k

    def slice(self, offset: int, length: int) -> Query:
        """Rows from offset on."""
        return Query(make("volley_query_slice", self, offset, length))

    def head(self, n: int = 5) -> Query:
        """The first rows."""
        return self.slice(0, n)

    limit = head

    def unique(self, subset: str | Sequence[str] | None = None) -> Query:
        """The first of rows that are equal in the columns of subset, in all if None."""
        names = _names(subset)
        return Query(make("volley_query_distinct", self, texts(names), len(names)))

    drop_duplicates = unique

    def union(self, *others: Query | Table) -> Query:
        """These rows and then those of the others, which have the same columns."""
        there = [query_of(o) for o in others]
        return Query(make("volley_query_union", self, handles(there), len(there)))

    def collect(self) -> Table:
        """Runs the query."""
        from .table import Table

        return Table._of(long_make("volley_query_collect", self, free="volley_table_free"))

    def describe(self) -> Table:
        """Runs the query and gives counts, means, extremes of each column."""
        from .table import Table

        return Table._of(long_make("volley_query_describe", self, free="volley_table_free"))

    def explain(self, format: str = "text") -> str:
        """The plan as it would run: a line for each step, with what is pushed into the readers. The format "json" has the estimates of rows, and
        the pipelines of steps that run the plan, too.

        >>> "a > 1" in Table({"a": [1, 2]}).lazy().filter("a > 1").explain()
        True
        """
        if format not in ("text", "json"):
            raise ValueError(say(f"a plan is shown as text or json, not as {shown(format)}", format))
        return long_text("volley_query_explain" if format == "text" else "volley_query_explain_json", self)

    def profile(self) -> Profile:
        """Runs the query and measures each step: rows, batches, bytes, time in the step and waiting, of each worker.

        >>> p = Table({"a": [1, 2]}).lazy().filter("a > 1").profile()
        >>> p.table.to_pydict()
        {'a': [2]}
        >>> "filter a > 1" in p.text()
        True
        """
        from .profile import Profile

        return Profile._run(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Runs the query batch by batch, as the stream is read."""
        stream = _capsule.ArrowArrayStream()
        call("volley_query_stream", self, None, byref(stream))
        return _capsule.wrap(stream)


@public
class GroupBy:
    """Groups: go on with ``agg``."""

    def __init__(self, query: Query, keys: list[Expr], any_order: bool, drop_nulls: bool) -> None:
        self._query, self._keys, self._any_order, self._drop_nulls = query, keys, any_order, drop_nulls

    def agg(self, *aggregates: Agg | Iterable[Agg] | Mapping[str, str | Sequence[str]], **named: Any) -> Query:
        """A row for each group: the keys and then the aggregates, such as ``col("delay").mean()``. pandas' forms are taken too:
        ``agg({"delay": ["mean", "max"]})`` and ``agg(worst=("delay", "max"))``, and ``agg(n="count")`` is how many rows there are."""
        rows = _Aggregates(aggregates, named)
        o = _abi.volley_group_options(ctypes.sizeof(_abi.volley_group_options), self._drop_nulls, self._any_order)
        return Query(make("volley_query_group_by", self._query, handles(self._keys), len(self._keys), rows.rows, len(rows.all), byref(o)))

    def len(self) -> Query:
        """How many rows each group has, as the column "count"."""
        return self.agg(Agg("count", None))

    size = count = len


class _Aggregates:
    """Aggregates as C takes them, with the objects that they point at."""

    def __init__(self, aggregates: Iterable[Any], named: Mapping[str, Any]) -> None:
        self.all = [a for item in aggregates for a in _aggregates(item)]
        self.all.extend(_named(name, a) for name, a in named.items())
        self.rows = (_abi.volley_aggregate * max(1, len(self.all)))()
        for row, a in zip(self.rows, self.all):
            row.op, row.input = encode(a.op), a.input._handle if a.input is not None else None
            row.name, row.ddof = encode(a.name) if a.name is not None else None, a.ddof


_OPS = {"nunique": "count_distinct", "n_unique": "count_distinct", "prod": "product"}


def _ddof(op: str) -> int:
    return 1 if op in ("var", "std") else 0


def _named(name: str, given: Any) -> Agg:
    """The aggregate of a keyword argument."""
    if isinstance(given, Agg):
        return given.alias(name)
    if given in ("count", "len", "size") if isinstance(given, str) else False:
        return Agg("count", None, name)
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(x, str) for x in given):
        return _pair(*given).alias(name)
    raise TypeError(say(f"{name}={shown(given)} is no aggregate: write {name}=col(...).sum() or the like, {name}=(\"a column\", \"sum\"), or {name}=\"count\"", given))


def _pair(column: str, op: str) -> Agg:
    return Agg(_OPS.get(op, op), col(column), ddof=_ddof(op))


def _aggregates(item: Any) -> list[Agg]:
    if isinstance(item, Agg):
        return [item]
    if isinstance(item, Mapping):
        return [Agg(_OPS.get(op, op), col(name), f"{op}_{name}", _ddof(op)) for name, ops in item.items() for op in _names(ops)]
    if isinstance(item, (Expr, str)) or not isinstance(item, Iterable):
        raise TypeError(say(f"{item if isinstance(item, Expr) else shown(item)} is no aggregate: write col(...).sum() or the like", item))
    return [a for i in item for a in _aggregates(i)]


def _flat(items: Iterable[Any]) -> list[Any]:
    """The items, those of lists among them in their place. Arrays are no lists of columns: their values would each be one."""
    made: list[Any] = []
    for i in items:
        if is_array(i) and (names := names_in(i)) is not None:
            made.extend(names)
            continue
        if is_array(i) or isinstance(i, (bytes, Mapping)):
            raise TypeError(say(f"columns are named, or computed by expressions, and {shown(i)} is neither: add it with Table({{...}}) first", i))
        made.extend([i] if isinstance(i, (str, Expr)) or not isinstance(i, Iterable) else i)
    return made


def residual(where: Expr | str | None) -> Expr | None:
    """The condition of a join, which the caller keeps as long as options have it."""
    return None if where is None else sql(where) if isinstance(where, str) else lit(where)


def join_options(suffix: str, nulls_equal: bool, maintain_order: bool, where: Expr | None) -> _abi.volley_join_options:
    """The options of a join."""
    o = _abi.volley_join_options(ctypes.sizeof(_abi.volley_join_options), nulls_equal, not maintain_order, encode(suffix))
    if where is not None:
        o.where = where._handle
    return o


def _names(given: str | Sequence[str] | None) -> list[str]:
    if given is None or isinstance(given, str):
        return [] if given is None else [given]
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Expr)):
        raise TypeError(say(f"the name of a column, or a list of names, is wanted, not {shown(given)}", given))
    return list(given)


def _column(item: Any) -> Expr:
    """A column by its name, or an expression: a bare number would be the same in all rows, and no order or key."""
    if isinstance(item, str):
        return col(item)
    if not isinstance(item, Expr):
        why = "an aggregate, for agg" if isinstance(item, Agg) else f"neither: a constant is lit({item!r})" if isinstance(item, (int, float)) else "neither"
        raise TypeError(say(f"the name of a column or an expression is wanted, and {shown(item)} is {why}", item))
    return item


def by_name(value: Any) -> Expr:
    """What is given by name: a text is an expression, as it is in filter, so that one that was meant to be is no constant in silence."""
    return sql(value) if isinstance(value, str) else lit(value)


def constants(named: Mapping[str, Any]) -> dict[str, Any]:
    """Texts as constants."""
    return {n: lit(v) if isinstance(v, str) else v for n, v in named.items()}


class _Orders:
    """Keys of a sort as C takes them, with the expressions that they point at."""

    def __init__(self, keys: list[Expr], descending: list[bool], nulls_last: bool) -> None:
        self.keys = keys
        self.rows = (_abi.volley_order * max(1, len(keys)))(*[_abi.volley_order(k._handle, d, not nulls_last) for k, d in zip(keys, descending)])


def _orders(by: Iterable[Any], descending: bool | Sequence[bool], nulls_last: bool) -> _Orders:
    keys = [_column(k) for k in _flat(by)]
    down = [descending] * len(keys) if isinstance(descending, bool) else list(descending)
    if len(down) != len(keys):
        raise ValueError(say(f"{len(keys)} keys and {len(down)} values of descending"))
    return _Orders(keys, down, nulls_last)


def query_of(relation: Query | Table) -> Query:
    """A query of all rows of a table, or the query itself."""
    if isinstance(relation, Query):
        return relation
    from .table import Table

    if not isinstance(relation, Table):
        raise TypeError(say(f"a Table or a Query is wanted, not {shown(relation)}", relation))
    return relation.lazy()


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def _paths(given: Paths) -> tuple[Any, int]:
    if not isinstance(given, (str, os.PathLike, Iterable)) or isinstance(given, bytes):
        raise TypeError(say(f"a path, a pattern or a list of them is wanted, not {shown(given)}", given))
    many = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    if wrong := [p for p in many if not isinstance(p, (str, os.PathLike))]:
        raise TypeError(say(f"{shown(wrong[0])} among the paths is none", given))
    names = [os.fspath(p) for p in many]
    return texts(names), len(names)


def _placed(handle: int, device: Device | str | None) -> Query:
    q = Query(handle)
    return q if device is None else q.on(device)


def scan_parquet(source: Paths, *, int96: str = "ns", hive_partitioning: bool = True, device: Device | str | None = None) -> Query:
    """A query over Parquet files, or patterns of their names: only the columns and row groups that it needs are read. int96 is the unit
    that timestamps of 96 bits (of Spark, Hive, Impala) are read in, "ns", "us" or "ms": nanoseconds reach from 1677 to 2262, and a time
    beyond is an error. Folders named key=value give columns, unless hive_partitioning is False."""
    o = _abi.volley_scan_options(ctypes.sizeof(_abi.volley_scan_options), encode(int96), 0, not hive_partitioning)
    return _placed(make("volley_scan_parquet_with", *_paths(source), byref(o)), device)


def scan_ipc(source: Paths, *, max_unpacked: int = 0, hive_partitioning: bool = True, device: Device | str | None = None) -> Query:
    """A query over Arrow IPC files or streams. max_unpacked is the most bytes that the compressed buffers of one record batch may become:
    0 is 256 MiB, or 1,024 times what they take if that is more. Folders named key=value give columns, unless hive_partitioning is False."""
    o = _abi.volley_scan_options(ctypes.sizeof(_abi.volley_scan_options), None, max_unpacked, not hive_partitioning)
    return _placed(make("volley_scan_ipc_with", *_paths(source), byref(o)), device)


def scan_csv(source: Paths, *, separator: str = ",", has_header: bool = True, new_columns: Sequence[str] = (), schema_overrides: Mapping[str, str] | None = None,
             null_values: str | Sequence[str] = (), infer_schema_length: int = 0, ignore_errors: bool = False, hive_partitioning: bool = True, device: Device | str | None = None) -> Query:  # fmt: skip
    """A query over CSV files. Types are guessed from the first rows (10,000 unless infer_schema_length says else), those of schema_overrides
    given; ignore_errors leaves out records that are wrong. Folders named key=value give columns, unless hive_partitioning is False."""
    o, _keep = csv_options(separator=separator, has_header=has_header, new_columns=new_columns, schema_overrides=schema_overrides,
                           null_values=null_values, infer_schema_length=infer_schema_length, ignore_errors=ignore_errors,
                           hive_partitioning=hive_partitioning)  # fmt: skip
    paths, n = _paths(source)
    return _placed(make("volley_scan_csv", paths, n, byref(o)), device)


def csv_options(*, separator: str = ",", has_header: bool = True, new_columns: Sequence[str] = (), schema_overrides: Mapping[str, str] | None = None,
                null_values: str | Sequence[str] = (), infer_schema_length: int = 0, ignore_errors: bool = False,
                hive_partitioning: bool = True) -> tuple[_abi.volley_csv_options, list[Any]]:  # fmt: skip
    """The library's structure of scan_csv's arguments, and what must be kept as long as it."""
    types = dict(schema_overrides or {})
    nulls = _names(null_values)
    lists = [texts(new_columns), texts(types), texts(types.values()), texts(nulls)]
    at = [ctypes.addressof(x) for x in lists]
    o = _abi.volley_csv_options(
        ctypes.sizeof(_abi.volley_csv_options), encode(separator), not has_header, at[0], len(new_columns), at[1], at[2], len(types), at[3], len(nulls),
        infer_schema_length, ignore_errors, not hive_partitioning,
    )  # fmt: skip
    return o, lists
