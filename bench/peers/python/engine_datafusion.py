"""DataFusion over Arrow batches in memory, divided into as many partitions as there are threads."""

import datafusion
import numpy as np
import pyarrow as pa

import sql


class Engine:
    lacks = {}
    # Partitions are gathered as they are done, where nothing orders them.
    unordered = {op: ("sql",) for op in ("cumsum", "expr", "bitmap_and", "csv", "parquet_snappy", "parquet_zstd")}

    def __init__(self, threads):
        self.version = datafusion.__version__
        self.threads = threads
        self.unload()

    def load(self, op, inputs, file):
        if file:
            read = self.context.read_csv if op == "csv" else self.context.read_parquet
            return {"sql": lambda: read(file).to_arrow_table()}
        for name, table in inputs.items():
            if op in ("argsort", "cumsum"):
                table = table.append_column("row", pa.array(np.arange(len(table), dtype=np.uint32)))
            batches = table.to_batches(max_chunksize=8192)
            part = -(-len(batches) // self.threads)
            self.context.register_record_batches(name, [batches[i : i + part] for i in range(0, len(batches), part)])
        text = sql.OPERATIONS[op].format(**{n: n for n in inputs})
        if op == "cumsum":  # batches reach a window without an order as they are done
            text = text.replace("(ROWS", "(ORDER BY row ROWS")
        return {"sql": lambda: self.context.sql(text).to_arrow_table()}

    def only(self, op, way):
        pass

    def unload(self):
        config = datafusion.SessionConfig().with_target_partitions(self.threads)
        self.context = datafusion.SessionContext(config)
