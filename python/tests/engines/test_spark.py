"""Gangs in Spark's barrier stages."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import volley as vo
from volley.engines import spark as engine

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import flights  # noqa: E402


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    path = os.pathsep.join([HERE, *(str(Path(p).resolve()) for p in sys.path if p)])
    os.environ["PYTHONPATH"] = path
    made = (
        SparkSession.builder.master("local[3,4]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
        .config("spark.stage.maxConsecutiveAttempts", "4").config("spark.python.worker.reuse", "false").getOrCreate()
    )  # fmt: skip
    yield made
    made.stop()


def states(given: vo.Table, w: vo.gang.Worker) -> vo.Table:
    """The flights query on what Spark's partitions have; each rank gives the states that it has in the end, and the attempt that it is of."""
    import flights

    found = flights.states_of(vo.distributed.Table(given, w.comm), w.comm)
    return found.local.with_columns(generation=vo.lit(w.generation))


SCHEMA = "state string, flights long, mean_delay double, max_delay long, late_share double, generation long"


def read(session: Any) -> Any:
    return session.read.parquet(str(flights.FLIGHTS)).select("delay", "distance", "origin").repartition(5)


def rows_of(df: Any) -> tuple[list[flights.Row], set[int]]:
    """The states by their delay, and the attempts that they came from."""
    got = engine.from_spark(df).sort("mean_delay", descending=True)
    return flights.rounded(got.drop("generation").rows()), set(got.to_pydict()["generation"])


def test_flights(session: Any) -> None:
    rows, generations = rows_of(engine.run(read(session), states, SCHEMA, ranks=2))
    assert rows == flights.answer() and len(generations) == 1


def test_partitions_feed_ranks_and_come_back(session: Any) -> None:
    table = vo.Table({"k": list(range(1000)), "s": [f"x{i % 7}" for i in range(1000)]})
    df = engine.to_spark(session, table)

    def same(given: vo.Table, w: vo.gang.Worker) -> vo.Table:
        return given

    back = engine.from_spark(engine.run(df, same, df.schema, ranks=2)).sort("k")
    assert back.to_pydict() == table.to_pydict()
    empty = engine.from_spark(engine.run(df.filter("k < 0"), same, df.schema, ranks=2))
    assert empty.to_pydict() == {"k": [], "s": []}


def test_a_killed_rank(session: Any, tmp_path: Path) -> None:
    """Spark starts the stage again: all ranks, as the next generation; the survivor's fault names the rank."""
    marker, fault = str(tmp_path / "killed"), str(tmp_path / "fault")

    def killed(given: vo.Table, w: vo.gang.Worker) -> vo.Table:
        w.comm.barrier()
        if w.rank == 1 and not Path(marker).exists():
            Path(marker).write_text(str(w.generation))
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return states(given, w)
        except vo.CollectiveFault as e:
            Path(fault).write_text(repr(list(e.ranks)))
            raise

    rows, generations = rows_of(engine.run(read(session), killed, SCHEMA, ranks=2))
    assert rows == flights.answer()
    assert generations == {int(Path(marker).read_text()) + 2}  # two tasks later
    assert Path(fault).read_text() == "[1]"
