"""Ctrl-C and close() while the library calls functions of the program: it looks between rows."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
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
