"""The public calls of the package, found by looking at it, and calls of them with what they do not take."""

from __future__ import annotations

import faulthandler
import inspect
import math
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import volley as vo
from volley import _distributed_ops, fusion, loader, query, table

OPERATORS = ("add", "radd", "sub", "mul", "truediv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "invert", "neg", "matmul", "getitem", "len", "iter", "repr")
# What is given for the parameters that are not tried, so that the call gets as far as the one that is.
GOOD: dict[str, Any] = {
    "name": "a", "column": "a", "key": "a", "names": ["a"], "by": "a", "on": "a", "n": 1, "k": 1, "offset": 0, "length": 1, "i": 0, "device": "cpu", "source": "no such file.csv",
    "path": "made.arrow", "dtype": "int64", "mapping": {"a": "z"}, "value": 1, "values": [1], "lower": 1, "upper": 2, "pattern": "x", "o": 1, "condition": vo.col("a") > 1,
    "text": "a > 1", "op": "sum", "epoch": 0, "data": np.ones(2), "x": np.ones(2), "ranks": [0], "out": np.zeros(2), "root": 0, "to": 0, "start": 1, "escape": "!", "where": "a > 1", "rank": 0, "color": 0, "types": ["int64", "int64"], "body": None,
    "batch_size": 1, "state": None, "function": lambda t: t, "tables": [vo.Table({"a": [1]})], "frame": {"a": [1]}, "right": vo.Table({"a": [1]}), "other": vo.Table({"a": [1]}), "convert": lambda t: t.capsule(), "take": len, "rows": 1, "bounds": [1],
}  # fmt: skip
# What a call takes of these is its own; what it does not take is an error of it.
WRONG: dict[str, Callable[[], Any]] = {
    "an object": object, "None": lambda: None, "5": lambda: 5, "-1": lambda: -1, "2**70": lambda: 2**70, "1.5": lambda: 1.5, "NaN": lambda: float("nan"), "text": lambda: "no such",
    "NUL": lambda: "a\0b", "bytes": lambda: b"x", "a list of objects": lambda: [object()], "a list of lists": lambda: [[1], 2], "an empty list": list, "a dict": lambda: {"x": object()},
    "a matrix": lambda: np.zeros((2, 2)), "an array": lambda: np.arange(3), "complex numbers": lambda: np.zeros(2, complex), "a class": lambda: dict, "a function": lambda: len,
    "a surrogate": lambda: "\ud800", "a closed Table": lambda: closed(vo.Table({"a": [1]})), "a closed Column": lambda: closed(vo.Column([1])),
    "a closed Expr": lambda: closed(vo.col("a") + 1), "a closed Query": lambda: closed(vo.Table({"a": [1]}).lazy()), "a closed Device": lambda: closed(vo.Device("cpu")),
    "a closed Matrix": lambda: closed(vo.Matrix(np.ones((2, 2)))), "an aggregate": lambda: vo.col("a").sum(), "a condition": lambda: vo.when(vo.col("a") > 1),
}  # fmt: skip


def closed(handle: Any) -> Any:
    """An object that was closed."""
    handle.close()
    return handle


def small(device: str = "cpu") -> vo.Table:
    """A table that has something of every kind."""
    made = vo.Table({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [1.5, 2.5, float("nan")], "d": [True, False, None]}, device="cpu")
    return made.to(device)


def _batch() -> Any:
    made = vo.Loader(vo.Table({"a": [1.0, 2.0]}), 1).next()
    assert made is not None
    return made


def _comm() -> vo.Comm:
    return vo.Comm(deadline=0.2, timeout=5)


# An object of each class that the package hands out. A class without one, and that is not plain, fails the test: it is not covered.
OBJECTS: dict[type, Callable[[], Any]] = {
    vo.Table: small, vo.Column: lambda: small()["a"], vo.Query: lambda: small().lazy(), vo.Profile: lambda: small().lazy().profile(), vo.Expr: lambda: vo.col("a") + 1, vo.Agg: lambda: vo.col("a").sum(),
    vo.Matrix: lambda: vo.Matrix(np.ones((2, 2))), vo.Device: lambda: vo.Device("cpu"), vo.Comm: _comm, vo.Request: lambda: _comm().allreduce_async(np.ones(2)),
    vo.Fuser: lambda: _comm().fusion(), vo.distributed.Table: lambda: vo.distributed.Table(small(), _comm()),
    _distributed_ops.DistributedGroupBy: lambda: vo.distributed.Table(small(), _comm()).group_by("a"),
    vo.Loader: lambda: vo.Loader(vo.Table({"a": [1.0, 2.0]}), 1), vo.Batch: _batch, vo.BatchMap: lambda: vo.BatchMap(lambda t: t, "same"),
    query.GroupBy: lambda: small().lazy().group_by("a"), table.TableGroupBy: lambda: small().group_by("a"), type(vo.when(True)): lambda: vo.when(vo.col("a") > 1),
    type(vo.when(True).then(1)): lambda: vo.when(vo.col("a") > 1).then(1), loader.Batches: lambda: vo.Loader(vo.Table({"a": [1.0]}), 1).numpy(),
    vo.Fuser: lambda: _comm().fusion(), fusion.Fused: lambda: _comm().fusion().allreduce(np.ones(2)), loader.BatchTensor: lambda: _batch().features, vo.gang.Slots: lambda: vo.gang.Slots(2),
}  # fmt: skip
PLAIN = (BaseException, vo.DeviceInfo, vo.Memory, vo.Progress, vo.distributed.Partitioning)
# Calls that go on with what others ask, or that end the object.
LEFT_OUT = {
    "register": "what it registers stays for the whole process", "set_memory_limit": "what it sets stays for the whole process", "memory": "",
    "progress": "it watches other calls", "devices": "", "version": "",
}  # fmt: skip


class Call(NamedTuple):
    """A public call: how the program writes it, of which class, and its parameters."""

    name: str
    owner: type | None
    attribute: str
    parameters: tuple[str, ...]


def _parameters(function: Any) -> tuple[str, ...]:
    return tuple(p.name for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls") and not p.name.startswith("_"))


def calls() -> Iterator[Call]:
    """Every public call of the package."""
    for name in vo.__all__:
        found = getattr(vo, name)
        if isinstance(found, types.FunctionType) and name not in LEFT_OUT:
            yield Call(name, None, name, _parameters(found))
        elif isinstance(found, type) and not issubclass(found, PLAIN):
            assert found in OBJECTS, f"{name} is a public class of which tests/surface.py has no object"
            if found.__init__ is not object.__init__ and found not in (vo.Request, vo.Batch, vo.Query, vo.Expr):
                yield Call(name, None, name, _parameters(found.__init__))
    for kind in OBJECTS:
        yield from _methods(kind)


def _methods(kind: type) -> Iterator[Call]:
    written = kind.__name__
    for attribute in dir(kind):
        if attribute.startswith("_") and attribute.strip("_") not in OPERATORS:
            continue
        found = inspect.getattr_static(kind, attribute)
        if isinstance(found, property):
            yield Call(f"{written}.{attribute}", kind, attribute, ())
        elif isinstance(found, types.FunctionType):
            yield Call(f"{written}.{attribute}", kind, attribute, _parameters(found))


def arguments(call: Call, tried: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """What a call is given when one parameter is tried with a value."""
    target = getattr(vo, call.attribute) if call.owner is None else getattr(call.owner, call.attribute)
    signature = inspect.signature(target.__init__ if isinstance(target, type) else target)
    given: list[Any] = []
    named: dict[str, Any] = {}
    for p in signature.parameters.values():
        if p.name in ("self", "cls"):
            continue
        if p.name != tried and p.default is not p.empty:
            continue
        x = value if p.name == tried else GOOD.get(p.name, "a")
        if p.kind is p.VAR_POSITIONAL:
            given += [x] if p.name == tried else []
        elif p.kind is p.VAR_KEYWORD:
            named |= {"made": x} if p.name == tried else {}
        elif p.kind is p.KEYWORD_ONLY:
            named[p.name] = x
        elif p.kind is p.POSITIONAL_ONLY or p.default is p.empty:
            given.append(x)
        else:
            named[p.name] = x
    return given, named


def made(call: Call, owner: Any, given: list[Any], named: dict[str, Any]) -> Any:
    """Makes a call, to the end of what it gives."""
    if call.owner is None:
        return getattr(vo, call.attribute)(*given, **named)
    if isinstance(inspect.getattr_static(call.owner, call.attribute), property):
        return getattr(owner, call.attribute)
    result = getattr(owner, call.attribute)(*given, **named)
    return list(result) if inspect.isgenerator(result) else result


ALLOWED = (vo.VolleyError, TypeError, ValueError, OverflowError, IndexError, BufferError, FileNotFoundError, IsADirectoryError, ImportError)


CALLED = ("convert", "take", "function", "transform")  # parameters that are functions, whose errors are theirs


def tries(call: Call, parameter: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What one parameter is tried with."""
    if not parameter:
        yield "nothing", lambda: None
        return
    for what, make in WRONG.items():
        if parameter not in CALLED or what not in ("a class", "a function"):
            yield what, make


def outcome(call: Call, owner: Any, parameter: str, value: Any) -> str:
    """What is wrong with the end of a call with a value for one of its parameters; empty where nothing is."""
    given, named = arguments(call, parameter, value) if parameter else ([], {})
    try:
        made(call, owner, given, named)
    except Exception as e:
        return complaint(call, e)
    finally:
        if call.name == "set_memory_limit":
            vo.set_memory_limit(None)
    return ""


def complaint(call: Call, error: BaseException) -> str:
    """What is wrong with the error of a call; empty where nothing is."""
    text = str(error)
    if isinstance(error, vo.Internal) or not isinstance(error, ALLOWED):
        return f"{type(error).__name__}: {text}"
    if isinstance(error, (UnicodeError, ImportError)) or "cannot be pickled" in text:
        return ""
    if call.owner is vo.Batch and text.startswith("BatchTensor."):  # which a framework, or a function of the program, asked
        return ""
    name = call.attribute.strip("_") if call.owner is None else call.attribute
    shown = {"__getitem__": "[...]", "__len__": "len("}.get(name, name)
    return "" if shown in text or "truth value" in text else f"the call is not named: {type(error).__name__}: {text}"


def wrong(note: Callable[[str], None], device: str) -> list[str]:
    """Every call with every parameter in turn as what it does not take."""
    found: list[str] = []
    for call in calls():
        for parameter in call.parameters or ("",):
            for what, make in tries(call, parameter):
                note(f"{call.name}({parameter}={what})")
                owner = _object(call, device)
                if why := outcome(call, owner, parameter, make()):
                    found.append(f"{call.name}({parameter}={what}): {why}")
    return found


def _object(call: Call, device: str) -> Any:
    """An object to call a method of, on a device where it can be on one."""
    if call.owner is None:
        return None
    owner = OBJECTS[call.owner]()
    if device != "cpu" and call.owner in (vo.Table, vo.Column, vo.Matrix):
        return owner.to(device)
    return owner


# What an object that was closed still does: it is closed again, shown, compared with others, or sent what needs no library.
AFTER_CLOSE = ("close", "__repr__", "__eq__", "__ne__", "__exit__", "__enter__")
_AGGREGATES = ("all", "any", "count", "first", "last", "max", "mean", "min", "n_unique", "product", "std", "sum", "sum_wrapping", "var")
# What does nothing yet, so that who uses it later finds what was closed; or says what the program gave.
AT_REST: dict[type, tuple[str, ...]] = {
    vo.Expr: _AGGREGATES, type(vo.when(True).then(1)): (*_AGGREGATES, "when", "otherwise"),
    vo.Query: ("assign", "filter", "group_by", "groupby", "with_column", "with_columns"), vo.Loader: ("categories", "dataset", "device", "jax", "numpy", "tensorflow", "torch", "types"),
    vo.Batch: ("column", "features", "labels", "offsets", "rows"),
}  # fmt: skip


def after_close(note: Callable[[str], None], device: str) -> list[str]:
    """Every method of objects that were closed."""
    found: list[str] = []
    for call in calls():
        if call.owner is None or not hasattr(call.owner, "close") or call.attribute in AFTER_CLOSE:
            continue
        note(f"{call.name} of what was closed")
        owner = closed(_object(call, device))
        given, named = arguments(call, "", None) if call.parameters else ([], {})
        try:
            if made(call, owner, given, named) is NotImplemented:
                continue
        except vo.Closed as e:
            if why := complaint(call, e):
                found.append(f"{call.name}: {why}")
        except ImportError:  # of a framework that is not here
            continue
        except Exception as e:
            found.append(f"{call.name}: {type(e).__name__}: {e}")
        else:
            if call.attribute not in AT_REST.get(call.owner, ()):
                found.append(f"{call.name} works")
    return found


def together(note: Callable[[str], None], device: str) -> list[str]:
    """Every method of one object from two threads at once, while a third closes it: what one of them gets is an error of those above, or its result."""
    found: list[str] = []
    for call in calls():
        if call.owner is None:
            continue
        note(f"{call.name} from two threads")
        owner = _object(call, device)
        begin = threading.Barrier(3)

        def use(call: Call = call, owner: Any = owner, begin: threading.Barrier = begin) -> None:
            begin.wait()
            for parameter in call.parameters or ("",):
                for what, make in list(tries(call, parameter))[::4]:
                    if why := outcome(call, owner, parameter, make()):
                        found.append(f"{call.name}({parameter}={what}): {why}")

        threads = [threading.Thread(target=use) for _ in range(2)]
        for t in threads:
            t.start()
        begin.wait()
        if hasattr(owner, "close"):
            owner.close()
        for t in threads:
            t.join()
    return found


def main() -> None:
    """surface.py wrong|after_close|together FOLDER DEVICE: writes what is wrong to the folder, and before each call which one it is."""
    what, folder, device = sys.argv[1:]
    faulthandler.enable()
    os.chdir(folder)
    armed = -math.inf
    with open("last", "w", encoding="utf-8", errors="replace") as last:

        def note(text: str) -> None:
            nonlocal armed
            if time.monotonic() > armed + 5:  # it takes as long as the call
                armed = time.monotonic()
                faulthandler.dump_traceback_later(60, exit=True)
            last.seek(0)
            last.write(text)
            last.truncate()
            last.flush()

        found = {"wrong": wrong, "after_close": after_close, "together": together}[what](note, device)
    with open("found", "w", encoding="utf-8", errors="replace") as out:
        out.write("\n".join(dict.fromkeys(found)))


if __name__ == "__main__":
    main()
