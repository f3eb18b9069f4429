"""Memory of a device that a framework does not know, or that NumPy would have to copy, is refused by name, and nothing ends the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import volley as vo


class ThereColumn(vo.Column):
    """A column that says that it is on an OpenCL device: a machine without one has the same refusals."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 4, 0


class ThereMatrix(vo.Matrix):
    def __dlpack_device__(self) -> tuple[int, int]:
        return 4, 1


def loader() -> vo.Loader:
    made = vo.Loader(vo.Table({"x": [1.0, 2.0]}), 1)
    made.place = 4, 0
    return made


def batch() -> vo.Batch:
    made = loader().next()
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda: ThereColumn([1.0]).to_torch(), vo.Unsupported, "Column.to_torch: the column is on opencl:0, and PyTorch"),
        (lambda: ThereColumn([True]).to_torch(), vo.Unsupported, "Column.to_torch: the column is on opencl:0, and PyTorch"),
        (lambda: ThereColumn([1.0]).to_jax(), vo.Unsupported, "Column.to_jax: the column is on opencl:0, and JAX"),
        (lambda: ThereMatrix(np.ones((2, 2))).to_torch(), vo.Unsupported, "Matrix.to_torch: the matrix is on opencl:1, and PyTorch"),
        (lambda: loader().torch(), vo.Unsupported, "Loader.torch: the batch is on opencl:0, and PyTorch"),
        (lambda: loader().jax(), vo.Unsupported, "Loader.jax: the batch is on opencl:0, and JAX"),
        (lambda: loader().tensorflow(), vo.Unsupported, "Loader.tensorflow: the batch is on opencl:0, and TensorFlow"),
        (lambda: loader().dataset(), vo.Unsupported, "Loader.dataset: the batch is on opencl:0, and TensorFlow"),
        (lambda: batch().torch(), vo.Unsupported, "Batch.torch: the batch is on opencl:0, and PyTorch"),
        (lambda: np.asarray(ThereColumn([1.0])), TypeError, "Column.__array__: the column is on opencl:0"),
        (lambda: np.asarray(ThereColumn([1.0, None])), TypeError, "Column.__array__: the column is on opencl:0"),
        (lambda: np.asarray(ThereMatrix(np.ones((2, 2)))), TypeError, "Matrix.__array__: the matrix is on opencl:1"),
        (lambda: ThereColumn([1.0]).buffer(), BufferError, "Column.buffer: a column on"),
        (lambda: loader().numpy(), vo.Unsupported, "Loader.numpy: "),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_refused_by_name(use: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as e:
        use()
    text = str(e.value).replace("There", "")
    assert text.startswith(said) and ('.to("cpu")' in text or "without device" in text), text


def test_protocols_of_the_host_are_not_there() -> None:
    c = ThereColumn([1.0])
    for name in ("__array_interface__", "__arrow_c_array__"):
        with pytest.raises(AttributeError, match=r'opencl:0.*\.to\("cpu"\)'):
            getattr(c, name)
