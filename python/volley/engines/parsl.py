"""Gangs in Parsl's apps: one app starts the workers on its node and runs a function on all of them; it is tried again whole where one dies.

>>> future = vo.engines.parsl.submit(4, "module:function")  # doctest: +SKIP
>>> future.result()  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def _gang(workers: int, attempts: int, function: Any, /, *args: Any, **kwargs: Any) -> list[Any]:
    """The body of the app: the workers are processes beside the one that Parsl runs this in."""
    import volley
    from volley.engines import whole

    with volley.gang.start(workers) as g:
        results: list[Any] = whole(g, function, *args, attempts=attempts, **kwargs)
        return results


def app(workers: int, *, executors: Sequence[str] | str = "all", attempts: int = 3, data_flow_kernel: Any = None) -> Callable[..., Any]:
    """An app that runs a function on a gang of so many workers: called with the function and its arguments it gives an AppFuture of the list of their results.

    Arguments may be AppFutures, which Parsl waits for. Tables in results are pickled with Arrow's buffers; of large ones give a file's name instead. Where a worker
    dies the whole gang starts again, attempts times in all; after that the app fails with the CollectiveFault, and Parsl's own retries begin.
    """
    import parsl

    made = parsl.python_app(_gang, executors=executors, data_flow_kernel=data_flow_kernel)

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        return made(workers, attempts, function, *args, **kwargs)

    return call


def submit(workers: int, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a function on a gang of its own, with the DataFlowKernel that is loaded, and gives an AppFuture of the list of all ranks' results."""
    return app(workers)(function, *args, **kwargs)


__all__ = ["app", "submit"]
