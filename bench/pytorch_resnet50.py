#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ResNet-50 in PyTorch on the GPU, as a user would run it fast: float16, channels last, inference mode, cuDNN's own search for
algorithms, no CUDA graphs. Prints one line with the median time of a batch, which scripts/bench-cuda.sh sets beside the cuda
device's; where torch or a GPU is missing, one line that says so. The network is that of models/resnet50.onnx (v1.5: the stride is in
the 3 x 3 convolution), with random weights.

    python3 bench/pytorch_resnet50.py [--batch 32] [--runs 100]
"""
import argparse
import sys

try:
    import torch
    from torch import nn
except ImportError as reason:
    print(f"PyTorch: skipped, {reason}")
    sys.exit(0)


class Block(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolution beside a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride != 1 or channels != 4 * width:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False),
                                          nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(blocks):
            layers.append(Block(channels, width, 2 if stage and not i else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def milliseconds(model, x, warm, runs):
    """Each batch between two events of the stream, batches one behind the other; sorted."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(runs + 1)]
    with torch.inference_mode():
        for _ in range(warm):
            model(x)
        torch.cuda.synchronize()
        events[0].record()
        for event in events[1:]:
            model(x)
            event.record()
        torch.cuda.synchronize()
    return sorted(a.elapsed_time(b) for a, b in zip(events, events[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print(f"PyTorch: skipped, torch {torch.__version__} sees no GPU")
        return
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    model = resnet50().eval().half().cuda().to(memory_format=torch.channels_last)
    parameters = sum(p.numel() for p in model.parameters())
    if parameters != 25557032:
        raise SystemExit(f"this is not ResNet-50: {parameters} parameters, expected 25557032")
    x = torch.rand(options.batch, 3, 224, 224, device="cuda").half().contiguous(memory_format=torch.channels_last)
    times = milliseconds(model, x, 30, options.runs)
    median = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, "
          f"{torch.cuda.get_device_name()}: ResNet-50, batch {options.batch}, float16, channels last: "
          f"{median:.4f} ms a batch, {options.batch / median * 1e3:.0f} images/s "
          f"(median of {len(times)}, the middle half {times[len(times) // 4]:.4f} to {times[3 * len(times) // 4]:.4f} ms)")


if __name__ == "__main__":
    main()
