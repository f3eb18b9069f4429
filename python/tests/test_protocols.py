"""Arrow's and DLPack's protocols with every partner that is installed: nothing is copied, and nothing is lost."""

import array
import datetime as dt
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import volley as vo
from pyarrow.interchange import from_dataframe as interchange
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


def test_pandas_backed_by_arrow_is_the_same_memory() -> None:
    a = pa.array(range(1000))
    frame = pd.DataFrame({"a": pd.Series(a, dtype=pd.ArrowDtype(pa.int64())), "s": pd.Series(pa.array(["x"] * 1000), dtype=pd.ArrowDtype(pa.string()))})
    t = vo.Table(frame)
    assert address(pa.array(t["a"])) == address(a)
    back = t.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
    assert address(pa.array(back["a"])) == address(a) and back.equals(frame.convert_dtypes(dtype_backend="pyarrow"))


def test_pytorch_and_back_is_the_same_memory() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(1000)
    c = vo.Column(x)
    assert c.dtype == "int64" and np.asarray(c).ctypes.data == x.data_ptr()
    assert torch.from_dlpack(c).data_ptr() == x.data_ptr() == c.to_torch().data_ptr()
    m = torch.arange(12.0).reshape(3, 4)
    assert vo.Matrix(m).to_torch().data_ptr() == m.data_ptr() and torch.equal(vo.Matrix(m).to_torch(), m)
    late = vo.Table({"delay": np.arange(1000.0)}).filter("delay >= 500")["delay"]
    assert late.to_torch().data_ptr() == np.asarray(late).ctypes.data and late.to_torch().sum().item() == sum(range(500, 1000))
    assert vo.Column([True, False, True]).to_torch().tolist() == [True, False, True]


def test_jax_and_back_is_the_same_memory() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    c = vo.Column(list(range(1000)))
    x = jax.numpy.from_dlpack(c)
    assert x.unsafe_buffer_pointer() == np.asarray(c).ctypes.data and c.to_jax().sum() == sum(range(1000))
    y = jax.numpy.arange(1000.0)
    assert np.asarray(vo.Column(y)).ctypes.data == y.unsafe_buffer_pointer()
    m = jax.numpy.ones((8, 16))
    assert np.asarray(vo.Matrix(m)).ctypes.data == m.unsafe_buffer_pointer()


def test_duckdb_and_back_is_the_same_memory() -> None:
    a = pa.table({"a": range(5000), "s": ["text"] * 5000})
    t = vo.Table(a)
    there = duckdb.from_arrow(t.to_arrow())
    assert there.aggregate("sum(a) as a, count(distinct s) as s").fetchall() == [(sum(range(5000)), 1)]
    back = vo.Table(there.to_arrow_table())
    assert back.shape == (5000, 2) and back["s"][4999] == "text"
    mine = there.to_arrow_table()  # DuckDB writes its own; from there on nothing is copied
    assert address(pa.table(vo.Table(mine))["a"].chunk(0)) == address(mine["a"].chunk(0))
    assert duckdb.from_arrow(t).filter("a < 3").fetchall() == [(0, "text"), (1, "text"), (2, "text")]


def test_narwhals_takes_a_table() -> None:
    """Narwhals has no back end of volley's; it takes the table by Arrow's protocol, without a copy, and gives one back."""
    import narwhals as nw

    t = vo.Table({"k": [1, 2, 1], "v": [1.5, 2.5, 3.5]}, device="cpu")
    frame = nw.from_arrow(t, backend="pyarrow")
    assert address(frame.to_native()["k"].chunk(0)) == address(pa.table(t)["k"].chunk(0))
    summed = frame.group_by("k").agg(nw.col("v").sum()).sort("k")
    assert vo.Table(summed).to_pydict() == {"k": [1, 2], "v": [5.0, 2.5]}


def test_buffers_are_the_same_memory() -> None:
    for dtype in ("int8", "uint16", "int32", "int64", "uint64", "float32", "float64"):
        a = np.arange(100).astype(dtype)
        b = vo.Column(a).slice(10, 50).buffer()
        assert b.readonly and b.tolist() == a[10:60].tolist() and np.asarray(b).ctypes.data == a[10:].ctypes.data and np.asarray(b).dtype == dtype
    if sys.version_info >= (3, 12):
        assert memoryview(vo.Column([1, 2])).tolist() == [1, 2]
    assert vo.Column([], "int16").buffer().tolist() == []
    for c in (vo.Column(["x"]), vo.Column([1, None]), vo.Column([True])):
        with pytest.raises(BufferError):
            c.buffer()
    with pytest.raises(BufferError, match="immutable"):
        vo.Column([1]).__buffer__(1)
    assert vo.Column(array.array("h", [1, 2])).dtype == "int16" and vo.Column(memoryview(b"\1\2")).to_pylist() == [1, 2]


def test_numpy_has_times_and_nulls() -> None:
    for unit in ("s", "ms", "us", "ns"):
        for letter in "Mm":
            a = np.arange(5).view(f"{letter}8[{unit}]")
            c = vo.Column(a)
            b = np.asarray(c)
            assert b.dtype == a.dtype and b.ctypes.data == a.ctypes.data and c.to_pylist()[3] == a.astype(f"{letter}8[us]").tolist()[3]
    assert np.asarray(vo.Column([dt.date(2024, 2, 29)])).dtype == "datetime64[D]"
    holes = vo.Column(pa.array([1.5, None, 2.5], pa.float32())).slice(1, 2)
    assert np.asarray(holes).dtype == "float32" and np.isnan(np.asarray(holes)[0]) and np.asarray(holes)[1] == 2.5
    assert np.isnat(np.asarray(vo.Column([dt.datetime(2024, 1, 1), None]))).tolist() == [False, True]
    assert np.asarray(vo.Column([True, None])).tolist() == [True, None] and np.asarray(vo.Column([True])).dtype == bool
    with pytest.raises(ValueError, match="copy"):
        np.array(vo.Column([1, None]), copy=False)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(vo.Column([1]), dtype="float32", copy=False)
    assert np.asarray(vo.Table({"a": [1, 2], "b": [0.5, 1.5]})).tolist() == [[1.0, 0.5], [2.0, 1.5]]
    assert vo.Column(np.ma.array([1, 2], mask=[0, 1])).to_pylist() == [1, None]
    assert vo.Column([np.int32(3), np.int64(4)]).to_pylist() == [3, 4]


def test_interchange_is_the_same_memory() -> None:
    a = pa.table({"a": [1, None, 3], "s": ["x", "yy", None], "b": [True, None, False]})
    t = vo.Table(a)
    frame = t.__dataframe__()
    assert (frame.num_rows(), frame.num_columns(), frame.num_chunks(), list(frame.column_names())) == (3, 3, 1, ["a", "s", "b"])
    data, dtype = frame.get_column(0).get_buffers()["data"]
    assert data.ptr == address(a["a"].chunk(0)) and data.bufsize == 24 and dtype == (0, 64, "l", "=")
    assert interchange(t).equals(a)
    assert interchange(t.select("s")).column_names == ["s"] and len(list(frame.get_chunks(2))) == 2
    with pytest.warns(Warning, match="Interchange"):
        assert pd.api.interchange.from_dataframe(frame)["a"].tolist()[::2] == [1, 3]
    words = vo.Table(pa.table({"d": pa.array(["u", "v", "u"]).dictionary_encode()}))
    assert interchange(words)["d"].to_pylist() == ["u", "v", "u"] and words.__dataframe__().get_column(0).describe_categorical["is_dictionary"]
    with pytest.raises(vo.Unsupported):
        interchange(vo.Table(pa.table({"l": [[1]]})))
    with pytest.raises(RuntimeError, match="2 chunks"):
        vo.concat([t, t]).__dataframe__(allow_copy=False)
