"""Columns of tables in several chunks: the same values whichever way they are asked for, and no copy of all of them for one."""

from __future__ import annotations

import array
import datetime as dt
import gc
import pickle
import threading
from typing import Any

import pytest

import volley as vo
from volley import col
from volley._joined import Alone
from volley._library import live

KINDS: dict[str, Any] = {
    "int": lambda i: i,
    "null": lambda i: None if i % 3 == 0 else i,
    "text": lambda i: f"text {i}",
    "bool": lambda i: i % 3 == 0,
    "float": lambda i: i / 4,
}


def chunked(of: Any, sizes: list[int]) -> tuple[vo.Table, list[Any]]:
    values = [of(i) for i in range(sum(sizes))]
    dtype = vo.Column(values).dtype
    parts, at = [], 0
    for n in sizes:
        parts.append(vo.Table({"v": vo.Column(values[at : at + n], dtype), "other": list(range(n))}))
        at += n
    return vo.concat(parts), values


def joined(c: vo.Column) -> bool:
    """Whether the column is in one piece, its own or that of the table's only chunk."""
    return not isinstance(c._parts(), Alone)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [[5, 1, 7], [1] * 20, [40]])
def test_same_values(kind: str, sizes: list[int]) -> None:
    t, values = chunked(KINDS[kind], sizes)
    n = len(values)
    c = t["v"]
    assert [c[i] for i in range(-n, n)] == values + values
    assert len(c) == n and c.dtype == vo.Column(values).dtype
    for i in (n, -n - 1):
        with pytest.raises(IndexError):
            c[i]
    for at in range(n):
        for length in (0, 1, n - at):
            assert c.slice(at, length).to_pylist() == values[at : at + length]
    assert c[2:].to_pylist() == values[2:] and c[::1].to_pylist() == values
    assert joined(c) == (len(sizes) == 1)  # nothing of that copied all of it
    assert c.to_pylist() == list(c) == values and c.null_count == values.count(None)
    assert joined(c)
    assert [c[i] for i in range(n)] == values


def test_lives_without_its_table() -> None:
    t, values = chunked(KINDS["text"], [3, 4])
    c, d = t["v"], t["v"]
    t.close()
    assert c[5] == values[5] and c.to_pylist() == values
    assert pickle.loads(pickle.dumps(d)).to_pylist() == values


def test_closed() -> None:
    t, _ = chunked(KINDS["int"], [3, 4])
    c = t["v"]
    c.close()
    for use in (lambda: c[0], lambda: len(c), lambda: c.to_pylist(), lambda: c.dtype, lambda: c.slice(0, 1)):
        with pytest.raises(vo.Closed):
            use()


def test_unknown_name() -> None:
    t, _ = chunked(KINDS["int"], [3, 4])
    with pytest.raises(vo.VolleyError, match="nope"):
        t["nope"]


def test_gives_everything_back() -> None:
    gc.collect()
    before = live()
    t, values = chunked(KINDS["int"], [3, 4])
    c, d = t["v"], t["v"]
    assert c[0] == values[0] and d.to_pylist() == values
    del t, c, d
    gc.collect()
    assert live() == before


def test_two_threads() -> None:
    t, values = chunked(KINDS["int"], [100] * 50)
    for _ in range(20):
        c, found = t["v"], []
        threads = [threading.Thread(target=lambda c=c, found=found: found.append(c.to_pylist() == values)) for _ in range(4)]
        for th in threads:
            th.start()
        for th in threads:
            th.join()
        assert found == [True] * 4


def test_number_of_chunks() -> None:
    t, _ = chunked(KINDS["int"], [3, 4, 5])
    assert t.num_chunks == t.num_chunks == 3
    assert t.filter(col("v") < 2).num_chunks == 1


def test_values_as_python_has_them() -> None:
    """Dates, moments and texts of all lengths of year and letter, against what they were made of, and None where Python has no year for them."""
    first, last = dt.date.min, dt.date.max
    days = [first, last, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), None]
    assert vo.Column(days).to_pylist() == days
    moments = [dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1970, 1, 1), None]
    assert vo.Column(moments).to_pylist() == moments
    aware = [m and m.replace(tzinfo=dt.timezone.utc) for m in moments]
    assert vo.Column(aware).to_pylist() == aware
    spans = [dt.timedelta(-1, 0, 1), dt.timedelta(0), dt.timedelta(99_999, 3, 7), None]
    assert vo.Column(spans).to_pylist() == spans
    for unit, each in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        numbers = [-1, 0, 1, -(10**9) * each - 1, 2 * 10**9 * each + 1]
        wanted = [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=n * 10**6 // each) for n in numbers]
        assert _cast(numbers, f"timestamp[{unit}]") == wanted, unit
        assert _cast(numbers, f"duration[{unit}]") == [w - dt.datetime(1970, 1, 1) for w in wanted], unit
    assert _cast([2**31 - 1, -(2**31), 0], "date32", "i") == [None, None, dt.date(1970, 1, 1)]
    assert _cast([2**62, -(2**62), 0], "timestamp[us]") == [None, None, dt.datetime(1970, 1, 1)]
    for texts in (["", "a", "bc", None, "\x7f"], ["", "ä", "a\U0001f3f9", None, "z"], [], [None, None]):
        assert vo.Column(texts, "utf8").to_pylist() == texts
        assert vo.Column(["x", *texts], "utf8").slice(1).to_pylist() == texts


def _cast(numbers: list[int], dtype: str, letter: str = "q") -> list[Any]:
    return vo.Table({"v": array.array(letter, numbers)}).select(col("v").cast(dtype).alias("w"))["w"].to_pylist()
