"""The ranks of a launcher join flights with airports: each has some of the rows, and all must find the answer that one process finds."""

from __future__ import annotations

import random
import sys

import volley as vo

AIRPORTS = {"DEN": "CO", "CID": "IA", "DSM": "IA", "JAC": "WY", "CPR": "WY"}


def flights(n: int) -> vo.Table:
    """Some flights: one in ten from nobody knows where."""
    r = random.Random(7)
    origins = [None if r.random() < 0.1 else r.choice([*AIRPORTS, "ZZZ"]) for _ in range(n)]
    return vo.Table({"flight": list(range(n)), "origin": origins, "delay": [r.randrange(90) for _ in range(n)]}, device="cpu")


def main() -> None:
    """Joins on the ranks that a launcher started, or on one."""
    whole, airports = flights(5000), vo.Table({"iata": list(AIRPORTS), "state": list(AIRPORTS.values())}, device="cpu")
    with vo.Comm() as comm:
        late = whole.filter(vo.col("flight") % comm.size == comm.rank)
        here = airports if comm.rank == comm.size - 1 else airports.head(0)
        joined = vo.distributed.Table(late, comm).join(vo.distributed.Table(here, comm), left_on="origin", right_on="iata", how="left")
        assert len(joined) == 5000 and sum(joined.counts) == 5000
        on_state = joined.shuffle("state")
        assert on_state.together("state") and on_state.partitioning.keys == ("state",)
        states = on_state.local.group_by("state").agg(vo.col("delay").sum().alias("delay"), vo.count().alias("flights"))
        found = vo.distributed.Table(states, comm).gather(0)
        if found is not None:
            want = whole.join(airports, left_on="origin", right_on="iata", how="left").group_by("state")
            expected = want.agg(vo.col("delay").sum().alias("delay"), vo.count().alias("flights"))
            assert sorted(found.rows(), key=repr) == sorted(expected.rows(), key=repr), (found.rows(), expected.rows())
        comm.barrier()
        sys.stdout.write(f"rank {comm.rank} of {comm.size} agrees\n")  # one write: launchers mix what ranks write in pieces


if __name__ == "__main__":
    sys.exit(main())
