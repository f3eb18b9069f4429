"""The OpenBLAS that NumPy brings along."""

import numpy as np

import blas


class Engine:
    lacks = {}
    unordered = {}

    def __init__(self, threads):
        config = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        if "openblas" not in config["name"]:
            raise RuntimeError(f"NumPy multiplies by {config['name']}, not OpenBLAS")
        self.version = config["version"]

    def load(self, op, inputs, file):
        a, b, c = blas.matrices(op, inputs)
        return {"matmul": lambda: np.matmul(a, b, out=c)}

    def unload(self):
        pass
