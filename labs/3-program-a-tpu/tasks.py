# SPDX-License-Identifier: MIT
#
# Lab 3. A program is right when its results are those of the product in Python, and when the engine counts what the task asks for.
import os
import re
import tempfile

TITLE = "Program a TPU"
ABOUT = ("Products that do not fit: two tiles of weights, more rows than there are accumulators, a program that lacks a sync, and "
         "a weight load that hides behind work. In the instructions of the TPU.")

SIDE = 4
MACHINE = "systolic_16x16"
ACCUMULATORS = 8


def parameters(lab):
    rows, many = lab.draw("rows", 5, 8), lab.draw("many", 18, 23)
    return {"rows": rows, "both": 2 * rows, "result_rows": 4 * rows, "many": many, "all_planes": 4 * many, "third": many - 2 * ACCUMULATORS,
            "lacks": lab.choose("lacks", ["host_in", "activate"])}


# ---- The student's matrices.

def inputs(lab, name, rows, depth):
    return lab.matrix(f"{name} input", rows, depth, -20, 20)


def weights(lab, name, depth, columns):
    return lab.matrix(f"{name} weight", depth, columns)


def product(a, w):
    return [[sum(x * w[k][c] for k, x in enumerate(row)) for c in range(len(w[0]))] for row in a]


def memory(*matrices):
    """Rows of at most SIDE numbers, each filled up with zeros, as npulab reads them."""
    rows = [row for matrix in matrices for row in matrix]
    return "\n".join([f".row {SIDE}"] + [" ".join(map(str, row)) for row in rows]) + "\n"


def columns_of(matrix, first):
    """SIDE columns of a matrix, from `first` on."""
    return [row[first:first + SIDE] for row in matrix]


def matrices(lab, name):
    """The inputs and the weights of a task."""
    p = lab.parameters
    shape = {"two": (p["rows"], 8, 4), "strips": (p["many"], 4, 4), "broken": (p["rows"], 4, 4), "hidden": (8, 4, 8)}[name]
    return inputs(lab, name, shape[0], shape[1]), weights(lab, name, shape[1], shape[2])


def memories(lab, name):
    """Host memory and weight memory of a task, as text: blocks of SIDE columns of the inputs, and tiles."""
    a, w = matrices(lab, name)
    blocks = [columns_of(a, first) for first in range(0, len(a[0]), SIDE)]
    tiles = [columns_of(w[k:k + SIDE], c) for k in range(0, len(w), SIDE) for c in range(0, len(w[0]), SIDE)]
    return memory(*blocks), memory(*tiles)


def start(lab):
    for name in "two", "strips", "broken", "hidden":
        for kind, text in zip(("inputs", "weights"), memories(lab, name)):
            with open(lab.path(f"{name}.{kind}.txt"), "w", encoding="utf-8") as file:
                file.write(text)
    with open(lab.path("broken.s"), encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    with open(lab.path("broken.s"), "w", encoding="utf-8") as file:
        file.writelines(line for line in lines if line.split() != ["sync", lab.parameters["lacks"]])


# ---- Runs.

SIDES = ["--set", f"{MACHINE}.array.rows={SIDE}", "--set", f"{MACHINE}.array.columns={SIDE}", "--set",
         f"{MACHINE}.accumulators.rows={ACCUMULATORS}"]


def run(lab, name, text=None):
    """Runs a program of the student, or another text, with the memories of the task; returns the JSON and the results."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for kind, content in zip(("inputs", "weights"), memories(lab, name)):
            paths.append(os.path.join(folder, f"{kind}.txt"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(content)
        program = f"{name}.s"
        if text is not None:
            program = os.path.join(folder, program)
            with open(program, "w", encoding="utf-8") as file:
                file.write(text)
        out = os.path.join(folder, "results.txt")
        found = lab.json("exec", program, "--host-memory", paths[0], "--weights", paths[1], "--output", out, "--output-as", "int32",
                         *SIDES)
        with open(out, encoding="ascii") as file:
            numbers = [int(word) for line in file if not line.startswith(".") for word in line.split("#")[0].split()]
    return found, numbers


def begun(lab, name):
    """The text of a program that the student has begun."""
    text = lab.read(f"{name}.s")
    if "YOUR PART" in text:
        raise lab.Open(f"{name}.s still has the words YOUR PART")
    return text


def check_results(lab, name, numbers, hint):
    a, w = matrices(lab, name)
    # Results of several columns of tiles lie one behind the other.
    expected = [x for c in range(0, len(w[0]), SIDE) for row in product(a, columns_of(w, c)) for x in row]
    if len(numbers) != len(expected):
        raise lab.Differs(f"{name}.s: {len(numbers)} numbers come out, expected {len(expected)}",
                          "each sum has four bytes, which are four planes of rows: write_host_memory sends these, and no others")
    wrong = [i for i, (x, y) in enumerate(zip(numbers, expected)) if x != y]
    if wrong:
        raise lab.Differs(f"{name}.s: {len(wrong)} of {len(expected)} sums are not those of the product; the first is sum "
                          f"{wrong[0] % SIDE} of row {wrong[0] // SIDE}, {numbers[wrong[0]]} in place of {expected[wrong[0]]}", hint)


def two_tiles(lab):
    begun(lab, "two")
    found, numbers = run(lab, "two")
    check_results(lab, "two", numbers, "Do both blocks of inputs lie where you think? Each read_host_memory begins at byte 0 of "
                                       "host memory. And the second product needs two flags: one for the tile, and one for the "
                                       "sums of the first.")
    if found["counters"]["tiles"] != 2:
        raise lab.Differs(f"two.s: the array used {found['counters']['tiles']} tiles, expected 2",
                          "each matrix_multiply that begins with a new tile has the flag switch")


def strips(lab):
    begun(lab, "strips")
    found, numbers = run(lab, "strips")
    check_results(lab, "strips", numbers, "A strip is at most as many rows as there are accumulators, and the last one has fewer. The "
                                          "results of each go behind those of the strip before, in all four planes.")
    if found["counters"]["tiles"] != 1:
        raise lab.Differs(f"strips.s: the array used {found['counters']['tiles']} tiles, expected 1",
                          "the tile stays in the array from strip to strip: only the first matrix_multiply switches")


UNITS = ["host_in", "host_out", "weights", "matrix", "activate"]


def missing(lab):
    lab.expect_word("missing_sync", lab.parameters["lacks"], UNITS,
                    "Which two instructions touch the same rows of the buffer without waiting? npulab's message names both. The "
                    "sync waits for the unit of the earlier one.")


def mended(lab):
    text = lab.read("broken.s")
    if text == broken(lab):
        raise lab.Open("broken.s is as it was")
    _, numbers = run(lab, "broken")
    check_results(lab, "broken", numbers, "Nothing but one line with a sync is missing.")


def original_of(lab, name):
    """A program as the student's folder had it at first."""
    with open(os.path.join(lab.place, "starter", f"{name}.s"), encoding="utf-8") as file:
        return re.sub(r"\{(\w+)\}", lambda m: str(lab.parameters.get(m[1], m[0])), file.read())


def broken(lab):
    lines = original_of(lab, "broken").splitlines(keepends=True)
    return "".join(line for line in lines if line.split() != ["sync", lab.parameters["lacks"]])


# Both tiles are asked for before the array begins, so that the second one is shifted in while the first one works.
BEST = f""".machine {MACHINE}
read_weights first=0 count=2
read_host_memory ub=0 rows=8
sync host_in
matrix_multiply.switch ub=0 acc=0 rows=8
set_config result_type i32
set_config result_plane_rows 16
activate ub=16 acc=0 rows=8
matrix_multiply.switch ub=0 acc=0 rows=8
activate ub=24 acc=0 rows=8
sync activate
write_host_memory ub=16 rows=64
halt
"""


def stalls(found):
    return found["counters"]["weight_stall"] + found["counters"]["weight_shift"]


def hidden(lab):
    begun(lab, "hidden")
    found, numbers = run(lab, "hidden")
    check_results(lab, "hidden", numbers, "Change the order of instructions alone.")
    best, _ = run(lab, "hidden", BEST)
    original, _ = run(lab, "hidden", original_of(lab, "hidden"))
    if found["cycles"] >= original["cycles"]:
        raise lab.Differs(f"hidden.s: it takes {found['cycles']} cycles, and took {original['cycles']} before",
                          "waiting longer hides nothing: ask for the second tile before the array needs it")
    if stalls(found) > stalls(best):
        raise lab.Differs(f"hidden.s: the array waits {stalls(found)} cycles for weights (weight_stall and weight_shift)",
                          "The second tile can be fetched and shifted into the shadow plane while the array works with the first. "
                          "What in the program keeps it from being asked for sooner?")


# What the checks hold already; the programs of lecturer/solution are those that they do not.
SOLUTIONS = {"broken.s": lambda lab: original_of(lab, "broken"), "hidden.s": lambda lab: BEST}
EXPECTED = {"missing_sync": lambda lab: lab.parameters["lacks"]}
TASKS = [("1. two tiles", two_tiles), ("2. more rows than accumulators", strips), ("3. which sync is missing", missing),
         ("4. the program, mended", mended), ("5. a weight load that hides", hidden)]
