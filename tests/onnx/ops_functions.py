# SPDX-License-Identifier: MIT
"""Models with functions of their own, as exporters write them. Fields that Debian's python3-onnx has no names for are written
as bytes behind its messages."""
import math

import numpy
from onnx import AttributeProto, FunctionProto, StringStringEntryProto, helper

from cases import declared, node, tensor

TORCH = "pkg.onnxscript.torch_lib"
erf = numpy.vectorize(math.erf)


def field(number, data):
    """A field of bytes, shorter than 2^14."""
    if isinstance(data, str):
        data = data.encode()
    key, n = number << 3 | 2, len(data)
    length = bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7])
    return (bytes([key]) if key < 128 else bytes([key & 127 | 128, key >> 7])) + length + data


def call(name, inputs, outputs, overload="", domain=TORCH, metadata=None, label=None, **attributes):
    made = node(name, inputs, outputs, domain=domain, name=label, **attributes)
    if overload:
        made.MergeFromString(field(8, overload))
    for key, value in (metadata or {}).items():
        made.MergeFromString(field(9, StringStringEntryProto(key=key, value=value).SerializeToString()))
    return made


def reference(made, name, to, kind):
    """An attribute of a node in a body that takes the value of one of the function."""
    made.attribute.append(AttributeProto(name=name, ref_attr_name=to, type=kind))
    return made


def function(name, inputs, outputs, nodes, opset=18, attributes=(), defaults=None, overload="", domain=TORCH, others=()):
    made = FunctionProto(name=name, domain=domain, input=inputs.split(), output=outputs.split(), node=nodes,
                         attribute=list(attributes), doc_string="of a test")
    for key, version in [("", opset), *others]:
        made.opset_import.add(domain=key, version=version)
    for key, value in (defaults or {}).items():
        made.MergeFromString(field(11, helper.make_attribute(key, value).SerializeToString()))
    if overload:
        made.MergeFromString(field(13, overload))
    made.MergeFromString(field(12, declared(inputs.split()[0], numpy.zeros((1, 1), "float32")).SerializeToString()))
    made.MergeFromString(field(14, StringStringEntryProto(key="namespace", value=name).SerializeToString()))
    return made


def constant(name, x):
    return helper.make_node("Constant", [], [name], value=tensor(numpy.asarray(x, "float32")))


def gelu(x):
    return (0.5 * x * (1 + erf(x / math.sqrt(2)))).astype("float32")


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def linear():
    return function("aten_linear", "input weight bias", "result",
                    [node("Transpose", "weight", "weight_t", perm=[1, 0]), node("MatMul", "input weight_t", "product"),
                     node("Add", "product bias", "result")])


def aten_gelu():
    return function("aten_gelu", "self", "result_5",
                    [constant("tmp", math.sqrt(2)), node("Div", "self tmp", "tmp_0"), node("Erf", "tmp_0", "tmp_1"),
                     constant("one", 1), node("Add", "tmp_1 one", "tmp_2"), node("Mul", "self tmp_2", "tmp_3"),
                     constant("half", 0.5), node("Mul", "tmp_3 half", "result_5")])


def torch_cases(suite):
    """A block as torch.onnx with dynamo wrote it: modules are functions that call functions of the library."""
    x, w, b = suite.floats(4, 6), suite.floats(5, 6), suite.floats(5)
    module = function("torch_nn_modules_linear_Linear_fc_1", "x fc.weight fc.bias", "addmm",
                      [call("aten_linear", "x fc.weight fc.bias", "addmm", label="n0")], domain="pkg.torch.2.3.0",
                      others=[(TORCH, 1)])
    suite.case("torch_module", 18,
               [call("torch_nn_modules_linear_Linear_fc_1", "x fc.weight fc.bias", "fc", domain="pkg.torch.2.3.0",
                     label="Linear_0", metadata={"pkg.torch.onnx.stack_trace": "File net.py", "namespace": ": net.Net"}),
                call("aten_gelu", "fc", "gelu", label="gelu_0")],
               {"x": x}, {"gelu": gelu(x @ w.T + b)}, {"fc.weight": w, "fc.bias": b, "unused": w},
               functions=[linear(), aten_gelu(), module], opsets=[(TORCH, 1), ("pkg.torch.2.3.0", 1), ("com.microsoft", 1)])
    x = suite.floats(2, 3)
    last = function("Softmax", "x", "y", [reference(node("Softmax", "x", "y"), "axis", "dim", AttributeProto.INT)],
                    attributes=["dim"], overload="last")
    sign = function("Softmax", "x", "y", [node("Neg", "x", "y")], overload="sign")
    suite.case("overloads", 18, [call("Softmax", "x", "s", overload="last", dim=0), call("Softmax", "s", "y", overload="sign")],
               {"x": x}, {"y": -softmax(x, 0)}, functions=[last, sign], opsets=[(TORCH, 1)])


def attribute_cases(suite):
    x = suite.floats(3, 4)
    scaled = function("Scaled", "x", "y",
                      [reference(node("Constant", "", "by"), "value_float", "factor", AttributeProto.FLOAT),
                       node("Mul", "x by", "t"), reference(node("LeakyRelu", "t", "y"), "alpha", "slope", AttributeProto.FLOAT)],
                      attributes=["slope"], defaults={"factor": 3.0})

    def leaky(v, slope):
        return numpy.where(v < 0, v * slope, v).astype("float32")
    for name, given, y in (("attribute_default", {}, leaky(3 * x, 0.01)), ("attribute_given", {"factor": -2.0}, leaky(-2 * x, 0.01)),
                           ("attributes_both", {"factor": 0.5, "slope": 0.25}, leaky(0.5 * x, 0.25))):
        suite.case(name, 18, [call("Scaled", "x", "y", **given)], {"x": x}, {"y": y.astype("float32")}, functions=[scaled],
                   opsets=[(TORCH, 1)])
    table = suite.floats(3, 4)
    add = function("AddTable", "x", "y", [reference(node("Constant", "", "t"), "value", "table", AttributeProto.TENSOR),
                                          node("Add", "x t", "y")], attributes=["table"])
    outer = function("Outer", "x", "y", [reference(call("AddTable", "x", "y"), "table", "which", AttributeProto.TENSOR)],
                     attributes=["which"], others=[(TORCH, 1)])
    suite.case("attribute_tensor_through_two", 18, [call("Outer", "x", "y", which=tensor(table))], {"x": x}, {"y": x + table},
               functions=[add, outer], opsets=[(TORCH, 1)])
    perm = function("Turn", "x", "y", [reference(node("Transpose", "x", "y"), "perm", "order", AttributeProto.INTS)],
                    attributes=["order"])
    x = suite.floats(2, 3, 4)
    suite.case("attribute_list", 18, [call("Turn", "x", "t", order=[1, 2, 0]), call("Turn", "t", "y")], {"x": x},
               {"y": x.transpose(1, 2, 0).transpose()}, functions=[perm], opsets=[(TORCH, 1)])


def version_cases(suite):
    """Functions of another version of the operators than the model: Softmax was of a matrix, ReduceSum had its axes as attribute."""
    x = suite.floats(2, 3, 4)
    old = function("OldSoftmax", "x", "y", [node("Softmax", "x", "y")], opset=11)
    flat = softmax(x.reshape(2, 12), 1).reshape(x.shape)
    suite.case("older_softmax", 22, [call("OldSoftmax", "x", "s"), node("Softmax", "s", "y")], {"x": x}, {"y": softmax(flat, -1)},
               functions=[old], opsets=[(TORCH, 1)])
    older = function("OldSum", "x", "y", [node("ReduceSum", "x", "y", axes=[1], keepdims=0)], opset=11)
    suite.case("older_reducesum", 21, [call("OldSum", "x", "y")], {"x": x}, {"y": x.sum(1)}, functions=[older], opsets=[(TORCH, 1)])
    newer = function("NewRelu", "x", "y", [node("HardSwish", "x", "y")], opset=14)
    suite.case("newer_than_the_model", 13, [call("NewRelu", "x", "y")], {"x": x}, {"y": (x * numpy.clip(x / 6 + 0.5, 0, 1))},
               functions=[newer], opsets=[(TORCH, 1)])
    own = function("Relu", "x", "y", [node("Clip", "x zero six", "y"), constant("zero", 0), constant("six", 1.5)], domain="")
    suite.case("in_place_of_an_operator", 18, [node("Relu", "x", "y")], {"x": x}, {"y": numpy.clip(x, 0, 1.5)}, functions=[own])


def shape_cases(suite):
    x = suite.floats(3, 4)
    clip = function("Limit", "x low high", "y", [node("Clip", "x low high", "y")])
    for name, inputs, y in (("input_left_out", "x - high", numpy.minimum(x, 1)), ("inputs_left_out", "x", x),
                            ("inputs_given", "x low high", numpy.clip(x, -1, 1))):
        suite.case(name, 18, [call("Limit", inputs, "y")], {"x": x}, {"y": y}, {"low": numpy.float32(-1).reshape(()),
                                                                             "high": numpy.float32(1).reshape(())},
                   functions=[clip], opsets=[(TORCH, 1)])
    parts = function("Parts", "x", "top low x twice",
                     [node("Split", "x", "top low", axis=0), node("Add", "x x", "twice")], opset=17)
    x = suite.floats(4, 3)
    suite.case("outputs_that_are_inputs", 18, [call("Parts", "x", "- low same twice"), node("Concat", "low same twice", "y", axis=0)],
               {"x": x}, {"y": numpy.concatenate([x[2:], x, 2 * x])}, functions=[parts], opsets=[(TORCH, 1)])
    square = function("Square", "x", "y", [node("Mul", "x x", "y")])
    fourth = function("Fourth", "x", "y", [call("Square", "x", "t"), call("Square", "t", "y")], others=[(TORCH, 1)])
    suite.case("one_function_in_many_places", 18, [call("Fourth", "x", "t"), call("Square", "t", "y")], {"x": x}, {"y": x ** 8},
               functions=[fourth, square], opsets=[(TORCH, 1)])


def cases(suite):
    torch_cases(suite)
    attribute_cases(suite)
    version_cases(suite)
    shape_cases(suite)
