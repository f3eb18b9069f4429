"""DLPack's managed tensors in PyCapsules, both ways."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

from . import _capsule
from ._library import address as _address
from ._library import lend
from ._memory import aligned
from .errors import Mismatch, Unsupported

READ_ONLY, IS_COPIED = 1, 2
_BOOL = 6


class Tensor(Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]  # fmt: skip


class Managed(Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class Versioned(Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64), ("tensor", Tensor)]


_Deleter = CFUNCTYPE(None, c_void_p)
_LAYOUTS: dict[bytes, type[Structure]] = {b"dltensor": Managed, b"dltensor_versioned": Versioned}

def copied(data: bytes, shape: tuple[int, ...], code: int, bits: int, versioned: bool) -> int:
    """A tensor of a copy, row by row, that may be written to."""
    managed: Any = Versioned(major=1, minor=1, flags=IS_COPIED) if versioned else Managed()
    block, at = aligned(data)
    steps = list(itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1))[::-1]
    lists = [(c_int64 * len(shape))(*shape), (c_int64 * len(shape))(*steps)]
    managed.tensor = Tensor(at, 1, 0, len(shape), code, bits, 1, *[ctypes.cast(a, POINTER(c_int64)) for a in lists], 0)
    managed.deleter = _address("volley_python_delete_tensor_versioned" if versioned else "volley_python_delete_tensor")
    managed.context = lend((managed, block, lists))
    return ctypes.addressof(managed)


def export(make: Callable[[bool], int], here: tuple[int, int], stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule of the tensor that make gives, versioned or not, by the rules of ``__dlpack__``. It is on the device here."""
    if here[0] == 1 and stream is not None:
        raise BufferError("the tensor is in host memory: there is no stream to wait for")
    if here[0] == 2 and stream == 0:
        raise ValueError("stream 0 means nothing of CUDA: it is 1, 2, an address, or -1 where nothing waits")
    if dl_device is not None and tuple(map(int, dl_device)) != here:
        raise BufferError(f"the tensor is on device {here}, not {tuple(map(int, dl_device))}")
    versioned = max_version is not None and max_version[0] >= 1
    try:
        address = make(versioned)
    except Unsupported as e:
        raise BufferError(str(e)) from e
    capsule = wrap(address, versioned)
    if not copy:
        return capsule
    if here[0] != 1:
        raise BufferError(f"a copy on device {here}: copy what the consumer makes of the tensor")
    t = of(capsule)
    shape = tuple(t.shape[: t.ndim])
    return wrap(copied(_contents(t, shape), shape, t.code, t.bits, versioned), versioned)  # the first one goes with its capsule


def bools(values: list[bool], max_version: Any, copy: bool | None) -> Any:
    """A capsule of bools, a byte each. A column has them as bits."""
    if copy is False:
        raise BufferError("a column of bool is bits and a tensor has bytes: it is a copy")
    versioned = max_version is not None and max_version[0] >= 1
    return wrap(copied(bytes(values), (len(values),), _BOOL, 8, versioned), versioned)


def _contents(t: Any, shape: tuple[int, ...]) -> bytes:
    """The elements of a tensor whose rows are contiguous."""
    width, row = t.bits // 8, shape[-1]
    first = (t.data or 0) + t.byte_offset
    if 0 in shape:
        return b""
    if t.ndim == 1:
        return ctypes.string_at(first, row * width)
    return b"".join(ctypes.string_at(first + i * t.strides[0] * width, row * width) for i in range(shape[0]))


def wrap(address: int, versioned: bool) -> Any:
    """A capsule of a managed tensor, which is deleted with it unless somebody takes it."""
    name = b"dltensor_versioned" if versioned else b"dltensor"
    return _capsule.new(address, name)


def handed(address: int, take: Callable[[Any], Any]) -> Any:
    """What take makes of a capsule of a managed tensor, which it takes before it returns: the capsule then needs nobody who looks after it, which
    costs as much as the rest of a call. A tensor that is not taken is deleted."""
    capsule = _capsule.plain(address, b"dltensor")
    try:
        return take(capsule)
    except BaseException:
        if _capsule.valid(capsule, b"dltensor"):
            _capsule.rename(capsule, b"used_dltensor")
            delete([address])
        raise


def all_handed(addresses: Sequence[int], take: Callable[[Any], Any]) -> list[Any]:
    """handed of some managed tensors. After an exception none of them is left."""
    made: list[Any] = []
    try:
        for address in addresses:
            made.append(handed(address, take))  # noqa: PERF401 - how many there are must be known
    except BaseException:
        delete(addresses[len(made) + 1 :])
        raise
    return made


def delete(addresses: Sequence[int | None]) -> None:
    """Deletes managed tensors that nobody took."""
    for address in addresses:
        if address:
            managed = Managed.from_address(address)
            if managed.deleter:
                _Deleter(managed.deleter)(address)


def of(capsule: Any) -> Any:
    """The tensor in a capsule that nobody has taken."""
    for name, layout in _LAYOUTS.items():
        if _capsule.valid(capsule, name):
            managed: Any = layout.from_address(_capsule.pointer(capsule, name))
            return managed.tensor
    raise Mismatch(f"a PyCapsule named dltensor is wanted, not {capsule!r}", "mismatch")


def take(producer: Any) -> tuple[int, bool]:
    """The managed tensor that an object exports, and whether it is a versioned one. The capsule is marked as used."""
    kind, number = map(int, producer.__dlpack_device__())
    if kind not in (1, 2, 3, 4, 13):
        raise Unsupported(f"a tensor on a device of type {kind}: bring it to the host first", "unsupported")
    # 1 is CUDA's own stream: the producer makes it wait for the tensor, and what is read next waits for it.
    stream = {"stream": 1} if kind in (2, 13) else {}
    try:
        capsule = producer.__dlpack__(max_version=(1, 1), **stream)
    except TypeError:  # older producers
        capsule = producer.__dlpack__(**stream)
    if stream:
        from ._cuda import wait

        wait(number)
    for name in _LAYOUTS:
        if _capsule.valid(capsule, name):
            address = _capsule.pointer(capsule, name)
            _capsule.rename(capsule, b"used_" + name)
            return address, name == b"dltensor_versioned"
    raise Mismatch(f"a PyCapsule named dltensor is wanted, not {capsule!r}", "mismatch")


__all__ = ["Tensor", "all_handed", "bools", "delete", "export", "handed", "of", "take", "wrap"]
