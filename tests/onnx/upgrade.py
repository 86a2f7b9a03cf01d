#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""upgrade.py MODEL OPSET OUT: rewrites a model of an older opset for opset 18 or later, as an exporter would write the same network.

Attributes that became inputs turn into initialisers; what a later version asks for is added. An operator that has no rule here is
refused, for its versions may differ in what they compute."""
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

# Between opset 7 and 23 these changed in nothing that a model of theirs would notice.
SAME = set("""Abs Add AveragePool BatchNormalization Cast Concat Constant ConstantOfShape Conv Div Erf Exp Flatten Gather Gemm
GlobalAveragePool GlobalMaxPool Identity LRN LSTM MatMul MaxPool Mul Neg Pow RandomNormal RandomUniform Relu Reshape Shape Sigmoid Sqrt
Sub Sum Tanh Transpose""".split())
REDUCTIONS = ["Reduce" + kind for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()]


class Upgrade:
    def __init__(self, model, opset):
        self.model, self.opset, self.made = model, opset, 0
        self.old = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))

    def attribute(self, node, name, default=None):
        """Takes an attribute away from a node and returns its value."""
        for i, attribute in enumerate(node.attribute):
            if attribute.name == name:
                value = helper.get_attribute_value(attribute)
                del node.attribute[i]
                return value
        return default

    def give(self, node, place, values, dtype):
        """Makes values an initialiser and input `place` of the node."""
        name = f"upgrade_{node.op_type}_{self.made}"
        self.made += 1
        self.model.graph.initializer.append(numpy_helper.from_array(numpy.array(values, dtype), name))
        node.input.extend([""] * (place + 1 - len(node.input)))
        node.input[place] = name

    def axes(self, node, since):
        axes = self.attribute(node, "axes") if self.old < since <= self.opset else None
        if axes is not None:
            self.give(node, 1, axes, "int64")

    def node(self, node):
        op = node.op_type
        if op in REDUCTIONS:
            self.axes(node, 13 if op == "ReduceSum" else 18)
        elif op in ("Squeeze", "Unsqueeze"):
            self.axes(node, 13)
        elif op == "Split":
            self.split(node)
        elif op == "Clip" and self.old < 11:
            for place, name in (1, "min"), (2, "max"):
                value = self.attribute(node, name)
                if value is not None:
                    self.give(node, place, value, "float32")
        elif op == "Dropout" and self.old < 12:
            self.give(node, 1, self.attribute(node, "ratio", 0.5), "float32")
        elif op == "Softmax" and self.old < 13:
            # Along the axis and all behind it before: the same where these have one element, as behind a global pooling.
            node.attribute.append(helper.make_attribute("axis", self.attribute(node, "axis", 1)))
        elif op not in SAME and op not in ("Clip", "Dropout", "Softmax"):
            raise SystemExit(f"upgrade.py: no rule for {op}")

    def split(self, node):
        sizes = self.attribute(node, "split") if self.old < 13 else None
        if sizes is not None:
            self.give(node, 1, sizes, "int64")
        elif len(node.input) < 2:
            node.attribute.append(helper.make_attribute("num_outputs", len(node.output)))

    def run(self):
        if not 7 <= self.old < 18 <= self.opset <= 23:
            raise SystemExit(f"upgrade.py: from opset {self.old} to {self.opset}, expected from 7..17 to 18..23")
        for node in self.model.graph.node:
            self.node(node)
        for imported in self.model.opset_import:
            if imported.domain in ("", "ai.onnx"):
                imported.version = self.opset
        self.model.ir_version = max(self.model.ir_version, 8 if self.opset < 19 else 9 if self.opset < 21 else 10)
        return self.model


def main():
    path, opset, out = sys.argv[1:]
    with open(path, "rb") as file:
        model = onnx.ModelProto.FromString(file.read())
    with open(out, "wb") as file:
        file.write(Upgrade(model, int(opset)).run().SerializeToString())


if __name__ == "__main__":
    main()
