# SPDX-License-Identifier: MIT
#
# Lab 4. Times are those of the simulated machine. The arrival model of task 5 is an assumption, and said to be one in the handout.
import json
import os
import tempfile

TITLE = "Why the TPU wants batches"
ABOUT = ("Rooflines of the paper's networks: what a batch does to the work that each byte of weights gives, what a limit of 7 ms "
         "leaves of it, and what a faster memory would have given.")

LIMIT = 7e-3  # seconds, Table 4 of the paper
STEP, MOST = 16, 512  # of the batches that a sweep tries
FASTER = 4


def parameters(lab):
    return {"batch": lab.choose("batch", [24, 40, 56, 72, 88, 104, 120, 136, 152, 168]),
            "share": lab.choose("share", [20, 25, 30, 35, 40]),
            "arrivals": 1000 * lab.draw("arrivals", 40, 90),
            "step": STEP, "most": MOST, "faster": FASTER}


def roofline(lab, model, batch):
    found = lab.json("roofline", model, "--devices", "tpu_v1", "--batch", str(batch))
    return found["devices"][0]


def machine_seconds(lab, model, *options):
    """The time that the machine works for a batch, without host and link."""
    found = lab.json("compare", model, "--devices", "tpu_v1", "--timing-only", "--quiet", *options)
    totals = found["devices"][0]["totals"]
    return totals["cycles"] / found["devices"][0]["clock_hz"]


def batch_seconds(lab):
    """The time of each batch of a sweep over the batches of task 5."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "batches.sqlite")
        lab.npulab("sweep", "mlp0", "--device", "tpu_v1", "--batch", f"{STEP}..{MOST}+{STEP}", "-o", path, "--quiet", "--threads", "2")
        _, out, _ = lab.npulab("sweep", "export", path)
    points = [json.loads(line) for line in out.splitlines()]
    return {point["parameters"]["batch"]: point["metrics"]["seconds"] for point in points}


# ---- What is expected, by the name of the answer.

def ridge(lab):
    return roofline(lab, "mlp0", 1)["roofs"][0]["ridge_macs_per_byte"]


def intensity(lab):
    return roofline(lab, "mlp0", lab.parameters["batch"])["network"]["macs_per_byte"]


def attainable_tops(lab):
    return roofline(lab, "mlp0", lab.parameters["batch"])["network"]["roof_ops_per_second"] / 1e12


def least_batch(lab):
    """The least batch whose roof is at least a share of the peak."""
    machine = roofline(lab, "mlp0", 1)
    peak = machine["roofs"][0]["peak_ops_per_second"]
    batch = 1
    while roofline(lab, "mlp0", batch)["network"]["roof_ops_per_second"] < lab.parameters["share"] / 100 * peak:
        batch *= 2
    low = batch // 2
    while batch - low > 1:
        middle = (low + batch) // 2
        if roofline(lab, "mlp0", middle)["network"]["roof_ops_per_second"] < lab.parameters["share"] / 100 * peak:
            low = middle
        else:
            batch = middle
    return batch


def response_seconds(lab, batch, seconds):
    """The time from the arrival of a batch's first sample to its result: the others must arrive before the batch begins."""
    return (batch - 1) / lab.parameters["arrivals"] + seconds


def best_batch(lab):
    """The greatest batch that keeps the limit and up with the arrivals."""
    good = [batch for batch, seconds in batch_seconds(lab).items()
            if response_seconds(lab, batch, seconds) <= LIMIT and batch / seconds >= lab.parameters["arrivals"]]
    return max(good)


def faster_memory(lab):
    batch = ["--batch", str(lab.parameters["batch"])]
    faster = ["--set", f"tpu_v1.weight_memory.bytes_per_second={34133333334 * FASTER}"]
    return machine_seconds(lab, "mlp0", *batch) / machine_seconds(lab, "mlp0", *batch, *faster)


def no_help(lab):
    faster = ["--set", f"tpu_v1.weight_memory.bytes_per_second={34133333334 * FASTER}"]
    gain = {model: machine_seconds(lab, model) / machine_seconds(lab, model, *faster) for model in ("mlp0", "lstm0", "cnn0")}
    return min(gain, key=gain.get)


HINTS = {
    "ridge": "Where the two roofs meet. `npulab roofline mlp0 --devices tpu_v1` prints it.",
    "intensity": "Multiply-accumulates for each byte of weights: how often is a weight used for a batch?",
    "attainable_tops": "Left of the ridge: operations are two for each multiply-accumulate, so twice MAC/B times the memory's rate.",
    "least_batch": "The roof rises in proportion to the batch until the ridge. A share of the peak is reached at that share of the "
                   "ridge. Round up.",
    "best_batch": "Two limits: the wait for the last sample of the batch plus the batch's time, and the samples in a second. The "
                  "sweep has the times.",
    "faster_memory": "The time of MACHINE with the memory as it is, over that with the faster one.",
    "no_help": "Which of the networks uses each weight so often that its layers are right of the ridge?",
}
EXPECTED = {f.__name__: f for f in (ridge, intensity, attainable_tops, least_batch, best_batch, faster_memory, no_help)}


def task(name, within):
    def check(lab):
        if name == "no_help":
            lab.expect_word(name, lambda: no_help(lab), ["mlp0", "lstm0", "cnn0"], HINTS[name])
        else:
            lab.expect_number(name, lambda: EXPECTED[name](lab), HINTS[name], **({"within": within} if within else {}))
    return check


TASKS = [("1. the ridge point", task("ridge", 0.01)), ("2. the work of a byte of weights", task("intensity", 0.02)),
         ("3. the roof of your batch", task("attainable_tops", 0.02)), ("4. the least batch for a share of the peak", task("least_batch", 0)),
         ("5. the greatest batch within 7 ms", task("best_batch", 0)), ("6. a faster memory", task("faster_memory", 0.03)),
         ("7. whom it does not help", task("no_help", 0))]
