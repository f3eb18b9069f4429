"""A process ends when its program does, whatever of the library's is still there: objects in globals, work in threads, loaders, requests."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

BEGIN = """
import sys, threading, time
import numpy as np, pyarrow as pa, volley as vo

def beside(work):
    # A thread that the end of the program does not wait for, in the middle of its work.
    begun = threading.Event()
    def run():
        begun.set()
        while True:
            work()
    threading.Thread(target=run, daemon=True).start()
    begun.wait()
    time.sleep(0.05)
"""

PROGRAMS = {
    "a list column": "t = vo.Table(pa.table({'l': [[1, 2], None, [3]] * 100, 'k': [1, 2, 3] * 100}))\nq = t.lazy().filter('k > 1')\nsys.keep = [t, q, q.collect(), t['l']]",
    "lists of lists": "sys.keep = vo.Column([[[1], []], None, [[2]]])",
    "tables over lists and arrays": "sys.keep = [vo.Table({'a': [1, 2], 'b': ['x', None]}), vo.Table({'a': np.arange(10)}), vo.Matrix(np.ones((2, 2)))]",
    "unpickled": "import pickle\nsys.keep = pickle.loads(pickle.dumps([vo.Table({'a': [1, 2], 'b': ['x', None]}), vo.Column([[1]])]))",
    "queries in a thread": "t = vo.Table({'k': np.arange(200_000) % 1000})\nbeside(lambda: t.group_by('k').agg(vo.col('k').sum()).sort('k'))",
    "a stream that is read": "t = vo.Table({'k': np.arange(200_000)})\nr = pa.RecordBatchReader.from_stream(t.lazy().filter('k > 5'))\nr.read_next_batch()\nsys.keep = r",
    "a loader": "l = vo.Loader(vo.Table({'x': np.arange(10_000.0)}), 4, shuffle=True)\nsys.keep = [l, l.next(), l.next()]",
    "a loader in a thread": "l = vo.Loader(vo.Table({'x': np.arange(10_000.0)}), 4, shuffle=True).numpy()\nbeside(l.next)",
    "progress": "t = vo.Table({'k': np.arange(100_000)})\ndef work():\n    with vo.progress(lambda p: None, interval=0.001):\n        t.sort('k')\nbeside(work)",
    "requests": "c = vo.Comm()\nf = c.fusion()\nsys.keep = [c, f, c.allreduce_async(np.ones(4)), f.allreduce(np.ones(4))]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_ends(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEGIN + PROGRAMS[name] + "\nprint('the end', flush=True)"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "the end\n"), done.stderr[-3000:]


RANK = """
import sys
import numpy as np, volley as vo
c = vo.Comm(f"file://{sys.argv[2]}", int(sys.argv[1]), 2)
c.barrier()
if c.rank == 0:
    started = [c.allreduce_async(np.ones(100_000)), c.allreduce_async(np.ones(4))]
else:
    sys.stdin.read()  # and calls nothing meanwhile
print("the end", flush=True)
"""


def test_a_process_does_not_wait_for_ranks_that_never_come(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o700)
    args = [str(tmp_path / "meeting")]
    with subprocess.Popen([sys.executable, "-c", RANK, "1", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as other:
        try:
            done = subprocess.run([sys.executable, "-c", RANK, "0", *args], capture_output=True, text=True, timeout=120)
            assert (done.returncode, done.stdout) == (0, "the end\n") and other.poll() is None, done.stderr[-3000:]
            out, err = other.communicate("", timeout=120)
            assert (other.returncode, out) == (0, "the end\n"), err[-3000:]
        finally:
            other.kill()


def test_a_hook_that_forbids_imports_stops_nothing() -> None:
    text = (
        "import sys\n"
        "class Forbids:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tensorflow':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Forbids())\n"
        "import volley as vo\n"
        "print(vo.Table({'x': [1, 2]})['x'].to_numpy().sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
