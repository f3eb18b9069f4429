"""What an error names: the call of the program that it comes from, and the argument, found on the stack when something is wrong and never before."""

from __future__ import annotations

import os
import re
import sys
from types import FrameType
from typing import Any

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
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_HERE):
            written = _written(frame)
            if written:
                found = written, frame
        elif found[0] and not code.co_filename.startswith("<"):
            break
        frame = frame.f_back
    return found


def _written(frame: FrameType) -> str:
    """A function as the program writes it; empty where it is none of the package's public ones."""
    name = frame.f_code.co_name
    if name.startswith("<") or name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
        return ""
    first = frame.f_code.co_varnames[:1]
    owner = frame.f_locals.get(first[0]) if first in (("self",), ("cls",)) else None
    if owner is None:
        return "" if name.startswith("__") else f"{frame.f_globals.get('__name__', '').rpartition('.')[2]}.{name}" if _inner(frame) else name
    kind = (owner if isinstance(owner, type) else type(owner)).__name__.lstrip("_")
    return {"__init__": kind, "__getitem__": f"{kind}[...]", "__len__": f"len({kind})"}.get(name, f"{kind}.{name}")


def _inner(frame: FrameType) -> bool:
    """Whether a function is of a module whose names are not the package's own."""
    module: str = frame.f_globals.get("__name__", "")
    return module.rpartition(".")[2] in ("bench", "loader_decode", "loader_tensorflow")


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
    text = repr(value)
    return f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'} ({kind})"


def in_words(text: str) -> str:
    """What the library says, in the words of the program: behind its call, with the names of its arguments."""
    text = _C_NAME.sub("", text)
    for theirs, ours in _OURS:
        text = re.sub(theirs, ours, text)
    return say(text)


__all__ = ["call_name", "in_words", "say", "shown"]
