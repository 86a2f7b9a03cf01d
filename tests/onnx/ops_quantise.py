# SPDX-License-Identifier: MIT
"""QuantizeLinear, DequantizeLinear and QLinearMatMul with scales of 16-bit floats (19, 21), integers of 16 bits and output_dtype (21),
and a precision of the quotient's own (23); Cast and CastLike with an attribute saturate that says nothing of their types (19)."""
import numpy

from cases import bfloat16, bfloat16_values, node

LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}


def quantised(quotient, zero, kind):
    q = numpy.rint(quotient.astype("float64")) + numpy.asarray(zero, "float64")
    return numpy.clip(q, *LIMITS[kind]).astype(kind)


def cases(suite):
    x = suite.floats(3, 4, low=-40, high=40)
    for kind in LIMITS:
        opset = 21 if kind.endswith("16") else 19
        scale = numpy.float32(0.37 if kind.endswith("8") else 0.0021)
        zero = numpy.array(11 if kind.startswith("i") else 130, kind)
        q = quantised(x / scale, zero, kind)
        suite.case(f"quantizelinear_{kind}", opset, [node("QuantizeLinear", "x s z", "q")],
                   {"x": x, "s": numpy.array(scale), "z": zero}, {"q": q})
        real = (q.astype("int64") - int(zero)).astype("float32") * scale
        suite.case(f"dequantizelinear_{kind}", opset, [node("DequantizeLinear", "q s z", "y")],
                   {"q": q, "s": numpy.array(scale), "z": zero}, {"y": real})
        number = {"uint8": 2, "int8": 3, "uint16": 4, "int16": 5}[kind]
        suite.case(f"quantizelinear_output_dtype_{kind}", 21, [node("QuantizeLinear", "x s", "q", output_dtype=number)],
                   {"x": x}, {"q": quantised(x / scale, 0, kind)}, {"s": numpy.array(scale)})
    scale, zero = numpy.float32([0.3, 0.5, 0.2]), numpy.int16([3, -900, 0])
    q = quantised(x / scale[:, None], zero[:, None], "int16")
    suite.case("quantizelinear_int16_along_an_axis", 21, [node("QuantizeLinear", "x s z", "q", axis=-2)],
               {"x": x, "s": scale, "z": zero}, {"q": q})
    suite.case("dequantizelinear_int16_along_an_axis", 21, [node("DequantizeLinear", "q s z", "y", axis=0)],
               {"q": q, "s": scale, "z": zero},
               {"y": (q.astype("int32") - zero[:, None].astype("int32")).astype("float32") * scale[:, None]})
    halves(suite, x)
    casts(suite)


def halves(suite, x):
    h, scale = x.astype("float16"), numpy.float16(0.11)
    quotient = h / scale  # numpy rounds it to float16
    assert quotient.dtype == numpy.float16
    q = quantised(quotient, 5, "int8")
    suite.case("quantizelinear_float16", 19, [node("QuantizeLinear", "x s z", "q")],
               {"x": h, "s": numpy.array(scale), "z": numpy.array(5, "int8")}, {"q": q})
    suite.case("dequantizelinear_float16", 19, [node("DequantizeLinear", "q s z", "y")],
               {"q": q, "s": numpy.array(scale), "z": numpy.array(5, "int8")},
               {"y": ((q.astype("float64") - 5) * float(scale)).astype("float16")})
    b, bscale = bfloat16(x), bfloat16(numpy.float32(0.25))
    suite.case("quantizelinear_bfloat16", 19, [node("QuantizeLinear", "x s z", "q")],
               {"x": b, "s": bscale, "z": numpy.array(100, "uint8")},
               {"q": quantised(bfloat16_values(b) / 0.25, 100, "uint8")})
    wide = suite.floats(40, 25, low=-3000, high=3000).astype("float16")
    scale = numpy.float16(0.4375)
    in_half, in_float = wide / scale, wide.astype("float32") / numpy.float32(scale)
    suite.case("quantizelinear_quotient_in_float16", 23, [node("QuantizeLinear", "x s", "q", output_dtype=5)],
               {"x": wide, "s": numpy.array(scale)}, {"q": quantised(in_half, 0, "int16")})
    suite.case("quantizelinear_precision_float", 23, [node("QuantizeLinear", "x s", "q", output_dtype=5, precision=1)],
               {"x": wide, "s": numpy.array(scale)}, {"q": quantised(in_float, 0, "int16")})
    assert (quantised(in_half, 0, "int16") != quantised(in_float, 0, "int16")).any()
    suite.case("quantizelinear_scale_of_another_type", 23, [node("QuantizeLinear", "x s", "q", output_dtype=5)],
               {"x": wide, "s": numpy.array(numpy.float32(0.4375))}, {"q": quantised(in_float, 0, "int16")})
    suite.case("dequantizelinear_output_dtype", 23, [node("DequantizeLinear", "q s", "y", output_dtype=10)],
               {"q": numpy.int8([[-3, 7], [100, -128]]), "s": numpy.array(numpy.float32(0.3))},
               {"y": (numpy.float64([[-3, 7], [100, -128]]) * float(numpy.float32(0.3))).astype("float16")})
    a, w = suite.integers(3, 4, low=0, high=200, dtype="uint8"), suite.integers(4, 2, low=0, high=200, dtype="uint8")
    product = (a.astype("int64") - 100) @ (w.astype("int64") - 120)
    for kind, number in ("float32", 10), ("float16", 21):
        scales = [numpy.array(numpy.float32(v).astype(kind)) for v in (0.5, 0.25, 16)]
        suite.case(f"qlinearmatmul_scales_{kind}", number, [node("QLinearMatMul", "a sa za w sw zw sy zy", "y")],
                   {"a": a, "sa": scales[0], "za": numpy.array(100, "uint8"), "w": w, "sw": scales[1],
                    "zw": numpy.array(120, "uint8"), "sy": scales[2], "zy": numpy.array(128, "uint8")},
                   {"y": quantised(product * (0.5 * 0.25 / 16), 128, "uint8")})


def casts(suite):
    x = suite.floats(2, 5, low=-9, high=9)
    for opset in 19, 21, 23:
        suite.case(f"cast_{opset}", opset, [node("Cast", "x", "y", to=6, saturate=1)], {"x": x}, {"y": x.astype("int32")})
        suite.case(f"castlike_{opset}", opset, [node("CastLike", "x like", "y", saturate=0)],
                   {"x": x, "like": numpy.zeros(1, "float64")}, {"y": x.astype("float64")})
    suite.case("cast_bfloat16", 21, [node("Cast", "x", "y", to=16)], {"x": x}, {"y": bfloat16(x)})
