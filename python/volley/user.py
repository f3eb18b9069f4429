"""Functions of the program's own, which tables call by their names."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char, c_double, c_float, c_int8, c_int16, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

from _ctypes import CFuncPtr

from . import _abi
from ._library import address, call, encode, texts

Body = CFUNCTYPE(c_int32, c_void_p, c_int64, c_void_p, POINTER(c_void_p), POINTER(c_char), c_int64)
"""The type of a function for the CPU in C: it is given a context, the number of rows, where their results go, the arguments' values, room for a
message of so many bytes, and returns 0, or another number if it fails."""

_C: dict[str, Any] = {
    "int8": c_int8, "int16": c_int16, "int32": c_int32, "int64": c_int64, "uint8": c_uint8, "uint16": c_uint16, "uint32": c_uint32,
    "uint64": c_uint64, "float32": c_float, "float64": c_double, "date32": c_int32,
}  # fmt: skip

_kept: list[Any] = []  # bodies live as long as the process


def register(name: str, types: Sequence[str], body: Any = None, source: str | None = None) -> None:
    """Makes a function known under a name of small letters, digits and ``_``, for as long as the process lives.

    ``types`` are those of the arguments, and last that of the result: numbers or temporal types. ``body`` computes it on the CPU, over runs of
    rows: a Python function ``f(out, *args)`` that sets all of ``out``, given NumPy arrays where NumPy is imported and memoryviews else; or,
    without the GIL, a function of C of type :data:`Body`: of ctypes, its address, or what has an ``address``, as Numba's ``cfunc`` does. Values
    under nulls are undefined, and the result is null where an argument is. ``source`` computes it on GPUs, a row at a time, in C99 with the
    names of volley's kernels: ``"FN f64 hypotenuse(f64 a, f64 b) { return sqrt(a * a + b * b); }"``.

    Expressions call it by ``function``, or by its name where they are text:

    >>> import volley as vo
    >>> def double(out, x):
    ...     for i, v in enumerate(x):
    ...         out[i] = 2 * v
    >>> vo.register("doubled", ["int64", "int64"], double)
    >>> vo.Table({"x": [1, 2]}).select(y=vo.function("doubled", vo.col("x"))).to_pydict()
    {'y': [2, 4]}
    """
    if body is None:
        pointer = None
    elif isinstance(body, int):
        pointer = body
    elif hasattr(body, "address"):
        pointer = int(body.address)
        _kept.append(body)
    elif isinstance(body, CFuncPtr):
        pointer = ctypes.cast(body, c_void_p).value
        _kept.append(body)
    elif callable(body):
        own = Body(_called(body, list(types)))
        pointer = ctypes.cast(own, c_void_p).value
        _kept.append(own)
    else:
        raise TypeError(f"a {type(body).__name__} is no function")
    body_of = None if pointer is None else address("volley_python_body")  # calls it only while there is an interpreter
    call("volley_function_register", encode(name), texts(types), len(types), body_of, pointer, None if source is None else encode(source))


def _called(f: Callable[..., Any], types: list[str]) -> Callable[..., int]:
    """A function of Python as one of C."""

    def run(_: Any, rows: int, out: int, args: Any, message: Any, size: int) -> int:
        try:
            where = [args[i] for i in range(len(types) - 1)]
            f(_view(out, rows, types[-1]), *[_view(p, rows, t) for p, t in zip(where, types[:-1], strict=True)])
        except BaseException as e:
            text = f"{type(e).__name__}: {e}".encode("utf-8", "replace")[: size - 1]
            ctypes.memmove(message, text, len(text))
            return _abi.VALUE
        return _abi.OK

    return run


def _view(address: int, rows: int, name: str) -> Any:
    """The values at an address: temporal types are their integers."""
    memory = (_C.get(name, c_int64) * rows).from_address(address)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        return numpy.ctypeslib.as_array(memory)
    view: Any = memoryview(memory)
    return view.cast("B").cast(view.format.lstrip("<"))
