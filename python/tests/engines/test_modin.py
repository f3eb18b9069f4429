"""Modin's frames in and out, on Dask."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import modin.config
import modin.pandas as pd
import numpy as np
import pytest
from distributed import Client, LocalCluster

import volley as vo
from volley.engines import dask as dask_engine
from volley.engines import modin as engine
from volley.engines import whole

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import flights  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as c:
        c.run(sys.path.insert, 0, HERE)
        c.register_worker_callbacks(lambda: sys.path.insert(0, HERE))
        modin.config.Engine.put("Dask")
        modin.config.NPartitions.put(3)
        yield c


def frame() -> pd.DataFrame:
    return pd.DataFrame({"k": np.arange(1000), "s": [f"x{i % 7}" if i % 5 else None for i in range(1000)]})


def test_frames() -> None:
    made = frame()
    table = engine.from_modin(made)
    assert table.to_pydict() == {"k": list(range(1000)), "s": [f"x{i % 7}" if i % 5 else None for i in range(1000)]}
    assert engine.to_modin(table).k.sum() == 499500


def test_gangs(client: Client, tmp_path: Path) -> None:
    with dask_engine.gang(client, 2, lease=5) as g:
        ref = engine.to_gang(g, frame())
        assert sorted(n for rows in whole(g, "flights:keys", ref) for n in rows) == list(range(1000))
        assert engine.from_gang(g, ref).k.tolist() == list(range(1000))
        assert whole(g, "flights:query") == [flights.answer()] * 2
        with pytest.raises(vo.CollectiveFault) as e:
            g.run("flights:killed", 1)
        assert list(e.value.ranks) == [1]
        client.wait_for_workers(2, timeout=60)
        g.restart()
        assert whole(g, "flights:query_after_a_kill", str(tmp_path / "killed"), 0) == [flights.answer()] * 2
