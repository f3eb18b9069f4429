"""Joins with a condition beside their keys, and scalars of other queries, beside DuckDB's."""

import random

import duckdb
import pyarrow as pa
import pytest
import volley as vo

CONDITIONS = ["l.v < r.v", "l.v <> r.v", "l.v < r.v and r.s <> 'a'", "l.s = r.s or r.v > 3", "r.v > 2", "l.v > 2", "l.v > 2 and r.v > 2 and l.v <> r.v", "l.k > 2", "r.v > 100"]


def side(r: random.Random, rows: int, coded: bool) -> pa.Table:
    def some(make: object, share: float = 0.2) -> list[object]:
        return [None if r.random() < share else make() for _ in range(rows)]  # type: ignore[operator]

    s = pa.array(some(lambda: r.choice("abc")), pa.string())
    whole = pa.table({"k": pa.array(some(lambda: r.randrange(6)), pa.int32()), "v": pa.array(some(lambda: r.randrange(6)), pa.int64()), "s": s.dictionary_encode() if coded else s})
    whole = whole.append_column("n", pa.array(range(rows)))
    cut = r.randrange(rows + 1)
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)], promote_options="default")


def ours(text: str) -> str:
    """The condition with the names that the joined table has."""
    return text.replace("l.", "").replace("r.v", "v_right").replace("r.s", "s_right").replace("r.k", "k")


@pytest.mark.parametrize("seed", range(6))
def test_conditions_are_those_of_duckdb(seed: int) -> None:
    r = random.Random(seed)
    left, right = side(r, r.choice([0, 1, 7, 60]), seed % 2 == 0), side(r, r.choice([0, 1, 9, 40]), seed % 3 == 0)
    connection = duckdb.connect()
    connection.register("l", left)
    connection.register("r", right)
    a, b = vo.Table(left), vo.Table(right)
    for text in CONDITIONS:
        exists = f"exists (select 1 from r where l.k = r.k and ({text}))"
        for how, sql in {
            "semi": f"select l.* from l where {exists} order by l.n",
            "anti": f"select l.* from l where not {exists} order by l.n",
            "inner": f"select l.*, r.v, r.s, r.n from l join r on l.k = r.k and ({text}) order by l.n, r.n",
            "left": f"select l.*, r.v, r.s, r.n from l left join r on l.k = r.k and ({text}) order by l.n, r.n",
        }.items():
            want = [tuple(row) for row in connection.execute(sql).fetchall()]
            for condition in (ours(text), vo.sql(ours(text))):
                got = a.join(b, on="k", how=how, where=condition)
                assert [tuple(row.values()) for row in pa.table(got).to_pylist()] == want, (seed, how, text)
            some = a.join(b, on="k", how=how, where=ours(text), maintain_order=False)
            assert sorted(tuple(row.values()) for row in pa.table(some.select("n")).to_pylist()) == sorted((row[3],) for row in want), (seed, how, text)


def test_conditions_that_are_refused() -> None:
    t = vo.Table({"k": [1], "v": [2]})
    for how in ("right", "full"):
        with pytest.raises(vo.Unsupported, match=f"a {how} join with Where"):
            t.join(t, on="k", how=how, where="v < v_right")
    with pytest.raises(vo.Mismatch, match='unknown column "w"'):
        t.join(t, on="k", how="semi", where="w > 1")
    with pytest.raises(vo.Mismatch, match="not bool"):
        t.join(t, on="k", how="anti", where="v + v_right")


def test_scalars_are_those_of_duckdb() -> None:
    r = random.Random(5)
    t = side(r, 80, True)
    there = vo.Table(t)
    connection = duckdb.connect()
    connection.register("t", t)
    for least in ("select avg(v) from t", "select max(v) from t where k > 99", "select v from t where n = 3"):
        one = {"select avg(v) from t": there.agg(vo.col("v").mean()), "select max(v) from t where k > 99": there.filter("k > 99").select("v"),
               "select v from t where n = 3": there.filter("n = 3").select("v")}[least]  # fmt: skip
        want = connection.execute(f"select n from t where v >= ({least}) order by n").fetchall()
        assert [(n,) for n in there.lazy().with_scalar(least=one).filter("v >= least").collect()["n"].to_pylist()] == want
        assert [(n,) for n in there.with_scalar(least=one.lazy()).filter("v >= least")["n"].to_pylist()] == want
    plan = there.lazy().with_scalar(least=there.lazy().agg(vo.col("v").mean())).filter("v >= least")
    assert "scalar least\n" in plan.explain() and "v >= least" in plan.explain()
    with pytest.raises(vo.InvalidValue, match='scalar "x": .*more than one row'):
        there.with_scalar(x=there.select("n"))
    with pytest.raises(vo.Mismatch, match="4 columns"):
        there.with_scalar(x=there)
    with pytest.raises(TypeError, match="a Table or a Query is wanted"):
        there.lazy().with_scalar(x=5)  # type: ignore[arg-type]
