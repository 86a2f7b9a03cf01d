#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits what the DianNao paper does not say of its memory to four of its ten layers.

Chen et al., ASPLOS 2014, Figure 16: time over ideal of CLASS1, CLASS3, CONV2* and POOL1. All else that `npulab validate diannao` shows is
predicted. Tried are all 250 combinations of

    dma.request_cycles of machines/diannao.yaml     0 to 24: that a request keeps the port at least
    whole_cycles of memories/diannao-250gbps.yaml   no and yes: whether an access takes whole cycles
    latency_seconds of the same                     0 to 16 cycles of 0.98 GHz

and the one with the least sum of squares of relative differences is the fit. All that have the four rows within 10 % are printed, with the
largest difference of the three predicted rows beside. Layers are run one by one (`npulab layer`), two at a time, and their cycles set
against those that `npulab validate diannao` has its times over ideal from: the four for each combination, the three where they are printed. The others
are of no concern here, and CONV5* alone would take minutes where rows of synapses do not take whole cycles. Takes some seconds on two
cores and tells how far it is.

    scripts/fit_diannao.py [build/npulab]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LAYERS = {
    "CLASS1": "gemm -m 1 -n 20 -k 960",
    "CLASS3": "gemm -m 1 -n 100 -k 200",
    "CONV2*": "conv --private --input 1x8x200x200 --kernel 18 --filters 8",
    "POOL1": "pool --input 1x12x367x492 --kernel 2",
    "CONV1": "conv --input 1x32x375x500 --kernel 9 --filters 48",
    "CONV3": "conv --input 1x108x32x32 --kernel 4 --filters 200",
    "CONV4": "conv --input 1x16x32x32 --kernel 7 --filters 512",
}
FITTED = ("CLASS1", "CLASS3", "CONV2*", "POOL1")
PREDICTED = ("CONV1", "CONV3", "CONV4")
# What is fitted, by file. The files tag these values, and a test holds that they tag no others.
PARAMETERS = {
    "machines/diannao.yaml": ("dma.request_cycles",),
    "memories/diannao-250gbps.yaml": ("whole_cycles", "latency_seconds"),
}
MACHINE, MEMORY = PARAMETERS
REQUEST_CYCLES, = PARAMETERS[MACHINE]
CLOCK_HZ = 980e6


def memory_with(whole, latency_cycles):
    values = dict(zip(PARAMETERS[MEMORY], (whole, f"{latency_cycles / CLOCK_HZ:.12g}")))
    lines = []
    for line in open(MEMORY):
        key = line.split(":")[0]
        lines.append(f"{key}: {values[key]}\n" if key in values else line)
    return "".join(lines)


def output(npulab, *arguments):
    command = [npulab, *arguments, "--quiet", "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def cycles(npulab, case, sets=()):
    """Of one layer, with these settings of the machine."""
    arguments = ["layer", *LAYERS[case].split(), "--timing-only", "--devices", "diannao"]
    for one in sets:
        arguments += ["--set", "diannao." + one]
    return output(npulab, *arguments)["devices"][0]["layers"][0]["cycles"]


def cycles_published(npulab):
    """Of each layer: those that would be as published."""
    rows = {row["case"]: row for row in output(npulab, "validate", "diannao")["rows"] if row["metric"] == "time_over_ideal"}
    return {case: cycles(npulab, case) * rows[case]["published"] / rows[case]["model"] for case in LAYERS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npulab", nargs="?", default="build/npulab", help="the program (default: build/npulab)")
    npulab = parser.parse_args().npulab
    published = cycles_published(npulab)

    def relative(run):
        """Difference of (case, settings of the machine)."""
        return cycles(npulab, *run) / published[run[0]] - 1

    choices = [(whole, latency) for whole in ("no", "yes") for latency in (0, 2, 4, 8, 16)]
    best = None
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for n, (whole, latency) in enumerate(choices):
            print(f"{25 * n} of {25 * len(choices)} combinations", file=sys.stderr)
            path = os.path.join(folder, "memory.yaml")
            with open(path, "w") as out:
                out.write(memory_with(whole, latency))
            sets = [(f"memory.preset={path}", f"{REQUEST_CYCLES}={request}") for request in range(25)]
            differences = list(pool.map(relative, [(case, one) for one in sets for case in FITTED]))
            for request in range(25):
                four = differences[len(FITTED) * request:len(FITTED) * (request + 1)]
                squares = sum(difference ** 2 for difference in four)
                choice = f"request_cycles={request} whole_cycles={whole} latency of {latency} cycles"
                if max(map(abs, four)) <= 0.1:
                    others = max(map(abs, pool.map(relative, [(case, sets[request]) for case in PREDICTED])))
                    print(f"within: {choice}: {squares:.5f}, predicted rows within {100 * others:.1f} %", flush=True)
                if best is None or squares < best[0]:
                    best = squares, choice
    print("fit:", best[1])


if __name__ == "__main__":
    main()
