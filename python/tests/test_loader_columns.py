"""Columns that a loader makes, by functions and by expressions, and where its batches go: pinned memory, devices."""

import subprocess
import sys
import textwrap
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
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
        with pytest.raises(vo.Mismatch, match="the values"):
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
