"""The exceptions of volley. Each keeps the library's message, its kind and the device."""

from __future__ import annotations

from collections.abc import Sequence

from . import _abi


class VolleyError(Exception):
    """What every error of the library is."""

    def __init__(self, message: str, kind: str = "", device: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.device = device
        self.given = False  # whether a call of the library gave it
        self.told = False  # whether all ranks of a group know of it


class Unavailable(VolleyError):
    """The device or its driver is not there; the message says why."""


class Unsupported(VolleyError, NotImplementedError):
    """A kernel, a type or an option that is not there."""


class OutOfMemory(VolleyError, MemoryError):
    """A device, or a limit set on its memory, has not got what was asked for."""


class Closed(VolleyError, ValueError):
    """Use of something that was closed or released."""


class Mismatch(VolleyError, ValueError):
    """Names, shapes, types, lengths or devices disagree."""


class Lost(VolleyError):
    """The device failed for good."""


class Canceled(VolleyError):
    """The operation was cancelled."""


class InvalidValue(VolleyError, ArithmeticError):
    """A value that the operation has no answer for, such as an overflow where it is checked."""


class FormatError(VolleyError, ValueError):
    """A file that is not what its format says."""


class NotFound(VolleyError, FileNotFoundError):
    """A file or folder that is not there."""

    def __str__(self) -> str:
        return str(self.args[0])


class Forked(VolleyError, RuntimeError):
    """This process was forked after volley was first used: start processes by spawn or forkserver."""


class CollectiveFault(VolleyError):
    """A collective operation that failed on all ranks: ``ranks`` are to blame, ``cause`` says why."""

    cause = ""
    ranks: Sequence[int] = ()


class CallFailed(VolleyError):
    """A function that failed on a worker of a gang: ``ranks`` has the worker, the message what it raised."""

    ranks: Sequence[int] = ()


class Stale(Unavailable):
    """A worker, or a reference, of an older generation of its gang."""


class Internal(VolleyError):
    """A defect of the library."""


OF_STATUS = {
    _abi.UNAVAILABLE: Unavailable,
    _abi.UNSUPPORTED: Unsupported,
    _abi.OUT_OF_MEMORY: OutOfMemory,
    _abi.CLOSED: Closed,
    _abi.MISMATCH: Mismatch,
    _abi.LOST: Lost,
    _abi.CANCELED: Canceled,
    _abi.VALUE: InvalidValue,
    _abi.FORMAT: FormatError,
    _abi.NOT_FOUND: NotFound,
    _abi.FORKED: Forked,
    _abi.INTERNAL: Internal,
    _abi.FAULT: CollectiveFault,
}

# What has a status with others, by its kind.
OF_KIND = {"failed": CallFailed, "stale": Stale}
