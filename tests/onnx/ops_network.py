# SPDX-License-Identifier: MIT
"""Operators of networks that came with opset 17 to 23: activations, normalisations, bits, and what moves elements."""
import math

import numpy

from cases import node

erf = numpy.vectorize(math.erf)


def activation_cases(suite):
    for shape in (2, 3, 4), (700,):
        x = suite.floats(*shape, low=-4, high=4)
        wide = x.astype("float64")
        label = "x".join(map(str, shape))
        suite.case(f"gelu_{label}", 20, [node("Gelu", "x", "y")], {"x": x},
                   {"y": (0.5 * wide * (1 + erf(wide / math.sqrt(2)))).astype("float32")})
        tanh = 0.5 * wide * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide ** 3)))
        suite.case(f"gelu_tanh_{label}", 20, [node("Gelu", "x", "y", approximate="tanh")], {"x": x}, {"y": tanh.astype("float32")})
        suite.case(f"mish_{label}", 18, [node("Mish", "x", "y")], {"x": x},
                   {"y": (wide * numpy.tanh(numpy.log1p(numpy.exp(wide)))).astype("float32")})
    x = suite.floats(3, 5).astype("float64")
    suite.case("gelu_of_doubles", 20, [node("Gelu", "x", "y", approximate="none")], {"x": x}, {"y": 0.5 * x * (1 + erf(x / math.sqrt(2)))})
    half = suite.floats(4, 4).astype("float16")
    wide = half.astype("float64")
    suite.case("mish_of_halves", 22, [node("Mish", "x", "y")], {"x": half},
               {"y": (wide * numpy.tanh(numpy.log1p(numpy.exp(wide)))).astype("float16")})


def normalised(x, axes, epsilon, mean=True):
    x = x.astype("float64")
    centre = x.mean(axes, keepdims=True) if mean else 0
    return (x - centre) / numpy.sqrt(((x - centre) ** 2).mean(axes, keepdims=True) + epsilon), centre


def normalisation_cases(suite):
    for axis in (-1, 0, 1, 2, 3):
        x, rank = suite.floats(2, 3, 4, 5), 4
        axes = tuple(range(axis % rank, rank))
        scale, bias = suite.floats(*x.shape[axis % rank:]), suite.floats(*x.shape[axis % rank:])
        y, mean = normalised(x, axes, 1e-5)
        deviation = 1 / numpy.sqrt(((x.astype("float64") - mean) ** 2).mean(axes, keepdims=True) + 1e-5)
        suite.case(f"layernormalization_axis_{axis}", 17, [node("LayerNormalization", "x scale bias", "y mean deviation", axis=axis)],
                   {"x": x, "scale": scale, "bias": bias},
                   {"y": (y * scale + bias).astype("float32"), "mean": mean.astype("float32"), "deviation": deviation.astype("float32")})
        y, _ = normalised(x, axes, 1e-5, mean=False)
        suite.case(f"rmsnormalization_axis_{axis}", 23, [node("RMSNormalization", "x scale", "y", axis=axis)], {"x": x, "scale": scale},
                   {"y": (y * scale).astype("float32")})
    x, scale = suite.floats(3, 6), suite.floats(6)
    suite.case("layernormalization_default", 22, [node("LayerNormalization", "x scale", "y", epsilon=0.1, stash_type=1)],
               {"x": x, "scale": scale}, {"y": (normalised(x, 1, 0.1)[0] * scale).astype("float32")})
    suite.case("rmsnormalization_default", 23, [node("RMSNormalization", "x scale", "y", epsilon=0.25)], {"x": x, "scale": scale},
               {"y": (normalised(x, 1, 0.25, False)[0] * scale).astype("float32")})
    one = numpy.float32([1.5])
    suite.case("rmsnormalization_one_scale", 23, [node("RMSNormalization", "x scale", "y", stash_type=1)], {"x": x, "scale": one},
               {"y": (normalised(x, 1, 1e-5, False)[0] * one).astype("float32")})
    for opset, shape, groups in (18, (2, 6, 4, 5), 3), (21, (2, 6, 4, 5), 3), (21, (1, 4, 7), 1), (18, (1, 4, 7), 4), (23, (3, 8), 2):
        x, channels = suite.floats(*shape), shape[1]
        values = groups if opset < 21 else channels
        scale, bias = suite.floats(values), suite.floats(values)
        grouped = x.reshape(shape[0], groups, -1)
        y = normalised(grouped, 2, 1e-3)[0].reshape(x.shape)
        spread = [v if opset >= 21 else v.repeat(channels // groups) for v in (scale, bias)]
        spread = [v.reshape(channels, *[1] * (len(shape) - 2)) for v in spread]
        suite.case(f"groupnormalization_{opset}_{len(shape)}d_{groups}", opset,
                   [node("GroupNormalization", "x scale bias", "y", num_groups=groups, epsilon=1e-3)],
                   {"x": x, "scale": scale, "bias": bias}, {"y": (y * spread[0] + spread[1]).astype("float32")})


def bit_cases(suite):
    functions = {"BitwiseAnd": numpy.bitwise_and, "BitwiseOr": numpy.bitwise_or, "BitwiseXor": numpy.bitwise_xor}
    for (name, function), dtype in zip(functions.items(), ("int32", "uint8", "int64")):
        a, b = suite.integers(3, 4, low=0, high=120, dtype=dtype), suite.integers(4, low=0, high=120, dtype=dtype)
        if dtype != "uint8":
            a = -a
        suite.case(f"{name.lower()}_{dtype}", 18, [node(name, "a b", "y")], {"a": a, "b": b}, {"y": function(a, b)})
    for dtype in "int8", "uint16":
        x = suite.integers(2, 9, low=0, high=100, dtype=dtype)
        suite.case(f"bitwisenot_{dtype}", 18, [node("BitwiseNot", "x", "y")], {"x": x}, {"y": ~x})


def centred(x, shape, axes):
    for axis, asked in zip(axes, shape):
        there = x.shape[axis]
        if asked <= there:
            x = x.take(range((there - asked) // 2, (there - asked) // 2 + asked), axis)
        else:
            before = (asked - there) // 2
            x = numpy.pad(x, [(before, asked - there - before) if d == axis else (0, 0) for d in range(x.ndim)])
    return x


def moving_cases(suite):
    x = suite.floats(10, 7, 3)
    for name, shape, axes in (("crop", (6, 4, 3), None), ("pad", (15, 8, 4), None), ("both", (5, 12, 3), None), ("axes", (9, 4), (0, -1)),
                              ("odd", (9, 6, 2), None), ("one_axis", (8,), (1,))):
        given = {} if axes is None else {"axes": list(axes)}
        y = centred(x, shape, range(3) if axes is None else [a % 3 for a in axes])
        suite.case(f"centercroppad_{name}", 18, [node("CenterCropPad", "x shape", "y", **given)], {"x": x}, {"y": y},
                   {"shape": numpy.array(shape, "int64")})
    for name, image, block, given in (
            ("plain", (5, 5), (1, 5), {}), ("strides", (5, 5), (3, 3), {"strides": [2, 2]}),
            ("pads", (4, 5), (2, 3), {"pads": [1, 0, 1, 2]}), ("dilations", (6, 6), (2, 2), {"dilations": [1, 5]}),
            ("all", (6, 7), (2, 3), {"dilations": [2, 1], "pads": [1, 2, 0, 1], "strides": [1, 2]}),
            ("1d", (9,), (3,), {"strides": [2]}), ("3d", (3, 4, 4), (2, 2, 2), {"strides": [1, 2, 1]})):
        rank = len(image)
        stride, dilation = given.get("strides", [1] * rank), given.get("dilations", [1] * rank)
        pads = given.get("pads", [0] * 2 * rank)
        padded = [image[d] + pads[d] + pads[d + rank] for d in range(rank)]
        places = [(padded[d] - dilation[d] * (block[d] - 1) - 1) // stride[d] + 1 for d in range(rank)]
        x = suite.floats(2, 3 * math.prod(block), math.prod(places))
        y = numpy.zeros((2, 3, *padded))
        for tap, k in enumerate(numpy.ndindex(*block)):
            for place, i in enumerate(numpy.ndindex(*places)):
                at = tuple(i[d] * stride[d] + k[d] * dilation[d] for d in range(rank))
                y[(slice(None), slice(None)) + at] += x[:, tap::math.prod(block), place]
        y = y[(slice(None), slice(None)) + tuple(slice(pads[d], pads[d] + image[d]) for d in range(rank))]
        suite.case(f"col2im_{name}", 18, [node("Col2Im", "x image block", "y", **given)], {"x": x}, {"y": y.astype("float32")},
                   {"image": numpy.array(image, "int64"), "block": numpy.array(block, "int64")})


def grid_cases(suite):
    def places(n, aligned):
        return numpy.linspace(-1, 1, n) if aligned else (2 * numpy.arange(n) + 1) / n - 1
    for sizes in (2, 3, 4, 5), (2, 1, 3, 4, 2):
        spatial = sizes[2:]
        theta = suite.floats(sizes[0], len(spatial), len(spatial) + 1)
        for aligned in 0, 1:
            grid = numpy.stack(numpy.meshgrid(*[places(n, aligned) for n in spatial], indexing="ij")[::-1] + [numpy.ones(spatial)], -1)
            y = numpy.einsum("...c,nrc->n...r", grid, theta)
            suite.case(f"affinegrid_{len(spatial)}d_{'corners' if aligned else 'edges'}", 20,
                       [node("AffineGrid", "theta size", "y", align_corners=aligned)], {"theta": theta}, {"y": y.astype("float32")},
                       {"size": numpy.array(sizes, "int64")})


def cases(suite):
    activation_cases(suite)
    normalisation_cases(suite)
    bit_cases(suite)
    moving_cases(suite)
    grid_cases(suite)
