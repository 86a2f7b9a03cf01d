# SPDX-License-Identifier: MIT
"""Operators that move, pick or repeat elements."""
import numpy


def ints(x):
    return [int(v) for v in numpy.ravel(x)]


def slices(a, x, starts, ends, axes=None, steps=None):
    """Index by index: from the start, clamped as the standard has it, while the end is not reached."""
    starts, ends = ints(starts), ints(ends)
    axes = ints(axes) if axes is not None else range(len(starts))
    steps = ints(steps) if steps is not None else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        d = x.shape[axis]
        start, end = start + d * (start < 0), end + d * (end < 0)
        start = min(max(start, 0), d if step > 0 else d - 1)
        end = min(max(end, 0 if step > 0 else -1), d)
        x = numpy.take(x, [i for i in range(start, end, step)], axis=axis)
    return x


def split(a, x, sizes=None):
    axis = a.get("axis", 0)
    if sizes is None:
        n, d = a["num_outputs"], x.shape[axis]
        each = -(-d // n)
        sizes = [min(each, d - i * each) for i in range(n)]
    return tuple(numpy.split(x, numpy.cumsum(ints(sizes))[:-1], axis=axis))


def reshape(a, x, shape):
    shape = [x.shape[i] if v == 0 and not a.get("allowzero") else v for i, v in enumerate(ints(shape))]
    return x.reshape(shape)


def flatten(a, x):
    axis = a.get("axis", 1) % (x.ndim + 1) if a.get("axis", 1) < 0 else a.get("axis", 1)
    return x.reshape(int(numpy.prod(x.shape[:axis])), -1)


def gather(a, x, index):
    axis = a.get("axis", 0)
    return numpy.take(x, numpy.where(index < 0, index + x.shape[axis], index), axis=axis)


def gather_elements(a, x, index):
    axis = a.get("axis", 0)
    return numpy.take_along_axis(x, numpy.where(index < 0, index + x.shape[axis], index), axis=axis)


def gather_nd(a, x, index):
    b, last = a.get("batch_dims", 0), index.shape[-1]
    rows = numpy.empty(index.shape[:-1] + x.shape[b + last:], x.dtype)
    for at in numpy.ndindex(index.shape[:-1]):
        rows[at] = x[at[:b] + tuple(index[at])]
    return rows


REDUCTIONS = {"none": lambda old, new: new, "add": lambda old, new: old + new, "mul": lambda old, new: old * new,
              "max": numpy.maximum, "min": numpy.minimum}


def scatter_elements(a, x, index, updates):
    y, axis = x.copy(), a.get("axis", 0)
    join = REDUCTIONS[a.get("reduction", "none")]
    for at in numpy.ndindex(index.shape):
        to = list(at)
        to[axis] = index[at]
        y[tuple(to)] = join(y[tuple(to)], updates[at])
    return y


def scatter_nd(a, x, index, updates):
    y = x.copy()
    join = REDUCTIONS[a.get("reduction", "none")]
    for at in numpy.ndindex(index.shape[:-1]):
        to = tuple(index[at])
        y[to] = join(y[to], updates[at])
    return y


def squeeze(a, x, axes=None):
    over = tuple(v % x.ndim for v in ints(axes)) if axes is not None else tuple(i for i, d in enumerate(x.shape) if d == 1)
    return numpy.squeeze(x, axis=over)


def unsqueeze(a, x, axes):
    rank = x.ndim + len(ints(axes))
    return numpy.expand_dims(x, tuple(v % rank for v in ints(axes)))


def pad(a, x, pads, value=None, axes=None):
    axes = [v % x.ndim for v in ints(axes)] if axes is not None else list(range(x.ndim))
    width, pads = [(0, 0)] * x.ndim, ints(pads)
    for k, axis in enumerate(axes):
        width[axis] = pads[k], pads[k + len(axes)]
    mode = a.get("mode", "constant")
    if mode == "constant":
        return numpy.pad(x, width, constant_values=0 if value is None else numpy.ravel(value)[0])
    return numpy.pad(x, width, mode=mode)


def depth_to_space(a, x):
    n, c, h, w = x.shape
    b = a["blocksize"]
    if a.get("mode", "DCR") == "DCR":
        y = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c // (b * b), h * b, w * b)


def space_to_depth(a, x):
    n, c, h, w = x.shape
    b = a["blocksize"]
    return x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def trilu(a, x, k=None):
    k = 0 if k is None else int(numpy.ravel(k)[0])
    return numpy.triu(x, k) if a.get("upper", 1) else numpy.tril(x, k)


def one_hot(a, index, depth, values):
    depth = int(numpy.ravel(depth)[0])
    axis = a.get("axis", -1)
    hot = numpy.where(index < 0, index + depth, index)[..., None] == numpy.arange(depth)
    hot = numpy.moveaxis(hot, -1, axis % (index.ndim + 1))
    return numpy.where(hot, values[1], values[0])


def compress(a, x, condition):
    picked = numpy.flatnonzero(condition)
    return numpy.take(x.ravel() if "axis" not in a else x, picked, axis=a.get("axis", 0))


def reverse_sequence(a, x, lengths):
    batch, time = a.get("batch_axis", 1), a.get("time_axis", 0)
    y = x.copy()
    for b, length in enumerate(lengths):
        for t in range(length):
            to, of = [slice(None)] * x.ndim, [slice(None)] * x.ndim
            to[batch], to[time], of[batch], of[time] = b, t, b, length - 1 - t
            y[tuple(to)] = x[tuple(of)]
    return y


def shape_of(a, x):
    return numpy.array(x.shape, "int64")[slice(a.get("start"), a.get("end"))]


FUNCTIONS = {
    "Concat": lambda a, *x: numpy.concatenate(x, axis=a["axis"]), "Slice": slices, "Split": split, "Reshape": reshape,
    "Flatten": flatten, "Transpose": lambda a, x: numpy.transpose(x, a.get("perm")), "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd, "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd, "Expand": lambda a, x, shape: x * numpy.ones(ints(shape), x.dtype),
    "Tile": lambda a, x, repeats: numpy.tile(x, ints(repeats)), "Pad": pad, "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth, "Trilu": trilu, "OneHot": one_hot, "Compress": compress,
    "NonZero": lambda a, x: numpy.array(numpy.nonzero(x), "int64"), "ReverseSequence": reverse_sequence, "Shape": shape_of,
    "Size": lambda a, x: numpy.array(x.size, "int64"),
    "ConstantOfShape": lambda a, shape: numpy.zeros(ints(shape)),
    "EyeLike": lambda a, x: numpy.eye(*x.shape, k=a.get("k", 0)),
    "Range": lambda a, start, limit, delta: start + delta * numpy.arange(max(0, -(-(limit - start) // delta))),
}
