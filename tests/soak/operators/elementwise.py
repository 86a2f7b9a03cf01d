# SPDX-License-Identifier: MIT
"""Operators that work element by element."""
import math

import numpy

erf = numpy.vectorize(math.erf, otypes=["float64"])


def unary(function):
    return lambda a, x: function(x)


def with_alpha(function, **defaults):
    return lambda a, x: function(x, **{key: a.get(key, value) for key, value in defaults.items()})


def sigmoid(x):
    return 0.5 * (1 + numpy.tanh(0.5 * x))


def softplus(x):
    return numpy.logaddexp(0, x)


def elu(x, alpha):
    return numpy.where(x > 0, x, alpha * numpy.expm1(numpy.minimum(x, 0)))


def clip(a, x, low=None, high=None):
    low = -numpy.inf if low is None else low
    high = numpy.inf if high is None else high
    return numpy.minimum(numpy.maximum(x, low), high)


def divide(a, x, y):
    if x.dtype.kind == "i":
        return (numpy.sign(x) * numpy.sign(y) * (abs(x) // abs(y))).astype(x.dtype)
    return x / y


def modulo(a, x, y):
    return numpy.fmod(x, y) if a.get("fmod") else numpy.mod(x, y)


def shift(a, x, y):
    return x << y if a["direction"] == "LEFT" else x >> y


def prelu(a, x, slope):
    return numpy.where(x < 0, x * slope, x)


def fold(function):
    def run(a, *inputs):
        result = inputs[0]
        for one in inputs[1:]:
            result = function(result, one)
        return result
    return run


def cast(a, x):
    to = {1: "float64", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool"}[a["to"]]
    return numpy.trunc(x).astype(to) if x.dtype.kind == "f" and to != "bool" and to != "float64" else x.astype(to)


def isinf(a, x):
    positive, negative = a.get("detect_positive", 1), a.get("detect_negative", 1)
    return numpy.isposinf(x) & bool(positive) | numpy.isneginf(x) & bool(negative)


def gelu(a, x):
    if a.get("approximate", "none") == "tanh":
        return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def shrink(x, lambd, bias):
    return numpy.where(x < -lambd, x + bias, numpy.where(x > lambd, x - bias, 0.0))


def binary(function):
    return lambda a, x, y: function(x, y)


FUNCTIONS = {
    "Relu": unary(lambda x: numpy.maximum(x, 0)),
    "Sigmoid": unary(sigmoid),
    "Tanh": unary(numpy.tanh),
    "LeakyRelu": with_alpha(lambda x, alpha: numpy.where(x < 0, alpha * x, x), alpha=0.01),
    "Elu": with_alpha(elu, alpha=1.0),
    "Selu": with_alpha(lambda x, alpha, gamma: gamma * elu(x, alpha), alpha=1.6732632423543772848170429916717,
                       gamma=1.0507009873554804934193349852946),
    "Celu": with_alpha(lambda x, alpha: numpy.maximum(x, 0) + numpy.minimum(0, alpha * numpy.expm1(x / alpha)), alpha=1.0),
    "HardSigmoid": with_alpha(lambda x, alpha, beta: numpy.clip(alpha * x + beta, 0, 1), alpha=0.2, beta=0.5),
    "HardSwish": unary(lambda x: x * numpy.clip(x / 6 + 0.5, 0, 1)),
    "Softplus": unary(softplus),
    "Softsign": unary(lambda x: x / (1 + abs(x))),
    "ThresholdedRelu": with_alpha(lambda x, alpha: numpy.where(x > alpha, x, 0.0), alpha=1.0),
    "Shrink": with_alpha(shrink, lambd=0.5, bias=0.0),
    "Mish": unary(lambda x: x * numpy.tanh(softplus(x))),
    "Gelu": gelu,
    "Erf": unary(erf), "Sqrt": unary(numpy.sqrt), "Exp": unary(numpy.exp), "Log": unary(numpy.log),
    "Reciprocal": unary(lambda x: 1 / x), "Sin": unary(numpy.sin), "Cos": unary(numpy.cos), "Tan": unary(numpy.tan),
    "Asin": unary(numpy.arcsin), "Acos": unary(numpy.arccos), "Atan": unary(numpy.arctan), "Sinh": unary(numpy.sinh),
    "Cosh": unary(numpy.cosh), "Asinh": unary(numpy.arcsinh), "Acosh": unary(numpy.arccosh), "Atanh": unary(numpy.arctanh),
    "Floor": unary(numpy.floor), "Ceil": unary(numpy.ceil), "Round": unary(numpy.rint), "Abs": unary(abs),
    "Neg": unary(lambda x: -x), "Sign": unary(numpy.sign), "IsNaN": unary(numpy.isnan), "IsInf": isinf,
    "Not": unary(numpy.logical_not), "Identity": unary(lambda x: x), "Clip": clip, "Cast": cast,
    "CastLike": lambda a, x, like: cast({"to": {"f": 1, "i": 7, "b": 9}[like.dtype.kind]}, x),
    "Dropout": lambda a, x, *rest: x,
    "Add": binary(lambda x, y: x + y), "Sub": binary(lambda x, y: x - y), "Mul": binary(lambda x, y: x * y), "Div": divide,
    "Mod": modulo, "BitShift": shift, "Pow": binary(lambda x, y: numpy.power(x, y.astype(x.dtype))),
    "Equal": binary(numpy.equal), "Less": binary(numpy.less), "LessOrEqual": binary(numpy.less_equal),
    "Greater": binary(numpy.greater), "GreaterOrEqual": binary(numpy.greater_equal), "And": binary(numpy.logical_and),
    "Or": binary(numpy.logical_or), "Xor": binary(numpy.logical_xor), "PRelu": prelu,
    "Where": lambda a, c, x, y: numpy.where(c, x, y),
    "Sum": fold(numpy.add), "Min": fold(numpy.minimum), "Max": fold(numpy.maximum),
    "Mean": lambda a, *inputs: fold(numpy.add)(a, *inputs) / len(inputs),
}
