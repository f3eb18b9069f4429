"""PyCapsules of Arrow's structures, both ways, by the interpreter's own functions."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_void_p, py_object
from typing import Any

from ._library import address, lend
from .errors import Mismatch

_api = ctypes.pythonapi
# Prototypes of our own: attributes of pythonapi are shared with every other user of ctypes.
_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _api))
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _api))
_valid = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_IsValid", _api))
_rename = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", _api))
_keep = ctypes.PYFUNCTYPE(c_int, py_object, c_void_p)(("PyCapsule_SetContext", _api))

_Release = CFUNCTYPE(None, c_void_p)


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


class ArrowDeviceArray(Structure):
    """Arrow's C structure of an array on a device."""

    _fields_ = [("array", ArrowArray), ("device_id", c_int64), ("device_type", c_int32), ("sync_event", c_void_p), ("reserved", c_int64 * 3)]

    @property
    def release(self) -> int | None:
        """The callback of the array."""
        address: int | None = self.array.release
        return address


class ArrowDeviceArrayStream(Structure):
    """Arrow's C structure of a stream of arrays on a device."""

    _fields_ = [
        ("device_type", c_int32), ("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p), ("release", c_void_p),
        ("private_data", c_void_p),
    ]  # fmt: skip


_NAMES: dict[type[Structure], bytes] = {
    ArrowSchema: b"arrow_schema", ArrowArray: b"arrow_array", ArrowArrayStream: b"arrow_array_stream", ArrowDeviceArray: b"arrow_device_array",
    ArrowDeviceArrayStream: b"arrow_device_array_stream",
}  # fmt: skip


def wrap(structure: Structure) -> Any:
    """A capsule of a structure of Arrow, which is released with it unless somebody moved it out."""
    capsule = new(ctypes.addressof(structure), _NAMES[type(structure)])
    _keep(capsule, lend(structure))
    return capsule


class Schema(ArrowSchema):
    """A structure that is released with its Python object."""

    def __del__(self) -> None:
        if self.release:
            _Release(self.release)(ctypes.addressof(self))


def names(schema: ArrowSchema) -> list[str]:
    """The names of the columns of a table's schema."""
    n = schema.n_children
    children = (c_void_p * n).from_address(schema.children) if n and schema.children else ()
    return [(ArrowSchema.from_address(c).name or b"").decode() for c in children]


class Array(ArrowArray):
    """A structure that is released with its Python object."""

    def __del__(self) -> None:
        if self.release:
            _Release(self.release)(ctypes.addressof(self))


_Next = CFUNCTYPE(c_int, c_void_p, c_void_p)
_Text = CFUNCTYPE(c_char_p, c_void_p)


def said(stream: ArrowArrayStream) -> str:
    """What a stream says of its failure."""
    return (_Text(stream.get_last_error)(ctypes.addressof(stream)) or b"the stream ended with an error").decode("utf-8", "replace")


def pulled(stream: ArrowArrayStream) -> Iterator[Array]:
    """The arrays of a stream, which stays its owner's."""
    while True:
        array = Array()
        if _Next(stream.get_next)(ctypes.addressof(stream), ctypes.addressof(array)) != 0:
            raise Mismatch(said(stream), "mismatch")
        if not array.release:
            return
        yield array


def arrays(stream: ArrowArrayStream) -> Iterator[Array]:
    """The arrays of a stream, which is released at its end."""
    try:
        yield from pulled(stream)
    finally:
        _Release(stream.release)(ctypes.addressof(stream))


def no_options(options: dict[str, Any]) -> None:
    """Ends an export of a device's array that was asked for with options that there are not."""
    unknown = [name for name, value in options.items() if value is not None]
    if unknown:
        raise NotImplementedError(f"{', '.join(unknown)}: there are no such options")


def pair(given: Any, method: str) -> tuple[Any, Any]:
    """The two capsules that a method of the protocol gave."""
    if not isinstance(given, tuple) or len(given) != 2:
        raise Mismatch(f"{method} gives a schema and an array, not {given!r}", "mismatch")
    return given


def unwrap(capsule: Any, name: bytes) -> int:
    """The structure in a capsule of that name."""
    if not valid(capsule, name):
        raise Mismatch(f"a PyCapsule named {name.decode()} is wanted, not {capsule!r}", "mismatch")
    return int(_pointer(capsule, name))


def new(at: int, name: bytes) -> Any:
    """A capsule with a name that lives as long as the process: what it holds of Arrow's or DLPack's is released with it, by C, which knows whether
    the interpreter is ending and leaves exceptions as they are."""
    return _new(at, name, address("volley_python_destroy"))


def plain(address: int, name: bytes) -> Any:
    """A capsule with a name that lives as long as the process, of what is not deleted with it."""
    return _new(address, name, None)


def valid(capsule: Any, name: bytes) -> bool:
    """Whether it is a capsule of that name."""
    return type(capsule).__name__ == "PyCapsule" and bool(_valid(capsule, name))


def pointer(capsule: Any, name: bytes) -> int:
    """What a capsule of that name holds."""
    return int(_pointer(capsule, name))


def rename(capsule: Any, name: bytes) -> None:
    """Gives a capsule another name, which lives as long as the process."""
    _rename(capsule, _NAMES_FOREVER.setdefault(name, name))


_NAMES_FOREVER: dict[bytes, bytes] = {}


__all__ = ["Array", "ArrowArray", "ArrowArrayStream", "ArrowDeviceArray", "ArrowDeviceArrayStream", "ArrowSchema", "Schema", "arrays", "names", "new", "no_options", "pair", "plain", "pointer", "pulled", "rename", "said", "unwrap", "valid", "wrap"]
