"""Gangs of ranks that a launcher has started: mpirun, srun, torchrun, ``volley launch``. Every rank calls ``enter``; there is no start besides.

>>> w = vo.engines.launched.enter()  # doctest: +SKIP
>>> w.comm.allreduce(x)  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from .. import gang as _gang
from ..comm import Comm
from ..errors import Closed, CollectiveFault
from ._machines import host_for, machine, mark, marks

# The tag of what rank 0 waits for from those that leave.
_LEAVES = (1 << 31) - 1

# The variables in which launchers count how often they have started a job again.
RESTARTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")


class LaunchedWorker(_gang.Worker):
    """A worker whose rank 0 has the gang's start in its process."""

    __slots__ = ("_start",)
    _start: _gang.Gang | None

    def close(self) -> None:
        """Gives the place up. Rank 0 waits until the others have left, or have gone, and ends the gang: what they have begun is not cut."""
        if self._start is not None and self._value is not None:
            for r in range(1, self.size):
                try:
                    self.recv(r, _LEAVES)  # nothing is sent: it fails once the rank has gone
                except (CollectiveFault, Closed):
                    continue
        self._end()

    def _end(self) -> None:
        super().close()
        start, self._start = self._start, None
        if start is not None:
            start.stop()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            self._end()  # the others are told at once


def generation(environment: Mapping[str, str] = os.environ) -> int:
    """1, and one more for each time that the launcher has started the job again."""
    for name in RESTARTS:
        if environment.get(name, "").isdecimal():
            return int(environment[name]) + 1
    return 1


def entered(invitation: str, start: _gang.Gang | None) -> LaunchedWorker:
    """The place of an invitation, with the start in rank 0."""
    made = _gang.enter(invitation)
    w = LaunchedWorker.__new__(LaunchedWorker)
    w._value, made._value = made._value, None
    w._start = start
    return w


def enter(comm: Comm | None = None, **options: Any) -> LaunchedWorker:
    """Makes a gang of all ranks, which call it together: of a Comm, or of those that the launcher's variables tell of. Rank 0 says the others where it is.

    Ranks on several machines come to rank 0 over a network interface that VOLLEY_SOCKET_IFNAME allows. Where the launcher starts the job again, the gang is of the
    next generation. The options are those of ``volley.gang.start``.
    """
    own = comm is None
    joined = Comm() if comm is None else comm
    try:
        start, text = None, b""
        machines = marks(joined.allgather(mark(machine())))
        if joined.rank == 0:
            options.setdefault("host", host_for(machines))
            start = _gang.start(joined.size, invite=True, generation=generation(), **options)
            text = start.invitation(0).encode()
        try:
            length = joined.broadcast(_numbers([len(text)]), root=0)[0]
            shared = joined.broadcast(bytearray(text.ljust(length, b" ")), root=0)
            from . import as_rank

            w = entered(as_rank(bytes(shared).decode(), joined.rank), start)
        except BaseException:
            if start is not None:
                start.stop()
            raise
    finally:
        if own:
            joined.close()
    return w


def _numbers(values: list[int]) -> Any:
    from array import array

    return array("q", values)


__all__ = ["LaunchedWorker", "enter", "generation"]
