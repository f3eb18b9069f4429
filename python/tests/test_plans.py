"""Random plans beside DuckDB's answers: tests/random_plans.py makes them, and runs any number by hand."""

import os
import pathlib
import subprocess
import sys

import pytest
import random_plans
from volley._library import live

PLANS, PARTS = 500, 5


@pytest.mark.parametrize("part", range(PARTS))
def test_random_plans_are_those_of_duckdb(part: int) -> None:
    connection = random_plans.connect()
    before = live()
    for seed in range(part, PLANS, PARTS):
        random_plans.check(seed, connection)
    assert live() <= before + 2  # tokens are kept


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_random_plans_in_small_morsels(rows: int) -> None:
    """Every limit of the engine is in proportion to a morsel's rows: small ones are passed by the few rows that there are."""
    program = pathlib.Path(random_plans.__file__)
    environment = {**os.environ, "VOLLEY_MORSEL_ROWS": str(rows)}
    run = subprocess.run([sys.executable, str(program), str(1000 * rows), "120"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "0 failed" in run.stdout


@pytest.mark.parametrize(("first", "rows"), [(15030, "3"), (25000, "")])
def test_random_plans_over_files(tmp_path: pathlib.Path, first: int, rows: str) -> None:
    """Sources in parts, with conditions that the readers do, in pages and row groups of few rows."""
    environment = {**os.environ, "RANDOM_PLANS_FOLDER": str(tmp_path), **({"VOLLEY_MORSEL_ROWS": rows} if rows else {})}
    run = subprocess.run([sys.executable, random_plans.__file__, str(first), "120"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "0 failed" in run.stdout


# The rules of the optimiser; each is also switched off alone, in a process of its own, which reads the variable as it starts.
RULES = ["joinorder", "ties", "implied", "shared", "reduce", "joinfilter", "mask", "dependence", "eager"]
FEWER = 120


@pytest.mark.parametrize("off", ["", "-all", *(f"-{rule}" for rule in RULES)])
def test_random_plans_are_those_of_duckdb_without_rules(off: str) -> None:
    first = PLANS + FEWER * len(off)
    env = os.environ | {"VOLLEY_OPTIMISER": off, "VOLLEY_MORSEL_ROWS": "3"}
    made = subprocess.run([sys.executable, random_plans.__file__, str(first), str(FEWER)], capture_output=True, text=True, env=env, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert f"{FEWER} plans" in made.stdout
