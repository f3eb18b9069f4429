"""Expressions over columns: ``col("delay") > 15`` and the like, by Python's operators."""

from __future__ import annotations

import datetime as _dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, SupportsIndex

from . import _times
from ._calls import public, say, shown
from ._library import Handle, encode, handles, make, take_text
from ._members import listed, members

_INT64 = range(-(2**63), 2**63)
_TYPES = {bool: "bool", int: "int64", float: "float64", str: "utf8", _dt.date: "date32", _dt.datetime: "timestamp[us]"}


class Expr(Handle):
    """An expression. Nulls in give nulls out, and ``&``, ``|`` and ``~`` are Kleene's.

    >>> str((col("a") + 1) * 2 > col("b"))
    '(a + 1) * 2 > b'
    """

    __slots__ = ()
    _free = "volley_expr_free"
    __array_ufunc__ = None  # NumPy leaves its operators to those here
    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A pickle carries the text, which reads back as an equal expression."""
        return sql, (str(self),)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value: use & | ~ in place of and, or, not, and is_between in place of a < b < c")

    def __repr__(self) -> str:
        return f"<Expr {self}>"

    def __str__(self) -> str:
        return take_text("volley_expr_format", self)

    def _with(self, op: str, *others: Any) -> Expr:
        return function(op, self, *others)

    def __add__(self, o: Any) -> Expr:
        return self._with("add", o)

    def __radd__(self, o: Any) -> Expr:
        return function("add", o, self)

    def __sub__(self, o: Any) -> Expr:
        return self._with("sub", o)

    def __rsub__(self, o: Any) -> Expr:
        return function("sub", o, self)

    def __mul__(self, o: Any) -> Expr:
        return self._with("mul", o)

    def __rmul__(self, o: Any) -> Expr:
        return function("mul", o, self)

    def __truediv__(self, o: Any) -> Expr:
        """Divides as float64, as Python's ``/`` does; ``div`` divides integers and drops the rest."""
        return self.cast("float64")._with("div", o)

    def __rtruediv__(self, o: Any) -> Expr:
        return lit(o) / self

    def __mod__(self, o: Any) -> Expr:
        """The rest of a division with the sign of the dividend, as in SQL."""
        return self._with("mod", o)

    def __rmod__(self, o: Any) -> Expr:
        return function("mod", o, self)

    def __neg__(self) -> Expr:
        return self._with("neg")

    def __abs__(self) -> Expr:
        return self._with("abs")

    def __eq__(self, o: object) -> Expr:  # type: ignore[override]
        return self._with("eq", o)

    def __ne__(self, o: object) -> Expr:  # type: ignore[override]
        return self._with("ne", o)

    def __lt__(self, o: Any) -> Expr:
        return self._with("lt", o)

    def __le__(self, o: Any) -> Expr:
        return self._with("le", o)

    def __gt__(self, o: Any) -> Expr:
        return self._with("gt", o)

    def __ge__(self, o: Any) -> Expr:
        return self._with("ge", o)

    def __and__(self, o: Any) -> Expr:
        return self._with("and", o)

    def __rand__(self, o: Any) -> Expr:
        return function("and", o, self)

    def __or__(self, o: Any) -> Expr:
        return self._with("or", o)

    def __ror__(self, o: Any) -> Expr:
        return function("or", o, self)

    def __xor__(self, o: Any) -> Expr:
        return self._with("xor", o)

    def __rxor__(self, o: Any) -> Expr:
        return function("xor", o, self)

    def __invert__(self) -> Expr:
        return self._with("not")

    def div(self, o: Any) -> Expr:
        """Divides in the operands' type; integers are truncated towards zero."""
        return self._with("div", o)

    def abs(self) -> Expr:
        """The absolute value."""
        return self._with("abs")

    def sign(self) -> Expr:
        """-1, 0 or 1."""
        return self._with("sign")

    def sqrt(self) -> Expr:
        """The square root."""
        return self._with("sqrt")

    def exp(self) -> Expr:
        """e to that power."""
        return self._with("exp")

    def log(self) -> Expr:
        """The natural logarithm."""
        return self._with("ln")

    def floor(self) -> Expr:
        """Rounds down."""
        return self._with("floor")

    def ceil(self) -> Expr:
        """Rounds up."""
        return self._with("ceil")

    def trunc(self) -> Expr:
        """Rounds towards zero."""
        return self._with("trunc")

    def round(self) -> Expr:
        """Rounds to the nearest whole number, halves away from zero."""
        return self._with("round")

    def is_null(self) -> Expr:
        """Whether it is null; never null itself."""
        return self._with("is_null")

    def is_not_null(self) -> Expr:
        """Whether it is not null; never null itself."""
        return self._with("is_not_null")

    def is_nan(self) -> Expr:
        """Whether it is a NaN; never null itself."""
        return self._with("is_nan")

    def fill_null(self, value: Any) -> Expr:
        """The value in place of nulls."""
        return self._with("fill_null", value)

    def is_between(self, lower: Any, upper: Any) -> Expr:
        """Whether lower <= it <= upper."""
        return self._with("between", lower, upper)

    def is_in(self, values: Any) -> Expr:
        """Whether it equals one of the values; a null only where None is among them."""
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(say(f"a list of values is wanted, not {shown(values)}", values))
        given = listed(values)
        lists = members(given)
        if lists is not None:
            return Expr(make("volley_expr_in", self, handles(lists), len(lists)))
        return self._with("in", *given) if len(given) else self.is_null()._with("and", False)  # false also of nulls

    def contains(self, pattern: str) -> Expr:
        """Whether a text has the pattern in it, as it is: no letter of it means something else."""
        return self._with("contains", pattern)

    def starts_with(self, pattern: str) -> Expr:
        """Whether a text begins with the pattern."""
        return self._with("starts_with", pattern)

    def ends_with(self, pattern: str) -> Expr:
        """Whether a text ends with the pattern."""
        return self._with("ends_with", pattern)

    def like(self, pattern: str, escape: str | None = None) -> Expr:
        """Whether the whole text is as SQL's pattern says: ``%`` stands for any number of letters, also for none, ``_`` for one. The
        letter behind an escape stands for itself; without an escape there is none. Letters are Unicode code points, case matters."""
        return self._with("like", pattern) if escape is None else self._with("like", pattern, escape)

    def not_like(self, pattern: str, escape: str | None = None) -> Expr:
        """Whether the whole text is not as SQL's pattern says, as ``like`` takes it; null of null."""
        return ~self.like(pattern, escape)

    def substring(self, start: int, length: int | None = None) -> Expr:
        """The letters of a text from number start on, the first being 1: so many of them, or all. Letters are Unicode code points."""
        return self._with("substring", start) if length is None else self._with("substring", start, length)

    def cast(self, dtype: str | type) -> Expr:
        """Converts to a type, by its name ("int8", "timestamp[us, tz=UTC]", "decimal(10, 2)") or one of Python's."""
        name = dtype if isinstance(dtype, str) else _TYPES.get(dtype) if isinstance(dtype, type) else None
        if name is None:
            raise TypeError(say(f"a type is named, such as \"int8\", or is one of {', '.join(t.__name__ for t in _TYPES)}, not {dtype!r}", dtype))
        return Expr(make("volley_expr_cast", self, encode(name)))

    def alias(self, name: str) -> Expr:
        """Names the result."""
        return Expr(make("volley_expr_alias", self, encode(name)))

    def year(self) -> Expr:
        """The year of a date or timestamp."""
        return self._with("year")

    def month(self) -> Expr:
        """The month, from 1."""
        return self._with("month")

    def day(self) -> Expr:
        """The day of the month, from 1."""
        return self._with("day")

    def hour(self) -> Expr:
        """The hour."""
        return self._with("hour")

    def minute(self) -> Expr:
        """The minute."""
        return self._with("minute")

    def second(self) -> Expr:
        """The second."""
        return self._with("second")

    def weekday(self) -> Expr:
        """The day of the week; Monday is 0."""
        return self._with("day_of_week")

    def ordinal_day(self) -> Expr:
        """The day of the year, from 1."""
        return self._with("day_of_year")

    def sum(self) -> Agg:
        """Adds up: integers as int64 or uint64, decimals with 38 digits, floats as float64. What does not fit is an error."""
        return Agg("sum", self)

    def sum_wrapping(self) -> Agg:
        """Adds up integers and durations modulo 2**64."""
        return Agg("sum_wrapping", self)

    def mean(self) -> Agg:
        """The arithmetic mean; of a bool the share that is true."""
        return Agg("mean", self)

    def min(self) -> Agg:
        """The least value."""
        return Agg("min", self)

    def max(self) -> Agg:
        """The greatest value."""
        return Agg("max", self)

    def count(self) -> Agg:
        """How many values are not null."""
        return Agg("count", self)

    def n_unique(self) -> Agg:
        """How many distinct values there are that are not null."""
        return Agg("count_distinct", self)

    def var(self, ddof: int = 1) -> Agg:
        """The variance, of a sample unless ddof is 0."""
        return Agg("var", self, ddof=ddof)

    def std(self, ddof: int = 1) -> Agg:
        """The standard deviation, of a sample unless ddof is 0."""
        return Agg("std", self, ddof=ddof)

    def first(self) -> Agg:
        """The first value that is not null."""
        return Agg("first", self)

    def last(self) -> Agg:
        """The last value that is not null."""
        return Agg("last", self)

    def any(self) -> Agg:
        """Whether a bool is true in some row."""
        return Agg("any", self)

    def all(self) -> Agg:
        """Whether a bool is true in every row."""
        return Agg("all", self)

    def product(self) -> Agg:
        """Multiplies, with the types of ``sum``; what does not fit is an error."""
        return Agg("product", self)


@public
class Agg:
    """One aggregation of groups: an operation over an expression, with a name for its result."""

    __slots__ = ("ddof", "input", "name", "op")

    def __init__(self, op: str, of: Expr | None, name: str | None = None, ddof: int = 0) -> None:
        self.op, self.input, self.name, self.ddof = op, of, name, ddof

    def alias(self, name: str) -> Agg:
        """Names the result; without a name it is that of the operation and the column, ``mean_delay``."""
        return Agg(self.op, self.input, name, self.ddof)

    def __repr__(self) -> str:
        return f"<Agg {self.op} of {self.input if self.input is not None else 'rows'}>"


class When(Expr):
    """A condition with its value: go on with ``otherwise`` or another ``when``. Without them rows are null where no condition is true."""

    __slots__ = ("_parts",)

    def __init__(self, parts: list[Any]) -> None:
        case = function("case", *parts, None)
        super().__init__(case._handle)
        case._value = None
        self._parts = parts

    def when(self, condition: Any) -> Then:
        """Another condition, tried after those before it."""
        return Then([*self._parts, condition])

    def otherwise(self, value: Any) -> Expr:
        """The value of rows where no condition is true."""
        return function("case", *self._parts, value)


@public
class Then:
    """A condition that wants its value."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def then(self, value: Any) -> When:
        """The value where the condition is true."""
        return When([*self._parts, value])


def when(condition: Any) -> Then:
    """``when(c).then(a).otherwise(b)``: a where c is true, else b."""
    return Then([condition])


def col(name: str) -> Expr:
    """The column of that name."""
    return Expr(make("volley_expr_column", encode(name)))


def sql(text: str) -> Expr:
    """An expression as SQL writes it: ``sql("delay > 15 and state = 'WY'")``."""
    return Expr(make("volley_expr_parse", encode(text)))


def count() -> Agg:
    """How many rows a group has."""
    return Agg("count", None)


def coalesce(*values: Any) -> Expr:
    """The first of the values that is not null."""
    return function("coalesce", *values)


def function(op: str, *args: Any) -> Expr:
    """The operation of that name, as the C interface lists them."""
    given = [lit(a) for a in args]
    return Expr(make("volley_expr_call", encode(op), handles(given), len(given)))


def lit(value: Any) -> Expr:
    """A constant: None, a bool, int, float, str, date, time, datetime, timedelta or Decimal, or a scalar of NumPy's or pandas' of such; NaT is null."""
    if isinstance(value, Expr):
        return value
    if value is None:
        return Expr(make("volley_expr_null"))
    if (found := _times.literal(value)) is not None:
        text, kind = found
        if not kind:
            return Expr(make("volley_expr_null"))
        return lit(int(text) if kind.startswith("duration") else text).cast(kind)
    if isinstance(value, bool):
        return Expr(make("volley_expr_bool", int(value)))
    if isinstance(value, int):
        if value in _INT64:
            return Expr(make("volley_expr_int64", value))
        if 0 <= value < 2**64:
            return Expr(make("volley_expr_uint64", value))
        raise OverflowError(say(f"{value} is no integer of 64 bits", value))
    if isinstance(value, float):
        return Expr(make("volley_expr_float64", value))
    if isinstance(value, str):
        return Expr(make("volley_expr_text", encode(value)))
    if isinstance(value, _dt.datetime):
        if value.tzinfo is not None:
            return lit(value.astimezone(_dt.timezone.utc).replace(tzinfo=None).isoformat(" ") + "Z").cast("timestamp[us, tz=UTC]")
        return lit(value.isoformat(" ")).cast("timestamp[us]")
    if isinstance(value, _dt.date):
        return lit(value.isoformat()).cast("date32")
    if isinstance(value, _dt.time):
        if value.tzinfo is not None:
            raise TypeError(say(f"{value!r} has a time zone, which a time of day is without", value))
        return lit(value.isoformat()).cast("time64[us]")
    if isinstance(value, _dt.timedelta):
        return lit(value // _dt.timedelta(microseconds=1)).cast("duration[us]")
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise ValueError(say(f"{value} is no decimal number", value))
        scale = max(0, -exponent)
        return lit(format(value, "f")).cast(f"decimal({max(len(digits), scale, 1) + max(0, exponent)}, {scale})")
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return lit(value.item())
    if isinstance(value, Then):
        raise TypeError(say("a condition without a value: go on with .then(value)", value))
    if isinstance(value, Agg):
        raise TypeError(say(f"{value!r} is an aggregate, for agg and select: an expression is of each row", value))
    if hasattr(value, "shape") or isinstance(value, (list, tuple, range)) or hasattr(value, "__arrow_c_array__"):
        raise TypeError(say(f"{shown(value)} is no constant: an expression takes one value for all rows, or a column of the table by its name", value))
    raise TypeError(say(f"{shown(value)} is no constant that an expression takes", value))
