"""Ray Data on this machine; results are materialised in Ray's object store."""

import pyarrow as pa
import pyarrow.parquet as pq
import ray
import ray.data
from ray.data.aggregate import Count, Sum


class Engine:
    version = ray.__version__

    def __init__(self, threads):
        ray.init(num_cpus=threads, include_dashboard=False, log_to_driver=False, logging_level="error")
        ray.data.DataContext.get_current().enable_progress_bars = False
        self.parts = 2 * threads

    def load(self, left, right):
        self.left, self.right = (ray.data.from_arrow([pq.read_table(f) for f in files]).materialize() for files in (left, right))

    def run(self, op):
        return getattr(self, op)().materialize()

    def join(self):
        return self.left.join(self.right, join_type="inner", num_partitions=self.parts, on=("k",))

    def group(self):
        return self.left.groupby("k").aggregate(Sum("a", alias_name="total"), Count(alias_name="n"))

    def group_few(self):
        return self.left.groupby("a").aggregate(Sum("k", alias_name="total"), Count(alias_name="n"))

    def sort(self):
        return self.left.sort(["k", "a"])

    def distinct(self):
        return self.left.groupby("k").aggregate(Count(alias_name="n"))

    @staticmethod
    def table(dataset):
        blocks = [b for b in ray.get(dataset.to_arrow_refs()) if b.num_rows]
        return pa.concat_tables(b.replace_schema_metadata(None) for b in blocks)

    def close(self):
        ray.shutdown()
