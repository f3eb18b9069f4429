"""Tables on ranks."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import volley as vo

RANK = """
import sys
from collections import Counter
import volley as vo
comm = vo.Comm(sys.argv[1], int(sys.argv[2]), 2, deadline=5, transport=sys.argv[3])
me = comm.rank
left = vo.Table({"k": [me, 1, 2, None, me], "v": [10 * me + i for i in range(5)]}, device="cpu")
right = vo.Table({"k": [1, 2, 5 + me], "s": ["a", None, str(me)]}, device="cpu") if me else vo.Table({"k": [], "s": []}, device="cpu")
"""


def ranks(folder: Path, transport: str, body: str) -> None:
    """Runs the body as two processes, which both must end well."""
    command = [sys.executable, "-c", RANK + textwrap.dedent(body), f"file://{folder}/meeting"]
    started = [subprocess.Popen([*command, str(r), transport], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for r in range(2)]
    said = [p.communicate(timeout=120)[1] for p in started]
    assert [p.returncode for p in started] == [0, 0], "\n".join(said)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_tables_on_two_processes(tmp_path: Path, transport: str) -> None:
    ranks(
        tmp_path,
        transport,
        """
        d, o = vo.distributed.Table(left, comm), vo.distributed.Table(right, comm)
        assert len(d) == 10 and d.counts == [5, 5] and o.counts == [0, 3] and d.comm is comm
        assert o.schema == {"k": "int64", "s": "utf8"} and o.local.schema == o.schema, o.schema  # of the rank that has rows
        assert d.partitioning.scheme == "unknown" and not d.together("k") and d.columns == ["k", "v"]
        all_left, all_right = d.replicate().local, o.replicate().local
        assert d.replicate().partitioning == vo.distributed.Partitioning("replicated") and len(all_left) == 10
        for how in ["inner", "left", "right", "full", "semi", "anti"]:
            j = d.join(o, on="k", how=how)
            whole = j.gather(1)
            assert (whole is None) == (me == 0)
            if whole is not None:
                assert Counter(whole.rows()) == Counter(all_left.join(all_right, on="k", how=how).rows()), how
        for how in ["inner", "left", "semi", "anti"]:
            for where in ("v % 2 = 0", vo.col("v") % 2 == 0):
                j = d.join(o, on="k", how=how, where=where).replicate().local
                assert Counter(j.rows()) == Counter(all_left.join(all_right, on="k", how=how, where=where).rows()), how
        h = d.shuffle("k")
        assert h.together(["k", "v"]) and str(h.partitioning) == "hash of k" and sum(h.counts) == 10
        assert Counter(comm.exchange(h.local.partition_round_robin(2)).columns) == Counter(["k", "v"])
        r = d.shuffle(by_range=["k", "v"], descending=[True, False])
        assert r.partitioning.scheme == "range" and max(r.counts) <= 6, r.counts
        assert [row for row in vo.distributed.Table(r.local.sort(["k", "v"], descending=[True, False]), comm).replicate().local.rows()] == \\
            all_left.sort(["k", "v"], descending=[True, False]).rows()
        assert d.shuffle().counts == [5, 5]
        assert d.repartition([9, 1]).local.rows() == (all_left.rows()[:9] if me == 0 else all_left.rows()[9:])
        assert d.repartition([9, 1]).rebalance().counts == [5, 5] and sum(d.rebalance("bytes").counts) == 10
        s = vo.distributed.scatter(all_left if me == 1 else None, comm, root=1, device="cpu")
        assert s.counts == [5, 5] and s.replicate().local.rows() == all_left.rows()
        assert vo.distributed.broadcast(left if me == 0 else None, comm).local.column("v").to_pylist() == [0, 1, 2, 3, 4]
        comm.barrier()
        """,
    )


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_what_ranks_do_not_agree_on_is_one_error_on_all(tmp_path: Path, transport: str) -> None:
    ranks(
        tmp_path,
        transport,
        """
        def refused(call, *texts):
            try:
                call()
            except vo.Mismatch as e:
                assert all(t in str(e) for t in texts), str(e)
            else:
                raise AssertionError("it is not refused")
        d = vo.distributed.Table(left, comm)
        refused(lambda: vo.distributed.Table(vo.Table({"k": [1] if me else ["x"]}), comm), 'rank 0: column "k" is of type utf8', "rank 1", "int64")
        refused(lambda: d.shuffle("k" if me else "v"), "rank 0", "by hash of v", "rank 1", "by hash of k")
        refused(lambda: d.shuffle("q"), "ranks 0, 1", '"q"')
        refused(lambda: d.join(d, on="k") if me else d.rebalance(), "distributed Join", "distributed Rebalance")
        refused(lambda: d.gather(2), "root 2")
        refused(lambda: d.repartition([1, 2]), "10 rows")
        refused(lambda: comm.exchange([left]), "1 parts for 2 ranks")
        refused(lambda: vo.distributed.scatter(None, comm), "rank 0", "no table")
        assert len(vo.distributed.Table(left, comm)) == 10  # the group goes on
        for wrong in (lambda: list(d), lambda: d.join(left, on="k"), lambda: comm.exchange([1, 2])):
            try:
                wrong()
            except TypeError:
                pass
            else:
                raise AssertionError("it is not refused")
        comm.barrier()
        """,
    )


def test_what_one_rank_refuses_is_the_error_of_the_others(tmp_path: Path) -> None:
    """They would wait for it for ever, whether Python refuses an argument or the library."""
    ranks(
        tmp_path,
        "shm",
        """
        import os
        d, one = vo.distributed.Table(left, comm), vo.distributed.Table(vo.Table({"k": [me]}), comm)
        gone = vo.distributed.Table(left, comm)
        gone.close()
        loaded = vo.col("v").sum()
        def refused(right, wrong, *texts):
            try:
                wrong() if me == 0 else right()
            except (vo.VolleyError, TypeError, ValueError, LookupError, OSError) as e:
                assert me == 0 or isinstance(e, vo.VolleyError) and "rank 0" in str(e), (type(e), str(e))
                assert all(t in str(e) for t in texts), str(e)
            else:
                raise AssertionError(f"it is not refused: {texts}")
        refused(lambda: vo.distributed.Table(left, comm), lambda: vo.distributed.Table({"k": object()}, comm), "object")
        refused(lambda: vo.distributed.Table(left, comm), lambda: vo.distributed.Table({"k": [1], "v": [1, 2]}, comm), "2")
        refused(lambda: d.join(one, on="k"), lambda: d.join(left, on="k"), "a distributed.Table is wanted")
        refused(lambda: d.join(one, on="k"), lambda: d.join(gone, on="k"), "closed")
        refused(lambda: d.join(one, on="k"), lambda: gone.join(one, on="k"), "closed")
        refused(lambda: d.join(one, on="k"), lambda: d.join(one, on="k", how="sideways"), "sideways")
        refused(lambda: d.join(one, on="k"), lambda: d.join(one, on="k", how=3), "a str is wanted")
        refused(lambda: d.join(one, on="k"), lambda: d.join(one, on=["k", "k\\0"]), "NUL")
        refused(lambda: d.join(one, on="k"), lambda: d.join(one, left_on=["k", "v"], right_on="k"), "2 keys on the left")
        refused(lambda: d.join(one, on="k"), lambda: d.join(one, on="k", sideways=True), "sideways")
        refused(lambda: d.join(one, on="k", where="v > 1"), lambda: d.join(one, on="k", where="v >"), "syntax error")
        refused(lambda: d.join(one, on="k"), lambda: d.join(one, on="k", where="v > 1"), "where")
        refused(lambda: d.shuffle("k"), lambda: d.shuffle(7), "7")
        refused(lambda: d.shuffle("k"), lambda: d.shuffle("k", by_range="v"), "by_range")
        refused(lambda: d.rebalance(), lambda: d.rebalance("weight"), "weight")
        refused(lambda: d.repartition([5, 5]), lambda: d.repartition(["x", 5]), "x")
        refused(lambda: d.replicate(), lambda: gone.replicate(), "closed")
        refused(lambda: d.gather(0), lambda: d.gather("first"), "first")
        refused(lambda: d.filter("v > 1"), lambda: d.filter("v >"), "syntax error")
        refused(lambda: d.filter("v > 1", "k = 1"), lambda: d.filter("v > 1", [True, False]), "rows of one rank")
        refused(lambda: d.select("k"), lambda: d.select("k", vo.col("v").sum()), "aggregates make one row")
        refused(lambda: d.select("k"), lambda: d.select(object()), "object")
        refused(lambda: d.with_columns(x=1), lambda: d.with_columns(x=object()), "object")
        refused(lambda: d.drop("k"), lambda: d.drop(1), "1")
        refused(lambda: d.rename({"k": "l"}), lambda: d.rename({"k": 1}), "1")
        refused(lambda: d.group_by("k").agg(loaded), lambda: d.group_by(1.5j).agg(loaded), "complex")
        refused(lambda: d.group_by("k").agg(loaded), lambda: d.group_by("k").agg(7), "7")
        refused(lambda: d.agg(loaded), lambda: d.agg("v"), "v")
        refused(lambda: d.sort("k"), lambda: d.sort("k", descending=[True, False]), "2")
        refused(lambda: d.sort("k"), lambda: d.sort(), "sort")
        refused(lambda: d.top_k(2, "k"), lambda: d.top_k("two", "k"), "two")
        refused(lambda: d.unique("k"), lambda: d.unique(object()), "object")
        refused(lambda: d.union(d), lambda: d.union(left), "Table")
        refused(lambda: d.intersect(d), lambda: d.intersect(left), "Table")
        refused(lambda: d.subtract(d), lambda: d.subtract(gone), "closed")
        refused(lambda: d.slice(0, 5), lambda: d.slice(0, -5), "-5")
        refused(lambda: d.head(5), lambda: d.head("five"), "five")
        refused(lambda: d.describe(), lambda: gone.describe(), "closed")
        refused(lambda: d.even(), lambda: gone.even(), "closed")
        refused(lambda: d.with_row_index(), lambda: d.with_row_index(3), "3")
        refused(lambda: d.equals(d), lambda: d.equals(left), "Table")
        refused(lambda: d.write_parquet("/nowhere/at/all"), lambda: d.write_parquet(3), "a path is wanted")
        refused(lambda: vo.distributed.scatter(left if me == 0 else None, comm), lambda: vo.distributed.scatter(7, comm), "7")
        refused(lambda: vo.distributed.broadcast(left if me == 0 else None, comm), lambda: vo.distributed.broadcast(left, comm, device="nothing"), "nothing")
        refused(lambda: vo.distributed.scan_parquet("x.parquet", comm), lambda: vo.distributed.scan_parquet(3.5, comm), "3.5")
        refused(lambda: comm.exchange([left, left]), lambda: comm.exchange([left, 2]), "parts are tables")
        refused(lambda: comm.exchange([left, left]), lambda: comm.exchange(3), "not iterable")
        assert len(d.join(one, on="k")) == len(d.join(one, on="k")) and comm.fault() is None  # the group goes on
        comm.barrier()
        """,
    )


def test_a_rank_that_dies_in_a_join_is_named(tmp_path: Path) -> None:
    ranks(
        tmp_path,
        "tcp",
        """
        import os
        d = vo.distributed.Table(left, comm)
        if me == 1:
            os._exit(0)
        try:
            d.join(d, on="k")
        except vo.CollectiveFault as e:
            assert e.ranks == [1], e
        else:
            raise AssertionError("nobody has noticed")
        """,
    )


@pytest.mark.parametrize("size", [1, 2])
def test_flights_on_ranks(tmp_path: Path, size: int) -> None:
    program = Path(__file__).with_name("flights_on_ranks.py")
    environment = {**os.environ, "VOLLEY_ADDRESS": f"file://{tmp_path}/meeting", "WORLD_SIZE": str(size)}
    started = [subprocess.Popen([sys.executable, str(program)], env={**environment, "RANK": str(r)}, stdout=subprocess.PIPE, text=True) for r in range(size)]
    for r, p in enumerate(started):
        out, _ = p.communicate(timeout=120)
        assert p.returncode == 0 and out == f"rank {r} of {size} agrees\n"


def test_a_table_on_one_rank() -> None:
    with vo.Comm() as comm:
        d = vo.distributed.Table({"a": [1, 2]}, comm)
        assert repr(d) == "<distributed.Table of 2 rows on 1 ranks, 2 on rank 0, unknown>"
        gathered = d.gather()
        assert gathered is not None and gathered.to_pydict() == {"a": [1, 2]}
    assert d.counts == [2] and len(d.local) == 2  # what is known stays when the group has ended
    with pytest.raises(vo.Closed):
        d.gather()
    d.close()
    assert repr(d) == "<distributed.Table, closed>"
