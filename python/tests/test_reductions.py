"""Reductions of a column, against Python's and NumPy's of the same values."""

import datetime as dt
import math
import statistics
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import volley as vo

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]


def columns(values: list[Any], dtype: Any) -> list[vo.Column]:
    """The values as a column: whole, a slice of a larger one, in several chunks of a table."""
    array = pa.array(values, dtype)
    larger = pa.concat_arrays([array.slice(0, min(3, len(array))), array, array.slice(0, min(2, len(array)))])
    chunks = pa.chunked_array([array.slice(0, len(array) // 2), array.slice(len(array) // 2)], dtype)
    return [vo.Column(array), vo.Column(larger).slice(min(3, len(array)), len(array)), vo.Table(pa.table({"x": chunks}))["x"]]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("nulls", [0, 3, 1])
def test_reductions_of_numbers(dtype: str, nulls: int) -> None:
    """nulls: none, every third, all but the first."""
    plain = [(i * 7 + 3) % 11 for i in range(100)]
    values = [None if nulls and i % 101 and (nulls == 1 or i % nulls == 0) else x for i, x in enumerate(plain)]
    there = [x for x in values if x is not None]
    kind = float if dtype in FLOATS else int
    for c in columns(values, pa.type_for_alias(dtype)):
        assert c.sum() == sum(there) and type(c.sum()) is kind
        assert c.min() == min(there) and c.max() == max(there)
        assert type(c.mean()) is float and math.isclose(c.mean(), statistics.fmean(there))
        assert c.count() == len(there) and c.n_unique() == len(set(there))
        assert c.var(0) == pytest.approx(statistics.pvariance(there)) and c.std(ddof=0) == pytest.approx(statistics.pstdev(there))
        if len(there) > 1:
            assert c.var() == pytest.approx(statistics.variance(there)) and c.std() == pytest.approx(statistics.stdev(there))
        else:
            assert c.var() is None and c.std() is None
        if nulls == 1:
            assert c.product() == there[0]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + ["utf8", "date32", "bool", "duration[us]"])
@pytest.mark.parametrize("rows", [0, 1, 70])
def test_reductions_of_nothing(dtype: str, rows: int) -> None:
    """Without a value that is not null they are None, as the aggregates of a table are; counts are 0."""
    c = vo.Column([None] * rows, dtype)
    assert c.min() is None and c.max() is None and c.count() == 0 and c.n_unique() == 0
    if dtype in INTEGERS + FLOATS:
        assert c.sum() is None and c.mean() is None and c.var() is None and c.std(0) is None and c.product() is None
    if dtype == "bool":
        assert c.any() is False and c.all() is True and c.sum() is None


@pytest.mark.parametrize(("values", "some", "every"), [
    ([True, False], True, False), ([True, True], True, True), ([False], False, False), ([None, True], True, True), ([None, False], False, False), ([True, None, False], True, False),
])  # fmt: skip
def test_bools(values: list[Any], some: bool, every: bool) -> None:
    for c in columns(values, pa.bool_()):
        assert c.any() is some and c.all() is every and c.sum() == values.count(True) and c.mean() == values.count(True) / (len(values) - values.count(None))


def test_other_types() -> None:
    decimals = vo.Column([Decimal("1.50"), None, Decimal("-2.25")])
    assert decimals.sum() == Decimal("-0.75") and decimals.min() == Decimal("-2.25") and decimals.max() == Decimal("1.5") and decimals.n_unique() == 2
    days = vo.Column([dt.date(2020, 1, 2), None, dt.date(2019, 5, 1)])
    assert days.min() == dt.date(2019, 5, 1) and days.max() == dt.date(2020, 1, 2)
    assert vo.Column([dt.timedelta(1), dt.timedelta(2)]).sum() == dt.timedelta(3)
    texts = vo.Column(["b", "ä", None, "b"])
    assert texts.min() == "b" and texts.max() == "ä" and texts.count() == 3 and texts.n_unique() == 2
    dictionary = vo.Column(pa.array(["b", "a", None, "b"]).dictionary_encode())
    assert dictionary.n_unique() == 2 and dictionary.count() == 3 and dictionary.min() == "a"


def test_floats_that_are_no_numbers() -> None:
    c = vo.Column([1.5, float("nan"), None, -0.0, 0.0])
    assert math.isnan(c.sum()) and math.isnan(c.mean()) and math.isnan(c.std()) and c.min() == 0 and c.max() == 1.5 and c.n_unique() == 3
    assert math.isnan(vo.Column([float("nan")]).max())
    assert vo.Column([math.inf, 1.0]).sum() == math.inf


def test_what_does_not_fit_or_has_no_meaning() -> None:
    with pytest.raises(vo.InvalidValue, match=r"^Column\.sum"):
        vo.Column([2**62, 2**62]).sum()
    with pytest.raises(vo.InvalidValue, match=r"^Column\.product"):
        vo.Column([2**40, 2**40]).product()
    for name in ("sum", "mean", "std", "var", "product"):
        with pytest.raises(vo.Unsupported, match=rf"^Column\.{name}: .*{name} of utf8"):
            getattr(vo.Column(["a"]), name)()
    for name in ("any", "all"):
        with pytest.raises(vo.Unsupported, match=rf"^Column\.{name}: .*it takes bool"):
            getattr(vo.Column([1]), name)()


def test_the_same_as_of_a_table() -> None:
    x = np.random.default_rng(3).normal(size=10_000)
    t = vo.Table({"x": x})
    assert t["x"].sum() == t.agg(s=vo.col("x").sum()).rows()[0][0] and t["x"].sum() == pytest.approx(math.fsum(x))
    assert t["x"].std() == pytest.approx(x.std(ddof=1)) and t["x"].mean() == pytest.approx(x.mean())
