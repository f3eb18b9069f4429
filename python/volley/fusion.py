"""Fusion: one collective operation of many small ones."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._calls import say
from ._library import Handle, encode, long_call, long_make, make
from .comm import Grouped, Request
from .errors import Closed

if TYPE_CHECKING:
    from .comm import Comm


class Fused(Request):
    """A reduction that was given to a Fuser, which keeps its arrays. ``wait`` gives its result."""

    __slots__ = ()

    def close(self) -> None:
        """Forgets the request; the Fuser does what was given."""
        Handle.close(self)


class Fuser(Grouped):
    """Makes one allreduce of many small ones, which are given one by one: ``Comm.fusion`` makes it.

    All ranks give the same reductions in the same order, as fast as they like. As a context it waits at its end for all that was given; after an
    exception it ends what is not done, on all ranks.
    """

    __slots__ = ("_comm", "_given")
    _free = "volley_fuser_free"
    _fault = "volley_fuser_fault"
    _stays = "it has a group of this process"
    _outlives = True
    _comm: Comm
    _given: deque[Fused]

    def __init__(self, comm: Comm, bytes: int | None = None, delay: float | None = None) -> None:
        if bytes is not None and bytes <= 0 or delay is not None and delay < 0:
            raise ValueError(say(f"bytes is {bytes} and delay {delay}: bytes is 1 or more, delay not negative"))
        wait = 0 if delay is None else max(1, round(1000 * delay))
        super().__init__(long_make("volley_fuser_new", comm, bytes or 0, wait, free="volley_fuser_free"))
        self._comm, self._given = comm, deque()

    def __enter__(self) -> Fuser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            Handle.close(self)

    def allreduce(self, data: Any, op: str = "sum", out: Any = None) -> Request:
        """Gives arrays of the host to be combined for all ranks; ``wait`` of what it returns gives the result. The arrays belong to it until then.

        Mismatch of arrays and op is as in ``Comm.allreduce``; arrays in a device's memory are Unsupported.
        """
        self._handle  # noqa: B018 - a closed Fuser is refused before the arrays are looked at
        given, result, taken = self._comm._sides(data, out)
        if given.on_device:
            raise self._comm._no_device(given)
        while self._given and self._given[0].done:
            self._given.popleft()
        handle = make("volley_fuser_all_reduce", self, given.address, taken.address, given.count, given.type.encode(), encode(op))
        made = Fused._of(handle, self, (given, taken), result)
        self._given.append(made)
        return made

    def wait(self) -> None:
        """Waits for all that was given, without the delay."""
        self._explained(lambda: long_call("volley_fuser_wait", [self]))
        self._given.clear()

    def close(self) -> None:
        """Waits for all that was given, on all ranks, and gives the Fuser back. Closing twice is allowed."""
        if self._value is None:
            return
        try:
            self._explained(lambda: long_call("volley_fuser_close", [self]))
        except Closed:
            if self._value is not None:  # else another thread has closed it meanwhile, which is allowed
                raise
        finally:
            Handle.close(self)
            self._given.clear()

    def __del__(self) -> None:
        try:
            Handle.close(self)
        except Exception:  # the interpreter is ending, or __init__ failed
            return
