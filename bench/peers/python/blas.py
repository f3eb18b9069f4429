"""Products of matrices for the engines openblas and mkl: C = A B of rows that follow one another, C written in place."""

import re

import numpy as np


def shape(op):
    """The sizes m, n, k of gemm_f32_MxNxK, and the type."""
    width, m, n, k = re.fullmatch(r"gemm_f(32|64)_(\d+)x(\d+)x(\d+)", op).groups()
    return int(m), int(n), int(k), np.float32 if width == "32" else np.float64


def matrices(op, inputs):
    m, n, k, of = shape(op)

    def array(name, rows, columns):  # aligned as the library itself would have it
        a = np.empty((rows, columns), of)
        a[:] = inputs[name]["x"].to_numpy().reshape(rows, columns)
        return a

    return array("a", m, k), array("b", k, n), np.empty((m, n), of)
