"""Gangs on a Dask cluster: workers of ``distributed`` are locked together, one task on each is a rank.

>>> with vo.engines.dask.gang(client, 4) as g:  # doctest: +SKIP
...     refs = g.run("module:function")
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from ..errors import Unavailable
from ..gang import Gang, Ref, union
from ..table import Table
from . import EngineGang, place_of, serve, whole


def _serve(invitation: str, address: str) -> None:
    """The task of a rank. One whose worker died is run elsewhere, where it has no business: waiting for an address that never comes back would be for ever."""
    from distributed import get_worker, secede

    here = get_worker().address
    if here != address:
        raise RuntimeError(f"this rank is for the worker {address}, which has gone, and not for {here}")
    secede()  # other tasks may run here meanwhile
    serve(invitation)


class _Tasks:
    """The tasks of a gang's ranks, and the lock on their workers."""

    def __init__(self, client: Any, invitations: list[str], among: Sequence[str] | None, timeout: float) -> None:
        from distributed import MultiLock

        until = time.monotonic() + timeout
        while True:  # one that died is started again, at another address
            there = _alive(client, list(client.scheduler_info(n_workers=-1)["workers"]))
            chosen = [a for a in (among if among is not None else there) if a in there][: len(invitations)]
            if len(chosen) == len(invitations) or time.monotonic() > until:
                break
            time.sleep(0.1)
        if len(chosen) < len(invitations):
            raise Unavailable(f"{len(invitations)} ranks want a worker each, and the cluster has {len(chosen)} of those that may be used", "unavailable")
        self.addresses, self._client, self.invitations = chosen, client, invitations
        self._lock = MultiLock([f"volley-gang {a}" for a in chosen], client=client)  # all or none: two gangs never have half of each other's
        if not self._lock.acquire(timeout=timeout):
            raise Unavailable(f"the workers {', '.join(chosen)} were not free together within {timeout} s: another gang has some of them", "unavailable")
        run = uuid.uuid4().hex
        self.futures = [
            client.submit(_serve, text, address, workers=[address], allow_other_workers=True, pure=False, retries=0, key=f"volley-gang-{run}-{rank}")
            for rank, (text, address) in enumerate(zip(invitations, chosen, strict=True))
        ]

    def failed(self) -> str | None:
        for rank, f in enumerate(self.futures):
            if f.status in ("error", "lost", "cancelled"):
                why = f.exception(timeout=5) if f.status == "error" else f"its task is {f.status}"
                return f"rank {rank}: {why}"
        return None

    def release(self) -> None:
        self._client.cancel(self.futures, force=True)
        self._lock.release()


def _alive(client: Any, addresses: list[str]) -> list[str]:
    """Those that answer: the scheduler may not have noticed yet that one died."""
    said = client.run(_address, workers=addresses, on_error="return") if addresses else {}
    return [a for a in addresses if said.get(a) == a]


def _address(dask_worker: Any) -> str:
    return str(dask_worker.address)


class DaskGang(EngineGang):
    """A gang on workers of a Dask cluster."""

    __slots__ = ("client",)
    client: Any

    @property
    def addresses(self) -> list[str]:
        """The worker of each rank."""
        return self._tasks.addresses

    @property
    def _tasks(self) -> _Tasks:
        if not isinstance(self._placement, _Tasks):
            raise Unavailable("this gang was stopped", "unavailable")
        return self._placement

    def from_dask(self, frame: Any, name: str = "frame") -> Ref:
        """A dask.dataframe as a table on the ranks: partitions in their order, as many on each. They are computed on the cluster, and fetched by their ranks."""
        parts = self.client.compute(frame.to_delayed())
        n = self.size
        cuts = [len(parts) * r // n for r in range(n + 1)]
        empty = frame._meta  # noqa: SLF001 - the columns, for ranks without a partition
        tasks = [
            self.client.submit(_take, text, name, empty, *parts[cuts[r] : cuts[r + 1]], workers=[self.addresses[r]], allow_other_workers=False, pure=False)
            for r, text in enumerate(self._tasks.invitations)
        ]
        return union([Ref(t, self) for t in self.client.gather(tasks)])

    def to_dask(self, ref: Ref) -> Any:
        """A table on the ranks as a dask.dataframe, a partition for each part, on the workers where the parts are."""
        import dask.dataframe as dd

        pieces = [Ref(ref.text.rpartition("#")[0] + "#" + part) for part in ref.text.rpartition("#")[2].split(",")]
        futures = [
            self.client.submit(_give, self._tasks.invitations[p.rank], p.text, workers=[self.addresses[p.rank]], allow_other_workers=False, pure=False)
            for p in pieces
        ]
        meta = self.client.submit(_meta, futures[0], pure=False).result()
        return dd.from_delayed(futures, meta=meta, verify_meta=False)


def _take(invitation: str, name: str, empty: Any, *frames: Any) -> str:
    """Has the worker of a gang that is in this process keep partitions."""
    import pandas as pd
    import pyarrow as pa

    whole_frame = pd.concat(frames) if frames else empty
    table = pa.Table.from_pandas(whole_frame, preserve_index=False).replace_schema_metadata(None)
    return place_of(invitation).put(name, Table(table)).text


def _give(invitation: str, ref: str) -> Any:
    return place_of(invitation).get(Ref(ref)).to_pandas()


def _meta(frame: Any) -> Any:
    return frame.iloc[:0]


def gang(client: Any, workers: int, *, among: Sequence[str] | None = None, timeout: float = 60, **options: Any) -> DaskGang:
    """Starts a gang on so many workers of a client's cluster, one rank on each; among are the addresses that may be used.

    Gangs wait for workers that are not there, and for each other, timeout seconds. The options are those of ``volley.gang.start``: for a cluster of several machines
    host is this one's address, as the workers reach it.
    """
    g = DaskGang.placed(workers, lambda invitations: _Tasks(client, invitations, among, timeout), **options)
    g.client = client
    return g


def submit(client: Any, workers: int, function: Any, *args: Any, attempts: int = 3, **kwargs: Any) -> Any:
    """Runs a function on a gang of its own, and gives a concurrent.futures.Future of the list of all ranks' results. Where a rank dies all is tried again."""
    from concurrent.futures import ThreadPoolExecutor

    def run() -> list[Any]:
        with gang(client, workers) as g:
            return whole(g, function, *args, attempts=attempts, **kwargs)

    pool = ThreadPoolExecutor(1, "volley-gang")
    future = pool.submit(run)
    pool.shutdown(wait=False)
    return future


__all__ = ["DaskGang", "Gang", "gang", "submit"]
