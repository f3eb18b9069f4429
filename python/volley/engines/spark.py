"""Gangs in Spark's barrier stages: the partitions of a DataFrame feed the ranks, and what they give is a DataFrame.

>>> out = vo.engines.spark.run(df, function, schema, ranks=4)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from .. import gang as _gang
from ..errors import CollectiveFault
from ..table import Table
from . import as_rank
from ._machines import host_for, machine

# The rows of a batch that goes back to Spark.
_ROWS = 1 << 16


def run(df: Any, function: Callable[[Table, _gang.Worker], Table], schema: Any, *, ranks: int | None = None, again: bool = True, **options: Any) -> Any:
    """Has function, on all ranks at once, make each partition of a DataFrame into a table of schema: function(table, worker), where worker.comm has the others.

    ranks is how many partitions there are made of it; without it as many as it has, which Spark must have slots for. Nothing runs before the result is used. Where
    a rank fails or dies Spark runs the whole stage again, as a later generation, as often as its own settings say. It does so for stages alone that hand their rows
    on: therefore they pass through a shuffle, which keeps partitions whole; with again=False there is none, and a failure is the job's.
    The options are those of ``volley.gang.start``.
    """
    parts = df if ranks is None else df.repartition(ranks)
    columns = parts.schema

    def body(batches: Iterator[Any]) -> Iterator[Any]:
        yield from _rank(batches, columns, function, schema, options)

    made = parts.mapInArrow(body, schema, barrier=True)
    if not again:
        return made
    from pyspark.sql.functions import spark_partition_id

    return made.repartition(ranks if ranks is not None else parts.rdd.getNumPartitions(), spark_partition_id())


def _rank(batches: Iterator[Any], columns: Any, function: Callable[[Table, _gang.Worker], Table], schema: Any, options: dict[str, Any]) -> Iterator[Any]:
    """What a task of the stage does."""
    import pyarrow as pa

    given = _table(list(batches), columns)
    start, w = _enter(options)
    try:
        with w:
            made = pa.table(function(given, w))
            w.comm.barrier()  # all have what they want of each other
        _after_the_others(start)
    finally:
        if start is not None:
            start.stop()
    wanted = _arrow_schema(schema)
    yield from (made.select(wanted.names).cast(wanted) if wanted is not None else made).to_batches(max_chunksize=_ROWS)


def _after_the_others(start: _gang.Gang | None) -> None:
    """Has rank 0 wait until the others have left: what they still read is not cut."""
    if start is None:
        return
    for r in range(1, start.size):
        with suppress(CollectiveFault):
            start.recv(r, 0)  # nothing is sent: it fails when the rank has left


def _enter(options: dict[str, Any]) -> tuple[_gang.Gang | None, _gang.Worker]:
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    rank, machines = context.partitionId(), context.allGather(machine())
    start = None
    if rank == 0:
        start = _gang.start(len(machines), invite=True, generation=context.taskAttemptId() + 1, **{"host": host_for(machines), **options})  # higher in each attempt
    try:
        text = context.allGather("" if start is None else start.invitation(0))[0]  # of rank 0, whose own port this is
        return start, _gang.enter(as_rank(text, rank))
    except BaseException:
        if start is not None:
            start.stop()
        raise


def _table(batches: list[Any], columns: Any) -> Table:
    import pyarrow as pa

    if batches:
        return Table(pa.Table.from_batches(batches))
    from pyspark.sql.pandas.types import to_arrow_schema

    return Table(to_arrow_schema(columns).empty_table())


def _arrow_schema(schema: Any) -> Any:
    """Spark's types as Arrow's; None for a schema that is given as text, which Spark itself holds the batches against."""
    if isinstance(schema, str):
        return None
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema)


def from_spark(df: Any) -> Table:
    """A DataFrame as a table of this process, by Arrow."""
    return Table(df.toArrow())


def to_spark(session: Any, table: Table) -> Any:
    """A table as a DataFrame, by Arrow."""
    import pyarrow as pa

    return session.createDataFrame(pa.table(table))


__all__ = ["from_spark", "run", "to_spark"]
