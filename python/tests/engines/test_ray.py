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


def test_blocks_without_rows_or_types() -> None:
    """An empty block has no say, a column of type null takes the others' type, and indices of dictionaries the widest: wherever the blocks lie."""
    full = pa.table({"k": [1, 2], "s": ["a", "b"]})
    null = pa.table({"k": [3], "s": pa.nulls(1)})
    blank, lost = full.slice(0, 0), pa.table({})
    few, many = (pa.table({"k": [k], "s": pa.array(["x"]).dictionary_encode().cast(pa.dictionary(i, pa.string()))}) for k, i in ((1, pa.int8()), (2, pa.int32())))
    with engine.gang(2) as g:
        for blocks, want in (
            ([full, null], [(1, "a"), (2, "b"), (3, None)]),
            ([null, full], [(3, None), (1, "a"), (2, "b")]),
            ([null, blank, full, full], [(3, None), (1, "a"), (2, "b"), (1, "a"), (2, "b")]),
            ([lost, full], [(1, "a"), (2, "b")]),
            ([lost, null, lost, full], [(3, None), (1, "a"), (2, "b")]),
            ([full], [(1, "a"), (2, "b")]),
            ([blank], []),
            ([few, many, many, few], [(1, "x"), (2, "x"), (2, "x"), (1, "x")]),
        ):
            ref = g.from_ray(ray.data.from_arrow_refs([ray.put(b) for b in blocks]))
            got = pa.table(ref.get())
            assert list(zip(*got.to_pydict().values(), strict=True)) == want and got.column_names == ["k", "s"], blocks
            assert got.schema.types[0] == pa.int64() and got.schema.types[1] != pa.null(), blocks
            parts = [pa.table(r.get()) for r in g.run("flights:part_of", ref)]
            assert pa.concat_tables(parts).to_pydict() == got.to_pydict() and all(p.schema == parts[0].schema for p in parts), blocks
        assert g.from_ray(ray.data.from_items([])).get().to_pydict() == {}


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
