# SPDX-License-Identifier: MIT
#
# The program's JSON beside its schemas (tests/test_schemas.c):
#
#     NPULAB_BIN=build/npulab /usr/bin/python3 tests/schemas.py FOLDER
#
# Runs the commands below in the folder, whose documents must be what schemas/ say, and says which keys of a schema no document has. A
# schema lists every key: `absentWhen` excuses one that a document may leave out, `nullWhen` one that may be null, and `onlyWhen` one whose
# value, or whose null, the computer at hand may be unable to show.
import json
import os
import re
import shlex
import subprocess
import sys

import jsonschema
import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = os.getcwd()
ONNX = "/usr/share/libonnx-testdata/data/node"
# Their documents are on standard output; of a command behind the word `timeline` or `picture` it is the file out.json.
COMMANDS = [
    "compare digits --devices reference,null,tpu_v1,diannao,cpu,cuda --json -",
    "compare digits --devices tpu_v1@array.rows=128@activity=counted,cpu --set cpu.precision=int8 --set cpu.tdp_watts=100 --set cpu.tdp_cores=8 --json -",
    "compare alexnet --devices tpu_v1,diannao --batch 1 --timing-only --json -",
    "compare mixed.onnx --input x.npy --devices systolic_128x128,reference --json -",
    "compare list.csv --devices tpu_v1 --json -",
    "run digits --place 'Conv*=tpu_v1,Gemm=diannao,*=cpu' --json -",
    "run digits --place 'Conv*=tpu_v1,*=host' --json -",
    "layer gemm -m 20 -n 30 -k 40 --devices tpu_v1,cpu --json -",
    "compare lenet5 --devices diannao,cpu --set diannao.energy.table=none --html page.html --json -",
    "run lenet5 --place 'Conv*=diannao@energy.table=none,*=cpu' --html page.html --json -",
    "layer pool --input 1x8x8x8 --kernel 2 --stride 2 --devices tpu_v1 --engine rtl --json -",
    "roofline --devices tpu_v1,diannao,cuda --json -",
    "roofline lenet5 --devices tpu_v1,cpu,cuda --json -",
    "roofline mixed.onnx --devices tpu_v1 --json -",
    "roofline digits --devices gpu_a100 --json -",
    "run digits --place Conv=null,*=tpu_v1 --timing-only --json -",
    "roofline lenet5 --devices tpu_v1 --set tpu_v1.weight_memory.preset=ideal --json -",
    "roofline pooled.onnx --devices tpu_v1,diannao --json -",
    "place digits --devices tpu_v1,diannao,cpu --json -",
    "place alexnet --devices tpu_v1,gpu_k80 --minimise edp --batch 1 --json -",
    "place quantised.onnx --devices tpu_v1 --set tpu_v1.host_link.energy_origin=absent --json -",
    "dram --pattern copy -n 4000 --json -",
    "dram --pattern stream_rd -n 100 --preset lpddr4-2400 --every-cycle --json -",
    "dram --pattern stream_wr -n 100 --preset diannao-250gbps --json -",
    "dram t.trace --preset ./plain.yaml --json -",
    "lab list --json",
    "lab check 2 lab --json",
    "energy tpu_v1 --json -",
    "energy tpu_v1 --set tpu_v1.technology.node_nm=0 --set tpu_v1.energy.table=none --json -",
    "energy diannao --set diannao.nbin.rows=3 --json -",
    "energy diannao --set diannao.energy.table=none --json -",
    "validate dram --json -",
    "validate tpu_v1 --all --json -",
    "validate diannao --all --set diannao.tiles.positions=18 --json -",
    f"conformance {ONNX}/test_relu {ONNX}/test_nonzero_example {ONNX}/test_einsum_sum --json -",
    f"conformance {ONNX}/test_qlinearconv {ONNX}/test_relu --device tpu_v1 --json -",
    f"conformance {ONNX}/test_cast_FLOAT_to_STRING {ONNX}/test_tfidfvectorizer_tf_only_bigrams_skip0 --json -",
    "devices --json -",
    "inspect alexnet --devices tpu_v1,diannao,cpu --set cpu.precision=int8 --json -",
    "inspect list.csv --json -",
    "exec matrix.s --machine systolic_16x16 --host-memory bytes.npy --weights bytes.npy --json -",
    "exec matrix.s --machine systolic_16x16 --host-memory bytes.npy --weights bytes.npy --timing-only --engine rtl --json -",
    "exec halt.bin --machine systolic_16x16 --timing-only --instructions --json -",
    "exec halt.s --instructions --machine systolic_16x16 --json -",
    "models --json -",
    "timeline run digits --place 'Conv*=tpu_v1,*=cpu' --quiet --timeline out.json",
    "sensitivity derived.sqlite --show seconds,area_mm2 --json -",
    "sensitivity plain.sqlite --show batch*0 --json -",
    "trace check a.trace moved.trace no.trace --json -",
    "trace diff a.trace b.trace --json -",
    "trace diff b.trace a.trace --json -",
    "trace diff c.trace b.trace --json -",
    "trace diff d.trace e.trace --tolerance energy=1% --json -",
    "trace diff c.trace b.trace --events 20 --json -",
    "trace diff run.trace c.trace --events 3 --json -",
    "trace diff a.trace f.trace --events 20 --json -",
    "trace diff shorter.trace a.trace --json -",
    "trace diff g.trace b.trace --json -",
    "picture trace export run.trace --perfetto out.json",
    "pareto plain.sqlite --json -",
    "pareto derived.sqlite --objectives seconds,area_mm2*seconds --json -",
    "pareto gone.sqlite --maximise utilization --json -",
]
PROGRAM = """read_host_memory ub=0 rows=2
read_weights first=0 count=1
sync host_in
matrix_multiply.switch ub=0 acc=0 rows=2
set_config result_type i32
set_config result_plane_rows 2
activate ub=8 acc=0 rows=2
set_config host_address 1024
sync activate
write_host_memory ub=8 rows=2
halt
"""


# The traces of `trace`; moved.trace has a parameter that it was not recorded with, and
# shorter.trace lacks the last event.
TRACES = [
    "lenet5 --place 'Conv*=tpu_v1,*=diannao' --batch 1 -o run.trace --quiet",
    "layer gemm -m 4 -n 20 -k 30 --device tpu_v1 -o a.trace",
    "layer gemm -m 4 -n 20 -k 30 --device tpu_v1 --detail layers -o b.trace",
    "layer pool --input 1x4x4x4 --kernel 2 --device tpu_v1 --detail layers -o c.trace",
    "layer gemm -m 4 -n 20 -k 30 --device tpu_v1 --set tpu_v1.activate.latency_cycles=551 -o f.trace",
    "layer gemm -m 4 -n 20 -k 30 --device reference -o g.trace",
    "digits --device tpu_v1 --batch 100 --accuracy --detail layers -o d.trace",
    "digits --device tpu_v1 --batch 100 --accuracy --detail layers --calibrate percentile -o e.trace",
]


def write_traces():
    runner = shlex.split(os.environ.get("NPULAB_TEST_RUNNER", ""))
    for trace in TRACES:
        subprocess.run([*runner, os.environ["NPULAB_BIN"], "trace", "record", *shlex.split(trace)], check=True)
    subprocess.run([*runner, os.environ["NPULAB_BIN"], "lab", "start", "2", "lab"], check=True)
    with open("a.trace", encoding="utf-8") as a, open("moved.trace", "w", encoding="utf-8") as moved:
        moved.write(a.read().replace("parameter activate.latency_cycles 550\n", "parameter activate.latency_cycles 551\n"))
    with open("a.trace", encoding="utf-8") as a, open("shorter.trace", "w", encoding="utf-8") as shorter:
        lines = a.readlines()
        shorter.writelines(lines[:-2] + [f"complete {int(lines[-1].split()[1]) - 1}\n"])


# The sweeps of `pareto`. The machine of gone.sqlite is there no more when its document is written.
PLAN = """model: digits
device: [gone.yaml, tpu_v1]
vary:
  gone.array.rows: [64, 128]
  tpu_v1.array.rows: [64, 128]
set:
  tpu_v1.issue.sync_cycles: 1000
  host.cores: 4
derive:
  unified_buffer.bytes: 65536 * array.rows
  tpu_v1.accumulators.rows: 16 * array.rows
constraint: area_mm2 < 300
"""
SWEEPS = [
    "digits --device tpu_v1,diannao --vary batch=2,4 --vary tpu_v1.array.rows=64,128 -o plain.sqlite --quiet",
    "plan.yaml -o derived.sqlite --quiet",
    "of_one.yaml -o gone.sqlite --quiet",
]


def write_sweeps():
    runner = shlex.split(os.environ.get("NPULAB_TEST_RUNNER", ""))
    program = [*runner, os.environ["NPULAB_BIN"]]
    machine = subprocess.run([*program, "devices", "tpu_v1", "--yaml"], check=True, capture_output=True, text=True).stdout
    with open("gone.yaml", "w", encoding="utf-8") as f:
        f.write(machine.replace("name: tpu_v1", "name: gone", 1))
    with open("plan.yaml", "w", encoding="utf-8") as f:
        f.write(PLAN)
    with open("of_one.yaml", "w", encoding="utf-8") as f:
        f.writelines(line.replace(", tpu_v1", "") + "\n" for line in PLAN.splitlines() if " tpu_v1." not in line)
    for sweep in SWEEPS:
        subprocess.run([*program, "sweep", *shlex.split(sweep)], check=True)
    os.remove("gone.yaml")


def write_inputs(folder):
    os.chdir(folder)
    for name, text in {
        "t.trace": "0x0 READ 0\n0x40 WRITE 1\n0x80 READ 5\n",
        "list.csv": "Layer, M, K, N,\nfirst, 4, 8, 16,\n",
        "matrix.s": PROGRAM,
        "plain.yaml": "name: plain\nmodel: ideal\n",
        "halt.s": "halt\n",
    }.items():
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)
    with open("halt.bin", "wb") as f:
        f.write(bytes([1] + [0] * 11))  # a halt
    np.save("bytes.npy", np.arange(256, dtype=np.uint8))
    np.save("x.npy", np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3))
    # A Softmax along the samples, which mixes them.
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])
    save("mixed.onnx", helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], axis=0)], "mixed", [x], [y]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 6, 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 3, 3])
    save("pooled.onnx", helper.make_graph([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], "pooled", [x], [y]))
    # A Conv whose input the model quantises itself, large enough for the TPU to be quicker than its host.
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 56, 56])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256, 54, 54])
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [0.01])
    zero = helper.make_tensor("zero", TensorProto.UINT8, [], [128])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [256, 64, 3, 3], np.linspace(-1, 1, 256 * 64 * 9))
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]), helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]), helper.make_node("Conv", ["d", "w"], ["y"])]
    save("quantised.onnx", helper.make_graph(nodes, "quantised", [x], [y], [scale, zero, weight]))


def save(path, graph):
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)


def documents():
    """(command, schema's name, document) of every command, once with a cap on the kernels' instructions."""
    runner = shlex.split(os.environ.get("NPULAB_TEST_RUNNER", ""))
    for number, command in enumerate(COMMANDS):
        words = shlex.split(command)
        file = words[0] in ("timeline", "picture")
        environment = {k: v for k, v in os.environ.items() if k != "NPULAB_MAX_ISA"}
        if number % 2:
            environment["NPULAB_MAX_ISA"] = "sse2"
        done = subprocess.run(
            runner + [os.environ["NPULAB_BIN"]] + words[file:], env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
        expected = (0, 1, 3) if words[0] == "trace" else (0, 1) if words[0] == "lab" else (0, 4) if "cuda" in command else (0,)
        if done.returncode not in expected:
            sys.exit(f"{command}: ends with {done.returncode}: {done.stderr.decode()}")
        if file:
            with open("out.json", encoding="utf-8") as f:
                document = json.load(f)
        else:
            document = json.loads(done.stdout)
        yield command, f"npulab.{words[0]}-1" if file else document["schema"].replace("/", "-"), document


def note(schema, value, path, seen):
    """Records of every key of the schema whether it was there, and null."""
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            states = seen.setdefault(f"{path}.{key}", set())
            if key not in value:
                states.add("absent")
                continue
            states.add("null" if value[key] is None else "value")
            note(inner, value[key], f"{path}.{key}", seen)
    elif isinstance(value, list):
        for item in value:
            note(schema["items"], item, path + "[]", seen)


def keys(schema, path):
    """(path, property's schema, whether it is required) of all keys of a schema."""
    for key, inner in schema.get("properties", {}).items():
        yield f"{path}.{key}", inner, key in schema["required"]
        yield from keys(inner, f"{path}.{key}")
        yield from keys(inner.get("items", {}), f"{path}.{key}[]")


def gaps(name, schema, seen):
    """What of the schema no document has shown, and what the schema itself lacks."""
    for path, inner, required in keys(schema, name):
        states, nullable = seen.get(path, set()), "null" in inner["type"]
        if "description" not in inner:
            yield f"{path}: no description"
        if nullable != ("nullWhen" in inner) or required == ("absentWhen" in inner):
            yield (
                f"{path}: a key that is always printed is in `required`, one that is not has `absentWhen`; "
                "one that may be null, and only that, has `nullWhen`"
            )
        if "onlyWhen" in inner:
            continue
        if "value" not in states:
            yield f"{path}: no document has a value"
        if nullable and "null" not in states and "available" not in inner["nullWhen"]:  # where there is a GPU
            yield f"{path}: may be null, and no document has it so"
        if not required and "absent" not in states and inner["absentWhen"] != "of an older npulab":
            yield f"{path}: may be left out, and no document leaves it out"


def columns(folder):
    """What is wrong with the table of docs/json.md that names the columns of --csv."""
    command = "compare digits --devices tpu_v1,diannao --timing-only"
    run = [*shlex.split(os.environ.get("NPULAB_TEST_RUNNER", "")), os.environ["NPULAB_BIN"], *shlex.split(command)]
    out = subprocess.run([*run, "--csv", "-"], cwd=folder, capture_output=True, text=True, check=True).stdout
    document = json.loads(subprocess.run([*run, "--json", "-"], cwd=folder, capture_output=True, text=True, check=True).stdout)
    counters = {name for device in document["devices"] for layer in device["layers"] for name in layer["counters"] or {}}
    printed = [name for name in out.splitlines()[0].split(",") if name not in counters]
    with open(os.path.join(ROOT, "docs/json.md"), encoding="utf-8") as f:
        section = f.read().partition("\n## The CSV of layers\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name.strip(" `") for row in rows for name in row.split(",")]
    wrong = [f"npulab {command} --csv -: docs/json.md does not name the column {name}" for name in printed if name not in named]
    return wrong + [f"docs/json.md: --csv has no column {name}" for name in named if name not in printed]


def headings(name, schema):
    """The columns that keys name and no table has. Words in small letters are names of rows."""
    sources = ""
    for folder in ("reports", "cli"):
        for place, _, files in os.walk(os.path.join(ROOT, folder)):
            for file in files:
                with open(os.path.join(place, file), encoding="utf-8") as f:
                    sources += f.read()
    for path, inner, _ in keys(schema, name):
        for part in re.split("; |, ", inner.get("column", "")):
            heading = re.match("[A-Z][A-Z0-9/-]*(?: [A-Z0-9/-]+)*", part)
            if heading and f'"{heading[0]}"' not in sources:
                yield f"{path}: no table has the column {heading[0]}"


# The rows of reports/columns.def that have headings: of a device's tables, with a key of JSON or without, and of its layers.
SHOWN = re.compile(
    r"""^NPL_(COLUMN|SHOWN)\((\w+),\s*(\w+),\s*("[^"]*"|NULL),\s*("[^"]*"|NULL),\s*'\w',\s*\w+,\s*"([^"]*)",""", re.MULTILINE
)
OF_LAYERS = re.compile(r"""^NPL_LAYER_(?:TABLE|FIGURE)\(\w+,\s*"([^"]*)",""", re.MULTILINE)
# The column of layers without a key: a share of the times beside it.
NO_KEYS = {"SHARE"}


def named_by(key):
    """The columns that a key names, without what is said of them."""
    return {re.sub(r" (\(|x ).*", "", part) for part in re.split("; |, ", key.get("column", ""))}


def columns_without_keys(schema):
    """Where `column` and `unit` of keys are not as reports/columns.def has them."""
    with open(os.path.join(ROOT, "reports/columns.def"), encoding="utf-8") as f:
        text = f.read()
    shown, of_layers = SHOWN.findall(text), OF_LAYERS.findall(text)
    if len(shown) + len(of_layers) != len(re.findall(r"^NPL_(?:COLUMN|SHOWN|LAYER_TABLE|LAYER_FIGURE)\(", text, re.MULTILINE)):
        yield "reports/columns.def: a row with a heading is not in the form that tests/schemas.py reads"
    device = schema["properties"]["devices"]["items"]["properties"]
    headings_of_all = {heading.strip('"') for row in shown for heading in row[3:5] if heading != "NULL"} | set(of_layers)
    named = set().union(*(named_by(inner) for _, inner, _ in keys(schema, "")))
    for heading in sorted((headings_of_all - named) ^ NO_KEYS):
        yield f"npulab.compare-1: {heading} of reports/columns.def is the `column` of no key, or among NO_KEYS and that of one"
    for kind, group, key, heading, layer_heading, unit in shown:
        if kind == "SHOWN":
            continue
        row, inner = f"{group.lower()}.{key}", device[group.lower()]["properties"].get(key, {})
        for text in {heading, layer_heading} - {"NULL"}:
            if text.strip('"') not in named_by(inner):
                yield f"npulab.compare-1: {row}: `column` does not name {text}, as reports/columns.def does"
        if {"/s": "1/s"}.get(unit, unit or "fraction") != inner.get("unit", "fraction"):
            yield f"npulab.compare-1: {row}: `unit` is {inner.get('unit')}, in reports/columns.def '{unit}'"


def main():
    schemas, seen, refused, wrong = {}, {}, {}, []
    for file in sorted(os.listdir("schemas")):
        with open(os.path.join("schemas", file), encoding="utf-8") as f:
            schemas[file[: -len(".json")]] = json.load(f)
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        for path, inner, _ in keys(schema, name):
            if "properties" in inner and inner["additionalProperties"] is not False:
                wrong.append(f"{path}: other keys are not refused")
    write_inputs(sys.argv[1])
    write_traces()
    write_sweeps()
    for command, name, document in documents():
        if name not in schemas:
            wrong.append(f"npulab {command}: there is no schema {name}")
            continue
        for error in jsonschema.Draft202012Validator(schemas[name]).iter_errors(document):
            place = ".".join("[]" if isinstance(step, int) else step for step in error.absolute_path)
            refused[f"schemas/{name}.json: {place}: {error.message[:300]}"] = command
        note(schemas[name], document, name, seen)
    wrong += [f"{text} (npulab {command})" for text, command in refused.items()]
    for name, schema in schemas.items():
        wrong += gaps(name, schema, seen)
        wrong += headings(name, schema)
    wrong += columns(sys.argv[1])
    wrong += columns_without_keys(schemas["npulab.compare-1"])
    for line in wrong:
        print(line)
    return bool(wrong)


sys.exit(main())
