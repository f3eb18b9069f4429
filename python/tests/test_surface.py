"""Every public call of the package with what it does not take, after close, and from threads at once: an error that names the call, and never the end of the
process. The calls are those that the package has, so that a new one is tried as it comes; see surface.py."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
import surface


def run(what: str, folder: pathlib.Path, device: str = "cpu") -> str:
    """What surface.py finds, in a process of its own: it may end."""
    script = pathlib.Path(surface.__file__)
    done = subprocess.run([sys.executable, str(script), what, str(folder), device], capture_output=True, text=True, errors="replace", timeout=250)
    last = (folder / "last").read_text() if (folder / "last").exists() else "nothing"
    assert done.returncode == 0, f"the process ended with {done.returncode} in {last}:\n{done.stderr[-3000:]}"
    return (folder / "found").read_text()


@pytest.mark.parametrize("what", ["wrong", "after_close", "together"])
def test_every_call(what: str, tmp_path: pathlib.Path) -> None:
    found = run(what, tmp_path)
    assert not found, found[:5000]


def test_the_calls_are_those_of_the_package() -> None:
    names = {c.name for c in surface.calls()}
    assert {"Table", "Table.filter", "Table.columns", "Column.slice", "Comm.allreduce", "Loader.next", "scan_csv", "Expr.is_in", "Table.__getitem__"} <= names
    assert len(names) > 250
    assert surface.complaint(surface.Call("Table.filter", object, "filter", ()), AttributeError("x")) and surface.complaint(
        surface.Call("Table.filter", object, "filter", ()), TypeError("x")
    )
