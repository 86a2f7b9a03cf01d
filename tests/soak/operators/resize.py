# SPDX-License-Identifier: MIT
"""Resize in its common modes: axis after axis, one weighted sum for each element of the result."""
import math

import numpy

CUBIC = -0.75


def source(mode, i, scale, n, m):
    if mode == "half_pixel":
        return (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if m > 1 else 0.0
    if mode == "align_corners":
        return i * (n - 1) / (m - 1) if m > 1 else 0.0
    return i / scale # asymmetric


def nearest(mode, at):
    if mode == "round_prefer_floor":
        return math.ceil(at - 0.5)
    if mode == "round_prefer_ceil":
        return math.floor(at + 0.5)
    return math.floor(at) if mode == "floor" else math.ceil(at)


def cubic(t, c):
    t = abs(t)
    if t <= 1:
        return (c + 2) * t ** 3 - (c + 3) * t ** 2 + 1
    return c * t ** 3 - 5 * c * t ** 2 + 8 * c * t - 4 * c if t < 2 else 0.0


def weights(a, n, m, scale):
    """The matrix (m,n) that brings an axis of n elements to m."""
    w = numpy.zeros((m, n))
    how = a.get("coordinate_transformation_mode", "half_pixel")
    for i in range(m):
        at = source(how, i, scale, n, m)
        mode = a.get("mode", "nearest")
        if mode == "nearest":
            taps = [(nearest(a.get("nearest_mode", "round_prefer_floor"), at), 1.0)]
        elif mode == "linear":
            low = math.floor(at)
            taps = [(low, 1 - (at - low)), (low + 1, at - low)]
        else:
            low = math.floor(at)
            taps = [(low + k, cubic(at - low - k, a.get("cubic_coeff_a", CUBIC))) for k in (-1, 0, 1, 2)]
        for k, share in taps:
            w[i, min(max(k, 0), n - 1)] += share
    return w


def resize(a, x, roi=None, scales=None, sizes=None):
    if sizes is not None and numpy.size(sizes):
        shape = [int(v) for v in sizes]
        scales = [m / n for m, n in zip(shape, x.shape)]
    else:
        scales = [float(v) for v in scales]
        shape = [math.floor(n * s) for n, s in zip(x.shape, scales)]
    for axis, (m, scale) in enumerate(zip(shape, scales)):
        if scale != 1:
            x = numpy.moveaxis(numpy.tensordot(weights(a, x.shape[axis], m, scale), x, (1, axis)), 0, axis)
    return x


FUNCTIONS = {"Resize": resize}
