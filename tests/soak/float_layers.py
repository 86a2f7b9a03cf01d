# SPDX-License-Identifier: MIT
"""The steps that move elements, look through windows, normalise, recur and resize (see float_steps.py)."""
import numpy

from graph import Unfit


def slices(m, d):
    x = m.value(least=1)
    shape = m.shape(x)
    axes = d.random.sample(range(len(shape)), d.int(1, len(shape)))
    reach = [-2 ** 31, 2 ** 31 - 1, 2 ** 63 - 1]
    starts, ends, steps = [], [], []
    for axis in axes:
        n = shape[axis]
        steps.append(d.choice([1, 1, 2, -1, -2, 3]))
        starts.append(d.int(-n - 3, n + 2) if d.chance(0.9) else d.choice(reach))
        ends.append(d.int(-n - 3, n + 2) if d.chance(0.8) else d.choice(reach))
    axes = [a - len(shape) if d.chance(0.3) else a for a in axes]
    m.add("Slice", [x, m.ints(*starts), m.ints(*ends), m.ints(*axes), m.ints(*steps)])


def split(m, d):
    x = m.value(least=1)
    axis = m.axis(x)
    n = m.shape(x)[axis]
    if n < 2:
        raise Unfit("Split")
    if m.graph.opset >= 18 and d.chance(0.4):
        parts = d.int(2, min(n, 3))
        each = -(-n // parts)
        if each * (parts - 1) >= n:
            raise Unfit("Split")
        m.add("Split", [x], outputs=parts, axis=axis, num_outputs=parts)
    else:
        at = d.int(1, n - 1)
        m.add("Split", [x, m.ints(at, n - at)], outputs=2, axis=axis)


def concat(m, d):
    x = m.value(least=1)
    axis = m.axis(x)
    others = [n for n in m.pool if m.graph.values[n].dtype.kind == "f" and len(m.shape(n)) == len(m.shape(x)) and
              all(a == b for k, (a, b) in enumerate(zip(m.shape(n), m.shape(x))) if k != axis % len(m.shape(x)))]
    m.add("Concat", [x] + [d.choice(others) for _ in range(d.int(1, 2))], axis=axis)


def shaped(m, d):
    x = m.value()
    shape, size = m.shape(x), m.graph.values[x].size
    way = d.int(0, 4)
    if way == 0:
        parts = [n for n in range(1, size + 1) if size % n == 0]
        a = d.choice(parts)
        m.add("Reshape", [x, m.ints(*d.choice([(a, -1), (-1, a), (1, a, -1), (-1,), (a, size // a, 1)]))])
    elif way == 1 and len(shape) >= 2:
        m.add("Flatten", [x], axis=d.int(0, len(shape)))
    elif way == 2 and len(shape) < 5:
        m.add("Unsqueeze", [x, m.ints(d.int(-len(shape) - 1, len(shape)))])
    elif way == 3 and 1 in shape:
        m.add("Squeeze", [x, m.ints(shape.index(1))])
    else:
        order = list(range(len(shape)))
        d.random.shuffle(order)
        m.add("Transpose", [x], **({"perm": order} if order else {}))


def gather(m, d):
    x = m.value(least=1)
    axis = m.axis(x)
    shape, n = m.shape(x), m.shape(x)[axis]
    if d.chance(0.6):
        index = d.integers(*d.choice([(), (2,), (3,), (2, 2)]), low=-n, high=n - 1)
        m.add("Gather", [x, m.graph.constant(index)], axis=axis)
    elif d.chance(0.5):
        m.add("GatherElements", [x, m.graph.constant(d.integers(*shape, low=-n, high=n - 1))], axis=axis)
    else:
        index = numpy.stack([d.integers(2, 3, low=0, high=v - 1) for v in shape[:d.int(1, len(shape))]], axis=-1)
        m.add("GatherND", [x, m.graph.constant(index)])


def scatter(m, d):
    x = m.value(least=1)
    shape = m.shape(x)
    if d.chance(0.5):
        axis = m.axis(x)
        index = numpy.argsort(d.floats(*shape), axis=axis).astype("int64") # no place twice
        m.add("ScatterElements", [x, m.graph.constant(index), m.weights(*shape)], axis=axis)
    else:
        rows = d.random.sample(range(shape[0]), d.int(1, shape[0]))
        index = numpy.array(rows, "int64")[:, None]
        m.add("ScatterND", [x, m.graph.constant(index), m.weights(len(rows), *shape[1:])])


def repeat(m, d):
    x = m.value(least=1)
    shape = m.shape(x)
    if d.chance(0.5):
        m.add("Tile", [x, m.ints(*(d.int(1, 2) for _ in shape))])
    else:
        m.add("Expand", [x, m.ints(*d.choice([(2,) + shape, shape, (1,) * len(shape)]))])


def pad(m, d):
    x = m.value(least=1)
    mode = d.choice(["constant", "constant", "edge", "reflect"])
    shape = m.shape(x)
    most = min(shape) - 1 if mode == "reflect" else 2
    pads = [d.int(0, min(2, most)) for _ in range(2 * len(shape))]
    inputs = [x, m.ints(*pads)] + ([m.graph.constant(0.75)] if mode == "constant" and d.chance(0.5) else [])
    m.add("Pad", inputs, mode=mode)


def triangle(m, d):
    m.add("Trilu", [m.value(least=2), m.graph.constant(numpy.array(d.int(-2, 2), "int64"))], upper=d.int(0, 1))


def reverse(m, d):
    x = m.value(least=2)
    steps, batch = m.shape(x)[:2]
    m.add("ReverseSequence", [x, m.graph.constant(d.integers(batch, low=1, high=steps))], time_axis=0, batch_axis=1)


def made(m, d):
    """From shapes and indices: constants once the shapes are known."""
    x = m.value(least=1)
    way = d.int(0, 3)
    if way == 0:
        m.add("EyeLike", [m.value(rank=2)], k=d.int(-1, 1))
    elif way == 1:
        shape = m.graph.add("Shape", [x])
        zeros = m.graph.add("ConstantOfShape", [shape])
        m.add("Add", [x, zeros])
    elif way == 2:
        m.add("Reshape", [x, m.graph.add("Shape", [x])])
    else:
        size = m.graph.add("Cast", [m.graph.add("Size", [x])], to=1)
        m.add("Div", [x, size])


def bytes_of(m, d):
    """Floats as bytes with the scale of their own range, and back."""
    q, scale, zero = m.graph.add("DynamicQuantizeLinear", [m.value(least=1)], outputs=3)
    m.add("DequantizeLinear", [q, scale, zero])


def blocks(m, d):
    x = m.value(rank=4)
    n, c, h, w = m.shape(x)
    if h % 2 == 0 and w % 2 == 0:
        m.add("SpaceToDepth", [x], blocksize=2)
    elif c % 4 == 0:
        m.add("DepthToSpace", [x], blocksize=2, mode=d.choice(["DCR", "CRD"]))
    else:
        raise Unfit("blocks")


def compress(m, d):
    x = m.value(least=1)
    axis = m.axis(x)
    condition = numpy.array([d.chance(0.6) for _ in range(m.shape(x)[axis])])
    condition[0] = True
    m.add("Compress", [x, m.graph.constant(condition)], axis=axis)


def one_hot(m, d):
    x = m.value(least=1)
    found = m.graph.add("ArgMax", [x], axis=-1, keepdims=0)
    m.add("OneHot", [found, m.ints(m.shape(x)[-1]), m.graph.constant(numpy.array([0.25, 1.5]))])


def window(m, d, x, pads=True):
    spatial = m.shape(x)[2:]
    kernel = [d.int(1, min(3, n)) for n in spatial]
    how = {"strides": [d.int(1, 2) for _ in spatial]}
    if pads and d.chance(0.5):
        how["pads"] = [d.int(0, k - 1) for k in kernel] + [d.int(0, k - 1) for k in kernel]
    return kernel, how


def conv(m, d):
    x = m.value(least=3, most=4)
    channels = m.shape(x)[1]
    kernel, how = window(m, d, x)
    groups = d.choice([g for g in (1, 1, 2, 3, channels) if channels % g == 0])
    maps = groups * d.int(1, 3)
    if "pads" not in how and d.chance(0.4):
        how["auto_pad"] = d.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif d.chance(0.3):
        how["dilations"] = [2 if (k - 1) * 2 + 1 <= n else 1 for k, n in zip(kernel, m.shape(x)[2:])]
    inputs = [x, m.weights(maps, channels // groups, *kernel)] + ([m.weights(maps)] if d.chance(0.6) else [])
    m.add("Conv", inputs, group=groups, **how)


def transposed(m, d):
    x = m.value(least=3, most=4)
    channels = m.shape(x)[1]
    kernel, how = window(m, d, x)
    groups = d.choice([g for g in (1, 2) if channels % g == 0])
    if max(how["strides"]) > 1 and d.chance(0.4):
        how["output_padding"] = [s - 1 for s in how["strides"]]
    each = d.int(1, 2)
    inputs = [x, m.weights(channels, each, *kernel)] + ([m.weights(each * groups)] if d.chance(0.5) else [])
    m.add("ConvTranspose", inputs, group=groups, **how)


def pool(m, d):
    x = m.value(least=3, most=4)
    op = d.choice(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
    if op.startswith("Global"):
        m.add(op, [x])
        return
    kernel, how = window(m, d, x)
    if op != "LpPool":
        how["ceil_mode"] = d.int(0, 1)
    if op == "AveragePool":
        how["count_include_pad"] = d.int(0, 1)
    m.add(op, [x], kernel_shape=kernel, **how)


def normalise(m, d):
    x = m.value(least=3, most=4)
    channels = m.shape(x)[1]
    op = d.choice(["BatchNormalization", "LRN", "InstanceNormalization", "LayerNormalization", "MeanVarianceNormalization"])
    one = [m.weights(channels), m.weights(channels)]
    if op == "BatchNormalization":
        m.add(op, [x, *one, m.weights(channels), m.graph.constant(d.floats(channels, low=0.5, high=2))])
    elif op == "LRN":
        m.add(op, [x], size=d.choice([1, 3, 5]), alpha=0.01, beta=0.75, bias=1.0)
    elif op == "InstanceNormalization":
        m.add(op, [x, *one], epsilon=0.01)
    elif op == "LayerNormalization":
        n = m.shape(x)[-1]
        m.add(op, [x, m.weights(n), m.weights(n)], epsilon=0.01)
    elif op == "MeanVarianceNormalization" and m.graph.values[x].ndim == 4:
        m.add(op, [x])
    else:
        raise Unfit(op)


def recurrent(m, d):
    x = m.value(rank=3)
    steps, batch, inputs = m.shape(x)
    op = d.choice(["RNN", "GRU", "LSTM"])
    gates, hidden, direction = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], d.int(1, 4), d.choice(["forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1
    given = [x, m.weights(n, gates * hidden, inputs), m.weights(n, gates * hidden, hidden)]
    given.append(m.weights(n, 2 * gates * hidden) if d.chance(0.6) else "")
    given.append(m.graph.constant(d.integers(batch, low=1, high=steps, dtype="int32")) if d.chance(0.3) else "")
    given.append(m.weights(n, batch, hidden) if d.chance(0.4) else "")
    how = {"linear_before_reset": d.int(0, 1)} if op == "GRU" else {}
    while not given[-1]:
        given.pop()
    m.add(op, given, outputs=3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, **how)


def resize(m, d):
    x = m.value(rank=4)
    n, c, h, w = m.shape(x)
    how = {"mode": d.choice(["nearest", "linear", "cubic"]), "coordinate_transformation_mode":
           d.choice(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])}
    if how["mode"] == "nearest":
        how["nearest_mode"] = d.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if d.chance(0.5):
        scales = numpy.array([1.0, 1.0, d.choice([0.5, 1, 1.5, 2]), d.choice([0.5, 1, 2, 3])])
        lengths = h * scales[2], w * scales[3]
        # Whether the ends are those of a length that is no whole number the standard leaves open.
        whole = how["coordinate_transformation_mode"] in ("half_pixel", "asymmetric") or all(v == int(v) for v in lengths)
        if min(lengths) < 1 or not whole:
            raise Unfit("Resize")
        m.add("Resize", [x, "", m.graph.constant(scales, exact=True)], **how)
    else:
        m.add("Resize", [x, "", "", m.ints(n, c, d.int(1, 2 * h), d.int(1, 2 * w))], **how)


LAYER_STEPS = [slices, slices, split, concat, shaped, shaped, gather, scatter, repeat, pad, triangle, reverse, blocks, compress,
               one_hot, made, bytes_of, conv, conv, transposed, pool, pool, normalise, recurrent, recurrent, resize]
