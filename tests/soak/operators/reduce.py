# SPDX-License-Identifier: MIT
"""Operators that reduce, sort or accumulate along axes."""
import numpy


def axes_of(a, x, axes):
    """As attribute (until opset 17) or as input; none are all, unless noop_with_empty_axes says none."""
    given = a.get("axes") if axes is None else [int(v) for v in numpy.ravel(axes)]
    if not given:
        return () if a.get("noop_with_empty_axes") else tuple(range(x.ndim))
    return tuple(v % x.ndim for v in given)


def reduction(function):
    def run(a, x, axes=None):
        over = axes_of(a, x, axes)
        if not over and a.get("noop_with_empty_axes"):
            return x
        return function(x, over, bool(a.get("keepdims", 1)))
    return run


def argument(function):
    def run(a, x):
        axis, n = a.get("axis", 0) % x.ndim, x.shape[a.get("axis", 0)]
        if a.get("select_last_index"):
            result = n - 1 - function(numpy.flip(x, axis), axis=axis)
        else:
            result = function(x, axis=axis)
        return (numpy.expand_dims(result, axis) if a.get("keepdims", 1) else result).astype("int64")
    return run


def topk(a, x, k):
    axis, k = a.get("axis", -1) % x.ndim, int(numpy.ravel(k)[0])
    order = numpy.argsort(-x if a.get("largest", 1) else x, axis=axis, kind="stable")
    order = numpy.take(order, range(k), axis=axis)
    return numpy.take_along_axis(x, order, axis), order.astype("int64")


def cumsum(a, x, axis):
    axis = int(numpy.ravel(axis)[0]) % x.ndim
    x = numpy.flip(x, axis) if a.get("reverse") else x
    y = numpy.cumsum(x, axis=axis, dtype=x.dtype)
    if a.get("exclusive"):
        y = y - x
    return numpy.flip(y, axis) if a.get("reverse") else y


def softmax(a, x):
    axis = a.get("axis", -1)
    e = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def hardmax(a, x):
    axis = a.get("axis", -1) % x.ndim
    best = numpy.expand_dims(numpy.argmax(x, axis=axis), axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return (numpy.arange(x.shape[axis]).reshape(shape) == best).astype("float64")


FUNCTIONS = {
    "ReduceSum": reduction(lambda x, d, k: x.sum(axis=d, keepdims=k)),
    "ReduceMean": reduction(lambda x, d, k: x.mean(axis=d, keepdims=k)),
    "ReduceMax": reduction(lambda x, d, k: x.max(axis=d, keepdims=k)),
    "ReduceMin": reduction(lambda x, d, k: x.min(axis=d, keepdims=k)),
    "ReduceProd": reduction(lambda x, d, k: x.prod(axis=d, keepdims=k)),
    "ReduceL1": reduction(lambda x, d, k: abs(x).sum(axis=d, keepdims=k)),
    "ReduceL2": reduction(lambda x, d, k: numpy.sqrt((x * x).sum(axis=d, keepdims=k))),
    "ReduceSumSquare": reduction(lambda x, d, k: (x * x).sum(axis=d, keepdims=k)),
    "ReduceLogSum": reduction(lambda x, d, k: numpy.log(x.sum(axis=d, keepdims=k))),
    "ReduceLogSumExp": reduction(lambda x, d, k: numpy.log(numpy.exp(x).sum(axis=d, keepdims=k))),
    "ArgMax": argument(numpy.argmax), "ArgMin": argument(numpy.argmin), "TopK": topk, "CumSum": cumsum,
    "Softmax": softmax, "LogSoftmax": lambda a, x: numpy.log(softmax(a, x)), "Hardmax": hardmax,
}
