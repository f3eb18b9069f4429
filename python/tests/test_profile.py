"""Plans as JSON, and profiles of runs."""

from __future__ import annotations

import json

import pytest

import volley as vo


def test_a_profile_adds_up_in_every_format() -> None:
    t = vo.Table({"k": [1, 2, 1, 3], "v": [1.0, 2.0, 3.0, 4.0]})
    plan = t.lazy().filter("v > 1").group_by("k").agg(vo.col("v").sum().alias("total")).sort("k")
    p = plan.profile()
    assert p.table.to_pydict() == plan.collect().to_pydict()
    found = json.loads(p.json())
    assert found["rows"] == 3 and found["device"] == "cpu" and found["pipelines"]
    for pipe in found["pipelines"]:
        given = found["steps"][pipe["source"]]["total"]["rows_out"]
        for step in (*pipe["steps"], pipe["output"]):
            assert found["steps"][step]["total"]["rows_in"] == given
            given = found["steps"][step]["total"]["rows_out"]
    assert "filter v > 1" in p.text() and repr(p) == p.text()
    assert p.html().startswith("<!DOCTYPE html>") and p._repr_html_() in p.html() and "http" not in p.html()
    assert {e["ph"] for e in json.loads(p.chrome())["traceEvents"]} == {"M", "X"}
    p.close()
    with pytest.raises(vo.Closed):
        p.text()
    assert p.table.to_pydict()["k"] == [1, 2, 3]


def test_a_plan_as_json() -> None:
    plan = vo.Table({"a": [1, 2]}).lazy().filter("a > 1")
    found = json.loads(plan.explain(format="json"))
    root = found["plans"][0]["root"]
    assert root["op"] == "filter" and root["conditions"] == ["a > 1"] and root["inputs"][0]["estimated_rows"] == 2
    assert plan.explain("text") == plan.explain()
    assert plan.explain().endswith("\npipelines:\n  1  workers  table of 2 rows in 1 chunks -> filter -> result\n")
    with pytest.raises(ValueError, match="pdf"):
        plan.explain("pdf")


def test_a_notebook_shows_a_plan() -> None:
    plan = vo.Table({"a": [1, 2]}).lazy()
    assert "filter a &lt; 2" in plan.filter("a < 2")._repr_html_()
    assert "unknown column" in plan.filter("b < 2")._repr_html_()
    with pytest.raises(vo.VolleyError):
        vo.Table({"a": [1]}).lazy().filter("b > 1").profile()
