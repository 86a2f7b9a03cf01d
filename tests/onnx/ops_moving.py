# SPDX-License-Identifier: MIT
"""Operators that move elements: Split in parts of which the last is smaller (18), Pad of some axes (18) and with the tensor again
(19), ScatterElements and ScatterND that keep the greater or lesser (18), and views whose versions brought types alone."""
import numpy

from cases import bfloat16, node, tensor


def split(suite):
    x = suite.floats(2, 7)
    suite.case("split_uneven", 18, [node("Split", "x", "a b c d", axis=1, num_outputs=4)], {"x": x},
               {"a": x[:, :2], "b": x[:, 2:4], "c": x[:, 4:6], "d": x[:, 6:]})
    suite.case("split_even", 20, [node("Split", "x", "a b", axis=-2, num_outputs=2)], {"x": x}, {"a": x[:1], "b": x[1:]})
    y = suite.integers(6)
    suite.case("split_last_part_empty", 18, [node("Split", "x", "a b c d", num_outputs=4)], {"x": y},
               {"a": y[:2], "b": y[2:4], "c": y[4:6], "d": y[6:]})
    suite.case("split_sizes", 18, [node("Split", "x sizes", "a b", axis=1)], {"x": x, "sizes": numpy.array([5, 2])},
               {"a": x[:, :5], "b": x[:, 5:]})


def pad(suite):
    x = suite.floats(2, 3, 4)
    for opset in 18, 21, 23:
        suite.case(f"pad_axes_{opset}", opset, [node("Pad", "x pads value axes", "y")], {"x": x},
                   {"y": numpy.pad(x, ((1, 2), (0, 0), (3, 0)), constant_values=1.5)},
                   {"pads": numpy.array([3, 1, 0, 2]), "value": numpy.float32([1.5]).reshape(()),
                    "axes": numpy.array([2, 0])})
    suite.case("pad_axes_input_int32", 18, [node("Pad", "x pads - axes", "y", mode="reflect")],
               {"x": x, "pads": numpy.array([2, 1]), "axes": numpy.int32([-1])},
               {"y": numpy.pad(x, ((0, 0), (0, 0), (2, 1)), mode="reflect")})
    suite.case("pad_wrap", 19, [node("Pad", "x pads", "y", mode="wrap")], {"x": x},
               {"y": numpy.pad(x, ((0, 0), (2, 1), (1, 3)), mode="wrap")}, {"pads": numpy.array([0, 2, 1, 0, 1, 3])})
    suite.case("pad_wrap_longer_than_the_tensor", 19, [node("Pad", "x pads - axes", "y", mode="wrap")], {"x": x},
               {"y": numpy.pad(x, ((0, 0), (7, 8), (0, 0)), mode="wrap")},
               {"pads": numpy.array([7, 8]), "axes": numpy.array([1])})
    suite.case("pad_wrap_cut", 21, [node("Pad", "x pads - axes", "y", mode="wrap")], {"x": x},
               {"y": numpy.pad(x[:, :, 1:], ((0, 0), (0, 0), (0, 4)), mode="wrap")},
               {"pads": numpy.array([-1, 4]), "axes": numpy.array([2])})
    suite.case("pad_edge_axes", 19, [node("Pad", "x pads - axes", "y", mode="edge")], {"x": x},
               {"y": numpy.pad(x, ((2, 2), (0, 0), (0, 0)), mode="edge")},
               {"pads": numpy.array([2, 2]), "axes": numpy.array([0])})
    flags = suite.integers(2, 2, low=0, high=2).astype(bool)
    suite.case("pad_bool", 21, [node("Pad", "x pads", "y")], {"x": flags}, {"y": numpy.pad(flags, 1)},
               {"pads": numpy.array([1, 1, 1, 1])})


MODES = {"none": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}


def scatter(suite):
    for mode, combine in MODES.items():
        for kind in "float32", "int32":
            x, updates = suite.integers(4, 3, dtype=kind), suite.integers(3, 3, dtype=kind)
            indices = numpy.array([[0, 1, -1], [0, 2, 3], [1, 1, 0]])
            y = x.copy()
            for i in range(3):
                for j in range(3):
                    row = indices[i, j] % 4
                    y[row, j] = combine(y[row, j], updates[i, j])
            suite.case(f"scatterelements_{mode}_{kind}", 18,
                       [node("ScatterElements", "x indices updates", "y", axis=0, reduction=mode)],
                       {"x": x, "indices": indices, "updates": updates}, {"y": y})
        x, updates = suite.floats(4, 2, 2), suite.floats(3, 2, 2)
        indices = numpy.array([[1], [3], [1]])
        y = x.copy()
        for i in range(3):
            for at in numpy.ndindex(2, 2):
                y[indices[i, 0]][at] = combine(y[indices[i, 0]][at], updates[i][at])
        suite.case(f"scatternd_{mode}", 18, [node("ScatterND", "x indices updates", "y", reduction=mode)],
                   {"x": x, "indices": indices, "updates": updates}, {"y": y})


def views(suite):
    x = suite.floats(2, 3, 4)
    for opset in 19, 21, 23:
        suite.case(f"reshape_{opset}", opset, [node("Reshape", "x shape", "y")], {"x": x, "shape": numpy.array([0, -1])},
                   {"y": x.reshape(2, 12)})
        suite.case(f"transpose_{opset}", opset, [node("Transpose", "x", "y", perm=[2, 0, 1])], {"x": x},
                   {"y": x.transpose(2, 0, 1).copy()})
        suite.case(f"squeeze_unsqueeze_{opset}", opset,
                   [node("Unsqueeze", "x at", "u"), node("Identity", "u", "v"), node("Squeeze", "v last", "y")],
                   {"x": x}, {"y": x[None]}, {"at": numpy.array([0, 4]), "last": numpy.array([-1])})
        suite.case(f"flatten_size_{opset}", opset, [node("Flatten", "x", "y", axis=2), node("Size", "x", "n")], {"x": x},
                   {"y": x.reshape(6, 4), "n": numpy.array(24)})
        suite.case(f"shape_part_{opset}", opset, [node("Shape", "x", "s", start=-2, end=3)], {"x": x},
                   {"s": numpy.array([3, 4])})
    empty = numpy.zeros((0, 3, 4), "float32")
    suite.case("reshape_allowzero", 21, [node("Reshape", "x shape", "y", allowzero=1)], {"x": empty},
               {"y": empty.reshape(3, 4, 0)}, {"shape": numpy.array([3, 4, 0])})
    suite.case("identity_bfloat16", 21, [node("Identity", "x", "y")], {"x": bfloat16(x)}, {"y": bfloat16(x)})
    suite.case("constantofshape_bfloat16", 20,
               [node("ConstantOfShape", "shape", "y", value=tensor(bfloat16(numpy.float32([2.5]))))],
               {}, {"y": bfloat16(numpy.full((2, 3), 2.5, "float32"))}, {"shape": numpy.array([2, 3])})
    suite.case("eyelike_22", 22, [node("EyeLike", "x", "y", k=1, dtype=6)], {"x": suite.floats(3, 4)},
               {"y": numpy.eye(3, 4, 1, dtype="int32")})


def cases(suite):
    split(suite)
    pad(suite)
    scatter(suite)
    views(suite)
