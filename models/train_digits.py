#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains the shipped digits network and writes it with its data.

Written next to this script, or into the folder given with --out:
  digits.onnx               the network, batch normalisation kept as nodes
  digits_test_images.npy    float32 (360,1,8,8), pixels 0..1
  digits_test_labels.npy    int64 (360)
  digits_calibration.npy    float32 (120,1,8,8), from the training split

    image (N,1,8,8)
      conv1 3x3 1->16    bn1 relu1
      conv2 3x3 16->32   bn2 relu2   pool1 2x2
      conv3 3x3 32->64       relu3   pool2 2x2
      flatten   fc1 256->64  relu4   fc2 64->10
    logits (N,10)

The 1797 images are split once: 360 test, 143 validation, 1294 training. The
validation images choose the epoch that is kept; the test images are looked at
once, at the end. Two runs on one machine give identical bytes.

Needs Debian's python3-numpy, python3-sklearn, python3-torch and python3-onnx.
Nothing is downloaded: scikit-learn carries the images.
"""
import os

# Sums of floats depend on how they are divided among threads. The libraries
# read these when loaded, so they are set before the imports.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import copy

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 1998
TEST_IMAGES = 360
VALIDATION_IMAGES = 143         # a tenth of what is left
CALIBRATION_PER_CLASS = 12      # 120 images: one batch of digits.yaml
EPOCHS = 100
BATCH = 64
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-2
LABEL_SMOOTHING = 0.05
OPSET = 13
IR_VERSION = 7                  # the oldest that knows opset 13

ATTRIBUTION = (
    "Trained on Optical Recognition of Handwritten Digits, E. Alpaydin and "
    "C. Kaynak (1998), UCI Machine Learning Repository, "
    "https://doi.org/10.24432/C50P49, licensed CC BY 4.0. "
    "Pixels were scaled from 0..16 to 0..1.")


# ---- data ----

def load_splits():
    """Returns {name: (images (n,1,8,8) float32 in 0..1, labels (n) int64)}."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, np.newaxis]
    labels = digits.target.astype(np.int64)
    rest_x, test_x, rest_y, test_y = train_test_split(
        images, labels, test_size=TEST_IMAGES, random_state=SEED,
        stratify=labels)
    train_x, val_x, train_y, val_y = train_test_split(
        rest_x, rest_y, test_size=VALIDATION_IMAGES, random_state=SEED,
        stratify=rest_y)
    return {"train": (train_x, train_y), "validation": (val_x, val_y),
            "test": (test_x, test_y)}


def pick_calibration(images, labels):
    """The first few of each class, ordered 0..9, 0..9, ... so that any leading
    part of the file is balanced too."""
    per_class = [np.flatnonzero(labels == c)[:CALIBRATION_PER_CLASS]
                 for c in range(10)]
    return images[np.stack(per_class, axis=1).reshape(-1)]


# ---- network and training ----

class DigitsNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # A bias in front of a batch normalisation would be cancelled by it.
        self.conv1 = torch.nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(16)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(32)
        self.conv3 = torch.nn.Conv2d(32, 64, 3, padding=1)
        self.fc1 = torch.nn.Linear(256, 64)
        self.fc2 = torch.nn.Linear(64, 10)

    def forward(self, x):                               # (n,1,8,8)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.max_pool2d(x, 2)                          # (n,32,4,4)
        x = F.max_pool2d(F.relu(self.conv3(x)), 2)      # (n,64,2,2)
        x = F.dropout(x.flatten(1), 0.3, self.training)
        return self.fc2(F.relu(self.fc1(x)))


def distort(images):
    """Each image (n,1,8,8) slightly turned, stretched, slanted and moved.

    The digits fill all 8 rows, so moving them by whole pixels cuts them off:
    in five-fold validation over 60 epochs that gave 98.9 %, this 99.6 %.
    """
    def uniform(limit):
        return (torch.rand(len(images)) * 2 - 1) * limit

    angle, slant = uniform(0.17), uniform(0.15)         # radians, shear
    wide, high = 1 + uniform(0.1), 1 + uniform(0.1)
    right, down = uniform(0.25), uniform(0.15)          # 1 is 4 pixels
    row_x = torch.stack([wide * angle.cos(), slant - angle.sin(), right], dim=1)
    row_y = torch.stack([angle.sin(), high * angle.cos(), down], dim=1)
    grid = F.affine_grid(torch.stack([row_x, row_y], dim=1), images.shape,
                         align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def make_optimizer(net):
    """AdamW. Only weights decay: that keeps the channels' ranges close together
    for int8, while decayed batch normalisation would shrink whole channels."""
    weights = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() == 1]
    return torch.optim.AdamW([
        {"params": weights, "weight_decay": WEIGHT_DECAY},
        {"params": others, "weight_decay": 0.0}], lr=LEARNING_RATE)


def train(net, splits):
    """Trains and leaves net with the weights of the best validation epoch."""
    x, y = map(torch.from_numpy, splits["train"])
    val_x, val_y = map(torch.from_numpy, splits["validation"])
    optimizer = make_optimizer(net)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    best_loss, best_epoch, best_state = float("inf"), 0, None
    for epoch in range(1, EPOCHS + 1):
        net.train()
        # Whole batches only: a batch of a few images has poor statistics.
        for pick in torch.randperm(len(x))[:len(x) // BATCH * BATCH].split(BATCH):
            # Smoothed labels keep the logits, and so the int8 step, small.
            loss = F.cross_entropy(net(distort(x[pick])), y[pick],
                                   label_smoothing=LABEL_SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        net.eval()
        with torch.no_grad():
            val_loss = F.cross_entropy(net(val_x), val_y,
                                       label_smoothing=LABEL_SMOOTHING).item()
        if val_loss < best_loss:
            best_loss, best_epoch = val_loss, epoch
            best_state = copy.deepcopy(net.state_dict())
    net.load_state_dict(best_state)
    print(f"kept epoch {best_epoch} of {EPOCHS}, validation loss {best_loss:.4f}")


def accuracy(logits, labels):
    return float((logits.argmax(1) == labels).mean())


def torch_logits(net, images):
    with torch.no_grad():
        return net(torch.from_numpy(images)).numpy()


# ---- ONNX ----

def make_nodes():
    """The graph as ONNX nodes, each named after its layer, each output after
    its node."""
    def node(op, name, inputs, output=None, **attributes):
        return helper.make_node(op, inputs, [output or name], name=name,
                                **attributes)

    def conv(name, x, bias):
        inputs = [x, name + ".weight"] + ([name + ".bias"] if bias else [])
        return node("Conv", name, inputs, kernel_shape=[3, 3],
                    pads=[1, 1, 1, 1], strides=[1, 1])

    def batch_norm(name, x):
        inputs = [x] + [f"{name}.{p}" for p in ("scale", "bias", "mean", "var")]
        return node("BatchNormalization", name, inputs, epsilon=1e-5)

    def pool(name, x):
        return node("MaxPool", name, [x], kernel_shape=[2, 2], strides=[2, 2])

    def gemm(name, x, output=None):
        return node("Gemm", name, [x, name + ".weight", name + ".bias"], output,
                    transB=1)

    return [
        conv("conv1", "image", bias=False),
        batch_norm("bn1", "conv1"),
        node("Relu", "relu1", ["bn1"]),
        conv("conv2", "relu1", bias=False),
        batch_norm("bn2", "conv2"),
        node("Relu", "relu2", ["bn2"]),
        pool("pool1", "relu2"),
        conv("conv3", "pool1", bias=True),
        node("Relu", "relu3", ["conv3"]),
        pool("pool2", "relu3"),
        node("Flatten", "flatten", ["pool2"], axis=1),
        gemm("fc1", "flatten"),
        node("Relu", "relu4", ["fc1"]),
        gemm("fc2", "relu4", output="logits"),
    ]


def make_initializers(net):
    """The trained tensors under the names that make_nodes uses."""
    tensors = []
    for key, value in net.state_dict().items():
        layer, field = key.split(".")
        if field == "num_batches_tracked":
            continue
        if layer.startswith("bn"):
            field = {"weight": "scale", "running_mean": "mean",
                     "running_var": "var"}.get(field, field)
        tensors.append(numpy_helper.from_array(value.numpy(), f"{layer}.{field}"))
    return tensors


def make_model(net):
    graph = helper.make_graph(
        make_nodes(), "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])],
        make_initializers(net))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION, producer_name="npulab models/train_digits.py",
        doc_string="Handwritten digits, 8x8 pixels in 0..1. " + ATTRIBUTION)
    onnx.checker.check_model(model)
    # The declared shapes must agree with those the operators imply.
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return model


# ---- check: a second evaluation of the written file, sharing nothing with torch ----

def np_conv(x, attributes, w, b=None):
    """x (n,c,h,w), w (m,c,3,3), padding 1, stride 1."""
    assert attributes["pads"] == [1, 1, 1, 1] and attributes["strides"] == [1, 1]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    y = np.einsum("nchwij,mcij->nmhw", windows, w, optimize=True)
    return y if b is None else y + b[:, np.newaxis, np.newaxis]


def np_batch_norm(x, attributes, scale, bias, mean, var):
    scale, bias, mean, var = (v[:, np.newaxis, np.newaxis]
                              for v in (scale, bias, mean, var))
    return (x - mean) / np.sqrt(var + attributes["epsilon"]) * scale + bias


def np_max_pool(x, attributes):
    assert attributes["kernel_shape"] == attributes["strides"] == [2, 2]
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


NP_OPS = {
    "Conv": np_conv,
    "BatchNormalization": np_batch_norm,
    "Relu": lambda x, attributes: np.maximum(x, 0),
    "MaxPool": np_max_pool,
    "Flatten": lambda x, attributes: x.reshape(len(x), -1),
    "Gemm": lambda x, attributes, w, b: x @ w.T + b,
}


def evaluate(model, images):
    """Runs an ONNX model of the operators above in numpy."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values["image"] = images
    for node in model.graph.node:
        x, *parameters = (values[name] for name in node.input)
        attributes = {a.name: helper.get_attribute_value(a)
                      for a in node.attribute}
        values[node.output[0]] = NP_OPS[node.op_type](x, attributes, *parameters)
    return values["logits"]


# ---- main ----

def save_npy(path, array):
    with open(path, "wb") as f:
        np.lib.format.write_array(f, np.ascontiguousarray(array), version=(1, 0))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description="Train the shipped digits network and write it with its data.")
    parser.add_argument("--out", default=here, metavar="DIR",
                        help="where to write (default: beside this script)")
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)

    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)

    splits = load_splits()
    net = DigitsNet()
    train(net, splits)
    for name, (images, labels) in splits.items():
        print(f"{name:10} {len(labels):5} images, accuracy "
              f"{100 * accuracy(torch_logits(net, images), labels):.2f} %")

    images, labels = splits["test"]
    onnx_path = os.path.join(out, "digits.onnx")
    onnx.save(make_model(net), onnx_path)
    save_npy(os.path.join(out, "digits_test_images.npy"), images)
    save_npy(os.path.join(out, "digits_test_labels.npy"), labels)
    save_npy(os.path.join(out, "digits_calibration.npy"),
             pick_calibration(*splits["train"]))

    error = np.abs(evaluate(onnx.load(onnx_path), images)
                   - torch_logits(net, images)).max()
    print(f"digits.onnx in numpy against torch: largest difference {error:.1e}")
    if error > 1e-4:
        raise SystemExit("train_digits.py: the written network does not compute "
                         "what was trained (difference above 1e-4)")


if __name__ == "__main__":
    main()
