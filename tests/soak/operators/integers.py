# SPDX-License-Identifier: MIT
"""Quantised operators: sums in exact integers, scales in float32 as the model has them, rounded half to even."""
import numpy

from operators import windows

F = numpy.float32


def along(v, x, axis):
    """A scale or zero point of one element, or of one for each index of the axis."""
    v = numpy.asarray(v)
    if v.size == 1:
        return v.reshape(())
    shape = [1] * x.ndim
    shape[axis] = -1
    return v.reshape(shape)


def saturate(q, dtype):
    limits = numpy.iinfo(dtype)
    return numpy.clip(q, limits.min, limits.max).astype(dtype)


def zero(z, dtype="int64"):
    return numpy.int64(0) if z is None else numpy.asarray(z).astype("int64")


def quantize(a, x, scale, z=None):
    dtype = "uint8" if z is None else z.dtype
    axis = a.get("axis", 1)
    q = numpy.rint(F(x) / along(F(scale), x, axis)).astype("float64")
    return saturate(q + along(zero(z), x, axis), dtype)


def dequantize(a, x, scale, z=None):
    axis = a.get("axis", 1)
    return (F(x.astype("int64") - along(zero(z), x, axis)) * along(F(scale), x, axis)).astype("float64")


def requantize(acc, factor, z):
    """acc * factor in float32, rounded, as bytes of z's type."""
    return saturate(numpy.rint(F(acc) * factor).astype("float64") + z.astype("int64"), z.dtype)


def wrap(acc):
    return acc.astype("int64").astype("int32")


def integer_conv(a, x, w, xz=None, wz=None):
    wz = along(zero(wz), w, 0)
    return wrap(windows.conv(a, x.astype("int64") - zero(xz), w.astype("int64") - wz))


def q_conv(a, x, xs, xz, w, ws, wz, ys, yz, bias=None):
    acc = integer_conv(a, x, w, xz, wz).astype("int64")
    acc = wrap(acc if bias is None else acc + bias.astype("int64").reshape([1, -1] + [1] * (x.ndim - 2)))
    factor = F(xs) * along(F(ws), acc, 1) / F(ys)
    return requantize(acc, factor, yz)


def integer_matmul(a, x, w, xz=None, wz=None):
    """x's zero point may be one for each row, w's one for each column."""
    xz, wz = zero(xz), zero(wz)
    xz = xz.reshape(-1, 1) if xz.size > 1 else xz.reshape(())
    return wrap(numpy.matmul(x.astype("int64") - xz, w.astype("int64") - (wz if wz.size > 1 else wz.reshape(()))))


def q_matmul(a, x, xs, xz, w, ws, wz, ys, yz):
    acc = integer_matmul(a, x, w, xz, wz)
    return requantize(acc, F(xs) * (F(ws) if numpy.size(ws) > 1 else F(ws).reshape(())) / F(ys), yz)


def dynamic(a, x):
    x = F(x)
    low, high = min(F(0), x.min()), max(F(0), x.max())
    scale = F(high - low) / F(255)
    z = saturate(numpy.rint(F(0) - low / scale), "uint8")
    return saturate(numpy.rint(x / scale).astype("float64") + int(z), "uint8"), numpy.float64(scale), z


FUNCTIONS = {"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "ConvInteger": integer_conv, "QLinearConv": q_conv,
             "MatMulInteger": integer_matmul, "QLinearMatMul": q_matmul, "DynamicQuantizeLinear": dynamic}
