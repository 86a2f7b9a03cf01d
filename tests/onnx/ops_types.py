# SPDX-License-Identifier: MIT
"""Operators to which opset 18 to 23 brought element types alone: they compute what they did before."""
import numpy

from cases import node

UNARY = {
    "Relu": lambda x: numpy.maximum(x, 0),
    "Elu": lambda x: numpy.where(x > 0, x, numpy.exp(x) - 1),
    "Selu": lambda x: 1.0507009873554804 * numpy.where(x > 0, x, 1.6732632423543772 * (numpy.exp(x) - 1)),
    "HardSigmoid": lambda x: numpy.clip(0.2 * x + 0.5, 0, 1),
    "HardSwish": lambda x: x * numpy.clip(x / 6 + 0.5, 0, 1),
    "Softplus": lambda x: numpy.log1p(numpy.exp(x)),
    "Softsign": lambda x: x / (1 + abs(x)),
    "ThresholdedRelu": lambda x: numpy.where(x > 1, x, 0),
    "Round": numpy.rint,
    "Sin": numpy.sin,
    "Cos": numpy.cos,
    "Tan": numpy.tan,
    "Atan": numpy.arctan,
    "Sinh": numpy.sinh,
    "Cosh": numpy.cosh,
    "Asinh": numpy.arcsinh,
}


def cases(suite):
    for opset in range(18, 24):
        x = suite.floats(2, 3, 4)
        suite.case(f"relu_of_opset_{opset}", opset, [node("Relu", "x", "y")], {"x": x}, {"y": numpy.maximum(x, 0)})
    for name, function in UNARY.items():
        x = suite.floats(3, 7)
        y = function(x.astype("float64")).astype("float32")
        suite.case(f"{name.lower()}_22", 22, [node(name, "x", "y")], {"x": x}, {"y": y})
