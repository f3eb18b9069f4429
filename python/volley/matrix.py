"""Matrices of float32 or float64, shared by DLPack with NumPy, PyTorch, JAX."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import Any

from . import _capsule
from ._library import Handle, call, long_make, make, take_text
from .device import Device, device_of
from .errors import Unsupported


class Matrix(Handle):
    """A dense row-major matrix in host memory, made of anything that has ``__dlpack__``: without a copy where its rows are contiguous."""

    __slots__ = ()
    _free = "volley_matrix_free"

    def __init__(self, data: Any) -> None:
        if not hasattr(data, "__dlpack__"):
            raise TypeError(f"a {type(data).__name__} has no __dlpack__")
        address, versioned = _capsule.take_tensor(data)
        super().__init__(make("volley_matrix_from_dlpack" + ("_versioned" if versioned else ""), address))

    @classmethod
    def _of(cls, handle: int) -> Matrix:
        m = cls.__new__(cls)
        Handle.__init__(m, handle)
        return m

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = c_int64(), c_int64()
        call("volley_matrix_shape", self, byref(rows), byref(columns))
        return rows.value, columns.value

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return take_text("volley_matrix_type", self)

    def multiply(self, other: Matrix, device: Device | str | None = None) -> Matrix:
        """The product, computed on a device."""
        return Matrix._of(long_make("volley_matrix_multiply", device_of(device), self, other, free="volley_matrix_free"))

    def __matmul__(self, other: Matrix) -> Matrix:
        return self.multiply(other)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        if stream is not None or copy or dl_device is not None and tuple(map(int, dl_device)) != (1, 0):
            raise BufferError("the matrix is in host memory, and is exported as it is")
        versioned = max_version is not None and max_version[0] >= 1
        try:
            address = make("volley_matrix_to_dlpack" + ("_versioned" if versioned else ""), self)
        except Unsupported as e:
            raise BufferError(str(e)) from e
        return _capsule.wrap_tensor(address, versioned)

    def to_numpy(self) -> Any:
        """A NumPy array of the same memory, read-only."""
        import numpy as np

        return np.from_dlpack(self)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Matrix {self.dtype} {rows} × {columns}>"


