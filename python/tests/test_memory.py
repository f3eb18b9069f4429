"""The limit of host memory: an operation beyond it says so, and later ones go on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import volley as vo

N = 200_000


@pytest.fixture(autouse=True)
def no_limit_behind() -> Iterator[None]:
    yield
    vo.set_memory_limit(None)


OPERATIONS: dict[str, Callable[[vo.Table, Path], Any]] = {
    "select": lambda t, _: t.select(y=vo.col("x") * 2),
    "filter": lambda t, _: t.filter("x >= 10"),
    "sort": lambda t, _: t.sort("x", descending=True),
    "group_by": lambda t, _: t.group_by("x").agg(vo.col("x").sum()),
    "join": lambda t, _: t.join(t, on="x"),
    "read_parquet": lambda _, folder: vo.read_parquet(folder / "x.parquet"),
    "read_ipc": lambda _, folder: vo.read_ipc(folder / "x.arrow"),
    "read_csv": lambda _, folder: vo.read_csv(folder / "x.csv"),
    "loader": lambda t, _: next(iter(vo.Loader(t, N // 2, features=["x"], dtype="float64"))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_beyond_the_limit_and_on(name: str, tmp_path: Path) -> None:
    t = vo.Table({"x": list(range(N)), "s": [f"text {i}" for i in range(N)]})
    t.write_parquet(tmp_path / "x.parquet")
    t.write_ipc(tmp_path / "x.arrow")
    t.write_csv(tmp_path / "x.csv")
    run = OPERATIONS[name]
    run(t, tmp_path)
    limit = 1 << 18
    for _ in range(2):
        vo.set_memory_limit(limit)
        with pytest.raises(vo.OutOfMemory, match=rf"\d+ bytes requested, -?\d+ free \(\d+ in use of a limit of {limit}\)"):
            run(t, tmp_path)
        assert vo.memory().limit == limit
        assert len(t.filter("x < 10").to_pydict()["x"]) == 10  # what fits goes on
        vo.set_memory_limit(1 << 30)
        run(t, tmp_path)


def test_what_is_freed_is_room_again() -> None:
    t = vo.Table({"x": list(range(N))})
    twice = vo.col("x") * 2
    vo.set_memory_limit(vo.memory().held + 4 * 8 * N)
    for _ in range(50):
        assert len(t.select(y=twice)) == N
    kept = []
    with pytest.raises(vo.OutOfMemory):
        for _ in range(50):
            kept.append(t.select(y=twice))  # noqa: PERF401 - until there is no room
    assert 1 < len(kept) <= 4
    kept.clear()
    assert len(t.select(y=twice)) == N


def test_limits_that_are_none() -> None:
    for wrong in (0, -5):
        with pytest.raises(ValueError, match=f"limit of {wrong} bytes"):
            vo.set_memory_limit(wrong)
    for kind in ("4GiB", 1.5, True):
        with pytest.raises(TypeError, match="set_memory_limit"):
            vo.set_memory_limit(kind)  # type: ignore[arg-type]
    assert vo.memory().limit is None


def program(text: str, memory: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, env={**os.environ, "VOLLEY_MEMORY": memory})


def test_the_variable_of_the_environment() -> None:
    done = program("import volley as vo\nprint(vo.memory().limit)\nt = vo.Table({'x': list(range(10**6))})\nt.select(y=vo.col('x') * 2)", "4MiB")
    assert done.stdout == f"{4 << 20}\n" and "OutOfMemory" in done.stderr and f"of a limit of {4 << 20}" in done.stderr
    for wrong in ("4GB", "lots", "-1"):
        done = program("import volley as vo\nvo.Table({'x': list(range(1000))}).select(y=vo.col('x') * 2)", wrong)
        assert done.returncode == 1 and f"VOLLEY_MEMORY: mismatch: \"{wrong}\" is no number of bytes" in done.stderr
