#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes networks that everybody knows as ONNX files: lenet5, alexnet, vgg16, resnet50, mobilenet_v2, lstm_lm, bert_base
and gpt2_small_decode.

Layers are those of the papers, so multiply-accumulates and parameters are too. Weights are not trained: they are
RandomNormal nodes with a seed each, of standard deviation sqrt(2 / inputs) before a ReLU (He et al., ICCV 2015) and
sqrt(1 / inputs) elsewhere, so that values keep their size through the depth and a file needs only describe them.
Batch normalisations are left as nodes, as a framework exports them.

    /usr/bin/python3 models/make_networks.py [--out DIR]
"""
import argparse
import math
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
from make_tpu_applications import Network  # noqa: E402


class PaperNetwork(Network):
    """Network (see there) with the layers of the papers, their options open."""

    def __init__(self, name):
        super().__init__(name)
        self.constants = {}

    def tokens(self, name, length):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, ["N", length]))
        return name

    def constant(self, value, dtype):
        """A constant of the exporter's: a scalar or a list of integers."""
        key = f"{dtype}_{value}".replace(" ", "")
        if key not in self.constants:
            array = np.array(value, {"float": np.float32, "int": np.int64}[dtype])
            self.constants[key] = self.node("Constant", key, [], value=numpy_helper.from_array(array))
        return self.constants[key]

    def op(self, op, name, *inputs, **attributes):
        return self.node(op, name, list(inputs), **attributes)

    def fill(self, name, value, count):
        tensor = numpy_helper.from_array(np.array([value], np.float32))
        return self.node("ConstantOfShape", name, [self.constant([count], "int")], value=tensor)

    def bias(self, name, outputs):
        return self.weight(name, (outputs,), 0.05)

    def norm_gain(self, name, width):
        return self.weight(name, (width,), 0.05, 1.0)

    def window(self, op, name, x, kernel, stride, pad=0, **attributes):
        return self.node(op, name, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, **attributes)

    def convolution(self, name, x, inputs, outputs, kernel, stride=1, groups=1, gain=2.0, bias=True):
        """Padded so that a stride of 1 keeps the size."""
        fan_in = inputs // groups * kernel * kernel
        w = [self.weight(name + ".weight", (outputs, inputs // groups, kernel, kernel), math.sqrt(gain / fan_in))]
        b = [self.bias(name + ".bias", outputs)] if bias else []
        return self.window("Conv", name, [x] + w + b, kernel, stride, kernel // 2, group=groups)

    def normalised(self, name, x, inputs, outputs, kernel, stride=1, groups=1, gain=2.0, scale=1.0, prefix="bn"):
        """A convolution without bias and its batch normalisation, whose running statistics are those of values of mean 0
        and variance 1, as the convolution makes them."""
        y = self.convolution(name, x, inputs, outputs, kernel, stride, groups, gain, bias=False)
        bn = name.replace("conv", prefix) if "conv" in name else f"{name}.{prefix}"
        parameters = [self.fill(f"{bn}.{what}", value, outputs) for what, value in
                      (("weight", scale), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0))]
        return self.node("BatchNormalization", bn, [y] + parameters, epsilon=1e-5)

    def linear(self, name, x, inputs, outputs, gain=1.0):
        """MatMul and Add, as exporters write a dense layer over sequences."""
        w = self.weight(name + ".weight", (inputs, outputs), math.sqrt(gain / inputs))
        return self.op("Add", name, self.op("MatMul", name + ".product", x, w), self.bias(name + ".bias", outputs))

    def embedding(self, name, ids, rows, width, scale):
        return self.op("Gather", name, self.weight(name + ".weight", (rows, width), scale), ids, axis=0)

    def layer_norm(self, name, x, width, epsilon):
        """As exported below opset 17."""
        centred = self.op("Sub", name + ".centred", x, self.op("ReduceMean", name + ".mean", x, axes=[-1], keepdims=1))
        square = self.op("Pow", name + ".square", centred, self.constant(2.0, "float"))
        variance = self.op("ReduceMean", name + ".variance", square, axes=[-1], keepdims=1)
        sum_ = self.op("Add", name + ".variance_epsilon", variance, self.constant(epsilon, "float"))
        y = self.op("Div", name + ".normal", centred, self.op("Sqrt", name + ".deviation", sum_))
        y = self.op("Mul", name + ".scaled", y, self.norm_gain(name + ".weight", width))
        return self.op("Add", name, y, self.bias(name + ".bias", width))

    def heads(self, name, x, heads, size, *order):
        """(N, length, width) in heads, dimensions then in this order."""
        x = self.op("Reshape", name + ".split", x, self.constant([0, 0, heads, size], "int"))
        return self.op("Transpose", name + ".heads", x, perm=list(order))

    def attend(self, name, query, key, value, size, width, mask=None):
        """softmax(query key / sqrt(size) + mask) value, heads joined again; key is transposed."""
        scores = self.op("MatMul", name + ".scores", query, key)
        scores = self.op("Div", name + ".scaled_scores", scores, self.constant(math.sqrt(size), "float"))
        if mask:
            scores = self.op("Add", name + ".masked_scores", scores, mask)
        y = self.op("MatMul", name + ".context", self.op("Softmax", name + ".softmax", scores, axis=-1), value)
        y = self.op("Transpose", name + ".context_rows", y, perm=[0, 2, 1, 3])
        return self.op("Reshape", name + ".joined", y, self.constant([0, 0, width], "int"))


def lenet5():
    """LeCun et al., 1998, section II.B, as it is usually drawn: a 28 x 28 image padded to 32 x 32, plain averages where the
    paper has a trained factor and offset, all maps joined in the second convolution, ten outputs instead of distances."""
    net = PaperNetwork("lenet5")
    gain = 25 / 9  # of a tanh, whose slope falls with the size of its input
    x = net.input("image", 1, 28, 28)
    x = net.op("Tanh", "tanh1", net.convolution("conv1", x, 1, 6, 5, gain=gain))
    x = net.window("AveragePool", "pool1", [x], 2, 2)
    w = net.weight("conv2.weight", (16, 6, 5, 5), math.sqrt(gain / 150))
    x = net.op("Tanh", "tanh2", net.window("Conv", "conv2", [x, w, net.bias("conv2.bias", 16)], 5, 1))
    x = net.op("Flatten", "flatten", net.window("AveragePool", "pool2", [x], 2, 2))
    x = net.op("Tanh", "tanh3", net.fc("fc1", x, 400, 120, gain))
    x = net.op("Tanh", "tanh4", net.fc("fc2", x, 120, 84, gain))
    net.output("logits", net.fc("fc3", x, 84, 10), 10)
    return net


def dense_end(net, x, inputs):
    """The three dense layers that AlexNet and VGG end with."""
    x = net.op("Flatten", "flatten", x)
    x = net.relu("relu_fc6", net.fc("fc6", x, inputs, 4096, 2.0))
    x = net.relu("relu_fc7", net.fc("fc7", x, 4096, 4096, 2.0))
    net.output("logits", net.fc("fc8", x, 4096, 1000), 1000)
    return net


def alexnet():
    """Krizhevsky et al., NIPS 2012: on two GPUs then, so three convolutions are in two groups. 227 x 227 is what the 55 x 55
    of its first layer takes. ONNX's alpha is of a mean, the paper's of a sum over 5: 5 x 1e-4."""
    net = PaperNetwork("alexnet")
    x = net.input("image", 3, 227, 227)
    w = net.weight("conv1.weight", (96, 3, 11, 11), math.sqrt(2 / 363))
    x = net.relu("relu1", net.window("Conv", "conv1", [x, w, net.bias("conv1.bias", 96)], 11, 4))
    norm = {"size": 5, "alpha": 5e-4, "beta": 0.75, "bias": 2.0}
    x = net.window("MaxPool", "pool1", [net.op("LRN", "norm1", x, **norm)], 3, 2)
    x = net.relu("relu2", net.convolution("conv2", x, 96, 256, 5, groups=2))
    x = net.window("MaxPool", "pool2", [net.op("LRN", "norm2", x, **norm)], 3, 2)
    x = net.relu("relu3", net.convolution("conv3", x, 256, 384, 3))
    x = net.relu("relu4", net.convolution("conv4", x, 384, 384, 3, groups=2))
    x = net.relu("relu5", net.convolution("conv5", x, 384, 256, 3, groups=2))
    return dense_end(net, net.window("MaxPool", "pool5", [x], 3, 2), 256 * 6 * 6)


def vgg16():
    """Simonyan and Zisserman, ICLR 2015, Table 1, column D."""
    net = PaperNetwork("vgg16")
    x, channels = net.input("image", 3, 224, 224), 3
    for block, (count, width) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for i in range(1, count + 1):
            x = net.relu(f"relu{block}_{i}", net.convolution(f"conv{block}_{i}", x, channels, width, 3))
            channels = width
        x = net.window("MaxPool", f"pool{block}", [x], 2, 2)
    return dense_end(net, x, 512 * 7 * 7)


def image_end(net, x, channels, name):
    x = net.op("Flatten", "flatten", net.op("GlobalAveragePool", "avgpool", x))
    net.output("logits", net.fc(name, x, channels, 1000), 1000)
    return net


def resnet50():
    """He et al., CVPR 2016, Table 1, with the stride in the 3 x 3 convolution (v1.5). The last normalisation of a block
    halves its values: sixteen sums would otherwise make them grow."""
    net = PaperNetwork("resnet50")
    x = net.input("image", 3, 224, 224)
    x = net.relu("relu", net.normalised("conv1", x, 3, 64, 7, 2))
    x, channels = net.window("MaxPool", "maxpool", [x], 3, 2, 1), 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for i in range(blocks):
            name, stride = f"layer{stage}.{i}", 2 if stage > 1 and i == 0 else 1
            y = net.relu(f"{name}.relu1", net.normalised(f"{name}.conv1", x, channels, width, 1))
            y = net.relu(f"{name}.relu2", net.normalised(f"{name}.conv2", y, width, width, 3, stride))
            y = net.normalised(f"{name}.conv3", y, width, 4 * width, 1, gain=1.0, scale=0.5)
            if i == 0:
                x = net.normalised(f"{name}.downsample", x, channels, 4 * width, 1, stride, gain=1.0)
            channels = 4 * width
            x = net.relu(f"{name}.relu3", net.op("Add", f"{name}.add", y, x))
    return image_end(net, x, channels, "fc")


def mobilenet_v2():
    """Sandler et al., CVPR 2018, Table 2, width 1: 1 x 1 convolution to t times the channels, depthwise 3 x 3, 1 x 1
    convolution without a ReLU6."""
    net = PaperNetwork("mobilenet_v2")

    def block(name, x, *shape, **options):
        y = net.normalised(name, x, *shape, **options)
        return net.op("Clip", f"{name}.relu6", y, net.constant(0.0, "float"), net.constant(6.0, "float"))

    x, channels = block("features.0.conv", net.input("image", 3, 224, 224), 3, 32, 3, 2), 32
    at = 1
    for t, width, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                   (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            name, inner = f"features.{at}", t * channels
            y = block(f"{name}.expand.conv", x, channels, inner, 1) if t > 1 else x
            y = block(f"{name}.depthwise.conv", y, inner, inner, 3, stride=1 if i else first, groups=inner)
            y = net.normalised(f"{name}.project.conv", y, inner, width, 1, gain=1.0, scale=0.5 if i else 1.0)
            x = net.op("Add", f"{name}.add", x, y) if i else y
            channels, at = width, at + 1
    x = block(f"features.{at}.conv", x, channels, 1280, 1)
    return image_end(net, x, 1280, "classifier")


def lstm_lm():
    """A word model as Zaremba et al., 2014: embedding, two LSTM layers, a layer to the vocabulary of the Penn Treebank. Their
    small one has 200 units and 20 steps, their medium one 650 and 35; this has 512 and 32."""
    net = PaperNetwork("lstm_lm")
    words, size, length = 10000, 512, 32
    x = net.embedding("embedding", net.tokens("tokens", length), words, size, 1.0)
    x = net.op("Transpose", "steps_first", x, perm=[1, 0, 2])
    for i in (1, 2):
        name, scale = f"lstm{i}", math.sqrt(1 / size)
        w = net.weight(f"{name}.weight", (1, 4 * size, size), scale)
        r = net.weight(f"{name}.recurrence", (1, 4 * size, size), scale)
        y = net.op("LSTM", name, x, w, r, net.weight(f"{name}.bias", (1, 8 * size), 0.05), hidden_size=size)
        x = net.op("Squeeze", f"{name}.rows", y, net.constant([1], "int"))
    x = net.op("Transpose", "batch_first", x, perm=[1, 0, 2])
    net.output("logits", net.linear("decoder", x, size, words), length, words)
    return net


def bert_layer(net, name, x, mask, width, heads):
    """Post-norm encoder layer (Vaswani et al., 2017), GELU as exported: x / 2 (1 + erf(x / sqrt 2))."""
    size = width // heads
    orders = {"query": (0, 2, 1, 3), "key": (0, 2, 3, 1), "value": (0, 2, 1, 3)}
    parts = [net.heads(f"{name}.attention.{what}", net.linear(f"{name}.attention.{what}", x, width, width), heads, size,
                       *order) for what, order in orders.items()]
    y = net.linear(f"{name}.attention.output", net.attend(f"{name}.attention", *parts, size, width, mask), width, width)
    x = net.layer_norm(f"{name}.attention.norm", net.op("Add", f"{name}.attention.add", y, x), width, 1e-12)
    y = net.linear(f"{name}.intermediate", x, width, 4 * width)
    erf = net.op("Erf", f"{name}.gelu.erf", net.op("Div", f"{name}.gelu.div", y, net.constant(math.sqrt(2), "float")))
    y = net.op("Mul", f"{name}.gelu.mul", y, net.op("Add", f"{name}.gelu.add", erf, net.constant(1.0, "float")))
    y = net.op("Mul", f"{name}.gelu", y, net.constant(0.5, "float"))
    y = net.linear(f"{name}.output", y, 4 * width, width, 2.0)
    return net.layer_norm(f"{name}.output.norm", net.op("Add", f"{name}.output.add", y, x), width, 1e-12)


def bert_base():
    """Devlin et al., NAACL 2019: 12 layers, 768 wide, 12 heads, with the pooler and no task on top; sequences of 128."""
    net = PaperNetwork("bert_base")
    length, width, heads = 128, 768, 12
    ids, attend, kinds = (net.tokens(name, length) for name in ("input_ids", "attention_mask", "token_type_ids"))
    mask = net.op("Unsqueeze", "mask.rows", attend, net.constant([1, 2], "int"))
    mask = net.op("Sub", "mask.inverse", net.constant(1.0, "float"),
                  net.op("Cast", "mask.float", mask, to=TensorProto.FLOAT))
    mask = net.op("Mul", "mask", mask, net.constant(-10000.0, "float"))
    positions = net.constant([list(range(length))], "int")
    x = net.op("Add", "embeddings.words_and_kinds", net.embedding("embeddings.word", ids, 30522, width, 1.0),
               net.embedding("embeddings.token_type", kinds, 2, width, 1.0))
    x = net.op("Add", "embeddings.sum", x, net.embedding("embeddings.position", positions, 512, width, 1.0))
    x = net.layer_norm("embeddings.norm", x, width, 1e-12)
    for i in range(12):
        x = bert_layer(net, f"encoder.{i}", x, mask, width, heads)
    first = net.op("Gather", "pooler.first_token", x, net.constant(0, "int"), axis=1)
    pooled = net.op("Tanh", "pooler.tanh", net.fc("pooler", first, width, width))
    net.output("last_hidden_state", x, length, width)
    net.output("pooler_output", pooled, width)
    return net


def gpt2_layer(net, i, x, width, heads, past):
    """Pre-norm decoder layer for one more word; GELU by tanh. What goes into the sum is scaled down by the square root of
    the layers' number, as in the paper."""
    name, size = f"h.{i}", width // heads
    y = net.linear(f"{name}.attention.qkv", net.layer_norm(f"{name}.norm1", x, width, 1e-5), width, 3 * width)
    parts = [f"{name}.attention.{what}" for what in ("query", "key", "value")]
    net.nodes.append(helper.make_node("Split", [y], parts, name=f"{name}.attention.parts", axis=2))
    query, *fresh = (net.heads(part, part, heads, size, 0, 2, 1, 3) for part in parts)
    present = []
    for what, value in zip(("key", "value"), fresh):
        before = net.input(f"past.{i}.{what}", heads, past, size)
        net.op("Concat", f"present.{i}.{what}", before, value, axis=2)
        net.output(f"present.{i}.{what}", f"present.{i}.{what}", heads, past + 1, size)
        present.append(f"present.{i}.{what}")
    key = net.op("Transpose", f"{name}.attention.key_columns", present[0], perm=[0, 1, 3, 2])
    y = net.attend(f"{name}.attention", query, key, present[1], size, width)
    x = net.op("Add", f"{name}.attention.add", x, net.linear(f"{name}.attention.output", y, width, width, 1 / 24))
    y = net.linear(f"{name}.mlp.fc", net.layer_norm(f"{name}.norm2", x, width, 1e-5), width, 4 * width)
    cube = net.op("Mul", f"{name}.gelu.part", net.op("Pow", f"{name}.gelu.cube", y, net.constant(3.0, "float")),
                  net.constant(0.044715, "float"))
    inner = net.op("Mul", f"{name}.gelu.inner", net.op("Add", f"{name}.gelu.sum", y, cube),
                   net.constant(math.sqrt(2 / math.pi), "float"))
    y = net.op("Mul", f"{name}.gelu.mul", y, net.op("Add", f"{name}.gelu.add", net.op("Tanh", f"{name}.gelu.tanh", inner),
                                                     net.constant(1.0, "float")))
    y = net.op("Mul", f"{name}.gelu", y, net.constant(0.5, "float"))
    return net.op("Add", f"{name}.mlp.add", x, net.linear(f"{name}.mlp.output", y, 4 * width, width, 2 / 24))


def gpt2_small_decode():
    """Radford et al., 2019, the smallest: 12 layers, 768 wide, 12 heads. One word after 128 whose keys and values are
    given. The table of the words is the last layer's matrix too."""
    net = PaperNetwork("gpt2_small_decode")
    words, width, heads, past = 50257, 768, 12, 128
    ids, places = net.tokens("input_ids", 1), net.tokens("position_ids", 1)
    x = net.op("Add", "embeddings", net.embedding("wte", ids, words, width, math.sqrt(1 / width)),
               net.embedding("wpe", places, 1024, width, 0.02))
    for i in range(12):
        x = gpt2_layer(net, i, x, width, heads, past)
    x = net.layer_norm("norm", x, width, 1e-5)
    x = net.op("Reshape", "norm.rows", x, net.constant([-1, width], "int"))
    net.output("logits", net.op("Gemm", "lm_head", x, "wte.weight", transB=1), words)
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)), help="folder to write to")
    out = parser.parse_args().out
    for make in (lenet5, alexnet, vgg16, resnet50, mobilenet_v2, lstm_lm, bert_base, gpt2_small_decode):
        make().save(out)


if __name__ == "__main__":
    main()
