"""The loader over record batches that come one after the other: from streams, iterables, generators and functions."""

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import volley as vo
from volley import loader_batches
from volley._library import live

ROWS = 1000


def batches(to: int = ROWS, size: int = 70) -> Iterator[pa.RecordBatch]:
    for at in range(0, to, size):
        x = np.arange(at, min(at + size, to))
        yield pa.record_batch({"x": x.astype(np.float32), "y": x % 3})


class Stream:
    """Has Arrow's protocol of a stream and nothing else, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.asked += 1
        return pa.Table.from_batches(list(batches())).__arrow_c_stream__()


def read(loader: vo.Loader) -> list[float]:
    return [float(v) for x, y in loader.numpy() for v, w in zip(x[:, 0], y[:, 0], strict=True) if w == v % 3]


KINDS: dict[str, Callable[[], Any]] = {
    "generator": batches, "list": lambda: list(batches()), "function": lambda: batches, "stream": Stream, "tables": lambda: [pa.table(b) for b in [pa.Table.from_batches([r]) for r in batches()]],
    "reader": lambda: pa.RecordBatchReader.from_batches(next(batches()).schema, batches()), "dicts": lambda: [b.to_pydict() for b in batches()],
    "chunks": lambda: [vo.Table(pa.Table.from_batches(list(batches())))],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_every_kind(kind: str, workers: int) -> None:
    with vo.Loader(KINDS[kind](), 64, rows=ROWS, labels="y", workers=workers, epochs=1) as loader:
        assert loader.schema.keys() == {"x", "y"} and len(loader) == 16 and loader.table is None
        assert read(loader) == list(range(ROWS))
        assert read(loader) == []
    assert not loader_batches._producers
    with vo.Loader(KINDS[kind](), 64, labels="y", shuffle=True, seed=3, workers=workers) as loader:  # read into memory
        assert loader.table is not None and sorted(read(loader)) == list(range(ROWS))
    assert not loader_batches._producers


def test_epochs_and_states() -> None:
    stream = Stream()
    with vo.Loader(stream, 64, rows=ROWS, labels="y", shuffle="blocks+buffer", buffer=200, seed=5, epochs=3) as loader:
        first = read(loader)
        assert sorted(first) == list(range(ROWS)) and first != sorted(first)
        begun = [float(v) for _ in range(5) if (b := loader.numpy().next()) is not None for v in b[0][:, 0]]
        state = loader.state_dict()
        assert state["epoch"] == 1 and state["position"] == 320
        loader.load_state_dict(state)
        assert sorted(begun + read(loader)) == list(range(ROWS))
        loader.set_epoch(0)
        assert read(loader) == first
    assert stream.asked >= 3
    with vo.Loader(batches(), 64, rows=ROWS, labels="y") as loader:
        with pytest.raises(vo.Closed, match="cannot be had anew"):
            loader.load_state_dict(loader.state_dict())


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("workers", [-1, 1, 3])
def test_rows_before_a_generator_fails(workers: int, drop_last: bool) -> None:
    def batches() -> Any:
        for i in range(3):
            yield vo.Table({"x": np.arange(10 * i, 10 * i + 10, dtype=np.float32)})
        raise RuntimeError("the generator broke")

    loader = vo.Loader(batches(), 8, rows=100, workers=workers, epochs=1, drop_last=drop_last)
    seen = []
    with pytest.raises(vo.Mismatch, match="RuntimeError: the generator broke"):
        for batch in loader:
            seen.append(np.from_dlpack(batch.features).ravel().tolist())
    with pytest.raises(vo.Mismatch, match="RuntimeError: the generator broke"):
        next(iter(loader))
    loader.close()
    assert [len(batch) for batch in seen] == [8, 8, 8] + ([] if drop_last else [6])
    assert sum(seen, []) == list(range(24 if drop_last else 30))


@pytest.mark.parametrize("size", [70, 100, 1000])
@pytest.mark.parametrize("kind", ["generator", "list", "function"])
@pytest.mark.parametrize("workers", [-1, 0, 2])
def test_more_rows_than_announced(workers: int, kind: str, size: int) -> None:
    """All announced rows come, and then an error, whether the others are in the last one's batch or behind it."""
    given: dict[str, Callable[[], Any]] = {"generator": lambda: batches(size=size), "list": lambda: list(batches(size=size)), "function": lambda: lambda: batches(size=size)}
    with vo.Loader(given[kind](), 64, rows=900, labels="y", workers=workers, epochs=1) as loader:
        seen: list[float] = []
        with pytest.raises(vo.Mismatch, match="more rows than 900"):
            for batch in loader:
                seen += np.from_dlpack(batch.features).ravel().tolist()
        assert seen[:900] == list(range(900))
        with pytest.raises(vo.Mismatch, match="more rows than 900"):
            next(iter(loader))
    assert not loader_batches._producers


def test_rows_before_a_damaged_file(tmp_path: Path) -> None:
    for i in range(3):
        vo.Table({"x": np.arange(1000 * i, 1000 * i + 1000, dtype=np.float32)}).write_parquet(str(tmp_path / f"{i}.parquet"), compression="zstd")
    damaged = tmp_path / "1.parquet"
    data = bytearray(damaged.read_bytes())
    for i in range(len(data) // 2, len(data) // 2 + 300):
        data[i] ^= 0xA5
    damaged.write_bytes(data)
    loader = vo.Loader([str(tmp_path / f"{i}.parquet") for i in range(3)], 300, epochs=1)
    seen: list[float] = []
    with pytest.raises(vo.VolleyError, match="1.parquet"):
        for batch in loader:
            seen += np.from_dlpack(batch.features).ravel().tolist()
    loader.close()
    assert seen == list(range(1000))


@pytest.mark.parametrize("repetition", range(10))
def test_batches_that_fail(repetition: int) -> None:
    def breaks() -> Iterator[pa.RecordBatch]:
        yield from batches(490)
        raise KeyError("the source broke")

    ended: list[str] = []

    def closes() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches()
        finally:
            ended.append("closed")

    gc.collect()
    before = live()
    for data, error in ((breaks(), "KeyError: 'the source broke'"), (batches(500), "ended after 500 rows of 1000"), (batches(1001), "more rows than 1000")):
        loader = vo.Loader(data, 64, rows=ROWS, labels="y", workers=repetition % 3)
        with pytest.raises(vo.VolleyError, match=error):
            read(loader)
        loader.close()
    loader = vo.Loader(closes(), 64, rows=ROWS, labels="y", workers=repetition % 3)
    for _ in range(repetition % 4):
        assert loader.numpy().next() is not None
    loader.close()
    while loader_batches._producers:  # what gives the batches ends behind a call that ran when the loader was closed
        time.sleep(0.001)
    assert ended in ([], ["closed"])
    del loader
    gc.collect()
    assert live() <= before


def test_batches_that_are_refused() -> None:
    with pytest.raises(vo.Mismatch, match="no batch"):
        vo.Loader(iter([]), 64, rows=0)
    with pytest.raises(vo.Mismatch, match="has its own"):
        vo.Loader(vo.Table({"x": [1]}), 1, rows=1)
    with pytest.raises(vo.Mismatch, match="rows are of record batches"):
        vo.Loader("nowhere.parquet", 1, rows=1)
    with pytest.raises(vo.Mismatch, match="blocks\\+buffer"):
        vo.Loader(batches(), 1, rows=ROWS, shuffle=True)
    with pytest.raises(vo.Mismatch, match="2 epochs"):
        vo.Loader(batches(), 1, rows=ROWS, epochs=2)
    with pytest.raises(vo.Mismatch, match="as a dict"):
        vo.Loader(batches(), 1, rows=ROWS, categories="y")
    with pytest.raises(vo.Mismatch, match="no record batches"):
        vo.Loader(lambda: "path", 1, rows=ROWS)
    with pytest.raises(TypeError, match="nothing that a Loader reads"):
        vo.Loader(7, 1)
    gc.collect()  # what the errors' tracebacks hold
    assert not loader_batches._producers


def test_batches_of_other_columns() -> None:
    """An array says nothing of its types: one of others would be read as those of the first batch."""
    first, swapped = pa.record_batch({"x": [1.0, 2.0], "y": [5.0, 6.0]}), pa.record_batch({"y": [5.0, 6.0], "x": [1.0, 2.0]})
    ints, narrow = pa.record_batch({"x": [1, 2], "y": [5.0, 6.0]}), pa.record_batch({"x": pa.array([1, 2], pa.float32()), "y": [5.0, 6.0]})
    lists = [pa.record_batch({"x": [1.0], "y": pa.array([[1]], pa.list_(pa.field(n, t)))}) for n, t in (("a", pa.int32()), ("b", pa.int32()), ("a", pa.int64()))]
    for head, other, why in [
        (first, swapped, "batch 1: its columns are 'y', 'x'"), (first, ints, "batch 1: column 'x'"), (first, narrow, "batch 1: column 'x'"),
        (first, pa.Table.from_batches([ints]), "batch 1: column 'x'"), (lists[0], lists[2], "batch 1: column 'y'"),
    ]:  # fmt: skip
        pad = {"y": 1} if head is lists[0] else None
        with pytest.raises(vo.Mismatch, match=why):
            vo.Loader([head, other], 2, pad=pad)
        with pytest.raises(vo.Mismatch, match=why):
            with vo.Loader(iter([head, other]), 2, rows=head.num_rows + other.num_rows, pad=pad) as loader:
                list(loader.numpy())
    with vo.Loader([lists[0], lists[1]], 2, pad={"y": 1}) as loader:  # what the items are called says nothing
        assert len(list(loader.numpy())) == 1
    with vo.Loader(iter([first, pa.RecordBatchReader.from_batches(first.schema, [first])]), 2, rows=4) as loader:
        assert [b.tolist() for b in loader.numpy()] == 2 * [[[1.0, 5.0], [2.0, 6.0]]]
