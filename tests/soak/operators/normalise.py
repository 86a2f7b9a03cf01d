# SPDX-License-Identifier: MIT
"""Normalisations."""
import numpy


def per_channel(v, x):
    return v.reshape([1, -1] + [1] * (x.ndim - 2))


def normalised(x, axes, epsilon):
    mean = x.mean(axis=axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + epsilon), mean, 1 / numpy.sqrt(variance + epsilon)


def batch(a, x, scale, bias, mean, variance):
    scale, bias, mean, variance = (per_channel(v, x) for v in (scale, bias, mean, variance))
    return (x - mean) / numpy.sqrt(variance + a.get("epsilon", 1e-5)) * scale + bias


def layer(a, x, scale, bias=None):
    axes = tuple(range(a.get("axis", -1) % x.ndim, x.ndim))
    y, mean, inverse = normalised(x, axes, a.get("epsilon", 1e-5))
    return y * scale + (0 if bias is None else bias), mean, inverse


def instance(a, x, scale, bias):
    y = normalised(x, tuple(range(2, x.ndim)), a.get("epsilon", 1e-5))[0]
    return y * per_channel(scale, x) + per_channel(bias, x)


def lp(a, x):
    axis = a.get("axis", -1)
    size = abs(x).sum(axis=axis, keepdims=True) if a.get("p", 2) == 1 else numpy.sqrt((x * x).sum(axis=axis, keepdims=True))
    return x / size


def lrn(a, x):
    size, channels = a["size"], x.shape[1]
    squares = numpy.zeros_like(x)
    for c in range(channels):
        low, high = max(0, c - (size - 1) // 2), min(channels - 1, c + size // 2)
        squares[:, c] = (x[:, low:high + 1] ** 2).sum(axis=1)
    return x / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * squares) ** a.get("beta", 0.75)


def mean_variance(a, x):
    axes = tuple(a.get("axes", [0, 2, 3]))
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / (numpy.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True)) + 1e-9)


FUNCTIONS = {"BatchNormalization": batch, "LayerNormalization": layer, "InstanceNormalization": instance, "LpNormalization": lp,
             "LRN": lrn, "MeanVarianceNormalization": mean_variance}
