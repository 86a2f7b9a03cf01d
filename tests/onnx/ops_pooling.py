# SPDX-License-Identifier: MIT
"""Windows: AveragePool with dilations (19), LpPool with dilations and ceil_mode (18), and what counts where the output's size is
rounded up; MaxPool, Conv, ConvTranspose and global pooling as of 22, which brought types."""
import math

import numpy

from cases import node


def output_size(size, kernel, stride, dilation, pads, ceil_mode):
    room = size + pads[0] + pads[1] - ((kernel - 1) * dilation + 1)
    out = (math.ceil if ceil_mode else math.floor)(room / stride) + 1
    if ceil_mode and (out - 1) * stride >= size + pads[0]:
        out -= 1  # a window that would begin in the padding at the end
    return out


def pool(x, kernel, strides, pads, dilations, ceil_mode, reduce):
    """reduce gets the values of a window inside of x, and how many positions of it lie in x or its declared padding."""
    rank = len(kernel)
    sides = [(pads[d], pads[rank + d]) for d in range(rank)]
    sizes = [output_size(x.shape[2 + d], kernel[d], strides[d], dilations[d], sides[d], ceil_mode) for d in range(rank)]
    y = numpy.zeros(x.shape[:2] + tuple(sizes))
    for at in numpy.ndindex(*y.shape):
        values, counted = [], 0
        for tap in numpy.ndindex(*kernel):
            place = [at[2 + d] * strides[d] - sides[d][0] + tap[d] * dilations[d] for d in range(rank)]
            counted += all(-sides[d][0] <= place[d] < x.shape[2 + d] + sides[d][1] for d in range(rank))
            if all(0 <= place[d] < x.shape[2 + d] for d in range(rank)):
                values.append(float(x[at[:2] + tuple(place)]))
        y[at] = reduce(numpy.array(values), counted)
    return y.astype("float32")


WINDOWS = {
    "plain": dict(kernel_shape=[2, 3], strides=[1, 2], pads=[0, 0, 0, 0], dilations=[1, 1], ceil_mode=0),
    "dilated": dict(kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 0, 0], dilations=[2, 3], ceil_mode=0),
    "dilated_padded": dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 2, 1], dilations=[2, 2], ceil_mode=0),
    "ceil": dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1], ceil_mode=1),
    "ceil_dilated": dict(kernel_shape=[2, 2], strides=[3, 2], pads=[0, 1, 1, 0], dilations=[2, 2], ceil_mode=1),
}


def run(x, window, reduce):
    return pool(x, window["kernel_shape"], window["strides"], window["pads"], window["dilations"], window["ceil_mode"],
                reduce)


def cases(suite):
    for name, window in WINDOWS.items():
        x = suite.floats(2, 3, 7, 8)
        for include in 0, 1:
            suite.case(f"averagepool_{name}" + "_padding_counts" * include, 22 if include else 19,
                       [node("AveragePool", "x", "y", count_include_pad=include, **window)], {"x": x},
                       {"y": run(x, window, lambda v, counted: v.sum() / (counted if include else len(v)))})
        for p in 1, 2, 3:
            suite.case(f"lppool_{name}_p{p}", 18 if p < 3 else 22, [node("LpPool", "x", "y", p=p, **window)], {"x": x},
                       {"y": run(x, window, lambda v, counted: (abs(v) ** p).sum() ** (1 / p))})
        suite.case(f"maxpool_{name}", 22, [node("MaxPool", "x", "y", **window)], {"x": x},
                   {"y": run(x, window, lambda v, counted: v.max())})
    x = suite.floats(1, 2, 4, 5, 6)
    line = suite.floats(2, 2, 9)
    suite.case("averagepool_1d_dilated", 19, [node("AveragePool", "x", "y", kernel_shape=[3], dilations=[2])], {"x": line},
               {"y": pool(line, [3], [1], [0, 0], [2], 0, lambda v, counted: v.mean())})
    suite.case("averagepool_3d_dilated", 19,
               [node("AveragePool", "x", "y", kernel_shape=[2, 2, 2], dilations=[1, 2, 2])], {"x": x},
               {"y": pool(x, [2, 2, 2], [1, 1, 1], [0] * 6, [1, 2, 2], 0, lambda v, counted: v.mean())})
    for op, fold in ("GlobalAveragePool", lambda v: v.mean(axis=(2, 3), keepdims=True)), \
            ("GlobalMaxPool", lambda v: v.max(axis=(2, 3), keepdims=True)), \
            ("GlobalLpPool", lambda v: numpy.sqrt((v * v).sum(axis=(2, 3), keepdims=True))):
        x = suite.floats(2, 3, 4, 5)
        suite.case(f"{op.lower()}_22", 22, [node(op, "x", "y")], {"x": x},
                   {"y": fold(x.astype("float64")).astype("float32")})
    convolutions(suite)


def convolutions(suite):
    x, w, b = suite.floats(2, 3, 6, 5), suite.floats(4, 3, 3, 2), suite.floats(4)
    y = numpy.zeros((2, 4, 4, 4)) + b[None, :, None, None]
    for i, j in numpy.ndindex(3, 2):
        y += numpy.einsum("nchw,oc->nohw", x[:, :, i:i + 4, j:j + 4].astype("float64"), w[:, :, i, j].astype("float64"))
    suite.case("conv_22", 22, [node("Conv", "x w b", "y")], {"x": x}, {"y": y.astype("float32")}, {"w": w, "b": b})
    w = suite.floats(3, 2, 2, 2)
    y = numpy.zeros((2, 2, 12, 10))
    for i, j in numpy.ndindex(2, 2):
        y[:, :, i::2, j::2] = numpy.einsum("nchw,co->nohw", x.astype("float64"), w[:, :, i, j].astype("float64"))
    suite.case("convtranspose_22", 22, [node("ConvTranspose", "x w", "y", strides=[2, 2])], {"x": x},
               {"y": y.astype("float32")}, {"w": w})
