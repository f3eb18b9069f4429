"""What a loader reads: a table, or files of any size."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from ctypes import byref
from pathlib import Path
from typing import Any

from . import _abi, _capsule
from ._calls import say
from ._library import call, encode, long_make, texts
from .errors import Mismatch
from .loader_batches import BatchesSource, begins, collected
from .query import Paths, Query, csv_options, scan_csv, scan_ipc, scan_parquet
from .table import Table

_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".arrows": "arrow",
}  # fmt: skip


# Arrow's letters of the types of items, and their names.
_ITEMS = {
    "c": "int8", "s": "int16", "i": "int32", "l": "int64", "C": "uint8", "S": "uint16", "I": "uint32", "L": "uint64", "e": "float16", "f": "float32", "g": "float64",
}  # fmt: skip


def _items(table: Table) -> dict[str, str]:
    """The types of the items of the columns of lists of numbers."""
    schema, items = _capsule.Schema(), {}
    call("volley_table_schema", table, byref(schema))
    for name, child in zip(table.columns, _children(schema)):
        if child.format in (b"+l", b"+L"):
            items[name] = _ITEMS.get(_children(child)[0].format.decode(), "")
    return items


def _children(schema: _capsule.ArrowSchema) -> list[_capsule.ArrowSchema]:
    at = ctypes.cast(schema.children, ctypes.POINTER(ctypes.POINTER(_capsule.ArrowSchema)))
    return [at[i].contents for i in range(schema.n_children)]


class TableSource:
    """A table in memory. A query is collected."""

    def __init__(self, table: Table | Query) -> None:
        self.table = table.collect() if isinstance(table, Query) else table
        self.schema, self.items = self.table.schema, _items(self.table)

    def empty(self) -> Table:
        """The columns without their rows."""
        return self.table.head(0)

    def query(self) -> Query:
        """A query over all rows."""
        return self.table.lazy()

    def open(self, options: _abi.volley_loader_options) -> int:
        """The handle of a loader of the library."""
        return long_make("volley_loader_open", self.table, byref(options), free="volley_loader_free")


class FileSource:
    """Files, patterns of their names, and folders, in their order. csv are arguments of scan_csv, int96 of scan_parquet, max_unpacked of scan_ipc."""

    def __init__(self, paths: Paths, format: str | None, csv: Mapping[str, Any] | None, cache: int, int96: str | None, max_unpacked: int) -> None:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        self.paths = [f for p in given for f in _files(os.fspath(p))]
        if not self.paths:
            raise Mismatch("no paths", "mismatch")
        self.format = format or _FORMATS.get(Path(self.paths[0]).suffix.lower(), "")
        self.cache, self.csv = cache, dict(csv or {})
        if not format and self.format == "csv" and Path(self.paths[0]).suffix.lower() == ".tsv":
            self.csv.setdefault("separator", "\t")
        if format is None and self.csv and self.format != "csv":
            raise Mismatch(f"csv is given for files of {self.format or 'no known format'}", "mismatch")
        for given_for, argument, is_given in (("parquet", "int96", int96 is not None), ("arrow", "max_unpacked", max_unpacked != 0)):
            if is_given and self.format != given_for:
                raise Mismatch(say(f"{argument} is of {given_for}, and given for files of {self.format or 'no known format'}"), "mismatch")
        self.int96, self.max_unpacked = int96 or "ns", max_unpacked
        self._named = format
        empty = self._scan(self.paths[:1]).head(0).collect()
        self.table, self.schema, self.items, self._empty = None, empty.schema, _items(empty), empty

    def empty(self) -> Table:
        """The columns without their rows."""
        return self._empty

    def _scan(self, paths: list[str]) -> Query:
        if self.format == "parquet":
            return scan_parquet(paths, int96=self.int96, device="cpu")
        if self.format == "csv":
            return scan_csv(paths, device="cpu", **self.csv)
        if self.format == "arrow":
            return scan_ipc(paths, max_unpacked=self.max_unpacked, device="cpu")
        raise Mismatch(f"there is no format {self.format!r} ({paths[0]}); there are parquet, csv, arrow", "mismatch")

    def query(self) -> Query:
        """A query over all rows."""
        return self._scan(self.paths)

    def open(self, options: _abi.volley_loader_options) -> int:
        """The handle of a loader of the library."""
        csv, keep = csv_options(**self.csv)
        scan = _abi.volley_scan_options(ctypes.sizeof(_abi.volley_scan_options), encode(self.int96), self.max_unpacked, 0)
        o = _abi.volley_file_options(
            size=ctypes.sizeof(_abi.volley_file_options), format=None if self._named is None else encode(self._named),
            csv=ctypes.addressof(csv) if self.csv else None, cache=self.cache, scan=ctypes.addressof(scan),
        )  # fmt: skip
        made = long_make("volley_loader_open_files", texts(self.paths), len(self.paths), byref(o), byref(options), free="volley_loader_free")
        del keep  # what csv points at, until here
        return made


def _files(path: str) -> list[str]:
    """A path, or what is in a folder, and in those in it that are named key=value, but what is named as no data; an empty one itself, which is
    then said to be."""
    if not os.path.isdir(path):
        return [path]
    files: list[str] = []
    for e in sorted(os.scandir(path), key=lambda e: e.name):
        if e.name[0] not in "._" and (not e.is_dir() or "=" in e.name):
            files += _files(e.path) if e.is_dir() else [e.path]
    return files or [path]


Source = TableSource | FileSource | BatchesSource


def source_of(data: Any, format: str | None, csv: Mapping[str, Any] | None, cache: int, rows: int | None, int96: str | None, max_unpacked: int) -> Source:
    """The source of what a Loader is made of."""
    made = None if isinstance(data, (Table, Query)) else begins(data)
    if made is None and not isinstance(data, (Table, Query)):
        if rows is not None:
            raise Mismatch("rows are of record batches: files say themselves how many they have", "mismatch")
        return FileSource(data, format, csv, cache, int96, max_unpacked)
    if format is not None or csv is not None or cache and rows is None or int96 is not None or max_unpacked:
        raise Mismatch("format, csv, int96, max_unpacked and cache are of files", "mismatch")
    if made is not None and rows is not None:
        source = BatchesSource(*made, rows, cache)
        source.items = _items(source.empty())
        return source
    if rows is not None:
        raise Mismatch("rows are of record batches: a table has its own", "mismatch")
    return TableSource(data if made is None else collected(made[0]))
