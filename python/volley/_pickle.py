"""What objects of the library are in a pickle: tables, columns and matrices their data, whose buffers protocol 5 hands over beside the pickle."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _capsule
from ._arrays import Kind, Made, Values, kind_of, none_of, values_of
from ._library import call

if TYPE_CHECKING:
    from .column import Column
    from .matrix import Matrix
    from .table import Table

_Buffer = Callable[[Any], Any]


def _buffer(protocol: int) -> _Buffer:
    """What a buffer is in a pickle: bytes before protocol 5."""
    return pickle.PickleBuffer if protocol >= 5 else bytes


class _Shared:
    """The dictionaries of a pickle, each once: chunks of a table mostly have the same one, in the same memory."""

    def __init__(self, buffer: _Buffer) -> None:
        self._buffer, self._found, self.all = buffer, dict[Any, int](), list[Any]()

    def packed(self, values: Values) -> Any:
        """An array with its buffers as a pickle has them, as plain tuples; a dictionary is its number here."""
        buffers = tuple(None if b is None else self._buffer(b) for b in values.buffers)
        return values.length, values.nulls, values.offset, buffers, tuple(map(self.packed, values.children)), self._number(values.dictionary)

    def _number(self, dictionary: Values | None) -> int | None:
        if dictionary is None:
            return None
        key = _identity(dictionary)
        if key not in self._found:
            packed = self.packed(dictionary)  # those that are in it come before it
            self._found[key] = len(self.all)
            self.all.append(packed)
        return self._found[key]


def _identity(values: Values) -> Any:
    """What is the same for arrays over the same memory alone."""
    inner = None if values.dictionary is None else _identity(values.dictionary)
    return values.length, values.nulls, values.offset, tuple(map(_place, values.buffers)), tuple(map(_identity, values.children)), inner


def _place(b: Any) -> Any:
    """Where the bytes of a buffer are, or those that were made for it."""
    if isinstance(b, memoryview) and isinstance(b.obj, ctypes.Array):
        return ctypes.addressof(b.obj), b.nbytes
    return None if b is None else bytes(b)


def _plain(value: Any) -> Any:
    """A tree as plain tuples, which a pickle has no class for."""
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _kind(plain: Any) -> Kind:
    code, name, metadata, flags, children, dictionary = plain
    return Kind(code, name, metadata, flags, tuple(map(_kind, children)), None if dictionary is None else _kind(dictionary))


def _values(plain: Any, dictionaries: Sequence[Values] = ()) -> Values:
    length, nulls, offset, buffers, children, dictionary = plain
    if isinstance(dictionary, tuple):  # of a pickle of before
        dictionary = _values(dictionary)
    elif dictionary is not None:
        dictionary = dictionaries[dictionary]
    return Values(length, nulls, offset, buffers, tuple(_values(c, dictionaries) for c in children), dictionary)


def _dictionaries(plain: Any) -> list[Values]:
    found: list[Values] = []
    for p in plain:
        found.append(_values(p, found))
    return found


def reduce_table(table: Table, protocol: int) -> tuple[Any, ...]:
    """A table: its chunks, of the host's memory, and the name of its device."""
    schema = _capsule.Schema()
    call("volley_table_schema", table, byref(schema))
    kind, shared = kind_of(schema), _Shared(_buffer(protocol))
    chunks = [shared.packed(values_of(kind, array, array)) for array in table._chunks()]
    return made_table, (_plain(kind), chunks, table.device.name, shared.all)


class _Stream:
    """Chunks with Arrow's protocol."""

    def __init__(self, chunks: list[Made]) -> None:
        self._chunks = chunks

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        from .loader_batches import _Producer

        return _Producer(self._chunks).capsule()


def made_table(kind: Any, chunks: list[Any], device: str, dictionaries: Sequence[Any] = ()) -> Table:
    """The table of a pickle."""
    from .table import Table

    own, found = _kind(kind), _dictionaries(dictionaries)
    return Table(_Stream([Made(own, _values(c, found)) for c in chunks] or [Made(own, none_of(own))]), device=device)


def reduce_column(column: Column, protocol: int) -> tuple[Any, ...]:
    """A column: its values, of the host's memory, and the name of its device."""
    schema, array = column._near()._exported()
    kind = kind_of(schema)
    shared = _Shared(_buffer(protocol))
    packed = shared.packed(values_of(kind, array, array))
    return made_column, (_plain(kind), packed, column.device.name, shared.all)


def made_column(kind: Any, values: Any, device: str, dictionaries: Sequence[Any] = ()) -> Column:
    """The column of a pickle."""
    from .column import Column

    made = Column(Made(_kind(kind), _values(values, _dictionaries(dictionaries))))
    return made if device == "cpu" else made.to(device)


def reduce_matrix(matrix: Matrix, protocol: int) -> tuple[Any, ...]:
    """A matrix: its elements row by row, and the name of its device."""
    from . import _tensor

    near = matrix if matrix.__dlpack_device__()[0] == 1 else matrix.to("cpu")
    capsule = near.__dlpack__(max_version=(1, 0))
    t = _tensor.of(capsule)
    shape = tuple(t.shape[:2])
    return made_matrix, (_buffer(protocol)(_tensor._contents(t, shape)), shape, t.bits, matrix.device.name)


class _Elements:
    """A tensor of the elements of a matrix."""

    def __init__(self, data: Any, shape: tuple[int, int], bits: int) -> None:
        self._data, self._shape, self._bits = data, shape, bits

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, max_version: Any = None) -> Any:
        from . import _tensor

        return _tensor.wrap(_tensor.copied(bytes(self._data), self._shape, 2, self._bits, True), True)


def made_matrix(data: Any, shape: tuple[int, int], bits: int, device: str) -> Matrix:
    """The matrix of a pickle."""
    from .matrix import Matrix

    made = Matrix(_Elements(data, shape, bits))
    return made if device == "cpu" else made.to(device)


__all__ = ["made_column", "made_matrix", "made_table", "reduce_column", "reduce_matrix", "reduce_table"]
