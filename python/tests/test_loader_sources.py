"""The loader over files and folders, its orders by blocks and by columns, encodings, 16-bit floats, and damaged files."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import volley as vo
from volley import _tensor

ROWS = 1000


@pytest.fixture(scope="module")
def table() -> vo.Table:
    n = np.arange(ROWS)
    return vo.from_arrow(
        pa.table({
            "x": n.astype(np.float32), "y": n % 5, "w": (n >= 600).astype(np.float64), "g": n // 100,
            "c": pa.array(["ant", "bee", "cat"]).take(pa.array(n % 3)), "ok": n % 2 == 0,
        })  # fmt: skip
    )


@pytest.fixture(scope="module")
def folder(table: vo.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of each kind, a folder of each, and what is no data beside them."""
    at = tmp_path_factory.mktemp("files")
    for ending in ("parquet", "arrow", "csv", "tsv"):
        (at / ending).mkdir()
        for i in range(2):
            part = table.slice(i * 500, 500)
            path = at / ending / f"{i}.{ending}"
            if ending == "parquet":
                part.write_parquet(path, row_group_size=50)
            elif ending == "arrow":
                part.write_ipc(path)
            else:
                part.write_csv(path, separator="\t" if ending == "tsv" else ",")
        (at / ending / "_SUCCESS").write_text("")
    return at


def rows_of(loader: vo.Loader) -> list[int]:
    """The numbers of the rows of one epoch."""
    return [int(r) for b in loader for r in np.from_dlpack(b.rows)]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "tsv"])
def test_files_give_what_the_table_gives(table: vo.Table, folder: Path, ending: str) -> None:
    more: dict[str, Any] = {"features": ["x", "g"], "labels": "y", "shuffle": True, "seed": 3, "row_numbers": True}
    want = [[p.copy() for p in batch] for batch in vo.Loader(table, 64, **more).numpy()]
    files = [folder / ending / f"{i}.{ending}" for i in range(2)]
    for data in (str(folder / ending), folder / ending / f"*.{ending}", files):
        loader = vo.Loader(data, 64, **more)
        assert loader.source.schema.keys() == table.schema.keys() and len(loader) == 16
        for got, batch in zip(loader.numpy(), want, strict=True):
            assert all((a == b).all() for a, b in zip(got, batch, strict=True))


def test_resume_over_files(folder: Path) -> None:
    def opened(**more: Any) -> vo.Loader:
        return vo.Loader(folder / "parquet", 64, features=["x"], shuffle="blocks+buffer", buffer=120, seed=1, **more)

    first = opened()
    seen = [int(r) for _ in range(5) for r in np.from_dlpack(first.next().rows)]
    state = json.loads(json.dumps(first.state_dict()))
    for rank in range(2):
        seen += rows_of(opened(rank=rank, num_replicas=2, remainder="uneven", state=state))
    assert sorted(seen) == list(range(ROWS))
    with pytest.raises(vo.Mismatch, match="order"):
        vo.Loader(folder / "parquet", 64, features=["x"], shuffle="rows", seed=1, state=state)
    first.set_epoch(0)
    assert rows_of(first)[:320] == seen[:320]


def test_blocks_come_through_a_buffer(table: vo.Table, folder: Path) -> None:
    loader = vo.Loader(folder / "parquet", 100, features=["x"], shuffle="blocks+buffer", buffer=100, seed=2)
    first, second = rows_of(loader), rows_of(loader)
    assert sorted(first) == sorted(second) == list(range(ROWS)) and first != second
    for i in range(0, ROWS, 100):  # two row groups at a time, and not in their order
        part = first[i : i + 100]
        assert len({r // 50 for r in part}) == 2 and part != sorted(part)
    with pytest.raises(vo.Mismatch, match="is for files"):
        vo.Loader(table, 100, features=["x"], shuffle="blocks+buffer")
    with pytest.raises(vo.Mismatch, match="by luck"):
        vo.Loader(table, 100, features=["x"], shuffle="by luck")


@pytest.mark.parametrize("files", [False, True])
def test_orders_by_columns(table: vo.Table, folder: Path, files: bool) -> None:
    data: Any = folder / "parquet" if files else table
    drawn = vo.Loader(data, 50, weights="w", draws=300, categories=["c"], one_hot="ok")
    assert drawn.features == ["x", "y", "g", "c", "ok"]  # not w
    rows = rows_of(drawn)
    assert len(rows) == 300 and min(rows) >= 600 and len(set(rows)) < 300  # with replacement, those of weight 1
    mixed = rows_of(vo.Loader(data, 50, features=["x"], stratify="c"))
    assert sorted(mixed) == list(range(ROWS))
    for i in range(0, 990, 30):
        assert all(8 <= sum(r % 3 == k for r in mixed[i : i + 30]) <= 12 for k in range(3))
    together = rows_of(vo.Loader(data, 50, features=["x"], group="g", seed=4))
    groups = [r // 100 for r in together]
    assert sorted(together) == list(range(ROWS)) and sum(a != b for a, b in zip(groups, groups[1:])) == 9 and groups != sorted(groups)
    for wrong, text in (
        ({"weights": "c"}, "weights are numbers"), ({"weights": "none"}, "none"), ({"stratify": "x"}, "classes are"), ({"draws": 5}, "draws"),
        ({"weights": "w", "group": "g"}, "one can be given"), ({"weights": "w", "shuffle": True}, "one can be given"), ({"buffer": -1}, "buffer"),
    ):  # fmt: skip
        with pytest.raises((vo.Mismatch, vo.Unsupported), match=text):
            vo.Loader(data, 50, features=["x"], **wrong)


@pytest.mark.parametrize("files", [False, True])
def test_categories_and_one_hot(table: vo.Table, folder: Path, files: bool) -> None:
    data: Any = folder / "arrow" if files else table
    loader = vo.Loader(data, 30, features=["x", "c", "ok"], labels="y", one_hot=["c", "y"], categories={"ok": [True, False]}, row_numbers=True)
    assert loader.categories == {"ok": [True, False], "c": ["ant", "bee", "cat"], "y": [0, 1, 2, 3, 4]}
    x, y, rows = loader.next().numpy()
    assert x.shape == (30, 5) and (x[:, 1:4] == np.eye(3)[rows % 3]).all() and (x[:, 4] == rows % 2).all() and (y == np.eye(5)[rows % 5]).all()
    some = vo.Loader(data, 30, features=["c"], categories={"c": ["bee", "ant"]}, lenient=True).next().numpy()
    assert some[:3, 0].tolist() == [1, 0, -1]
    with pytest.raises(vo.InvalidValue, match="cat"):
        vo.Loader(data, 30, features=["c"], categories={"c": ["bee", "ant"]}).next()
    apart = vo.Loader(data, 30, features=["c", "ok"], one_hot=["c"], layout="columns")
    assert apart.types() == {"c": "int64", "ok": "uint8"}
    columns = apart.next().numpy()
    assert columns["c"].shape == (30, 3) and columns["c"].dtype == np.int64 and columns["ok"].dtype == np.uint8
    for wrong, text in (
        ({"one_hot": ["c"], "categories": ["c"]}, "two encodings"), ({"one_hot": ["z"]}, "no column 'z'"), ({"one_hot": {"c": ["a", "a"]}}, "twice"),
        ({"one_hot": {"c": [b"ant"]}}, "cannot be encoded"), ({}, "no number"), ({"pad": {"c": 3}}, "cannot be encoded"),
    ):  # fmt: skip
        with pytest.raises((vo.Mismatch, vo.Unsupported), match=text):
            vo.Loader(data, 30, features=["c"], **wrong)


def test_lists() -> None:
    t = vo.from_arrow(
        pa.table({
            "a": pa.array([[1, 2], [3], None, [4, 5, 6]], pa.list_(pa.int32())), "b": pa.array([[1.5], [], [2.5, 3.5], []], pa.large_list(pa.float32())),
            "x": [0.0, 1.0, 2.0, 3.0],
        })  # fmt: skip
    )
    loader = vo.Loader(t, 4, pad={"a": 4}, pad_value=-1, ragged={"b": 2}, masks=True)
    assert loader.types() == {"a": "float32", "b": "float32"}
    x, mask, lists, masks = loader.next().numpy()
    assert x[:, 0].tolist() == [0, 1, 2, 3] and mask.all()
    assert lists["a"].tolist() == [[1, 2, -1, -1], [3, -1, -1, -1], [-1] * 4, [4, 5, 6, -1]] and lists["a"].dtype == np.float32
    assert masks["a"].sum(1).tolist() == [2, 1, 0, 3]
    items, offsets = lists["b"]
    assert items.tolist() == [1.5, 2.5, 3.5] and offsets.tolist() == [0, 1, 1, 3, 3] and masks["b"].tolist() == [1, 1, 1]
    alone = vo.Loader(t, 4, features=["a", "b"], pad={"a": 2}, ragged={"b": 2}, lenient=True, layout="columns", masks=True)
    assert alone.types() == {"a": "int32", "b": "float32"}
    columns, _ = alone.next().numpy()
    assert columns["a"].tolist() == [[1, 2], [3, 0], [0, 0], [4, 5]] and columns["a"].dtype == np.int32
    with pytest.raises(vo.InvalidValue, match="3 items"):
        vo.Loader(t, 4, features=["a"], pad={"a": 2}, masks=True).next()
    b = loader.next() or loader.next()
    assert b is not None
    with pytest.raises(vo.Mismatch, match="ragged lists alone"):
        b.offsets("a").capsule()


def test_half_floats(table: vo.Table) -> None:
    x = vo.Loader(table, 100, features=["x"], dtype="float16").next().numpy()
    assert x.dtype == np.float16 and x[:, 0].tolist() == list(range(100))
    loader = vo.Loader(table, 100, features=["x"], labels="g", dtype="bfloat16", label_dtype="float16")
    with pytest.raises(vo.Unsupported, match="bfloat16"):
        loader.numpy()
    b = loader.next()
    capsule = b.features.capsule()
    tensor = _tensor.of(capsule)
    assert (tensor.code, tensor.bits, tensor.shape[:2]) == (4, 16, [100, 1])
    bits = np.ctypeslib.as_array((_tensor.c_uint16 * 100).from_address(tensor.data)).astype(np.uint32) << 16
    assert bits.view(np.float32).tolist() == list(range(100))  # whole numbers below 256 are exact
    assert np.from_dlpack(b.labels).dtype == np.float16


def test_half_floats_round() -> None:
    """Every number that lies between two neighbours becomes what NumPy makes of it, down to the smallest."""
    sizes = 10.0 ** np.arange(-8, 6).repeat(286)
    x = np.concatenate([np.random.default_rng(5).normal(size=len(sizes)) * sizes, [1.0008, 1 + 2**-11, 65519, 65520, 1e-7, -2e-5]]).astype(np.float32)
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    made = vo.Loader(vo.Table({"x": x}), len(x), dtype="float16").next().numpy()
    assert np.array_equal(made[:, 0].view(np.uint16), want.view(np.uint16))


def test_half_floats_as_columns(tmp_path: Path) -> None:
    """Columns of float16: as they are, widened, with nulls, lists of them, and from files."""
    bits = np.arange(0, 0x7C00, 7, dtype=np.uint16)
    x = np.concatenate([bits, bits | 0x8000]).view(np.float16)
    known = np.arange(len(x)) % 5 != 0
    table = pa.table({"x": pa.array(x, mask=~known), "y": pa.array(x), "l": pa.array([x[i : i + i % 3] for i in range(len(x))], pa.list_(pa.float16()))})
    pq.write_table(table.select(["x", "y"]), tmp_path / "h.parquet", row_group_size=1000)
    with vo.Loader(table, 500, layout="columns", masks=True, pad={"l": 2}, epochs=1) as loader:
        assert loader.types() == {"x": "float16", "y": "float16", "l": "float16"}
        at = 0
        for columns, masks in loader.numpy():
            n = len(columns["y"])
            assert np.array_equal(columns["y"].view(np.uint16), x[at : at + n].view(np.uint16))
            assert np.array_equal(masks["x"], known[at : at + n]) and np.array_equal(columns["x"], np.where(known, x, 0)[at : at + n])
            assert all(columns["l"][i, : (at + i) % 3].tolist() == x[at + i :][: (at + i) % 3].tolist() for i in range(n))
            at += n
        assert at == len(x)
    for data in (table, tmp_path / "h.parquet"):
        for dtype, numpy in (("float16", np.float16), ("float32", np.float32), ("float64", np.float64)):
            at = 0
            for f, rows in vo.Loader(data, 500, features=["y"], dtype=dtype, shuffle=True, row_numbers=True, epochs=1).numpy():
                assert f.dtype == numpy and np.array_equal(f[:, 0], x[rows].astype(numpy))
                at += len(rows)
            assert at == len(x)
    with pytest.raises(vo.Unsupported, match="float16"):
        vo.Loader(table, 500, features=["y"], dtype="int32")


def test_damaged_files(table: vo.Table, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table.select("x", "y").write_parquet(path, row_group_size=100, compression="none")
    data = bytearray(path.read_bytes())
    data[40:104] = b"\xff" * 64
    path.write_bytes(data)
    with pytest.raises(vo.VolleyError, match="rows.parquet.*row group 0"):
        vo.Loader(path, 50, workers=0).next()
    loader = vo.Loader(path, 64, row_numbers=True, skip_bad=True)
    assert len(loader) == 16
    batches = [(x.copy(), rows.copy()) for x, rows in loader.numpy()]
    assert [len(rows) for _, rows in batches[:3]] == [0, 28, 64] and loader.stats()["skipped"] >= 100  # those of the next epoch may be made
    assert [int(r) for _, rows in batches for r in rows] == list(range(100, ROWS)) and all((x[:, 0] == rows).all() for x, rows in batches)


def test_damaged_values(tmp_path: Path) -> None:
    """A bit of a value that is another, which nothing but the page's checksum tells."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.arange(ROWS)}), path, row_group_size=100, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[data.index(np.arange(500, 600).tobytes()) + 80] ^= 4
    path.write_bytes(data)
    with pytest.raises(vo.VolleyError, match="rows.parquet: row group 5.*checksum"):
        list(vo.Loader(path, 50, workers=0, prefetch=20).numpy())
    with vo.Loader(path, 50, row_numbers=True, skip_bad=True, shuffle=True, epochs=1) as loader:
        rows = [r for _, rows in loader.numpy() for r in rows.tolist()]
        assert sorted(rows) == [*range(500), *range(600, ROWS)] and loader.stats()["skipped"] == 100


def test_wrong_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.data").write_text("x;y\n1;2\n3;4\n")
    x = vo.Loader(tmp_path / "rows.data", 2, format="csv", csv={"separator": ";"}).next().numpy()
    assert x.tolist() == [[1, 2], [3, 4]]
    parquet = folder / "parquet"
    for data, more, error, text in (
        (tmp_path / "rows.data", {}, vo.Mismatch, "no format"), (tmp_path / "none.parquet", {}, vo.NotFound, "none.parquet"), ([], {}, vo.Mismatch, "no paths"),
        ([*parquet.glob("*.parquet"), folder / "csv" / "0.csv"], {}, vo.Mismatch, "one format"), (parquet, {"csv": {"separator": ";"}}, vo.Mismatch, "csv is given"),
        (parquet, {"take": True}, vo.Mismatch, "take is of a table"), (parquet, {"format": "xml"}, vo.Mismatch, "xml"), (vo.Table({"x": [1.0]}), {"cache": 5}, vo.Mismatch, "are of files"),
        (folder / "csv", {"csv": {"ignore_errors": True}}, vo.Unsupported, "lenient"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            vo.Loader(data, 4, features=["x"], **more)  # type: ignore[arg-type]


def test_files_are_read_with_the_options_of_scans(tmp_path: Path) -> None:
    far = dt.datetime(9999, 12, 31)
    spark = tmp_path / "spark.parquet"
    pq.write_table(pa.table({"when": pa.array([far], pa.timestamp("us"))}), spark, use_deprecated_int96_timestamps=True)
    with pytest.raises(vo.VolleyError, match="when.*9999-12-31"), vo.Loader(spark, 1, epochs=1, dtype="int64") as loader:
        list(loader)
    with vo.Loader(spark, 1, epochs=1, dtype="int64", int96="us") as loader:
        (batch,) = list(loader)
        assert np.from_dlpack(batch.features).view("datetime64[us]").item() == far
    with pytest.raises(vo.Mismatch, match="Int96"):
        vo.Loader(spark, 1, int96="s")

    zeros = tmp_path / "zeros.arrow"
    feather.write_feather(pa.table({"a": [0] * 100_000}), zeros, compression="zstd")
    with pytest.raises(vo.OutOfMemory, match="524288.*max_unpacked"), vo.Loader(zeros, 1000, epochs=1, max_unpacked=1000) as loader:
        list(loader)
    with vo.Loader(zeros, 1000, epochs=1, max_unpacked=524_288) as loader:
        assert sum(1 for _ in loader) == 100

    with pytest.raises(vo.Mismatch, match="int96 is of parquet"):
        vo.Loader(zeros, 1, int96="us")
    with pytest.raises(vo.Mismatch, match="max_unpacked is of arrow"):
        vo.Loader(spark, 1, max_unpacked=1)
    with pytest.raises(vo.Mismatch, match="of files"):
        vo.Loader(vo.Table({"x": [1]}), 1, int96="us")
