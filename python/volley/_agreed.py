"""Calls that all ranks of a group make: what one rank refuses of its arguments is the error of the others too, who would wait for it else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ._library import encode, long_call
from .errors import VolleyError

F = TypeVar("F", bound=Callable[..., Any])


def told(operation: Callable[[], Any]) -> Any:
    """Runs a call of the library's that all ranks make. The errors that it gives are known to the others; those of arguments that it never had are not."""
    try:
        return operation()
    except VolleyError as e:
        e.told = e.given
        raise


def agreed(operation: str) -> Callable[[F], F]:
    """A function that all ranks call, by the library's name of its operation. An error of this rank alone, before the library has the call, goes to the others."""

    def made(function: F) -> F:
        @functools.wraps(function)
        def _agreed(*args: Any, **more: Any) -> Any:
            try:
                return function(*args, **more)
            except Exception as e:
                if not getattr(e, "told", False):
                    _tell(args, more, operation, e)
                raise

        return cast(F, _agreed)

    return made


def _tell(args: Any, more: Any, operation: str, error: Exception) -> None:
    comm = _comm(args, more)
    if comm is None:
        return
    error.told = True  # type: ignore[attr-defined] # by the innermost of functions that call each other
    try:
        long_call("volley_distributed_refuse", [comm, None, encode(operation), encode(_text(error))])
    except VolleyError:
        return  # it is this error, on all ranks; where another rank has gone the next call says so


def _text(error: Exception) -> str:
    return (str(error) or type(error).__name__).replace("\0", "\\0")


def _comm(args: Any, more: Any) -> Any:
    """The group of a call: the argument that is one, or that of the table; None where there is none that is open."""
    from .comm import Comm

    for value in (*args, *more.values()):
        comm = value if isinstance(value, Comm) else getattr(value, "_comm", None)
        if isinstance(comm, Comm):
            return comm if comm._value is not None else None
    return None


__all__ = ["agreed", "told"]
