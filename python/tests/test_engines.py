"""What the engines' adaptors have in common, without an engine: machines, processors, and what is refused before anybody waits."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

import volley as vo
from volley.engines import _machines, parsl, torch

HOST = r"""
import os, socket, sys
socket.gethostbyname = lambda name: "127.0.1.1"  # Debian's usual answer for a machine's own name
import volley as vo
from volley.engines import launched
rank, meeting, machine = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if machine:
    launched.machine = lambda: f"{machine} of rank {rank}"
def threads():
    return next(d.units for d in vo.devices() if d.kind == "cpu")
units = [threads()]
with vo.Comm(meeting, rank, 2) as comm, launched.enter(comm) as w:
    units.append(threads())
    at = w._start.invitation(0).partition("//")[2].partition("?")[0].rpartition(":")[0] if w._start else ""
    w.comm.barrier()
print(rank, at, *units, threads())
"""


def ranks(meeting: Path, machine: str, **more: str) -> list[list[str]]:
    """What two ranks print."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | more
    tasks = [
        subprocess.Popen([sys.executable, "-c", HOST, str(r), f"file://{meeting}", machine], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for r in range(2)
    ]
    printed = [p.communicate(timeout=120)[0] for p in tasks]
    assert [p.returncode for p in tasks] == [0, 0], printed
    return [text.split(" ") for text in printed]


def outer() -> str:
    """This machine's address on the way to others, empty where it knows none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.77", 9))  # sends nothing
        except OSError:
            return ""
        return str(s.getsockname()[0])


def test_one_machine(tmp_path: Path) -> None:
    """The start stays on the loopback device, and the ranks, which nobody has bound, share the processors while they are there."""
    zero, one = ranks(tmp_path / "meet", "", VOLLEY_THREADS="")
    before = int(zero[2])
    assert zero == ["0", "127.0.0.1", str(before), str(max(1, before // 2)), f"{before}\n"]
    assert one[2:] == zero[2:]


def test_several_machines(tmp_path: Path) -> None:
    """The start listens where other machines come, whatever the resolver says of this one's name; and threads that were asked for are what loops take."""
    zero, one = ranks(tmp_path / "meet", "machine", VOLLEY_THREADS="1")
    assert zero[1] != "127.0.1.1"
    assert zero[1].startswith("127.") == (outer() == ""), zero
    assert zero[2:] == one[2:] == ["1", "1", "1\n"]


def test_the_interface_can_be_named(tmp_path: Path) -> None:
    zero, _ = ranks(tmp_path / "meet", "machine", VOLLEY_SOCKET_IFNAME="=lo")
    assert zero[1] == "127.0.0.1"


def test_machines() -> None:
    assert _machines.machine({"VOLLEY_MACHINE": "rack 7"}) == "rack 7"
    own = _machines.machine({})
    assert own == _machines.machine({}) and socket.gethostname() in own
    given = _machines.mark("a") + _machines.mark("b") + _machines.mark("a")
    assert isinstance(given, array) and len(given) == 6
    a, b, again = _machines.marks(given)
    assert a == again != b
    assert _machines.host_for([a, again]) == _machines.host_for(["one"]) == "127.0.0.1"
    assert _machines.host_for([a, b]) == "*"


@pytest.mark.parametrize("port", ["0", "", "65536", "http", "-1"])
def test_a_port_where_nobody_can_meet(port: str) -> None:
    """Port 0 would be another one on rank 0, which the others would wait for."""
    with pytest.raises(vo.Unavailable, match="MASTER_PORT"):
        torch._meeting({"MASTER_ADDR": "here", "MASTER_PORT": port})
    assert torch._meeting({"MASTER_ADDR": "here", "MASTER_PORT": "29500"}) == ("here", 29500)


class LocalProvider:
    worker_init = ""


class Executor:
    def __init__(self, command: str, provider: object) -> None:
        self.launch_cmd, self.provider = command, provider


class Kernel:
    def __init__(self, **executors: object) -> None:
        self.executors = executors


def test_parsls_programs_are_not_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is said at once, and only of what starts on this machine with this process's PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    pool, ready = "process_worker_pool.py --debug", LocalProvider()
    kernel = Kernel(htex=Executor(pool, LocalProvider()), _parsl_internal=object())
    with pytest.raises(vo.Unavailable, match="executor htex.*process_worker_pool.py is not on PATH"):
        parsl._startable(kernel, "all")
    with pytest.raises(vo.Unavailable, match="executor htex"):
        parsl._startable(kernel, ["htex"])
    parsl._startable(kernel, ["other"])
    ready.worker_init = "source venv/bin/activate"
    parsl._startable(Kernel(a=Executor(pool, ready), b=Executor(pool, object()), c=Executor(f"source x; {pool}", LocalProvider())), "all")
    program = tmp_path / "process_worker_pool.py"
    program.touch(mode=0o755)
    parsl._startable(kernel, "all")
