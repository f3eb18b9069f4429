"""Gangs of processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import volley as vo
from volley.engines import whole

HERE = str(Path(__file__).parent)
F = "gang_functions:"


@pytest.fixture(scope="module")
def four() -> Iterator[vo.gang.Gang]:
    sys.path.insert(0, HERE)
    try:
        with vo.gang.start(4) as g:
            yield g
    finally:
        sys.path.remove(HERE)


def values(refs: list[vo.gang.Ref]) -> list[object]:
    return [r.get() for r in refs]


def test_functions(four: vo.gang.Gang) -> None:
    assert (four.size, four.generation, repr(four)) == (4, 1, "<Gang of 4>")
    assert values(four.run(F + "total")) == [6, 6, 6, 6]
    assert values(four.run(F + "total", x=1)) == [10] * 4
    given = (None, 1.5, "text", b"bytes", [1, {"k": (2,)}])
    assert values(four.run(F + "echo", *given, more={3}))[2] == (given, {"more": {3}})
    import gang_functions

    assert values(four.run(gang_functions.total)) == [6] * 4
    assert values(four.run("os.path:basename", "a/b")) == ["b"] * 4


def test_tables(four: vo.gang.Gang) -> None:
    refs = four.run(F + "part", 3000)
    assert [r.rank for r in refs] == [0, 1, 2, 3]
    assert refs[1].get().to_pydict()["n"][:2] == [3000, 3001]
    whole = vo.gang.union(refs[1:3])
    assert whole.get().to_pydict()["n"] == list(range(3000, 9000))
    assert [n for rows in values(four.run(F + "rows_of", whole)) for n in rows] == list(range(3000, 9000))  # type: ignore[attr-defined]
    mine = four.put("mine", vo.Table({"n": list(range(10))}))
    assert sum(map(len, values(four.run(F + "rows_of", mine)))) == 10  # type: ignore[arg-type]
    assert four.get(four.put("text", b"as it is")) == b"as it is"
    assert four.get(pickle.loads(pickle.dumps(mine))).to_pydict()["n"] == list(range(10))
    table = vo.Table({"a": [1, None], "b": ["x", "y"]})
    back = four.run(F + "echo", [table])[3].get()[0][0][0]
    assert back.to_pydict() == table.to_pydict()
    four.drop(refs[0])
    with pytest.raises(vo.NotFound, match="no value"):
        refs[0].get()


def test_messages_and_groups(four: vo.gang.Gang) -> None:
    assert values(four.run(F + "ring", "x" * 100_000)) == [(r, "x" * 100_000) for r in (3, 0, 1, 2)]
    assert values(four.run(F + "group")) == [2, 4, 2, 4]


def test_failure(four: vo.gang.Gang) -> None:
    with pytest.raises(vo.CallFailed, match="LookupError: it is the one that fails") as e:
        four.run(F + "fail", 2)
    assert list(e.value.ranks) == [2]
    assert values(four.run(F + "total")) == [6] * 4
    with pytest.raises(vo.CallFailed, match="SystemExit: 7") as e:  # which does not end the worker
        four.run(F + "leave", 1)
    assert list(e.value.ranks) == [1] and values(four.run(F + "total")) == [6] * 4
    with pytest.raises(vo.CallFailed, match="No module named"):
        four.run("no_such_module:f")
    for wrong in ("f", "a:b:c", 5):
        with pytest.raises((ValueError, TypeError, vo.VolleyError)):
            four.run(wrong)  # type: ignore[arg-type]


def test_lambda_needs_cloudpickle(four: vo.gang.Gang) -> None:
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        with pytest.raises(vo.VolleyError, match="install cloudpickle"):
            four.run(lambda: 1)
    else:
        assert values(four.run(lambda: 1)) == [1] * 4


def test_a_worker_that_dies() -> None:
    sys.path.insert(0, HERE)
    try:
        with vo.gang.start(3) as g:
            kept = g.run(F + "part", 5000)
            began = time.monotonic()
            with pytest.raises(vo.CollectiveFault) as e:
                g.run(F + "die", 1)
            assert list(e.value.ranks) == [1] and time.monotonic() - began < 20
            assert len(kept[0].get()) == 5000
            with pytest.raises(vo.CollectiveFault, match="rank 1"):
                kept[1].get()
            old = g.invitation(1)
            g.restart()
            assert g.generation == 2 and values(g.run(F + "total")) == [3] * 3
            with pytest.raises(vo.Stale, match="generation 1"):
                vo.gang.enter(old)
            with pytest.raises(vo.Stale):
                kept[0].get()
    finally:
        sys.path.remove(HERE)


def test_flights() -> None:
    """The flights query on ranks that the gang itself has started, and its known answer."""
    engines = str(Path(HERE) / "engines")
    sys.path.insert(0, engines)
    try:
        import flights

        with vo.gang.start(2) as g:
            assert whole(g, "flights:query") == [flights.answer()] * 2
    finally:
        sys.path.remove(engines)


def test_invited() -> None:
    body = "import volley as vo, array\nwith vo.gang.enter() as w: w.put('x', 1); print(w.comm.allreduce(array.array('q', [w.rank + 1]))[0]); w.serve()"
    with vo.gang.start(2, invite=True) as g:
        workers = [
            subprocess.Popen([sys.executable, "-c", body], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), vo.gang.VARIABLE: g.invitation(r)}, stdout=subprocess.PIPE, text=True)
            for r in range(2)
        ]
        g.ready()
        assert values(g.run("operator:add", 1, 2)) == [3, 3]
    assert [p.communicate(timeout=60)[0] for p in workers] == ["3\n", "3\n"]
    assert [p.returncode for p in workers] == [0, 0]


def test_not_placed() -> None:
    with pytest.raises(vo.Unavailable, match="not placed.*exit status 3"):
        vo.gang.start(2, [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(vo.Unavailable, match="did not come"):
        vo.gang.start(1, [sys.executable, "-c", "import time; time.sleep(60)"], join_timeout=0.3)
    with pytest.raises(vo.Mismatch, match="workers"):
        vo.gang.start(0)
    with pytest.raises(vo.Unavailable, match="VOLLEY_GANG"):
        vo.gang.enter()


def test_slots() -> None:
    """Gangs have all places that they need or none; one that waits for them can be stopped, and more than there are is an error."""
    two = vo.gang.Slots(2)
    waiting: list[vo.gang.Gang] = []
    thread = threading.Thread(target=lambda: waiting.append(vo.gang.start(2, invite=True, slots=two)))
    with vo.gang.start(1, invite=True, slots=two):
        thread.start()
        thread.join(0.3)
        assert thread.is_alive() and not waiting
        with pytest.raises(vo.Mismatch, match="3 workers want a place each, of 2"):
            vo.gang.start(3, slots=two)
    thread.join(60)
    assert [g.size for g in waiting] == [2]
    two.close()  # the gang keeps its own
    waiting[0].stop()
    with pytest.raises(vo.Closed):
        vo.gang.start(1, slots=two)
    with pytest.raises(vo.Mismatch, match="count is 0"):
        vo.gang.Slots(0)
    with pytest.raises(TypeError, match="a Slots"):
        vo.gang.start(1, slots=5)  # type: ignore[arg-type]


def test_a_worker_that_holds_the_interpreter_longer_than_its_lease() -> None:
    """It is busy, and not dead: what shows that it lives needs no Python."""
    sys.path.insert(0, HERE)
    try:
        with vo.gang.start(2, lease=1) as g:
            assert values(g.run(F + "hold", 3)) == [0, 1]
            assert values(g.run(F + "total")) == [1, 1] and g.generation == 1
    finally:
        sys.path.remove(HERE)


def test_engines_are_loaded_when_they_are_asked_for() -> None:
    body = """
import sys
import volley as vo
assert "volley.engines" not in sys.modules and "engines" in dir(vo)
for name in ("dask", "launched", "modin", "parsl", "radical", "ray", "spark", "torch"):
    assert "volley.engines." + name not in sys.modules and name in dir(vo.engines), name
    assert getattr(vo.engines, name).__name__ == "volley.engines." + name
    assert getattr(vo.engines, name) is getattr(vo.engines, name)
for partner in ("dask", "distributed", "modin", "parsl", "radical", "ray", "pyspark", "torch", "pandas"):
    assert partner not in sys.modules, partner
assert callable(vo.engines.dask.gang)
for module, name in ((vo, "engine"), (vo.engines, "slurm")):
    try:
        getattr(module, name)
    except AttributeError as e:
        assert repr(name) in str(e) and module.__name__ in str(e), e
    else:
        raise AssertionError(name)
"""
    done = subprocess.run([sys.executable, "-c", body], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_end_of_the_start_is_the_end_of_its_workers(tmp_path: Path) -> None:
    """Also of one that is killed while a function runs."""
    body = f"import sys; sys.path.insert(0, {HERE!r})\nimport volley as vo, os\ng = vo.gang.start(2)\nprint(*[r.get() for r in g.run('os:getpid')], flush=True)\ng.run('{F}forever')"
    p = subprocess.Popen([sys.executable, "-c", body], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, stdout=subprocess.PIPE, text=True)
    assert p.stdout is not None
    workers = [int(n) for n in p.stdout.readline().split()]
    time.sleep(0.2)
    p.kill()
    p.wait()
    until = time.monotonic() + 60
    while time.monotonic() < until and any(alive(n) for n in workers):
        time.sleep(0.1)
    assert not [n for n in workers if alive(n)]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
