# SPDX-License-Identifier: MIT
"""Writes ONNX backend test cases: a folder with model.onnx and test_data_set_0/input_K.pb, output_K.pb for each.

A family is a file ops_*.py of this folder with a function cases(suite), which calls suite.case for each of its cases. What is
expected is computed there with numpy, from the operator's definition in the ONNX standard. The protobuf classes are those of
Debian's python3-onnx, which ends at opset 17: nothing is checked by it, and element types that it has not are numbers.

    def cases(suite):
        x = suite.floats(2, 3)
        suite.case("relu_18", 18, [node("Relu", "x", "y")], {"x": x}, {"y": numpy.maximum(x, 0)})
"""
import os

import numpy
import onnx
from onnx import helper

BFLOAT16 = 16
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
         "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}


class Typed:
    """Elements as their bits, of an element type that numpy has not."""

    def __init__(self, bits, number):
        self.bits, self.number, self.shape = bits, number, bits.shape


def bfloat16(x):
    """float32 values that bfloat16 has, rounded to the nearest, ties to even."""
    bits = numpy.ascontiguousarray(x, "float32").view("uint32").astype("uint64")
    return Typed(((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("uint16").reshape(numpy.shape(x)), BFLOAT16)


def bfloat16_values(typed):
    return (typed.bits.astype("uint32") << 16).view("float32")


def node(op, inputs, outputs, domain=None, name=None, **attributes):
    """Names are one text with blanks between them, '-' for an input or output that is left out."""
    def names(text):
        return ["" if name == "-" else name for name in text.split()]
    return helper.make_node(op, names(inputs), names(outputs), domain=domain, name=name, **attributes)


def element_type(x):
    return x.number if isinstance(x, Typed) else TYPES[x.dtype.name]


def tensor(x, name=""):
    bits = x.bits if isinstance(x, Typed) else x
    return onnx.TensorProto(name=name, data_type=element_type(x), dims=bits.shape,
                            raw_data=numpy.ascontiguousarray(bits).tobytes())


def declared(name, x, shape=None):
    return helper.make_tensor_value_info(name, element_type(x), list(x.shape) if shape is None else shape)


class Suite:
    def __init__(self, folder, seed):
        self.folder, self.names = folder, set()
        self.random = numpy.random.RandomState(seed)

    def floats(self, *shape, low=-2.0, high=2.0):
        return self.random.uniform(low, high, shape).astype("float32")

    def integers(self, *shape, low=-9, high=10, dtype="int64"):
        return self.random.randint(low, high, shape).astype(dtype)

    def case(self, name, opset, nodes, inputs, outputs, constants=None, shapes=None, functions=(), opsets=()):
        """inputs, outputs and constants (initialisers) by name. shapes: what the model declares instead of the data's shapes.
        functions and opsets: local functions, and pairs of other domains and their versions."""
        if name in self.names:
            raise ValueError("two cases are called " + name)
        self.names.add(name)
        shapes = shapes or {}
        graph = helper.make_graph(
            nodes, name,
            [declared(key, x, shapes.get(key)) for key, x in inputs.items()],
            [declared(key, x, shapes.get(key)) for key, x in outputs.items()],
            [tensor(x, key) for key, x in (constants or {}).items()])
        model = onnx.ModelProto(ir_version=10, producer_name="npulab", graph=graph)
        for domain, version in [("", opset), *opsets]:
            model.opset_import.add(domain=domain, version=version)
        model.functions.extend(functions)
        data = os.path.join(self.folder, name, "test_data_set_0")
        os.makedirs(data)
        write(os.path.join(self.folder, name, "model.onnx"), model)
        for what, values in ("input", inputs), ("output", outputs):
            for k, (key, x) in enumerate(values.items()):
                write(os.path.join(data, f"{what}_{k}.pb"), tensor(x, key))


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())
