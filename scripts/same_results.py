#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the runs that scripts/same-results.sh left in two folders and prints what differs.

Left out: what was measured, what depends on the computer, and what names a build. Numbers that are no integers may differ by
1e-12 of themselves, since a sum may be taken in another order. A key that only the new build knows is listed and is no difference."""

import csv
import hashlib
import json
import pathlib
import sys

NEAR = 1e-12

# Of any device: builds, files and the time that npulab itself took.
NEVER = {
    "npulab", "version", "commit", "machine_sha256", "memory_sha256", "detail", "simulation_wall_seconds", "wall_seconds", "load_average"}

# Of a device that measures itself this alone is its word for the same input; "layers" stands for the layers' own keys here.
MEASURED_KINDS = {"reference", "null", "cpu", "cuda"}
OF_MEASURED = {
    "name", "kind", "precision", "settings", "output_sha256", "accuracy", "max_abs_error", "sqnr_db", "top1_agreement",
    "top1_accuracy", "saturations", "overflows", "layers", "index", "op", "ran_on", "role", "macs", "output", "type", "scale",
    "zero_point"}
# Settings of the processor that follow from where it runs.
LOCAL_SETTINGS = {"threads"}

# Keys that have another name since: old -> new.
RENAMED = {}


def keys_of(old, measured):
    for key in old:
        if key in NEVER or (measured and key not in OF_MEASURED):
            continue
        yield key


def is_measured(value):
    return isinstance(value, dict) and value.get("kind") in MEASURED_KINDS


def same_number(old, new):
    if old == new:
        return True
    if isinstance(old, int) and isinstance(new, int):
        return False
    return abs(old - new) <= NEAR * max(abs(old), abs(new))


class Comparison:
    def __init__(self):
        self.differences = []
        self.added = {}
        self.values = 0

    def differ(self, run, path, old, new):
        self.differences.append(f"{run}: {path or '.'}: {json.dumps(old)} -> {json.dumps(new)}")

    def compare(self, run, path, old, new, measured=False):
        number = (int, float)
        if isinstance(old, dict) and isinstance(new, dict):
            self.compare_keys(run, path, old, new, measured or is_measured(old))
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                self.differ(run, path + ".length", len(old), len(new))
            for i, (a, b) in enumerate(zip(old, new)):
                self.compare(run, f"{path}[{i}]", a, b, measured)
        else:
            self.values += 1
            plain = not isinstance(old, bool) and not isinstance(new, bool)
            near = plain and isinstance(old, number) and isinstance(new, number) and same_number(old, new)
            if not near and (old != new or type(old) is not type(new)):
                self.differ(run, path, old, new)

    def compare_keys(self, run, path, old, new, measured):
        inside = measured and path.endswith("settings")
        for key in [k for k in old if k not in LOCAL_SETTINGS] if inside else keys_of(old, measured):
            there = RENAMED.get(key, key)
            if there in new:
                self.compare(run, f"{path}.{key}", old[key], new[there], measured)
            else:
                self.differ(run, f"{path}.{key}", old[key], "absent")
        known = {RENAMED.get(key, key) for key in old}
        for key in new:
            if key not in known and key not in NEVER and not measured:
                self.added.setdefault(key, f"{run}: {path}")

    def compare_rows(self, run, old, new):
        """CSV: one object a row, by the names of the first line."""
        self.compare(run, "csv", *({"rows": [numbers(row) for row in csv.DictReader(text.splitlines())]} for text in (old, new)))

    def compare_files(self, run, old, new):
        for file in sorted(old.iterdir()):
            other = new / file.name
            if file.name in ("out", "err"):
                continue
            if not other.exists():
                self.differ(run, file.name, "a file", "absent")
            elif file.suffix == ".npy":
                self.compare(run, file.name, digest(file), digest(other))
            elif file.name == "csv":
                self.compare_rows(run, file.read_text(), other.read_text())
            elif file.name == "status":
                self.compare(run, "exit status", int(file.read_text()), int(other.read_text()))
            else:
                self.compare(run, "", json.loads(file.read_text()), json.loads(other.read_text()))


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def numbers(row):
    """Texts that are numbers as such, so that a last digit of a double is no difference."""
    out = {}
    for key, text in row.items():
        try:
            out[key] = int(text)
        except (TypeError, ValueError):
            try:
                out[key] = float(text)
            except (TypeError, ValueError):
                out[key] = text
    return out


def main():
    old, new = (pathlib.Path(folder) for folder in sys.argv[1:3])
    comparison = Comparison()
    runs = sorted(run.name for run in old.iterdir())
    failed = []
    for run in runs:
        comparison.compare_files(run, old / run, new / run)
        if int((old / run / "status").read_text()):
            failed.append(run + ": " + (old / run / "err").read_text().strip())
    for line in comparison.differences[:200]:
        print(line)
    for key, where in sorted(comparison.added.items()):
        print(f"only in the new one: {key}, first in {where}")
    for line in failed:
        print(f"failed in the old one: {line}")
    print(f"{len(runs)} runs, {comparison.values} values")
    if comparison.differences or failed:
        print(f"{len(comparison.differences)} differences, {len(failed)} failures")
        return 1
    print("same")
    return 0


sys.exit(main())
