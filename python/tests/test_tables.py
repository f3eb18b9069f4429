"""Tables, queries and files, without any other package."""

import datetime as dt
import decimal
import doctest
import importlib
import os
import pathlib
import subprocess
import sys
import threading

import pytest
import volley as vo
from volley import col, lit, when


@pytest.fixture
def t() -> vo.Table:
    return vo.Table({"k": [1, 2, 1, 3], "v": [10, 20, 30, None], "s": ["a", "b", "c", None], "f": [0.5, 1.5, 2.5, 3.5]})


def test_what_a_table_is(t: vo.Table) -> None:
    assert t.columns == ["k", "v", "s", "f"] and t.dtypes == ["int64", "int64", "utf8", "float64"] and t.shape == (4, 4)
    assert t["s"].to_pylist() == ["a", "b", "c", None] and list(t["k"]) == [1, 2, 1, 3] and t["v"][3] is None and t["v"][-2] == 30
    assert "k" in t and "z" not in t and len(t) == 4 and "4 rows" in repr(t)
    assert "<td>30</td>" in t._repr_html_() and "4 rows × 4 columns" in t._repr_html_()
    assert t.device.name == vo.Device("auto").name and t.to("cpu").to_pydict() == t.to_pydict()
    kinds = {"b": [True, None], "d": [dt.date(2024, 2, 29), None], "at": [dt.datetime(2024, 2, 29, 12), None], "x": [b"\0\xff", None]}
    assert vo.Table(kinds).to_pydict() == kinds
    aware = [dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc)]
    assert vo.Column(aware).to_pylist() == aware
    assert vo.Column([], "int8").to_pylist() == [] and vo.Column([1, 2], "int8").dtype == "int8"


def test_expressions(t: vo.Table) -> None:
    out = t.select(
        (col("v") + 1).alias("add"), (2 * col("k")).alias("mul"), (col("k") / 2).alias("div"), (1 - col("k")).alias("sub"), (-col("k")).alias("neg"),
        col("v").is_null().alias("null"), col("v").fill_null(0).alias("filled"), col("k").is_in([1, 3]).alias("in"), col("f").floor().cast("int8").alias("cast"),
        when(col("k") == 1).then("one").when(col("k") == 2).then("two").otherwise("more").alias("case"),
        (~((col("k") > 1) & (col("v") < 25) | (col("k") == 3))).alias("logic"), abs(1 - col("k")).alias("abs"),
    ).to_pydict()  # fmt: skip
    assert out == {
        "add": [11, 21, 31, None], "mul": [2, 4, 2, 6], "div": [0.5, 1.0, 0.5, 1.5], "sub": [0, -1, 0, -2], "neg": [-1, -2, -1, -3],
        "null": [False, False, False, True], "filled": [10, 20, 30, 0], "in": [True, False, True, True], "cast": [0, 1, 2, 3],
        "case": ["one", "two", "one", "more"], "logic": [True, False, True, False], "abs": [0, 1, 0, 2],
    }  # fmt: skip
    days = vo.Table({"d": [dt.date(2024, 2, 29), dt.date(2025, 3, 1)]})
    assert days.filter(col("d") < dt.date(2025, 1, 1)).select(col("d").year().alias("y")).to_pydict() == {"y": [2024]}
    assert days.filter(col("d") < dt.datetime(2025, 1, 1)).shape[0] == 1
    assert str(lit(decimal.Decimal("12.50"))) != "" and len(t.filter(col("f") == decimal.Decimal("1.5"))) == 1
    with pytest.raises(TypeError, match="truth value"):
        bool(col("a") == 1)
    with pytest.raises(OverflowError):
        lit(2**70)
    with pytest.raises(TypeError):
        lit(object())


def test_operations(t: vo.Table) -> None:
    assert t.filter(col("v") > 15, "k = 1").to_pydict()["s"] == ["c"]
    assert t.with_columns(x=col("k") * 2).columns[-1] == "x" and t.assign(k=lit(0))["k"].to_pylist() == [0] * 4
    assert t.drop("v", "s").columns == ["k", "f"] and t.rename({"k": "key"}).columns[0] == "key"
    assert t.sort("k", "v", descending=[True, False])["v"].to_pylist() == [None, 20, 10, 30]
    assert t.sort("v", nulls_last=False)["v"].to_pylist()[0] is None and t.sort_values("v", ascending=False)["v"].to_pylist()[0] == 30
    assert t.top_k(1, "f")["k"].to_pylist() == [3] and t.nsmallest(1, "f")["k"].to_pylist() == [1]
    assert len(t.head(2)) == 2 and t.tail(1)["k"].to_pylist() == [3] and len(t.slice(1, 2)) == 2 and len(t.unique("k")) == 3
    assert len(t.union(t)) == 8 and len(vo.concat([t, t, t])) == 12 and t.describe().columns[0] == "statistic"
    g = t.group_by("k").agg(vo.count(), col("v").sum().alias("total"), col("f").max(), worst=("v", "min"))
    assert g.to_pydict() == {"k": [1, 2, 3], "count": [2, 1, 1], "total": [40, 20, None], "max_f": [2.5, 1.5, 3.5], "worst": [10, 20, None]}
    assert t.groupby(["k"]).agg({"v": ["mean", "nunique"]}).to_pydict()["mean_v"] == [20.0, 20.0, None]
    assert t.group_by(col("k") % 2).len()["count"].to_pylist() == [3, 1]
    assert t.agg(col("f").var()).to_pydict() == {"var_f": [pytest.approx(5 / 3)]}
    assert t.filter(k=1, s="a")["v"].to_pylist() == [10] and len(t.filter(["k = 1", col("v") > 10])) == 1
    assert t.sort(by="k")["k"].to_pylist() == t.sort(by=["k", "v"])["k"].to_pylist() == [1, 1, 2, 3]
    assert t.sort_values("v", na_position="first")["v"].to_pylist()[0] is None and t.height == 4 and t.width == 4 and not t.is_empty()
    assert t.to_dicts()[0] == {"k": 1, "v": 10, "s": "a", "f": 0.5} and t.rows()[1] == (2, 20, "b", 1.5) and "4 rows" in t.explain()
    names = vo.Table({"id": [1, 2], "s": ["uno", "due"]})
    assert t.join(names, left_on="k", right_on="id", how="left").to_pydict()["s_right"] == ["uno", "due", "uno", None]
    assert len(t.merge(t, on="k")) == 6 and len(t.join(names, left_on="k", right_on="id", how="anti")) == 1
    assert "k = 1" in t.lazy().filter("k = 1").explain()


def test_files(t: vo.Table, tmp_path: pathlib.Path) -> None:
    t.write_parquet(tmp_path / "t.parquet", compression="uncompressed")
    t.write_parquet(tmp_path / "t.parquet", compression="zstd")
    t.write_csv(tmp_path / "t.csv", separator=";")
    t.write_ipc(tmp_path / "t.arrow")
    t.write_ipc(tmp_path / "t.arrows", stream=True)
    want = t.to_pydict()
    assert vo.read_parquet(tmp_path / "t.parquet").to_pydict() == want
    assert vo.read_parquet(tmp_path / "*.parquet", columns=["s"]).to_pydict() == {"s": want["s"]}
    assert vo.read_csv(tmp_path / "t.csv", separator=";", schema_overrides={"k": "int64"}).to_pydict() == want
    assert vo.read_ipc([tmp_path / "t.arrow", tmp_path / "t.arrows"]).shape == (8, 4)
    assert vo.scan_parquet(tmp_path / "t.parquet").filter(col("k") == 1).select("v").collect().to_pydict() == {"v": [10, 30]}
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        vo.read_parquet(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no file PAR1")
    with pytest.raises(vo.FormatError):
        vo.read_parquet(tmp_path / "bad.parquet")


def test_errors(t: vo.Table) -> None:
    with pytest.raises(vo.Mismatch, match="unknown column") as e:
        t.filter("kk = 1")
    assert isinstance(e.value, ValueError) and e.value.kind == "mismatch" and "k" in str(e.value)
    with pytest.raises(vo.Unavailable):
        vo.Device("abacus")
    with pytest.raises(vo.Mismatch):
        vo.Table({"a": [1], "b": [1, 2]})
    with pytest.raises(vo.InvalidValue):
        t.select(vo.sql("add_checked(k, 9223372036854775807)"))
    with pytest.raises(vo.Unsupported):
        vo.function("frobnicate", 1)
    with pytest.raises(TypeError):
        vo.Table(7)
    with pytest.raises(TypeError):
        vo.Column([1, "a"])
    with pytest.raises(IndexError):
        t["k"][4]
    for closed in (vo.Column([1]), vo.Table({"a": [1]}), col("a"), t.lazy()):
        closed.close()
        closed.close()
        with pytest.raises(vo.Closed):
            repr(closed._handle)
    with pytest.raises(BufferError, match="null"):
        t["v"].__dlpack__()
    with pytest.raises(BufferError):
        t["k"].__dlpack__(stream=1)


class Pretender:
    """Hands out what it is given."""

    def __init__(self, *capsules: object) -> None:
        self.capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, ...]:
        return self.capsules

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsules[0]


def test_capsules_that_are_wrong() -> None:
    c = vo.Column([1, 2])
    schema, array = c.__arrow_c_array__()
    with pytest.raises(vo.Mismatch, match="arrow_array"):
        vo.Column(Pretender(array, schema))
    with pytest.raises(vo.Mismatch, match="arrow_array"):
        vo.Column(Pretender(schema, 7))
    assert vo.Column(Pretender(schema, array)).to_pylist() == [1, 2]
    with pytest.raises(vo.Closed, match="released"):
        vo.Column(Pretender(schema, array))  # already consumed
    stream = vo.Table({"a": [1]}).__arrow_c_stream__()
    assert vo.Table(Pretender(stream)).shape == (1, 1)
    with pytest.raises(vo.Closed, match="released"):
        vo.Table(Pretender(stream))


def test_threads(t: vo.Table) -> None:
    q = t.lazy().group_by("k").agg(col("v").sum())
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.extend(q.collect().to_pydict()["k"] for _ in range(20))) for _ in range(6)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    assert got == [[1, 2, 3]] * 120


ENDLESS = """
import volley as vo, sys
t = vo.Table({"a": [1] * (1 << 19)}).lazy()
q = t.join(t, how="cross").agg(vo.sql("a + a_right").sum())
"""


def test_ctrl_c_ends_an_operation() -> None:
    """Within 100 ms, from where the signal is sent; the machine may be busy with other things, so the best of some tries counts."""
    program = ENDLESS + """
import os, signal, threading, time
sent = 0.0
def send():
    global sent
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
took = []
for attempt in range(20):
    timer = threading.Timer(0.2, send)  # it would take minutes
    timer.start()
    try:
        q.collect()
    except KeyboardInterrupt:
        took.append(time.perf_counter() - sent)
    timer.join()
    if took[-1] <= 0.1:
        break
print(len(took) > 0, min(took) <= 0.1, vo.Table({"a": [1]}).shape)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert ran.stdout == "True True (1, 1)\n", ran.stderr


def test_fork_is_an_error_and_spawn_works(t: vo.Table, tmp_path: pathlib.Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            t.head(1)
        except vo.Forked as e:
            os._exit(0 if "spawn" in str(e) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    program = (
        "import multiprocessing as m, volley as vo\n"
        "def f(n): return vo.Table({'a': [1] * n}).shape[0]\n"
        "if __name__ == '__main__':\n"
        "    vo.Device('cpu')\n"
        "    for how in ('spawn', 'forkserver'):\n"
        "        with m.get_context(how).Pool(2) as p: print(p.map(f, [1, 2, 3]))\n"
    )
    path = tmp_path / "spawn.py"
    path.write_text(program)
    out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=True).stdout
    assert out == "[1, 2, 3]\n[1, 2, 3]\n"
    before_use = "import os, volley as vo\npid = os.fork()\nn = vo.Table({'a': [1]}).shape[0]\nos._exit(0) if pid == 0 else print(os.waitpid(pid, 0)[1], n)"
    out = subprocess.run([sys.executable, "-c", before_use], capture_output=True, text=True, timeout=60, check=True).stdout
    assert out == "0 1\n"  # the library is loaded at its first use, in each process


def test_docstrings() -> None:
    ran = 0
    folder = pathlib.Path(vo.__file__).parent
    for path in sorted(folder.glob("*.py")):
        if path.stem.startswith("loader_") or path.stem in ("__main__", "_abi"):
            continue  # they import a framework
        module = importlib.import_module("volley" if path.stem == "__init__" else f"volley.{path.stem}")
        # The functions of the package are those of its modules.
        found = doctest.DocTestFinder(recurse=module is not vo).find(module, extraglobs={n: getattr(vo, n) for n in vo.__all__})
        for test in found:
            result = doctest.DocTestRunner().run(test)
            assert result.failed == 0, test.name
            ran += result.attempted
    assert ran >= 20


def test_texts_that_are_given_by_name() -> None:
    """with_columns and select take the text of an expression, as filter does; a text that was meant to be one is never a constant in silence."""
    t = vo.Table({"k": [1, 2], "s": ["x", "y"]})
    for made in (t.with_columns(a="case when k > 1 then s else 'z' end", b="k"), t.lazy().with_columns(a="case when k > 1 then s else 'z' end", b="k").collect()):
        assert made.select("a", "b").to_pydict() == {"a": ["z", "y"], "b": [1, 2]}
    assert t.select(twice="k * 2", unit=lit("m")).to_pydict() == {"twice": [2, 4], "unit": ["m", "m"]}
    assert t.assign(unit="m / s").to_pydict()["unit"] == ["m / s"] * 2 == t.lazy().assign(unit="m / s").collect().to_pydict()["unit"]
    with pytest.raises(vo.Mismatch, match='unknown column "hello"'):
        t.with_columns(a="hello")
    with pytest.raises(vo.Mismatch, match="syntax error"):
        t.select(a="hello world")


def test_schema_of_a_query() -> None:
    q = vo.Table({"k": [1, 2], "s": ["x", "y"]}).lazy().group_by("s").agg(col("k").mean()).sort("s")
    assert q.schema == {"s": "utf8", "mean_k": "float64"} == q.collect().schema
    assert q.columns == ["s", "mean_k"] and q.dtypes == ["utf8", "float64"]
    with pytest.raises(vo.Mismatch, match='unknown column "n"'):
        q.filter("n > 1").schema


def test_one_more_column() -> None:
    t = vo.Table({"a": [1, 2], "self": [3, 4]})
    assert t.with_column("b", "a * self").to_pydict() == {"a": [1, 2], "self": [3, 4], "b": [3, 8]}
    assert t.with_column("self", [1.5, None]).to_pydict() == {"a": [1, 2], "self": [1.5, None]}
    assert t.lazy().with_column("a", vo.col("a") + 1).collect().to_pydict() == {"a": [2, 3], "self": [3, 4]}
    assert t.with_column((vo.col("a") + 1).alias("b")).to_pydict() == t.with_column(b="a + 1").to_pydict() == {"a": [1, 2], "self": [3, 4], "b": [2, 3]}
