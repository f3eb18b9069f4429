"""One engine behind a pipe: takes commands as lines of JSON on standard input and answers each with one line.

    python worker.py ENGINE THREADS

    make    writes a set of data into a folder, by data.py: rows and columns of made numbers, or data, a file or folder whose numbers are taken, or
            flights, the folder that has flights and airports. Answers rows and columns.
    load    opens the data: folder, batch, op ("memory"; "parquet", batches of the file in its order; "parquet-shuffled"). Answers lacks if it cannot.
    check   runs an epoch and holds each batch against the data. Answers wrong, "" where every row came exactly once.
    epoch   runs an epoch; answers its seconds, and by how much memory has grown since load that is neither the data's file nor in its stead.
    first   opens the loader anew; answers the seconds until there is a batch.
    unload  closes the loader and forgets the data.

A command that fails is answered with error. The end of standard input ends the process.
"""

import gc
import json
import os
import sys
import time


def resident(table):
    """Bytes of resident memory that are no file's, and those of the table's file as long as it is mapped: an engine that gives it back and keeps
    the data in its own memory has grown by nothing."""
    with open("/proc/self/status") as f:
        anonymous = next(int(line.split()[1]) << 10 for line in f if line.startswith("RssAnon:"))
    with open("/proc/self/maps") as f:
        mapped = any(line.rstrip().endswith(table) for line in f)
    return anonymous + (os.path.getsize(table) if mapped else 0)


class Data:
    """The data of a folder: matrix() is one of float32, in the pages of its file; table() and parquet are the same as Arrow has them."""

    def __init__(self, folder, batch, op):
        self.file, self.arrow, self.parquet = (os.path.join(folder, name) for name in ("rows.npy", "table.arrow", "table.parquet"))
        self.batch, self.op = batch, op
        self.rows = len(self.matrix())

    def matrix(self):
        import numpy as np

        return np.load(self.file, mmap_mode="c")

    def table(self):
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(self.arrow)).read_all()


class Worker:
    def __init__(self, engine, threads):
        import engines

        self.engine = engines.ENGINES[engine](threads)

    def make(self, c):
        import data

        return data.make(c)

    def load(self, c):
        self.data = Data(c["folder"], c["batch"], c["op"])
        if c["op"] not in self.engine.ops:
            return {"lacks": self.engine.why}
        self.engine.load(self.data)
        gc.collect()
        self.before = resident(self.data.arrow)
        self.engine.open()
        return {}

    def first(self, c):
        gc.collect()
        start = time.perf_counter()
        self.engine.open()
        epoch = self.engine.epoch()
        x = next(epoch)
        seconds = time.perf_counter() - start
        del x
        epoch.close()
        self.engine.open()
        return {"seconds": seconds}

    def unload(self, c):
        self.engine.unload()
        self.data = None
        gc.collect()
        return {}

    def check(self, c):
        import numpy as np

        seen, x_of = np.zeros(self.data.rows, np.int64), self.data.matrix()
        for x in self.engine.epoch():
            a = self.engine.array(x)
            if a.dtype != np.float32 or not a.flags.c_contiguous:
                return {"wrong": f"a batch is of {a.dtype}, contiguous: {a.flags.c_contiguous}"}
            rows = a[:, 0].astype(np.int64)
            if not (a == x_of[rows]).all():
                return {"wrong": "a batch has other values than its rows"}
            np.add.at(seen, rows, 1)
            del x, a
        if (seen != 1).any():
            at = int(np.flatnonzero(seen != 1)[0])
            return {"wrong": f"row {at} came {int(seen[at])} times"}
        return {"wrong": ""}

    def epoch(self, c):
        gc.collect()
        rows = 0
        start = time.perf_counter()
        for x in self.engine.epoch():
            rows += x.shape[0]
            del x
        seconds = time.perf_counter() - start
        if rows != self.data.rows:
            raise ValueError(f"{rows} rows of {self.data.rows} in an epoch")
        return {"seconds": seconds, "growth": max(0, resident(self.data.arrow) - self.before)}


def main(engine, threads):
    # Libraries may print; the pipe is kept for answers.
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.environ.update(OMP_NUM_THREADS=threads, TF_CPP_MIN_LOG_LEVEL="2", GOMAXPROCS=threads)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        worker = Worker(engine, int(threads))
    except Exception as e:
        print(json.dumps({"error": f"{type(e).__name__}: {e}"}), file=pipe)
        return
    print(json.dumps({"version": worker.engine.version}), file=pipe)
    for line in sys.stdin:
        try:
            c = json.loads(line)
            if c["do"] not in ("make", "load", "check", "epoch", "first", "unload"):
                raise ValueError(f"unknown command {c['do']}")
            answer = getattr(worker, c["do"])(c)
        except Exception as e:  # any failure of a library is an answer, not the end
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=pipe)


if __name__ == "__main__":
    main(*sys.argv[1:])
