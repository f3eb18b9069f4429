"""Columns of Python's lists, and what is none."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import volley as vo


class Color(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("items", "dtype", "values"),
    [
        ([Decimal("1.5"), None, Decimal("-20.25"), 3], "decimal(4, 2)", [Decimal("1.50"), None, Decimal("-20.25"), Decimal("3.00")]),
        ([Decimal("1E+3"), Decimal("0.001")], "decimal(7, 3)", [Decimal(1000), Decimal("0.001")]),
        ([Decimal(10**37 - 1)], "decimal(38, 1)", [Decimal(10**37 - 1)]),
        ([dt.time(1, 2, 3, 4), None], "time64[us]", None),
        ([2**63, 1, None], "uint64", None),
        ([2**64 - 1], "uint64", None),
        ([-(2**63), 2**63 - 1], "int64", None),
        ([[1, 2], None, [], [3]], "list", None),
        ([["a", None], ("b",)], "list", [["a", None], ["b"]]),
        ([[[1], [2, 3]], None, [[]]], "list", None),
        ([np.array([1.0, 2.0]), np.array([3.0])], "list", [[1.0, 2.0], [3.0]]),
        ([[Decimal("1.25")], [None]], "list", None),
        ([Color.RED, 2], "int64", [1, 2]),
        ([bytearray(b"x"), memoryview(b"y"), None], "binary", [b"x", b"y", None]),
        ([True, None, False] * 5, "bool", None),
        (range(3), "int64", [0, 1, 2]),
        ([], "float64", None),
    ],
    ids=str,
)
def test_lists(items: Any, dtype: str, values: Any) -> None:
    c = vo.Column(items)
    assert c.dtype == dtype and c.to_pylist() == (list(items) if values is None else values)


@pytest.mark.parametrize(
    ("items", "dtype", "values"),
    [
        ([Decimal("1.25"), 7, "2.5", None], "decimal(5, 2)", [Decimal("1.25"), Decimal(7), Decimal("2.5"), None]),
        ([dt.datetime(2020, 1, 1), None], "timestamp[s]", None),
        ([dt.datetime(2020, 1, 1, 0, 0, 0, 5)], "timestamp[ns]", None),
        ([dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)], "timestamp[ms, tz=UTC]", None),
        ([dt.timedelta(1)], "duration[ms]", None),
        ([dt.time(1)], "time32[s]", None),
        (["a", None], "large_utf8", None),
        ([1, 0, None], "bool", [True, False, None]),
        ([None], "bool", None),
    ],
    ids=str,
)
def test_lists_of_a_type_that_is_given(items: Any, dtype: str, values: Any) -> None:
    c = vo.Column(items, dtype)
    assert c.dtype == dtype and c.to_pylist() == (list(items) if values is None else values)


@pytest.mark.parametrize(
    ("items", "dtype", "error"),
    [
        ([2**64], None, OverflowError), ([-1, 2**63], None, OverflowError), ([300], "int8", OverflowError), ([1.5], "int64", TypeError), (["1"], "int64", TypeError),
        ([5], "binary", TypeError), ([b"x"], "utf8", TypeError), (["False"], "bool", TypeError), ([Decimal("1.255")], "decimal(5, 2)", ValueError),
        ([Decimal(1000)], "decimal(5, 2)", ValueError), ([1.5], "decimal(5, 2)", TypeError), ([Decimal("NaN")], None, ValueError),
        ([Decimal(10**38)], None, OverflowError), ([1.5, Decimal(1)], None, TypeError), ([dt.datetime(2020, 1, 1, 0, 0, 0, 5)], "timestamp[s]", ValueError),
        ([dt.datetime(2020, 1, 1)], "date32", TypeError), ([dt.date(2020, 1, 1)], "timestamp[us]", TypeError), ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)], None, TypeError),
        ([dt.time(1, tzinfo=dt.timezone.utc)], "time64[us]", TypeError), ([{"a": 1}], None, TypeError), ([[1], 2], None, TypeError), ([[1], [2]], "int64", vo.Unsupported),
        ([[1], ["a"]], None, TypeError), ([1], "float16", vo.Unsupported), ([True, 2], None, TypeError),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_column(items: Any, dtype: str | None, error: type[Exception]) -> None:
    with pytest.raises(error, match="^Column: "):
        vo.Column(items, dtype)


def test_scalars_of_a_table() -> None:
    t = vo.Table({"a": [1, 2, 3], "b": 7, "c": "x", "d": None, "e": np.float64(2.5), "f": Decimal("1.5"), "g": dt.date(2020, 1, 1), "h": np.datetime64("2020-01-01")})
    assert t.shape == (3, 8) and t.rows()[2] == (3, 7, "x", None, 2.5, Decimal("1.5"), dt.date(2020, 1, 1), dt.date(2020, 1, 1))
    assert vo.Table({"a": 1, "b": "x"}).to_pydict() == {"a": [1], "b": ["x"]} and vo.Table({"a": [], "b": 1}).shape == (0, 2)
    with pytest.raises(TypeError, match="^Table: .*column 'b'"):
        vo.Table({"a": [1], "b": [object()]})


def test_texts_and_decimals_are_those_of_arrow() -> None:
    """Texts of ASCII and others, decimals of one scale and of many, the least and the greatest, with nulls and without: the bytes that pyarrow makes."""
    import pyarrow as pa

    class Word(str):
        pass

    texts: list[list[Any]] = [["a", "", "bc"], ["a", None, "\x7f"], ["ä", "b"], ["", None, "日本"], [None, ""], [Word("x"), "y"], []]
    for items in texts:
        for dtype in ("utf8", "large_utf8"):
            assert pa.array(vo.Column(items, dtype)).equals(pa.array(items, pa.large_utf8() if dtype == "large_utf8" else pa.utf8()))
    most = Decimal(10**38 - 1)
    decimals: list[list[Any]] = [
        [Decimal("1.5"), Decimal("-2.25"), Decimal("3")], [Decimal("0.001"), None, Decimal("-0")], [Decimal("1E+3"), Decimal("1E-3"), Decimal("12E+1")],
        [Decimal(n).scaleb(-n) for n in range(10)], [Decimal("-0.00"), 7, None, Decimal("12345678901234567890.12")],
    ]  # fmt: skip
    for items in decimals:
        c = vo.Column(items)
        assert c.to_pylist() == items
        assert [None if x is None else Decimal(x) for x in items] == pa.array(c).to_pylist()
    assert vo.Column([most, most.copy_negate()], "decimal(38, 0)").to_pylist() == [most, most.copy_negate()]
    assert vo.Column([Decimal("1.50")], "decimal(5, 1)").to_pylist() == [Decimal("1.5")]
    for wrong in (Decimal("1.25"), Decimal("1E+20"), Decimal("9" * 120), Decimal("1E-200")):
        with pytest.raises(ValueError, match="does not fit"):
            vo.Column([wrong], "decimal(10, 1)")
    for nothing in (Decimal("NaN"), Decimal("Infinity")):
        with pytest.raises(ValueError, match="no number"):
            vo.Column([Decimal(1), nothing])
    with pytest.raises(UnicodeError):
        vo.Column(["a", "\ud800"])


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize(
    "kind", [lambda i: i - 3, lambda i: i * 0.5, lambda i: f"name {i}", lambda i: "é" * (i % 5), lambda i: (-1) ** i * (2**63 - 1), lambda i: "\0" + "€𝄞"[i % 2]], ids=["ints", "floats", "texts", "letters", "large", "signs"]
)  # fmt: skip
def test_long_lists_are_as_short_ones(kind: Callable[[int], Any], n: int) -> None:
    """Lists of one class that the library reads itself give the columns that the interpreter makes of them."""
    plain = [kind(i) for i in range(n)]
    for values in (plain, [None if i % 7 == 3 else x for i, x in enumerate(plain)], [None] * 70 + plain, [*plain, None]):
        c = vo.Column(values)
        assert c.to_pylist() == values and c.null_count == values.count(None)
        assert c.dtype == vo.Column(plain[:1]).dtype
        assert vo.Table({"x": values}).filter(vo.col("x").is_not_null())["x"].to_pylist() == [x for x in values if x is not None]


@pytest.mark.parametrize("at", [0, 1, 70, 99])
def test_one_other_value_in_a_long_list(at: int) -> None:
    class Own(int):
        pass

    for values, other, made in (
        ([1] * 100, 2.5, "float64"), ([1] * 100, 2**63, "uint64"), ([1.5] * 100, 2, "float64"), ([1] * 100, Own(7), "int64"), ([1.5] * 100, None, "float64"), (["a"] * 100, "ß", "utf8"),
    ):  # fmt: skip
        values[at] = other  # type: ignore[call-overload]
        c = vo.Column(values)
        assert c.dtype == made and c.to_pylist() == values
    for values, other in (([1] * 100, True), ([1] * 100, "a"), (["a"] * 100, 1), (["a"] * 100, b"a"), ([1] * 100, object())):
        values[at] = other  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="^Column: a list of "):
            vo.Column(values)
    surrogate = ["a"] * 100
    surrogate[at] = "\ud800"
    with pytest.raises(UnicodeEncodeError):
        vo.Column(surrogate)
    with pytest.raises(OverflowError, match="^Column: a list of integers from 1 to"):
        vo.Column([1] * 100 + [2**64])
