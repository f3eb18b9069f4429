"""What the library holds of Python's comes back at once, and an interpreter that ends is not called any more."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from typing import Any

import pytest

import volley as vo

np = pytest.importorskip("numpy")


def run(program: str) -> str:
    """What a program of its own prints, which must end well."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    assert done.stderr == ""
    return done.stdout


KEPT = {
    "a table of lists": "vo.Table({'x': [1.0, 2.0], 's': ['a', None]})",
    "a column of an array": "vo.Column(np.arange(1000))",
    "a column of a tensor": "vo.Column(Tensor(np.arange(10)))",
    "a matrix": "vo.Matrix(np.ones((3, 4)))",
    "a query": "vo.Table({'x': [1.0]}).filter('x > 0')",
    "a stream's capsule": "vo.Table({'x': [1.0]}).__arrow_c_stream__()",
    "an array's capsules": "vo.Column(np.arange(3)).__arrow_c_array__()",
    "device arrays": "vo.Column([1.0]).__arrow_c_device_array__()",
    "tensors": "[vo.Column(np.arange(3)).__dlpack__(max_version=v) for v in (None, (1, 0))]",
    "tensors that are copies": "[vo.Column([True, False]).__dlpack__(max_version=v) for v in (None, (1, 0))]",
    "an array over a column": "np.from_dlpack(vo.Column(np.arange(100)))",
    "a stream over an iterator": "vo.loader_batches._Producer(iter([vo.Table({'x': [1.0]})])).capsule()",
    "a loader": "vo.Loader(vo.Table({'x': [1.0, 2.0], 'b': [b'1', b'2']}), 1, decode={'b': (lambda v, to: None, 'uint8', 1)})",
    "a loader over a function": "vo.Loader(lambda: iter([vo.Table({'x': [1.0, 2.0]})]), 1, rows=2)",
    "a batch": "next(iter(vo.Loader(vo.Table({'x': [1.0, 2.0]}), 1)))",
}


@pytest.mark.parametrize("where", ["sys", "globals", "a cycle", "another thread"])
def test_what_is_kept_until_the_interpreter_ends(where: str) -> None:
    keep = {
        "sys": "sys.kept = [made() for made in all.values()]",
        "globals": "globals().update((f'g{i}', made()) for i, made in enumerate(all.values()))",
        "a cycle": "cycle = [made() for made in all.values()]; cycle.append(cycle); sys.kept = cycle",
        "another thread": "sys.kept = []; t = threading.Thread(target=lambda: sys.kept.extend(made() for made in all.values())); t.start(); t.join()",
    }[where]
    rows = "".join(f"    {name!r}: lambda: {made},\n" for name, made in KEPT.items())
    run(f"""
import sys, threading
import numpy as np
import volley as vo
import volley.loader_batches
class Tensor:
    def __init__(self, a): self.a = a
    def __dlpack__(self, **options): return self.a.__dlpack__()
    def __dlpack_device__(self): return self.a.__dlpack_device__()
all = {{
{rows}}}
{keep}
""")


def test_threads_that_go_on_while_the_interpreter_ends() -> None:
    """Daemon threads in the midst of calls, of functions of the program's, and of giving memory back."""
    for _ in range(3):
        assert run("""
            import threading, time
            import numpy as np
            import volley as vo
            def doubled(out, x):
                out[:] = 2 * x
            vo.register("doubled", ["int64", "int64"], doubled)
            begun = threading.Barrier(4)
            def functions():
                t = vo.Table({"x": np.arange(100_000)})
                begun.wait()
                while True:
                    vo.Column(t.select(y=vo.function("doubled", vo.col("x")))["y"])
            def columns():
                begun.wait()
                while True:
                    vo.Column(np.arange(1000)).__dlpack__()
            def streams():
                begun.wait()
                while True:
                    with vo.Loader(lambda: iter([vo.Table({"x": [float(i)]}) for i in range(10)]), 2, rows=10, epochs=1) as loader:
                        for _ in loader: pass
            def until_the_end(work):
                try:
                    work()
                except (vo.Canceled, vo.Closed):
                    pass
            for work in (functions, columns, streams):
                threading.Thread(target=until_the_end, args=[work], daemon=True).start()
            begun.wait()
            time.sleep(0.05)
            print("answer")
        """) == "answer\n"


def watched(n: int = 1000) -> tuple[Any, weakref.ref[Any]]:
    class Array(np.ndarray):  # type: ignore[type-arg, misc]
        pass

    a = np.arange(n).view(Array)
    return a, weakref.ref(a)


def test_memory_comes_back_at_once() -> None:
    a, seen = watched()
    c = vo.Column(a)
    del a
    gc.collect()
    assert seen() is not None
    c.close()
    assert seen() is None
    a, seen = watched()
    array = np.from_dlpack(vo.Column(a))
    del a
    gc.collect()
    assert seen() is not None
    del array
    for _ in range(10):  # what a foreign release gave back goes when the interpreter looks next
        pass
    assert seen() is None


def test_threads_give_back_while_the_main_one_waits() -> None:
    most = 0

    def work() -> None:
        nonlocal most
        seen = []
        for _ in range(50):
            a, ref = watched(100)
            seen.append(ref)
            vo.Column(a).close()
            del a
            most = max(most, sum(r() is not None for r in seen))

    t = threading.Thread(target=work)
    t.start()
    t.join()
    assert most <= 1


def test_capsules_leave_a_pending_exception_as_it_is() -> None:
    pa = pytest.importorskip("pyarrow")
    t = vo.Table({"x": [1.0, 2.0]})
    other = pa.schema([("y", pa.int64())])
    for capsules in (t.__arrow_c_stream__, lambda: vo.Column([1]).__dlpack__(), lambda: vo.Column([True]).__dlpack__(max_version=(1, 0)), vo.Column([1]).__arrow_c_array__,
                     lambda: Stream(iter([t])).capsule(), vo.Column([1]).__arrow_c_device_array__):  # fmt: skip

        def dies_of(made: Any = capsules) -> None:
            held = made()  # noqa: F841 - it goes while the exception passes
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            dies_of()
        # C code that fails drops its references while its exception is pending.
        with pytest.raises(ZeroDivisionError):
            list(map(lambda held: 1 // 0, [capsules()]))
    for _ in range(3):
        with pytest.raises((pa.ArrowInvalid, ValueError, TypeError)) as failed:
            pa.table(t, schema=other)
        assert not isinstance(failed.value, SystemError)


def Stream(items: Any) -> Any:
    """A stream of Arrow's over an iterator, which is Python's."""
    from volley.loader_batches import _Producer

    return _Producer(items)
