"""Tables on ranks: the operations of Table over a group of processes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref, c_int64, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._calls import guarded, say, shown
from ._distributed_ops import Operators, scan, scan_with
from ._library import Handle, call, encode, handles, library, long_make, make, take_number, take_text, texts
from ._agreed import agreed, told
from ._vectors import numbers_of
from .device import Device, device_of
from .query import Paths, _names, _orders, csv_options, join_options, residual
from .table import Table as LocalTable

if TYPE_CHECKING:
    from .comm import Comm
    from .expr import Expr

__all__ = ["Partitioning", "Table", "broadcast", "scan_csv", "scan_ipc", "scan_parquet", "scatter"]


@dataclass(frozen=True)
class Partitioning:
    """How rows are spread over the ranks, as far as is known: by the "hash" of keys, by "range", "replicated" on all, or "unknown"."""

    scheme: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.scheme} of {', '.join(self.keys)}" if self.keys else self.scheme


class Table(Operators, Handle):
    """A table whose rows are on the ranks of a Comm: this rank's part, and what all know of the parts. Immutable.

    All ranks make it, and call its methods, alike and in the same order; the rows are those of rank 0, then of rank 1, and so on. A rank without rows
    takes part; its columns, and those of type null, take the types of the others. What the ranks do not agree on, and what goes wrong on one of
    them, is one error on all that names the ranks, and the Comm goes on; a rank that is lost is a CollectiveFault.

    >>> from volley import Comm, distributed
    >>> with Comm() as comm:
    ...     flights = distributed.Table(LocalTable({"origin": ["DEN", "CID", "DEN"], "delay": [30, 5, 12]}), comm)
    ...     airports = distributed.Table(LocalTable({"origin": ["DEN", "CID"], "state": ["CO", "IA"]}), comm)
    ...     flights.join(airports, on="origin").gather().rows()
    [('DEN', 30, 'CO'), ('CID', 5, 'IA'), ('DEN', 12, 'CO')]
    """

    __slots__ = ("_comm",)
    _free = "volley_distributed_free"
    _comm: Comm

    @agreed("New")
    def __init__(self, local: Any, comm: Comm) -> None:
        part = local if isinstance(local, LocalTable) else LocalTable(local)
        self._comm = comm
        super().__init__(told(lambda: comm._explained(lambda: long_make("volley_distributed_new", comm, part, free=self._free))))

    @classmethod
    def _of(cls, handle: int, comm: Comm) -> Table:
        t = cls.__new__(cls)
        t._comm = comm
        Handle.__init__(t, handle)
        return t

    _stays = "its rows are on the ranks of this process's group: gather it, or give its local part"

    def _made(self, name: str, *args: Any) -> Table:
        handle = self._handle
        made: int = told(lambda: self._comm._explained(lambda: long_make("volley_distributed_" + name, handle, *args, free=self._free)))
        return Table._of(made, self._comm)

    def __len__(self) -> int:
        return take_number("volley_distributed_rows", self)

    def __repr__(self) -> str:
        if self._value is None:
            return "<distributed.Table, closed>"
        return f"<distributed.Table of {len(self)} rows on {len(self.counts)} ranks, {len(self.local)} on rank {self._comm.rank}, {self.partitioning}>"

    @property
    def comm(self) -> Comm:
        """The group of the ranks."""
        self._handle  # noqa: B018 - a closed table has none
        return self._comm

    @property
    def local(self) -> LocalTable:
        """This rank's part."""
        return LocalTable._of(make("volley_distributed_local", self))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.local.columns

    @property
    def schema(self) -> dict[str, str]:
        """The types of the columns by their names, the same on all ranks."""
        return self.local.schema

    @property
    def counts(self) -> list[int]:
        """The rows of each rank."""
        room = max(1, self._comm.size) if self._comm._value is not None else 1 << 16
        found, n = (c_int64 * room)(), c_int64()
        call("volley_distributed_counts", self, found, room, byref(n))
        return list(found[: n.value])

    @property
    def partitioning(self) -> Partitioning:
        """How the rows are spread over the ranks, as far as is known."""
        scheme, n = c_void_p(), c_int64()
        call("volley_distributed_partitioning", self, byref(scheme), byref(n))
        text = ctypes.string_at(scheme.value or 0).decode()
        library().volley_string_free(scheme)
        return Partitioning(text, tuple(take_text("volley_distributed_key", self, i) for i in range(n.value)))

    def together(self, columns: str | Sequence[str]) -> bool:
        """Whether rows that are equal in these columns are certainly on one rank."""
        names = _names(columns)
        return bool(take_number("volley_distributed_together", self, texts(names), len(names)))

    @agreed("Shuffle")
    def shuffle(self, on: str | Sequence[str] | None = None, *, by_range: Expr | str | Iterable[Expr | str] | None = None,
                descending: bool | Sequence[bool] = False, nulls_last: bool = True) -> Table:  # fmt: skip
        """Spreads the rows anew: by the hash of columns, so that rows of equal keys are on one rank; by ranges of keys, so that all rows of a rank come
        before those of the next one; else one by one to the ranks in turn. A table that is spread so already moves nothing. Rows come in the order of
        the ranks that they were on."""
        if on is not None and by_range is not None:
            raise ValueError(say("on or by_range, not both"))
        if on is not None:
            names = _names(on)
            return self._made("shuffle", texts(names), len(names))
        if by_range is not None:
            orders = _orders((by_range,), descending, nulls_last)
            return self._made("shuffle_range", orders.rows, len(orders.keys))
        return self._made("shuffle_round_robin")

    @agreed("Rebalance")
    def rebalance(self, by: str = "rows") -> Table:
        """As many rows on each rank, or about as many "bytes". The order stays, and no more rows move than must."""
        return self._made("rebalance", encode(by))

    @agreed("Repartition")
    def repartition(self, counts: Sequence[int]) -> Table:
        """So many rows on each rank, in the order that they are in. All ranks give the same counts."""
        self._handle  # noqa: B018 - a closed table is refused before the counts are looked at
        listed = numbers_of("counts", counts)
        return self._made("repartition", listed, len(listed))

    @agreed("Replicate")
    def replicate(self) -> Table:
        """All rows on every rank. Other operations take each row once."""
        return self._made("replicate")

    @agreed("Gather")
    def gather(self, root: int = 0) -> LocalTable | None:
        """All rows as a table of the root; None on the other ranks."""
        handle = self._handle
        made: int = told(lambda: self._comm._explained(lambda: long_make("volley_distributed_gather", handle, root, free="volley_table_free")))
        return LocalTable._of(made) if made else None

    @agreed("Join")
    def join(self, other: Table, on: str | Sequence[str] | None = None, how: str = "inner", *, left_on: str | Sequence[str] | None = None,
             right_on: str | Sequence[str] | None = None, suffix: str = "_right", nulls_equal: bool = False, maintain_order: bool = True,
             where: Expr | str | None = None) -> Table:  # fmt: skip
        """Matches rows with those of another table on the same Comm, as Table.join does: the smaller side goes to all ranks where that moves less, else rows
        go where their keys' hashes say. Each rank has its rows in left order and then right order; there is no order over the ranks. where is a condition
        that pairs of equal keys must meet to match, of inner, left, semi and anti joins: see Query.join."""
        self._handle  # noqa: B018 - a closed table is refused before the other one is looked at
        if not isinstance(other, Table):
            raise TypeError(say(f"a distributed.Table is wanted, not {shown(other)}", other))
        if on is not None and (left_on is not None or right_on is not None):
            raise ValueError(say("on, or left_on and right_on, not both"))
        left, right = _names(on if on is not None else left_on), _names(on if on is not None else right_on)
        if len(left) != len(right):
            raise ValueError(say(f"{len(left)} keys on the left, {len(right)} on the right"))
        condition = residual(where)
        o = join_options(suffix, nulls_equal, maintain_order, condition)
        return self._made("join", other, encode(how), texts(left), texts(right), len(left), byref(o))


    @agreed("Join")
    def merge(self, right: Table, how: str = "inner", on: str | Sequence[str] | None = None, **more: Any) -> Table:
        """``join`` with pandas' order of arguments, and how its outer."""
        return self.join(right, on=on, how=how, **more)


@agreed("Scatter")
def scatter(t: LocalTable | None, comm: Comm, root: int = 0, *, device: Device | str | None = None) -> Table:
    """Spreads the root's table over the ranks, in order, as many rows on each. The other ranks give None. device is where this rank's part is.

    >>> from volley import Comm
    >>> with Comm() as comm:
    ...     len(scatter(LocalTable({"a": [1, 2, 3]}), comm))
    3
    """
    return _from_root("volley_distributed_scatter", t, comm, root, device)


@agreed("Broadcast")
def broadcast(t: LocalTable | None, comm: Comm, root: int = 0, *, device: Device | str | None = None) -> Table:
    """Gives every rank the root's table: a replicated one. The other ranks give None. device is where it is on this rank."""
    return _from_root("volley_distributed_broadcast", t, comm, root, device)


@agreed("Scan")
def scan_parquet(source: Paths, comm: Comm, *, columns: str | Sequence[str] | None = None) -> Table:
    """Parquet files, patterns of their names, or one folder, of which each rank reads a part of about as many bytes. Rows come in the order of the files; every
    rank must see the same ones."""
    return Table._of(scan(comm, source, columns, "parquet"), comm)


@agreed("Scan")
def scan_ipc(source: Paths, comm: Comm, *, columns: str | Sequence[str] | None = None) -> Table:
    """Arrow IPC files, as scan_parquet has Parquet files."""
    return Table._of(scan(comm, source, columns, "arrow"), comm)


@agreed("Scan")
def scan_csv(source: Paths, comm: Comm, *, columns: str | Sequence[str] | None = None, separator: str = ",", has_header: bool = True, new_columns: Sequence[str] = (),
             schema_overrides: Mapping[str, str] | None = None, null_values: str | Sequence[str] = (), infer_schema_length: int = 0, ignore_errors: bool = False,
             hive_partitioning: bool = True) -> Table:  # fmt: skip
    """CSV files, as scan_parquet has Parquet files, with the options of volley.scan_csv."""
    o, _keep = csv_options(separator=separator, has_header=has_header, new_columns=new_columns, schema_overrides=schema_overrides,
                           null_values=null_values, infer_schema_length=infer_schema_length, ignore_errors=ignore_errors,
                           hive_partitioning=hive_partitioning)  # fmt: skip
    return Table._of(scan_with(comm, source, columns, o), comm)


def _from_root(name: str, t: LocalTable | None, comm: Comm, root: int, device: Device | str | None) -> Table:
    if t is not None and not isinstance(t, LocalTable):
        raise TypeError(say(f"a Table is wanted, not {shown(t)}", t))
    where = None if device is None else device_of(device)
    return Table._of(told(lambda: comm._explained(lambda: long_make(name, comm, where, t, root, free=Table._free))), comm)


@agreed("Exchange")
def exchange(comm: Comm, parts: Sequence[LocalTable]) -> LocalTable:
    """See Comm.exchange."""
    comm._handle  # noqa: B018 - a group that was left is refused before the parts are looked at
    listed = list(parts)
    for p in listed:
        if not isinstance(p, LocalTable):
            raise TypeError(say(f"parts are tables, not {shown(p)}", p))
    made: int = told(lambda: comm._explained(lambda: long_make("volley_comm_exchange", comm, handles(listed), len(listed), free="volley_table_free")))
    return LocalTable._of(made)


for _f in (scatter, broadcast, scan_parquet, scan_ipc, scan_csv):
    globals()[_f.__name__] = guarded(_f, _f.__name__, False)
    globals()[_f.__name__].__module__ = __name__
