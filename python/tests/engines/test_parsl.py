"""Gangs in Parsl's apps."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import parsl
import pytest
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

import volley as vo
from volley.engines import parsl as engine

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import flights  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, *(str(Path(p).resolve()) for p in sys.path if p)])
    executor = HighThroughputExecutor(label="htex", max_workers_per_node=2, address="127.0.0.1", loopback_address="127.0.0.1", encrypted=False, provider=LocalProvider(init_blocks=1, max_blocks=1))
    parsl.load(Config(executors=[executor], run_dir=str(tmp_path_factory.mktemp("parsl"))))
    yield
    parsl.dfk().cleanup()
    parsl.clear()


def test_flights() -> None:
    assert engine.submit(2, "flights:query").result(timeout=120) == [flights.answer()] * 2


def test_futures_feed_apps() -> None:
    run = engine.app(2)
    two = run("operator:add", 1, 1)
    assert run("operator:mul", two, 3).result(timeout=120) == [[2, 2] * 3] * 2


def test_programs_that_are_not_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/folder")
    with pytest.raises(vo.Unavailable, match="process_worker_pool.py is not on PATH"):
        engine.submit(2, "operator:add", 1, 1)


def test_a_killed_worker(tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    assert engine.submit(2, "flights:query_after_a_kill", marker, 1).result(timeout=120) == [flights.answer()] * 2
    assert Path(marker).exists()
    with pytest.raises(vo.CollectiveFault, match="rank 1 lost"):
        engine.app(2, attempts=1)("flights:killed", 1).result(timeout=120)
