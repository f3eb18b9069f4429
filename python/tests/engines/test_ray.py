"""Gangs of Ray actors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import ray
import ray.data

import volley as vo
from volley.engines import ray as engine
from volley.engines import whole

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import flights  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    path = os.pathsep.join(p for p in sys.path if p)
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path, "VOLLEY_LIBRARY": os.environ.get("VOLLEY_LIBRARY", "")}})
    yield
    ray.shutdown()


def test_flights() -> None:
    with engine.gang(2) as g:
        assert whole(g, "flights:query") == [flights.answer()] * 2


def test_datasets() -> None:
    table = pa.table({"k": np.arange(1000), "s": [f"x{i % 7}" for i in range(1000)]})
    with engine.gang(2) as g:
        for blocks in (1, 3):
            made = ray.data.from_arrow([table.slice(i * 1000 // blocks, (i + 1) * 1000 // blocks - i * 1000 // blocks) for i in range(blocks)])
            ref = g.from_ray(made)
            assert ref.get().to_pydict() == table.to_pydict()
            back = pa.concat_tables(ray.get(g.to_ray(ref).to_arrow_refs()))
            assert back.to_pydict() == table.to_pydict()


def test_a_killed_worker(tmp_path: Path) -> None:
    with engine.gang(2, lease=5) as g:
        with pytest.raises(vo.CollectiveFault) as e:
            g.run("flights:killed", 1)
        assert list(e.value.ranks) == [1]
        g.restart()
        assert g.generation == 2
        assert whole(g, "flights:query_after_a_kill", str(tmp_path / "killed"), 0) == [flights.answer()] * 2
        assert g.generation == 3


def test_tasks_beside_a_gang(tmp_path: Path) -> None:
    """Tasks that want a processor take none of the gang's, and those that its ranks begin run where some are free: in the group they would wait for ever."""
    with engine.gang(2) as g:
        done = str(tmp_path / "done")
        waiting = [ray.remote(flights.until).remote(done) for _ in range(3)]
        assert whole(g, "operator:add", 1, 2) == [3] * 2
        Path(done).touch()
        assert ray.get(waiting, timeout=60) == [True] * 3
        assert whole(g, "flights:task_of_ray") == [3] * 2


def test_more_than_there_is() -> None:
    with engine.gang(2), pytest.raises(vo.Unavailable, match="2 bundles"):
        engine.gang(2, timeout=1)
    with engine.gang(3) as g:
        assert whole(g, "operator:add", 1, 2) == [3] * 3
