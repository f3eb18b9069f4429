"""Gangs on RADICAL-Pilot, on the resource that this machine is."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import radical.pilot as rp

import volley as vo
from volley.engines import radical as engine
from volley.engines import whole

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

import flights  # noqa: E402


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    before = os.getcwd()
    sys.path[:] = [os.path.abspath(p) for p in sys.path]
    os.chdir(tmp_path_factory.mktemp("radical"))  # where a session leaves its own files
    session = rp.Session()
    try:
        pilots, tasks = rp.PilotManager(session=session), rp.TaskManager(session=session)
        pilot = pilots.submit_pilots(rp.PilotDescription({"resource": "local.localhost", "runtime": 15, "cores": min(4, os.cpu_count() or 1), "exit_on_error": True, "sandbox": str(tmp_path_factory.mktemp("sandbox"))}))
        tasks.add_pilots(pilot)
        yield tasks
    finally:
        session.close(download=False)
        os.chdir(before)
        shutil.rmtree(Path(before) / session.uid, ignore_errors=True)  # what it wrote there all the same


def test_flights(manager: Any) -> None:
    with engine.gang(manager, 2) as g:
        assert whole(g, "flights:query") == [flights.answer()] * 2


def test_a_killed_worker(manager: Any) -> None:
    with engine.gang(manager, 2, lease=5) as g:
        with pytest.raises(vo.CollectiveFault) as e:
            g.run("flights:killed", 1)
        assert 1 in e.value.ranks  # mpirun ends the other one too
        g.restart()
        assert g.generation == 2
        assert whole(g, "flights:query") == [flights.answer()] * 2


def test_a_python_without_volley(manager: Any) -> None:
    """Nobody waits for its rank, and the error has what Python said."""
    with pytest.raises(vo.Unavailable, match="No module named 'volley'"):
        engine.gang(manager, 1, description={"environment": {"PYTHONPATH": ""}})


def test_a_task_that_cannot_start(manager: Any) -> None:
    with pytest.raises(vo.Unavailable, match="FAILED"):
        engine.gang(manager, 1, description={"executable": "/no/such/program"})
