#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# How fast sweeps run: for each of four plans, points a second with 1, 2, ... worker processes, and what the coordinator spends of its
# own processor on a point, which limits how many workers it can feed (docs/scaling.md). Medians of several runs.
#
#     bench/sweep_points.py [--npulab build/npulab] [--threads 1,2] [--runs 3]
#
# About five minutes on two cores.
import argparse
import os
import statistics
import subprocess
import tempfile
import time

GRID = ["--vary", "array.rows=128..512+64", "--vary", "array.columns=128..512+64", "--vary", "clock_hz=400e6..1200e6+20e6",
        "--vary", "unified_buffer.bytes=8..32*2 MiB"]
PLANS = {  # name: points, what to sweep
    "digits on tpu_v1": (6000, ["models/digits.onnx", "--device", "tpu_v1", *GRID]),
    "ResNet-50 on tpu_v1": (3000, ["resnet50", "--device", "tpu_v1", *GRID]),
    "ResNet-50 on tpu_v1 with HBM2": (300, ["resnet50", "--device", "tpu_v1", "--set", "weight_memory.preset=hbm2", *GRID]),
    "ResNet-50 on diannao": (200, ["resnet50", "--device", "diannao", "--vary", "clock_hz=500e6..1500e6+5e6"]),
}


def own_seconds(process):
    """Runs a process to its end. Returns the processor time of it alone, without its workers'."""
    seconds, tick = 0, os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/stat") as stat:
                user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
            seconds = max(seconds, (int(user) + int(system)) / tick)
        except OSError:
            break
        time.sleep(0.01)
    if process.wait():
        raise SystemExit(f"failed: {' '.join(process.args)}")
    return seconds


def sweep(npulab, plan, points, threads, folder):
    """Runs a sweep. Returns its points a second, and the coordinator's seconds for a point."""
    path = os.path.join(folder, "s.sqlite")
    command = [npulab, "sweep", *plan, "--method", "random", "--points", str(points), "--threads", str(threads), "-o", path, "--quiet"]
    start = time.monotonic()
    own = own_seconds(subprocess.Popen(command))
    elapsed = time.monotonic() - start
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    return points / elapsed, own / points


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npulab", default="build/npulab")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'sweep':30} {'threads':>7} {'points/s':>9} {'coordinator':>15}")
    for name, (points, plan) in PLANS.items():
        for threads in map(int, arguments.threads.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                runs = [sweep(arguments.npulab, plan, points, threads, folder) for _ in range(arguments.runs)]
            rate, own = (statistics.median(column) for column in zip(*runs))
            print(f"{name:30} {threads:7} {rate:9.0f} {own * 1e6:9.0f} us/pt", flush=True)


main()
