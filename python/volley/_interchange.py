"""The data-frame interchange protocol, ``__dataframe__``, over a table's memory in host memory.

Bools come as Arrow has them, bits; texts as UTF-8 with offsets; dictionaries as categories. What the protocol has no word for, such as lists and
decimals, is an error of the column's dtype.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._capsule import ArrowArray, ArrowSchema
from .errors import Unsupported

if TYPE_CHECKING:
    from typing_extensions import Self

    from .column import Column
    from .table import Table


class Kind(enum.IntEnum):
    """The protocol's kinds of types."""

    INT, UINT, FLOAT, BOOL, STRING, DATETIME, CATEGORICAL = 0, 1, 2, 20, 21, 22, 23


class Nulls(enum.IntEnum):
    """How the protocol says which values are null."""

    NONE, BITS = 0, 3


_DTYPES = {
    "c": (Kind.INT, 8), "s": (Kind.INT, 16), "i": (Kind.INT, 32), "l": (Kind.INT, 64), "C": (Kind.UINT, 8), "S": (Kind.UINT, 16), "I": (Kind.UINT, 32),
    "L": (Kind.UINT, 64), "e": (Kind.FLOAT, 16), "f": (Kind.FLOAT, 32), "g": (Kind.FLOAT, 64), "b": (Kind.BOOL, 1), "u": (Kind.STRING, 8),
    "U": (Kind.STRING, 8), "tdD": (Kind.DATETIME, 32), "tdm": (Kind.DATETIME, 64),
}  # fmt: skip
_BITS = (Kind.BOOL, 1, "b", "=")


class _Immutable:
    """What is its own copy: pandas copies what it is given."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Buffer(_Immutable):
    """Memory of a column, which it keeps."""

    def __init__(self, owner: Any, ptr: int, bufsize: int) -> None:
        self._owner, self._ptr, self._size = owner, ptr, bufsize

    @property
    def bufsize(self) -> int:
        """Bytes."""
        return self._size

    @property
    def ptr(self) -> int:
        """The address."""
        return self._ptr

    def __dlpack__(self) -> Any:
        raise NotImplementedError("a buffer of the interchange protocol: take its address")

    def __dlpack_device__(self) -> tuple[int, int | None]:
        return 1, None


class InterchangeColumn(_Immutable):
    """A column as the protocol has it."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._schema, self._array = column._exported()

    @classmethod
    def _inner(cls, owner: InterchangeColumn, schema: ArrowSchema, array: ArrowArray) -> InterchangeColumn:
        made = cls.__new__(cls)
        made._column, made._schema, made._array = owner, schema, array  # type: ignore[assignment]
        return made

    def size(self) -> int:
        """How many values there are."""
        return int(self._array.length)

    @property
    def offset(self) -> int:
        """Values of the buffers before the first one."""
        return int(self._array.offset)

    @property
    def dtype(self) -> tuple[Kind, int, str, str]:
        """Kind, bits, Arrow's format, byte order."""
        code = (self._schema.format or b"").decode()
        if code.startswith("ts"):
            return Kind.DATETIME, 64, code, "="
        if code not in _DTYPES:
            raise Unsupported(f"a column of {getattr(self._column, 'dtype', code)} has no type in the interchange protocol", "unsupported")
        kind, bits = _DTYPES[code]
        return Kind.CATEGORICAL if self._schema.dictionary else kind, bits, code, "="

    @property
    def describe_categorical(self) -> dict[str, Any]:
        """The categories of a dictionary."""
        if not self._schema.dictionary:
            raise TypeError("the column is no dictionary")
        words = InterchangeColumn._inner(self, ArrowSchema.from_address(self._schema.dictionary), ArrowArray.from_address(self._array.dictionary))
        return {"is_ordered": bool(self._schema.flags & 1), "is_dictionary": True, "categories": words}

    @property
    def describe_null(self) -> tuple[Nulls, int | None]:
        """How nulls are marked: by a bit that is 0."""
        return (Nulls.BITS, 0) if self._array.buffers[0] else (Nulls.NONE, None)

    @property
    def null_count(self) -> int:
        """How many values are null."""
        return int(self._array.null_count)

    @property
    def metadata(self) -> dict[str, Any]:
        """There is none."""
        return {}

    def num_chunks(self) -> int:
        """One."""
        return 1

    def get_chunks(self, n_chunks: int | None = None) -> Iterable[InterchangeColumn]:
        """The column, or n_chunks parts of it."""
        if n_chunks in (None, 1):
            return [self]
        return [InterchangeColumn(self._column.slice(a, b - a)) for a, b in _parts(self.size(), n_chunks)]

    def get_buffers(self) -> dict[str, Any]:
        """The buffers with their dtypes: "data", and "validity" and "offsets" or None."""
        kind, bits, code, _ = self.dtype
        a, end = self._array, self.offset + self.size()
        made: dict[str, Any] = {"validity": None, "offsets": None}
        if a.buffers[0]:
            made["validity"] = Buffer(self, a.buffers[0], end + 7 >> 3), _BITS
        if kind == Kind.STRING:
            width = 8 if code == "U" else 4
            last = int.from_bytes(ctypes.string_at(a.buffers[1] + end * width, width), "little")
            made["offsets"] = Buffer(self, a.buffers[1], (end + 1) * width), (Kind.INT, width * 8, "l" if width == 8 else "i", "=")
            made["data"] = Buffer(self, a.buffers[2], last), (Kind.UINT, 8, "C", "=")
        elif kind == Kind.BOOL:
            made["data"] = Buffer(self, a.buffers[1], end + 7 >> 3), _BITS
        else:
            plain = _DTYPES[code][0] if kind == Kind.CATEGORICAL else kind
            made["data"] = Buffer(self, a.buffers[1], end * bits // 8), (plain, bits, code, "=")
        return made


class InterchangeFrame(_Immutable):
    """A table as the protocol has it."""

    version = 0

    def __init__(self, table: Table) -> None:
        self._table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> InterchangeFrame:
        return self

    @property
    def metadata(self) -> dict[str, Any]:
        """There is none."""
        return {}

    def num_columns(self) -> int:
        """How many columns there are."""
        return self._table.shape[1]

    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self._table)

    def num_chunks(self) -> int:
        """One."""
        return 1

    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    def get_column(self, i: int) -> InterchangeColumn:
        """A column by its number."""
        return InterchangeColumn(self._table.column(self._table.columns[i]))

    def get_column_by_name(self, name: str) -> InterchangeColumn:
        """A column by its name."""
        return InterchangeColumn(self._table.column(name))

    def get_columns(self) -> list[InterchangeColumn]:
        """All columns."""
        return [self.get_column_by_name(n) for n in self.column_names()]

    def select_columns(self, indices: Sequence[int]) -> InterchangeFrame:
        """Columns by their numbers."""
        names = self.column_names()
        return self.select_columns_by_name([names[i] for i in indices])

    def select_columns_by_name(self, names: Sequence[str]) -> InterchangeFrame:
        """Columns by their names."""
        return InterchangeFrame(self._table.select(*names))

    def get_chunks(self, n_chunks: int | None = None) -> Iterable[InterchangeFrame]:
        """The table, or n_chunks parts of it."""
        if n_chunks in (None, 1):
            return [self]
        return [InterchangeFrame(self._table.slice(a, b - a)) for a, b in _parts(len(self._table), n_chunks)]


def _parts(rows: int, n: int | None) -> list[tuple[int, int]]:
    count = n or 1
    return [(rows * i // count, rows * (i + 1) // count) for i in range(count)]
