"""Gangs on RADICAL-Pilot: one task with ranks, whose ranks enter a gang of this process.

>>> with vo.engines.radical.gang(task_manager, 4) as g:  # doctest: +SKIP
...     refs = g.run("module:function")
"""

from __future__ import annotations

import os
import sys
from typing import Any

from . import EngineGang, as_rank, serve, whole

# The variables in which RADICAL-Pilot, or what it launches with, says a rank.
_RANKS = ("RP_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")

# States of a task from which it does not come back.
_FINAL = ("DONE", "FAILED", "CANCELED")


class _Task:
    """The task of a gang."""

    def __init__(self, manager: Any, invitations: list[str], description: dict[str, Any]) -> None:
        import radical.pilot as rp

        path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
        described = rp.TaskDescription(
            {
                "executable": sys.executable, "arguments": ["-c", "from volley.engines.radical import _rank; _rank()"], "ranks": len(invitations), "cores_per_rank": 1,
                **description,
            }
        )  # fmt: skip
        passed = {name: os.environ[name] for name in ("VOLLEY_LIBRARY", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") if name in os.environ}
        described.environment = {**passed, "PYTHONPATH": path, "VOLLEY_GANG": invitations[0], **(described.environment or {})}
        self._manager = manager
        self.task = manager.submit_tasks(described)

    def failed(self) -> str | None:
        state = self.task.state
        if state not in _FINAL:
            return None
        return f"the task {self.task.uid} is {state}: exit {self.task.exit_code} {self.task.exception} {self.task.exception_detail} {(self.task.stderr or '').strip()[-2000:]}"

    def release(self) -> None:
        if self.task.state not in _FINAL:
            self._manager.wait_tasks(uids=[self.task.uid], timeout=10)  # its ranks have been told
        if self.task.state not in _FINAL:
            self._manager.cancel_tasks(uids=[self.task.uid])
            self._manager.wait_tasks(uids=[self.task.uid], timeout=30)


def _rank() -> None:
    """What each rank of the task runs."""
    for name in _RANKS:
        if os.environ.get(name, "").isdecimal():
            serve(as_rank(os.environ["VOLLEY_GANG"], int(os.environ[name])))
            return
    raise SystemExit(f"none of {', '.join(_RANKS)} is set: this is no rank of a task")


def gang(manager: Any, workers: int, *, description: dict[str, Any] | None = None, **options: Any) -> EngineGang:
    """Starts a gang as one task of so many ranks, with a TaskManager that has a pilot, which places all of them or waits.

    description is what else the TaskDescription says, such as cores_per_rank, gpus_per_rank or pre_exec. The options are those of ``volley.gang.start``: for pilots
    on other machines host is this one's address as they reach it. A batch system may take long to start the pilot: join_timeout is in seconds.
    """
    return EngineGang.placed(workers, lambda invitations: _Task(manager, invitations, description or {}), **options)


__all__ = ["gang", "whole"]
