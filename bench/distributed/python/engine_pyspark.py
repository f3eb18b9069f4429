"""Spark in local mode; inputs are cached, results are written to nowhere, which makes all of their rows."""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


class Engine:
    version = pyspark.__version__

    def __init__(self, threads):
        self.session = (
            SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false").config("spark.driver.memory", "6g")
            .config("spark.driver.maxResultSize", "0").config("spark.sql.shuffle.partitions", str(2 * threads)).config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1").getOrCreate()
        )  # fmt: skip

    def load(self, left, right):
        self.left, self.right = (self.session.read.parquet(*files).cache() for files in (left, right))
        self.left.count(), self.right.count()

    def run(self, op):
        made = getattr(self, op)()
        made.write.format("noop").mode("overwrite").save()
        return made

    def join(self):
        return self.left.join(self.right, "k")

    def group(self):
        return self.left.groupBy("k").agg(f.sum("a").alias("total"), f.count("a").alias("n"))

    def group_few(self):
        return self.left.groupBy("a").agg(f.sum("k").alias("total"), f.count("k").alias("n"))

    def sort(self):
        return self.left.sort("k", "a")

    def distinct(self):
        return self.left.select("k").distinct()

    @staticmethod
    def table(frame):
        return frame.toArrow()

    def close(self):
        self.session.stop()
