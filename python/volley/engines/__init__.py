"""Gangs on the engines that people run. Each is a module: dask, ray, spark, parsl, radical, modin, torch, and launched for mpirun, srun and torchrun.

An engine places the workers, all or none; a gang does the rest. A worker that dies is a CollectiveFault that names its rank, and the whole is tried again, from
outside, under the next generation: ``restart`` of the gang, or the ``attempts`` of the functions here.
"""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .. import gang as _gang
from ..errors import CollectiveFault, Unavailable

if TYPE_CHECKING:
    from typing_extensions import Self

    from . import dask as dask
    from . import launched as launched
    from . import modin as modin
    from . import parsl as parsl
    from . import radical as radical
    from . import ray as ray
    from . import spark as spark
    from . import torch as torch
else:
    _ENGINES = ("dask", "launched", "modin", "parsl", "radical", "ray", "spark", "torch")

    def __getattr__(name):
        """The module of an engine, loaded when it is first asked for."""
        if name not in _ENGINES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: the engines are {', '.join(_ENGINES)}")
        return importlib.import_module(f".{name}", __name__)

    def __dir__():
        return sorted({*globals(), *_ENGINES})

# How often it is looked whether the engine has given up, in seconds.
_LOOK = 0.05

_places: dict[tuple[str, int], _gang.Worker] = {}
_lock = threading.Lock()


def _name(invitation: str) -> str:
    """What the invitations of one generation have in common, and no other has."""
    found = re.search(r"run=(\w+)", invitation), re.search(r"generation=(\d+)", invitation)
    if not found[0] or not found[1]:
        raise ValueError("this is no invitation to a gang")
    return f"{found[0][1]}.{found[1][1]}"


def as_rank(invitation: str, rank: int) -> str:
    """The invitation of another rank of the same generation."""
    return re.sub(r"([?&])rank=-?\d+", rf"\g<1>rank={rank}", invitation)


def serve(invitation: str) -> None:
    """What an engine runs as a worker: it takes its place, and runs what the gang calls until that stops."""
    with _gang.enter(invitation) as w:
        key = _name(invitation), w.rank
        with _lock:
            _places[key] = w
        try:
            w.serve()
        finally:
            with _lock:
                del _places[key]


def place_of(invitation: str) -> _gang.Worker:
    """The place of a worker that serves in this process, for what an engine has it do besides."""
    found = re.search(r"[?&]rank=(\d+)", invitation)
    with _lock:
        place = _places.get((_name(invitation), int(found[1]) if found else -1))
    if place is None:
        raise Unavailable("the worker of a gang that was here has gone")
    return place


class Placement(Protocol):
    """Workers that an engine has been asked for."""

    def failed(self) -> str | None:
        """Why not all of them can come, None where they may."""

    def release(self) -> None:
        """Gives back what the engine holds, after the workers have been told to end."""


class EngineGang(_gang.Gang):
    """A gang whose workers an engine places: place is given the invitations. ``restart`` asks the engine again."""

    __slots__ = ("_place", "_placement")
    _place: Callable[[list[str]], Placement]
    _placement: Placement | None

    @classmethod
    def placed(cls, workers: int, place: Callable[[list[str]], Placement], **options: Any) -> Self:
        """Starts one and returns when all workers have come, or raises Unavailable and leaves nothing."""
        g = cls._adopt(_gang.start(workers, invite=True, **options))
        g._place, g._placement = place, None
        try:
            g._enlist()
        except BaseException:
            g.stop()
            raise
        return g

    @classmethod
    def _adopt(cls, made: _gang.Gang) -> Self:
        g = cls.__new__(cls)
        g._value, made._value = made._value, None
        return g

    def invitations(self) -> list[str]:
        """Those of all ranks."""
        return [self.invitation(r) for r in range(self.size)]

    def _enlist(self) -> None:
        self._placement = self._place(self.invitations())
        errors: list[BaseException] = []

        def wait() -> None:
            try:
                self.ready()
            except BaseException as e:  # it is raised where the gang is started
                errors.append(e)

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        while waiting.is_alive():
            waiting.join(_LOOK)
            why = self._placement.failed() if waiting.is_alive() else None
            if why is not None:
                raise Unavailable(f"the gang was not placed: {why}", "unavailable")
        if errors:
            why = self._placement.failed()
            raise Unavailable(f"{errors[0]}{': ' + why if why else ''}", "unavailable") from errors[0]

    def restart(self) -> None:
        """Ends all workers and has the engine place them anew, under the next generation."""
        super().restart()
        self._let_go()
        try:
            self._enlist()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the workers, and gives the engine back what it gave."""
        try:
            super().stop()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        placement, self._placement = self._placement, None
        if placement is not None:
            placement.release()


def whole(g: _gang.Gang, function: Any, *args: Any, attempts: int = 3, **kwargs: Any) -> list[Any]:
    """Runs a function on all workers and gives their results; where a worker dies the whole gang starts again, so often in all."""
    for attempt in range(1, attempts + 1):
        try:
            return [r.get() for r in g.run(function, *args, **kwargs)]
        except CollectiveFault:
            if attempt == attempts:
                raise
            time.sleep(_LOOK * attempt)  # what the engine notices itself, such as a worker that has to be started again
            g.restart()
    raise ValueError(f"attempts is {attempts}: at least one is wanted")


__all__ = ["EngineGang", "Placement", "as_rank", "place_of", "serve", "whole"]
