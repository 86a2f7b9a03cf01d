# SPDX-License-Identifier: MIT
"""Resize of opset 18 (axes, antialias, sizes that keep the aspect ratio) and 19 (half_pixel_symmetric). Each dimension is a matrix
of weights, outputs by inputs, written down from the definition; the result is their product with the tensor, one after the other."""
import math

import numpy

from cases import node


def position(i, size, scale, out, mode, roi):
    """Where output i lies in the input; out is the integer length of the output, scale * size the real one."""
    length = scale * size
    if mode == "half_pixel":
        return (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - out / length) + (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if length > 1 else 0
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        return i * (size - 1) / (length - 1) if length != 1 else 0
    if mode == "tf_crop_and_resize":
        if out == 1:
            return 0.5 * (roi[0] + roi[1]) * (size - 1)
        return roi[0] * (size - 1) + i * (roi[1] - roi[0]) * (size - 1) / (out - 1)
    raise ValueError(mode)


def triangle(x):
    return max(0, 1 - abs(x))


def keys(x, a):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1
    return a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a if x < 2 else 0


def nearest(x, mode):
    floor = math.floor(x)
    if mode == "round_prefer_floor":
        return floor if x - floor <= 0.5 else floor + 1
    if mode == "round_prefer_ceil":
        return floor if x - floor < 0.5 else floor + 1
    return floor if mode == "floor" else math.ceil(x)


def weights(size, out, scale, how):
    """A matrix (out, size), and which outputs lie outside."""
    matrix, outside = numpy.zeros((out, size)), numpy.zeros(out, bool)
    mode, stretch = how["mode"], min(scale, 1) if how["antialias"] else 1
    for i in range(out):
        x = position(i, size, scale, out, how["coordinates"], how["roi"])
        outside[i] = how["coordinates"] == "tf_crop_and_resize" and not 0 <= x <= size - 1
        if mode == "nearest":
            matrix[i, min(max(nearest(x, how["nearest_mode"]), 0), size - 1)] = 1
            continue
        reach = (1 if mode == "linear" else 2) / stretch
        for j in range(math.floor(x - reach), math.ceil(x + reach) + 1):
            away = (j - x) * stretch
            weight = triangle(away) if mode == "linear" else keys(away, how["a"])
            if not how["exclude_outside"] or 0 <= j < size:
                matrix[i, min(max(j, 0), size - 1)] += weight
        if how["exclude_outside"] or how["antialias"]:
            matrix[i] /= matrix[i].sum()
    return matrix, outside


def as_float32(values):
    """What the model holds of a list of numbers; None stays None."""
    return values if values is None else numpy.array(values, "float32").astype("float64").tolist()


def resize(x, axes, scales=None, sizes=None, policy="stretch", extrapolation=0.0, rois=None, **how):
    how = {"mode": "nearest", "coordinates": "half_pixel", "nearest_mode": "round_prefer_floor", "a": -0.75,
           "exclude_outside": False, "antialias": False, **how}
    y = x.astype("float64")
    scales, rois = as_float32(scales), as_float32(rois)
    if sizes is not None:
        scales = [size / x.shape[axis] for axis, size in zip(axes, sizes)]
        if policy != "stretch":
            scale = (min if policy == "not_larger" else max)(scales)
            scales = [scale] * len(axes)
            sizes = [math.floor(scale * x.shape[axis] + 0.5) for axis in axes]
    masks = []
    for k, axis in enumerate(axes):
        roi = rois[k] if rois else (0, 1)
        part = roi[1] - roi[0] if how["coordinates"] == "tf_crop_and_resize" else 1
        out = sizes[k] if sizes is not None else math.floor(x.shape[axis] * part * scales[k])
        matrix, outside = weights(x.shape[axis], out, scales[k], {**how, "roi": roi})
        y = numpy.moveaxis(numpy.tensordot(matrix, y, (1, axis)), 0, axis)
        masks.append((axis, outside))
    for axis, outside in masks:
        numpy.moveaxis(y, axis, 0)[outside] = extrapolation
    return y.astype(x.dtype)


def cases(suite):
    x = suite.floats(1, 2, 6, 9)

    def case(name, opset, axes, scales=None, sizes=None, rois=None, attributes=None, **how):
        attributes = dict(attributes or {})
        if axes is not None:
            attributes["axes"] = axes
        dims = [d % 4 for d in axes] if axes is not None else [0, 1, 2, 3]
        constants = {}
        if rois:
            constants["roi"] = numpy.float32([r[0] for r in rois] + [r[1] for r in rois])
        if scales is not None:
            constants["scales"] = numpy.float32(scales)
        if sizes is not None:
            constants["sizes"] = numpy.array(sizes)
        names = " ".join(k if k in constants else "-" for k in ("roi", "scales", "sizes"))
        suite.case("resize_" + name, opset, [node("Resize", "x " + names, "y", **attributes)], {"x": x},
                   {"y": resize(x, dims, scales, sizes, rois=rois, **how)}, constants)

    for mode in "linear", "cubic":
        for name, scales in ("down", [0.5, 0.25]), ("down_uneven", [0.6, 0.7]), ("up", [2.0, 1.5]):
            case(f"antialias_{mode}_{name}", 18, [2, 3], scales=scales, mode=mode, antialias=True,
                 attributes={"mode": mode, "antialias": 1})
        case(f"antialias_{mode}_exclude_outside", 19, [2, 3], scales=[0.6, 0.5], mode=mode, antialias=True,
             exclude_outside=True, attributes={"mode": mode, "antialias": 1, "exclude_outside": 1})
        case(f"antialias_{mode}_sizes", 19, [3, 2], sizes=[4, 5], mode=mode, antialias=True,
             attributes={"mode": mode, "antialias": 1})
        case(f"{mode}_symmetric_scales", 19, [2, 3], scales=[0.7, 1.6], mode=mode, coordinates="half_pixel_symmetric",
             attributes={"mode": mode, "coordinate_transformation_mode": "half_pixel_symmetric"})
    case("antialias_nearest", 18, [2, 3], scales=[0.5, 0.5], attributes={"antialias": 1})
    case("axes_negative", 18, [-1], scales=[2.0], mode="linear", attributes={"mode": "linear"})
    case("axes_any_order", 18, [3, 2], scales=[2.0, 0.5], attributes={})
    case("axes_sizes", 18, [3], sizes=[5], attributes={})
    case("no_axes", 18, None, scales=[1.0, 1.0, 2.0, 3.0], attributes={})
    for policy in "stretch", "not_larger", "not_smaller":
        for mode in "nearest", "linear":
            case(f"{policy}_{mode}", 18 if mode == "nearest" else 19, [2, 3], sizes=[8, 10], mode=mode, policy=policy,
                 attributes={"mode": mode, "keep_aspect_ratio_policy": policy})
    case("not_larger_halves_up", 18, [2, 3], sizes=[3, 5], policy="not_larger",
         attributes={"keep_aspect_ratio_policy": "not_larger"})
    for nearest_mode in "round_prefer_floor", "round_prefer_ceil", "floor", "ceil":
        for coordinates in "half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric":
            case(f"{nearest_mode}_{coordinates}", 19, [2, 3], scales=[1.5, 0.8], nearest_mode=nearest_mode,
                 coordinates=coordinates,
                 attributes={"nearest_mode": nearest_mode, "coordinate_transformation_mode": coordinates})
    for opset in 18, 19:
        case(f"crop_{opset}", opset, [2, 3], sizes=[4, 5], rois=[(0.2, 0.7), (-0.1, 1.2)], mode="linear",
             coordinates="tf_crop_and_resize", extrapolation=7.5,
             attributes={"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                         "extrapolation_value": 7.5})
    case("cubic_coefficient", 18, [2, 3], scales=[1.7, 0.9], mode="cubic", a=-0.5,
         attributes={"mode": "cubic", "cubic_coeff_a": -0.5})
    case("pytorch_half_pixel", 18, [2], sizes=[1], mode="linear", coordinates="pytorch_half_pixel",
         attributes={"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"})
