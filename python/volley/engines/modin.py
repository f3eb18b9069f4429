"""Modin's frames as volley's tables, and back: partition by partition, by Arrow.

>>> t = vo.engines.modin.from_modin(frame)  # doctest: +SKIP
>>> ref = vo.engines.modin.to_gang(g, frame)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from .. import gang as _gang
from ..table import Table, concat


def _parts(frame: Any) -> list[Any]:
    """The frame's row partitions as pandas frames, in order."""
    from modin.distributed.dataframe.pandas import unwrap_partitions

    found = unwrap_partitions(frame, axis=0)
    return [_pandas(p) for p in found]


def _pandas(part: Any) -> Any:
    """What a partition is on the engine that Modin runs on: a future of Dask, a reference of Ray, or the frame."""
    if hasattr(part, "result"):
        return part.result()
    if type(part).__name__ == "ObjectRef":
        import ray

        return ray.get(part)
    return part


def _table(part: Any, like: Any) -> Table:
    import pyarrow as pa

    return Table(pa.Table.from_pandas(part, schema=like, preserve_index=False).replace_schema_metadata(None))


def _tables(frame: Any) -> list[Table]:
    import pyarrow as pa

    parts = _parts(frame)
    like = pa.unify_schemas([pa.Schema.from_pandas(p, preserve_index=False) for p in parts], promote_options="permissive")
    return [_table(p, like) for p in parts]


def from_modin(frame: Any) -> Table:
    """A frame's rows, without its index, as one table of this process."""
    return concat(_tables(frame))


def to_modin(table: Table) -> Any:
    """A table as a frame."""
    import modin.pandas as pd

    return pd.DataFrame(table.to_pandas())


def to_gang(g: _gang.Gang, frame: Any, name: str = "frame") -> _gang.Ref:
    """A frame as a table for a gang's ranks, which get their parts of it with ``redistribute``; Modin's partitions stay parts."""
    return _gang.union([g.put(name, t) for t in _tables(frame)])


def from_gang(g: _gang.Gang, ref: _gang.Ref) -> Any:
    """A table on the ranks as a frame, of the parts in their order."""
    import modin.pandas as pd

    pieces = [_gang.Ref(ref.text.rpartition("#")[0] + "#" + part) for part in ref.text.rpartition("#")[2].split(",")]
    return pd.concat([to_modin(g.get(p)) for p in pieces], ignore_index=True)


__all__ = ["from_gang", "from_modin", "to_gang", "to_modin"]
