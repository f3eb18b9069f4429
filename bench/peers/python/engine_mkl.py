"""Intel's MKL from its wheel, called through its C interface: no PyTorch is needed, which would bring the same library in 3 GB."""

import ctypes
import glob
import importlib.metadata
import os
import sys

import blas
import numpy as np

ROWS, PLAIN = 101, 111


class Engine:
    lacks = {}
    unordered = {}

    def __init__(self, threads):
        found = sorted(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")))
        if not found:
            raise ImportError(f"libmkl_rt is not in {sys.prefix}/lib")
        self.library = ctypes.CDLL(found[-1])
        self.library.MKL_Set_Num_Threads(ctypes.c_int(threads))
        self.version = importlib.metadata.version("mkl")

    def load(self, op, inputs, file):
        a, b, c = blas.matrices(op, inputs)
        (m, k), n = a.shape, b.shape[1]
        single = a.dtype == np.float32
        number = ctypes.c_float if single else ctypes.c_double
        f = self.library.cblas_sgemm if single else self.library.cblas_dgemm
        f.restype = None
        i, p = ctypes.c_int, ctypes.c_void_p
        f.argtypes = [i, i, i, i, i, i, number, p, i, p, i, number, p, i]

        def product():
            f(ROWS, PLAIN, PLAIN, m, n, k, 1, a.ctypes.data, k, b.ctypes.data, n, 0, c.ctypes.data, n)
            return c

        return {"cblas": product}

    def unload(self):
        pass
