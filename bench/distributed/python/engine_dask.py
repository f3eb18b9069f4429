"""Dask's data frames on a cluster of processes with a thread each; results are persisted on the workers."""

import dask
import dask.dataframe as dd
import pyarrow as pa
from distributed import Client, LocalCluster, wait


class Engine:
    version = dask.__version__

    def __init__(self, threads):
        self.cluster = LocalCluster(n_workers=threads, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0)
        self.client = Client(self.cluster)
        self.parts = 4 * threads

    def load(self, left, right):
        self.left, self.right = (self.kept(dd.read_parquet(files)) for files in (left, right))

    @staticmethod
    def kept(frame):
        made = frame.persist()
        wait(made)
        return made

    def run(self, op):
        return self.kept(getattr(self, op)())

    def join(self):
        return self.left.merge(self.right, on="k")

    def group(self):
        return self.left.groupby("k").agg(total=("a", "sum"), n=("a", "count"), split_out=self.parts).reset_index()

    def group_few(self):
        return self.left.groupby("a").agg(total=("k", "sum"), n=("k", "count")).reset_index()

    def sort(self):
        return self.left.sort_values(["k", "a"])

    def distinct(self):
        return self.left[["k"]].drop_duplicates(split_out=self.parts)

    @staticmethod
    def table(frame):
        return pa.Table.from_pandas(frame.compute(), preserve_index=False)

    def close(self):
        self.client.close()
        self.cluster.close()
