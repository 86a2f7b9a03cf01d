# SPDX-License-Identifier: MIT
"""Random networks in 8 bits, in 8 bits times 16 and in Q6.10: as near to float64 as the format's steps allow, both engines the
same in values, cycles and counters, also without values and whatever the machine; threads change nothing."""
import json
import os
import re

import numpy

import float_layers
import float_steps
import noise
from float_steps import grow
from graph import Graph
from process import Refused
from report import Finding, compare, same

STEPS = [float_layers.conv, float_layers.conv, float_layers.pool, float_steps.gemm, float_layers.concat, float_steps.product,
         float_steps.product, float_steps.binary]
FORMATS = [("reference", "int8", noise.int8), ("reference", "8x16", noise.int8x16), ("cpu", "int8", noise.int8),
           ("tpu_v1", "int8", noise.int8), ("tpu_v1", "8x16", noise.int8x16), ("systolic_16x16", "int8", noise.int8),
           ("diannao", None, noise.q16)]
# A number format whose arithmetic is not here would be tested by no random model.
ROWS = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/npulab/formats.def"), encoding="utf-8").read()
assert {word.lower() for word in re.findall(r"^NPL_FORMAT\((\w+)", ROWS, re.M)} == {"f32"} | {make.__name__ for _, _, make in FORMATS}, \
    "include/npulab/formats.def and FORMATS have different number formats"


def function(m, d):
    m.add(d.choice(["Relu", "Relu", "Sigmoid", "Tanh"]), [m.value()])


def flat(m, d):
    m.add("Flatten", [m.value(rank=4)])


def random_graph(dice, opsets):
    graph = Graph(dice.choice(opsets))
    n = dice.int(1, 3)
    graph.input(dice.floats(n, dice.int(1, 5), dice.int(3, 8), dice.int(3, 8)) if dice.chance(0.6) else
                dice.floats(n, dice.int(2, 20)))
    grow(graph, dice, STEPS + [function, function, flat], dice.int(1, 7), tries=60)
    graph.outputs = graph.unread()[-2:]
    return graph.kept(graph.outputs)


def check_format(program, graph, device, precision, make, seed):
    bounds, judged = noise.bounds(graph, make, seed, runs=5, most=0.5), 0
    args = ["--device", device] + (["--set", f"{device}.precision={precision}"] if precision else [])
    for output in graph.outputs:
        if bounds[output] is not None:
            compare(program.values(graph, output, *args), graph.values[output], bounds[output], f"{output} on {' '.join(args)}")
            judged += 1
    return judged


# Sizes and choices are drawn from sets: small arrays and memories, at whose limits layers are cut, and each choice of a kind.
SETS = {
    "systolic_16x16": {
        "array.rows": [8, 16, 24, 32], "array.columns": [8, 16, 40], "accumulators.rows": [32, 64, 256, 4096],
        "unified_buffer.bytes": [8192, 65536, 25165824], "weight_memory.preset": ["fixed", "ideal", "ddr3-2133", "hbm2"],
        "precision": ["int8", "int8", "8x16"]},
    "diannao": {
        "nfu.tn": [4, 8, 16], "nbin.rows": [16, 64, 100], "sb.rows": [32, 64], "nbout.rows": [32, 64], "nbout.sum_rows": [8, 16, 32],
        "nfu.product": ["rounded", "full"], "dma.request_cycles": [0, 1, 13, 20], "memory.preset": ["diannao-250gbps", "ideal", "ddr3-2133"]}}
# Any other parameter with one of these units is drawn up to this number, or up to 3: from 1, or from 0 where the machine has 0. A new
# one is drawn without a change here.
MOST = {"cycles": 600, "stages": 4, "instructions": 32, "requests": 64, "tiles": 4, "tables": 8}


def machine(program, dice):
    """A machine with drawn parameters: its name, and the settings."""
    device = dice.choice(sorted(SETS))
    document = json.loads(program.must("devices", device, "--json", "-").out)
    parameters = {parameter["key"]: parameter for parameter in document["devices"][0]["parameters"]}
    unknown = SETS[device].keys() - parameters.keys()
    assert not unknown, f"{device} has no parameters {unknown}"
    settings = {key: dice.choice(values) for key, values in SETS[device].items()}
    for key, parameter in parameters.items():
        if parameter["unit"] in MOST and key not in settings:
            settings[key] = dice.int(min(1, parameter["value"]), dice.choice([3, MOST[parameter["unit"]]]))
    return device, settings


def figures(report):
    """What must not depend on the engine."""
    device = report["devices"][0]
    return {"cycles": device["totals"]["cycles"], "energy": device["totals"]["energy_j"],
            "layers": [(row["name"], row["cycles"], row["counters"]) for row in device["layers"]]}


def alike(a, b):
    """Equal, but for what is not known without values."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return a is None or a == b


def no_constant(text):
    raise Finding(f"JSON holds {text}")


def run_once(program, model, *args):
    program.must("run", *model, "--quiet", "--no-accuracy", "--json", "o.json", *args)
    with open(program.file("o.json"), encoding="utf-8") as file:
        return figures(json.load(file, parse_constant=no_constant))


def check_engines(program, graph, device, settings):
    args = ["--device", device]
    for key, value in settings.items():
        args += ["--set", f"{device}.{key}={value}"]
    model = program.write(graph)
    try:
        fast = run_once(program, model, "--output", "fast.npy", *args)
    except Refused as refused:
        again = program.run("run", *model, "--quiet", "--no-accuracy", "--engine", "rtl", *args)
        err = refused.result.err
        known = "there is no" not in err and "must be one of" not in err # words that the program does not know are this file's fault
        if known and refused.result.status in (2, 3, 4) and (again.status, again.err) == (refused.result.status, err):
            return 0 # a machine that cannot be, for both
        raise
    timing = run_once(program, model, "--timing-only", *args)
    rtl = run_once(program, model, "--output", "rtl.npy", "--engine", "rtl", *args)
    same(numpy.load(program.file("rtl.npy")), numpy.load(program.file("fast.npy")), "rtl and fast engine")
    for what, other in ("rtl", rtl), ("--timing-only", timing):
        for key in fast:
            if not alike(other[key], fast[key]):
                raise Finding(f"{key} with {what}: {other[key]}, without: {fast[key]}")
    return 1


def check_threads(program, graph, precision):
    args = ["--device", "cpu", "--set", f"cpu.precision={precision}"]
    results = [program.values(graph, graph.outputs[0], "--threads", str(n), *args) for n in (1, 2)]
    same(results[1], results[0], f"--threads 2 and 1 in {precision}")
    return 1


def case(run, dice, seed):
    graph = random_graph(dice, run.opsets)
    if not graph.outputs:
        return
    fine = all(run.judge(graph, lambda part, f=f: check_format(run.program, part, *f, seed)) for f in FORMATS)
    device, settings = machine(run.program, dice)
    fine = fine and run.judge(graph, lambda part: check_engines(run.program, part, device, settings))
    if fine:
        precision = dice.choice(["f32", "int8"])
        run.judge(graph, lambda part: check_threads(run.program, part, precision))
