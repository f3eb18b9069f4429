"""Random plans beside DuckDB's answers: tests/random_plans.py makes them, and runs any number by hand."""

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
