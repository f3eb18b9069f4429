"""Modin on a Dask cluster of processes with a thread each; results stay in its partitions."""

import modin
import modin.config
import pyarrow as pa
from distributed import Client, LocalCluster


class Engine:
    version = modin.__version__

    def __init__(self, threads):
        self.cluster = LocalCluster(n_workers=threads, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0)
        self.client = Client(self.cluster)
        modin.config.Engine.put("Dask")
        modin.config.NPartitions.put(threads)
        import modin.pandas as pd
        from modin.utils import execute

        self.pd, self.execute = pd, execute

    def load(self, left, right):
        self.left, self.right = (self.pd.concat([self.pd.read_parquet(f) for f in files], ignore_index=True) for files in (left, right))
        self.execute(self.left, self.right)

    def run(self, op):
        made = getattr(self, op)()
        self.execute(made)
        return made

    def join(self):
        return self.left.merge(self.right, on="k")

    def group(self):
        return self.left.groupby("k", as_index=False).agg(total=("a", "sum"), n=("a", "count"))

    def group_few(self):
        return self.left.groupby("a", as_index=False).agg(total=("k", "sum"), n=("k", "count"))

    def sort(self):
        return self.left.sort_values(["k", "a"])

    def distinct(self):
        return self.left[["k"]].drop_duplicates()

    @staticmethod
    def table(frame):
        return pa.Table.from_pandas(frame.modin.to_pandas(), preserve_index=False)

    def close(self):
        self.client.close()
        self.cluster.close()
