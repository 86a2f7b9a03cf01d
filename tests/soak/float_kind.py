# SPDX-License-Identifier: MIT
"""Random float32 graphs with branches and several outputs, on devices of float32 and placed over several."""
import noise
from float_layers import LAYER_STEPS
from float_steps import FLOAT_STEPS, grow
from graph import Graph
from report import compare


def shape_of(dice):
    rank = dice.choice([2, 2, 3, 3, 4, 4])
    return tuple(dice.int(1, 4) for _ in range(rank - 2)) + tuple(dice.int(2, 6) for _ in range(2))


def random_graph(dice, opsets, steps):
    """Up to so many steps; those that do not fit what is there are left out."""
    graph = Graph(dice.choice(opsets))
    for _ in range(dice.int(1, 2)):
        graph.input(dice.floats(*shape_of(dice)))
    grow(graph, dice, FLOAT_STEPS + LAYER_STEPS, steps)
    graph.outputs = graph.unread()[-3:]
    return graph.kept(graph.outputs)


def devices(dice, cuda):
    """Each output by the first, one by each of the others."""
    yield ["--device", "reference"]
    yield ["--device", "cpu", "--threads", str(dice.int(1, 2))]
    if cuda and dice.chance(0.1):
        yield ["--device", "cuda"]
    yield ["--place", dice.choice(["*=cpu", "/[02468]$/=cpu,*=reference", "/[13579]$/=reference", "/[05]$/=cpu"])]


def check(program, graph, args, seed):
    bounds = noise.bounds(graph, noise.Float32, seed)
    judged = 0
    for output in graph.outputs:
        if bounds[output] is not None and output not in graph.inputs:
            compare(program.values(graph, output, *args), graph.values[output], bounds[output],
                    f"{output} on {' '.join(args)}")
            judged += 1
    return judged


def case(run, dice, seed):
    graph = random_graph(dice, run.opsets, dice.int(1, 12))
    for args in devices(dice, run.program.cuda):
        if "--place" in args and not placed(graph, args[1]):
            continue
        if not run.judge(graph, lambda part, args=args: check(run.program, part, args, seed)):
            break


def placed(graph, rules):
    """Whether each rule matches a node: others are refused."""
    names = [node.outputs[0] for node in graph.nodes]
    return all("/" not in rule or any(name[-1] in rule.split("]")[0] for name in names) for rule in rules.split(","))
