"""Gangs of ranks that torchrun has started, beside torch.distributed. MASTER_PORT belongs to torch's store: rank 0 listens on a port of its own, and publishes it there.

>>> w = vo.engines.torch.enter()  # doctest: +SKIP
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from .. import gang as _gang
from ..errors import Unavailable
from . import as_rank
from .launched import LaunchedWorker, entered, generation, own_host

_calls = 0


def _store(timeout: float) -> Any:
    """torch's store: the process group's, else the one at MASTER_PORT that torchrun's agent keeps; rank 0 keeps it where no agent does."""
    from torch.distributed import TCPStore, distributed_c10d, is_initialized

    if is_initialized():
        return distributed_c10d._get_default_store()
    try:
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    except KeyError as e:
        raise Unavailable(f"{e.args[0]} is not set: torchrun sets it, or torch.distributed.init_process_group comes first", "unavailable") from None
    agents = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return TCPStore(host, port, is_master=not agents and os.environ.get("RANK") == "0", timeout=timedelta(seconds=timeout))


def enter(*, store: Any = None, timeout: float = 60, **options: Any) -> LaunchedWorker:
    """Makes a gang of all of torchrun's ranks, which call it together, before torch.distributed.init_process_group or after it.

    Each restart by torchrun is a generation; what is in the store of an earlier one is not found. The options are those of ``volley.gang.start``.
    """
    global _calls
    _calls += 1
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    this = generation()
    key = f"volley/gang/{os.environ.get('TORCHELASTIC_RUN_ID', '')}/{this}/{_calls}"
    found = _store(timeout) if store is None else store
    start = None
    if rank == 0:
        options.setdefault("host", own_host(os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]))
        start = _gang.start(size, invite=True, generation=this, **options)
        found.set(key, start.invitation(0))
    try:
        found.wait([key], timedelta(seconds=timeout))
        return entered(as_rank(found.get(key).decode(), rank), start)
    except BaseException:
        if start is not None:
            start.stop()
        raise


__all__ = ["enter"]
