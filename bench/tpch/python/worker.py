"""One peer behind a pipe: takes commands as lines of JSON on standard input and answers each with one line.

    python worker.py ENGINE THREADS

Commands, told by "do":

    load    makes the tables of a folder of Parquet files ready: in memory, or where files is set as files that each query reads.
    answer  runs a query once and writes its rows as a CSV file with a header: query, path. Answers the seconds.
    measure makes the tables ready as load does and runs a query once: folder, files, query. Answers the resident memory with the tables in place,
            and at most.
    run     runs a query again and again for atleast seconds, at most `most` times; answers the seconds of each, of CPU and in all.

An answer comes when the process rests. A command that fails is answered with error. The end of standard input ends the process.
"""

import gc
import importlib
import json
import os
import sys
import time

from process import at_rest, resident, rest


class Worker:
    def __init__(self, engine, threads):
        self.engine = importlib.import_module("engine_" + engine).Engine(threads)

    def load(self, c):
        self.engine.load(c["folder"], c["files"])
        return {}

    def answer(self, c):
        start = time.perf_counter()
        result = self.engine.run(c["query"])
        seconds = time.perf_counter() - start
        self.engine.write(result, c["path"])
        return {"seconds": [seconds]}

    def measure(self, c):
        self.engine.load(c["folder"], c["files"])
        self.engine.settle()
        before = at_rest()
        result = self.engine.run(c["query"])
        peak = resident("VmHWM")
        del result
        return {"input_rss_bytes": before, "peak_rss_bytes": peak}

    def run(self, c):
        gc.collect()
        gc.disable()
        seconds, cpu, start = [], time.process_time(), time.perf_counter()
        while True:
            begin = time.perf_counter()
            result = self.engine.run(c["query"])
            seconds.append(time.perf_counter() - begin)
            del result
            wall = time.perf_counter() - start
            if len(seconds) >= c["most"] or wall >= c["atleast"]:
                break
        cpu = time.process_time() - cpu
        gc.enable()
        return {"seconds": seconds, "cpu": cpu, "wall": wall}


def main(engine, threads):
    # Libraries may print; the pipe is kept for answers.
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.environ["POLARS_MAX_THREADS"] = os.environ["RAYON_NUM_THREADS"] = threads
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
            if c["do"] not in ("load", "answer", "measure", "run"):
                raise ValueError(f"unknown command {c['do']}")
            answer = getattr(worker, c["do"])(c)
            rest()
        except Exception as e:  # any failure of a library is an answer, not the end
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=pipe)


if __name__ == "__main__":
    main(*sys.argv[1:])
