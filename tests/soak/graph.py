# SPDX-License-Identifier: MIT
"""A graph that is evaluated while it is made: every value is known, so that a generator can keep it within bounds.

float64 arrays stand for float32 tensors, as in operators/. Inputs and constants are rounded to float32 when they come in.
"""
import random

import numpy
import onnx
from onnx import helper

import operators

TYPES = {"float64": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9}
LARGEST = 3e3    # of a value's magnitude: what lies beyond is a matter of overflow, not of the operators
MOST = 4096      # elements of a value


class Unfit(Exception):
    """A node that the generator does not want: its values are too great, too many or none."""


class Dice:
    """Choices and arrays from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.array = numpy.random.RandomState(seed % 2 ** 32)
        self.choice, self.int, self.uniform = self.random.choice, self.random.randint, self.random.uniform

    def chance(self, p):
        return self.random.random() < p

    def floats(self, *shape, low=-2.0, high=2.0):
        return self.array.uniform(low, high, shape).astype("float32").astype("float64")

    def integers(self, *shape, low, high, dtype="int64"):
        return self.array.randint(low, high + 1, shape).astype(dtype)


class Node:
    def __init__(self, op, inputs, outputs, attributes):
        self.op, self.inputs, self.outputs, self.attributes = op, inputs, outputs, attributes


class Graph:
    def __init__(self, opset):
        self.opset, self.nodes, self.inputs, self.constants, self.values = opset, [], {}, {}, {}
        self.outputs = []
        self.exact = set() # names that errors of arithmetic do not reach: sizes, exponents, scales of a Resize
        self.named = 0

    def name(self, letter):
        self.named += 1
        return f"{letter}{self.named}"

    def input(self, array, name=None):
        name = name or self.name("x")
        self.inputs[name] = self.values[name] = rounded(array)
        return name

    def constant(self, array, exact=False):
        name = self.name("c")
        self.constants[name] = self.values[name] = rounded(numpy.asarray(array))
        if exact:
            self.exact.add(name)
        return name

    def add(self, op, inputs, outputs=1, fit=True, **attributes):
        """Appends a node; its outputs' names (one name where there is one). Unfit when a value is out of bounds."""
        node = Node(op, list(inputs), [self.name("v") for _ in range(outputs)], attributes)
        with numpy.errstate(all="ignore"):
            found = operators.apply(op, attributes, [self.values[i] if i else None for i in node.inputs])[:outputs]
        for one in found:
            if fit and (one.size == 0 or one.size > MOST or one.dtype.kind == "f" and not (abs(one) < LARGEST).all()):
                raise Unfit(op)
        self.nodes.append(node)
        self.values.update(zip(node.outputs, found))
        return node.outputs[0] if outputs == 1 else node.outputs

    def mark(self):
        return len(self.nodes), dict(self.constants), dict(self.inputs)

    def back(self, mark):
        """Undoes what came behind the mark."""
        for node in self.nodes[mark[0]:]:
            for name in node.outputs:
                self.values.pop(name, None)
        del self.nodes[mark[0]:]
        self.constants, self.inputs = mark[1], mark[2]

    def unread(self):
        """Values that no node reads, in order."""
        read = {name for node in self.nodes for name in node.inputs}
        return [name for node in self.nodes for name in node.outputs if name not in read]

    def evaluate(self, noise=None):
        """All values once more; noise(array, name) is laid over inputs, constants and results of float type."""
        values = {}
        for name, array in [*self.inputs.items(), *self.constants.items()]:
            moved = noise and array.dtype.kind == "f" and name not in self.exact
            values[name] = noise(array, name) if moved else array
        for node in self.nodes:
            with numpy.errstate(all="ignore"):
                found = operators.apply(node.op, node.attributes, [values[i] if i else None for i in node.inputs])
            for name, one in zip(node.outputs, found):
                values[name] = noise(one, name) if noise and one.dtype.kind == "f" else one
        return values

    def kept(self, outputs, cut=()):
        """The part that the outputs need, with the values in `cut` as inputs."""
        part = Graph(self.opset)
        part.values, part.exact, part.outputs, part.named = self.values, self.exact, list(outputs), self.named
        need = set(outputs)
        for node in reversed(self.nodes):
            if need & set(node.outputs) - set(cut):
                part.nodes.insert(0, node)
                need |= set(node.inputs)
        made = {name for node in part.nodes for name in node.outputs}
        part.inputs = {k: v for k, v in self.inputs.items() if k in need}
        part.constants = {k: v for k, v in self.constants.items() if k in need}
        for name in cut:
            if name in need and name not in made:
                part.inputs[name] = rounded(self.values[name])
        part.values = part.evaluate()
        return part

    def model(self, outputs=None, shapes=None, dims=None):
        """The protobuf. shapes: declared shapes of inputs, where not the values'."""
        shapes = shapes or {}
        graph = helper.make_graph(
            [helper.make_node(n.op, n.inputs, n.outputs, name=n.outputs[0], **n.attributes) for n in self.nodes], "g",
            [helper.make_tensor_value_info(k, TYPES[v.dtype.name], shapes.get(k, v.shape)) for k, v in self.inputs.items()],
            [helper.make_tensor_value_info(k, TYPES[self.values[k].dtype.name], None) for k in outputs or self.outputs],
            [tensor(v, k) for k, v in self.constants.items()])
        model = onnx.ModelProto(ir_version=8, producer_name="soak", graph=graph)
        model.opset_import.add(domain="", version=self.opset)
        return model


def rounded(array):
    array = numpy.asarray(array)
    return array.astype("float32").astype("float64") if array.dtype.kind == "f" else array


def stored(array):
    """As it lies in a file."""
    array = numpy.asarray(array)
    return numpy.ascontiguousarray(array.astype("float32") if array.dtype.kind == "f" else array)


def tensor(array, name):
    array = numpy.asarray(array)
    return onnx.TensorProto(name=name, data_type=TYPES[array.dtype.name], dims=array.shape, raw_data=stored(array).tobytes())
