#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Differential tests of npulab on random models and files. CONTRIBUTING.md tells how they are used.

    soak.py KIND [--seed N] [--count N | --seconds N] [--npulab FILE] [--cuda FOLDER] [--opsets 13,17] [--keep FOLDER]

A case is made from its seed alone: the first has --seed, the next one more. What fails is shrunk, kept in a folder and printed
with the command that shows it and the one that makes the case again. Exit status 1 when a case failed or none was judged.
"""
import argparse
import importlib
import os
import shlex
import sys
import time
import traceback

MAX_FAILED = 20 # of a run: what fails everywhere need not be shrunk a thousand times
KINDS = sorted(name[:-len("_kind.py")] for name in os.listdir(os.path.dirname(os.path.abspath(__file__))) if name.endswith("_kind.py"))


class Run:
    """One kind's cases: what each of them needs, and what became of them."""

    def __init__(self, options, kind):
        from process import Program
        self.kind, self.options = kind, options
        self.program = Program(options.npulab, options.cuda)
        self.opsets = [int(v) for v in options.opsets.split(",")]
        self.seed, self.judged, self.unjudged, self.refused, self.failed = 0, 0, 0, 0, 0

    def judge(self, graph, check):
        """check(graph) raises a Finding or a refusal, or gives the number of results that it judged. Whether all is well."""
        from report import FOLDED, Finding, failure, shrink
        from process import Refused
        try:
            judged = check(graph)
        except (Finding, Refused) as found:
            if isinstance(found, Refused) and FOLDED.search(str(found)):
                self.refused += 1
                return True
            small, found = shrink(graph, check, found)
            failure(lambda g: (self.program.empty(), check(g)), small)
            self.fail(found, f"{len(small.nodes)} nodes: " + " ".join(node.op for node in small.nodes))
            return False
        self.judged += judged
        self.unjudged += not judged
        return True

    def fail(self, found, what):
        from report import keep
        self.failed += 1
        command = "npulab " + shlex.join(self.program.last)
        place = keep(self.program, self.options.keep, f"{self.kind}-{self.seed}-{self.failed}", found, command)
        print(f"FAILED {self.kind}, seed {self.seed}: {found}\n  {what}\n  in {place}: {command}\n"
              f"  again: tests/soak/soak.py {self.kind} --seed {self.seed} --count 1", flush=True)

    def cases(self):
        from graph import Dice
        make = importlib.import_module(self.kind + "_kind").case
        end, done = time.monotonic() + self.options.seconds, 0
        while self.failed < MAX_FAILED and (done < self.options.count if self.options.count else time.monotonic() < end):
            self.seed = self.options.seed + done
            self.program.empty()
            make(self, Dice(self.seed), self.seed)
            done += 1
        print(f"{self.kind}: {done} cases from seed {self.options.seed}, {self.judged} results judged, {self.unjudged} too "
              f"sensitive, {self.refused} refused, {self.failed} failed", flush=True)
        return self.failed == 0 and self.judged > 0


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--npulab", default="build/npulab")
    parser.add_argument("--cuda")
    parser.add_argument("--opsets", default=",".join(str(v) for v in range(13, 23)))
    parser.add_argument("--keep", default="build/soak")
    return parser.parse_args()


def main():
    options = arguments()
    os.makedirs(options.keep, exist_ok=True)
    run = Run(options, options.kind)
    try:
        return 0 if run.cases() else 1
    except Exception:
        traceback.print_exc()
        print(f"soak: the test itself failed at {run.kind}, seed {run.seed}", flush=True)
        return 1
    finally:
        run.program.close()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
