"""The programs of examples/ranks, small, on two processes: they check their own answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "ranks"


def on_ranks(folder: Path, ranks: int, *command: str) -> str:
    """Runs a program on ranks, as a launcher would; all must end well."""
    path = os.pathsep.join(p for p in sys.path if p)
    started = [
        subprocess.Popen(
            [sys.executable, str(FOLDER / command[0]), *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"VOLLEY_ADDRESS": f"file://{folder}/meeting?rank={r}&size={ranks}", "PYTHONPATH": path},
        )
        for r in range(ranks)
    ]  # fmt: skip
    said = [p.communicate(timeout=120) for p in started]
    assert [p.returncode for p in started] == [0] * ranks, "\n".join(err for _, err in said)
    return said[0][0]


def test_regression(tmp_path: Path) -> None:
    said = on_ranks(tmp_path, 2, "regression.py", "--rows", "20000")
    assert "flights on 2 ranks" in said and "off by" in said


@pytest.mark.parametrize("scaling", [(), ("--weak",)])
def test_join(tmp_path: Path, scaling: tuple[str, ...]) -> None:
    rows = 40_000 if scaling else 20_000
    assert f"2 ranks, {rows} rows a side" in on_ranks(tmp_path, 2, "join.py", "--rows", "20000", "--runs", "1", *scaling)


def test_preprocess(tmp_path: Path) -> None:
    said = on_ranks(tmp_path, 2, "preprocess.py", "--rows", "20001", "--batch", "256")
    assert "steps on 2 ranks" in said and "epoch 1" in said


def test_a_descent_that_has_not_arrived_fails(tmp_path: Path) -> None:
    """The check is one: too few steps are noticed."""
    with pytest.raises(AssertionError, match="has not arrived"):
        on_ranks(tmp_path, 2, "regression.py", "--rows", "20000", "--steps", "3")
