"""Gangs on a Dask cluster of processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster

import volley as vo
from volley.engines import dask as engine
from volley.engines import whole

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import flights  # noqa: E402


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as c:
        c.run(sys.path.insert, 0, HERE)
        c.register_worker_callbacks(lambda: sys.path.insert(0, HERE))
        yield c


def test_flights(client: Client) -> None:
    with engine.gang(client, 2) as g:
        assert [r.get() for r in g.run("flights:query")] == [flights.answer()] * 2
        assert len(set(g.addresses)) == 2
    assert client.submit(sum, [1, 2], pure=False).result(timeout=60) == 3  # the workers are free again


def test_ranks_share_processors(client: Client) -> None:
    """While a gang is there each of its workers takes its part of this machine's, and afterwards all of them."""
    every = client.submit(flights.threads, pure=False).result(timeout=60)
    with engine.gang(client, 3) as g:
        assert whole(g, "flights:threads") == [max(1, every // 3)] * 3
    until = time.monotonic() + 30  # a worker leaves a moment after the gang has ended
    while set(client.run(flights.threads).values()) != {every}:
        assert time.monotonic() < until, client.run(flights.threads)
        time.sleep(0.05)


def test_frames(client: Client) -> None:
    frame = pd.DataFrame({"k": np.arange(1000), "s": [f"x{i % 7}" for i in range(1000)]})
    with engine.gang(client, 2) as g:
        for partitions in (1, 5):
            ref = g.from_dask(dd.from_pandas(frame, npartitions=partitions))
            assert ref.get().to_pydict() == {"k": list(range(1000)), "s": list(frame.s)}
            back = g.to_dask(ref)
            assert list(back.compute().k) == list(range(1000))
            assert int(back.k.sum().compute()) == 499500


def test_partitions_without_rows_or_values(client: Client) -> None:
    """A column that is null on all of a rank, or a rank without rows, has the type that the others have."""
    frames = [
        pd.DataFrame({"k": np.arange(3), "s": pd.Series([None] * 3, dtype=object)}),
        pd.DataFrame({"k": pd.Series([], dtype=object), "s": pd.Series([], dtype=object)}),
        pd.DataFrame({"k": np.arange(3, 5), "s": pd.Series(["a", "b"], dtype=object)}),
    ]
    texts = {0: [None] * 3, 1: [], 2: ["a", "b"]}
    keys = {0: [0, 1, 2], 1: [], 2: [3, 4]}
    with dask.config.set({"dataframe.convert-string": False}), engine.gang(client, 3) as g:
        for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2], [1]):  # the last ones leave ranks without a partition
            meta = pd.DataFrame({"k": pd.Series([], dtype=object), "s": pd.Series([], dtype=object)})
            ref = g.from_dask(dd.from_delayed([dask.delayed(frames.__getitem__)(i) for i in order], meta=meta, verify_meta=False))
            want = {"k": [k for i in order for k in keys[i]], "s": [s for i in order for s in texts[i]]}
            assert ref.get().to_pydict() == want
            parts = [pa.table(r.get()) for r in g.run("flights:part_of", ref)]
            assert pa.concat_tables(parts).to_pydict() == want  # which refuses types that differ


def test_a_killed_worker(client: Client, tmp_path: Path) -> None:
    with engine.gang(client, 2, lease=5) as g:
        with pytest.raises(vo.CollectiveFault) as e:
            g.run("flights:killed", 1)
        assert list(e.value.ranks) == [1]
        client.wait_for_workers(3, timeout=60)
        g.restart()
        assert g.generation == 2
        assert whole(g, "flights:query") == [flights.answer()] * 2
    client.wait_for_workers(3, timeout=60)
    future = engine.submit(client, 2, "flights:query_after_a_kill", str(tmp_path / "killed"), 0)
    assert future.result(timeout=120) == [flights.answer()] * 2
    client.wait_for_workers(3, timeout=60)


def test_a_task_for_a_worker_that_is_gone_refuses(client: Client) -> None:
    """It would else wait for ever, or be a rank where it has no business."""
    with vo.gang.start(1, invite=True) as g:
        f = client.submit(engine._serve, g.invitation(0), "tcp://127.0.0.1:1", pure=False)
        with pytest.raises(RuntimeError, match="has gone"):
            f.result(timeout=60)


def test_search() -> None:
    """The example of a search for hyper-parameters, small: trials are asynchronous, each is ranks that train in step."""
    program = [sys.executable, str(Path(HERE).parents[2] / "examples" / "ranks" / "search.py"), "--rows", "5000", "--steps", "5", "--trials", "4"]
    p = subprocess.run(program, env=os.environ | {"PYTHONPATH": os.pathsep.join(x for x in sys.path if x)}, capture_output=True, text=True, check=False, timeout=120)
    assert p.returncode == 0 and "4 trials of 2 ranks" in p.stdout, p.stdout + p.stderr


def test_two_gangs_that_want_the_same_workers(client: Client) -> None:
    """Both are placed, one after the other; neither ever has half."""
    got: list[Any] = []

    def one() -> None:
        with engine.gang(client, 2) as g:
            got.append([r.get() for r in g.run("flights:query")])

    threads = [threading.Thread(target=one) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert got == [[flights.answer()] * 2] * 3
    with engine.gang(client, 2) as g, pytest.raises(vo.Unavailable, match="another gang"):
        engine.gang(client, 3, timeout=0.5)
    with pytest.raises(vo.Unavailable, match="the cluster has 3"):
        engine.gang(client, 4, timeout=0.5)
    began = time.monotonic()
    engine.gang(client, 3, timeout=30).stop()
    assert time.monotonic() - began < 30
