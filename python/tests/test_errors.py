"""Errors say which call of the program went wrong, and which of its arguments, in its own words."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest
import volley as vo
from volley import col

T: vo.Table


@pytest.fixture(scope="module", autouse=True)
def _table() -> None:
    """The table, made as late as the tests run: frameworks of other tests are imported before the library is loaded."""
    global T
    T = vo.Table({"a": [1, 2, 3], "b": ["x", "y", "z"]})


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda: T.filter("dely > 3"), "Table.filter: .*dely"),
        (lambda: T.lazy().filter("dely > 3").collect(), "Query.collect: .*dely"),
        (lambda: T["c"], r"Table\[...\]: .*unknown column \"c\""),
        (lambda: T.group_by("a").agg(col("c").sum()), "GroupBy.agg: .*\"c\"|TableGroupBy.agg: .*\"c\""),
        (lambda: T.join(T, on="c"), "Table.join: .*\"c\""),
        (lambda: T.to("gpu:7"), "Table.to: .*gpu:7"),
        (lambda: T.head("x"), "Table.head: n: a whole number is wanted, not 'x'"),
        (lambda: T.lazy().head("x"), "Query.head: n: a whole number is wanted, not 'x'"),
        (lambda: T.lazy().slice(1, "x"), "Query.slice: length: a whole number is wanted, not 'x'"),
        (lambda: T.head(2**70), "Table.head: n: .*is 1180591620717411303424"),
        (lambda: T.join(5, on="a"), "Table.join: other: a Table or a Query is wanted, not 5"),
        (lambda: T.union(T, "x"), "Table.union: others: a Table or a Query is wanted, not 'x'"),
        (lambda: vo.concat([T, 5]), "concat: "),
        (lambda: vo.read_csv("/no/such.csv"), "read_csv: /no/such.csv: "),
        (lambda: vo.read_parquet(5), "read_parquet: source: "),
        (lambda: vo.scan_csv("x", separator=5), "scan_csv: separator: a str is wanted, not 5"),
        (lambda: T.write_csv("/no/such/folder/x.csv"), "Table.write_csv: "),
        (lambda: col(5), "col: name: a str is wanted, not 5"),
        (lambda: col("a\0"), "col: name: a text with a NUL"),
        (lambda: col("a").cast(5), "Expr.cast: dtype: "),
        (lambda: col("a").is_in("xy"), "Expr.is_in: values: a list of values is wanted, not 'xy'"),
        (lambda: vo.sql("a >"), "sql: .*column 4"),
        (lambda: T.select("a", col("a").sum()), "Table.select: aggregates make one row"),
        (lambda: T.agg(n="sum"), "Table.agg: n: .*write n=col"),
        (lambda: T.agg("count"), "Table.agg: aggregates: 'count'"),
        (lambda: T.select(x=vo.when(col("a") > 1)), r"Table.select: x: a condition without a value: go on with .then\(value\)"),
        (lambda: T.select(x=col("a").sum() if False else vo.lit(col("a").sum())), "lit: value: .* is an aggregate"),
        (lambda: vo.Column(object()), "Column: data: "),
        (lambda: vo.Table(object()), "Table: data: "),
        (lambda: vo.Loader(T, "x"), "Loader: batch_size: batch is 'x'"),
        (lambda: vo.Device("nope"), "Device: "),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_errors_name_the_call(use: Callable[[], Any], said: str) -> None:
    with pytest.raises((vo.VolleyError, TypeError, ValueError, OverflowError)) as e:
        use()
    assert re.match(said, str(e.value)), str(e.value)
    assert "volley_" not in str(e.value)


def test_files_are_told_of_in_the_names_of_the_arguments(tmp_path: pathlib.Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n" + "1,2\n" * 20_000 + "x,3\n")
    with pytest.raises(vo.VolleyError, match=r'^read_csv: .*line 20002.*schema_overrides\["a"\], or a larger infer_schema_length'):
        vo.read_csv(bad)
    with pytest.raises(vo.Mismatch, match="^read_csv: .*2 columns where new_columns names 1"):
        vo.read_csv(bad, new_columns=["x"])


def test_what_works_in_place_of_an_error() -> None:
    assert T.select(col("a").sum(), most=col("a").max()).to_pydict() == {"sum_a": [6], "most": [3]} == T.lazy().select(col("a").sum(), most=col("a").max()).collect().to_pydict()
    assert T.agg(n="count").to_pydict() == {"n": [3]} and T.group_by("b").agg(n="count", top=("a", "max")).to_pydict() == {"b": ["x", "y", "z"], "n": [1] * 3, "top": [1, 2, 3]}
    chosen = vo.when(col("a") > 2).then("many")
    assert T.select(x=chosen).to_pydict() == {"x": [None, None, "many"]} == T.select(chosen.alias("x")).to_pydict()
    assert T.select(x=chosen.when(col("a") > 1).then("some")).to_pydict() == {"x": [None, "some", "many"]}
    assert T.select(x=chosen.otherwise("few")).to_pydict() == {"x": ["few", "few", "many"]} and T.filter(vo.when(col("a") > 2).then(True)).shape == (1, 2)
    nulls = vo.Table({"a": [1, None]})
    assert len(nulls.filter(col("a").is_in([]))) == 0 and len(nulls.filter(~col("a").is_in([]))) == 2


def test_version() -> None:
    written = re.search(r'^version = "(.+)"$', (pathlib.Path(__file__).parent.parent / "pyproject.toml").read_text(), re.M)
    assert written is not None and vo.__version__ == written[1]
    installed = [d.version for d in importlib.metadata.distributions() if d.metadata["Name"] == "volley"]
    assert set(installed) <= {vo.__version__}
