# SPDX-License-Identifier: MIT
"""ONNX operators from their definitions, in numpy.

FUNCTIONS maps an operator's name to a function of its attributes (a dict) and its inputs (None where one is left out), which gives
one array or a tuple of them. A float64 array stands for an ONNX tensor of float32: nothing is rounded. Integers and bools have
their own types and are exact. Nothing here was taken from npulab: these functions judge it.
"""
import numpy

from operators import elementwise, integers, matrices, moving, normalise, recurrent, reduce, resize, windows

FUNCTIONS = {}
for family in elementwise, integers, matrices, moving, normalise, recurrent, reduce, resize, windows:
    FUNCTIONS.update(family.FUNCTIONS)


def apply(op, attributes, inputs):
    """The outputs of one node, as a list."""
    result = FUNCTIONS[op](attributes, *inputs)
    return [numpy.asarray(one) for one in (result if isinstance(result, tuple) else (result,))]
