"""Products of matrices with vectors, transposes, and cumulative sums of columns and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import volley as vo

DEVICES = ["cpu", *[d.name for d in vo.devices() if not d.why and d.kind != "cpu"]]
A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gemv(name: str, dtype: str) -> None:
    a, x, y = A.astype(dtype), np.array([1, 10, 100], dtype), np.array([1000, 2000], dtype)
    near, there = vo.Matrix(a), vo.Matrix(a).to(name)
    for m in near, there:
        got = m.gemv(x)
        assert got.device.name == m.device.name and got.dtype == dtype and got.to("cpu").to_pylist() == [321, 654]
        assert m.gemv(vo.Column(x).to(name), device=name).to("cpu").to_pylist() == [321, 654]
        assert m.gemv(x, alpha=2, beta=0.5, y=y).to("cpu").to_pylist() == [1142, 2308]
        assert m.gemv(y, transpose=True).to("cpu").to_pylist() == [9000, 12000, 15000]
        assert (m @ vo.Column(x)).to("cpu").to_pylist() == [321, 654]
    assert y.tolist() == [1000, 2000]
    assert vo.gemv(a, x).to_pylist() == [321, 654]
    assert vo.gemv(np.asfortranarray(a), x).to_pylist() == [321, 654]
    assert np.asarray(vo.gemv(np.zeros((0, 3), dtype), x)).shape == (0,)


def test_gemv_of_what_does_not_fit() -> None:
    m = vo.Matrix(A)
    for call, text in (
        (lambda: m.gemv([1.0, 2.0]), "x has 2"),
        (lambda: m.gemv([1, 2, 3]), "x is of int64"),
        (lambda: m.gemv([1.0, 2.0, None]), "x has 1 nulls"),
        (lambda: m.gemv([1.0, 2.0, 3.0], beta=1, y=[1.0]), "y has 1"),
        (lambda: m.gemv(np.ones(3, "float32")), "x is of float"),
    ):
        with pytest.raises(vo.Mismatch, match=text):
            call()
    with pytest.raises(ValueError, match="no y"):
        m.gemv([1.0, 2.0, 3.0], beta=1)
    with pytest.raises(TypeError):
        m @ 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="__dlpack__"):
        vo.gemv([[1.0]], [1.0])
    m.close()
    with pytest.raises(vo.Closed):
        m.gemv([1.0, 2.0, 3.0])
    with pytest.raises(vo.Closed):
        m.transpose()


@pytest.mark.parametrize("name", DEVICES)
def test_transpose(name: str) -> None:
    rng = np.random.default_rng(1)
    for shape in (2, 3), (1, 7), (65, 33), (0, 4):
        a = rng.normal(size=shape).astype("float32")
        for m in vo.Matrix(a), vo.Matrix(a).to(name):
            t = m.transpose()
            assert t.shape == shape[::-1] and t.device.name == m.device.name
            assert np.array_equal(np.asarray(t.to("cpu")), a.T) and np.array_equal(np.asarray(m.T.T.to("cpu")), a)
        assert np.array_equal(vo.transpose(a).to_numpy(), a.T)
    assert (vo.Matrix(A).T @ vo.Matrix(A)).shape == (3, 3)


@pytest.mark.parametrize("name", DEVICES)
def test_cumulative(name: str) -> None:
    c = vo.Column([3, 1, None, 2]).to(name)
    for got, expected in (
        (c.cumsum(), [3, 4, None, 6]),
        (c.cumprod(), [3, 3, None, 6]),
        (c.cummin(), [3, 1, None, 1]),
        (c.cummax(), [3, 3, None, 3]),
        (c.cumsum(exclusive=True), [0, 3, None, 4]),
        (c.cumsum(skip_nulls=False), [3, 4, None, None]),
        (c.slice(1, 3).cumsum(), [1, None, 3]),
    ):
        assert got.device.name == name and got.dtype == "int64" and got.to("cpu").to_pylist() == expected


def test_cumulative_of_arrays() -> None:
    rng = np.random.default_rng(2)
    for dtype in "int32", "uint64", "float32", "float64":
        a = rng.integers(0, 100, 10_000).astype(dtype)
        for given in (a, a[::3], vo.Column(a)):
            whole: Any = np.asarray(given)
            assert np.allclose(np.asarray(vo.cumsum(given, device="cpu")), np.cumsum(whole, dtype=dtype), rtol=1e-5)
            assert np.array_equal(np.asarray(vo.cummax(given, device="cpu")), np.maximum.accumulate(whole))
            assert np.array_equal(np.asarray(vo.cummin(given, device="cpu")), np.minimum.accumulate(whole))
    assert vo.cumsum([]).to_pylist() == []
    wraps = vo.Column(np.array([100, 27, 1], "int8"))
    assert wraps.cumsum().to_pylist() == [100, 127, -128]
    with pytest.raises(vo.InvalidValue, match="row 2"):
        wraps.cumsum(checked=True)
    with pytest.raises(vo.Unsupported, match="utf8"):
        vo.cumsum(["a"])
    with pytest.raises(TypeError):
        vo.cumsum(3)
    wraps.close()
    with pytest.raises(vo.Closed):
        wraps.cumsum()
