"""What an error names: the call of the program that it comes from, and the argument, found on the stack when something is wrong and never before."""

from __future__ import annotations

import functools
import inspect
import os
import re
import reprlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any, TypeVar, cast

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SHOWN = 60
_C_NAME = re.compile(r"^volley_\w+: ")
# Names of the library's that are other ones here.
_OURS = (
    (r"CSVOptions\.Types", "schema_overrides"), (r"CSVOptions\.Names", "new_columns"), (r"or sample more rows", "or a larger infer_schema_length"),
    (r"On\((\S+)\) for a query over a table on (\S+)", r'the query reads a table on \2: .to("\1") moves the table, before'),
    (r"as an argument on (\S+): bring it there by volley_\w+", r'as an argument on \1: .to("\1") moves it'),
    (r"one side is on (\S+), the other on (\S+)", r'one side is on \1, the other on \2: .to("\1") moves a table'),
)  # fmt: skip


def _call() -> tuple[str, FrameType | None]:
    """The package's outermost public function that runs, as the program writes it, and its frame."""
    found: tuple[str, FrameType | None] = "", None
    for frame in _own(sys._getframe(1)):
        if frame.f_code is _GUARDED:
            owner, name = frame.f_locals["owner"], frame.f_locals["name"]
            args = frame.f_locals["args"]
            found = _dotted(args[0] if owner and args else None, name), found[1]
        elif written := _written(frame):
            found = written, frame
    return found


def _own(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the package from one on to the program's code."""
    begun = False
    while frame is not None:
        if frame.f_code.co_filename.startswith(_HERE):
            begun = True
            yield frame
        elif begun and not frame.f_code.co_filename.startswith("<"):
            return
        frame = frame.f_back


def _written(frame: FrameType) -> str:
    """A function as the program writes it; empty where it is none of the package's public ones."""
    name = frame.f_code.co_name
    if name.startswith("<") or name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
        return ""
    first = frame.f_code.co_varnames[:1]
    owner = frame.f_locals.get(first[0]) if first in (("self",), ("cls",)) else None
    if owner is None and name.startswith("__"):
        return ""
    return _dotted(owner, name)


def _dotted(owner: Any, name: str) -> str:
    """The name of a function, or of a method of an object."""
    if owner is None:
        return name
    kind = (owner if isinstance(owner, type) else type(owner)).__name__.lstrip("_")
    return {"__init__": kind, "__getitem__": f"{kind}[...]", "__len__": f"len({kind})"}.get(name, f"{kind}.{name}")


def call_name() -> str:
    """The program's call, such as "Table.filter"; empty where there is none."""
    return _call()[0]


def say(text: str, value: Any = None) -> str:
    """A text behind the call that it is about, and behind the argument that is the value, where it is one."""
    name, frame = _call()
    if not name:
        return text
    argument = _argument(frame, value) if frame is not None and value is not None else ""
    return f"{name}: {argument}: {text}" if argument else f"{name}: {text}"


def _argument(frame: FrameType, value: Any) -> str:
    """The name of the parameter that a value was given for, or is among the values of."""
    code = frame.f_code
    given = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: given + bool(code.co_flags & 4) + bool(code.co_flags & 8)]
    for name in names:
        if name != "self" and frame.f_locals.get(name) is value:
            return name
    for name in names:
        if isinstance(held := frame.f_locals.get(name), (tuple, list)) and any(x is value for x in held):
            return name
        if isinstance(held, dict) and (found := [k for k, v in held.items() if v is value]):
            return str(found[0]) if code.co_flags & 8 and name == names[-1] else name
    return ""


def shown(value: Any) -> str:
    """A value in an error: its type, and itself where it is short."""
    kind = type(value).__name__
    if value is None:
        return kind[:-4]
    if not isinstance(value, (str, bytes, int, float, tuple, list, dict)):
        return f"a {kind}"
    text = reprlib.repr(value) if isinstance(value, (tuple, list, dict)) else repr(value)
    return f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'} ({kind})"


def in_words(text: str) -> str:
    """What the library says, in the words of the program: behind its call, with the names of its arguments."""
    text = _C_NAME.sub("", text)
    for theirs, ours in _OURS:
        text = re.sub(theirs, ours, text)
    return say(text)


# Methods of Python's that a program calls with arguments, by its operators.
_OPERATORS = ("__init__", "__getitem__", "__matmul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__", "__xor__")
F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=type)


def guarded(function: F, name: str, owner: bool) -> F:
    """A public function whose errors name it, also those that Python makes of an argument that it cannot use. owner says whether it is a method."""

    def _guarded(*args: Any, **more: Any) -> Any:
        try:
            return function(*args, **more)
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, NotImplementedError, BufferError) as e:
            error = _explained(e, function, args, more, owner, name)
            if error is e:
                raise
        raise error

    return cast(F, functools.wraps(function)(_guarded))


_GUARDED = cast(Any, guarded(lambda: None, "", False)).__code__


def public(kind: K) -> K:
    """A class whose public methods are guarded."""
    for name, found in list(vars(kind).items()):
        if isinstance(found, FunctionType) and (not name.startswith("_") or name in _OPERATORS) and name not in kind.__dict__.get("_bare", ()):
            setattr(kind, name, guarded(found, name, True))
    return kind


def _explained(e: Exception, function: Any, args: Any, more: Any, *_: Any) -> Exception:
    """An error with the call that it comes from; as it is where it says so, or is not of the package's making."""
    callers = list(_own(sys._getframe(1)))
    name, text = call_name(), str(e)
    if any(f.f_code is _GUARDED for f in callers[2:]) or len(e.args) != 1 or not isinstance(e.args[0], str) or text.startswith(name):
        return e
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or not at.tb_frame.f_code.co_filename.startswith(_HERE):
        return e
    try:
        given = inspect.signature(function).bind(*args, **more).arguments
    except TypeError:  # which names the function itself
        return e
    wrong = [n for n, v in given.items() if n != "self" and f"'{type(v).__name__}'" in text]
    text = f"{name}: {f'{wrong[0]}: ' if len(wrong) == 1 else ''}{text}"
    if isinstance(e, AttributeError):
        return TypeError(text)
    e.args = (text,)
    return e


__all__ = ["call_name", "guarded", "in_words", "public", "say", "shown"]
