"""Gangs of Ray actors: a placement group has a bundle for each rank, all of them or none.

>>> with vo.engines.ray.gang(4) as g:  # doctest: +SKIP
...     refs = g.run("module:function")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Unavailable
from ..gang import Ref, union
from ..table import Table
from . import EngineGang, place_of, serve, whole


class _Rank:
    """What an actor is: one method serves the gang, another does what Ray asks besides."""

    def serve(self, invitation: str) -> None:
        serve(invitation)

    def take(self, invitation: str, name: str, schema: Any, *blocks: Any) -> str:
        """Keeps blocks of ray.data, which lie in Ray's shared memory, as a table. schema has the columns where the blocks have none, which empty ones may lose."""
        place = place_of(invitation)
        given = [b for b in blocks if b.num_rows] or [b for b in blocks if b.num_columns][:1] or [schema.empty_table()]
        parts = [place.put(name, Table(b.replace_schema_metadata(None))) for b in given]
        if len(parts) == 1:
            return parts[0].text
        whole = place.put(name, place.get(union(parts)))  # which gives them types in common
        for p in parts:
            place.drop(p)
        return whole.text

    def give(self, invitation: str, ref: str) -> Any:
        import pyarrow as pa

        return pa.table(place_of(invitation).get(Ref(ref)))


def _columns(dataset: Any) -> Any:
    """The columns of a dataset as an Arrow schema, none where Ray does not know them."""
    import pyarrow as pa

    known = dataset.schema()
    if known is None:
        return pa.schema([])
    return pa.schema([(n, t if isinstance(t, pa.DataType) else pa.null()) for n, t in zip(known.names, known.types, strict=True)])


class _Actors:
    """The actors of a gang's ranks, in their placement group."""

    def __init__(self, invitations: list[str], resources: Mapping[str, float], strategy: str, timeout: float) -> None:
        import ray
        from ray.util.placement_group import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        self.invitations = invitations
        self.group = placement_group([dict(resources)] * len(invitations), strategy=strategy)
        if not self.group.wait(timeout):
            remove_placement_group(self.group)
            raise Unavailable(f"Ray has no {len(invitations)} bundles of {dict(resources)} free together within {timeout} s", "unavailable")
        actor = ray.remote(_Rank)  # it takes its bundle whole: tasks that ranks begin go elsewhere, and would never run in the group
        self.actors = [
            actor.options(
                num_cpus=resources.get("CPU", 0), num_gpus=resources.get("GPU", 0), max_restarts=0, max_task_retries=0, max_concurrency=2,
                scheduling_strategy=PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=rank, placement_group_capture_child_tasks=False),
            ).remote()
            for rank in range(len(invitations))
        ]  # fmt: skip
        self.serving = [a.serve.remote(text) for a, text in zip(self.actors, invitations, strict=True)]

    def failed(self) -> str | None:
        import ray

        ended, _ = ray.wait(self.serving, num_returns=len(self.serving), timeout=0)
        for f in ended:
            try:
                ray.get(f)
            except Exception as e:
                return f"rank {self.serving.index(f)}: {e}"
            return f"rank {self.serving.index(f)}: it has ended"
        return None

    def release(self) -> None:
        import ray
        from ray.util.placement_group import remove_placement_group

        for a in self.actors:
            ray.kill(a)
        remove_placement_group(self.group)


class RayGang(EngineGang):
    """A gang of Ray actors."""

    __slots__ = ()

    @property
    def _actors(self) -> _Actors:
        if not isinstance(self._placement, _Actors):
            raise Unavailable("this gang was stopped", "unavailable")
        return self._placement

    def from_ray(self, dataset: Any, name: str = "dataset") -> Ref:
        """A ray.data dataset as a table on the ranks: its blocks in their order, as many on each, as references of Arrow tables.

        Blocks and ranks without rows have the columns of the others, or those that Ray knows.
        """
        import ray

        dataset = dataset.materialize()
        blocks, schema, a, n = dataset.to_arrow_refs(), _columns(dataset), self._actors, self.size
        cuts = [len(blocks) * r // n for r in range(n + 1)]
        taken = [a.actors[r].take.remote(a.invitations[r], name, schema, *blocks[cuts[r] : cuts[r + 1]]) for r in range(n)]
        return union([Ref(t, self) for t in ray.get(taken)])

    def to_ray(self, ref: Ref) -> Any:
        """A table on the ranks as a ray.data dataset, a block for each part."""
        import ray.data

        a = self._actors
        pieces = [Ref(ref.text.rpartition("#")[0] + "#" + part) for part in ref.text.rpartition("#")[2].split(",")]
        return ray.data.from_arrow_refs([a.actors[p.rank].give.remote(a.invitations[p.rank], p.text) for p in pieces])


def gang(workers: int, *, resources: Mapping[str, float] | None = None, strategy: str = "PACK", timeout: float = 60, **options: Any) -> RayGang:
    """Starts a gang of so many actors, each in a bundle of resources (a CPU without), which Ray places together: strategy is PACK, SPREAD, STRICT_PACK or STRICT_SPREAD.

    It is Unavailable where they are not free together within timeout seconds. The options are those of ``volley.gang.start``.
    """
    bundle = {"CPU": 1.0} if resources is None else resources
    return RayGang.placed(workers, lambda invitations: _Actors(invitations, bundle, strategy, timeout), **options)


__all__ = ["RayGang", "gang", "whole"]
