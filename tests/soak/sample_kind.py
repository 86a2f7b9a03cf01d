# SPDX-License-Identifier: MIT
"""Dimension 0: what works sample by sample gives the same in batches of any size; what mixes samples is right as a whole, and
smaller batches of it are refused. Values are of all samples at once."""
import float_layers
import float_steps
import noise
from float_kind import random_graph as any_graph
from float_steps import grow
from graph import Graph
from process import Refused
from report import Finding, compare


def unary(m, d):
    m.add(d.choice(["Relu", "Tanh", "Sigmoid", "Abs"]), [m.value()])


def pair(m, d):
    x = m.value()
    others = [n for n in m.pool if m.shape(n) == m.shape(x)]
    m.add(d.choice(["Add", "Mul", "Sub"]), [x, d.choice(others) if d.chance(0.6) else m.weights(*m.shape(x)[1:])])


def dense(m, d):
    x = m.value(rank=2)
    n = d.int(1, 6)
    m.add("Gemm", [x, m.weights(m.shape(x)[1], n), m.weights(n)])


def within(m, d):
    """Along an axis that is not the samples'."""
    x = m.value(least=2)
    rank = len(m.shape(x))
    axis = d.int(1, rank - 1)
    way = d.int(0, 2)
    if way == 0:
        m.add("Softmax", [x], axis=axis)
    elif way == 1:
        m.add("ReduceSum", [x, m.ints(axis)], keepdims=1)
    else:
        m.add("Concat", [x, x], axis=axis)


def flat(m, d):
    m.add("Flatten", [m.value(rank=4)], axis=1)


APART = [unary, unary, pair, dense, within, flat, float_layers.conv, float_layers.pool]


def apart(dice, opsets, n):
    """A graph in which no step looks at two samples."""
    graph = Graph(dice.choice(opsets))
    rest = (dice.int(1, 4), dice.int(3, 6), dice.int(3, 6)) if dice.chance(0.5) else (dice.int(2, 9),)
    graph.input(dice.floats(n, *rest))
    grow(graph, dice, APART, dice.int(1, 6), tries=50)
    graph.outputs = graph.unread()[-1:]
    return graph.kept(graph.outputs)


def declared(graph, first):
    """The inputs with another dimension 0: a number, or a name where it is open. A part of a graph may have inputs of several
    numbers of rows, and one name stands for one number."""
    return {name: (first if isinstance(first, int) else f"{first}{len(array)}", *array.shape[1:])
            for name, array in graph.inputs.items() if array.shape}


def judge_values(program, graph, bounds, shapes, args):
    judged = 0
    for output in graph.outputs:
        if bounds[output] is not None and output not in graph.inputs:
            found = program.values(graph, output, *args, shapes=shapes)
            compare(found, graph.values[output], bounds[output], f"{output} with {' '.join(args)}, declared {shapes}")
            judged += 1
    return judged


def check_apart(program, graph, first, batch, device, seed):
    args = ["--device", device] + (["--batch", str(batch)] if batch else [])
    return judge_values(program, graph, noise.bounds(graph, noise.Float32, seed), declared(graph, first), args)


def check_mixed(program, graph, n, device, seed):
    """Open, all at once: right. In smaller batches: right too, or refused as bad input (exit status 3) with the name of a node."""
    bounds, shapes = noise.bounds(graph, noise.Float32, seed), declared(graph, "N")
    judged = judge_values(program, graph, bounds, shapes, ["--device", device])
    try:
        judge_values(program, graph, bounds, shapes, ["--device", device, "--batch", str(n - 1)])
    except Refused as refused:
        if refused.result.status != 3 or not any(node.outputs[0] in str(refused) for node in graph.nodes):
            raise Finding(f"refused, but not as a batch that is too small for a node: {refused}") from refused
    return judged


def case(run, dice, seed):
    n, device = dice.int(2, 5), dice.choice(["reference", "cpu"])
    graph = apart(dice, run.opsets, n)
    if graph.outputs:
        batch, first = dice.choice([None, 1, 2, n]), dice.choice(["N", 1, n])
        run.judge(graph, lambda part: check_apart(run.program, part, first, batch, device, seed))
    graph = any_graph(dice, run.opsets, dice.int(1, 5))
    array = next(iter(graph.inputs.values()))
    if len(graph.inputs) == 1 and array.shape[0] > 1:
        run.judge(graph, lambda part: check_mixed(run.program, part, array.shape[0], device, seed))
