#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compiles the sample calls in the heads of the public headers, in README.md and in docs/library.md, as they stand there.

    samples.py [COMPILER]

A sample is a block of a comment that is set in by five columns, or of a page in ```c. "..." stands for what the reader writes. Its
variables are declared here. A header with a sample that is not listed, or a listed one without, is an error.
"""
import glob
import os
import re
import subprocess
import sys

PROLOGUE = """
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "npulab/energy_model.h"
#include "npulab/report.h"
"""
COMMON = """struct npl_err err; struct npl_graph *graph = NULL; struct npl_device *device = NULL; struct npl_tensor *inputs = NULL, *outputs = NULL;
(void)err; (void)graph; (void)device; (void)inputs; (void)outputs;"""
# Declarations before each header's samples, one string for each block.
NEEDED = {
    "attributes": ["struct npl_attr_list list = "],
    "build": ["float *data = NULL;"],
    "calibrate": ["struct npl_calibration_options options = {0}; struct npl_calibration *calibration; const struct npl_range *ranges; int pass, b, batches = 0;"
                  "struct npl_tensor **batch = NULL;"],
    "energy_model": [""],
    "layer_group": ["const struct npl_layer *const *layers = NULL; const struct npl_tensor *y = NULL; struct npl_layer_group_handle *opened;"
              "struct npl_result *results = NULL; int n = 0;"],
    "compare": ["struct npl_samples samples; struct npl_report_context context = {0};"],
    "conformance": [""],
    "device": ["struct npl_device_options options = {0}; struct npl_layer layer = {0}; struct npl_result result = {0}; char reason[100];"],
    "eager": ["struct npl_tensor weights = {0}, image = {0}, out;"],
    "energy_meter": ["struct npl_energy_reading reading;"],
    "error": [""],
    "graph": ["struct npl_graph *graph;"],
    "system_load": [""],
    "memory": ["struct npl_memory *memory = NULL; struct npl_memory_request request = {0}; struct npl_memory_completion completion;"
               "int left = 0; extern void next(struct npl_memory_request *);"],
    "params": ["struct tpu_config { int64_t rows; };"],
    "place": ["struct npl_samples samples;"],
    "program": ["struct npl_execution_request request = {0}; struct npl_execution execution;"],
    "program_dump": ["int kept; int (*keep)(void *, struct npl_program_dump *, struct npl_err *) = NULL; struct npl_layer layer = {0}; struct npl_result result = {0};"],
    "instruction_sink": ["int kept; int (*keep)(void *, const struct npl_executed_instruction *, struct npl_err *) = NULL; struct npl_layer layer = {0}; struct npl_result result = {0};"],
    "signal_sink": ["int seen; int (*watch)(void *, uint64_t, const struct npl_signal_change *, int, struct npl_err *) = NULL; struct npl_layer layer = {0}; struct npl_result result = {0};"],
    "run_trace": ["struct npl_trace_header header = {0}; struct npl_samples samples = {0}; struct npl_compare_options options = {0}; struct npl_comparison comparison;"],
    "roofline": ["struct npl_samples samples; struct npl_compare_options options = {0};"],
    "graph_run": ["struct npl_cost cost;"],
    "layer_choice": ["struct npl_comparison comparison;"],
    "session": ["struct npl_tensor *reference_outputs = NULL; struct npl_device *dev = NULL; struct npl_session *s; struct npl_run run;"],
    "sha256": ["const void *data = NULL; size_t bytes = 0; char hex[65];"],
    "progress": [""],
    "tensor": [""],
    "tensor_file": [""],
    "recording": ["struct npl_eager *ctx = NULL; struct npl_eager_value *y = NULL; struct npl_cost cost;"],
    "traffic": ["struct npl_memory *memory; struct npl_traffic *traffic; struct npl_traffic_result result;"],
    "vcd": ["struct npl_layer layer = {0}; struct npl_result result = {0};"],
    "validate": ["struct npl_validate_options options = {0};"],
    "README": ["struct npl_build *b = NULL; struct npl_tensor weights = {0}, image = {0}, result; struct npl_device *tpu_v1 = NULL; struct npl_cost cost;"],
}
NEEDED["library"] = NEEDED["README"]  # the page shows the same network
LINE = re.compile(r"^ \*     (.*)$")


def blocks_of_header(path):
    """Those that are C: of what a header explains otherwise, set in too, no line ends like a statement."""
    found, block = [], []
    with open(path, encoding="utf-8") as file:
        for line in [*file, ""]:
            match = LINE.match(line.rstrip("\n"))
            if match:
                block.append(match.group(1))
                continue
            if any(re.search(r"(\bnpl_\w+|NPL_\w+|\})(\(.*\)+|;)?;?( \.\.\.| //.*)?$", text) and re.search(r"[;)]", text) for text in block):
                found.append("\n".join(block))
            block = []
    return found


def blocks_of_page(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^```c\n(.*?)^```", file.read(), re.M | re.S)


def as_statements(block):
    lines = []
    for line in block.split("\n"):
        line = re.sub(r"^\s*\.\.\. .* \.\.\.$", ";", line)
        lines.append(re.sub(r"(^|\s)\.\.\.( //.*)?$", r"\1{ }", line.rstrip()))
    text = "\n".join(lines)
    return text if text.rstrip().endswith((";", "}")) or "//" in lines[-1] or "/*" in lines[-1] else text + ";"


def complaint(compiler, name, number, block):
    needed = NEEDED[name][number]
    if name == "graph":
        body = f"struct npl_err err; {as_statements(block)}"
    elif needed.endswith("= "):
        body = f"{needed}{block};"
    else:
        body = f"{COMMON}\n{needed}\n{{\n{as_statements(block)}\n}}"
    headers = "".join(f'#include "npulab/{os.path.basename(path)}"\n' for path in sorted(glob.glob("include/npulab/*.h")))
    program = f"{PROLOGUE}{headers}void sample(void);\nvoid sample(void)\n{{\n{body}\n}}\n"
    done = subprocess.run([compiler, "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wno-unused", "-Wno-uninitialized",
                           "-Iinclude", "-fsyntax-only", "-x", "c", "-"], input=program, capture_output=True, text=True, check=False)
    return done.returncode and f"{name}: the sample does not compile:\n{block}\n{done.stderr}"


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "cc"
    samples = {os.path.basename(path)[:-2]: blocks_of_header(path) for path in sorted(glob.glob("include/npulab/*.h"))}
    samples["README"] = blocks_of_page("README.md")
    samples["library"] = blocks_of_page("docs/library.md")
    wrong = []
    for name, blocks in samples.items():
        if len(blocks) != len(NEEDED.get(name, [])):
            wrong.append(f"{name}: {len(blocks)} samples, {len(NEEDED.get(name, []))} listed in tests/samples.py: {blocks}")
            continue
        wrong += filter(None, (complaint(compiler, name, number, block) for number, block in enumerate(blocks)))
    print("\n".join(wrong))
    print(f"{sum(map(len, samples.values()))} samples, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
