"""Progress of operations that take long: with volley.progress(): table.sort("a")."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_int32, c_void_p
from dataclasses import dataclass
from typing import Any

from . import _abi


@dataclass(frozen=True)
class Progress:
    """How far an operation has come."""

    read: int
    """Rows read from tables and files."""
    total: int
    """Of how many, as far as is known by now."""
    made: int
    """Rows of the result, or written."""
    seconds: float
    """Since it began."""


_Callback = CFUNCTYPE(c_int32, c_void_p, POINTER(_abi.volley_progress))
_state = threading.local()


@contextmanager
def progress(show: Callable[[Progress], Any] | None = None, *, interval: float = 0.1) -> Iterator[None]:
    """While it lasts, operations of this thread show how far they have come: a line on stderr, or show is called, about every interval seconds
    and once at the end, from a thread of the library's. A show that returns False cancels the operation.

    >>> seen = []
    >>> with progress(seen.append):
    ...     len(Table({"a": list(range(100))}).filter("a >= 50"))
    50
    >>> seen[-1].read
    100
    """
    if interval <= 0:
        raise ValueError(f"an interval of {interval} s")
    tell = show or _line

    def report(context: int | None, done: Any) -> int:
        d = done.contents
        try:
            return 1 if tell(Progress(d.read, d.total, d.made, d.seconds)) is False else 0
        except Exception:
            return 1  # what cannot be shown ends the operation

    before = watcher()
    _state.watcher = (_Callback(report), max(1, int(interval * 1000)))
    try:
        yield
    finally:
        _state.watcher = before
        if show is None:
            sys.stderr.write("\n")


def watcher() -> tuple[Any, int] | None:
    """Who watches the operations of this thread, and after how many milliseconds."""
    found: tuple[Any, int] | None = getattr(_state, "watcher", None)
    return found


def watch(lib: ctypes.CDLL, token: c_void_p, who: tuple[Any, int] | None) -> None:
    """Has the calls with a token reported; to nobody for None."""
    callback, interval = who or (None, 0)
    if callback is None:
        lib.volley_token_progress(token, 0, None, None)
    else:
        lib.volley_token_progress(token, interval, lib.volley_python_progress, ctypes.cast(callback, c_void_p))


def _line(p: Progress) -> None:
    whole = max(p.total, p.read, 1)
    filled = 30 * p.read // whole
    sys.stderr.write(f"\r[{'█' * filled}{'·' * (30 - filled)}] {p.read:,} of {whole:,} rows, {p.seconds:.1f} s ")
    sys.stderr.flush()
