"""PyCapsules of Arrow's and DLPack's structures, both ways, by the interpreter's own functions."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p, py_object
from typing import Any

from .errors import Mismatch

_api = ctypes.pythonapi
# Prototypes of our own: attributes of pythonapi are shared with every other user of ctypes.
_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _api))
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _api))
_valid = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_IsValid", _api))
_rename = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", _api))
# A capsule that is being destroyed has no references, and must not be given any: it goes by its address.
_dying_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))
_dying_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))

_Release = CFUNCTYPE(None, c_void_p)
_Destroy = ctypes.PYFUNCTYPE(None, c_void_p)


class ArrowSchema(Structure):
    """Arrow's C structure of a type."""

    _fields_ = [
        ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
        ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p),
    ]  # fmt: skip


class ArrowArray(Structure):
    """Arrow's C structure of an array."""

    _fields_ = [
        ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
        ("buffers", POINTER(c_void_p)), ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p),
    ]  # fmt: skip


class ArrowArrayStream(Structure):
    """Arrow's C structure of a stream."""

    _fields_ = [
        ("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p), ("release", c_void_p), ("private_data", c_void_p),
    ]  # fmt: skip


_NAMES: dict[type[Structure], bytes] = {ArrowSchema: b"arrow_schema", ArrowArray: b"arrow_array", ArrowArrayStream: b"arrow_array_stream"}
_held: dict[int, Structure] = {}  # the structures of capsules that live


def _destructor(name: bytes) -> Any:
    def destroy(capsule: int) -> None:
        address = _dying_pointer(capsule, name)
        structure: Any = _held.pop(address, None)
        if structure is not None and structure.release:
            _Release(structure.release)(address)

    return _Destroy(destroy)


_DESTRUCTORS = {name: _destructor(name) for name in _NAMES.values()}


def wrap(structure: Structure) -> Any:
    """A capsule of a structure of Arrow, which is released with it unless somebody moved it out."""
    name = _NAMES[type(structure)]
    address = ctypes.addressof(structure)
    _held[address] = structure
    return _new(address, name, ctypes.cast(_DESTRUCTORS[name], c_void_p))


def unwrap(capsule: Any, name: bytes) -> int:
    """The structure in a capsule of that name."""
    if type(capsule).__name__ != "PyCapsule" or not _valid(capsule, name):
        raise Mismatch(f"a PyCapsule named {name.decode()} is wanted, not {capsule!r}", "mismatch")
    return int(_pointer(capsule, name))


class _Managed(Structure):
    """The end of DLPack's managed tensor, after the tensor itself."""

    _fields_ = [("tensor", c_int64 * 6), ("context", c_void_p), ("deleter", c_void_p)]


class _Versioned(Structure):
    """The beginning of DLPack's versioned managed tensor."""

    _fields_ = [("version", c_int64), ("context", c_void_p), ("deleter", c_void_p)]


def _tensor_destructor(name: bytes, layout: type[Structure]) -> Any:
    def destroy(capsule: int) -> None:
        if _dying_valid(capsule, name):  # nobody took the tensor
            address = _dying_pointer(capsule, name)
            deleter = layout.from_address(address).deleter
            if deleter:
                _Release(deleter)(address)

    return _Destroy(destroy)


_TENSORS = {
    b"dltensor": _tensor_destructor(b"dltensor", _Managed),
    b"dltensor_versioned": _tensor_destructor(b"dltensor_versioned", _Versioned),
}


def wrap_tensor(address: int, versioned: bool) -> Any:
    """A capsule of a managed tensor."""
    name = b"dltensor_versioned" if versioned else b"dltensor"
    return _new(address, name, ctypes.cast(_TENSORS[name], c_void_p))


def take_tensor(producer: Any) -> tuple[int, bool]:
    """The managed tensor that an object exports, and whether it is a versioned one. The capsule is marked as used."""
    kind = producer.__dlpack_device__()[0]
    if int(kind) not in (1, 3, 13):
        from .errors import Unsupported

        raise Unsupported(f"a tensor on a device of type {int(kind)}: bring it to the host first", "unsupported")
    try:
        capsule = producer.__dlpack__(max_version=(1, 1))
    except TypeError:  # older producers
        capsule = producer.__dlpack__()
    for name, used in ((b"dltensor_versioned", b"used_dltensor_versioned"), (b"dltensor", b"used_dltensor")):
        if type(capsule).__name__ == "PyCapsule" and _valid(capsule, name):
            address = int(_pointer(capsule, name))
            _rename(capsule, used)
            return address, name == b"dltensor_versioned"
    raise Mismatch(f"a PyCapsule named dltensor is wanted, not {capsule!r}", "mismatch")


__all__ = ["ArrowArray", "ArrowArrayStream", "ArrowSchema", "byref", "take_tensor", "unwrap", "wrap", "wrap_tensor"]
