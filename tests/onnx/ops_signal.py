# SPDX-License-Identifier: MIT
"""Signals: DFT of opset 17 (the axis is an attribute) and 20 (an input), STFT, windows, the matrix of mel bands."""
import numpy

from cases import node


def parts(x):
    return numpy.stack([x.real, x.imag], -1).astype("float32")


def number(x, dtype="int64"):
    return numpy.array(x, dtype)


def dft_cases(suite):
    real, whole = suite.floats(2, 9, 3, 1), suite.floats(2, 8, 3, 2)
    line = whole[..., 0] + 1j * whole[..., 1]
    for opset in 17, 20:
        def case(name, x, axis, length, y, **attributes):
            constants = {} if length is None else {"length": number(length)}
            names = "x " + ("-" if length is None else "length")
            if opset == 17 and axis is not None:
                attributes["axis"] = axis
            elif axis is not None:
                constants["axis"] = number(axis)
                names += " axis"
            suite.case(f"dft_{opset}_{name}", opset, [node("DFT", names, "y", **attributes)], {"x": x}, {"y": parts(y)}, constants)
        case("default", real, None, None, numpy.fft.fft(real[..., 0], axis=1 if opset == 17 else 2))
        case("axis", real, 1, None, numpy.fft.fft(real[..., 0], axis=1))
        case("onesided", real, 1, None, numpy.fft.rfft(real[..., 0], axis=1), onesided=1)
        case("longer", real, 1, 12, numpy.fft.fft(real[..., 0], 12, 1))
        case("shorter", whole, 1, 5, numpy.fft.fft(line, 5, 1))
        case("inverse", whole, 2, None, numpy.fft.ifft(line, axis=2), inverse=1)


def stft_cases(suite):
    def case(name, x, step, window, length, **attributes):
        n = length or len(window)
        y = numpy.stack([x[:, i:i + n] * (1 if window is None else window) for i in range(0, x.shape[1] - n + 1, step)], 1)
        y = numpy.fft.fft(y, axis=2) if attributes.get("onesided") == 0 else numpy.fft.rfft(y, axis=2)
        constants = {"step": number(step)}
        if length:
            constants["length"] = number(length)
        inputs = {"x": parts(x) if numpy.iscomplexobj(x) else x[..., None]}
        if window is not None:
            inputs["window"] = window
        names = f"x step {'-' if window is None else 'window'} {'length' if length else '-'}"
        suite.case(f"stft_{name}", 17, [node("STFT", names, "y", **attributes)], inputs, {"y": parts(y)}, constants)
    x, window = suite.floats(2, 40), numpy.hanning(16).astype("float32")
    case("window", x, 8, window, 0)
    case("length", x, 5, None, 12)
    case("both", x, 7, window, 16, onesided=1)
    case("whole_spectrum", x, 4, window, 0, onesided=0)
    case("complex", x + 1j * x[::-1], 4, None, 9, onesided=0)


def window_cases(suite):
    weights = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}
    for name, (a, b, c) in weights.items():
        for periodic in 0, 1:
            angle = 2 * numpy.pi * numpy.arange(10) / (10 if periodic else 9)
            y = a - b * numpy.cos(angle) + c * numpy.cos(2 * angle)
            suite.case(f"{name.lower()}_{periodic}", 17, [node(name, "n", "w", periodic=periodic), node("Mul", "w x", "y")],
                       {"x": numpy.ones(10, "float32")}, {"y": y.astype("float32")}, {"n": number(10)})
    suite.case("hannwindow_of_doubles", 17, [node("HannWindow", "n", "w", output_datatype=11), node("Mul", "w x", "y")],
               {"x": numpy.ones(4)}, {"y": numpy.array([0, 0.5, 1, 0.5])}, {"n": number(4, "int32")})


def mel_cases(suite):
    bands, points, rate, low, high = 8, 64, 8192, 0.0, 4096.0
    edges = numpy.linspace(2595 * numpy.log10(1 + low / 700), 2595 * numpy.log10(1 + high / 700), bands + 3)[:-1]
    edges = numpy.floor((points + 1) * 700 * (10 ** (edges / 2595) - 1) / rate).astype(int)
    y = numpy.zeros((points // 2 + 1, bands))
    for i in range(bands):
        first, centre, last = edges[i:i + 3]
        y[first:centre + 1, i] = 1 if centre == first else (numpy.arange(first, centre + 1) - first) / (centre - first)
        y[centre:last, i] = (last - numpy.arange(centre, last)) / max(last - centre, 1)
    suite.case("melweightmatrix", 17, [node("MelWeightMatrix", "bands points rate low high", "m"), node("MatMul", "x m", "y")],
               {"x": numpy.eye(33, dtype="float32")}, {"y": y.astype("float32")},
               {"bands": number(bands), "points": number(points), "rate": number(rate), "low": number(low, "float32"),
                "high": number(high, "float32")})


def cases(suite):
    dft_cases(suite)
    stft_cases(suite)
    window_cases(suite)
    mel_cases(suite)
