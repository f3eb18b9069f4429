"""A loader's source of record batches that come one after the other."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_int, c_int32, c_int64, c_void_p
from typing import Any

from . import _abi, _capsule
from ._library import address as _address
from ._library import call, long_make
from .errors import Closed, Mismatch
from .query import Query
from .table import Table

_GetSchema = CFUNCTYPE(c_int, c_void_p, c_void_p)
_Open = CFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(c_char), c_int64)

_producers: dict[int, _Producer] = {}
_numbers = itertools.count(1)


class _Producer:
    """A stream of Arrow's over Python's objects: tables, record batches, or what else has Arrow's protocols, or a dict as Table takes it."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._error = ctypes.create_string_buffer(b"")
        try:
            self._first = _arrow(next(self._items))
        except StopIteration:
            raise Mismatch("there is no batch, of which the columns would be known", "mismatch") from None
        self._arrays = self._all()

    def _all(self) -> Iterator[tuple[int, Any]]:
        columns = None
        for number, item in enumerate(itertools.chain([self._first], map(_arrow, self._items))):
            # The arrays' layout is that of the stream's one schema, whatever they were made with.
            schema, arrays = _opened(item)
            if columns is None:
                columns = schema
            elif why := _differs(columns, schema):
                raise Mismatch(f"batch {number}: {why}", "mismatch")
            yield from arrays

    def capsule(self) -> Any:
        """The stream in a capsule."""
        number = next(_numbers)
        _producers[number] = self
        made = _capsule.ArrowArrayStream()
        call("volley_python_stream", number, _schema, _next, _text, _release, byref(made))
        return _capsule.wrap(made)

    def schema(self, out: int) -> None:
        """Moves a schema out."""
        if hasattr(self._first, "__arrow_c_array__"):
            capsule, _ = _capsule.pair(self._first.__arrow_c_array__(), "__arrow_c_array__")
            _move(_capsule.unwrap(capsule, b"arrow_schema"), out, _capsule.ArrowSchema)
        else:
            schema_of(self._first.__arrow_c_stream__(), out)

    def next(self, out: int) -> None:
        """Moves the next array out."""
        ctypes.memset(out, 0, ctypes.sizeof(_capsule.ArrowArray))
        given = next(self._arrays, None)
        if given is not None:
            _move(given[0], out, _capsule.ArrowArray)

    def guarded(self, work: Callable[[int], None], out: int) -> int:
        """Runs a callback of the stream; an exception is its error."""
        try:
            work(out)
        except BaseException as e:
            self._error = ctypes.create_string_buffer(f"{type(e).__name__}: {e}".encode("utf-8", "replace"))
            return 22  # EINVAL
        return 0

    def text(self) -> int:
        """Where the error's text is."""
        return ctypes.addressof(self._error)

    def close(self) -> None:
        """Ends what gives the batches."""
        for gone in (self._arrays, self._items):
            if hasattr(gone, "close"):
                gone.close()


def _released(number: int) -> None:
    producer = _producers.pop(number, None)
    if producer is not None:
        producer.close()


# The functions that the library's stream calls, with its number.
_schema = CFUNCTYPE(c_int, c_int64, c_void_p)(lambda number, out: _producers[number].guarded(_producers[number].schema, out))
_next = CFUNCTYPE(c_int, c_int64, c_void_p)(lambda number, out: _producers[number].guarded(_producers[number].next, out))
_text = CFUNCTYPE(c_void_p, c_int64)(lambda number: _producers[number].text())
_release = CFUNCTYPE(None, c_int64)(_released)


def _move(address: int, out: int, layout: Any) -> None:
    ctypes.memmove(out, address, ctypes.sizeof(layout))
    layout.from_address(address).release = None


def _arrow(item: Any) -> Any:
    """What has one of Arrow's protocols."""
    return item if hasattr(item, "__arrow_c_array__") or hasattr(item, "__arrow_c_stream__") else Table(item)


_Fields = tuple[str, str, tuple[Any, ...], Any]


def _described(schema: _capsule.ArrowSchema) -> _Fields:
    """A schema as values: name and format, children, dictionary. What a list calls its items says nothing."""
    at = ctypes.cast(schema.children, POINTER(POINTER(_capsule.ArrowSchema)))
    format = schema.format.decode()
    children = tuple(_described(at[i].contents) for i in range(schema.n_children))
    if format != "+s":
        children = tuple(("", *c[1:]) for c in children)
    of = ctypes.cast(schema.dictionary, POINTER(_capsule.ArrowSchema)) if schema.dictionary else None
    return (schema.name or b"").decode("utf-8", "replace"), format, children, _described(of.contents)[1:] if of else None


def _differs(first: _Fields, other: _Fields) -> str:
    """What is other than in the first batch; nothing where the columns are the same."""
    was, now = first[2], other[2]
    if first[1] != other[1] or [c[0] for c in was] != [c[0] for c in now]:
        return f"its columns are {', '.join(repr(c[0]) for c in now)}, and those of the first batch {', '.join(repr(c[0]) for c in was)}"
    for a, b in zip(was, now):
        if a != b:
            return f"column {a[0]!r} is of another type (Arrow's format {b[1]!r}) than in the first batch ({a[1]!r})"
    return ""


def _opened(item: Any) -> tuple[_Fields, Iterator[tuple[int, Any]]]:
    """The columns of an item, and the addresses of its arrays with what keeps them."""
    if hasattr(item, "__arrow_c_array__"):
        schema, array = _capsule.pair(item.__arrow_c_array__(), "__arrow_c_array__")
        columns = _described(_capsule.ArrowSchema.from_address(_capsule.unwrap(schema, b"arrow_schema")))
        return columns, iter([(_capsule.unwrap(array, b"arrow_array"), array)])
    capsule, own = item.__arrow_c_stream__(), _capsule.Schema()
    schema_of(capsule, ctypes.addressof(own))
    stream = _capsule.ArrowArrayStream.from_address(_capsule.unwrap(capsule, b"arrow_array_stream"))
    return _described(own), ((ctypes.addressof(a), (a, capsule)) for a in _capsule.pulled(stream))


def schema_of(capsule: Any, out: int) -> None:
    """Has a stream write its schema."""
    address = _capsule.unwrap(capsule, b"arrow_array_stream")
    stream = _capsule.ArrowArrayStream.from_address(address)
    if not stream.release:
        raise Closed("the stream was read", "closed")
    if _GetSchema(stream.get_schema)(address, out) != 0:
        raise Mismatch(_capsule.said(stream), "mismatch")


class _Columns:
    """The columns of a stream without any rows."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        made = _Producer.__new__(_Producer)
        made._items, made._arrays, made._error = iter(()), iter(()), ctypes.create_string_buffer(b"")
        made.schema = lambda out: schema_of(self._capsule, out)  # type: ignore[method-assign]
        return made.capsule()


class _Given:
    """A capsule as an object with Arrow's protocol."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule


def begins(data: Any) -> tuple[Callable[[], Any], bool] | None:
    """What begins a stream of the data, and whether it can more than once; None of what is no stream: names of files."""
    if isinstance(data, (str, bytes, os.PathLike)):
        return None
    if hasattr(data, "__arrow_c_stream__"):
        return lambda: data.__arrow_c_stream__(), True
    if callable(data):
        return lambda: begun(data()), True
    if isinstance(data, Iterator):
        return lambda: _Producer(data).capsule(), False
    if isinstance(data, Iterable):
        first = next(iter(data), "")
        return None if isinstance(first, (str, os.PathLike)) else (lambda: _Producer(data).capsule(), True)
    raise TypeError(f"a {type(data).__name__} is nothing that a Loader reads: no table, files, or record batches")


def begun(data: Any) -> Any:
    """A stream of what a function gave."""
    made = begins(data)
    if made is None:
        raise Mismatch(f"the function gives {data!r}, and no record batches", "mismatch")
    return made[0]()


def collected(begin: Callable[[], Any]) -> Table:
    """A stream to its end."""
    return Table(_Given(begin()))


class BatchesSource:
    """Record batches of so many rows. Each epoch is read anew; what can be read once has one epoch."""

    def __init__(self, begin: Callable[[], Any], again: bool, rows: int, cache: int) -> None:
        self.table = None
        self.items: dict[str, str] = {}
        self._begin, self._again, self._rows, self._cache = begin, again, rows, cache
        self._first: Any = begin()
        self._empty = Table(_Columns(self._first))
        self.schema = self._empty.schema
        self._open = _Open(self._opened)
        self.keep: list[Any] = [self._open]  # what the library may call

    def empty(self) -> Table:
        """The columns without their rows."""
        return self._empty

    def query(self) -> Query:
        """There is none: the rows go by."""
        raise Mismatch("record batches go by: give the values of categories and one_hot as a dict", "mismatch")

    def _opened(self, _: Any, out: int, message: Any, room: int) -> int:
        try:
            _move(_capsule.unwrap(self._begin(), b"arrow_array_stream"), out, _capsule.ArrowArrayStream)
        except BaseException as e:
            text = f"{type(e).__name__}: {e}".encode("utf-8", "replace")[: room - 1]
            ctypes.memmove(message, text, len(text))
            return _abi.VALUE
        return _abi.OK

    def open(self, options: _abi.volley_loader_options) -> int:
        """The handle of a loader of the library."""
        stream, self._first = self._first, None
        if stream is None:
            if not self._again:
                raise Closed("the batches were read, and cannot be had anew: give a function that makes them, or a list", "closed")
            stream = self._begin()
        o = _abi.volley_batches_options(
            size=ctypes.sizeof(_abi.volley_batches_options), rows=self._rows, cache=self._cache,
            open=_address("volley_python_open") if self._again else None, context=ctypes.cast(self._open, c_void_p),
        )  # fmt: skip
        address = _capsule.unwrap(stream, b"arrow_array_stream")
        return long_make("volley_loader_open_batches", address, byref(o), byref(options), free="volley_loader_free")


__all__ = ["BatchesSource", "begins", "collected"]
