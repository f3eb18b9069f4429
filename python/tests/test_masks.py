"""Masks: what says of each row whether it stays, in every form that Python's arrays have, and what is no mask."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import volley as vo
from volley import col

FLAGS = [True, False, False, True, True, False, True]
T: vo.Table
CHUNKED: vo.Table
KEPT = {"a": [1, 4, 5, 7], "b": ["p", "s", "t", "v"]}



@pytest.fixture(scope="module", autouse=True)
def _tables() -> None:
    """The tables, made as late as the tests run: frameworks of other tests are imported before the library is loaded."""
    global T, CHUNKED
    T = vo.Table({"a": [1, 2, 3, 4, 5, 6, 7], "b": ["p", "q", None, "s", "t", "u", "v"]})
    CHUNKED = vo.concat([T.slice(0, 3), T.slice(3, 1), T.slice(4)])


FORMS: dict[str, Callable[[], Any]] = {
    "NumPy": lambda: np.array(FLAGS), "a strided array": lambda: np.repeat(np.array(FLAGS), 2)[::2], "read-only": lambda: np.frombuffer(bytes(FLAGS), bool),
    "a list": lambda: FLAGS, "NumPy's bools": lambda: [np.bool_(f) for f in FLAGS], "objects": lambda: np.array(FLAGS, object), "a tuple": lambda: tuple(FLAGS),
    "an iterator": lambda: iter(FLAGS), "a Column": lambda: vo.Column(FLAGS), "a slice of a Column": lambda: vo.Column([False, *FLAGS]).slice(1),
    "pandas": lambda: pd.Series(FLAGS), "pandas' Index": lambda: pd.Index(FLAGS), "pandas' own bools": lambda: pd.Series(FLAGS, dtype="boolean"),
    "pyarrow": lambda: pa.array(FLAGS), "pyarrow's chunks": lambda: pa.chunked_array([FLAGS[:2], FLAGS[2:]]), "Polars": lambda: pl.Series(FLAGS),
}  # fmt: skip


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_filters(form: str, chunks: int) -> None:
    table = T if chunks == 1 else CHUNKED
    assert table.num_chunks == chunks and table.filter(FORMS[form]()).to_pydict() == KEPT


def test_masks_index_tables_and_columns() -> None:
    for mask in (np.array(FLAGS), FLAGS, vo.Column(FLAGS)):
        assert T[mask].to_pydict() == KEPT and T["a"][mask].to_pylist() == KEPT["a"]
    assert T[T["a"] > 3].to_pydict() == T.filter("a > 3").to_pydict()
    assert T[(T["a"] > 3) & ~(T["b"] == "t")]["a"].to_pylist() == [4, 6, 7]


def test_a_mask_of_many_rows_with_few_true() -> None:
    """The mask is one operand, and no conjunction of literals."""
    n = 30_000
    t, mask = vo.Table({"i": np.arange(n)}), np.zeros(n, bool)
    mask[::1000] = True
    assert t.filter(mask)["i"].to_pylist() == list(range(0, n, 1000)) and len(t.filter(mask.tolist())) == 30


def test_nulls_of_a_mask_are_not_true() -> None:
    for mask in ([True, None] + [False] * 5, pa.array([True, None] + [False] * 5), pd.Series([True, None] + [False] * 5, dtype="boolean")):
        assert T.filter(mask)["a"].to_pylist() == [1]
    assert len(T.filter([None] * 7)) == 0


def test_masks_beside_predicates() -> None:
    assert T.filter(FLAGS, col("a") > 1, "a < 7", b="t").to_pydict() == {"a": [5], "b": ["t"]}
    assert T.filter(FLAGS, np.array(FLAGS)[::-1]).to_pydict() == {"a": [1, 4, 7], "b": ["p", "s", "v"]}
    assert T.filter([col("a") > 5, "b = 'v'"]).to_pydict() == {"a": [7], "b": ["v"]}
    assert T.filter([]).shape == T.shape and T.filter(True).shape == T.shape and len(T.filter(np.bool_(False))) == 0
    named = vo.Table({"mask 0": [1, 2], "mask 1": [3, 4]})
    assert named.filter([True, False], [True, True]).to_pydict() == {"mask 0": [1], "mask 1": [3]}


def test_tables_without_rows_or_chunks() -> None:
    empty = T.slice(0, 0)
    for mask in (np.zeros(0, bool), vo.Column([], "bool"), []):
        assert empty.filter(mask).columns == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: FLAGS[:3], vo.Mismatch, "a mask of 3 for 7 rows"),
        (lambda: np.ones(8, bool), vo.Mismatch, "a mask of 8 for 7 rows"),
        (lambda: np.ones((7, 1), bool), vo.Mismatch, "one dimension"),
        (lambda: np.arange(7), TypeError, "of bool, not of int64"),
        (lambda: [1, 0, 1, 0, 1, 0, 1], TypeError, "not one with 1 "),
        (lambda: [True, "a > 1"], TypeError, "not one with True"),
        (lambda: vo.Column(["x"] * 7), TypeError, "of bool, not of utf8"),
        (lambda: T, TypeError, "not by a Table"),
        (lambda: T.lazy(), TypeError, "not by a Query"),
        (lambda: 5, TypeError, "not by 5"),
        (lambda: None, TypeError, "not by None"),
        (lambda: b"\1" * 7, TypeError, "not by b"),
        (lambda: {"a": True}, TypeError, "not by {"),
        (lambda: array("b", FLAGS), TypeError, "not one with 1"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_what_is_no_mask(make: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=r"^Table\.filter: ") as e:
        T.filter(make())
    assert said in str(e.value)


def test_a_query_takes_no_mask() -> None:
    for mask in (FLAGS, np.array(FLAGS), vo.Column(FLAGS)):
        with pytest.raises(TypeError, match=r"^Query\.filter: predicates: a mask is of rows that are there"):
            T.lazy().filter(mask)


def test_arrays_are_no_columns_of_constants() -> None:
    """A list of columns' names may be an array of texts; numbers would each be a column, a key, an order that says nothing."""
    numbers = np.array([3, 1, 2, 4, 5, 6, 7])
    for use in (
        lambda: T.select(numbers), lambda: T.sort(numbers), lambda: T.group_by(numbers), lambda: T.with_columns(numbers), lambda: T.sort([3, 1, 2]), lambda: T.select(5),
        lambda: T.sort(5), lambda: T.group_by(1), lambda: T.top_k(1, by=2), lambda: col("a") + numbers, lambda: numbers + col("a"), lambda: numbers == col("a"),
        lambda: col("a") + T["a"], lambda: T.filter(a=[1, 2]), lambda: vo.lit([1, 2]), lambda: vo.when(col("a") > 1).then(numbers),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            use()
    assert T.select(["b", "a"]).columns == ["b", "a"] and T.select(vo.lit(5).alias("five")).head(1).to_pydict() == {"five": [5]}


def test_arrays_of_names() -> None:
    for names in (np.array(["b", "a"]), pd.Index(["b", "a"]), pd.Series(["b", "a"]), pl.Series(["b", "a"]), np.array(["b", "a"], object)):
        assert T.select(names).columns == T[names].columns == ["b", "a"] and T.drop(names[:1]).columns == ["a"] and T.sort(names[1:]).shape == T.shape


@pytest.mark.parametrize("chunks", [1, 3])
def test_arrays_as_columns(chunks: int) -> None:
    table, days = T if chunks == 1 else CHUNKED, np.array(["2020-01-01", "NaT"] + ["2021-01-01"] * 5, "M8[s]")
    for given in (np.arange(7), list(range(7)), vo.Column(list(range(7))), pa.array(range(7)), pd.Series(range(7)), pl.Series(range(7))):
        made = table.with_columns(x=given, y=col("a") + 1, a=given, day=days)
        assert made.columns == ["a", "b", "x", "y", "day"] and made["x"].to_pylist() == list(range(7)) == made["a"].to_pylist() and made["day"].null_count == 1
        assert made.num_chunks == table.num_chunks and table.assign(x=given).columns == ["a", "b", "x"]
    for wrong in ([1, 2], np.arange(8), vo.Column([1])):
        with pytest.raises(vo.Mismatch, match=r"^Table\.with_columns: x: a column of \d for 7 rows"):
            table.with_columns(x=wrong)
    with pytest.raises(TypeError, match=r"^Query\.with_columns: x: .* is no constant"):
        table.lazy().with_columns(x=np.arange(7))


def test_columns_are_compared() -> None:
    c = vo.Column([1, None, 3])
    for mask, want in (
        (c == 1, [True, None, False]), (c != 1, [False, None, True]), (c > 1, [False, None, True]), (c >= 3, [False, None, True]), (c < 3, [True, None, False]),
        (c <= 1, [True, None, False]), (1 < c, [False, None, True]), (c == vo.Column([1, 2, 4]), [True, None, False]), (c == [1, 2, 3], [True, None, True]),
        (c == np.array([0, 0, 3]), [False, None, True]), (~(c == 1), [False, None, True]), ((c > 0) & (c < 3), [True, None, False]), ((c == 1) | (c == 3), [True, None, True]),
        ((c == 1) ^ (c == 3), [True, None, True]),
    ):  # fmt: skip
        assert mask.dtype == "bool" and mask.to_pylist() == want
    with pytest.raises(vo.Mismatch, match="of 3 and one of 2"):
        c == [1, 2]  # noqa: B015
    with pytest.raises(TypeError, match="no truth value"):
        bool(c == 1)
    with pytest.raises(TypeError, match="goes by its name"):
        c == col("a")  # noqa: B015


def test_first_and_last_rows() -> None:
    rows = T.rows()
    for n in (0, 1, 3, 7, 8, 2**62):
        for table in (T, CHUNKED):
            assert table.head(n).rows() == rows[:n] and table.tail(n).rows() == rows[max(0, 7 - n) :] and table.limit(n).rows() == rows[:n]
            assert table.slice(2, n).rows() == rows[2 : 2 + n] and table.slice(-2, n).rows() == rows[5 : 5 + n]
    assert T.head().rows() == rows[:5] and T.tail().rows() == rows[2:] and T.tail(np.int64(2)).rows() == rows[-2:]
    with pytest.raises(ValueError, match=r"^Table\.tail: n: a length is not below 0"):
        T.tail(-1)
    whole = T.slice(0)
    whole.close()
    with pytest.raises(vo.Closed, match=r"^Table\.head"):
        whole.head(1)


def test_halves_move_with_their_rows() -> None:
    x = np.array([1.5, -2, np.nan, 0.25, 65504, -0.0, 0], np.float16)
    t = vo.Table({"x": x, "i": np.arange(7)})
    for got, want in (
        (t.filter(vo.col("i") > 2), x[3:]), (t.sort("i", descending=True), x[::-1]), (t.join(vo.Table({"i": [1, 3]}), on="i"), x[[1, 3]]), (vo.concat([t, t[2:]]), np.concatenate([x, x[2:]])),
        (t.head(3), x[:3]), (t[[True, False] * 3 + [True]], x[::2]),
    ):  # fmt: skip
        made = got["x"]
        assert made.dtype == "float16" and made.to_numpy().tobytes() == want.tobytes()
    with pytest.raises(vo.Unsupported, match=r"^Table\.sort: .*float16 has no order"):
        t.sort("x")
    with pytest.raises(vo.Unsupported, match=r"^Column\.sum: .*float16"):
        t["x"].sum()


def test_tables_one_after_the_other() -> None:
    rows = T.rows()
    assert vo.concat([T]).rows() == rows and vo.concat([T, T[:0], CHUNKED, T[2:4]]).rows() == rows + rows + rows[2:4]
    turned = T.select(T.columns[::-1])
    assert vo.concat([T, turned]).rows() == rows * 2 and vo.concat([T, turned.lazy()]).rows() == rows * 2
    words = [vo.Table(pa.table({"x": pa.array([f"{i} {k}" for i in range(200)]).dictionary_encode()})) for k in range(3)]
    assert vo.concat(words)["x"].to_pylist() == [f"{i} {k}" for k in range(3) for i in range(200)]
    with pytest.raises(vo.VolleyError, match=r"^concat: .*unknown column"):
        vo.concat([T, T[["a"]].rename({"a": "z"})])
    with pytest.raises(vo.Mismatch, match=r"^concat: .*type"):
        vo.concat([vo.Table({"x": [1]}), vo.Table({"x": ["a"]})])


def test_rows_by_slices() -> None:
    rows = T.rows()
    ends = (None, 0, 1, 2, 6, 7, 9, -1, -2, -7, -9)
    for first in ends:
        for last in ends:
            for table in (T, CHUNKED):
                assert table[first:last].rows() == rows[first:last]
            assert T["a"][first:last].to_pylist() == [r[0] for r in rows][first:last]
    assert T[np.int64(1) : np.int64(3)].rows() == rows[1:3] and T["a"][np.int64(-1)] == 7
    assert T.slice(-2).rows() == rows[-2:] and T.slice(-3, 2).rows() == rows[-3:-1] and T.slice(2).rows() == rows[2:] and T["a"].slice(-2, 1).to_pylist() == [6]
    assert T[["b", "a"]].columns == ["b", "a"]
    for use, error in (
        (lambda: T[::2], ValueError), (lambda: T["a"][::-1], ValueError), (lambda: T["x":], TypeError), (lambda: T[5], TypeError), (lambda: T[None], TypeError),
        (lambda: T.slice(-8), IndexError), (lambda: T.slice(0, -1), ValueError), (lambda: T["a"][7], IndexError), (lambda: T["a"][1.0], TypeError),
        (lambda: T["a"]["a"], TypeError), (lambda: T[[1, 2]], TypeError), (lambda: T.head(-1), ValueError), (lambda: T.head(1.5), TypeError),
    ):  # fmt: skip
        with pytest.raises(error, match=r"^(Table|Column)[.\[]"):
            use()
