# SPDX-License-Identifier: MIT
"""RNN, GRU and LSTM, one direction after the other, one step after the other."""
import numpy

from operators.elementwise import sigmoid


def directions(a, x, count, step, W, R, B, lengths, states):
    """step(t, w, r, b, states) gives the new states, the hidden one first. x (steps,batch,inputs)."""
    steps, batch = x.shape[:2]
    hidden = R.shape[-1]
    Y = numpy.zeros((steps, W.shape[0], batch, hidden))
    last = [numpy.zeros((W.shape[0], batch, hidden)) for _ in range(count)]
    for d in range(W.shape[0]):
        backward = a.get("direction", "forward") == "reverse" or d == 1
        b = numpy.zeros(2 * W.shape[1]) if B is None else B[d]
        now = [numpy.zeros((batch, hidden)) if s is None else s[d].copy() for s in states]
        for k in range(steps):
            for n in range(batch):
                length = steps if lengths is None else int(lengths[n])
                if k >= length:
                    continue
                t = length - 1 - k if backward else k
                new = step(x[t, n], W[d], R[d], b, [s[n] for s in now], hidden)
                for s, v in zip(now, new):
                    s[n] = v
                Y[t, d, n] = new[0]
        for k in range(count):
            last[k][d] = now[k]
    return (Y, *last)


def rnn(a, x, W, R, B=None, lengths=None, h0=None):
    def step(v, w, r, b, states, hidden):
        return [numpy.tanh(w @ v + r @ states[0] + b[:hidden] + b[hidden:])]
    return directions(a, x, 1, step, W, R, B, lengths, [h0])


def gru(a, x, W, R, B=None, lengths=None, h0=None):
    def step(v, w, r, b, states, hidden):
        h, n = states[0], hidden
        wz, wr, wh = numpy.split(w @ v + b[:3 * n], 3)
        rb = b[3 * n:]
        z = sigmoid(wz + r[:n] @ h + rb[:n])
        reset = sigmoid(wr + r[n:2 * n] @ h + rb[n:2 * n])
        if a.get("linear_before_reset"):
            candidate = numpy.tanh(wh + reset * (r[2 * n:] @ h + rb[2 * n:]))
        else:
            candidate = numpy.tanh(wh + r[2 * n:] @ (reset * h) + rb[2 * n:])
        return [(1 - z) * candidate + z * h]
    return directions(a, x, 1, step, W, R, B, lengths, [h0])


def lstm(a, x, W, R, B=None, lengths=None, h0=None, c0=None):
    def step(v, w, r, b, states, hidden):
        h, c = states
        i, o, f, g = numpy.split(w @ v + r @ h + b[:4 * hidden] + b[4 * hidden:], 4)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        return [sigmoid(o) * numpy.tanh(c), c]
    return directions(a, x, 2, step, W, R, B, lengths, [h0, c0])


FUNCTIONS = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
