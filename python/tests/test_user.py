"""Functions of the program's own."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import volley as vo
from volley.user import Body


def scaled(out: Any, x: Any, y: Any) -> None:
    for i in range(len(out)):
        out[i] = x[i] + 10 * y[i]


def test_a_function_of_python() -> None:
    vo.register("scaled", ["int64", "int64", "int64"], scaled)
    t = vo.Table({"x": [1, 2, None], "y": [1, 1, 1]})
    assert t.select(z=vo.function("scaled", vo.col("x"), vo.col("y"))).to_pydict() == {"z": [11, 12, None]}
    assert t.filter("scaled(x, y) > 11").to_pydict() == {"x": [2], "y": [1]}
    with pytest.raises(vo.Mismatch, match="registered already"):
        vo.register("scaled", ["int64", "int64"], scaled)


def test_many_rows() -> None:
    def half(out: Any, x: Any) -> None:
        out[:] = x

    vo.register("same", ["float64", "float64"], half)
    values = [float(i) for i in range(100_000)]
    assert vo.Table({"x": values}).select(y=vo.function("same", vo.col("x"))).to_pydict()["y"] == values


def test_what_it_raises_is_the_error() -> None:
    def fails(out: Any, x: Any) -> None:
        raise ZeroDivisionError("by the moon")

    vo.register("fails", ["int64", "int64"], fails)
    with pytest.raises(vo.InvalidValue, match="ZeroDivisionError: by the moon"):
        vo.Table({"x": [1]}).select(y=vo.function("fails", vo.col("x")))


@Body
def _negate(context: Any, rows: int, out: int, args: Any, message: Any, size: int) -> int:
    x, y = (ctypes.c_int64 * rows).from_address(args[0]), (ctypes.c_int64 * rows).from_address(out)
    for i in range(rows):
        y[i] = -x[i]
    return 0


class Compiled:
    """As Numba's cfunc."""

    address = ctypes.cast(_negate, ctypes.c_void_p).value


def test_a_function_of_c() -> None:
    vo.register("negated", ["int64", "int64"], _negate)
    vo.register("negated_too", ["int64", "int64"], Compiled())
    vo.register("negated_as_well", ["int64", "int64"], Compiled.address)
    for name in ("negated", "negated_too", "negated_as_well"):
        assert vo.Table({"x": [1, 2]}).select(y=vo.function(name, vo.col("x"))).to_pydict() == {"y": [-1, -2]}
    with pytest.raises(TypeError, match="no function"):
        vo.register("text", ["int64", "int64"], "text")
    with pytest.raises(vo.Mismatch, match="neither"):
        vo.register("nothing", ["int64", "int64"])


def test_a_source_alone_is_for_gpus() -> None:
    vo.register("halved", ["float64", "float64"], source="FN f64 halved(f64 x) { return x / 2.0; }")
    with pytest.raises(vo.Unsupported, match="CPU"):
        vo.Table({"x": [1.0]}, device="cpu").select(y=vo.function("halved", vo.col("x")))


def test_a_function_of_numba() -> None:
    import numba
    from numba import types

    @numba.cfunc(types.int32(types.voidptr, types.int64, types.CPointer(types.float64), types.CPointer(types.CPointer(types.float64)), types.voidptr, types.int64))
    def cubed(context, rows, out, args, message, size):  # type: ignore[no-untyped-def]
        x = args[0]
        for i in range(rows):
            out[i] = x[i] ** 3
        return 0

    vo.register("cubed", ["float64", "float64"], cubed)
    assert vo.Table({"x": [1.0, 2.0]}).select(y=vo.function("cubed", vo.col("x"))).to_pydict() == {"y": [1.0, 8.0]}
