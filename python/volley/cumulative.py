"""Cumulative sums, products and extremes of columns and arrays."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _abi
from ._library import long_make
from .device import Device, device_of

if TYPE_CHECKING:
    from .column import Column


def _running(op: str, data: Any, exclusive: bool, skip_nulls: bool, checked: bool, device: Device | str | None) -> Column:
    from .column import Column

    c = data if isinstance(data, Column) else Column(data)
    at = device_of(device)
    if at is None and c.__dlpack_device__()[0] != 1:
        at = c.device
    options: Any = _abi.volley_cumulative_options
    o = options(size=ctypes.sizeof(_abi.volley_cumulative_options), exclusive=exclusive, keep_nulls=not skip_nulls, checked=checked)
    return Column._of(long_make("volley_cumulative", at, c, op.encode(), byref(o), free="volley_column_free"))


def cumsum(data: Any, *, exclusive: bool = False, skip_nulls: bool = True, checked: bool = False, device: Device | str | None = None) -> Column:
    """The running sum of a column, or of anything that a Column is made of (an array of NumPy in one dimension, a tensor), as a column of its type.

    data is of integers, floats, decimals or durations; other types are Unsupported. Row i is the sum of rows 0 to i, with exclusive of those before
    i. A null row is null and the sum goes on, or with skip_nulls=False all rows from it on are null. Integers and decimals wrap; with checked an
    overflow is an InvalidValue that names the row. Floats are added up in float64 and rounded to the type.

    A column on a device is summed there; device names another one than the best for data on the host. Mismatch where data is on another device.

    >>> cumsum([1, 2, None, 4]).to_pylist()
    [1, 3, None, 7]
    """
    return _running("sum", data, exclusive, skip_nulls, checked, device)


def cumprod(data: Any, *, exclusive: bool = False, skip_nulls: bool = True, checked: bool = False, device: Device | str | None = None) -> Column:
    """The running product of integers or floats; the rest is as in ``cumsum``.

    >>> cumprod([1, 2, 3, 4]).to_pylist()
    [1, 2, 6, 24]
    """
    return _running("product", data, exclusive, skip_nulls, checked, device)


def cummin(data: Any, *, exclusive: bool = False, skip_nulls: bool = True, device: Device | str | None = None) -> Column:
    """The running minimum of numbers, decimals or times, passing over NaN; the rest is as in ``cumsum``.

    >>> cummin([3, 4, 1, 2]).to_pylist()
    [3, 3, 1, 1]
    """
    return _running("min", data, exclusive, skip_nulls, False, device)


def cummax(data: Any, *, exclusive: bool = False, skip_nulls: bool = True, device: Device | str | None = None) -> Column:
    """The running maximum; the rest is as in ``cummin``.

    >>> cummax([3, 4, 1, 5]).to_pylist()
    [3, 4, 4, 5]
    """
    return _running("max", data, exclusive, skip_nulls, False, device)


class Cumulative:
    """The running reductions as methods of a column."""

    __slots__ = ()

    def cumsum(self, *, exclusive: bool = False, skip_nulls: bool = True, checked: bool = False, device: Device | str | None = None) -> Column:
        """The running sum: see ``volley.cumsum``."""
        return cumsum(self, exclusive=exclusive, skip_nulls=skip_nulls, checked=checked, device=device)

    def cumprod(self, *, exclusive: bool = False, skip_nulls: bool = True, checked: bool = False, device: Device | str | None = None) -> Column:
        """The running product: see ``volley.cumprod``."""
        return cumprod(self, exclusive=exclusive, skip_nulls=skip_nulls, checked=checked, device=device)

    def cummin(self, *, exclusive: bool = False, skip_nulls: bool = True, device: Device | str | None = None) -> Column:
        """The running minimum: see ``volley.cummin``."""
        return cummin(self, exclusive=exclusive, skip_nulls=skip_nulls, device=device)

    def cummax(self, *, exclusive: bool = False, skip_nulls: bool = True, device: Device | str | None = None) -> Column:
        """The running maximum: see ``volley.cummax``."""
        return cummax(self, exclusive=exclusive, skip_nulls=skip_nulls, device=device)
