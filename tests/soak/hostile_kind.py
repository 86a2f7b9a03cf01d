# SPDX-License-Identifier: MIT
"""Damaged files of every kind that npulab reads. Promised: an exit status of 0 or 2 to 5, one line on standard error with a
failure, JSON that is JSON, no file left behind, and an end."""
import glob
import gzip
import io
import json
import os
import re

import numpy

from float_kind import random_graph
from graph import stored
from mutations import damaged
from report import FOLDED, Finding

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PATTERN = re.compile("```asm\n(.*?)```.*?--machine (\\S+)", re.S)


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def read(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return file.read()


def names(*pattern):
    return sorted(os.path.basename(path) for path in glob.glob(os.path.join(ROOT, *pattern)))


# Machines with cycles, and for each manual of an instruction set its example and the machine that it is for.
MACHINES = [name[:-len(".yaml")] for name in names("machines", "*.yaml") if b"\ndriver: processor" not in read("machines", name)]
PROGRAMS = [PATTERN.search(read("docs", page).decode()).groups() for page in names("docs", "*-isa.md")]


def model(dice, run):
    graph = random_graph(dice, OPSETS, dice.int(1, 6))
    files = {"model.onnx": graph.model().SerializeToString()}
    device = dice.choice(["reference", *MACHINES])
    # A damaged size may ask for honest work of minutes: what needs more memory than these small models do is refused.
    bounded = ["--max-memory", "512Mi"]
    ways = [["run", "model.onnx", "--device", device, "--no-accuracy", "--quiet", "--json", "-", *bounded],
            ["inspect", "model.onnx", "--quiet", "--json", "-"],
            ["compare", "model.onnx", "--devices", "reference,tpu_v1", "--json", "-", "--quiet", *bounded]]
    return files, "model.onnx", False, dice.choice(ways)


def samples(dice, run):
    graph = random_graph(dice, OPSETS, 2)
    files = {"model.onnx": graph.model().SerializeToString()}
    args = ["run", "model.onnx", "--device", "reference", "--no-accuracy", "--quiet", "--json", "-"]
    for name, array in graph.inputs.items():
        files[name + ".npy"] = npy(stored(array))
        args += ["--input", f"{name}={name}.npy"]
    return files, dice.choice([name for name in files if name.endswith(".npy")]), False, args


def machine(dice, run):
    name = dice.choice(names("machines", "*.yaml"))
    if name == "host.yaml":
        name = "tpu_v1.yaml"
    layer = ["layer", "gemm", "-m", "3", "-n", "9", "-k", "20", "--devices", "./m.yaml", "--quiet", "--json", "-"]
    what = dice.choice([["devices", "./m.yaml", "--yaml"], layer])
    return {"m.yaml": read("machines", name)}, "m.yaml", True, what


def memory(dice, run):
    name = dice.choice(names("memories", "*.yaml"))
    pattern = ["dram", "--pattern", "random_rd", "-n", "300", "--preset", "./mem.yaml", "--quiet", "--json", "-"]
    if name not in ("ideal.yaml", "diannao-250gbps.yaml") and dice.chance(0.4):
        pattern.append("--every-cycle")
    return {"mem.yaml": read("memories", name)}, "mem.yaml", True, pattern


def trace(dice, run):
    cycles = sorted(dice.int(0, 400) for _ in range(dice.int(1, 40)))
    lines = [f"0x{dice.int(0, 2 ** 20) * 64:x} {dice.choice(['READ', 'WRITE'])} {cycle}" for cycle in cycles]
    data, name = "\n".join(lines).encode() + b"\n", "t.trace"
    packed = dice.chance(0.4)
    if packed:
        data, name = gzip.compress(data, mtime=0), "t.trace.gz"
    preset = dice.choice(["ddr3-2133", "ddr4-3200", "gddr6"])
    return {name: data}, name, not packed, ["dram", name, "--preset", preset, "--quiet", "--json", "-"]


def assembly(dice, run):
    """As text, and made binary by npulab before the damage."""
    text, machine_name = dice.choice(PROGRAMS)
    files = {"p.s": text.encode(),
             "w.npy": npy(dice.integers(4096, low=0, high=9, dtype="int8")),
             "h.npy": npy(dice.integers(4096, low=-9, high=9, dtype="int8"))}
    name = "p.s"
    if dice.chance(0.5):
        with open(run.program.file("p.s"), "wb") as file:
            file.write(files["p.s"])
        run.program.must("asm", "p.s", "-o", "p.bin")
        with open(run.program.file("p.bin"), "rb") as file:
            files["p.bin"], name = file.read(), "p.bin"
    execute = ["exec", name, "--machine", machine_name, "--host-memory", "h.npy", "--weights", "w.npy", "--quiet", "--engine",
               dice.choice(["fast", "rtl"]), "--json", "-"]
    other = ["asm", name, "-o", "-"] if name == "p.s" else ["disasm", name]
    return files, dice.choice([name, name, name, "w.npy", "h.npy"]), name == "p.s", dice.choice([execute, execute, other])


def topology(dice, run):
    rows = ["Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Num Filter,Strides,"]
    for k in range(3):
        image, kernel, channels = ([dice.int(low, high) for _ in range(2)] for low, high in ((3, 12), (1, 3), (1, 8)))
        rows.append(",".join(str(v) for v in [f"c{k}", *image, *kernel, *channels, 1]) + ",")
    args = ["run", "net.csv", "--device", dice.choice(MACHINES), "--timing-only", "--quiet", "--json", "-"]
    return {"net.csv": "\n".join(rows).encode() + b"\n"}, "net.csv", True, args


def placement(dice, run):
    rules = b"# rules\n  *=reference\n/v[0-3]/=diannao\n"
    graph = random_graph(dice, OPSETS, 4)
    files = {"model.onnx": graph.model().SerializeToString(), "rules": rules}
    return files, "rules", True, ["run", "model.onnx", "--place-file", "rules", "--no-accuracy", "--quiet", "--json", "-"]


# Damage is no matter of versions; the models are of those that npulab has all of.
OPSETS = range(13, 18)
SOURCES = [model, model, model, samples, machine, machine, memory, trace, assembly, assembly, topology, placement]


def strict(text):
    def refuse(constant):
        raise ValueError(constant)
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError as wrong:
        raise Finding(f"standard output is no JSON: {wrong}") from wrong


def check(run, files, args, whole=False):
    program = run.program
    program.empty()
    for name, data in files.items():
        with open(program.file(name), "wb") as file:
            file.write(data)
    result = program.run(*args)
    if result.status < 0 or result.status in (1, 6) or result.status > 6:
        raise Finding(f"exit status {result.status}: {result.err[-300:]}")
    lines = result.err.splitlines()
    if result.status and (len(lines) != 1 or not lines[0].startswith("npulab: ") or not result.err.endswith("\n")):
        raise Finding(f"exit status {result.status} with {len(lines)} lines: {result.err[:300]!r}")
    if result.status and whole and not FOLDED.search(result.err):
        raise Finding(f"files without damage are refused: {result.err}")
    if not result.status and "--json" in args:
        strict(result.out)
    left = sorted(os.listdir(program.folder))
    if left != sorted(files):
        raise Finding(f"files {left}, expected {sorted(files)}")


def smaller(run, files, name, args, original):
    """The damage with as much of the file as it was as still fails, from either end."""
    for side in (False, True):
        low, high = 0, min(len(files[name]), len(original))
        while high - low > 1:
            n = (low + high) // 2
            data = files[name][:-n] + original[-n:] if side else original[:n] + files[name][n:]
            try:
                check(run, {**files, name: data}, args)
                high = n
            except Finding:
                low = n
        if low:
            files = {**files, name: files[name][:-low] + original[-low:] if side else original[:low] + files[name][low:]}
    return files


def case(run, dice, seed):
    for source in (dice.choice(SOURCES) for _ in range(4)):
        run.program.empty()
        files, name, text, args = source(dice, run)
        original = files[name]
        files = {**files, name: damaged(dice, original, text)}
        try:
            check(run, files, args, whole=files[name] == original)
            run.judged += 1
        except Finding as found:
            if "no end within" not in str(found):
                files = smaller(run, files, name, args, original)
                try:
                    check(run, files, args)
                except Finding as again:
                    found = again
            run.fail(found, f"damaged: {name}")
