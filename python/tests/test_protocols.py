"""Arrow's and DLPack's protocols with every partner that is installed: nothing is copied, and nothing is lost."""

import random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import volley as vo
from volley._library import live


def address(array: pa.Array, buffer: int = 1) -> int:
    return array.buffers()[buffer].address


def test_pyarrow_array_and_back_is_the_same_memory() -> None:
    a = pa.array([1, 2, None, 4])
    c = vo.Column(a)
    assert (len(c), c.null_count, c.dtype) == (4, 1, "int64")
    b = pa.array(c)
    assert address(b) == address(a) and address(b, 0) == address(a, 0) and b == a
    assert pa.array(c.slice(1, 2)).to_pylist() == [2, None]


def test_pyarrow_table_and_back_is_the_same_memory() -> None:
    t = pa.table({"a": [1, 2, 3], "b": ["x", "yy", None]})
    back = pa.table(vo.Table(t))
    assert back.equals(t)
    for name, buffer in (("a", 1), ("b", 1), ("b", 2)):
        assert address(back[name].chunk(0), buffer) == address(t[name].chunk(0), buffer)
    assert pa.schema(vo.Table(t)).equals(t.schema)


def test_numpy_and_back_is_the_same_memory() -> None:
    for dtype in ("int8", "uint16", "int32", "int64", "uint64", "float32", "float64", "float16"):
        a = np.arange(100).astype(dtype)
        c = vo.Column(a)
        assert c.dtype == dtype
        b = np.asarray(c)
        assert b.ctypes.data == a.ctypes.data and b.dtype == a.dtype and (b == a).all() and not b.flags.writeable
        d = np.from_dlpack(c)
        assert d.ctypes.data == a.ctypes.data and (d == a).all()
    read_only = np.arange(4)
    read_only.flags.writeable = False
    assert np.asarray(vo.Column(read_only)).ctypes.data == read_only.ctypes.data
    assert vo.Column(np.arange(10)[::2]).to_pylist() == [0, 2, 4, 6, 8]
    assert vo.Column(np.array(["2024-02-29"], "datetime64[us]")).dtype == "timestamp[us]"
    assert vo.Column(np.array([True, False])).to_pylist() == [True, False]
    nulls = np.asarray(vo.Column([1, None]))
    assert nulls[0] == 1 and np.isnan(nulls[1])


def test_numpy_array_outlives_its_column() -> None:
    b = np.asarray(vo.Table({"a": list(range(1000))}).filter("a >= 500")["a"])
    for _ in range(20):
        vo.Table({"a": [7] * 1000}).filter("a >= 0")
    assert (b == np.arange(500, 1000)).all()


def test_memory_is_given_back_once_and_late() -> None:
    before = live()
    a = np.arange(1000)
    t = vo.Table({"a": a})
    tables = [pa.table(t) for _ in range(3)]
    del t
    assert all(x["a"].to_pylist()[-1] == 999 for x in tables)
    del tables
    assert live() <= before + 1  # tokens are kept


def test_polars_both_ways() -> None:
    df = pl.DataFrame({"a": [1, 2, None], "s": ["x", "a text that is longer than twelve bytes", None], "c": pl.Series(["u", "v", "u"], dtype=pl.Categorical)})
    t = vo.Table(df)
    assert t.schema["s"] == "large_utf8"
    assert t.select("a", "s").to_pydict() == df.select("a", "s").to_dict(as_series=False)
    back = pl.DataFrame(t)
    assert back["c"].cast(pl.String).to_list() == ["u", "v", "u"] and back["s"].to_list() == df["s"].to_list()
    numbers = pl.DataFrame({"a": np.arange(1000)})
    there = pl.DataFrame(vo.Table(numbers))
    assert there["a"].to_numpy().ctypes.data == numbers["a"].to_numpy().ctypes.data


def test_pandas_both_ways() -> None:
    frame = pd.DataFrame({"a": np.arange(5), "s": list("abcde")})
    t = vo.from_pandas(frame)
    assert np.asarray(t["a"]).ctypes.data == frame["a"].to_numpy().ctypes.data
    assert t.filter("a > 2").to_pandas()["s"].tolist() == ["d", "e"]
    backed = pd.DataFrame({"a": pd.array([1, 2, 3], dtype="int64[pyarrow]")})
    assert vo.Table(backed)["a"].to_pylist() == [1, 2, 3]


def test_duckdb_both_ways() -> None:
    t = vo.Table({"k": [1, 2, 1], "v": [1.5, 2.5, 3.5]})
    assert duckdb.sql("select k, sum(v) as v from t group by k order by k").fetchall() == [(1, 5.0), (2, 2.5)]
    back = vo.Table(duckdb.sql("select range as r, 'n' || range as s from range(10)"))
    assert back.filter("r = 7").to_pydict() == {"r": [7], "s": ["n7"]}


def test_a_query_is_a_stream() -> None:
    q = vo.Table({"a": list(range(10))}).lazy().filter("a % 2 = 0")
    assert pa.table(q)["a"].to_pylist() == [0, 2, 4, 6, 8]
    assert pa.RecordBatchReader.from_stream(q).schema.names == ["a"]


def test_matrices() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    m = vo.Matrix(a)
    assert m.shape == (2, 3) and m.dtype == "float64" and m.to_numpy().ctypes.data == a.ctypes.data
    assert ((m @ vo.Matrix(b)).to_numpy() == a @ b).all()
    assert (vo.Matrix(a.T).to_numpy() == a.T).all()  # a copy
    with pytest.raises(vo.Mismatch):
        m @ m
    with pytest.raises(vo.Unsupported):
        vo.Matrix(np.zeros((2, 2), "int32"))


TYPES = [
    pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.binary(), pa.date32(),
    pa.timestamp("us", "UTC"), pa.decimal128(30, 3), pa.duration("ms"), pa.time64("ns"), pa.list_(pa.int32()), pa.struct([("x", pa.int8()), ("y", pa.string())]),
    pa.dictionary(pa.int8(), pa.string()), pa.null(), pa.string_view(), pa.list_(pa.list_(pa.string())),
]  # fmt: skip


def value(r: random.Random, t: pa.DataType, nulls: float) -> object:
    if r.random() < nulls or pa.types.is_null(t):
        return None
    if pa.types.is_nested(t):
        if pa.types.is_struct(t):
            return {f.name: value(r, f.type, nulls) for f in t}
        return [value(r, t.value_type, nulls) for _ in range(r.randrange(4))]
    if pa.types.is_dictionary(t):
        return r.choice(["red", "green", "blue"])
    if pa.types.is_boolean(t):
        return r.random() < 0.5
    if pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view():
        return "".join(r.choice("aéz€") for _ in range(r.randrange(20)))
    if pa.types.is_binary(t):
        return r.randbytes(r.randrange(5))
    return pa.scalar(r.randrange(100), pa.int64()).cast(pa.int32() if t == pa.date32() else pa.int64()).cast(t).as_py() if not pa.types.is_floating(t) else r.random()


def test_random_tables_round_trip() -> None:
    r = random.Random(7)
    for case in range(150):
        columns, rows, nulls = {}, r.choice([0, 1, 7, 8, 9, 65, 300]), r.choice([0, 0.3, 1])
        for i in range(r.randrange(1, 5)):
            t = r.choice(TYPES)
            plain = pa.string() if pa.types.is_dictionary(t) else t
            a = pa.array([value(r, t, nulls) for _ in range(rows)], plain)
            columns[f"c{i}"] = a.dictionary_encode() if pa.types.is_dictionary(t) else a
        whole = pa.table(columns)
        start = r.randrange(rows + 1)
        t = whole.slice(start, r.randrange(rows + 1 - start)) if r.random() < 0.5 else whole
        back = pa.table(vo.Table(t, validate="full"))
        back.validate(full=True)
        assert back.to_pylist() == t.to_pylist(), f"seed 7, case {case}"
