#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calibrates energies/tpu_v1.csv and energies/diannao.csv to what was published of the chips, and prints or writes them.

Every figure is what `npulab energy MACHINE --set MACHINE.energy.table=none` says bottom-up, times a factor. Components that
no table covers have a constant.

    diannao  Chen et al., ASPLOS 2014, Table 6: the power of each block at full rate, of which 1.73 % is leakage, and its area.
    tpu_v1   Jouppi et al., ISCA 2017. Table 2: 28 W idle and 40 W busy. Section 6 has the latter of CNN0. One factor for all
             energies on the chip makes the 12 W between them while the machine works on CNN0, with the weights' memory as it
             is. Figure 2: the shares of the die, of 331 mm2 at most. The idle power is spread over the die's area.

    scripts/calibrate_energy.py [--write] [build/npulab]
"""
import csv
import json
import subprocess
import sys

COLUMNS = "component,quantity,value,unit,node_nm,volts,origin"
HEAD = """# SPDX-License-Identifier: MIT
# Energy, area and static power of {title}, calibrated to {paper}.
# Made by scripts/calibrate_energy.py, which says how. docs/energy.md has the form of such tables.
"""
# Components of results, and the blocks of the paper's Table 6.
DIANNAO = {"SB": "SB", "NBin": "NBin", "NBout": "NBout", "NFU": "NFU", "control": "CP", "interface": "AXIMUX", "other": "other"}
DIANNAO_LEAKAGE = 0.0173  # section 7.2: leakage's share of the power


def published(name):
    with open(f"published/{name}.csv", encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    return {(row["case"], row["metric"]): float(row["value"]) for row in csv.DictReader(lines)}


def run(npulab, *words):
    return json.loads(subprocess.run([npulab, *words], capture_output=True, check=True).stdout)


class Table:
    """The rows of a machine's table. `bottom_up` is the machine without one."""

    def __init__(self, npulab, machine, origin):
        bottom_up = run(npulab, "energy", machine, "--set", f"{machine}.energy.table=none", "--json", "-")
        self.process = bottom_up["node_nm"], bottom_up["volts"]
        self.area = {c["component"]: c["area_low_mm2"] and (c["area_low_mm2"] * c["area_high_mm2"]) ** 0.5
                     for c in bottom_up["components"]}
        self.pj = {a["component"]: a["pj_middle"] for c in bottom_up["components"] for a in c["energy"]}
        self.origin, self.rows = origin, []

    def put(self, component, quantity, value, unit):
        self.rows.append(f"{component},{quantity},{value:.12g},{unit},{self.process[0]:g},{self.process[1]:g},{self.origin}")

    def put_figure(self, component, quantity, value, unit):
        """A figure as a factor where it follows bottom-up, otherwise as it is."""
        base = (self.pj if quantity == "energy" else self.area)[component]
        self.put(component, quantity, value / base if base else value, "factor" if base else unit)

    def text(self, title, paper):
        return HEAD.format(title=title, paper=paper) + "\n".join([COLUMNS, *self.rows]) + "\n"


def calibrate_diannao(npulab):
    paper, table = published("diannao"), Table(npulab, "diannao", "calibrated:chen2014")
    clock_hz = paper["DianNao", "clock"] * 1e9
    events = {"SB": 512, "NBin": 32, "NBout": 32, "NFU": 256}  # a cycle at full rate, Tn = 16
    for component, block in DIANNAO.items():
        pj = paper[block, "power"] * 1e-3 * (1 - DIANNAO_LEAKAGE) / clock_hz * 1e12 / events.get(component, 1)
        table.put_figure(component, "energy", pj, "pJ")
    for component, block in DIANNAO.items():
        table.put_figure(component, "area", paper[block, "area"], "mm2")
    leakage = paper["blocks together", "power"] * 1e-3 * DIANNAO_LEAKAGE
    table.put("static", "power", leakage / paper["blocks together", "area"], "W/mm2")
    return table.text("DianNao", "Chen et al., ASPLOS 2014, Table 6")


def calibrate_tpu_v1(npulab):
    paper, table = published("tpu_v1"), Table(npulab, "tpu_v1", "calibrated:jouppi2017")
    report = run(npulab, "compare", "cnn0", "--devices", "tpu_v1", "--timing-only", "--set", "tpu_v1.energy.table=none",
                 "--quiet", "--json", "-")["devices"][0]
    joules = {row["component"]: row["joules"] for row in report["totals"]["energy"]}
    seconds = report["totals"]["cycles"] / report["clock_hz"]
    watts = paper["TPU", "die_busy_power"] - paper["TPU", "die_idle_power"]
    factor = (watts * seconds - joules["weight memory"]) / sum(joules[component] for component in table.pj)
    for component in table.pj:
        table.put(component, "energy", factor, "factor")
    for component in table.area:
        mm2 = paper[component, "floor_plan"] * paper["TPU", "die_area"]
        if component == "activation unit":
            table.put(component, "area", mm2 / 256, "mm2 each")  # a lane for each column
        else:
            table.put_figure(component, "area", mm2, "mm2")
    table.put("static", "power", paper["TPU", "die_idle_power"] / paper["TPU", "die_area"], "W/mm2")
    return table.text("the TPU v1", "Jouppi et al., ISCA 2017, Table 2 and Figure 2")


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    npulab = words[0] if words else "build/npulab"
    for machine, calibrate in (("diannao", calibrate_diannao), ("tpu_v1", calibrate_tpu_v1)):
        text = calibrate(npulab)
        if "--write" in sys.argv[1:]:
            with open(f"energies/{machine}.csv", "w", encoding="utf-8") as file:
                file.write(text)
        else:
            print(text, end="")


if __name__ == "__main__":
    main()
