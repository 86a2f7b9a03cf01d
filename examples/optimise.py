#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# A search of one's own: simulated annealing for the least energy-delay product of ResNet-50 on a TPU, by asking npulab for one
# machine after the other. Needs the standard library alone.  python3 examples/optimise.py [npulab [points]]
import json
import math
import random
import subprocess
import sys

VALUES = {"array.rows": [32, 64, 128, 256, 512], "array.columns": [32, 64, 128, 256, 512],
          "accumulators.rows": [1024, 2048, 4096, 8192], "clock_hz": [4e8, 6e8, 8e8, 1e9]}
program, points = (sys.argv[1:] + ["npulab", "200"])[0], int((sys.argv + ["", "", "200"])[2] or 200)
npulab = subprocess.Popen([program, "sweep", "resnet50", "--device", "tpu_v1", "--points", "-"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def cost(machine):
    print(json.dumps({"parameters": machine}), file=npulab.stdin, flush=True)
    answer = json.loads(npulab.stdout.readline())
    return math.log(answer["metrics"]["edp_js"]) if answer["feasible"] else math.inf


random.seed(1)
machine = best = {key: values[0] for key, values in VALUES.items()}
now = least = cost(machine)
for i in range(points):
    key = random.choice(list(VALUES))
    other = {**machine, key: random.choice(VALUES[key])}
    value = cost(other)
    if value < now or random.random() < math.exp((now - value) / (0.5 * (1 - i / points))):
        machine, now = other, value
    if value < least:
        best, least = other, value
npulab.stdin.close()
print(f"{math.exp(least):.3g} J s:", json.dumps(best))
