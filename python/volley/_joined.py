"""Columns of tables: made when their memory is asked for, and not before, so that ``t["v"][i]`` reads one value of one chunk. Tables are immutable: what was
read of them once is kept."""

from __future__ import annotations

import bisect
import itertools
import threading
from typing import TYPE_CHECKING, Any

from ._library import encode, long_make, take_text
from ._values import fields, value

if TYPE_CHECKING:
    from .column import Column
    from .table import Table


class Alone:
    """A column of a table of several chunks: a table of it alone, which shares their memory."""

    def __init__(self, table: Table, name: str) -> None:
        self.table, self.name, self.rows = table, name, len(table)
        self._values: tuple[list[int], Any, list[Any], list[Any]] | None = None

    def join(self) -> int:
        """The handle of the whole column, a copy of all chunks."""
        return long_make("volley_table_column", self.table, encode(self.name), free="volley_column_free")

    def dtype(self) -> str:
        """The name of the type."""
        return take_text("volley_table_type", self.table, 0)

    def slice(self, offset: int, length: int) -> Column:
        """A part of the column."""
        return self.table.slice(offset, length).column(self.name)

    def value(self, i: int) -> Any:
        """A value by its number, which is from 0 on and below rows."""
        seen = self._values
        if seen is None:
            schema = self.table._schema()
            chunks = [c for c in self.table._chunks() if c.length]
            ends = list(itertools.accumulate(c.length for c in chunks))
            # Schema and chunks own the memory of the parts.
            self._values = seen = ends, schema, [fields(schema, c)[0] for c in chunks], chunks
        ends, _, parts, chunks = seen
        at = bisect.bisect_right(ends, i)
        kind, array = parts[at]
        return value(kind, array, array.offset + chunks[at].offset + i - (ends[at - 1] if at else 0))


class Shared:
    """A column of a table of one chunk, which all that are taken from the table share."""

    def __init__(self, column: Column) -> None:
        self.column, self.rows = column, len(column)

    def join(self) -> int:
        """A handle of the same memory."""
        part = self.column.slice(0)
        handle, part._value = part._handle, None
        return handle

    def dtype(self) -> str:
        """The name of the type."""
        return self.column.dtype

    def slice(self, offset: int, length: int) -> Column:
        """A part of the column."""
        return self.column.slice(offset, length)

    def value(self, i: int) -> Any:
        """A value by its number, which is from 0 on and below rows."""
        return self.column._value_at(i)


class Unjoined:
    """What a column is made of later, once."""

    def __init__(self, parts: Alone | Shared) -> None:
        self.parts, self.lock = parts, threading.Lock()
