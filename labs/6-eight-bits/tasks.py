# SPDX-License-Identifier: MIT
#
# Lab 6. Tasks 1 to 4 are arithmetic on the student's numbers, the others runs of npulab.
import functools
import math

TITLE = "Eight bits"
ABOUT = ("Scales by hand, what an outlier and a common scale cost, three rules for ranges, where a network loses its accuracy, and "
         "what a bit is worth.")

STEPS = 255


def parameters(lab):
    low, high = -lab.draw("low", 4, 24) / 10, lab.draw("high", 26, 64) / 10
    first, second = lab.draw("first", 60, 90) / 100, lab.draw("second", 4, 12) / 100
    return {"low": low, "high": high, "value": lab.draw("value", 3, 20) / 10, "outlier": lab.draw("outlier", 20, 90),
            "first": first, "second": second, "percent": lab.choose("percent", [97, 98, 99, 99.5, 99.9])}


@functools.lru_cache(maxsize=None)
def digits(lab, device, *options):
    return lab.json("compare", "digits", "--devices", device, "--quiet", *options)["devices"][0]


# ---- What is expected, by the name of the answer.

def step(lab):
    return (lab.parameters["high"] - lab.parameters["low"]) / STEPS


def steps_above(lab):
    return round((lab.parameters["value"] - lab.parameters["low"]) / step(lab))


def bits_lost(lab):
    p = lab.parameters
    return math.log2((p["outlier"] - p["low"]) / (p["high"] - p["low"]))


def times_coarser(lab):
    return lab.parameters["first"] / lab.parameters["second"]


def minmax_db(lab):
    return digits(lab, "tpu_v1")["accuracy"]["sqnr_db"]


def percentile_db(lab):
    return digits(lab, "tpu_v1", "--calibrate", f"percentile={lab.parameters['percent']}")["accuracy"]["sqnr_db"]


def saturated(lab):
    return digits(lab, "tpu_v1", "--calibrate", f"percentile={lab.parameters['percent']}")["accuracy"]["saturations"]


def worst_layer(lab):
    layers = [layer for layer in digits(lab, "tpu_v1")["layers"] if layer["sqnr_db"] is not None]
    return min(layers, key=lambda layer: layer["sqnr_db"])["name"]


def bits_won(lab):
    wide = digits(lab, "tpu_v1", "--set", "tpu_v1.precision=8x16")["accuracy"]["sqnr_db"]
    return (wide - minmax_db(lab)) / (20 * math.log10(2))


HINTS = {
    "step": "The range in 255 equal steps.",
    "steps_above": "The distance from the range's lower end in steps, rounded to the nearest.",
    "bits_lost": "The steps become so many times wider as the range does. Half as fine is one bit less: the logarithm to base 2.",
    "times_coarser": "With its own scale a filter has its own greatest weight over 127 for a step.",
    "minmax_db": "SIGNAL/NOISE in the table that compares with float32.",
    "percentile_db": "`--calibrate percentile=...`, with your percentage.",
    "saturated": "SATURATED counts values that were clipped to the end of their format. Is it that of the percentile?",
    "worst_layer": "`--layers` has the ratios in SIGNAL/NOISE OF. Layers that are done in one go stand under the name of the last one.",
    "bits_won": "The gain in decibels over what a bit is worth: a factor of 2 in the error, 20 log10(2) dB.",
}
EXPECTED = {f.__name__: f for f in (step, steps_above, bits_lost, times_coarser, minmax_db, percentile_db, saturated, worst_layer,
                                    bits_won)}
LAYERS = ["conv1", "relu1", "conv2", "relu2", "pool1", "conv3", "relu3", "pool2", "flatten", "fc1", "relu4", "fc2"]


def task(name, within=0.0):
    def check(lab):
        if name == "worst_layer":
            lab.expect_word(name, lambda: worst_layer(lab), LAYERS, HINTS[name])
        else:
            lab.expect_number(name, lambda: EXPECTED[name](lab), HINTS[name], **({"within": within} if within else {}))
    return check


TASKS = [("1. a step", task("step", 0.01)), ("2. a number in steps", task("steps_above")), ("3. an outlier", task("bits_lost", 0.03)),
         ("4. one scale for two filters", task("times_coarser", 0.02)), ("5. the error of a network", task("minmax_db", 0.01)),
         ("6. another rule for ranges", task("percentile_db", 0.01)), ("7. what is clipped", task("saturated")),
         ("8. where accuracy is lost", task("worst_layer")), ("9. what 16 bits of activations give", task("bits_won", 0.05))]
