"""Times CuPy and PyTorch beside volley, turn by turn, on arrays of the same sizes and shapes; called by run.sh.

In each round every group of operations runs once in volley and then once in each peer, so that what changes on the machine meanwhile hits all
alike. Data have the shape that `volley bench` makes: keys drawn evenly, values even in [0, 1). Every record is a line of JSON with the names
that volley uses, and the turn. `numpy` stands in for CuPy where there is no card, to show that this program works.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time

GROUPS = [
    ["columnar", "--ops", op]
    for op in "sum minmax filter_count cumsum filter_10 filter_50 groupby_100 groupby_1e5 groupby_unique sort sort_32 argsort_32".split()
] + [["gemm"], ["transfer"]]


class NumPyLike:
    """CuPy, or NumPy in its place: both have the same functions."""

    def __init__(self, name):
        self.name = name
        if name == "cupy":
            import cupy
            import numpy

            self.xp, self.host, self.version = cupy, numpy, cupy.__version__
            cupy.zeros(1).sum().item()
        else:
            import numpy

            self.xp, self.host, self.version = numpy, numpy, numpy.__version__

    def sync(self):
        if self.name == "cupy":
            self.xp.cuda.get_current_stream().synchronize()

    def free(self):
        if self.name == "cupy":
            self.xp.get_default_memory_pool().free_all_blocks()
            self.xp.get_default_pinned_memory_pool().free_all_blocks()

    def values(self, n):
        return self.xp.random.random(n)

    def keys(self, n, limit):
        return self.xp.random.permutation(n) if limit == 0 else self.xp.random.randint(0, limit, n)

    def keys32(self, n):
        return self.xp.random.randint(0, 1 << 32, n).astype(self.xp.uint32)

    def group(self, k, v):
        keys, at = self.xp.unique(k, return_inverse=True)
        return keys, self.xp.bincount(at, weights=v), self.xp.bincount(at)

    def sort(self, k):
        return self.xp.sort(k)

    def argsort(self, k):
        return self.xp.argsort(k)

    def cumsum(self, v):
        return self.xp.cumsum(v)

    def square(self, n, wide):
        return self.values(n * n).astype(self.xp.float64 if wide else self.xp.float32).reshape(n, n)

    def on_host(self, n, pinned):
        if not pinned or self.name != "cupy":
            return self.host.ones(n)
        memory = self.xp.cuda.alloc_pinned_memory(8 * n)
        array = self.host.frombuffer(memory, self.host.float64, n)
        array[:] = 1
        return array

    def up(self, there, here):
        there.set(here) if self.name == "cupy" else self.host.copyto(there, here)

    def down(self, here, there):
        there.get(out=here) if self.name == "cupy" else self.host.copyto(here, there)

    def copy(self, to, of):
        self.xp.copyto(to, of)


class Torch:
    """PyTorch."""

    name = "torch"

    def __init__(self):
        import torch

        self.t, self.version = torch, torch.__version__
        torch.backends.cuda.matmul.allow_tf32 = False  # float32 without tensor cores, as volley's
        torch.zeros(1, device="cuda").sum().item()

    def sync(self):
        self.t.cuda.synchronize()

    def free(self):
        self.t.cuda.empty_cache()

    def values(self, n):
        return self.t.rand(n, dtype=self.t.float64, device="cuda")

    def keys(self, n, limit):
        return self.t.randperm(n, device="cuda") if limit == 0 else self.t.randint(0, limit, (n,), device="cuda")

    def keys32(self, n):
        return self.t.randint(0, 1 << 31, (n,), dtype=self.t.int32, device="cuda")  # it sorts no unsigned ones

    def group(self, k, v):
        keys, at, counts = self.t.unique(k, return_inverse=True, return_counts=True)
        return keys, self.t.zeros(len(keys), dtype=v.dtype, device="cuda").index_add_(0, at, v), counts

    def sort(self, k):
        return self.t.sort(k)[0]

    def argsort(self, k):
        return self.t.argsort(k, stable=True)

    def cumsum(self, v):
        return self.t.cumsum(v, 0)

    def square(self, n, wide):
        return self.t.rand((n, n), dtype=self.t.float64 if wide else self.t.float32, device="cuda")

    def on_host(self, n, pinned):
        return self.t.ones(n, dtype=self.t.float64, pin_memory=pinned)

    def up(self, there, here):
        there.copy_(here, non_blocking=True)

    def down(self, here, there):
        here.copy_(there, non_blocking=True)

    def copy(self, to, of):
        to.copy_(of)


def job(e, op, n):
    """The function that does the operation once, its data made; None for what the peers do not do. n is volley's rows."""
    if op in ("sum", "minmax", "filter_count", "cumsum"):
        v = e.values(n)
        return {
            "sum": lambda: v.sum(),
            "minmax": lambda: (v.min(), v.max()),
            "filter_count": lambda: (v < 0.1).sum(),
            "cumsum": lambda: e.cumsum(v),
        }[op]
    if op in ("filter_10", "filter_50"):
        k, v, share = e.keys(n, 1000), e.values(n), int(op[7:]) / 100

        def kept():
            mask = v < share
            return k[mask], v[mask]

        return kept
    if op.startswith("groupby_"):
        k, v = e.keys(n, {"100": 100, "1e5": 100_000, "unique": 0}[op[8:]]), e.values(n)
        return lambda: e.group(k, v)
    if op == "sort":
        k, v = e.keys(n, 1 << 62), e.values(n)

        def rows():
            order = e.argsort(k)
            return k[order], v[order]

        return rows
    if op in ("sort_32", "argsort_32"):
        k = e.keys32(n)
        return lambda: e.sort(k) if op == "sort_32" else e.argsort(k)
    if m := re.fullmatch(r"gemm_f(32|64)_(\d+)", op):
        a, b = (e.square(int(m[2]), m[1] == "64") for _ in range(2))
        return lambda: a @ b
    if op == "device_copy":
        of, to = e.values(n), e.values(n)
        return lambda: e.copy(to, of)
    if m := re.fullmatch(r"(h2d|d2h)_(pageable|pinned)", op):
        here, there = e.on_host(n, m[2] == "pinned"), e.values(n)
        return (lambda: e.up(there, here)) if m[1] == "h2d" else (lambda: e.down(here, there))
    return None


def timed(e, op, n, runs):
    """Seconds of each run after a warm-up; the end of the device's work counted in, as it is for volley."""
    run = job(e, op, n)
    if run is None:
        return None
    seconds = []
    for i in range(runs + 1):
        e.sync()
        start = time.perf_counter()
        result = run()
        e.sync()
        if i > 0:
            seconds.append(time.perf_counter() - start)
        del result
    del run
    e.free()
    return seconds


def ours(a, group):
    """The records of volley for one group; a record of another suite's name is the copy that limits are held against."""
    command = [a.volley, "bench", group[0], "--json", "--device", a.device, "--runs", str(a.runs), "--rows", str(a.rows), *group[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return [r for r in map(json.loads, done.stdout.splitlines()) if "op" in r]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--probe", help="only load this engine")
    p.add_argument("--volley")
    p.add_argument("--device")
    p.add_argument("--rows", type=float)
    p.add_argument("--runs", type=int)
    p.add_argument("--rounds", type=int)
    p.add_argument("--ops", default="", help="operations of columnar, all when empty")
    p.add_argument("--limit", type=float, help="seconds for all")
    p.add_argument("--out")
    p.add_argument("engines", nargs="*")
    a = p.parse_args()
    load = lambda name: Torch() if name == "torch" else NumPyLike(name)
    if a.probe:
        load(a.probe)
        return
    a.rows = int(a.rows)
    end = time.monotonic() + a.limit
    groups = [g for g in GROUPS if g[0] != "columnar" or not a.ops or g[2] in a.ops.split(",")]
    engines = [load(name) for name in a.engines]
    with open(a.out, "w") as out:

        def write(record, turn):
            out.write(json.dumps({**record, "turn": turn}) + "\n")
            out.flush()

        for turn in range(a.rounds):
            for group in groups:
                if time.monotonic() > end:
                    sys.exit(f"--limit of {a.limit:g} s is over before {' '.join(group)}")
                seen = {}
                for r in ours(a, group):
                    write(r, turn)
                    if group[0] != "columnar" or r["op"] != "device_copy":  # once, with the other transfers
                        seen[r["op"]] = r
                for op, r in seen.items():
                    for e in engines:
                        seconds = timed(e, op, a.rows, a.runs)
                        if seconds is None:
                            continue
                        same = {k: r[k] for k in ("suite", "op", "device", "model", "driver", "rows", "bytes") if k in r}
                        write({**same, "engine": e.name, "version": e.version, "runs": a.runs,
                               "median_s": statistics.median(seconds), "min_s": min(seconds)}, turn)
                        print(turn, op, e.name, statistics.median(seconds), flush=True)


main()
