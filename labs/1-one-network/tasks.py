# SPDX-License-Identifier: MIT
#
# Lab 1. What a student reads off `npulab compare` is compared with the JSON of the same comparison.
import functools

TITLE = "One network, four machines"
ABOUT = ("A small network with real samples and ResNet-50, on a TPU v1, on DianNao, on a GPU and a CPU of their time and on this "
         "computer: time, energy and error, and which of these figures are measured and which are modelled.")

MACHINES = ["tpu_v1", "diannao", "gpu_k80", "cpu_haswell_e5_2699v3"]


def parameters(lab):
    return {"batch": lab.choose("batch", [6, 9, 12, 15, 18, 20, 24, 30, 36, 40]),
            "times": lab.choose("times", [2, 3, 5, 8, 10]), "digits_machine": lab.choose("machine", ["tpu_v1", "diannao"])}


@functools.lru_cache(maxsize=None)
def compared(lab, model, devices, *options):
    """The devices of a comparison, by name."""
    found = lab.json("compare", model, "--devices", devices, "--quiet", *options)
    return {device["name"]: device for device in found["devices"]}


def digits(lab):
    return compared(lab, "digits", "tpu_v1,diannao", "--batch", str(lab.parameters["batch"]))


def resnet50(lab):
    return compared(lab, "resnet50", ",".join(MACHINES), "--timing-only")


def batch_us(lab):
    return digits(lab)[lab.parameters["digits_machine"]]["totals"]["latency_s"] * 1e6


def sample_uj(lab):
    return 1e6 / digits(lab)["diannao"]["totals"]["inferences_per_joule"]


def less_exact(lab):
    return min(digits(lab).values(), key=lambda device: device["accuracy"]["sqnr_db"])["name"]


def fastest(lab):
    return min(resnet50(lab).values(), key=lambda device: device["totals"]["latency_s"])["name"]


def least_energy(lab):
    return min(resnet50(lab).values(), key=lambda device: 1 / device["totals"]["inferences_per_joule"])["name"]


def energy_ratio(lab):
    devices = resnet50(lab)
    return devices["tpu_v1"]["totals"]["inferences_per_joule"] / devices["gpu_k80"]["totals"]["inferences_per_joule"]


def host_percent(lab):
    totals = resnet50(lab)["diannao"]["totals"]
    return 100 * totals["host_seconds"] / totals["seconds"]


def measured(_):
    return "cpu_time"


def saved_us(lab):
    """What a faster host takes away: its own share alone becomes shorter (Amdahl)."""
    return 1e6 * resnet50(lab)["diannao"]["totals"]["host_seconds"] * (1 - 1 / lab.parameters["times"])


HINTS = {
    "batch_us": "BATCH TIME, in microseconds. Is the batch yours? `--batch` sets it.",
    "sample_uj": "ENERGY/SAMPLE, in microjoules.",
    "less_exact": "SIGNAL/NOISE compares the results with those of float32: more decibels are better.",
    "fastest": "BATCH TIME of resnet50. The batch is 1.",
    "least_energy": "ENERGY/SAMPLE of resnet50, with the machine's memory, host and link.",
    "energy_ratio": "The energy of the GPU over that of the TPU, each of a sample.",
    "host_percent": "TIME OF A BATCH has HOST beside MACHINE. Divide by BATCH TIME.",
    "measured": "Which of them could be another one when you run the command again? And which stands without the mark ~?",
    "saved_us": "Only the host's share becomes shorter: the rest stays as it is.",
}
WORDS = {"less_exact": ["tpu_v1", "diannao"], "fastest": MACHINES, "least_energy": MACHINES,
         "measured": ["cpu_time", "tpu_v1_time", "diannao_energy", "gpu_k80_time"]}
EXPECTED = {f.__name__: f for f in (batch_us, sample_uj, less_exact, fastest, least_energy, energy_ratio, host_percent, measured,
                                    saved_us)}


def task(name):
    def check(lab):
        if name in WORDS:
            lab.expect_word(name, lambda: EXPECTED[name](lab), WORDS[name], HINTS[name])
        else:
            lab.expect_number(name, lambda: EXPECTED[name](lab), HINTS[name], within=0.02)
    return check


TASKS = [("1. the time of a batch", task("batch_us")), ("2. the energy of a sample", task("sample_uj")),
         ("3. which is less exact", task("less_exact")), ("4. ResNet-50: the fastest", task("fastest")),
         ("5. ResNet-50: the least energy", task("least_energy")), ("6. the GPU beside the TPU", task("energy_ratio")),
         ("7. the host's share", task("host_percent")), ("8. what a faster host would give", task("saved_us")),
         ("9. what is measured", task("measured"))]
