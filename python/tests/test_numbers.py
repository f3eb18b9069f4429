"""Sums that do not fit, decimals, and columns that change all at once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import volley as vo
from volley import Table, col, lit

BIG = 2**63 - 1


def table(values: list[Any], name: str = "x", dtype: str | None = None) -> Table:
    t = Table({"k": [1] * len(values), name: values})
    return t if dtype is None else t.with_columns(**{name: col(name).cast(dtype)})


@pytest.mark.parametrize(
    "values, dtype",
    [([BIG, 1], None), ([-BIG, -2], None), ([Decimal(9 * 10**36)] * 2, "decimal(38, 1)")],
)
def test_sums_never_wrap(values: list[Any], dtype: str | None) -> None:
    t = table(values, dtype=dtype)
    for q in (
        lambda: t.lazy().agg(total=col("x").sum()),
        lambda: t.lazy().group_by("k").agg(col("x").sum()),
        lambda: t.lazy().group_by("k", maintain_order=False).agg({"x": "sum"}),
    ):
        with pytest.raises(vo.InvalidValue, match=r"sum\(x\).*does not fit"):
            q().collect()


def test_sum_wrapping() -> None:
    t = table([BIG, 1])
    assert t.lazy().group_by("k").agg(col("x").sum_wrapping()).collect().to_pydict() == {"k": [1], "sum_wrapping_x": [-(2**63)]}
    assert t.lazy().group_by("k").agg({"x": "sum_wrapping"}).collect().to_pydict() == {"k": [1], "sum_wrapping_x": [-(2**63)]}


def test_variance_and_means_far_from_zero() -> None:
    t = table([BIG - 4, BIG - 2, BIG])
    got = t.lazy().group_by("k").agg(col("x").var(), col("x").mean(), (col("x") + 0).mean().alias("m")).collect().to_pydict()
    assert got == {"k": [1], "var_x": [4.0], "mean_x": [float(BIG)], "m": [float(BIG)]}
    assert t.lazy().agg(col("x").std()).collect().to_pydict() == {"std_x": [2.0]}


def test_decimals_keep_their_value() -> None:
    t = table([Decimal("100"), None, Decimal("-2.5")], dtype="decimal(38, 18)")
    made = t.with_columns(y=col("x") * 2, z=col("x") + 1).to_pydict()
    assert made["y"] == [Decimal(200), None, Decimal(-5)] and made["z"] == [Decimal(101), None, Decimal("-1.5")]
    t = table([Decimal(10)], dtype="decimal(18, 4)")
    assert t.with_columns(y=col("x") * 2 / 3).to_pydict()["y"] == [20 / 3]
    t = table([Decimal(9 * 10**36)], dtype="decimal(38, 1)")
    with pytest.raises(vo.VolleyError, match=r"x \* 2.*overflows"):
        t.with_columns(y=col("x") * 2).to_pydict()


def test_membership_of_decimals_and_nulls() -> None:
    t = table([Decimal("1.50"), Decimal("2.25"), None], dtype="decimal(10, 2)")
    for values in ([Decimal("1.5")], [Decimal("1.500")], [1.5], [Decimal("1.5"), Decimal("7.123")]):
        assert t.with_columns(y=col("x").is_in(values)).to_pydict()["y"] == [True, False, False]
    assert t.with_columns(y=~col("x").is_in([Decimal("1.5"), None])).to_pydict()["y"] == [False, True, False]
    assert t.filter("x not in (1.5)").to_pydict()["x"] == [Decimal("2.25")]
    assert len(t.filter("x not in (1.5, null)")) == 0
    assert t.filter("x in (1.5, null)").to_pydict()["x"] == [Decimal("1.50")]


def test_all_at_once() -> None:
    t = Table({"a": [1], "b": [2], "c": [3]})
    assert t.with_columns(a=col("b"), b=col("a")).to_pydict() == {"a": [2], "b": [1], "c": [3]}
    assert t.with_columns(col("a").alias("d"), a=col("a") + 1).to_pydict() == {"a": [2], "b": [2], "c": [3], "d": [1]}
    assert t.assign(a=col("b"), b=col("a")).to_pydict() == {"a": [2], "b": [1], "c": [3]}
    assert t.rename({"a": "b", "b": "a"}).to_pydict() == {"b": [1], "a": [2], "c": [3]}
    assert t.rename({"a": "b", "b": "c", "c": "a"}).columns == ["b", "c", "a"]
    assert t.rename({}).columns == ["a", "b", "c"] and t.with_columns().columns == ["a", "b", "c"]
    assert t.with_columns(lit("foo as bar")).columns[-1] == "'foo as bar'"
    for bad in (lambda: t.rename({"a": "b"}), lambda: t.with_columns(col("b").alias("z"), z=col("a")), lambda: t.rename({"nix": "x"})):
        with pytest.raises(vo.VolleyError, match=r'"b"|"z" is given twice|"nix"'):
            bad()


def test_unsigned_beside_signed() -> None:
    t = Table({"i": [-1, 5]}).with_columns(u=lit(2**64 - 1))
    assert t.with_columns(y=col("u") > col("i")).to_pydict()["y"] == [True, True]
    right = Table({"i": [1, 5]}).with_columns(i=lit(2**64 - 1))
    assert len(t.select("i").join(right, on="i")) == 0
