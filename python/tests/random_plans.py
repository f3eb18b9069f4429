"""Random queries, each as a plan of volley and as SQL for DuckDB: chains of filters, projections, joins of every kind, groupings, distinct rows, sorts,
limits and unions over random tables. The test runs 500; any number by hand, from a seed on:

    python python/tests/random_plans.py 100000 500

With RANDOM_PLANS_FOLDER set, tables are files in that folder, which are written anew for each case. With RANDOM_PLANS_DEVICE set, opencl:0 say, tables
lie on that device, and plans run there.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import volley as vo

FOLDER = os.environ.get("RANDOM_PLANS_FOLDER")
DEVICE = os.environ.get("RANDOM_PLANS_DEVICE")
LETTERS = "abé%_"
WIDE_LETTERS = "aß漢🙂'\\\0"  # of one to four bytes, and those that texts of SQL and of C treat apart
PREFIXES = ["twelve bytes", "https://example.org/a/longer/path/of/text", "été — 漢字漢字漢字"]  # no view of a text holds them beside its length
DAYS = [dt.date(1, 1, 2), dt.date(1883, 11, 18), dt.date(1969, 12, 22), dt.date(9999, 12, 1)]
DAY = dt.date(2024, 2, 20)
EDGE = 2**63 - 1
# Values of floats that have rules of their own: each stands for itself, but NaNs are one value as keys, and so are the zeros.
SPECIAL = [math.nan, -math.nan, math.inf, -math.inf, -0.0, 0.0]
# The types of a column by what can be done with it: numbers of one kind are compared, matched and added up with each other.
TYPES: dict[str, list[pa.DataType]] = {
    "int": [pa.int64(), pa.int64(), pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
    "float": [pa.float64(), pa.float32()], "decimal": [pa.decimal128(9, 2), pa.decimal128(9, 2), pa.decimal128(25, 3), pa.decimal128(30, 0)], "bool": [pa.bool_()],
    "text": [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.string()), pa.string_view()],
    "date": [pa.date32()], "time": [pa.timestamp("us"), pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("s")],
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A column of a query: its kind, and how large its values may be, so that no sum or product of them leaves its type."""

    name: str
    kind: str
    size: int = 100
    narrow: bool = False  # arithmetic in its own type would wrap
    origin: str = ""  # the column of a table whose values these are


@dataclass(frozen=True)
class Plan:
    """A query on both sides. Ordered plans have their rows in a total order."""

    query: vo.Query
    sql: str
    fields: tuple[Field, ...]
    ordered: bool = False
    rows: int = 40  # at most, about


@dataclass(frozen=True)
class Value:
    """An expression on both sides."""

    expr: vo.Expr
    sql: str
    kind: str
    size: int = 100


class Maker:
    """Makes the tables and the plan of one case."""

    def __init__(self, seed: int) -> None:
        self.seed, self.r = seed, random.Random(seed)
        self.names = 0
        self.tables: dict[str, pa.Table] = {}
        self.known: dict[str, list[Any]] = {kind: [] for kind in TYPES}  # values that some rows have, for constants
        self.held: dict[str, list[Any]] = {}  # those of each column
        self.special = self.r.random() < 0.4  # floats have values with rules of their own
        self.bases = [self.base() for _ in range(self.r.randrange(1, 4))]

    def name(self) -> str:
        self.names += 1
        return f"c{self.names}"

    def datum(self, kind: str) -> Any:
        """A value of a few that lie close."""
        r = self.r
        if kind == "int":
            return r.randrange(-6, 12)
        if kind == "float":
            return r.randrange(-20, 20) / 4
        if kind == "decimal":
            return Decimal(r.randrange(-500, 500)) / 100 if r.random() < 0.5 else Decimal(r.randrange(4))
        if kind == "bool":
            return r.random() < 0.5
        if kind == "text":
            return "".join(r.choice(LETTERS) for _ in range(r.randrange(4)))
        if kind == "date":
            return DAY + dt.timedelta(days=r.randrange(20))
        return dt.datetime(2024, 2, 28) + dt.timedelta(hours=r.randrange(60), microseconds=r.randrange(2))

    def data(self, kind: str, t: pa.DataType) -> tuple[Callable[[], Any], int]:
        """What makes the values of a column, and how large they are: most lie close, and those of some columns far apart or at the ends of their type."""
        r = self.r
        if kind == "int":
            return self.numbers(t)
        if kind == "float" and self.special:
            return lambda: r.choice(SPECIAL) if r.random() < 0.15 else self.datum(kind), 100
        if kind == "decimal" and t.precision > 18:
            unit = r.choice([Decimal(1), Decimal(10) ** r.randrange(15, 20)])
            return lambda: r.randrange(-6, 12) * unit + r.randrange(3), int(12 * unit) + 3
        if kind == "text" and r.random() < 0.5:
            prefix, letters = r.choice(["", *PREFIXES]), r.choice([LETTERS, WIDE_LETTERS])
            return lambda: (prefix if r.random() < 0.9 else prefix[:-1]) + "".join(r.choice(letters) for _ in range(r.randrange(4))), 1
        if kind == "date" and r.random() < 0.5:
            days, apart = r.choice(DAYS), r.random() < 0.3
            return lambda: (r.choice(DAYS) if apart else days) + dt.timedelta(days=r.randrange(20)), 1
        if kind == "time":
            days, step = r.choice([DAY, DAY, *DAYS]), {"us": dt.timedelta(microseconds=1), "ms": dt.timedelta(milliseconds=1), "s": dt.timedelta(seconds=1)}[t.unit]
            midnight = dt.datetime.combine(days, dt.time())
            return lambda: midnight + dt.timedelta(hours=r.randrange(60)) + r.randrange(2) * step, 1
        return lambda: self.datum(kind), 100

    def numbers(self, t: pa.DataType) -> tuple[Callable[[], int], int]:
        """What makes the values of a column of whole numbers, and how large they are."""
        r = self.r
        bits, signed = t.bit_width, pa.types.is_signed_integer(t)
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        few = range(max(least, -6), 12)
        how = r.random()
        if how < 0.5 or bits < 16:
            return lambda: r.choice(few), 12
        if how < 0.8:  # apart: too far for a bit or a slot each
            by = r.choice([1 << (bits - 6), (1 << (bits - 6)) // 7, 1 + (1 << (bits // 2))])
            return lambda: r.choice(few) * by, 12 * by
        if how < 0.9 and signed:  # around one value that is far from 0
            from_ = r.choice([least // 3, most // 5])
            return lambda: from_ + r.choice(few), abs(from_) + 12
        return lambda: r.choice([least, least + 1, most - 1, most, *few[:6]]), most + 1  # both ends

    def base(self) -> Plan:
        """A table: whole, a slice, or chunks; with nulls, without, of nulls alone, or empty."""
        r = self.r
        rows, nulls = r.choice([0, 1, 12, 40, 40, 40, 40, 40, 40, 40, 40, 200]), r.choice([0, 0, 0.2, 0.2, 1 if r.random() < 0.2 else 0.5])
        fields, columns = [], {}
        table = f"t{len(self.tables)}"
        for _ in range(r.randrange(2, 6)):
            kind = r.choice([*TYPES, "int", "text"])
            t = r.choice(TYPES[kind])
            if rows > 100 and pa.types.is_dictionary(t):  # int8 may not do
                t = pa.dictionary(pa.int32(), pa.string())
            plain = t.value_type if pa.types.is_dictionary(t) else t
            value, size = self.data(kind, t)
            values = [None if r.random() < nulls else value() for _ in range(rows + 2)]
            f = Field(name := self.name(), kind, size, kind == "int" and t != pa.int64() or t == pa.float32(), name)
            self.held[name] = [v for v in values[1:-1] if v is not None and (kind != "text" or "\0" not in v)]
            self.known[kind] += self.held[name]
            made = pa.array(values, plain)
            fields.append(f)
            columns[f.name] = made.dictionary_encode().cast(t) if pa.types.is_dictionary(t) else made
        whole = pa.table(columns).slice(1, rows)
        if r.random() < 0.5:
            at = r.randrange(rows + 1)
            whole = pa.concat_tables([whole.slice(0, at), whole.slice(at)])
        self.tables[table] = whole
        return Plan(self.relation(table, whole), f"select * from {table}", tuple(fields), rows=rows)

    def relation(self, name: str, whole: pa.Table) -> vo.Query:
        """The table in memory, or in a file, on the device that the variable names."""
        if FOLDER is None:
            t = vo.Table(whole)
            return (t if DEVICE is None else t.to(DEVICE)).lazy()
        query = self.scan(name, whole, FOLDER)
        return query if DEVICE is None else query.on(DEVICE)

    def scan(self, name: str, whole: pa.Table, folder: str) -> vo.Query:
        """The table in a file that is written here: Parquet in row groups and pages of a few rows, or Arrow IPC in batches."""
        r = random.Random(f"{self.seed} {name}")
        path = f"{folder}/{name}-{os.getpid()}"
        if r.random() < 0.25:
            with pa.ipc.new_file(path + ".arrow", whole.schema) as f:
                f.write_table(whole, max_chunksize=r.choice([1, 7, 100]))
            return vo.scan_ipc(path + ".arrow")
        dictionary = r.choice([True, False, whole.column_names[:1]])
        pq.write_table(whole, path + ".parquet", row_group_size=r.choice([1, 5, 16, 100]), data_page_size=r.choice([1, 64, 1 << 20]), use_dictionary=dictionary,
                       write_statistics=r.random() < 0.8, write_page_index=r.random() < 0.5, data_page_version=r.choice(["1.0", "2.0"]),
                       compression=r.choice(["none", "snappy", "zstd"]), write_batch_size=r.choice([1, 3, 1024]), store_decimal_as_integer=r.random() < 0.5)  # fmt: skip
        return vo.scan_parquet(path + ".parquet")

    # ---- expressions ----

    def column(self, p: Plan, *kinds: str) -> Field | None:
        some = [f for f in p.fields if not kinds or f.kind in kinds]
        return self.r.choice(some) if some else None

    def literal(self, kind: str) -> Value:
        """A constant, often one that some row has."""
        r = self.r
        return constant(kind, r.choice(self.known[kind]) if self.known[kind] and r.random() < 0.4 else self.datum(kind))

    def few(self, p: Plan) -> Plan:
        """The rows that have one of a few values, which some have."""
        fields = [f for f in p.fields if f.kind not in ("bool", "float") and self.held.get(f.origin)]
        if not fields:
            return self.filter(p)
        f = self.r.choice(fields)
        values = [constant(f.kind, self.r.choice(self.held[f.origin])) for _ in range(self.r.randrange(1, 6))]
        query = p.query.filter(vo.col(f.name).is_in([vo_value(v) for v in values]))
        return replace(p, query=query, sql=f"select * from ({p.sql}) where {f.name} in ({', '.join(v.sql for v in values)})", ordered=False)

    def value(self, p: Plan, kind: str, depth: int = 2) -> Value:
        """A value of a kind: a column, a constant, or something computed."""
        r = self.r
        f = self.column(p, kind)
        if f is None or r.random() < 0.15:
            if kind == "int" and (d := self.column(p, "date", "time")) is not None and r.random() < 0.5:
                part = r.choice(["year", "month", "day"])
                return Value(getattr(vo.col(d.name), part)(), f"{part}({d.name})", kind, 3000)
            return self.literal(kind)
        mine = Value(vo.col(f.name), f.name, kind, f.size)
        if kind == "int" and f.size > EDGE + 1:  # no type holds it and numbers below 0
            return mine
        if f.narrow:
            to, sql = ("int64", "bigint") if kind == "int" else ("float64", "double")
            mine = Value(mine.expr.cast(to), f"cast({f.name} as {sql})", kind, f.size)
        if depth == 0 or r.random() < 0.5:
            return mine
        if kind in ("int", "float", "decimal"):
            other = self.value(p, kind, depth - 1)
            if kind == "int" and other.size > EDGE + 1:
                return mine
            if r.random() < 0.2 and kind != "decimal":
                c = self.condition(p, 1)
                expr = vo.when(c.expr).then(mine.expr).otherwise(other.expr)
                return Value(expr, f"(case when {c.sql} then {mine.sql} else {other.sql} end)", kind, max(mine.size, other.size))
            if r.random() < 0.2:
                return Value(vo.coalesce(mine.expr, other.expr), f"coalesce({mine.sql}, {other.sql})", kind, max(mine.size, other.size))
            if r.random() < 0.4 and mine.size * other.size < 10**5 and kind != "decimal":
                return Value(mine.expr * other.expr, f"({mine.sql} * {other.sql})", kind, mine.size * other.size)
            if mine.size + other.size > (2**62 if kind == "int" else 10**32):  # it would wrap here, and be an error there
                return mine
            if r.random() < 0.5:
                return Value(mine.expr - other.expr, f"({mine.sql} - {other.sql})", kind, mine.size + other.size)
            return Value(mine.expr + other.expr, f"({mine.sql} + {other.sql})", kind, mine.size + other.size)
        if kind == "text" and r.random() < 0.6:
            start, length = r.randrange(1, 4), r.randrange(3)
            return Value(mine.expr.substring(start, length), f"substring({mine.sql}, {start}, {length})", kind)
        return mine

    def condition(self, p: Plan, depth: int = 2) -> Value:
        r = self.r
        if depth > 0 and r.random() < 0.35:
            a, b = self.condition(p, depth - 1), self.condition(p, depth - 1)
            if r.random() < 0.5:
                return Value(a.expr & b.expr, f"({a.sql} and {b.sql})", "bool")
            return Value(a.expr | b.expr, f"({a.sql} or {b.sql})", "bool")
        if depth > 0 and r.random() < 0.15:
            a = self.condition(p, depth - 1)
            return Value(~a.expr, f"(not {a.sql})", "bool")
        kind = r.choice([f.kind for f in p.fields])
        if kind == "bool" and r.random() < 0.6:
            f = self.column(p, "bool")
            assert f is not None
            return Value(vo.col(f.name), f.name, "bool")
        mine = self.value(p, kind, 1)
        how = r.random()
        if how < 0.12:
            return Value(mine.expr.is_null(), f"({mine.sql} is null)", "bool")
        if how < 0.2:
            return Value(mine.expr.is_not_null(), f"({mine.sql} is not null)", "bool")
        if how < 0.35 and kind != "bool":
            values = [self.literal(kind) for _ in range(r.randrange(1, 5))]
            text = " is not null and " if r.random() < 0.3 else None
            expr = mine.expr.is_in([vo_value(v) for v in values])
            if text:  # is_in is never null: so the two agree under a not as well
                return Value(expr, f"({mine.sql} is not null and {mine.sql} in ({', '.join(v.sql for v in values)}))", "bool")
            return Value(expr, f"coalesce({mine.sql} in ({', '.join(v.sql for v in values)}), false)", "bool")
        if how < 0.45 and kind != "bool":
            a, b = self.literal(kind), self.literal(kind)
            between = f"({mine.sql} between {a.sql} and {b.sql})"
            if kind == "float" and self.special:
                between = f"(case when isnan({mine.sql}) then false else {between} end)"
            return Value(mine.expr.is_between(a.expr, b.expr), between, "bool")
        if how < 0.7 and kind == "text":
            pattern = "".join(r.choice("ab%_é") for _ in range(r.randrange(4)))
            if self.known["text"] and r.random() < 0.3:
                known = r.choice(self.known["text"])
                pattern = known[: r.randrange(1, 20)] + r.choice(["", "%"]) + known[-r.randrange(1, 4) :]
            return Value(mine.expr.like(pattern), f"({mine.sql} like {quoted(pattern)})", "bool")
        other = self.value(p, kind, 1)
        op, compare = r.choice([
            ("=", lambda x, y: x == y), ("<>", lambda x, y: x != y), ("<", lambda x, y: x < y), ("<=", lambda x, y: x <= y), (">", lambda x, y: x > y), (">=", lambda x, y: x >= y),
        ])  # fmt: skip
        return Value(compare(mine.expr, other.expr), self.compared(kind, mine.sql, op, other.sql), "bool")

    def compared(self, kind: str, a: str, op: str, b: str) -> str:
        """A comparison for DuckDB, whose NaN equals itself and is greater than all others: here, as IEEE 754 has it, no comparison with it is true but <>."""
        if kind != "float" or not self.special:
            return f"({a} {op} {b})"
        return f"(case when {a} is null or {b} is null then null when isnan({a}) or isnan({b}) then {str(op == '<>').lower()} else {a} {op} {b} end)"

    def said(self, e: vo.Expr) -> vo.Expr | str:
        """The expression, or its text, which is parsed again."""
        return str(e) if self.r.random() < 0.4 else e

    # ---- steps ----

    def filter(self, p: Plan) -> Plan:
        c = self.condition(p)
        return replace(p, query=p.query.filter(self.said(c.expr)), sql=f"select * from ({p.sql}) where {c.sql}", ordered=False)

    def project(self, p: Plan) -> Plan:
        r = self.r
        kept = [f for f in p.fields if r.random() < 0.6]
        items: list[Any] = [f.name for f in kept]
        sql, fields = [f.name for f in kept], list(kept)
        for _ in range(r.randrange(1, 3)):
            v = self.value(p, r.choice([f.kind for f in p.fields])) if r.random() < 0.8 else self.condition(p)
            f = Field(self.name(), v.kind, v.size)
            items.append(v.expr.alias(f.name))
            sql.append(f"{v.sql} as {f.name}")
            fields.append(f)
        return Plan(p.query.select(*items), f"select {', '.join(sql)} from ({p.sql})", tuple(fields), rows=p.rows)

    def join(self, p: Plan) -> Plan:
        r = self.r
        b = self.renamed(r.choice(self.bases))
        if (how := r.random()) < 0.4:  # few rows of the right side, as a left one may be told
            b = self.few(b) if how < 0.3 else self.filter(b)
        elif how < 0.65:
            b = exact(self.step(b, join=False))
        pairs = [(x, y) for x in p.fields for y in b.fields if x.kind == y.kind and x.kind not in ("bool",)]
        if (some := [(x, y) for x, y in pairs if x.origin and x.origin == y.origin]) and (how < 0.4 or r.random() < 0.5):  # many rows match
            pairs = some
        if not pairs or p.rows * b.rows < 200 and r.random() < 0.15:
            if p.rows * max(b.rows, 1) > 2000:
                return p
            return Plan(p.query.join(b.query, how="cross"), f"select * from ({p.sql}) cross join ({b.sql})", p.fields + b.fields, rows=p.rows * b.rows)
        keys = r.sample(pairs, min(len(pairs), r.choice([1, 1, 1, 2])))
        kind = r.choice(["inner", "semi"] if how < 0.25 else ["inner", "left", "right", "full", "semi", "anti"])
        equal, null = ("is not distinct from", True) if r.random() < 0.15 else ("=", False)
        on = " and ".join(f"{x.name} {equal} {y.name}" for x, y in keys)
        more: dict[str, Any] = {}
        if kind in ("inner", "left", "semi", "anti") and r.random() < 0.5:
            c = self.condition(Plan(p.query, "", p.fields + b.fields))
            on += f" and {c.sql}"
            more["where"] = self.said(c.expr)
        if r.random() < 0.2:
            more["maintain_order"] = False
        query = p.query.join(b.query, left_on=[x.name for x, _ in keys], right_on=[y.name for _, y in keys], how=kind, nulls_equal=null, **more)
        if kind in ("semi", "anti"):
            exists = "exists" if kind == "semi" else "not exists"
            return Plan(query, f"select * from ({p.sql}) where {exists} (select 1 from ({b.sql}) where {on})", p.fields, rows=p.rows)
        return Plan(query, f"select * from ({p.sql}) {kind} join ({b.sql}) on {on}", p.fields + b.fields, rows=p.rows * 4)

    def renamed(self, p: Plan) -> Plan:
        names = {f.name: self.name() for f in p.fields}
        fields = tuple(replace(f, name=names[f.name]) for f in p.fields)
        return Plan(p.query.rename(names), f"select {', '.join(f'{a} as {b}' for a, b in names.items())} from ({p.sql})", fields, rows=p.rows)

    def group(self, p: Plan) -> Plan:
        r = self.r
        keys = r.sample(p.fields, min(len(p.fields), r.choice([0, 1, 1, 1, 2, 3])))
        aggregates: list[vo.Agg] = []
        sql, fields = [f.name for f in keys], list(keys)
        for _ in range(r.randrange(1, 4)):
            f = r.choice(p.fields)
            numbers: list[tuple[Callable[[vo.Expr], vo.Agg], str, str, int]] = [
                (lambda e: e.sum(), "sum({})", f.kind, f.size * 40_000), (lambda e: e.mean(), "avg({})", "approx", 1),
            ]  # fmt: skip
            if f.size < 10**8:
                numbers.append((lambda e: e.var(), "var_samp({})", "approx", 1))
            least, most = "min({})", "max({})"
            if f.kind == "float" and self.special:  # a NaN gives way to any other value
                least, most = (f"coalesce({of}({{0}}) filter (where not isnan({{0}})), {of}({{0}}))" for of in ("min", "max"))
            others: list[tuple[Callable[[vo.Expr], vo.Agg], str, str, int]] = [
                (lambda e: e.count(), "count({})", "int", 10**5), (lambda e: e.n_unique(), "count(distinct {})", "int", 10**5),
            ]  # fmt: skip
            if f.kind != "bool":
                others += [(lambda e: e.min(), least, f.kind, f.size), (lambda e: e.max(), most, f.kind, f.size)]
            if f.kind in ("int", "float", "decimal") and f.size * 40_000 < (10**35 if f.kind == "decimal" else 2**62):
                others += numbers
            if f.kind == "bool":
                others += [(lambda e: e.any(), "bool_or({})", "bool", 1), (lambda e: e.all(), "bool_and({})", "bool", 1)]
            make, text, kind, size = r.choice(others)
            same = text in (least, most)
            made = Field(self.name(), kind, size, f.narrow and same, f.origin if same else "")
            aggregates.append(make(vo.col(f.name)).alias(made.name))
            sql.append(f"{text.format(f.name)} as {made.name}")
            fields.append(made)
        aggregates.append(vo.count().alias(n := self.name()))
        sql.append(f"count(*) as {n}")
        fields.append(Field(n, "int", 10**5))
        by = f" group by {', '.join(f.name for f in keys)}" if keys else ""
        query = p.query.group_by(*[f.name for f in keys], maintain_order=r.random() < 0.7).agg(*aggregates) if keys else p.query.agg(*aggregates)
        return Plan(query, f"select {', '.join(sql)} from ({p.sql}){by}", tuple(fields), rows=p.rows)

    def distinct(self, p: Plan) -> Plan:
        return replace(p, query=p.query.unique(), sql=f"select distinct * from ({p.sql})", ordered=False)

    def sort(self, p: Plan) -> Plan:
        """A total order, by all columns: without it a limit could keep others of equal rows. What was computed in floats orders nothing."""
        r = self.r
        by = [f for f in r.sample(p.fields, len(p.fields)) if f.kind != "approx"]
        if len(by) < len(p.fields) or not by:
            return p
        down, first = [r.random() < 0.5 for _ in by], r.random() < 0.3
        order = ", ".join(self.ordered(f, d, first) for f, d in zip(by, down, strict=True))
        q, sql = p.query.sort(*[f.name for f in by], descending=down, nulls_last=not first), f"select * from ({p.sql}) order by {order}"
        if r.random() < 0.6:
            n, offset = r.choice([0, 5, 30, 30, 30, 100]), r.choice([0, 0, 0, 3])
            q, sql = q.slice(offset, n), f"{sql} limit {n} offset {offset}"
        return replace(p, query=q, sql=sql, ordered=True)

    def ordered(self, f: Field, down: bool, first: bool) -> str:
        """A key of a sort for DuckDB: NaNs stand between numbers and nulls, whichever way the numbers go."""
        nan = f"isnan({f.name}) {'desc' if first else 'asc'} nulls {'first' if first else 'last'}, " if f.kind == "float" and self.special else ""
        return f"{nan}{f.name} {'desc' if down else 'asc'} nulls {'first' if first else 'last'}"

    def union(self, p: Plan) -> Plan:
        other = self.filter(p)
        return replace(p, query=p.query.union(other.query), sql=f"({p.sql}) union all ({other.sql})", ordered=False)

    def scalar(self, p: Plan) -> Plan:
        b = self.group(self.renamed(self.r.choice(self.bases)))
        f = self.r.choice([f for f in b.fields])
        if f.kind == "approx":
            return p
        one, sql = self.sorted_first(b, f)
        new = replace(f, name=self.name())
        return Plan(p.query.with_scalar(**{new.name: one}), f"select *, ({sql}) as {new.name} from ({p.sql})", (*p.fields, new), rows=p.rows)

    def sorted_first(self, p: Plan, f: Field) -> tuple[vo.Query, str]:
        return p.query.select(f.name).sort(f.name).head(1), f"select {f.name} from ({p.sql}) order by {f.name} nulls last limit 1"

    def step(self, p: Plan, join: bool = True) -> Plan:
        steps = [self.filter, self.filter, self.project, self.group, self.distinct, self.sort, self.union, self.scalar]
        if join:
            steps += [self.join] * 4
        return self.r.choice(steps)(p)

    def plan(self) -> Plan:
        p = self.r.choice(self.bases)
        joins = 0
        for _ in range(self.r.randrange(1, 7)):
            usable = exact(p)
            p = self.step(usable, join=joins < 3 and usable.rows < 3000)
            joins += p.rows > usable.rows
        return p


def exact(p: Plan) -> Plan:
    """The plan without what was computed in floats: that is shown, and nothing is made of it, since the last bits differ."""
    fields = tuple(f for f in p.fields if f.kind != "approx")
    if len(fields) == len(p.fields):
        return p
    names = [f.name for f in fields]
    return Plan(p.query.select(*names), f"select {', '.join(names)} from ({p.sql})", fields, rows=p.rows)


def vo_value(v: Value) -> Any:
    """The constant of a literal, as is_in takes it."""
    return vo.Table({"one": [1]}).select(v=v.expr)["v"].to_pylist()[0]


def constant(kind: str, v: Any) -> Value:
    """A value as a constant on both sides."""
    if kind == "int":
        return Value(vo.lit(v), str(v) if abs(v) < 2**31 else f"cast('{v}' as {'bigint' if v <= EDGE else 'ubigint'})", kind, max(12, abs(v)))
    if kind == "float":
        return Value(vo.lit(v), f"cast('{v}' as double)", kind, 5)
    if kind == "decimal":
        digits = "9, 2" if abs(v) < 10**6 else "30, 0"
        return Value(vo.lit(v), f"cast({v:f} as decimal({digits}))", kind, int(abs(v)) + 5)
    if kind == "text":
        return Value(vo.lit(v), quoted(v), kind)
    if kind == "date":
        return Value(vo.lit(v), f"date '{v}'", kind)
    if kind == "bool":
        return Value(vo.lit(v), str(v).lower(), kind)
    return Value(vo.lit(v), f"timestamp '{v}'", kind)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*[c.to_pylist() for c in table.columns], strict=True)) if table.num_columns else [()] * table.num_rows


def plain(v: Any) -> Any:
    """A value that sorts beside others of its column, and beside null."""
    if v is None:
        return (1, 0)
    if isinstance(v, float):
        return (0.5, 0) if math.isnan(v) else (0, float(f"{v:.6g}"))
    return (0, v)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if a == b or not (math.isfinite(a) and math.isfinite(b)):
            return a == b or math.isnan(a) and math.isnan(b)
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)
    return bool(a == b)


def check(seed: int, connection: duckdb.DuckDBPyConnection) -> None:
    """Runs the case of a seed on both sides; an AssertionError says how the rows differ."""
    maker = Maker(seed)
    for name, t in maker.tables.items():
        connection.register(name, t)
    p = maker.plan()
    shown = f"seed {seed}\n{p.sql}\n"
    try:
        got = rows_of(pa.table(p.query.collect().to("cpu")))
    except vo.VolleyError as e:
        raise AssertionError(f"{shown}{type(e).__name__}: {e}") from e
    want = [tuple(row) for row in connection.execute(p.sql).fetchall()]
    if not p.ordered:
        order = lambda row: [plain(v) for v in row]  # noqa: E731
        got, want = sorted(got, key=order), sorted(want, key=order)
    wrong = len(got) != len(want) or next((i for i, (a, b) in enumerate(zip(got, want, strict=True)) if not all(map(same, a, b))), None)
    if wrong is not None and wrong is not False:
        at = 0 if wrong is True else wrong
        raise AssertionError(f"{shown}{len(got)} rows and {len(want)}; row {at}:\n{got[at : at + 3]}\n{want[at : at + 3]}\n{p.query.explain()}")


def connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    return connection


def main() -> None:
    first, many = (int(a) for a in (*sys.argv[1:], "0", "500")[:2])
    connection = connect()
    failed = 0
    for seed in range(first, first + many):
        try:
            check(seed, connection)
        except Exception as e:  # the next seeds are run all the same
            failed += 1
            print(f"{type(e).__name__}: {e}\n", flush=True)
    print(f"{many} plans from seed {first}, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
