#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits what is published nowhere of the TPU paper's CPU and GPU to its inferences per second of MLP0.

Jouppi et al., ISCA 2017, Table 4, has two batches for each of them. The time of a batch in the model (sim/processor/processor_model.h) is

    work / efficiency + layers x overhead_seconds + link

where work, the layers and the link follow from published figures. Two runs of each batch tell its work and its link, and two batches give
both figures. All else that `npulab validate hosts` shows is predicted. Prints the figures and those of the machine files, which are these to
two places; exits with 1 where they are not. Takes a second.

    scripts/fit_hosts.py [build/npulab]
"""
import argparse
import json
import subprocess
import sys

MACHINES = {"cpu_haswell_e5_2699v3": "MLP0 on Haswell, batch ", "gpu_k80": "MLP0 on K80, batch "}
BATCHES = (16, 64)
# What is fitted, by file. The files tag these values, and a test holds that they tag no others.
PARAMETERS = {
    "machines/cpu_haswell_e5_2699v3.yaml": ("efficiency", "overhead_seconds"),
    "machines/gpu_k80.yaml": ("efficiency", "overhead_seconds"),
}


def output(npulab, *arguments):
    command = [npulab, *arguments, "--quiet", "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def batch_of(npulab, machine, batch, **figures):
    """Seconds of a batch of MLP0 and how many layers it runs, with these figures of the machine."""
    sets = [word for key, value in figures.items() for word in ("--set", f"{machine}.{key}={value}")]
    device = output(npulab, "compare", "mlp0", "--batch", str(batch), "--timing-only", "--devices", machine, *sets)["devices"][0]
    layers = sum(layer["role"] == "ran" for layer in device["layers"])
    return device["totals"]["latency_s"], layers, device["settings"]


def fit(npulab, machine, published):
    """Efficiency and overhead that give both published batches, and the machine file's."""
    rows = []
    for batch in BATCHES:
        whole, layers, _ = batch_of(npulab, machine, batch, efficiency=1, overhead_seconds=0)
        half, _, _ = batch_of(npulab, machine, batch, efficiency=0.5, overhead_seconds=0)
        work = half - whole
        rows.append((work, layers, batch / published[MACHINES[machine] + str(batch)] - (whole - work)))
    (work_a, layers_a, left_a), (work_b, layers_b, left_b) = rows
    determinant = work_a * layers_b - work_b * layers_a
    efficiency = determinant / (left_a * layers_b - left_b * layers_a)
    overhead = (work_a * left_b - work_b * left_a) / determinant
    return efficiency, overhead, batch_of(npulab, machine, 16)[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npulab", nargs="?", default="build/npulab", help="the program (default: build/npulab)")
    npulab = parser.parse_args().npulab
    rows = output(npulab, "validate", "hosts")["rows"]
    published = {row["case"]: row["published"] for row in rows if row["metric"] == "inferences_per_second"}
    same = True
    for machine in MACHINES:
        *values, settings = fit(npulab, machine, published)
        for key, value in zip(PARAMETERS[f"machines/{machine}.yaml"], values):
            print(f"{machine}: {key} {value:.4g}, its file has {settings[key]}")
            same = same and f"{value:.2g}" == f"{settings[key]:.2g}"
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
