"""Gangs of ranks that launchers start: mpirun, Slurm's variables, torchrun."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)

BODY = """
import sys
sys.path.insert(0, {here!r})
import flights
import volley as vo
import volley.engines.{engine}
with vo.engines.{engine}.enter() as w:
    assert flights.query_on(w) == flights.answer()
    # One write: launchers mix what the ranks of an unbuffered Python write in pieces.
    sys.stdout.write(f"rank {{w.rank}} of {{w.size}} generation {{w.generation}}\\n")
    sys.stdout.flush()
    w.comm.barrier()
"""


# The first time, of which a file in the folder KILLED_ONCE is left, rank 1 is killed.
KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {here!r})
import flights
import volley as vo
from volley.engines import launched
with launched.enter(lease=5) as w:
    marker = Path(os.environ["KILLED_ONCE"]) / "killed"
    first = not marker.exists()
    w.comm.barrier()
    if first and w.rank == 1:
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        answer = flights.query_on(w)
    except vo.CollectiveFault as e:
        sys.stdout.write(f"rank {{w.rank}} heard of {{list(e.ranks)}}\\n")
    else:
        assert answer == flights.answer()
        # One write: launchers mix what the ranks of an unbuffered Python write in pieces.
        sys.stdout.write(f"rank {{w.rank}} of {{w.size}} generation {{w.generation}}\\n")
        w.comm.barrier()
    sys.stdout.flush()
"""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMI"))}
    return kept | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | more


def ran(command: list[str], **more: str) -> list[str]:
    p = subprocess.run(command, env=environment(**more), capture_output=True, text=True, check=False, timeout=120)
    assert p.returncode == 0, p.stdout + p.stderr
    return sorted(line for line in p.stdout.splitlines() if line.startswith("rank"))


def both(generation: int = 1) -> list[str]:
    return [f"rank {r} of 2 generation {generation}" for r in range(2)]


# The launchers of MPI, each with the library that belongs to it: engines.sh says where MPICH is. MPICH's kills the ranks that are left when the first has ended,
# unless it is told to let them live.
LAUNCHERS = {"openmpi": (["mpirun", "--oversubscribe"], {})}
if "MPICH" in os.environ:
    LAUNCHERS["mpich"] = (
        [f"{os.environ['MPICH']}/bin/mpiexec", "-disable-auto-cleanup", "-bind-to", "none"], {"VOLLEY_MPI_LIBRARY": f"{os.environ['MPICH']}/lib/libmpi.so.12"}
    )  # fmt: skip


# What lets the other ranks live when one dies. MPICH's launcher ends them, at once or a moment later, whatever it is told.
RECOVERY: dict[str, list[str]] = {"openmpi": ["--enable-recovery"]}


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_mpirun(mpi: str) -> None:
    launcher, _ = LAUNCHERS[mpi]
    program = [sys.executable, "-c", BODY.format(here=HERE, engine="launched")]
    assert ran([*launcher, "-n", "2", *program]) == both()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_mpirun_again(mpi: str, tmp_path: Path) -> None:
    """A rank is killed. Under a launcher that lets the others live, they hear who it was; under one that ends them, the job ends; the next run finds the answer."""
    launcher, _ = LAUNCHERS[mpi]
    command = [*launcher, *RECOVERY.get(mpi, []), "-n", "2", sys.executable, "-c", KILLED.format(here=HERE)]
    p = subprocess.run(command, env=environment(KILLED_ONCE=str(tmp_path)), capture_output=True, text=True, check=False, timeout=120)
    assert "rank 0 heard of [1]" in p.stdout if mpi in RECOVERY else p.returncode != 0, p.stdout + p.stderr
    assert (tmp_path / "killed").exists() and " of 2 generation" not in p.stdout
    assert ran(command, KILLED_ONCE=str(tmp_path)) == both()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_mpi_by_name(mpi: str) -> None:
    """The MPI library carries the messages, and is ended with the process: the launcher sees no failure."""
    launcher, variables = LAUNCHERS[mpi]
    body = """
import sys
from array import array
import volley as vo
comm = vo.Comm(transport="mpi")
assert comm.transport == "mpi" and comm.size == 2
assert comm.allreduce(array("q", [comm.rank + 1]))[0] == 3
part = comm.split(0, key=-comm.rank)
assert part.allgather(array("q", [comm.rank])) == array("q", [1, 0])
sys.stdout.write(f"rank {comm.rank} of {comm.size}\\n")
"""
    assert ran([*launcher, "-n", "2", sys.executable, "-c", body], **variables) == ["rank 0 of 2", "rank 1 of 2"]


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_flights_on_ranks(mpi: str) -> None:
    """The ranks of a launcher join flights with airports, and find what one process finds."""
    program = [sys.executable, str(Path(HERE).parent / "flights_on_ranks.py")]
    assert ran([*LAUNCHERS[mpi][0], "-n", "2", *program]) == [f"rank {r} of 2 agrees" for r in range(2)]


def guide(tmp_path: Path) -> tuple[str, list[str]]:
    """The sample of docs/guide/tables.md as a program, and what rank 0 prints."""
    page = (Path(HERE).parents[2] / "docs" / "guide" / "tables.md").read_text(encoding="utf-8")
    code, said = re.findall(r"^```python\n(.*?)^```\n\nIt prints:\n\n```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    program = tmp_path / "states.py"
    program.write_text(code, encoding="utf-8")
    return str(program), said.splitlines()


def printed(command: list[str], **more: str) -> list[str]:
    p = subprocess.run(command, cwd=Path(HERE).parents[2], env=environment(**more), capture_output=True, text=True, check=False, timeout=120)
    assert p.returncode == 0, p.stdout + p.stderr
    return [line for line in p.stdout.splitlines() if line.removeprefix("[default0]:")]


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_tables_of_the_guide(mpi: str, tmp_path: Path) -> None:
    program, said = guide(tmp_path)
    assert printed([*LAUNCHERS[mpi][0], "-n", "2", sys.executable, program], OUT=str(tmp_path)) == said


def test_tables_of_the_guide_by_torchrun(tmp_path: Path) -> None:
    program, said = guide(tmp_path)
    # -r and -t: Debian's torchrun starts nothing without; both ranks' lines then say whose they are.
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "-r", "1", "-t", "1", "--log_dir", str(tmp_path / "log"), program]
    assert [line.removeprefix("[default0]:") for line in printed(command, OUT=str(tmp_path))] == said


def step(body: str, job: int, restarts: int = 0, **more: str) -> tuple[list[str], list[int]]:
    """What two tasks of a step print, by the variables that srun sets for them, and how they ended."""
    variables = {
        "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "localhost", "SLURM_NNODES": "1",
        "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_TASKS_PER_NODE": "2", "SLURM_NODEID": "0",
    } | more  # fmt: skip
    if restarts:
        variables["SLURM_RESTART_COUNT"] = str(restarts)
    tasks = [
        subprocess.Popen(
            [sys.executable, "-c", body], env=environment(**variables, SLURM_PROCID=str(r), SLURM_LOCALID=str(r)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for r in range(2)
    ]
    printed = [p.communicate(timeout=120)[0] for p in tasks]
    return printed, [p.returncode for p in tasks]


def test_slurm() -> None:
    """What srun sets for the tasks of a step, also of a job that was queued again."""
    for restarts in (0, 2):
        printed, ends = step(BODY.format(here=HERE, engine="launched"), 7100 + restarts, restarts)
        assert ends == [0, 0], printed
        assert sorted("".join(printed).splitlines()) == both(1 + restarts)


def test_slurm_starts_again(tmp_path: Path) -> None:
    """A task is killed: the other one hears who it was, and the job that Slurm queues again is the next generation."""
    body = KILLED.format(here=HERE)
    printed, ends = step(body, 7110, KILLED_ONCE=str(tmp_path))
    assert ends == [0, -signal.SIGKILL] and printed == ["rank 0 heard of [1]\n", ""], printed
    printed, ends = step(body, 7110, 1, KILLED_ONCE=str(tmp_path))
    assert ends == [0, 0], printed
    assert sorted("".join(printed).splitlines()) == both(2)


def torchrun(log: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "-r", "1", "-t", "1", "--log_dir", str(log), *options, "-m", "run_text"]
    return subprocess.run(command, env=environment(RUN_TEXT=body), cwd=HERE, capture_output=True, text=True, check=False, timeout=240)


def lines(p: subprocess.CompletedProcess[str]) -> list[str]:
    assert p.returncode == 0, p.stdout + p.stderr
    return sorted(re.findall(r"rank \d of \d generation \d", p.stdout))


def test_torchrun(tmp_path: Path) -> None:
    assert lines(torchrun(tmp_path, BODY.format(here=HERE, engine="torch"), "--standalone")) == both()
    beside = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
""" + BODY.format(here=HERE, engine="torch") + """
x = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(x)
assert x.item() == 3
with vo.Comm() as comm:
    import array
    assert comm.allreduce(array.array("q", [1]))[0] == 2
dist.destroy_process_group()
"""  # fmt: skip
    assert lines(torchrun(tmp_path, beside, "--master_addr=127.0.0.1", "--master_port=29517")) == both()


def test_torchrun_starts_again(tmp_path: Path) -> None:
    """A rank is killed: torchrun starts all again, which are the next generation; the survivor has heard who it was."""
    body = f"""
import os, signal, sys
from array import array
sys.path.insert(0, {HERE!r})
import flights
import volley as vo
import volley.engines.torch
with vo.engines.torch.enter() as w:
    if w.generation == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun ends this one as soon as it sees that the other has died
        w.comm.barrier()
        if w.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            w.comm.barrier()
        except vo.CollectiveFault as e:
            open({str(tmp_path / "fault")!r}, "w").write(repr(list(e.ranks)))
            raise
    assert flights.query_on(w) == flights.answer()
    # One write: launchers mix what the ranks of an unbuffered Python write in pieces.
    sys.stdout.write(f"rank {{w.rank}} of {{w.size}} generation {{w.generation}}\\n")
    sys.stdout.flush()
    w.comm.barrier()
"""
    assert lines(torchrun(tmp_path, body, "--standalone", "--max_restarts=2", "--monitor_interval=2")) == both(2)
    assert (tmp_path / "fault").read_text() == "[1]"
