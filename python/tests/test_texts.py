"""LIKE and SUBSTRING beside DuckDB's: random patterns over texts, dictionaries, slices and chunks."""

import random

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import volley as vo

LETTERS = "ab%_\\é€𝄞"


def texts(r: random.Random, rows: int) -> pa.ChunkedArray:
    """Texts of few letters, wildcards among them, with nulls, in chunks that are slices."""
    values = [None if r.random() < 0.1 else "".join(r.choice(LETTERS) for _ in range(r.randrange(9))) for _ in range(rows)]
    whole = pa.array(["before", *values], pa.string())
    cut = r.randrange(1, rows + 1)
    return pa.chunked_array([whole.slice(1, cut - 1), whole.slice(cut)])


def kinds(s: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    return {"utf8": s, "large_utf8": s.cast(pa.large_string()), "dictionary": s.dictionary_encode(), "view": s.cast(pa.string_view())}


@pytest.mark.parametrize("seed", range(4))
def test_like_is_that_of_duckdb(seed: int) -> None:
    r = random.Random(seed)
    plain = texts(r, 300)
    there = pa.table({"s": plain, "n": range(300)})
    connection = duckdb.connect()
    connection.register("there", there)
    tables = {kind: vo.Table(pa.table({"s": s, "n": range(300)})) for kind, s in kinds(plain).items()}
    for _ in range(60):
        pattern = "".join(r.choice(LETTERS) for _ in range(r.randrange(7)))
        escape = r.choice([None, "\\", "a", "é", "!"])
        if escape and pattern.replace(escape * 2, "").endswith(escape):
            pattern += "b"
        said, given = ("s like ?", [pattern]) if escape is None or not escape.isascii() else ("s like ? escape ?", [pattern, escape])
        if escape is not None and not escape.isascii():
            escape = None  # DuckDB's escapes are ASCII
        want = connection.execute(f"select n from there where {said} order by n", given).fetchall()
        not_like = connection.execute(f"select n from there where not {said} order by n", given).fetchall()
        for kind, t in tables.items():
            like = vo.col("s").like(pattern) if escape is None else vo.col("s").like(pattern, escape)
            assert [(n,) for n in t.filter(like)["n"].to_pylist()] == want, (seed, kind, pattern, escape)
            assert [(n,) for n in t.filter(~like)["n"].to_pylist()] == not_like, (seed, kind, pattern, escape)
            unlike = vo.col("s").not_like(pattern) if escape is None else vo.col("s").not_like(pattern, escape)
            assert [(n,) for n in t.filter(unlike)["n"].to_pylist()] == not_like, (seed, kind, pattern, escape)
            quoted = pattern.replace("'", "''")
            text = f"s not like '{quoted}'" + (f" escape '{escape}'" if escape else "")
            assert [(n,) for n in t.filter(text)["n"].to_pylist()] == not_like, (seed, kind, text)


def test_letters_that_are_invalid_or_long() -> None:
    t = vo.Table({"s": ["a" * 100_000 + "b", "", "\n%", None]})
    assert t.select(x=vo.col("s").like("%" + "a%" * 20 + "c"), y=vo.col("s").like("_%b"), z=vo.col("s").like("_\\%", "\\")).to_pydict() == {
        "x": [False, False, False, None], "y": [True, False, False, None], "z": [False, False, True, None],
    }  # fmt: skip
    assert t.select(x=vo.col("s").not_like("%b"), y=vo.col("s").not_like("_!%", "!")).to_pydict() == {"x": [False, True, True, None], "y": [True, True, False, None]}
    for wrong in (vo.col("s").not_like("x", "ab"), vo.col("s").like("x\\", "\\"), vo.col("s").like("x", "ab"), vo.col("s").like("x", "")):
        with pytest.raises(vo.Mismatch, match=r"like|escape"):
            t.select(wrong)


@pytest.mark.parametrize("seed", range(2))
def test_substring_is_that_of_pyarrow(seed: int) -> None:
    r = random.Random(seed)
    plain = texts(r, 200)
    for kind, s in kinds(plain).items():
        t = vo.Table(pa.table({"s": s}))
        for start in (1, 2, 3, 9, 2**40):
            for length in (None, 0, 1, 2, 100):
                stop = None if length is None else start - 1 + length
                want = pc.utf8_slice_codeunits(plain, start - 1, stop).to_pylist() if start < 2**31 else [None if v is None else "" for v in plain.to_pylist()]
                assert t.select(x=vo.col("s").substring(start, length))["x"].to_pylist() == want, (seed, kind, start, length)
    got = t.select(x=vo.sql("substring(s from 2 for 1)"), y=vo.sql("substr(s, 2, 1)"))
    assert got["x"].to_pylist() == got["y"].to_pylist() == pc.utf8_slice_codeunits(plain, 1, 2).to_pylist()
    for wrong in (vo.col("s").substring(0, 1), vo.col("s").substring(1, -1)):
        with pytest.raises(vo.Mismatch, match="substring"):
            t.select(wrong)


def test_decimals_divide_as_float64() -> None:
    t = pa.table({"a": pa.array([1, 2, None], pa.decimal128(9, 2)), "b": pa.array([3, 0, 1], pa.decimal128(20, 4)), "n": pa.array([3, 4, 5], pa.int8())})
    there = vo.Table(t)
    for text in ("a / b", "a / n", "n / b", "a / 3", "1 / b"):
        made = there.select(x=vo.sql(text))
        assert made.to_pydict() == {"x": duckdb.sql(f"select {text} as x from t").to_arrow_table()["x"].to_pylist()}, text
        assert pa.table(made).schema.field("x").type == pa.float64()
