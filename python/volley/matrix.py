"""Matrices of float32 or float64, shared by DLPack with NumPy, PyTorch, JAX, and BLAS's products of them."""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import Any, SupportsIndex, overload

from . import _tensor
from ._calls import say, shown
from ._library import Handle, call, long_make, make, take_text
from ._pickle import reduce_matrix
from .column import Column
from .device import Device, device_of, no_array, no_framework, no_host_memory, place_of, taken_by


class Matrix(Handle):
    """A dense row-major matrix in host memory, made of anything that has ``__dlpack__``: without a copy where its rows are contiguous."""

    __slots__ = ()
    _free = "volley_matrix_free"

    def __init__(self, data: Any) -> None:
        if not hasattr(data, "__dlpack__"):
            raise TypeError(say(f"{shown(data)} has no __dlpack__", data))
        address, versioned = _tensor.take(data)
        super().__init__(make("volley_matrix_from_dlpack" + ("_versioned" if versioned else ""), address))

    @classmethod
    def _of(cls, handle: int) -> Matrix:
        m = cls.__new__(cls)
        Handle.__init__(m, handle)
        return m

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A pickle carries the elements, and the name of the device that they are moved to again."""
        return reduce_matrix(self, int(protocol))

    def __copy__(self) -> Matrix:
        """Another object of the same memory, which nobody changes."""
        return self.to(self.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Matrix:
        return self.__copy__()

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

    @property
    def device(self) -> Device:
        """Where the matrix lives."""
        return Device._of(make("volley_matrix_device", self))

    def to(self, device: Device | str) -> Matrix:
        """The matrix on another device; the same memory where both work on the host's."""
        return Matrix._of(long_make("volley_matrix_to", self, device_of(device), free="volley_matrix_free"))

    def multiply(self, other: Matrix, device: Device | str | None = None) -> Matrix:
        """The product, computed on a device."""
        return Matrix._of(long_make("volley_matrix_multiply", device_of(device), self, other, free="volley_matrix_free"))

    def _where(self, device: Device | str | None) -> Device | None:
        """The device of a call: that of the matrix, where none is named and it is not in the host's memory."""
        at = device_of(device)
        return self.device if at is None and self.__dlpack_device__()[0] != 1 else at

    def gemv(
        self, x: Any, *, alpha: float = 1.0, beta: float = 0.0, y: Any = None, transpose: bool = False, device: Device | str | None = None
    ) -> Column:
        """alpha A x + beta y as a column, with A this matrix or, with transpose, its transpose; y is not changed.

        x has A's columns and y its rows: columns without nulls, or what a Column is made of (an array of NumPy in one dimension, a tensor), of the
        matrix's type. Mismatch names what has another type, length or device. The product is computed on a device, and is there if an argument is.

        >>> import numpy
        >>> Matrix(numpy.array([[1.0, 2.0], [3.0, 4.0]])).gemv([1.0, 1.0]).to_pylist()
        [3.0, 7.0]
        """
        self._handle  # noqa: B018 - a closed matrix is refused before the vectors are looked at
        if y is None and beta != 0:
            raise ValueError(say(f"beta is {beta} and there is no y"))
        given, added = _vector(x), None if y is None else _vector(y)
        at = self._where(device)
        return Column._of(long_make("volley_matrix_gemv", at, transpose, alpha, self, given, beta, added, free="volley_column_free"))

    def transpose(self, device: Device | str | None = None) -> Matrix:
        """The transpose, in memory of its own: columns × rows, computed on a device, and there if the matrix is.

        >>> import numpy
        >>> Matrix(numpy.array([[1.0, 2.0, 3.0]])).transpose().shape
        (3, 1)
        """
        return Matrix._of(long_make("volley_matrix_transpose", self._where(device), self, free="volley_matrix_free"))

    @property
    def T(self) -> Matrix:
        """The transpose."""
        return self.transpose()

    @overload
    def __matmul__(self, other: Matrix) -> Matrix: ...

    @overload
    def __matmul__(self, other: Column) -> Column: ...

    def __matmul__(self, other: Matrix | Column) -> Matrix | Column:
        self._handle  # noqa: B018 - a closed matrix is refused before the other side is looked at
        if isinstance(other, Matrix):
            return self.multiply(other)
        return self.gemv(other) if isinstance(other, Column) else NotImplemented

    def __dlpack_device__(self) -> tuple[int, int]:
        return place_of(self.device)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        """A tensor of two dimensions: the matrix's memory, read-only, unless copy is true."""
        return _tensor.export(self._to_dlpack, self.__dlpack_device__(), stream, max_version, dl_device, copy)

    def _to_dlpack(self, versioned: bool) -> int:
        return make("volley_matrix_to_dlpack" + ("_versioned" if versioned else ""), self)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        no_host_memory("matrix", self.__dlpack_device__())
        capsule = self.__dlpack__(max_version=(1, 0))
        t = _tensor.of(capsule)
        width, shape = t.bits // 8, tuple(t.shape[:2])
        strides = tuple(s * width for s in t.strides[:2])
        return {"version": 3, "shape": shape, "strides": strides, "typestr": f"<f{width}", "data": ((t.data or 0) + t.byte_offset, True)}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        no_array("matrix", self.__dlpack_device__())
        a = self.to_numpy()
        if dtype is not None and a.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError(f"a matrix of {self.dtype} as {dtype} is a copy")
            return a.astype(dtype)
        return a.copy() if copy else a

    def to_numpy(self) -> Any:
        """A NumPy array: of the same memory, read-only, or a copy of a device's."""
        import numpy as np

        return np.from_dlpack(self if self.__dlpack_device__()[0] == 1 else self.to("cpu"))

    def to_torch(self) -> Any:
        """A PyTorch tensor of the same memory, which must not be written to."""
        place = self.__dlpack_device__()
        no_framework("matrix", place, "PyTorch")
        import torch

        return taken_by("PyTorch", "matrix", place, torch.from_dlpack, self)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Matrix {self.dtype} {rows} × {columns}>"


def _vector(data: Any) -> Column:
    return data if isinstance(data, Column) else Column(data)


def _matrix(data: Any) -> Matrix:
    return data if isinstance(data, Matrix) else Matrix(data)


def gemv(
    a: Any, x: Any, *, alpha: float = 1.0, beta: float = 0.0, y: Any = None, transpose: bool = False, device: Device | str | None = None
) -> Column:
    """alpha A x + beta y, with A a Matrix or anything with ``__dlpack__`` in two dimensions: see ``Matrix.gemv``."""
    return _matrix(a).gemv(x, alpha=alpha, beta=beta, y=y, transpose=transpose, device=device)


def transpose(a: Any, *, device: Device | str | None = None) -> Matrix:
    """The transpose of a Matrix, or of anything with ``__dlpack__`` in two dimensions: see ``Matrix.transpose``."""
    return _matrix(a).transpose(device)
