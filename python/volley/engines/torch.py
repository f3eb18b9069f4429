"""Gangs of ranks that torchrun has started, beside torch.distributed. MASTER_PORT belongs to torch's store: rank 0 listens on a port of its own, and publishes it there.

>>> w = vo.engines.torch.enter()  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from .. import gang as _gang
from ..errors import Unavailable
from . import as_rank
from ._machines import host_for, machine
from .launched import LaunchedWorker, entered, generation

_calls = 0


def _store(timeout: float) -> Any:
    """torch's store: the process group's, else the one at MASTER_PORT that torchrun's agent keeps; rank 0 keeps it where no agent does."""
    from torch.distributed import TCPStore, distributed_c10d, is_initialized

    if is_initialized():
        return distributed_c10d._get_default_store()
    host, port = _meeting(os.environ)
    agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return TCPStore(host, port, is_master=not agents and os.environ.get("RANK") == "0", timeout=timedelta(seconds=timeout))


def _meeting(environment: Mapping[str, str]) -> tuple[str, int]:
    """Where torch's store is, as torchrun's variables say it."""
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not environment.get(name):
            raise Unavailable(f"{name} is not set: torchrun sets it, or torch.distributed.init_process_group comes first", "unavailable")
    port = environment["MASTER_PORT"]
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:  # of 0 the other ranks never hear which one it became
        raise Unavailable(f"MASTER_PORT is {port!r}, which no other rank can meet at: a port from 1 to 65535 is wanted", "unavailable")
    return environment["MASTER_ADDR"], int(port)


def enter(*, store: Any = None, timeout: float = 60, **options: Any) -> LaunchedWorker:
    """Makes a gang of all of torchrun's ranks, which call it together, before torch.distributed.init_process_group or after it.

    Ranks on several machines come to rank 0 over a network interface that VOLLEY_SOCKET_IFNAME allows. Each restart by torchrun is a generation; what is in the
    store of an earlier one is not found. The options are those of ``volley.gang.start``.
    """
    global _calls
    _calls += 1
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    this = generation()
    key = f"volley/gang/{os.environ.get('TORCHELASTIC_RUN_ID', '')}/{this}/{_calls}"
    found = _store(timeout) if store is None else store
    start, wait = None, timedelta(seconds=timeout)
    found.set(f"{key}/machine/{rank}", machine())
    if rank == 0:
        told = [f"{key}/machine/{r}" for r in range(size)]
        found.wait(told, wait)
        options.setdefault("host", host_for([found.get(k) for k in told]))
        start = _gang.start(size, invite=True, generation=this, **options)
        found.set(key, start.invitation(0))
    try:
        found.wait([key], wait)
        return entered(as_rank(found.get(key).decode(), rank), start)
    except BaseException:
        if start is not None:
            start.stop()
        raise


__all__ = ["enter"]
