"""What files of other programs read as, with the options of scan_parquet, scan_ipc and scan_csv."""

import datetime as dt
import os

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import volley as vo


def rows(t):
    """The rows of a table as values."""
    return pa.table(t).to_pylist()


def test_hive(tmp_path):
    table = pa.table({"year": [2001, 2001, 2002], "city": ["Rome", "São Paulo/Sé", None], "v": [1, 2, 3]})
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["year", "city"])
    pattern = str(tmp_path / "hive/*/*/*.parquet")
    got = sorted(rows(vo.read_parquet(pattern)), key=lambda r: r["v"])
    assert got == [{"v": 1, "year": 2001, "city": "Rome"}, {"v": 2, "year": 2001, "city": "São Paulo/Sé"}, {"v": 3, "year": 2002, "city": None}]
    assert rows(vo.scan_parquet(pattern).filter(vo.col("year") == 2002).collect()) == [{"v": 3, "year": 2002, "city": None}]
    assert list(vo.read_parquet(pattern, hive_partitioning=False).schema) == ["v"]
    for path in (tmp_path / "hive", str(tmp_path / "hive/**/*.parquet")):
        assert rows(vo.read_parquet(path)) == rows(vo.read_parquet(pattern))
    os.makedirs(tmp_path / "k=7")
    (tmp_path / "k=7/x.csv").write_text("a\n1\n")
    assert rows(vo.read_csv(str(tmp_path / "k=*/x.csv"))) == [{"a": 1, "k": 7}]
    assert rows(vo.read_csv(str(tmp_path / "k=*/x.csv"), hive_partitioning=False)) == [{"a": 1}]
    feather.write_feather(pa.table({"a": [1]}), tmp_path / "k=7/x.arrow")
    assert rows(vo.read_ipc(str(tmp_path / "k=?/x.arrow"))) == [{"a": 1, "k": 7}]
    assert rows(vo.read_ipc(str(tmp_path / "k=?/x.arrow"), hive_partitioning=False)) == [{"a": 1}]


def test_int96(tmp_path):
    far = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
    path = tmp_path / "spark.parquet"
    pq.write_table(pa.table({"when": pa.array([far, None], pa.timestamp("us"))}), path, use_deprecated_int96_timestamps=True)
    with pytest.raises(vo.errors.VolleyError, match="when.*9999-12-31"):
        vo.read_parquet(path)
    assert pa.table(vo.read_parquet(path, int96="us"))["when"].to_pylist() == [far, None]
    with pytest.raises(vo.errors.VolleyError, match="Int96"):
        vo.read_parquet(path, int96="s")


def test_max_unpacked(tmp_path):
    path = tmp_path / "zeros.arrow"
    feather.write_feather(pa.table({"a": [0] * 100_000}), path, compression="zstd")
    with pytest.raises(vo.errors.OutOfMemory, match="524288.*max_unpacked"):
        vo.read_ipc(path, max_unpacked=1000)
    assert len(vo.read_ipc(path, max_unpacked=524_288)) == 100_000


def test_categories(tmp_path):
    tables = []
    for k in range(3):
        words = pa.array([f"word {100 * k + i}" for i in range(100)])
        tables.append(pa.table({"word": pa.DictionaryArray.from_arrays(pa.array(range(100), pa.uint8()), words)}))
        feather.write_feather(tables[k], tmp_path / f"{k}.arrow")
        pq.write_table(tables[k], tmp_path / f"{k}.parquet")
    want = [f"word {i}" for i in range(300)]
    united = vo.concat([vo.from_arrow(t) for t in tables])
    chunked = vo.from_arrow(pa.concat_tables(tables))
    for t in (united, chunked, vo.read_ipc(str(tmp_path / "?.arrow")), vo.read_parquet(str(tmp_path / "?.parquet"))):
        assert pa.table(t)["word"].to_pylist() == want
        for name in ("all.arrow", "all.arrows", "all.parquet"):
            if name.endswith("parquet"):
                t.write_parquet(tmp_path / name)
                back = vo.read_parquet(tmp_path / name)
            else:
                t.write_ipc(tmp_path / name, stream=name.endswith("s"))
                back = vo.read_ipc(tmp_path / name)
            assert pa.table(back)["word"].to_pylist() == want


def test_zones(tmp_path):
    path = tmp_path / "zones.parquet"
    pq.write_table(pa.table({"when": pa.array([0], pa.timestamp("s", "Europe/Berlin"))}), path, version="1.0")
    assert pa.table(vo.read_parquet(path)).schema.field("when").type == pa.timestamp("ms", "Europe/Berlin")


def test_csv_kinds(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'"a","b"\r"1",""\r"","2.5"\r')
    assert rows(vo.read_csv(path)) == [{"a": 1, "b": None}, {"a": None, "b": 2.5}]
    path.write_bytes(b'"a"\n"1"\n"NA"\n')
    assert rows(vo.read_csv(path, null_values="NA")) == [{"a": 1}, {"a": None}]


def test_a_column_without_a_name(tmp_path):
    """As pandas writes its index: joined past, joined by, grouped, kept in a file."""
    (tmp_path / "a.csv").write_text(",k,v\n0,a,1.5\n1,b,2.5\n2,a,3.5\n")
    (tmp_path / "b.csv").write_text(",k,w\n0,a,10\n7,b,30\n")
    a, b = vo.read_csv(tmp_path / "a.csv"), vo.read_csv(tmp_path / "b.csv")
    assert a.columns == ["", "k", "v"]
    assert a.join(b, on="k").to_pydict() == {"": [0, 1, 2], "k": ["a", "b", "a"], "v": [1.5, 2.5, 3.5], "_right": [0, 7, 0], "w": [10, 30, 10]}
    assert b.join(a, on="", how="left").to_pydict() == {"": [0, 7], "k": ["a", "b"], "w": [10, 30], "k_right": ["a", None], "v": [1.5, None]}
    assert a.join(b, on="", how="anti").to_pydict() == {"": [1, 2], "k": ["b", "a"], "v": [2.5, 3.5]}
    assert a.group_by("k").agg(n=vo.col("").sum()).to_pydict() == {"k": ["a", "b"], "n": [2, 1]}
    a.write_parquet(tmp_path / "a.parquet")
    kept = vo.scan_parquet(tmp_path / "a.parquet").filter('"" < 2').join(b, on="k").select("", "w").collect()
    assert kept.to_pydict() == {"": [0, 1], "w": [10, 30]}
