"""A function of the program that makes a table of each batch's rows."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char, c_int32, c_int64, c_void_p
from typing import Any, NoReturn, SupportsIndex

from . import _abi, _capsule
from ._calls import public, say, shown
from ._library import address, encode, texts
from .errors import Mismatch
from .loader_batches import _arrow, _Given, _move, _Producer
from .loader_source import Source, _items
from .query import Query
from .table import Table

_Map = CFUNCTYPE(c_int32, c_int64, c_void_p, c_void_p, POINTER(c_char), c_int64)


class _Call(ctypes.Structure):
    """What volley_python_map is given."""

    _fields_ = (("call", _Map), ("number", c_int64))


# The maps that there are, by their numbers. Nobody waits for a call of one that runs when its loader is closed, or that has yet to get the GIL: so the
# library is told a function and numbers that stay, and not what goes with a BatchMap.
_maps: weakref.WeakValueDictionary[int, BatchMap] = weakref.WeakValueDictionary()
_calls: list[_Call] = []


def _run(number: int, batch: int, result: int, message: Any, room: int) -> int:
    of = _maps.get(number)
    return _abi.CANCELED if of is None else of._run(batch, result, message, room)


_called = _Map(_run)


@public
class BatchMap:
    """A function that makes of each batch's rows the table that its tensors are gathered from. It is given a ``Table``, which pyarrow, pandas and Polars
    read without a copy (``pyarrow.table(batch)``), and gives a table of theirs, a record batch, a ``Table``, a ``Query``, or what else has Arrow's
    protocols. It is called by several threads at a time, and first with a table without rows, to learn the columns of what it gives. Nobody
    waits for a call that runs when the loader is closed, or Ctrl-C comes: its thread ends later, and what it gives is dropped.

    name tells the function apart from others and from its earlier versions: a state that was taken with another name is refused. columns are those that it
    is given, None all. max_rows is how many rows a result may have at most, where their number changes; 0: as many as it was given, row for row.

    >>> import volley as vo
    >>> flights = vo.Table({"from": ["OSL", "BGO", "OSL"], "delay": [1.0, 5.0, 3.0]})
    >>> airports = vo.Table({"iata": ["OSL", "BGO"], "runways": [2, 1]})
    >>> runways = vo.BatchMap(lambda batch: batch.join(airports, left_on="from", right_on="iata", how="left").select("delay", "runways"), "runways 1")
    >>> with vo.Loader(flights, 2, map_batches=runways, epochs=1) as loader:
    ...     [memoryview(x).tolist() for x in loader.numpy()]
    [[[1.0, 2.0], [5.0, 1.0]], [[3.0, 2.0]]]
    """

    def __init__(self, function: Callable[[Table], Any], name: str, columns: Sequence[str] | None = None, max_rows: int = 0) -> None:
        if not callable(function):
            raise TypeError(say(f"{shown(function)} is no function", function))
        self.function, self.name, self.max_rows = function, name, max_rows
        self.columns = None if columns is None else list(columns)
        self._texts = texts(self.columns or [])
        self._call = _Call(_called, len(_calls))
        _calls.append(self._call)
        _maps[self._call.number] = self

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return BatchMap, (self.function, self.name, self.columns, self.max_rows)

    def apply(self, batch: Table) -> Any:
        """What the function makes of a table, as something with Arrow's protocols."""
        made = self.function(batch)
        return _arrow(made.collect() if isinstance(made, Query) else made)

    def _run(self, batch: int, result: int, message: Any, room: int) -> int:
        try:
            own = _capsule.ArrowArrayStream()
            _move(batch, ctypes.addressof(own), _capsule.ArrowArrayStream)
            made = self.apply(Table(_Given(_capsule.wrap(own)), device="cpu"))
            capsule = made.__arrow_c_stream__() if hasattr(made, "__arrow_c_stream__") else _Producer([made]).capsule()
            _move(_capsule.unwrap(capsule, b"arrow_array_stream"), result, _capsule.ArrowArrayStream)
        except BaseException as e:
            text = f"{type(e).__name__}: {e}".encode("utf-8", "replace")[: room - 1]
            ctypes.memmove(message, text, len(text))
            return _abi.VALUE
        return _abi.OK

    def structure(self) -> _abi.volley_batch_map:
        """The library's structure, which is good as long as this object lives."""
        return _abi.volley_batch_map(
            size=ctypes.sizeof(_abi.volley_batch_map), name=encode(self.name), max_rows=self.max_rows, map=address("volley_python_map"),
            context=ctypes.addressof(self._call), permanent=True,
            columns=None if self.columns is None else ctypes.addressof(self._texts), columns_count=len(self.columns or ()),
        )  # fmt: skip


class MappedSource:
    """The columns that a map makes of those of a source."""

    def __init__(self, source: Source, by: BatchMap) -> None:
        self.by, self._source, self.table = by, source, source.table
        given = source.empty()
        self._empty = Table(by.apply(given if by.columns is None else given.select(*by.columns)), device="cpu")
        self.schema, self.items = self._empty.schema, _items(self._empty)
        self.keep = [by, getattr(source, "keep", None)]  # what the library may call

    def empty(self) -> Table:
        """The columns without any rows."""
        return self._empty

    def query(self) -> NoReturn:
        """There is none: the columns are made batch by batch."""
        raise Mismatch(f"the map {self.by.name!r} makes the columns batch by batch: give the values of categories and one_hot as a dict", "mismatch")

    def open(self, options: _abi.volley_loader_options) -> int:
        """The handle of a loader of the library."""
        return self._source.open(options)


__all__ = ["BatchMap", "MappedSource"]
