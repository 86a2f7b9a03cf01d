#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# How much of a Pareto front a search finds: for three plans it runs the whole grid once, then each method with 5 % of its points and
# five seeds, and prints the share of the grid's hypervolume that each reaches. Objectives count by their logarithm, and the
# reference point is the grid's worst.
#
#     bench/search_quality.py [--npulab build/npulab] [--share 0.05] [--seeds 5] [METHOD...]
#
# About twenty minutes on two cores; the grids are kept in build/search_quality.
import argparse
import math
import os
import sqlite3
import statistics
import subprocess

PLANS = {
    "ResNet-50, time and energy": (
        ["seconds", "energy_j"],
        ["resnet50", "--device", "tpu_v1", "--vary", "array.rows=64..512+32", "--vary", "array.columns=64..512+32", "--vary",
         "clock_hz=400e6..1200e6+100e6", "--vary", "accumulators.rows=1024..8192*2", "--vary", "unified_buffer.bytes=4..32*2 MiB"]),
    "MLP0 with its batch, time and energy of a sample": (
        ["seconds", "energy_per_sample_j"],
        ["mlp0", "--device", "tpu_v1", "--batch", "1..256*2", "--vary", "array.rows=array.columns=64..512+32", "--vary",
         "clock_hz=400e6..1200e6+100e6", "--vary", "weight_memory.bytes_per_second=17e9..272e9*2", "--vary",
         "weight_fifo.tiles=2,4"]),
    "MobileNetV2, time and area": (
        ["seconds", "area_mm2"],
        ["mobilenet_v2", "--device", "tpu_v1", "--vary", "array.rows=32..256+16", "--vary", "array.columns=32..256+16", "--vary",
         "clock_hz=300e6..1200e6+100e6", "--vary", "weight_memory.bytes_per_second=8e9..64e9*2", "--vary",
         "host_link.lanes=4..16*2"]),
}


def sweep(npulab, plan, objectives, path, *options):
    """Runs a sweep, and returns its objectives as a list of tuples."""
    if not os.path.exists(path):
        subprocess.run([npulab, "sweep", *plan, "--minimise", ",".join(objectives), "-o", path, "--quiet", *options], check=True)
    columns = ", ".join(objectives)
    return list(sqlite3.connect(path).execute(f"SELECT {columns} FROM points WHERE feasible"))


def hypervolume(points, reference):
    """What the points dominate below the reference, by slices along the last objective."""
    if len(reference) == 1:
        return max(0, reference[0] - min((p[0] for p in points), default=reference[0]))
    points = sorted((p for p in points if all(a < b for a, b in zip(p, reference))), key=lambda p: p[-1])
    volume = 0
    for i, point in enumerate(points):
        above = points[i + 1][-1] if i + 1 < len(points) else reference[-1]
        if above > point[-1]:
            volume += (above - point[-1]) * hypervolume([p[:-1] for p in points[:i + 1]], reference[:-1])
    return volume


def front(points):
    """The points that none dominates; the hypervolume is theirs alone."""
    best = []
    for point in sorted(set(points)):
        if not any(all(a <= b for a, b in zip(other, point)) for other in best):
            best.append(point)
    return best


def logarithms(points):
    return front([tuple(math.log(x) for x in p) for p in points])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npulab", default="build/npulab")
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("methods", nargs="*", default=["evolution", "narrowing", "random"])
    arguments = parser.parse_args()
    folder = "build/search_quality"
    os.makedirs(folder, exist_ok=True)
    for number, (name, (objectives, plan)) in enumerate(PLANS.items()):
        grid = sweep(arguments.npulab, plan, objectives, f"{folder}/grid{number}.sqlite")
        reference = [math.log(max(p[i] for p in grid)) for i in range(len(objectives))]
        whole = hypervolume(logarithms(grid), reference)
        chosen = int(arguments.share * len(grid))
        print(f"{name}: {len(grid)} points, {len(logarithms(grid))} on the front; {chosen} chosen", flush=True)
        for method in arguments.methods:
            shares = []
            for seed in range(1, arguments.seeds + 1):
                path = f"{folder}/{method}.sqlite"
                for end in ("", "-wal", "-shm"):
                    if os.path.exists(path + end):
                        os.remove(path + end)
                points = sweep(arguments.npulab, plan, objectives, path, "--method", method, "--points", str(chosen), "--seed",
                               str(seed))
                shares.append(hypervolume(logarithms(points), reference) / whole)
            print(f"  {method:16} median {statistics.median(shares):7.2%}, least {min(shares):7.2%}", flush=True)


if __name__ == "__main__":
    main()
