"""Long lists for is_in: what is found is what Python's in finds, whatever the lists are made of."""

from __future__ import annotations

import array
import datetime as dt
import random
from typing import Any

import pytest

import volley as vo
from volley import col
from volley._members import SHORT


def found(values: list[Any], wanted: Any) -> list[bool]:
    return vo.Table({"v": vo.Column(values)}).select(col("v").is_in(wanted).alias("in"))["in"].to_pylist()


MAKERS = {
    "int": lambda n: n * 1_000_003,
    "negative": lambda n: n - 1000,
    "float": lambda n: n / 8,
    "text": lambda n: f"key {n}",
    "date": lambda n: dt.date(2000, 1, 1) + dt.timedelta(days=n),
    "datetime": lambda n: dt.datetime(2000, 1, 1) + dt.timedelta(seconds=n, microseconds=n),
    "aware": lambda n: dt.datetime(2000, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(seconds=n),
    "timedelta": lambda n: dt.timedelta(microseconds=n),
    "time": lambda n: dt.time(n % 24, n % 60, n % 60, n),
    "bool": lambda n: n % 2 == 0,
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("length", [1, SHORT - 1, SHORT, 500])
@pytest.mark.parametrize("null", [False, True])
def test_long_lists(kind: str, length: int, null: bool) -> None:
    rng, of = random.Random(7), MAKERS[kind]
    values = [of(rng.randrange(700)) for _ in range(400)] + [None]
    wanted = [of(rng.randrange(2000)) for _ in range(length)] + [None] * null
    assert found(values, wanted) == [v in wanted for v in values]
    assert found(values, tuple(wanted)) == found(values, iter(wanted)) == [v in wanted for v in values]


def test_mixed_classes() -> None:
    wanted = [*range(100), *(n + 0.5 for n in range(50)), 2**63, 2**64 - 1, 7.0, None]
    assert found([5, 7, 100, -1, None], wanted) == [True, True, False, False, True]
    assert found([5.0, 7.5, 49.5, 50.5, float("nan")], wanted) == [True, True, True, False, False]
    assert found([5.0, 7.5, float("nan")], [*wanted, float("nan")]) == [True, True, True]


def test_great_integers() -> None:
    values = vo.Column(array.array("Q", [1, 2**63, 2**64 - 1]))
    wanted = [2**64 - 1, -5, *range(100)]
    assert vo.Table({"v": values}).select(col("v").is_in(wanted).alias("in"))["in"].to_pylist() == [True, False, True]
    with pytest.raises(OverflowError):
        col("v").is_in([2**64, *range(100)])


def test_arrays_and_columns() -> None:
    wanted = list(range(0, 1000, 3))
    values = list(range(200))
    expected = [v in wanted for v in values]
    assert found(values, vo.Column(wanted)) == expected
    assert found(values, vo.Column([*wanted, None])) == expected
    assert found(values, array.array("q", wanted)) == expected
    assert found(values, vo.Column([], "int64")) == [False] * 200
    np = pytest.importorskip("numpy")
    assert found(values, np.array([], "int64")) == [False] * 200
    for dtype in ("int16", "int64", "uint32", "float32", "float64"):
        assert found(values, np.array(wanted, dtype)) == expected, dtype
        assert found(values, list(np.array(wanted, dtype))) == expected, dtype
    assert found(values, np.array(wanted[:3])) == [v in wanted[:3] for v in values]


def test_what_no_list_is_made_of() -> None:
    with pytest.raises(TypeError):
        col("v").is_in([object()] * 100)
    with pytest.raises(vo.VolleyError):
        vo.Table({"v": ["a"]}).filter(col("v").is_in(list(range(100))))


def test_text_of_the_expression() -> None:
    assert str(col("v").is_in(list(range(SHORT)))) == f"is_in(v, {', '.join(map(str, range(SHORT)))})"
    assert str(col("v").is_in([1, 2])) == "is_in(v, 1, 2)"
