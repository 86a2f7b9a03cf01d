# SPDX-License-Identifier: MIT
"""Models that carry integers themselves, on the devices of integers and of floats: native ones to the bit, others but for the
ties of their own rounding."""
import numpy

import noise
from graph import Graph, Unfit
from integer_steps import ENDS, NATIVE, QDQ, Integers
from report import Finding, compare

DEVICES = [["reference"], ["cpu"], ["reference", "reference.precision=int8"], ["cpu", "cpu.precision=int8"], ["tpu_v1"],
           ["tpu_v1 --engine rtl"], ["systolic_16x16"], ["systolic_128x128"]]


def random_graph(dice, opsets, native):
    graph = Graph(dice.choice(opsets))
    integers = Integers(graph, dice)
    batch = dice.int(1, 3)
    integers.input(batch, dice.int(1, 4), dice.int(3, 7), dice.int(3, 7))
    if dice.chance(0.5):
        integers.input(batch, dice.int(2, 12))
    steps, count = (NATIVE if native else NATIVE[:1] + QDQ), dice.int(1, 5)
    made = 0
    for k in range(40):
        mark, pool = graph.mark(), list(integers.pool)
        try:
            (dice.choice(ENDS) if made and k % 7 == 6 else dice.choice(steps))(integers, dice)
            made += 1
        except Unfit:
            graph.back(mark)
            integers.pool = pool
        if made == count:
            break
    graph.outputs = [name for name in graph.unread() if graph.values[name].dtype.kind in "iu"][-2:]
    return graph.kept(graph.outputs), integers


def interval(graph, seed):
    """The least and the greatest that each output is, with errors of the devices laid over all floats; one step more where
    such an error changes any integer, since what a device has there may be in no run."""
    least = {name: graph.values[name].astype("int64") for name in graph.outputs}
    most, moved = dict(least), False
    for run in range(8):
        values = graph.evaluate(noise.Tables(graph, numpy.random.RandomState((seed + run) % 2 ** 32)))
        for node in graph.nodes:
            for name in node.outputs:
                moved |= values[name].dtype.kind in "iu" and not numpy.array_equal(values[name], graph.values[name])
        for name in graph.outputs:
            least[name] = numpy.minimum(least[name], values[name])
            most[name] = numpy.maximum(most[name], values[name])
    return {name: (least[name] - moved, most[name] + moved) for name in graph.outputs}


def check(program, graph, args, seed):
    """Native integers have no errors of float32 but in scales, which are multiplied in one order."""
    native = not any(node.op in ("QuantizeLinear", "Cast") for node in graph.nodes)
    functions = sum(node.op in ("Sigmoid", "Tanh") for node in graph.nodes)
    may_be = None if native else interval(graph, seed)
    judged = [name for name in graph.outputs if graph.values[name].dtype.kind in "iu"]
    for output in judged:
        found = program.values(graph, output, *args)
        expected, what = graph.values[output], f"{output} on {' '.join(args)}"
        if found.dtype != expected.dtype:
            raise Finding(f"{what}: {found.dtype}, expected {expected.dtype}", found, expected)
        if native:
            compare(found, expected, 0, what)
        else:
            low, high = may_be[output][0] - functions, may_be[output][1] + functions
            compare(numpy.clip(found.astype("int64"), low, high) - found, numpy.zeros(found.shape), 0, what + ", beyond the ties")
    return len(judged)


def case(run, dice, seed):
    graph, _ = random_graph(dice, run.opsets, native=dice.chance(0.5))
    if not graph.outputs:
        return
    with_cuda = [["cuda", "cuda.precision=int8"]] if run.program.cuda and dice.chance(0.15) else []
    for device, *settings in DEVICES + with_cuda:
        args = ["--device", *device.split(), *(word for s in settings for word in ("--set", s))]
        if not run.judge(graph, lambda part, args=args: check(run.program, part, args, seed)):
            break
