# SPDX-License-Identifier: MIT
"""The steps of graphs that carry integers themselves: quantised operators, and DequantizeLinear, operator, QuantizeLinear."""
import numpy

from graph import Unfit


class Quantised:
    """An integer value with the names of its scale and zero point."""

    def __init__(self, name, scale, zero):
        self.name, self.scale, self.zero = name, scale, zero


class Integers:
    """The graph, and what is in 8 bits of it."""

    def __init__(self, graph, dice):
        self.graph, self.dice, self.pool = graph, dice, []
        self.exact = True   # no float is rounded to an integer anywhere
        self.function = False # Sigmoid or Tanh, which the machines have from a table

    def dtype(self):
        return self.dice.choice(["uint8", "int8"])

    def parameters(self, low, high, dtype):
        """Scale and zero point for a range, as an exporter would choose them."""
        low, high = min(0.0, low), max(0.0, high, 1e-3)
        scale = numpy.float32((high - low) / 255)
        first = numpy.iinfo(dtype).min
        zero = numpy.clip(numpy.rint(-low / scale) + first, first, first + 255)
        return self.graph.constant(numpy.float64(scale)), self.graph.constant(numpy.array(zero, dtype))

    def input(self, *shape):
        dtype = self.dtype()
        limits = numpy.iinfo(dtype)
        name = self.graph.input(self.dice.integers(*shape, low=limits.min, high=limits.max, dtype=dtype))
        scale = self.graph.constant(self.dice.uniform(0.01, 0.1))
        zero = self.graph.constant(numpy.array(self.dice.int(limits.min // 2, limits.max // 2), dtype))
        self.pool.append(Quantised(name, scale, zero))

    def value(self, rank=None):
        fit = [q for q in self.pool if rank is None or self.graph.values[q.name].ndim == rank]
        if not fit:
            raise Unfit("rank")
        return self.dice.choice(fit[-3:] if self.dice.chance(0.7) else fit)

    def shape(self, q):
        return self.graph.values[q.name].shape

    def real(self, q):
        """What the integers mean."""
        g = self.graph
        return g.values[g.add("DequantizeLinear", [q.name, q.scale, q.zero])]

    def range_of(self, op, inputs, **attributes):
        """The range of a float operator's result, for its scale: tried, and taken back."""
        mark = self.graph.mark()
        y = self.graph.values[self.graph.add(op, inputs, **attributes)]
        self.graph.back(mark)
        return float(y.min()), float(y.max())

    def bytes(self, *shape, low=-127, high=127, dtype="int8"):
        return self.graph.constant(self.dice.integers(*shape, low=low, high=high, dtype=dtype))

    def scales(self, n):
        """One for each channel, or one for all."""
        return self.graph.constant(self.dice.array.uniform(0.002, 0.02, n if self.dice.chance(0.6) else ()))

    def dequantized(self, q):
        return self.graph.add("DequantizeLinear", [q.name, q.scale, q.zero])

    def quantize(self, name, scale=None, zero=None):
        """Back to 8 bits, with a scale of its own unless one is given."""
        self.exact = False
        y = self.graph.values[name]
        if scale is None:
            scale, zero = self.parameters(float(y.min()), float(y.max()), self.dtype())
        made = self.graph.add("QuantizeLinear", [name, scale, zero])
        self.pool.append(Quantised(made, scale, zero))


def window(m, d, q):
    spatial = m.shape(q)[2:]
    kernel = [d.int(1, min(3, n)) for n in spatial]
    how = {"strides": [d.int(1, 2) for _ in spatial]}
    if d.chance(0.6):
        how["pads"] = [d.int(0, k - 1) for k in kernel] * 2
    return kernel, how


def zeros_like(m, scale):
    return m.graph.constant(numpy.zeros(m.graph.values[scale].shape, "int8"))


def weighted(m, d):
    """An image, and what a convolution of it is made of."""
    q = m.value(rank=4)
    channels = m.shape(q)[1]
    kernel, how = window(m, d, q)
    groups = d.choice([1, 1, channels])
    maps = groups * d.int(1, 3)
    return q, m.bytes(maps, channels // groups, *kernel), m.scales(maps), groups, maps, how


def q_conv(m, d):
    q, w, ws, groups, maps, how = weighted(m, d)
    wz = zeros_like(m, ws)
    bias = [m.graph.constant(d.integers(maps, low=-900, high=900, dtype="int32"))] if d.chance(0.6) else []
    real = m.dequantized(q), m.graph.add("DequantizeLinear", [w, ws, wz], axis=0)
    low, high = m.range_of("Conv", real, group=groups, **how)
    for _ in range(2):
        m.graph.nodes.pop() # those two were for the range alone
    ys, yz = m.parameters(low, high, m.dtype())
    y = m.graph.add("QLinearConv", [q.name, q.scale, q.zero, w, ws, wz, ys, yz, *bias], group=groups, **how)
    m.pool.append(Quantised(y, ys, yz))


def q_matmul(m, d):
    q = m.value()
    k = m.shape(q)[-1]
    n = d.int(1, 6)
    w, ws = m.bytes(k, n), m.graph.constant(d.uniform(0.002, 0.02))
    wz = m.graph.constant(numpy.array(d.choice([0, 0, 3]), "int8"))
    reach = float(abs(m.real(q)).max()) * float(m.graph.values[ws]) * 127 * k ** 0.5
    m.graph.nodes.pop()
    ys, yz = m.parameters(-reach / 2, reach / 2, m.dtype())
    y = m.graph.add("QLinearMatMul", [q.name, q.scale, q.zero, w, ws, wz, ys, yz])
    m.pool.append(Quantised(y, ys, yz))


def sums(m, d):
    """Raw 32-bit sums; they end there, or go on as floats."""
    if d.chance(0.5):
        q = m.value(rank=4)
        kernel, how = window(m, d, q)
        y = m.graph.add("ConvInteger", [q.name, m.bytes(d.int(1, 3), m.shape(q)[1], *kernel), q.zero], **how)
    else:
        q = m.value()
        y = m.graph.add("MatMulInteger", [q.name, m.bytes(m.shape(q)[-1], d.int(1, 5)), q.zero], fit=False)
    if d.chance(0.5):
        floats = m.graph.add("Cast", [y], to=1, fit=False)
        m.quantize(m.graph.add("Mul", [floats, m.graph.constant(d.uniform(1e-4, 1e-3))]))


def max_pool(m, d):
    q = m.value(rank=4)
    kernel, how = window(m, d, q)
    y = m.graph.add("MaxPool", [q.name], kernel_shape=kernel, **how)
    m.pool.append(Quantised(y, q.scale, q.zero))


def conv(m, d):
    q, w, ws, groups, maps, how = weighted(m, d)
    weights = m.graph.add("DequantizeLinear", [w, ws, zeros_like(m, ws)], axis=0)
    inputs = [m.dequantized(q), weights]
    if d.chance(0.6):
        scale = m.graph.values[q.scale].astype("float32") * m.graph.values[ws].astype("float32")
        scale = m.graph.constant(scale.astype("float64"))
        bias = m.graph.constant(d.integers(maps, low=-900, high=900, dtype="int32"))
        inputs.append(m.graph.add("DequantizeLinear", [bias, scale], axis=0))
    y = m.graph.add("Conv", inputs, group=groups, **how)
    m.quantize(m.graph.add("Relu", [y]) if d.chance(0.4) else y)


def matmul(m, d):
    q = m.value(rank=2)
    n = d.int(1, 6)
    w, ws = m.bytes(m.shape(q)[1], n), m.scales(n)
    weights = m.graph.add("DequantizeLinear", [w, ws, zeros_like(m, ws)], axis=1)
    y = m.graph.add("MatMul", [m.dequantized(q), weights])
    m.quantize(m.graph.add("Relu", [y]) if d.chance(0.4) else y)


def pair(m, d):
    """Add or Mul of two values, or of a value and a constant of the same shape."""
    q = m.value()
    others = [o for o in m.pool if m.shape(o) == m.shape(q)]
    if d.chance(0.4):
        constant = m.bytes(*m.shape(q), low=-128)
        other = Quantised(constant, m.graph.constant(d.uniform(0.01, 0.1)), m.graph.constant(numpy.array(d.int(-40, 40), "int8")))
    else:
        other = d.choice(others)
    m.quantize(m.graph.add(d.choice(["Add", "Mul"]), [m.dequantized(q), m.dequantized(other)]))


def same_scale(m, d):
    """What only moves or picks values, between the same scale."""
    q = m.value()
    x = m.dequantized(q)
    rank = len(m.shape(q))
    if rank == 4 and d.chance(0.6):
        kernel, how = window(m, d, q)
        op = d.choice(["MaxPool", "AveragePool"])
        y = m.graph.add(op, [x], kernel_shape=kernel, **how)
    elif rank == 4:
        y = m.graph.add("Flatten", [x])
    else:
        y = m.graph.add("Relu", [x])
    m.quantize(y, q.scale, q.zero)


def function(m, d):
    m.function = True
    op = d.choice(["Sigmoid", "Tanh"])
    y = m.graph.add(op, [m.dequantized(m.value())])
    zero = m.dtype()
    first = numpy.iinfo(zero).min
    scale, at = (1 / 256, first) if op == "Sigmoid" else (1 / 128, first + 128)
    m.quantize(y, m.graph.constant(scale), m.graph.constant(numpy.array(at, zero)))


def concat(m, d):
    q = m.value()
    shape = m.shape(q)
    if len(shape) < 2:
        raise Unfit("rank")
    others = [o for o in m.pool if len(m.shape(o)) == len(shape) and m.shape(o)[:1] + m.shape(o)[2:] == shape[:1] + shape[2:]]
    m.quantize(m.graph.add("Concat", [m.dequantized(q), m.dequantized(d.choice(others))], axis=1))


NATIVE = [q_conv, q_conv, q_conv, q_matmul, q_matmul, max_pool]
QDQ = [conv, conv, matmul, pair, pair, same_scale, function, concat]
ENDS = [sums]
