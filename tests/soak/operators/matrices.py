# SPDX-License-Identifier: MIT
"""Products of matrices."""
import numpy


def gemm(a, x, w, c=None):
    x = x.T if a.get("transA") else x
    w = w.T if a.get("transB") else w
    y = a.get("alpha", 1.0) * (x @ w)
    return y if c is None else y + a.get("beta", 1.0) * c


FUNCTIONS = {
    "Gemm": gemm,
    "MatMul": lambda a, x, y: numpy.matmul(x, y),
    "Einsum": lambda a, *x: numpy.einsum(a["equation"].replace(" ", ""), *x),
}
