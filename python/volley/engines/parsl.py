"""Gangs in Parsl's apps: one app starts the workers on its node and runs a function on all of them; it is tried again whole where one dies.

>>> future = vo.engines.parsl.submit(4, "module:function")  # doctest: +SKIP
>>> future.result()  # doctest: +SKIP
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import Unavailable

# What a HighThroughputExecutor begins its blocks with.
_POOL = "process_worker_pool.py"


def _gang(workers: int, attempts: int, function: Any, /, *args: Any, **kwargs: Any) -> list[Any]:
    """The body of the app: the workers are processes beside the one that Parsl runs this in."""
    import volley
    from volley.engines import whole

    with volley.gang.start(workers) as g:
        results: list[Any] = whole(g, function, *args, attempts=attempts, **kwargs)
        return results


def _startable(kernel: Any, executors: Sequence[str] | str) -> None:
    """Refuses an executor of this machine whose workers' program is not on PATH: its blocks would fail one after another, while the app waits."""
    for label, executor in kernel.executors.items():
        provider = getattr(executor, "provider", None)
        if (executors != "all" and label not in executors) or type(provider).__name__ != "LocalProvider" or getattr(provider, "worker_init", None):
            continue  # it is elsewhere, or sets its PATH itself
        if str(getattr(executor, "launch_cmd", None)).split()[:1] == [_POOL] and shutil.which(_POOL) is None:
            said = f"executor {label}: {_POOL} is not on PATH; put its folder there before parsl.load, such as {Path(sys.executable).parent}"
            raise Unavailable(f"Parsl cannot start workers: {said}", "unavailable")


def app(workers: int, *, executors: Sequence[str] | str = "all", attempts: int = 3, data_flow_kernel: Any = None) -> Callable[..., Any]:
    """An app that runs a function on a gang of so many workers: called with the function and its arguments it gives an AppFuture of the list of their results.

    Arguments may be AppFutures, which Parsl waits for. Tables in results are pickled with Arrow's buffers; of large ones give a file's name instead. Where a worker
    dies the whole gang starts again, attempts times in all; after that the app fails with the CollectiveFault, and Parsl's own retries begin. A call
    is Unavailable where the program that an executor of this machine starts workers with is not on PATH.
    """
    import parsl

    made = parsl.python_app(_gang, executors=executors, data_flow_kernel=data_flow_kernel)

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        _startable(data_flow_kernel or parsl.dfk(), executors)
        return made(workers, attempts, function, *args, **kwargs)

    return call


def submit(workers: int, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a function on a gang of its own, with the DataFlowKernel that is loaded, and gives an AppFuture of the list of all ranks' results."""
    return app(workers)(function, *args, **kwargs)


__all__ = ["app", "submit"]
