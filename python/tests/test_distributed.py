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
    for p in started:
        _, err = p.communicate(timeout=120)
        assert p.returncode == 0, err


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
