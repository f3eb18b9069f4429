"""Devices: the processors that tables live and are worked on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, SupportsIndex

from . import _abi
from ._calls import say, shown
from ._library import Handle, call, encode, library, make, take_text
from .errors import Unsupported, VolleyError


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

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A pickle carries the name."""
        return Device, (self.name,)

    @property
    def name(self) -> str:
        """The name that opens it."""
        return take_text("volley_device_name", self)

    @property
    def context(self) -> int:
        """The driver's context that memory of other libraries must be of: a CUcontext, the device's primary one; a cl_context. The host has none."""
        out = c_uint64()
        call("volley_device_context", self, byref(out))
        return out.value

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
    if device is None or isinstance(device, Device):
        return device
    if not isinstance(device, str):
        raise TypeError(say(f"a device is a Device or the name of one, such as \"cpu\", not {shown(device)}", device))
    return _named(device)


_KINDS = {"cpu": 1, "cuda": 2, "opencl": 4}


def place_of(device: Device) -> tuple[int, int]:
    """A device in DLPack's numbers, which are Arrow's too."""
    kind, _, number = device.name.partition(":")
    return _KINDS[kind], int(number or 0)


def name_of(place: tuple[int, int]) -> str:
    """The name of the device of DLPack's numbers."""
    kind = next(name for name, number in _KINDS.items() if number == place[0])
    return kind if kind == "cpu" else f"{kind}:{place[1]}"


def no_host_memory(what: str, place: tuple[int, int]) -> None:
    """Ends a protocol of host memory where the memory is a device's: as an attribute that is not there, since protocols are looked for."""
    if place[0] != 1:
        raise AttributeError(f"the {what} is on {name_of(place)}: bring it to the host with .to(\"cpu\"), or take it by __arrow_c_device_*__ or __dlpack__")


def no_array(what: str, place: tuple[int, int]) -> None:
    """Ends NumPy's look at a device's memory, which it would have to copy."""
    if place[0] != 1:
        raise TypeError(say(f"the {what} is on {name_of(place)}, where NumPy reads nothing: .to(\"cpu\") and .to_numpy() copy it to the host"))


def no_framework(what: str, place: tuple[int, int], framework: str) -> None:
    """Ends the hand-over of memory to a framework that ends the process when it gets memory of a device that it does not know."""
    if place[0] not in (1, 2):
        raise Unsupported(say(f"the {what} is on {name_of(place)}, and {framework} knows the memory of the host and of CUDA: say .to(\"cpu\") first"), "unsupported")


def taken_by(framework: str, what: str, place: tuple[int, int], take: Callable[[Any], Any], given: Any) -> Any:
    """What a framework makes of memory. One that is built for processors alone names neither the call nor the memory when that is CUDA's."""
    try:
        return take(given)
    except (RuntimeError, AssertionError) as e:
        if place[0] != 2 or isinstance(e, VolleyError):
            raise
        raise Unsupported(say(f"the {what} is on {name_of(place)}, and this {framework} does not take it ({e}): say .to(\"cpu\") first"), "unsupported") from e


_opened: dict[str, Device] = {}


def _named(name: str) -> Device:
    if name not in _opened:
        _opened[name] = Device(name)
    return _opened[name]
