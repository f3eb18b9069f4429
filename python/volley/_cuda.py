"""CUDA arrays of other libraries, by ``__cuda_array_interface__``, and waiting for the work that makes them."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_void_p
from typing import Any

from ._capsule import ArrowDeviceArray, ArrowSchema
from ._library import address as _address
from ._library import lend
from .device import Device, device_of
from .errors import Lost, Mismatch, Unavailable, Unsupported

_FORMATS = {"i1": b"c", "i2": b"s", "i4": b"i", "i8": b"l", "u1": b"C", "u2": b"S", "u4": b"I", "u8": b"L", "f2": b"e", "f4": b"f", "f8": b"g"}


def wait(number: int) -> None:
    """Waits until a device has done all work of its primary context, whoever gave it."""
    context = _device(number).context
    driver = ctypes.CDLL(os.environ.get("VOLLEY_CUDA_LIBRARY") or "libcuda.so.1")
    if driver.cuCtxPushCurrent_v2(c_void_p(context)) != 0:
        raise Unavailable(f"cuda:{number}: cuCtxPushCurrent failed", "unavailable", f"cuda:{number}")
    status = driver.cuCtxSynchronize()
    driver.cuCtxPopCurrent_v2(byref(c_void_p()))
    if status != 0:
        raise Lost(f"cuda:{number}: cuCtxSynchronize: error {status} of work that another library gave it", "lost", f"cuda:{number}")


def _device(number: int) -> Device:
    found = device_of(f"cuda:{number}")
    assert found is not None
    return found


def of_interface(data: Any, number: int = 0) -> tuple[ArrowDeviceArray, ArrowSchema]:
    """Arrow's structures over a CUDA array of one dimension of another library, which is kept until they are released."""
    given = data.__cuda_array_interface__
    typestr, shape = given["typestr"], tuple(given["shape"])
    if given.get("mask") is not None or len(shape) != 1 or typestr[1:] not in _FORMATS or typestr[0] == ">":
        raise Unsupported(f"a CUDA array of type {typestr}, shape {shape}: a column is of numbers, in one dimension, without a mask", "unsupported")
    strides = given.get("strides")
    if strides is not None and tuple(strides) != (int(typestr[2:]),) and shape[0] > 1:
        raise Unsupported(f"a CUDA array with strides {tuple(strides)}: make it contiguous first", "unsupported")
    address, length = given["data"][0], int(shape[0])
    if length < 0 or length > 0 and not address:
        raise Mismatch(f"a CUDA array of {length} values at address {address}", "mismatch")
    wait(number)
    buffers = (c_void_p * 2)(None, address or None)
    made = ArrowDeviceArray(device_id=number, device_type=2)
    a = made.array
    a.length, a.n_buffers, a.buffers = length, 2, ctypes.cast(buffers, type(a.buffers))
    a.private_data, a.release = lend((data, buffers)), _address("volley_python_release_array")
    schema = ArrowSchema(format=_FORMATS[typestr[1:]], name=b"", flags=2, release=_address("volley_python_release_schema"))
    return made, schema
