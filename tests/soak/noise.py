# SPDX-License-Identifier: MIT
"""How far a result may be from float64's: measured, not guessed.

The graph is evaluated again with errors laid over each of its values, at random and of the size that the number format makes:
some units in the last place of float32, some steps of 8 or 16 bits over the value's range. How far an output moves is how far a
right device's may be. Where a graph is too sensitive to say anything, as behind a Floor near an integer, the result is None.
"""
import numpy


class Float32:
    """Four rounding errors a value: what a sum of tens of products in float32 collects."""

    def __init__(self, graph, random):
        self.random = random

    def __call__(self, array, name):
        return array * (1 + self.random.uniform(-1, 1, array.shape) * 2.0 ** -22)


TABLE = 2.0 ** -10   # of Sigmoid and Tanh by a table of 257 points, whose input is in steps of 2^-12 from -8 to 8
SEGMENTS = 2.0 ** -7 # by NFU-3's 16 lines


def function_error(graph, random, name, shape, error):
    """On results of Sigmoid and Tanh."""
    made = any(node.outputs[0] == name and node.op in ("Sigmoid", "Tanh") for node in graph.nodes)
    return random.uniform(-1, 1, shape) * error if made else 0


class Tables(Float32):
    """The same, and Sigmoid and Tanh by a table."""

    def __init__(self, graph, random):
        super().__init__(graph, random)
        self.graph = graph

    def __call__(self, array, name):
        return super().__call__(array, name) + function_error(self.graph, self.random, name, array.shape, TABLE)


class Steps:
    """Rounding to a format of as many steps over each value's range; constants that are weights have their own."""

    def __init__(self, graph, random, steps, weight_steps, function):
        self.random, self.graph, self.steps, self.weight_steps, self.function = random, graph, steps, weight_steps, function

    def __call__(self, array, name):
        exact = self.graph.values[name]
        reach = max(0.0, exact.max(initial=0)) - min(0.0, exact.min(initial=0))
        steps = self.weight_steps if name in self.graph.constants else self.steps
        rounding = self.random.uniform(-1, 1, array.shape) * max(reach, 2 ** -10) / steps
        return array + rounding + function_error(self.graph, self.random, name, array.shape, self.function)


def int8(graph, random):
    return Steps(graph, random, 255, 254, TABLE)


def int8x16(graph, random):
    return Steps(graph, random, 32767, 254, TABLE)


def q16(graph, random):
    """At least 10 bits of each value's range are used, and products are rounded to the format one by one."""
    return Steps(graph, random, 1024, 4096, SEGMENTS)


def bounds(graph, make, seed, runs=4, most=0.05):
    """For each float output the greatest difference that is all right, or None where it is beyond `most` of the output's
    size. Other outputs: 0, or None where the errors reach them."""
    exact = {name: graph.values[name] for name in graph.outputs}
    moved = {name: 0.0 for name in graph.outputs}
    for run in range(runs):
        values = graph.evaluate(make(graph, numpy.random.RandomState((seed + run) % 2 ** 32)))
        for name, array in exact.items():
            if values[name].shape != array.shape or not numpy.isfinite(values[name]).all():
                moved[name] = numpy.inf
            else:
                difference = abs(values[name].astype("float64") - array)
                moved[name] = max(moved[name], difference.max(initial=0))
    result = {}
    for name, array in exact.items():
        if array.dtype.kind != "f":
            result[name] = 0 if moved[name] == 0 else None
            continue
        size = abs(array).max(initial=0)
        bound = 10 * moved[name] + 1e-6 * size + 1e-7
        result[name] = bound if bound <= max(most * size, 1e-5) else None
    return result
