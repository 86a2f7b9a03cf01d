# SPDX-License-Identifier: MIT
"""The steps of random float32 graphs: each appends one operator (or a few that belong together) to values that are there."""
import numpy

from graph import Unfit

UNARY = ["Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish", "Erf", "Sin", "Cos", "Atan", "Asinh", "Abs", "Neg",
         "Sign", "Floor", "Ceil", "Round", "Exp", "Sinh", "Cosh", "Identity", "Dropout"]
POSITIVE = ["Sqrt", "Log", "Reciprocal"]


# The opset that an operator came with, where it is beyond 13.
CAME_WITH = {"HardSwish": 14, "Trilu": 14, "LayerNormalization": 17}


class Maker:
    """The graph with what a step asks of it."""

    def __init__(self, graph, dice):
        self.graph, self.dice = graph, dice
        self.pool = list(graph.inputs)

    def value(self, rank=None, least=0, most=9):
        """A float value of such a rank, new ones rather than old."""
        fit = [n for n in self.pool if self.graph.values[n].dtype.kind == "f" and
               (rank is None or self.graph.values[n].ndim == rank) and least <= self.graph.values[n].ndim <= most]
        if not fit:
            raise Unfit("rank")
        return self.dice.choice(fit[-4:] if self.dice.chance(0.6) else fit)

    def shape(self, name):
        return self.graph.values[name].shape

    def add(self, op, *args, **kwargs):
        if self.graph.opset < CAME_WITH.get(op, 0):
            raise Unfit(op)
        made = self.graph.add(op, *args, **kwargs)
        self.pool += [made] if isinstance(made, str) else made
        return made

    def ints(self, *values):
        return self.graph.constant(numpy.array(values, "int64"), exact=True)

    def weights(self, *shape):
        return self.graph.constant(self.dice.floats(*shape, low=-1, high=1))

    def axis(self, name, low=0):
        rank = len(self.shape(name))
        if rank <= low:
            raise Unfit("axis")
        axis = self.dice.int(low, rank - 1)
        return axis - rank if self.dice.chance(0.4) else axis


def grow(graph, dice, steps, wanted, tries=1000):
    """So many nodes by steps at random; a step that does not fit what is there leaves nothing behind."""
    maker = Maker(graph, dice)
    for _ in range(tries):
        mark, pool = graph.mark(), list(maker.pool)
        try:
            dice.choice(steps)(maker, dice)
        except Unfit:
            graph.back(mark)
            maker.pool = pool
        if len(graph.nodes) >= wanted:
            break


def unary(m, d):
    m.add(d.choice(UNARY), [m.value()])


def limited(m, d):
    squashed = m.graph.add("Tanh", [m.value()])
    op = d.choice(["Asin", "Acos", "Atanh", "Tan"])
    m.add(op, [m.graph.add("Mul", [squashed, m.graph.constant(0.9)])])


def positive(m, d):
    shifted = m.graph.add("Add", [m.graph.add("Abs", [m.value()]), m.graph.constant(d.uniform(0.3, 2))])
    if d.chance(0.2):
        m.add("Acosh", [m.graph.add("Add", [shifted, m.graph.constant(1.0)])])
    else:
        m.add(d.choice(POSITIVE), [shifted])


def parametric(m, d):
    op, given = d.choice([("LeakyRelu", ["alpha"]), ("Elu", ["alpha"]), ("Selu", ["alpha", "gamma"]), ("Celu", ["alpha"]),
                          ("HardSigmoid", ["alpha", "beta"]), ("ThresholdedRelu", ["alpha"]), ("Shrink", ["lambd", "bias"])])
    m.add(op, [m.value()], **{key: float(numpy.float32(d.uniform(0.05, 1.5))) for key in given if d.chance(0.7)})


def clip(m, d):
    low, high = sorted([d.uniform(-2, 2), d.uniform(-2, 2)])
    ends = [m.graph.constant(low) if d.chance(0.8) else "", m.graph.constant(high) if d.chance(0.8) else ""]
    m.add("Clip", [m.value(), *ends])


def operand(m, d, name):
    """A second operand: another value that broadcasts, or a constant of a part of the shape."""
    shape = m.shape(name)
    if d.chance(0.5):
        for other in d.random.sample(m.pool, len(m.pool)):
            if m.graph.values[other].dtype.kind == "f":
                try:
                    if numpy.broadcast_shapes(shape, m.shape(other)) == shape:
                        return other
                except ValueError:
                    pass
    part = [n if d.chance(0.6) else 1 for n in shape[d.int(0, len(shape)):]]
    return m.weights(*part)


def binary(m, d):
    x = m.value()
    pair = [x, operand(m, d, x)]
    m.add(d.choice(["Add", "Sub", "Mul", "PRelu"]), pair if d.chance(0.7) else [x, pair[1]])


def divide(m, d):
    x = m.value()
    below = m.graph.add("Add", [m.graph.add("Abs", [operand(m, d, x)]), m.graph.constant(0.5)])
    m.add("Div", [x, below])


def power(m, d):
    m.add("Pow", [m.value(), m.graph.constant(float(d.choice([1, 2, 3])), exact=True)])


def modulo(m, d):
    m.add("Mod", [m.value(), m.graph.constant(d.uniform(0.7, 2))], fmod=1)


def several(m, d):
    x = m.value()
    m.add(d.choice(["Sum", "Min", "Max", "Mean"]), [x] + [operand(m, d, x) for _ in range(d.int(0, 2))])


def choose(m, d):
    x = m.value()
    op = d.choice(["Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
    condition = m.graph.add(op, [x, operand(m, d, x)])
    if d.chance(0.4):
        other = m.graph.add("Greater", [x, m.graph.constant(0.3)])
        condition = m.graph.add(d.choice(["And", "Or", "Xor"]), [condition, other])
    if d.chance(0.2):
        other = m.graph.add(d.choice(["IsNaN", "IsInf"]), [x])
        condition = m.graph.add("Or", [condition, other])
    if d.chance(0.3):
        condition = m.graph.add("Not", [condition])
    if d.chance(0.2):
        m.add("Cast", [condition], to=1)
    else:
        m.add("Where", [condition, x, operand(m, d, x)])


def reduce(m, d):
    x = m.value(least=1)
    op = d.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                   "ReduceProd", "ReduceLogSumExp", "ReduceLogSum"])
    if op == "ReduceLogSum":
        x = m.graph.add("Add", [m.graph.add("Abs", [x]), m.graph.constant(0.2)])
    rank = len(m.shape(x))
    axes = d.random.sample(range(rank), d.int(1, rank))
    axes = [a - rank if d.chance(0.3) else a for a in axes]
    how = {"keepdims": d.int(0, 1)} if d.chance(0.7) else {}
    if d.chance(0.15):
        m.add(op, [x], **how)
    elif op == "ReduceSum" or m.graph.opset >= 18:
        m.add(op, [x, m.ints(*axes)], **how)
    else:
        m.add(op, [x], axes=axes, **how)


def along(m, d):
    x = m.value(least=1)
    op = d.choice(["Softmax", "LogSoftmax", "CumSum", "Hardmax", "LpNormalization", "TopK", "ArgMax", "ArgMin"])
    axis = m.axis(x)
    if op == "CumSum":
        m.add(op, [x, m.graph.constant(numpy.array(axis, "int64"), exact=True)], exclusive=d.int(0, 1), reverse=d.int(0, 1))
    elif op == "TopK":
        m.add(op, [x, m.ints(d.int(1, m.shape(x)[axis]))], outputs=2, axis=axis, largest=d.int(0, 1))
    elif op in ("ArgMax", "ArgMin"):
        found = m.graph.add(op, [x], axis=axis, keepdims=d.int(0, 1))
        m.add("Cast", [found], to=1)
    elif op == "LpNormalization":
        away = m.graph.add("Add", [m.graph.add("Abs", [x]), m.graph.constant(0.1)])
        m.add(op, [away], axis=axis, p=d.int(1, 2))
    else:
        m.add(op, [x], axis=axis)


def product(m, d):
    x = m.value(least=1)
    shape = m.shape(x)
    if d.chance(0.5):
        m.add("MatMul", [x, m.weights(shape[-1], d.int(1, 6))])
    elif len(shape) >= 2:
        order = list(range(len(shape) - 2)) + [len(shape) - 1, len(shape) - 2]
        turned = m.graph.add("Transpose", [operand_of(m, d, x)], perm=order)
        m.add("MatMul", [x, turned])
    else:
        raise Unfit("rank")


def operand_of(m, d, name):
    same = [n for n in m.pool if m.shape(n) == m.shape(name) and m.graph.values[n].dtype.kind == "f"]
    return d.choice(same)


def gemm(m, d):
    x = m.value(rank=2)
    rows, k = m.shape(x)
    how = {"transA": d.int(0, 1), "transB": d.int(0, 1)}
    if how["transA"]:
        rows, k = k, rows
    n = d.int(1, 6)
    inputs = [x, m.weights(*((n, k) if how["transB"] else (k, n)))]
    if d.chance(0.7):
        inputs.append(m.weights(*d.choice([(n,), (1, n), (rows, n), (rows, 1), ()])))
    if d.chance(0.4):
        how.update(alpha=0.5, beta=1.5)
    m.add("Gemm", inputs, **how)


def einsum(m, d):
    x = m.value(least=2, most=3)
    shape = m.shape(x)
    if len(shape) == 2:
        equation, other = d.choice([("ij,jk->ik", (shape[1], 3)), ("ij,ij->i", shape), ("ij->ji", None), ("ij,j->", (shape[1],))])
    else:
        equation, other = d.choice([("bij,jk->bik", (shape[2], 2)), ("bij->bji", None), ("bij,bij->b", shape)])
    m.add("Einsum", [x] + ([m.weights(*other)] if other else []), equation=equation)


FLOAT_STEPS = [unary, unary, limited, positive, parametric, clip, binary, binary, divide, power, modulo, several, choose, reduce,
               reduce, along, product, gemm, einsum]
