#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the six applications of the TPU paper as ONNX files: mlp0, mlp1, lstm0, lstm1, cnn0, cnn1.

Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017, Table 1, gives the number of
layers of each kind, the nonlinear function, the weights to one or two digits and the batch; the layers themselves were
never published. What is built here has those numbers and is otherwise a choice: README.md says which and why.

Weights are RandomNormal nodes, scaled so that values keep their size from layer to layer (He et al., ICCV 2015, before
a ReLU): a file holds a description of its weights and is a few tens of kilobytes at most.

    /usr/bin/python3 models/make_tpu_applications.py [--out DIR]
"""
import argparse
import math
import os

import onnx
from onnx import TensorProto, helper

OPSET = 13
IR_VERSION = 7


class Network:
    """A graph under construction; every method returns the name of the value that it makes."""

    def __init__(self, name):
        self.name = name
        self.nodes = []
        self.inputs = []
        self.outputs = []
        self.seed = 0
        self.width = {}  # of (N, width) values

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def input(self, name, *dims):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *dims]))
        self.width[name] = dims[-1]
        return name

    def output(self, name, value, *dims):
        """Renames the node that makes the value, so that the output has the name wanted."""
        for node in self.nodes:
            node.input[:] = [name if i == value else i for i in node.input]
            node.output[:] = [name if o == value else o for o in node.output]
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", *dims]))

    def weight(self, name, shape, scale, mean=0.0):
        self.seed += 1
        return self.node("RandomNormal", name, [], shape=list(shape), scale=float(scale), mean=float(mean),
                         seed=float(self.seed))

    def relu(self, name, x):
        self.width[name] = self.width.get(x)
        return self.node("Relu", name, [x])

    def fc(self, name, x, inputs, outputs, gain=1.0, bias=0.0):
        w = self.weight(name + ".weight", (outputs, inputs), math.sqrt(gain / inputs))
        b = self.weight(name + ".bias", (outputs,), 0.05, bias)
        self.width[name] = outputs
        return self.node("Gemm", name, [x, w, b], transB=1)

    def conv(self, name, x, inputs, outputs, kernel, stride=1):
        w = self.weight(name + ".weight", (outputs, inputs, kernel, kernel), math.sqrt(2 / (inputs * kernel * kernel)))
        b = self.weight(name + ".bias", (outputs,), 0.05)
        y = self.node("Conv", name, [x, w, b], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                      pads=[kernel // 2] * 4)
        return self.node("Relu", name + ".relu", [y])

    def pool(self, op, name, x, stride):
        return self.node(op, name, [x], kernel_shape=[3, 3], strides=[stride] * 2, pads=[1, 1, 1, 1])

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="npulab")
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))


def mlp(name, widths):
    """Fully connected layers with ReLU between them."""
    net = Network(name)
    x = net.input("x", widths[0])
    last = len(widths) - 1
    for i in range(1, last + 1):
        x = net.fc(f"fc{i}", x, widths[i - 1], widths[i], gain=2.0 if i < last else 1.0)
        if i < last:
            x = net.relu(f"fc{i}.relu", x)
    net.output("y", x, widths[last])
    return net


def lstm_cell(net, k, x, size):
    """One time step of LSTM cell k (Hochreiter and Schmidhuber, 1997, with a forget gate) as four FC layers over [x, h]
    and five element-wise ones; its state comes in and goes out. Returns its output."""
    h, c = net.input(f"h{k}", size), net.input(f"c{k}", size)
    inputs = net.width[x] + size
    both = net.node("Concat", f"cell{k}.x_and_h", [x, h], axis=1)
    gate = {}
    for what, function, bias in (("input", "Sigmoid", 0), ("forget", "Sigmoid", 1), ("candidate", "Tanh", 0),
                                 ("output", "Sigmoid", 0)):
        name = f"cell{k}.{what}"
        gate[what] = net.node(function, f"{name}.{function.lower()}", [net.fc(name, both, inputs, size, 1.0, bias)])
    kept = net.node("Mul", f"cell{k}.kept", [gate["forget"], c])
    written = net.node("Mul", f"cell{k}.written", [gate["input"], gate["candidate"]])
    state = net.node("Add", f"cell{k}.state", [kept, written])
    squashed = net.node("Tanh", f"cell{k}.state.tanh", [state])
    y = net.node("Mul", f"cell{k}.y", [gate["output"], squashed])
    net.output(f"c{k}_next", state, size)
    net.output(f"h{k}_next", y, size)
    net.width[f"h{k}_next"] = size
    return f"h{k}_next"


def lstm0():
    """Six cells of 1024 as in GNMT (Wu et al., 2016): the first also reads a context of 512, from the third on a cell's
    input is added to its output. 6 x 4 FC layers; 6 x 5 + 4 element-wise ones."""
    net = Network("lstm0")
    x = net.input("x", 1024 + 512)
    for k in range(1, 7):
        y = lstm_cell(net, k, x, 1024)
        if k >= 3:
            y = net.node("Add", f"cell{k}.residual", [y, x])
            net.width[y] = 1024
        x = y
    net.output("y", x, 1024)
    return net


def lstm1():
    """Nine cells of 600, and a layer from 600 to 13500: 9 x 4 + 1 FC layers."""
    net = Network("lstm1")
    x = net.input("x", 600)
    for k in range(1, 10):
        x = lstm_cell(net, k, x, 600)
    net.output("y", net.fc("projection", x, 600, 13500), 13500)
    return net


def cnn0():
    """As in AlphaGo's networks (Silver et al., 2016): 48 planes of 19 x 19 points, a 5 x 5 convolution, 3 x 3 ones, then
    1 x 1 ones, all of 256 filters."""
    net = Network("cnn0")
    x = net.input("x", 48, 19, 19)
    x = net.conv("conv1", x, 48, 256, 5)
    for i in range(2, 15):
        x = net.conv(f"conv{i}", x, 256, 256, 3)
    for i in range(15, 17):
        x = net.conv(f"conv{i}", x, 256, 256, 1)
    net.output("y", x, 256, 19, 19)
    return net


# Ioffe and Szegedy, ICML 2015, Figure 5 (BN-Inception): 1x1; 3x3 reduce, 3x3; double 3x3 reduce, double 3x3; pool, its
# projection (0: passed through, stride 2).
INCEPTION = (
    ("3a", 64, 64, 64, 64, 96, "AveragePool", 32),
    ("3b", 64, 64, 96, 64, 96, "AveragePool", 64),
    ("3c", 0, 128, 160, 64, 96, "MaxPool", 0),
    ("4a", 224, 64, 96, 96, 128, "AveragePool", 128),
    ("4b", 192, 96, 128, 96, 128, "AveragePool", 128),
    ("4c", 160, 128, 160, 128, 160, "AveragePool", 96),
    ("4d", 96, 128, 192, 160, 192, "AveragePool", 96),
    ("4e", 0, 128, 192, 192, 256, "MaxPool", 0),
    ("5a", 352, 192, 320, 160, 224, "AveragePool", 128),
    ("5b", 352, 192, 320, 192, 224, "MaxPool", 128),
)


def inception(net, row, x, inputs):
    name, one, reduce3, three, reduce_double, double, pooling, projection = row
    stride = 1 if projection else 2
    parts = [net.conv(f"{name}.1x1", x, inputs, one, 1)] if one else []
    y = net.conv(f"{name}.3x3_reduce", x, inputs, reduce3, 1)
    parts.append(net.conv(f"{name}.3x3", y, reduce3, three, 3, stride))
    y = net.conv(f"{name}.double_reduce", x, inputs, reduce_double, 1)
    y = net.conv(f"{name}.double_1", y, reduce_double, double, 3)
    parts.append(net.conv(f"{name}.double_2", y, double, double, 3, stride))
    y = net.pool(pooling, f"{name}.pool", x, stride)
    parts.append(net.conv(f"{name}.projection", y, inputs, projection, 1) if projection else y)
    return net.node("Concat", f"{name}.joined", parts, axis=1), one + three + double + (projection or inputs)


def cnn1():
    """BN-Inception with its batch normalisations in the convolutions (69 convolutions, 13 pools), three more 1 x 1
    convolutions and four fully connected layers. The last pool, over the whole image, is an output of its own."""
    net = Network("cnn1")
    x = net.input("x", 3, 224, 224)
    x = net.pool("MaxPool", "pool1", net.conv("conv1", x, 3, 64, 7, 2), 2)
    x = net.conv("conv2_reduce", x, 64, 64, 1)
    x = net.pool("MaxPool", "pool2", net.conv("conv2", x, 64, 192, 3), 2)
    channels = 192
    for row in INCEPTION:
        x, channels = inception(net, row, x, channels)
    for i in range(1, 4):
        x = net.conv(f"extra{i}", x, 1024, 1024, 1)
    net.output("embedding", net.node("GlobalAveragePool", "pool3", [x]), 1024, 1, 1)
    x = net.node("Flatten", "flatten", [x])
    widths = (7 * 7 * 1024, 1408, 4096, 2048, 2048)
    for i in range(1, 5):
        x = net.fc(f"fc{i}", x, widths[i - 1], widths[i], gain=2.0 if i < 4 else 1.0)
        if i < 4:
            x = net.relu(f"fc{i}.relu", x)
    net.output("y", x, widths[4])
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)), help="folder to write to")
    out = parser.parse_args().out
    for net in (mlp("mlp0", [2024] * 6), mlp("mlp1", [1200] * 4 + [512]), lstm0(), lstm1(), cnn0(), cnn1()):
        net.save(out)


if __name__ == "__main__":
    main()
