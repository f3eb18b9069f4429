"""Tables that are split."""

import random

import pytest
import volley as vo
from volley import col


def table(n: int = 1000) -> vo.Table:
    r = random.Random(7)
    return vo.Table({"i": list(range(n)), "k": [r.choice([None, 1, 2, 3, 5, 8, 13]) for _ in range(n)], "s": [r.choice(["a", "b", None, "c"]) for _ in range(n)]})


@pytest.mark.parametrize("by", ["k", ["s"], ["k", "s"]])
@pytest.mark.parametrize("n", [1, 3, 64])
def test_partition(by: "str | list[str]", n: int) -> None:
    t = table()
    parts = t.partition(by, n)
    assert len(parts) == n and all(p.schema == t.schema for p in parts)
    where = {}
    for number, part in enumerate(parts):
        rows = part.rows()
        assert [r[0] for r in rows] == sorted(r[0] for r in rows)
        for row in rows:
            key = row[1] if by == "k" else row[2] if by == ["s"] else row[1:]
            assert where.setdefault(key, number) == number
    assert sorted(r for p in parts for r in p.rows()) == t.rows()


def test_partition_needs_no_form_of_a_key() -> None:
    import pyarrow as pa

    texts = ["x", "yy", None, "zzz", "x"]
    forms = [pa.array(texts), pa.array(texts, pa.large_string()), pa.array(texts).dictionary_encode(), pa.array(texts, pa.string_view())]
    counts = {tuple(len(p) for p in vo.Table(pa.table({"s": f})).partition("s", 16)) for f in forms}
    assert len(counts) == 1


def test_partition_round_robin() -> None:
    parts = table(10).partition_round_robin(3)
    assert [p["i"].to_pylist() for p in parts] == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


def test_partition_by_range() -> None:
    t = vo.Table({"k": [5, None, 1, 3, 4], "s": ["a", "b", "a", "b", "a"]})
    assert [p["k"].to_pylist() for p in t.partition_by_range("k", [3, 5])] == [[1], [3, 4], [5, None]]
    assert [p["k"].to_pylist() for p in t.partition_by_range("k", [4], descending=True, nulls_last=False)] == [[5, None], [1, 3, 4]]
    bounds = vo.Table({"s": ["a"], "k": [4]})
    assert [p.rows() for p in t.partition_by_range(["s", "k"], bounds, descending=[False, True])] == [[(5, "a")], [(None, "b"), (1, "a"), (3, "b"), (4, "a")]]
    assert [p["k"].to_pylist() for p in t.partition_by_range(col("k") * -1, [-3])] == [[5, 4], [None, 1, 3]]
    assert [len(p) for p in t.partition_by_range("k", [])] == [5]


def test_partition_of_what_is_wrong() -> None:
    t = table(10)
    with pytest.raises(vo.Mismatch, match="0 parts"):
        t.partition("k", 0)
    with pytest.raises(vo.Mismatch, match="parts"):
        t.partition("k", 1 << 40)
    with pytest.raises(vo.Mismatch, match="nobody"):
        t.partition("nobody", 2)
    with pytest.raises(vo.Mismatch, match="no keys"):
        t.partition([], 2)
    with pytest.raises(vo.Mismatch, match="not sorted"):
        t.partition_by_range("k", [3, 1])
    with pytest.raises(TypeError, match="bounds"):
        t.partition_by_range("k", 3)
    with pytest.raises(TypeError):
        t.partition("k", 1.5)  # type: ignore[arg-type]
