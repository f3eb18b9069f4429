"""Gangs in Spark's barrier stages."""

from __future__ import annotations

import os
import signal
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import volley as vo
from volley.engines import spark as engine

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import joined  # noqa: E402


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


def joining(given: vo.Table, w: vo.gang.Worker) -> vo.Table:
    import joined

    rows, total = joined.join_on(w)
    return vo.Table({"rank": [w.rank], "generation": [w.generation], "rows": [rows], "total": [total], "given": [int(w.comm.allreduce(array("q", [len(given)]))[0])]})


SCHEMA = "rank long, generation long, rows long, total long, given long"


def test_join(session: Any) -> None:
    df = session.range(0, 1000, numPartitions=5)
    got = engine.from_spark(engine.run(df, joining, SCHEMA, ranks=2)).to_pydict()
    rows, total = joined.answer()
    assert sorted(got["rank"]) == [0, 1]
    assert (got["rows"], got["total"], got["given"]) == ([rows] * 2, [total] * 2, [1000] * 2)
    assert len(set(got["generation"])) == 1


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
            return joining(given, w)
        except vo.CollectiveFault as e:
            Path(fault).write_text(repr(list(e.ranks)))
            raise

    got = engine.from_spark(engine.run(session.range(0, 100, numPartitions=2), killed, SCHEMA)).to_pydict()
    rows, total = joined.answer()
    assert (got["rows"], got["total"], got["given"]) == ([rows] * 2, [total] * 2, [100] * 2)
    assert got["generation"] == [int(Path(marker).read_text()) + 2] * 2  # two tasks later
    assert Path(fault).read_text() == "[1]"
