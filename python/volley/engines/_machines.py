"""Which ranks are on one machine, and where ranks on others reach this one."""

from __future__ import annotations

import hashlib
import os
import socket
from array import array
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path

# The start's host that the library replaces by an address of this machine that is not loopback, on an interface that VOLLEY_SOCKET_IFNAME allows.
ANY_MACHINE = "*"
LOOPBACK = "127.0.0.1"

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def machine(environment: Mapping[str, str] = os.environ) -> str:
    """What processes of one machine have in common: VOLLEY_MACHINE, else the host's name and boot, by which containers of one host are machines of their own."""
    told = environment.get("VOLLEY_MACHINE", "")
    if told:
        return told
    try:
        return f"{socket.gethostname()} {_BOOT.read_text().strip()}"
    except OSError:
        return socket.gethostname()  # the best that this system has


def mark(name: str) -> array[int]:
    """A machine's name as two numbers, for ranks that have numbers alone to tell it with."""
    return array("q", hashlib.sha256(name.encode()).digest()[:16])


def marks(numbers: array[int]) -> list[tuple[int, int]]:
    """The marks of all ranks, of their numbers one after another."""
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def host_for(machines: Collection[Hashable]) -> str:
    """Where the start listens for ranks on these machines, this one's among them: on the loopback device where there is no other."""
    return LOOPBACK if len(set(machines)) == 1 else ANY_MACHINE
