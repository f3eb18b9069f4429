"""One peer behind a pipe: takes commands as lines of JSON on standard input and answers each with one line.

    python worker.py ENGINE THREADS

Commands, told by "do":

    load    has both sides of a folder in memory: the files left-*.parquet with columns k and a, and right-*.parquet with k and b.
    answer  runs an operation once and writes its rows, in their order, as one Parquet file of int64 columns: op, path.
    run     runs an operation again and again for atleast seconds, at most `most` times; answers the seconds of each.

The operations are join (k, a, b), group (k, total, n), group_few (a, total, n), sort (k, a) and distinct (k). One is over when the engine has the result in its own
memory. A command that fails is answered with error. The end of standard input ends the process, and what it started.
"""

import gc
import glob
import importlib
import json
import os
import sys
import time

COLUMNS = {"join": ["k", "a", "b"], "group": ["k", "total", "n"], "group_few": ["a", "total", "n"], "sort": ["k", "a"], "distinct": ["k"]}


class Worker:
    def __init__(self, engine, threads):
        self.engine = importlib.import_module("engine_" + engine).Engine(threads)

    def load(self, c):
        left, right = (sorted(glob.glob(os.path.join(c["folder"], side + "-*.parquet"))) for side in ("left", "right"))
        self.engine.load(left, right)
        return {}

    def answer(self, c):
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = COLUMNS[c["op"]]
        result = self.engine.table(self.engine.run(c["op"])).select(names)
        pq.write_table(result.cast(pa.schema([(n, pa.int64()) for n in names])), c["path"])
        return {}

    def run(self, c):
        gc.collect()
        seconds, start = [], time.perf_counter()
        while True:
            begin = time.perf_counter()
            result = self.engine.run(c["op"])
            seconds.append(time.perf_counter() - begin)
            del result
            if len(seconds) >= c["most"] or time.perf_counter() - start >= c["atleast"]:
                return {"seconds": seconds}


def main(engine, threads):
    # Libraries may print; the pipe is kept for answers.
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        worker = Worker(engine, int(threads))
    except Exception as e:  # what is not installed, or does not start, is an answer
        print(json.dumps({"error": f"{type(e).__name__}: {e}"}), file=pipe)
        return
    print(json.dumps({"version": worker.engine.version}), file=pipe)
    for line in sys.stdin:
        try:
            c = json.loads(line)
            if c["do"] not in ("load", "answer", "run"):
                raise ValueError(f"unknown command {c['do']}")
            answer = getattr(worker, c["do"])(c)
        except Exception as e:  # any failure of a library is an answer, not the end
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=pipe)
    worker.engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
