# SPDX-License-Identifier: MIT
"""Reductions: axes as an input (18), none of them meaning all or nothing, empty sets, and bool (20)."""
import numpy

from cases import node


def in_double(x, function):
    return function(x.astype("float64"))


FOLDS = {
    "ReduceSum": lambda x, axes, keep: in_double(x, lambda v: v.sum(axis=axes, keepdims=keep)),
    "ReduceMean": lambda x, axes, keep: in_double(x, lambda v: v.mean(axis=axes, keepdims=keep)),
    "ReduceMax": lambda x, axes, keep: x.max(axis=axes, keepdims=keep),
    "ReduceMin": lambda x, axes, keep: x.min(axis=axes, keepdims=keep),
    "ReduceProd": lambda x, axes, keep: in_double(x, lambda v: v.prod(axis=axes, keepdims=keep)),
    "ReduceL1": lambda x, axes, keep: in_double(x, lambda v: abs(v).sum(axis=axes, keepdims=keep)),
    "ReduceL2": lambda x, axes, keep: in_double(x, lambda v: numpy.sqrt((v * v).sum(axis=axes, keepdims=keep))),
    "ReduceSumSquare": lambda x, axes, keep: in_double(x, lambda v: (v * v).sum(axis=axes, keepdims=keep)),
    "ReduceLogSum": lambda x, axes, keep: in_double(x, lambda v: numpy.log(v.sum(axis=axes, keepdims=keep))),
    "ReduceLogSumExp":
        lambda x, axes, keep: in_double(x, lambda v: numpy.log(numpy.exp(v).sum(axis=axes, keepdims=keep))),
}
# of an empty set: the sum of nothing, the product of nothing, the least and the greatest that there could be
EMPTY = {"ReduceSum": 0, "ReduceProd": 1, "ReduceMax": -numpy.inf, "ReduceMin": numpy.inf, "ReduceL1": 0, "ReduceL2": 0,
         "ReduceSumSquare": 0, "ReduceLogSum": -numpy.inf, "ReduceLogSumExp": -numpy.inf}


def result(y, dtype="float32"):
    return numpy.asarray(y).astype(dtype)


def cases(suite):
    for op, fold in FOLDS.items():
        x, name = suite.floats(3, 2, 4, low=0.25), op.lower()
        suite.case(f"{name}_axes_input", 18, [node(op, "x axes", "y", keepdims=0)],
                   {"x": x, "axes": numpy.array([1, -1])}, {"y": result(fold(x, (1, 2), False))})
        suite.case(f"{name}_axes_constant_kept", 20, [node(op, "x axes", "y")],
                   {"x": x}, {"y": result(fold(x, (0,), True))}, {"axes": numpy.array([0])})
        suite.case(f"{name}_no_axes", 21, [node(op, "x", "y", keepdims=0)],
                   {"x": x}, {"y": result(fold(x, None, False))})
        suite.case(f"{name}_noop", 18, [node(op, "x axes", "y", noop_with_empty_axes=1)],
                   {"x": x}, {"y": result(fold(x, (), True))}, {"axes": numpy.zeros(0, "int64")})
        if op in EMPTY:
            suite.case(f"{name}_empty_set", 20, [node(op, "x axes", "y", keepdims=0)],
                       {"x": numpy.zeros((2, 0, 4), "float32")},
                       {"y": numpy.full((2, 4), EMPTY[op], "float32")}, {"axes": numpy.array([1])})
    x = suite.integers(2, 5, 3, dtype="int32")
    suite.case("reducemax_int32", 18, [node("ReduceMax", "x axes", "y")],
               {"x": x}, {"y": x.max(axis=1, keepdims=True)}, {"axes": numpy.array([1])})
    x = suite.integers(2, 5, 3, low=0, high=200, dtype="uint8")
    suite.case("reducemin_uint8", 20, [node("ReduceMin", "x axes", "y")],
               {"x": x}, {"y": x.min(axis=1, keepdims=True)}, {"axes": numpy.array([1])})
    flags = suite.integers(4, 3, low=0, high=2).astype(bool)
    for op, fold in ("ReduceMax", numpy.any), ("ReduceMin", numpy.all):
        suite.case(f"{op.lower()}_bool", 20, [node(op, "x axes", "y", keepdims=0)],
                   {"x": flags}, {"y": fold(flags, axis=1)}, {"axes": numpy.array([1])})
        suite.case(f"{op.lower()}_bool_empty_set", 20, [node(op, "x axes", "y", keepdims=0)],
                   {"x": numpy.zeros((0, 3), bool)}, {"y": fold(numpy.zeros((0, 3), bool), axis=0)},
                   {"axes": numpy.array([0])})
