"""What a table keeps of what it was asked once: names, types, columns, single values."""

from __future__ import annotations

import datetime as dt
import gc
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import volley as vo
from volley._library import live

ARRAYS: dict[str, Any] = {
    "int": pa.array([1, None, -3, 2**62]),
    "float": pa.array([0.5, None, float("inf"), -1.0]),
    "bool": pa.array([True, False, None, True]),
    "text": pa.array(["a", "äöü", None, ""]),
    "bytes": pa.array([b"a", b"\xff", None, b""]),
    "words": pa.array(["x", "y", None, "x"]).dictionary_encode(),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("-3.00"), Decimal("0.01")]),
    "date": pa.array([dt.date(2024, 2, 29), None, dt.date(1900, 1, 1), dt.date(1970, 1, 1)]),
    "moment": pa.array([dt.datetime(2024, 2, 29, 1, 2, 3), None, dt.datetime(1900, 1, 1), dt.datetime(1970, 1, 1)]),
    "list": pa.array([[1, 2], None, [], [3]]),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 2, "b": None}]),
    "null": pa.nulls(4),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_single_values_are_those_of_arrow(kind: str) -> None:
    """Of one chunk and of several, whole and cut, as a column of a table and alone."""
    a = ARRAYS[kind]
    want = a.to_pylist()
    for whole in (pa.chunked_array([a]), pa.chunked_array([a.slice(1, 2), a.slice(0, 0), a, a.slice(3)])):
        values = whole.to_pylist()
        t = vo.Table(pa.table({"v": whole, "other": pa.array(range(len(values)))}))
        for _ in range(2):  # what was kept is the same
            assert [t["v"][i] for i in range(-len(values), len(values))] == values + values
        part = t.slice(1, len(values) - 2)
        assert [part["v"][i] for i in range(len(part))] == values[1:-1]
    c = vo.Column(a.slice(1))
    assert [c[i] for i in range(3)] == want[1:] and [c[1:][i] for i in range(2)] == want[2:]
    with pytest.raises(IndexError, match="value 3 of a column of 3"):
        c[3]


def test_columns_are_apart() -> None:
    """A column that is closed takes nothing from the others; one that is left outlives the table."""
    t = vo.Table({"v": [1, 2, 3]})
    a, b = t["v"], t["v"]
    assert a[0] == b[0] == 1
    a.close()
    with pytest.raises(vo.VolleyError, match="closed"):
        a[0]
    assert b[1] == t["v"][1] == 2
    t.close()
    assert b[2] == 3 and b.to_pylist() == [1, 2, 3] and b.dtype == "int64" and b.null_count == 0
    for ask in (lambda: t.columns, lambda: t.dtypes, lambda: t["v"], lambda: t.shape, lambda: "v" in t):
        with pytest.raises(vo.VolleyError, match="closed"):
            ask()


def test_names_are_copies() -> None:
    t = vo.Table({f"c{i}": [i] for i in range(50)})
    names = [f"c{i}" for i in range(50)]
    t.columns.clear()
    t.dtypes.clear()
    assert t.columns == names and t.dtypes == ["int64"] * 50 and t.width == 50 and "c7" in t and "c50" not in t
    assert vo.Table({}).columns == [] and t.rename({"c0": "ü"}).columns[0] == "ü"
    with pytest.raises(vo.VolleyError, match="nope"):
        t["nope"]


def test_nothing_is_left() -> None:
    gc.collect()
    before = live()
    for parts in ([[1, 2, 3]], [[1], [2, 3]]):
        t = vo.concat([vo.Table({"v": p}) for p in parts])
        columns = [t["v"] for _ in range(5)]
        assert [c[2] for c in columns] == [3] * 5 and t["v"].to_pylist() == [1, 2, 3]
        del t, columns
    gc.collect()
    assert live() == before
