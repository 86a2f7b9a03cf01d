# SPDX-License-Identifier: MIT
#
# Lab 2. What a student has to find is read off the registers and events of the engine, not off a formula, but for the last task.
import math
import os
import tempfile

TITLE = "The systolic wave"
ABOUT = ("A product on an array of 4 x 4 cells: by hand, then cycle by cycle in the simulated machine. Where is which operand, "
         "when is the array full, and what do fill and drain cost?")

SIDE = 4
MACHINE = "systolic_16x16"


def parameters(lab):
    rows = lab.draw("rows", 5, 9)
    return {
        "rows": rows,
        "result_rows": 4 * rows,
        "row": lab.draw("row", 1, rows - 2),
        "element": lab.draw("element", 1, SIDE - 1),
        "column": lab.draw("column", 1, SIDE - 1),
        "large_side": 8 * lab.draw("large side", 2, 6),
        "large_rows": 10 * lab.draw("large rows", 3, 12),
        "later": lab.choose("later", [2, 3, 4, 5]),
        "share": lab.choose("share", [80, 85, 90, 95]),
    }


def inputs(lab):
    """Rows of inputs, all of whose numbers differ, so that each can be told in the array."""
    numbers = [n for n in range(-60, 61) if n]
    rows = []
    for b in range(lab.parameters["rows"]):
        rows.append([numbers.pop(lab.draw(f"input {b} {k}", 0, len(numbers) - 1)) for k in range(SIDE)])
    return rows


def weights(lab):
    return lab.matrix("weight", SIDE, SIDE)


def start(lab):
    for name, matrix in ("inputs.txt", inputs(lab)), ("weights.txt", weights(lab)):
        with open(lab.path(name), "w", encoding="utf-8") as file:
            file.write("\n".join([f".row {SIDE}"] + [" ".join(map(str, row)) for row in matrix]) + "\n")


def sides(rows, columns):
    return ["--set", f"{MACHINE}.array.rows={rows}", "--set", f"{MACHINE}.array.columns={columns}"]


# ---- What the engine does.

def program(rows):
    """The product of so many rows with one tile."""
    return "\n".join([f".machine {MACHINE}", "read_weights first=0 count=1", f"read_host_memory ub=0 rows={rows}", "sync host_in",
                      f"matrix_multiply.switch ub=0 acc=0 rows={rows}", "halt", ""])


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def product_events(lab, rows, array_rows, array_columns):
    """The cycles in which the first vector enters the array and in which the last sum has been written."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, "product.s", program(rows))
        _, out, _ = lab.npulab("exec", path, "--timing-only", "--quiet", "--events", "-", *sides(array_rows, array_columns))
    cycles = {line.split(",")[1]: int(line.split(",")[0]) for line in out.splitlines()[1:]}
    return cycles["matrix_started"], cycles["matrix_written"]


def activations(lab):
    """What each cell multiplies: {(row, column): {operand: the first cycle}}, from the registers of the engine."""
    matrix = "\n".join([f".row {SIDE}"] + [" ".join(map(str, row)) for row in inputs(lab)]) + "\n"
    tile = "\n".join([f".row {SIDE}"] + [" ".join(map(str, row)) for row in weights(lab)]) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, "product.s", program(lab.parameters["rows"]))
        trace, dump = os.path.join(folder, "t.trace"), os.path.join(folder, "t.vcd")
        lab.npulab("trace", "record", path, "--host-memory", write(folder, "i.txt", matrix), "--weights",
                   write(folder, "w.txt", tile), "--detail", "cycles", "--signals", "cell[*", "-o", trace, *sides(SIDE, SIDE))
        lab.npulab("trace", "export", trace, "--vcd", dump, "--signals", "cycle,cell[*.activation")
        with open(dump, encoding="ascii") as file:
            return read_activations(file.read())


def read_activations(text):
    """Reads a value change dump of the cycle and of activations of 9 bits."""
    name_of, scope, cycle, first = {}, "", 0, {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("$scope"):
            scope = words[2]
        elif line.startswith("$var"):
            name_of[words[3]] = (words[4], scope)
        elif line.startswith("b") and words[1] in name_of:
            signal, cell = name_of[words[1]]
            if "x" in words[0]:
                continue
            value = int(words[0][1:], 2)
            if signal == "cycle":
                cycle = value
            elif signal == "activation":
                place = tuple(int(n) for n in cell[5:-1].split("]["))
                first.setdefault(place, {}).setdefault(value - 512 if value > 255 else value, cycle)
    return first


# ---- The tasks: what is expected, by the name of the answer.

def sums(lab):
    a, w = inputs(lab)[lab.parameters["row"]], weights(lab)
    return [sum(a[k] * w[k][c] for k in range(SIDE)) for c in range(SIDE)]


def meeting_cycle(lab):
    p = lab.parameters
    operand = inputs(lab)[p["row"]][p["element"]]
    return activations(lab)[p["element"], p["column"]][operand] - product_events(lab, p["rows"], SIDE, SIDE)[0]


def columns(lab):
    """The cells that the numbers of one row of inputs are in, in the same cycle."""
    cells, row = activations(lab), lab.parameters["row"]
    now = product_events(lab, lab.parameters["rows"], SIDE, SIDE)[0] + row + lab.parameters["later"]
    found = []
    for k, operand in enumerate(inputs(lab)[row]):
        here = [column for column in range(SIDE) if cells[k, column].get(operand) == now]
        found.append(here[0] if here else -1)
    return found


def product_cycles(lab):
    begun, written = product_events(lab, lab.parameters["rows"], SIDE, SIDE)
    return written - begun


def large_cycles(lab):
    p = lab.parameters
    begun, written = product_events(lab, p["large_rows"], p["large_side"], 2 * p["large_side"])
    return written - begun


def use_percent(lab):
    return 100 * lab.parameters["rows"] / product_cycles(lab)


def rows_needed(lab):
    share = lab.parameters["share"]
    return math.ceil(share * 510 / (100 - share))


EXPECTED = {f.__name__: f for f in (sums, meeting_cycle, columns, product_cycles, large_cycles, use_percent, rows_needed)}

HINTS = {
    "sums": "Sum c of a row is the row of inputs times column c of the weights. `npulab exec` prints all of them; do one by hand "
            "all the same.",
    "meeting_cycle": "Element k of a row enters row k of the array, k cycles after element 0. From there it moves one column to "
                     "the right with each cycle. Rows follow one another.",
    "columns": "Elements of one row of inputs lie on a diagonal: the further down, the later they came.",
    "product_cycles": "The first sum needs the whole way down a column. Then count the rows, and how much later the last column "
                      "is than the first.",
    "large_cycles": "What you found for 4 x 4 holds for R x C: write it with R and C, and put in the numbers.",
    "use_percent": "A row of inputs is one cycle of useful work for every cell. The other cycles are fill and drain.",
    "rows_needed": "The use is useful cycles over all cycles. Put what you found in task 5 into it, with R = C = 256, solve for the "
                   "rows, and round up.",
}


def task(name, within=0.0):
    def check(lab):
        expect = lab.expect_numbers if name in ("sums", "columns") else lab.expect_number
        expect(name, lambda: EXPECTED[name](lab), HINTS[name], **({"within": within} if within else {}))
    return check


TASKS = [("1. one row of the product, by hand", task("sums")), ("2. when an operand meets a weight", task("meeting_cycle")),
         ("3. where the rest of its row is", task("columns")), ("4. the cycles of the product", task("product_cycles")),
         ("5. the cycles of a larger one, predicted", task("large_cycles")), ("6. the use of the array", task("use_percent", 0.02)),
         ("7. how many rows a TPU wants", task("rows_needed"))]
