#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The model of a processor (sim/processor/) beside this computer's: 30 operators that the modelled host runs most, each on the device `cpu`
and on a machine file with this computer's figures. The figures come from a calibration by other operators: 1 and all threads, sizes
that lie in each cache and in memory. Prints each ratio of measured to modelled time, and how many lie within a factor of 1.5. On a quiet
computer only.

    bench/host_model.py [build/npulab]
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LIMIT = 1.5
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/npulab")
THREADS = int(os.environ.get("THREADS", len(os.sched_getaffinity(0))))
LARGE = 4 << 20  # values: 16 MiB of float32


def model(path, op, inputs, output, constants=(), **attributes):
    """One node; inputs are shapes, constants arrays that follow them."""
    names = [f"x{i}" for i in range(len(inputs))]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, inputs)]
    stored = [numpy_helper.from_array(np.asarray(c), f"c{i}") for i, c in enumerate(constants)]
    node = helper.make_node(op, names + [c.name for c in stored], ["y"], name="node", **attributes)
    kind = TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT
    graph = helper.make_graph([node], op, values, [helper.make_tensor_value_info("y", kind, output)], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


RUNS = 3  # of each measurement, whose median counts


def seconds(path, device, *more):
    """Of the node alone."""
    return statistics.median(seconds_once(path, device, *more) for _ in range(RUNS if device == "cpu" else 1))


def seconds_once(path, device, *more):
    command = [PROGRAM, "compare", path, "--devices", device, "--no-accuracy", "--quiet", "--json", "-", *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return sum(layer["seconds"] for layer in json.loads(done.stdout)["devices"][0]["layers"])


class Probe:
    """Runs single operators of the calibration."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "probe.onnx")

    def time(self, op, n, threads, **attributes):
        model(self.path, op, [[1, n]], [1, n], **attributes)
        return seconds(self.path, "cpu", "--threads", str(threads))

    def scattered_per_second(self):
        n = 1 << 22
        model(self.path, "SpaceToDepth", [[1, 64, 256, 256]], [1, 256, 128, 128], blocksize=2)
        return n / seconds(self.path, "cpu", "--threads", str(THREADS))

    def reduced_per_second(self):
        n = 1 << 22
        model(self.path, "ReduceSum", [[1, 4096, 1024]], [1, 4096, 1], [np.array([2])])
        return n / seconds(self.path, "cpu", "--threads", str(THREADS))

    def products_per_second(self, m):
        model(self.path, "Gemm", [[m, m]], [m, m], [np.ones((m, m), np.float32)])
        return m**3 / seconds(self.path, "cpu", "--threads", str(THREADS))


# Steps of the functions of the calibration, as sim/processor/counts.c counts them; none divides besides.
FUNCTIONS = {"Log": 16, "Elu": 12, "Softplus": 28}


def calibrate(probe):
    """The figures of a machine file, by key. Classes are timed on all threads, at sizes where waking these counts for nothing; what vectors do in
    a cycle on one, on values in the first cache."""
    clock, lanes = clock_hz(), 8
    overhead = probe.time("Neg", 16, 1)

    def per_second(op, n, threads):
        return n / max(probe.time(op, n, threads) - overhead, 1e-9)

    def per_cycle(op, steps=1, n=LARGE, threads=THREADS):
        return steps * per_second(op, n, threads) / threads / clock / lanes

    one, every = {}, {}
    for name, n in (("private", 1 << 15), ("shared", 1 << 20), ("memory", LARGE)):
        one[name] = 8 * per_second("Neg", n, 1)
        every[name] = max(8 * per_second("Neg", n, THREADS), one[name])
    steps = [1 / per_cycle(op, count) for op, count in FUNCTIONS.items()]
    return {
        "cores": THREADS,
        "clock_hz": clock,
        "macs_per_cycle.f32": probe.products_per_second(512) / THREADS / clock,
        "vectors.lanes": lanes,
        "vectors.simple_per_cycle": per_cycle("Neg", n=1 << 12, threads=1),
        "vectors.divide_per_cycle": per_cycle("Reciprocal", n=1 << 12, threads=1),
        "vectors.function_per_cycle": 1 / statistics.mean(steps),
        "vectors.reduce_per_cycle": probe.reduced_per_second() / THREADS / clock / lanes,
        "scattered_per_cycle": probe.scattered_per_second() / THREADS / clock,
        "private_cache.bytes": cache_bytes(2),
        "private_cache.bytes_per_second": one["private"],
        "shared_cache.bytes": cache_bytes(3) / 2,
        "shared_cache.bytes_per_second": every["shared"],
        "shared_cache.core_bytes_per_second": one["shared"],
        "memory.bytes_per_second": every["memory"],
        "memory.core_bytes_per_second": one["memory"],
        "overhead_seconds": overhead,
        "fork_join_seconds": max(probe.time("Neg", 1 << 12, THREADS) - probe.time("Neg", 1 << 12, 1), 0),
    }


def clock_hz():
    """Cycles per second while this thread is at work."""
    with open("/proc/cpuinfo", encoding="ascii") as f:
        return max(float(line.split(":")[1]) for line in f if line.startswith("cpu MHz")) * 1e6


def cache_bytes(level):
    for index in range(8):
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}/"
        try:
            with open(folder + "level", encoding="ascii") as f:
                if int(f.read()) != level:
                    continue
            with open(folder + "size", encoding="ascii") as f:
                return int(f.read().strip().rstrip("K")) * 1024
        except OSError:
            break
    return {2: 512 << 10, 3: 8 << 20}[level]


def machine_file(path, figures):
    """Dotted keys as nested mappings."""
    tree = {}
    for key, value in figures.items():
        at = tree
        *folders, last = key.split(".")
        for name in folders:
            at = at.setdefault(name, {})
        at[last] = value
    lines = ["name: calibrated", "driver: processor"]

    def put(mapping, indent):
        for key, value in mapping.items():
            if isinstance(value, dict):
                lines.append(" " * indent + f"{key}:")
                put(value, indent + 2)
            else:
                lines.append(" " * indent + f"{key}: {value:.9g}")

    put(tree, 0)
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


def operators():
    """Name, shapes of inputs, shape of the result, constants behind them, attributes: each some milliseconds."""
    flat, rows, image = [1, LARGE], [1, 4096, 1024], [1, 64, 256, 256]
    for op in "Add Mul Sub Div".split():
        yield op, [flat, flat], flat, [], {}
    for op in "Relu Sqrt Exp Erf Tanh Sigmoid Gelu HardSwish LeakyRelu".split():
        yield op, [flat], flat, [], {}
    yield "Clip", [flat], flat, [np.float32(-0.5), np.float32(0.5)], {}
    yield "Pow", [flat], flat, [np.float32(2)], {}
    yield "Softmax", [rows], rows, [], {"axis": -1}
    yield "LayerNormalization", [rows], rows, [np.ones(1024, np.float32), np.zeros(1024, np.float32)], {}
    yield "InstanceNormalization", [image], image, [np.ones(64, np.float32), np.zeros(64, np.float32)], {}
    yield "ReduceMean", [rows], [1, 4096, 1], [np.array([2])], {}
    yield "ArgMax", [rows], [1, 4096, 1], [], {"axis": 2}
    yield "MaxPool", [image], [1, 64, 128, 128], [], {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield "AveragePool", [image], [1, 64, 128, 128], [], {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield "GlobalAveragePool", [image], [1, 64, 1, 1], [], {}
    yield "LRN", [image], image, [], {"size": 5}
    yield "Transpose", [rows], [1, 1024, 4096], [], {"perm": [0, 2, 1]}
    yield "Concat", [rows, rows], [1, 8192, 1024], [], {"axis": 1}
    yield "Slice", [rows], [1, 4096, 512], [np.array([0]), np.array([512]), np.array([2])], {}
    yield "Gather", [rows], [1, 2048, 1024], [np.arange(0, 4096, 2)], {"axis": 1}
    yield "Resize", [image], [1, 64, 512, 512], [np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)], {"mode": "nearest"}
    yield "MatMul", [[12, 512, 64], [12, 64, 512]], [12, 512, 512], [], {}


def main():
    with tempfile.TemporaryDirectory() as folder:
        figures = calibrate(Probe(folder))
        for key, value in figures.items():
            print(f"{key:40} {value:.4g}")
        own = os.path.join(folder, "calibrated.yaml")
        machine_file(own, figures)
        path = os.path.join(folder, "one.onnx")
        within = count = 0
        print(f"\n{'OPERATOR':24}{'MEASURED':>12}{'MODELLED':>12}{'RATIO':>8}")
        for op, inputs, output, constants, attributes in operators():
            model(path, op, inputs, output, constants, **attributes)
            measured = seconds(path, "cpu", "--threads", str(THREADS))
            modelled = seconds(path, own, "--timing-only")
            ratio = measured / modelled
            good = 1 / LIMIT <= ratio <= LIMIT
            within += good
            count += 1
            print(f"{op:24}{measured * 1e3:>9.3f} ms{modelled * 1e3:>9.3f} ms{ratio:>8.2f}{'' if good else '  beyond ' + str(LIMIT)}", flush=True)
        print(f"{within} of {count} within a factor of {LIMIT}")


if __name__ == "__main__":
    main()
