"""How much host memory the library holds, and may hold."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import NamedTuple

from ._library import call


class Memory(NamedTuple):
    """What the library holds of the host's memory, in bytes."""

    held: int
    """By columns, tables, readers and loaders, with what is kept to use again."""
    limit: int | None
    """How much that may be; None is no limit."""


def memory() -> Memory:
    """What the library holds of the host's memory, and may hold."""
    held, limit = c_int64(), c_int64()
    call("volley_memory", byref(held), byref(limit))
    return Memory(held.value, limit.value or None)


def set_memory_limit(limit: int | None) -> None:
    """Has the library hold up to so many bytes of host memory at a time; None is no limit. An operation that needs more raises
    :class:`OutOfMemory`, which says what it asked for, what is held and the limit. What is held stays, and later operations that fit go on working.

    The environment variable ``VOLLEY_MEMORY`` (``4GiB``, ``512MiB``, or bytes) is the limit from the beginning. Memory of Python's that columns are over,
    such as NumPy's, memory of devices, and what the library's runtime needs beside it do not count.

    >>> import volley as vo
    >>> vo.set_memory_limit(1_000_000)
    >>> try:
    ...     vo.Table({"x": list(range(1_000_000))}).select(y=vo.col("x") + 1)
    ... except vo.OutOfMemory as e:
    ...     "of a limit of" in str(e)
    True
    >>> vo.set_memory_limit(None)
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise TypeError(f"set_memory_limit takes a number of bytes, or None, not {limit!r}")
    if limit is not None and limit < 1:
        raise ValueError(f"a memory limit of {limit} bytes: None is no limit")
    call("volley_set_memory_limit", limit or 0)
