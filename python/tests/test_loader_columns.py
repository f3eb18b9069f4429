"""Columns that a loader makes, by functions and by expressions, and where its batches go: pinned memory, devices."""

import subprocess
import sys
import textwrap
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
import volley as vo
import volley.loader
from volley.loader_decode import Decode

ROWS = 300


@pytest.fixture(scope="module")
def images() -> vo.Table:
    """x: the row's number; image: four bytes of it, and 5 where x is a multiple of 50."""
    values = [bytes([x % 256] * (5 if x % 50 == 49 else 4)) for x in range(ROWS)]
    return vo.Table(pa.table({"x": np.arange(ROWS, dtype=np.float32), "y": np.arange(ROWS) % 7, "image": pa.array(values, pa.binary())}))


def ignoring_length(value: bytes, out: Any) -> None:
    out[:] = np.frombuffer(value[:4], np.uint8)


def strict(value: bytes, out: Any) -> None:
    if len(value) != 4:
        raise ValueError(f"an image of {len(value)} bytes")
    ignoring_length(value, out)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("layout", ["row_major", "columns"])
def test_decode(images: vo.Table, workers: int, layout: str) -> None:
    with vo.Loader(images, 32, features=["x", "image"], decode={"image": (ignoring_length, "uint8", 4)}, shuffle=True, workers=workers, layout=layout,
                   row_numbers=True, epochs=1) as loader:  # fmt: skip
        assert loader.types()["image"] == "uint8"
        seen: list[int] = []
        for *_, apart, rows in loader.numpy():
            assert apart["image"].dtype == np.uint8 and (apart["image"] == (rows % 256)[:, None]).all()
            seen += rows.tolist()
        assert sorted(seen) == list(range(ROWS))


def test_decode_that_fails(images: vo.Table) -> None:
    more: dict[str, Any] = {"features": ["x", "image"], "decode": {"image": (strict, "uint8", 4)}, "epochs": 1}
    with vo.Loader(images, 32, **more) as loader, pytest.raises(vo.InvalidValue, match='row 49 of column "image".*ValueError: an image of 5 bytes'):
        list(loader.numpy())
    with vo.Loader(images, 32, skip_bad=True, **more) as loader:
        assert sum(len(x) for x, _ in loader.numpy()) == ROWS - 6 and loader.stats()["skipped"] == 6
    for bad, error in (({"image": strict}, "function, dtype"), ({"nothing": (strict, "uint8", 4)}, "nothing"), ({"image": (strict, "utf8", 4)}, "fixed width")):
        with pytest.raises(vo.Mismatch, match=error):
            vo.Loader(images, 32, features=["image"], decode=bad)
    with pytest.raises(vo.Mismatch, match="two encodings"):
        vo.Loader(images, 32, features=["image"], decode=more["decode"], pad={"image": 2})
    with pytest.raises(TypeError, match="no function"):
        vo.Loader(images, 32, features=["image"], decode={"image": ("text", "uint8", 4)})


def test_decode_in_c(images: vo.Table) -> None:
    def count(_: Any, value: int, size: int, to: int, room: int, message: Any, said: int) -> int:
        return 0 if size == 4 else 3

    with vo.Loader(images, 32, features=["image"], decode={"image": (Decode(count), "float32", 1)}) as loader, pytest.raises(vo.InvalidValue, match="returned 3"):
        list(loader.numpy())


def test_a_program_that_ends_with_its_workers_busy() -> None:
    program = """
        import volley as vo
        t = vo.Table({"x": ["a"] * 100000})
        loader = vo.Loader(t, 10, decode={"x": (lambda value, out: None, "uint8", 1)}, workers=2)
        loader.next()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_derive(images: vo.Table, tmp_path: Any) -> None:
    images.select("x", "y").write_parquet(tmp_path / "t.parquet", row_group_size=40)
    derive = {"z": "(x - 3) / 2", "y": vo.col("y") * 10}
    for data in (images, tmp_path / "t.parquet"):
        with vo.Loader(data, 32, features=["z", "x", "y"], derive=derive, shuffle=True, seed=1, row_numbers=True, epochs=1) as loader:
            assert loader.schema["z"] in ("float64", "float32")
            for x, rows in loader.numpy():
                assert np.array_equal(x, np.stack([(rows - 3) / 2, rows, rows % 7 * 10], 1).astype(np.float32))
            state = loader.state_dict()
            loader.load_state_dict(state)
        with pytest.raises(vo.Mismatch, match="changed: the expressions, or the function of batches"):
            vo.Loader(data, 32, features=["z", "x", "y"], derive={**derive, "z": "x"}, shuffle=True, seed=1, state=state)
    with vo.Loader(images, 32, features=["s", "y"], layout="columns", derive={"s": vo.col("x").cast("int16"), "y": "y"}) as loader:
        assert loader.types() == {"s": "int16", "y": "int64"} and loader.numpy().next()["s"].dtype == np.int16
    with pytest.raises(vo.VolleyError, match="nothing"):
        vo.Loader(images, 32, features=["z"], derive={"z": "nothing + 1"})


def test_pinned_memory_or_a_warning_once(images: vo.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volley.loader, "_told", set())
    there = any(d.kind == "cuda" and not d.why for d in vo.devices())
    for told in (not there, False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with vo.Loader(images, 32, features=["x"], pin_memory=True, epochs=1) as loader:
                assert sum(len(x) for x in loader.numpy()) == ROWS
        assert [str(w.message)[:26] for w in caught] == ["there is no pinned memory,"] * told


def test_torch_gets_pinned_tensors(images: vo.Table) -> None:
    torch = pytest.importorskip("torch", reason="no python3-torch: python.sh says why")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = vo.Loader(images, 32, features=["x"], pin_memory=True)
    x = next(iter(loader.torch()))
    assert x.is_pinned() == torch.cuda.is_available() and x.device.type == "cpu"
    loader.close()


def test_the_cpu_is_no_device_of_its_own(images: vo.Table) -> None:
    with vo.Loader(images, 32, features=["x"], device="cpu") as loader:
        assert loader.device == "cpu" and loader.numpy().next()[3, 0] == 3
        batch = loader.next()
        assert batch is not None and batch.features.__dlpack_device__() == (1, 0)
        with pytest.raises(BufferError):
            batch.features.__dlpack__(stream=1)


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return pa.table({"from": [f"p{x * x % 7}" for x in range(ROWS)], "x": np.arange(ROWS, dtype=np.float64)})


AIRPORTS = vo.Table({"code": ["p0", "p1", "p2", "p4"], "runways": [1, 2, 3, 5]})
RUNWAYS = {0: 1, 1: 2, 2: 3, 4: 5}


def with_runways(batch: vo.Table) -> Any:
    return batch.lazy().join(AIRPORTS, left_on="from", right_on="code", how="left").select("x", "runways")


def in_pyarrow(batch: vo.Table) -> Any:
    table = pa.table(batch)
    keys = pa.table(AIRPORTS)
    at = pa.compute.index_in(table["from"], keys["code"])
    made = pa.table({"x": table["x"], "runways": keys["runways"].take(at)})
    return made.combine_chunks().to_batches()[0] if len(made) else made


@pytest.mark.parametrize("function", [with_runways, in_pyarrow])
@pytest.mark.parametrize("workers", [0, 2])
def test_map_batches(flights: pa.Table, tmp_path: Any, function: Any, workers: int) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(flights, tmp_path / "t.parquet", row_group_size=40)
    by = vo.BatchMap(function, "runways 1")
    more: dict[str, Any] = {"labels": "runways", "epochs": 2, "workers": workers, "row_numbers": True, "map_batches": by, "derive": {"half": "runways / 2.0"}}
    for data, shuffle in ((flights, True), (tmp_path / "t.parquet", True), (tmp_path / "t.parquet", False)):
        with vo.Loader(data, 32, shuffle=shuffle, **more) as loader:
            assert loader.features == ["x", "half"]
            for _ in range(2):
                seen: list[int] = []
                for x, labels, rows in loader.numpy():
                    runways = np.array([RUNWAYS[r * r % 7] for r in rows.tolist()], np.float32)
                    assert np.array_equal(x, np.stack([rows, runways / 2], 1)) and np.array_equal(labels[:, 0], runways)
                    seen += rows.tolist()
                assert sorted(seen[:ROWS]) == list(range(ROWS))
    with vo.Loader(flights, 32, **more) as loader:
        state = loader.state_dict()
        loader.load_state_dict(state)
        with pytest.raises(vo.Mismatch, match="changed: the expressions, or the function of batches"):
            vo.Loader(flights, 32, **{**more, "map_batches": vo.BatchMap(function, "runways 2")}, state=state)


def test_map_batches_filters(flights: pa.Table) -> None:
    low = vo.BatchMap(lambda batch: batch.filter(vo.col("x") < 50), "low", columns=["x"], max_rows=32)
    with vo.Loader(flights, 32, map_batches=low, epochs=1) as loader:
        sizes = [len(x) for x in loader.numpy()]
        assert sizes == [32, 18] + [0] * 8


def test_map_batches_that_fails(flights: pa.Table) -> None:
    def broken(batch: vo.Table) -> Any:
        if len(batch):
            raise RuntimeError("broken in two")
        return batch

    with vo.Loader(flights, 32, features=["x"], map_batches=vo.BatchMap(broken, "broken")) as loader:
        with pytest.raises(vo.InvalidValue, match='batch 0 of epoch 0, at position 0: transform: "broken": .*RuntimeError: broken in two'):
            loader.next()
    fewer = vo.BatchMap(lambda batch: batch.head(7), "fewer")
    with vo.Loader(flights, 32, features=["x"], map_batches=fewer) as loader, pytest.raises(vo.Mismatch, match="7 rows were made of 32"):
        loader.next()
    nothing = vo.BatchMap(lambda batch: None if len(batch) else batch, "nothing")
    with vo.Loader(flights, 32, features=["x"], map_batches=nothing) as loader, pytest.raises(vo.InvalidValue, match="TypeError"):
        loader.next()
    with pytest.raises(vo.Mismatch, match="name"):
        vo.Loader(flights, 32, features=["x"], map_batches=vo.BatchMap(with_runways, ""))
    with pytest.raises(TypeError, match="no function"):
        vo.BatchMap("text", "text")  # type: ignore[arg-type]
    with pytest.raises(vo.Mismatch, match="batch by batch"):
        vo.Loader(flights, 32, map_batches=fewer, categories="from")
