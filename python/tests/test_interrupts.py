"""Ctrl-C and close() while the library calls functions of the program: it looks between rows."""

from __future__ import annotations

import _thread
import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import volley as vo

np = pytest.importorskip("numpy")
ROWS = 20_000


def loader(decode: Callable[[bytes, Any], None], workers: int) -> vo.Loader:
    t = vo.Table({"x": [float(i) for i in range(ROWS)], "b": [b"1"] * ROWS})
    return vo.Loader(t, ROWS, features=["x", "b"], decode={"b": (decode, "uint8", 1)}, workers=workers, epochs=1)


class Calls:
    """Counts calls, and does something at the tenth."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.count, self._then, self._lock = 0, then, threading.Lock()

    def __call__(self, value: bytes, to: Any) -> None:
        to[0] = 0
        with self._lock:
            self.count += 1
            tenth = self.count == 10
        if tenth:
            self._then()


@pytest.mark.parametrize("workers", [-1, 1])
def test_ctrl_c_while_rows_are_decoded(workers: int) -> None:
    calls = Calls(_thread.interrupt_main)
    opened = None
    with pytest.raises(KeyboardInterrupt):  # a worker may come so far before the loader is there
        opened = loader(calls, workers)
        opened.next()
    if opened is not None:
        opened.close()
    assert 10 <= calls.count < ROWS


def test_closing_while_rows_are_decoded() -> None:
    begun = threading.Event()

    calls = Calls(begun.set)
    opened = loader(calls, 1)
    begun.wait()
    opened.close()
    count = calls.count
    assert 10 <= count < ROWS and calls.count == count


def test_ctrl_c_while_a_function_runs() -> None:
    rows = 0

    def slow(out: Any, x: Any) -> None:
        nonlocal rows
        if rows == 0:
            _thread.interrupt_main()
        rows += len(out)
        for i in range(len(out)):
            out[i] = x[i]

    vo.register("interrupted_copy", ["int64", "int64"], slow)
    t = vo.Table({"x": np.arange(1_000_000)})
    for use in (lambda: t.select(y=vo.function("interrupted_copy", vo.col("x"))), lambda: t.filter(vo.function("interrupted_copy", vo.col("x")) + 1 > 5)):
        rows = 0
        with pytest.raises(KeyboardInterrupt):
            use()
        assert 0 < rows < len(t)
    out = t.head(1000)
    rows = 1
    assert out.select(y=vo.function("interrupted_copy", vo.col("x")))["y"].to_pylist() == list(range(1000))


class Held:
    """A function of a batch that does not end before it is told to, and then reads what it was given."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.begun, self.go_on, self.ended, self.seen = threading.Event(), threading.Event(), threading.Event(), [0.0]
        self._then = then

    def __call__(self, batch: vo.Table) -> vo.Table:
        if len(batch):
            self.begun.set()
            self._then()
            assert self.go_on.wait(60)
            self.seen = batch["x"].to_pylist()
            self.ended.set()
        return batch

    def end(self, want: list[float]) -> None:
        """What the function was given is there as long as it runs."""
        gc.collect()
        assert not self.ended.is_set()
        self.go_on.set()
        assert self.ended.wait(60)
        assert self.seen == want


def sources(tmp_path: Path) -> list[Any]:
    """A table, files that are decoded, files that are mapped, and a generator, each of x from 0 to 99."""
    x = np.arange(100.0)
    vo.Table({"x": x}).write_parquet(tmp_path / "x.parquet")
    vo.Table({"x": x}).write_ipc(tmp_path / "x.arrow", compression="none")
    return [vo.Table({"x": x}), tmp_path / "x.parquet", tmp_path / "x.arrow", (vo.Table({"x": x[i : i + 10]}) for i in range(0, 100, 10))]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("which", range(4))
def test_closing_while_a_batch_is_mapped(workers: int, which: int, tmp_path: Path) -> None:
    source = sources(tmp_path)[which]
    held = Held(lambda: None)
    opened = vo.Loader(source, 100, map_batches=vo.BatchMap(held, "held"), workers=workers, epochs=1, rows=100 if which == 3 else None)
    failures: list[Exception] = []

    def takes() -> None:
        try:
            opened.next()
        except vo.Closed as e:
            failures.append(e)

    other = threading.Thread(target=takes)
    if workers == 0:
        other.start()
    assert held.begun.wait(60)
    opened.close()
    if workers == 0:
        other.join(60)
        assert len(failures) == 1
    del opened, source
    held.end(list(np.arange(100.0)))


def test_ctrl_c_while_a_batch_is_mapped() -> None:
    for workers in (0, 1):
        held = Held(_thread.interrupt_main)
        opened = None
        with pytest.raises(KeyboardInterrupt):
            opened = vo.Loader(vo.Table({"x": np.arange(100.0)}), 100, map_batches=vo.BatchMap(held, "held"), workers=workers, epochs=1)
            opened.next()
        if opened is not None:
            opened.close()
        held.end(list(np.arange(100.0)))


def test_a_map_that_goes_with_its_loader() -> None:
    for _ in range(50):
        held = Held(lambda: None)
        opened = vo.Loader(vo.Table({"x": [1.0]}), 1, map_batches=vo.BatchMap(held, "held"), workers=1, epochs=1)
        opened.close()
        del opened
        held.go_on.set()
        del held
    gc.collect()


@pytest.mark.parametrize("workers", [0, 1])
def test_closing_while_a_generator_runs(workers: int) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def batches() -> Iterator[vo.Table]:
        try:
            yield vo.Table({"x": [1.0, 2.0]})
            begun.set()
            assert go_on.wait(60)
            yield vo.Table({"x": [3.0, 4.0]})
        finally:
            ended.set()

    opened = vo.Loader(batches(), 4, rows=4, workers=workers, epochs=1)
    closed: list[Exception] = []

    def takes() -> None:
        try:
            opened.next()
        except vo.Closed as e:
            closed.append(e)

    other = threading.Thread(target=takes)
    other.start()
    assert begun.wait(60)
    opened.close()
    other.join(60)
    assert len(closed) == 1
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(60)
