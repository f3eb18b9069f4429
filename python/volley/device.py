"""Devices: the processors that tables live and are worked on."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int64, c_void_p
from dataclasses import dataclass

from . import _abi
from ._library import Handle, call, encode, library, make, take_text


class Device(Handle):
    """A processor with its kernels: ``Device("cpu")``, ``Device("cuda:0")``, ``Device("auto")`` for the best there is.

    >>> Device("cpu").name
    'cpu'
    """

    __slots__ = ()
    _free = "volley_device_free"

    def __init__(self, name: str = "auto") -> None:
        super().__init__(make("volley_device_open", encode(name)))

    @classmethod
    def _of(cls, handle: int) -> Device:
        d = cls.__new__(cls)
        Handle.__init__(d, handle)
        return d

    @property
    def name(self) -> str:
        """The name that opens it."""
        return take_text("volley_device_name", self)

    def __repr__(self) -> str:
        return f"Device({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class DeviceInfo:
    """A device of this machine, or why a kind of device is not there."""

    name: str
    kind: str
    description: str
    tier: str
    why: str
    units: int
    memory: int
    emulated: bool


def devices() -> list[DeviceInfo]:
    """The devices of this machine, and for a kind that is not there the reason in ``why``."""
    out, count = c_void_p(), c_int64()
    call("volley_devices", byref(out), byref(count))
    try:
        rows = (_abi.volley_device_info * count.value).from_address(out.value or 0)

        def text(address: int | None) -> str:
            return ctypes.string_at(address).decode() if address else ""

        return [
            DeviceInfo(text(d.name), text(d.kind), text(d.description), text(d.tier), text(d.why), d.units, d.memory, bool(d.emulated))
            for d in rows
        ]
    finally:
        library().volley_devices_free(out, count)


def device_of(device: Device | str | None) -> Device | None:
    """A device, or that of a name; None is the best there is."""
    return _named(device) if isinstance(device, str) else device


_opened: dict[str, Device] = {}


def _named(name: str) -> Device:
    if name not in _opened:
        _opened[name] = Device(name)
    return _opened[name]
