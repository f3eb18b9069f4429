"""Columns of tables in several chunks: put together when their memory is asked for, and not before, so that ``t["v"][i]`` reads one chunk."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ._library import encode, long_make, take_text

if TYPE_CHECKING:
    from .table import Table


class Unjoined:
    """What a column is made of later: a table of it alone, which shares the chunks' memory."""

    def __init__(self, table: Table, name: str) -> None:
        self.table, self.name, self.lock = table, name, threading.Lock()

    def join(self) -> int:
        """The handle of the whole column, a copy of all chunks."""
        return long_make("volley_table_column", self.table, encode(self.name), free="volley_column_free")

    def dtype(self) -> str:
        """The name of the type."""
        return take_text("volley_table_type", self.table, 0)
