"""The 22 queries of TPC-H over the small tables of testdata/tpch, whose answers are DuckDB's."""

import csv
import importlib
import pathlib
from decimal import Decimal

import polars as pl
import pytest
import tpch
import volley as vo
from volley._library import live

FOLDER = pathlib.Path(__file__).parent.parent.parent / "testdata" / "tpch"


PEERS = FOLDER.parent.parent / "bench" / "tpch" / "python"


def text(value: object) -> str:
    return "" if value is None else format(value, "f") if isinstance(value, Decimal) else str(value)


def same(got: object, want: str) -> bool:
    if isinstance(got, float) and want:
        return abs(got - float(want)) <= 1e-9 * abs(float(want))
    return text(got) == want


@pytest.fixture(scope="module")
def loaded() -> tpch.Data:
    return tpch.load(FOLDER)


@pytest.mark.parametrize("name", tpch.QUERIES)
def test_answers_are_those_of_duckdb(name: str, loaded: tpch.Data) -> None:
    with (FOLDER / "answers" / f"{name}.csv").open(newline="") as f:
        header, *rows = csv.reader(f)
    assert rows
    before = live()
    for data in (loaded, tpch.scan(FOLDER)):
        made = tpch.QUERIES[name](data).collect()
        assert made.columns == header
        columns = [made[c].to_pylist() for c in header]
        assert len(made) == len(rows)
        for i, row in enumerate(rows):
            for got, want in zip(columns, row, strict=True):
                assert same(got[i], want), (name, i, got[i], want)
    del made, data, columns
    assert live() <= before + 2  # tokens are kept


def test_the_text_of_plans_names_scalars(loaded: tpch.Data) -> None:
    plan = tpch.q22(loaded).explain()
    assert "c_acctbal > mean" in plan and "\nscalar mean\n" in plan
    assert isinstance(tpch.q11(loaded), vo.Query)


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize(("peer", "threads"), [("duckdb", 2), ("polars", pl.thread_pool_size())])
def test_the_race_has_the_same_queries(peer: str, threads: int, files: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bench tpch races against gives the same answers."""
    monkeypatch.syspath_prepend(PEERS)
    engine = importlib.import_module(f"engine_{peer}").Engine(threads)
    engine.load(str(FOLDER), files)
    for name in tpch.QUERIES:
        engine.write(engine.run(name), str(tmp_path / "answer.csv"))
        with (FOLDER / "answers" / f"{name}.csv").open(newline="") as f, (tmp_path / "answer.csv").open(newline="") as g:
            want, got = list(csv.reader(f)), list(csv.reader(g))
        assert len(want) == len(got), name
        for a, b in zip(got, want, strict=True):
            assert all(x == y or abs(float(x) - float(y)) <= 1e-9 * abs(float(y)) for x, y in zip(a, b, strict=True)), (name, a, b)
