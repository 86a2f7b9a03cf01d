# SPDX-License-Identifier: MIT
"""Windows over images of any number of dimensions: convolutions and pooling, one position of the window after the other."""
import itertools

import numpy


class Window:
    """Where the windows lie: strides, dilations, padding at the beginning and the end, and the shape of the result."""

    def __init__(self, a, image, kernel):
        n = len(kernel)
        self.kernel = kernel
        self.strides = a.get("strides", [1] * n)
        self.dilations = a.get("dilations", [1] * n)
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations)]
        auto = a.get("auto_pad", "NOTSET")
        pads = a.get("pads", [0] * 2 * n)
        self.begin, self.end = list(pads[:n]), list(pads[n:])
        if auto == "VALID":
            self.begin, self.end = [0] * n, [0] * n
        elif auto != "NOTSET":
            for i in range(n):
                total = max(0, (-(-image[i] // self.strides[i]) - 1) * self.strides[i] + reach[i] - image[i])
                self.begin[i] = total // 2 if auto == "SAME_UPPER" else total - total // 2
                self.end[i] = total - self.begin[i]
        self.output = []
        for i in range(n):
            room = image[i] + self.begin[i] + self.end[i] - reach[i]
            steps = -(-room // self.strides[i]) if a.get("ceil_mode") else room // self.strides[i]
            # A window that would begin in the padding at the end is none.
            if a.get("ceil_mode") and steps * self.strides[i] >= image[i] + self.begin[i]:
                steps -= 1
            self.output.append(steps + 1)
        self.reach = reach

    def pick(self, x, fill):
        """x (N,C,image...) to (N,C,output...,taps)."""
        lead = [(0, 0), (0, 0)]
        ceil = [max(0, (o - 1) * s + r - d - b - e)
                for o, s, r, d, b, e in zip(self.output, self.strides, self.reach, x.shape[2:], self.begin, self.end)]
        padded = numpy.pad(x, lead + [(b, e + c) for b, e, c in zip(self.begin, self.end, ceil)], constant_values=fill)
        taps = []
        for tap in itertools.product(*(range(k) for k in self.kernel)):
            at = tuple(slice(t * d, t * d + (o - 1) * s + 1, s)
                       for t, d, o, s in zip(tap, self.dilations, self.output, self.strides))
            taps.append(padded[(slice(None), slice(None)) + at])
        return numpy.stack(taps, axis=-1)


def conv(a, x, w, bias=None, fill=0):
    groups, maps = a.get("group", 1), w.shape[0]
    window = Window(a, x.shape[2:], list(w.shape[2:]))
    taps = window.pick(x, fill)
    each, inputs = maps // groups, w.shape[1]
    parts = []
    for g in range(groups):
        part = taps[:, g * inputs:(g + 1) * inputs]
        weights = w[g * each:(g + 1) * each].reshape(each, inputs, -1)
        parts.append(numpy.einsum("nc...t,mct->nm...", part, weights))
    y = numpy.concatenate(parts, axis=1)
    return y if bias is None else y + bias.reshape([1, -1] + [1] * (x.ndim - 2))


def conv_transpose(a, x, w, bias=None):
    """Every element of x adds its kernel to the result."""
    n, groups, kernel = x.ndim - 2, a.get("group", 1), w.shape[2:]
    strides, dilations = a.get("strides", [1] * n), a.get("dilations", [1] * n)
    pads, extra = a.get("pads", [0] * 2 * n), a.get("output_padding", [0] * n)
    full = [(d - 1) * s + (k - 1) * l + 1 + e for d, s, k, l, e in zip(x.shape[2:], strides, kernel, dilations, extra)]
    each, inputs = w.shape[1], x.shape[1] // groups
    y = numpy.zeros([x.shape[0], each * groups] + full)
    for tap in itertools.product(*(range(k) for k in kernel)):
        at = tuple(slice(t * l, t * l + (d - 1) * s + 1, s) for t, l, d, s in zip(tap, dilations, x.shape[2:], strides))
        for g in range(groups):
            part = numpy.einsum("nc...,cm->nm...", x[:, g * inputs:(g + 1) * inputs],
                                w[(slice(g * inputs, (g + 1) * inputs), slice(None)) + tap])
            y[(slice(None), slice(g * each, (g + 1) * each)) + at] += part
    y = y[(slice(None), slice(None)) + tuple(slice(pads[i], full[i] - pads[n + i]) for i in range(n))]
    return y if bias is None else y + bias.reshape([1, -1] + [1] * n)


def max_pool(a, x):
    least = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
    return Window(a, x.shape[2:], a["kernel_shape"]).pick(x, least).max(axis=-1)


def average_pool(a, x):
    """With count_include_pad the padding that was asked for counts, not what rounding up adds."""
    window = Window(a, x.shape[2:], a["kernel_shape"])
    counted = numpy.ones((1, 1) + x.shape[2:])
    if a.get("count_include_pad"):
        counted = numpy.ones([1, 1] + [d + b + e for d, b, e in zip(x.shape[2:], window.begin, window.end)])
        inner = Window.__new__(Window)
        inner.__dict__.update(window.__dict__, begin=[0] * (x.ndim - 2), end=[0] * (x.ndim - 2))
        count = inner.pick(counted, 0).sum(axis=-1)
    else:
        count = window.pick(counted, 0).sum(axis=-1)
    return window.pick(x, 0).sum(axis=-1) / count


def lp_pool(a, x):
    p = a.get("p", 2)
    return (abs(Window(a, x.shape[2:], a["kernel_shape"]).pick(x, 0)) ** p).sum(axis=-1) ** (1 / p)


def over_image(function):
    return lambda a, x: function(a, x, tuple(range(2, x.ndim)))


FUNCTIONS = {
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool,
    "GlobalAveragePool": over_image(lambda a, x, d: x.mean(axis=d, keepdims=True)),
    "GlobalMaxPool": over_image(lambda a, x, d: x.max(axis=d, keepdims=True)),
    "GlobalLpPool": over_image(lambda a, x, d: (abs(x) ** a.get("p", 2)).sum(axis=d, keepdims=True) ** (1 / a.get("p", 2))),
}
