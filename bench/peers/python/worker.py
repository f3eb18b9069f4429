"""One peer behind a pipe: takes commands as lines of JSON on standard input and answers each with one line.

    python worker.py ENGINE THREADS

Commands, told by "do":

    load     lays an operation's inputs out as the peer likes them best: op, inputs (name -> path of an Arrow file), file (the file that
             the operation reads, if any), mmap (whether inputs stay in the file's pages). Answers ways, the peer's ways to run it, each
             with whether the rows come in the order that the operation promises; or lacks, the reason why the peer cannot.
    write    writes a table as a file: kind (snappy, zstd, csv), from (path of an Arrow file), path.
    check    runs one way once; answers the seconds, the fingerprint of the result, and its bytes.
    measure  loads an operation's inputs as load does, for the nth way alone, and runs that once; the first command of a process. Answers
             the way, of how many, the rows of the result, and the resident memory before the load, with the input in place, and at most.
    keep     runs one way once and writes the array it gives as an Arrow file: path. Answers the seconds.
    run      runs one way again and again for atleast seconds, at most `most` times; answers the seconds of each, and of CPU in all.
    unload   gives the inputs back.

An answer comes when the process rests. A command that fails is answered with error. The end of standard input ends the process.
"""

import gc
import importlib
import json
import os
import sys
import time

from process import at_rest, resident, rest


def threads_of(n):
    """Tells every library how many threads to use; before any is imported."""
    for name in ("OMP", "OPENBLAS", "MKL", "POLARS_MAX", "RAYON", "NUMEXPR", "ARROW_IO", "NUMBA"):
        os.environ[name + ("_NUM_THREADS" if name in ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMBA") else "_THREADS")] = str(n)
    os.environ["NUMEXPR_NUM_THREADS"] = str(n)


class Worker:
    """The state between two commands."""

    def __init__(self, engine, threads):
        import pyarrow as pa

        pa.set_cpu_count(threads)
        pa.set_io_thread_count(threads)
        self.pa = pa
        self.engine = importlib.import_module("engine_" + engine).Engine(threads)
        self.ways = {}

    def read(self, path, mmap):
        source = self.pa.memory_map(path) if mmap else self.pa.OSFile(path)
        return self.pa.ipc.open_file(source).read_all()

    def load(self, c):
        self.unload(c)
        op = c["op"]
        if op in self.engine.lacks:
            return {"lacks": self.engine.lacks[op]}
        inputs = {name: self.read(path, c["mmap"]) for name, path in c.get("inputs", {}).items()}
        self.ways = self.engine.load(op, inputs, c.get("file"))
        if not self.ways:
            return {"lacks": "no way known"}
        return {"ways": [{"name": n, "ordered": n not in self.engine.unordered.get(op, ())} for n in self.ways]}

    def write(self, c):
        table = self.read(c["from"], False)
        if c["kind"] == "csv":
            import pyarrow.csv

            pyarrow.csv.write_csv(table, c["path"])
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, c["path"], compression=c["kind"])
        return {}

    def check(self, c):
        import fingerprint

        f = self.ways[c["way"]]
        gc.collect()
        start = time.perf_counter()
        result = f()
        seconds = time.perf_counter() - start
        return {"seconds": [seconds], **fingerprint.of(result, c["columns"], c["order"])}

    def measure(self, c):
        start = at_rest()
        answer = self.load(c)
        if "lacks" in answer:
            return answer
        names = list(self.ways)
        name = names[c["nth"]]
        f = self.ways[name]
        self.ways = {}
        self.engine.only(c["op"], name)
        before = at_rest()
        result = f()
        peak = resident("VmHWM")
        rows = result.num_rows
        return {"way": name, "of": len(names), "rows": rows, "start_rss_bytes": start, "input_rss_bytes": before, "peak_rss_bytes": peak}

    def keep(self, c):
        start = time.perf_counter()
        result = self.ways[c["way"]]()
        seconds = time.perf_counter() - start
        table = self.pa.table({"x": result.ravel()})
        with self.pa.OSFile(c["path"], "wb") as f, self.pa.ipc.new_file(f, table.schema) as w:
            w.write_table(table)
        return {"seconds": [seconds]}

    def run(self, c):
        f, most, atleast, seconds = self.ways[c["way"]], c["most"], c["atleast"], []
        gc.collect()
        gc.disable()
        cpu, start = time.process_time(), time.perf_counter()
        while True:
            t = time.perf_counter()
            result = f()
            seconds.append(time.perf_counter() - t)
            del result
            wall = time.perf_counter() - start
            if len(seconds) >= most or wall >= atleast:
                break
        cpu = time.process_time() - cpu
        gc.enable()
        return {"seconds": seconds, "cpu": cpu, "wall": wall}

    def unload(self, c):
        self.ways = {}
        self.engine.unload()
        gc.collect()
        return {}


def main(engine, threads):
    # Libraries may print; the pipe is kept for answers.
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threads_of(int(threads))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        worker = Worker(engine, int(threads))
    except ImportError as e:
        print(json.dumps({"error": f"{type(e).__name__}: {e}"}), file=pipe)
        return
    print(json.dumps({"version": worker.engine.version}), file=pipe)
    for line in sys.stdin:
        try:
            c = json.loads(line)
            if c["do"] not in ("load", "write", "check", "measure", "keep", "run", "unload"):
                raise ValueError(f"unknown command {c['do']}")
            answer = getattr(worker, c["do"])(c)
            rest()
        except Exception as e:  # any failure of a library is an answer, not the end
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=pipe)


if __name__ == "__main__":
    main(*sys.argv[1:])
