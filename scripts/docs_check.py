#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Runs the commands that README.md, models/README.md and docs/ name in comments, and compares what they print with what stands there.
#
#     scripts/docs_check.py [--update] [--program FOLDER] [--jobs N] [PAGE...]
#
#   --update   rewrites the blocks and figures that differ
#   --program  the folder with the program npulab (build)
#   --jobs     commands at a time (processors)
#
# Before a fenced block, or a table that a command prints, at the beginning of a line:
#
#     <!-- run: npulab compare digits --devices tpu_v1 -->   the block is what this prints (rows and notes of measured devices: alike in form)
#     <!-- run -->                                           likewise; the block begins with `$ npulab ...`, the command
#     <!-- run (exit 4): npulab ... -->                      a command that ends with another exit status than 0
#     <!-- file: example.s -->                               the block is written to a file of this name, in the folder of the page's commands
#     <!-- setup -->, <!-- setup: python3 example.py -->     the block, or the command, is run before all others of the page, and must succeed
#
# For figures in text and tables, which are compared to the last digit (scripts/docs_value.py has expressions and formats):
#
#     <!-- command NAME: npulab ... --json - -->             gives a command of the page a name
#     takes 10.48<!-- NAME: devices.0.totals.seconds * 1e3 {:.2f} --> ms
#     takes 413<!-- measured NAME: ... --> us                a figure of this computer: looked at in form alone
#     <!-- column "HEADING" = NAME: EXPRESSION FORMAT -->    before a table: all cells of a column; $1, $2... are the row's cells, also in
#                                                            the command
#
# Every page is checked or stands in docs/unchecked.txt with the reason. Exit status 1: something differs, fails or is malformed.
import argparse
import glob
import os
import sys
import tempfile
import time

import docs_output
import docs_page
import docs_run
import docs_value

UNCHECKED = "docs/unchecked.txt"


def all_pages():
    return [p for p in ["README.md", "models/README.md", *sorted(glob.glob("docs/*.md"))] if os.path.exists(p)]


def unchecked():
    """{path: (line, reason)} of the pages that are not checked, and what is wrong with the list."""
    pages, wrong = {}, []
    if not os.path.exists(UNCHECKED):
        return pages, wrong
    with open(UNCHECKED, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            words = line.split(None, 1)
            if not words or line.startswith("#"):
                continue
            if len(words) < 2:
                wrong.append(f"{UNCHECKED}:{number}: expected a page and the reason")
            if not os.path.exists(words[0]):
                wrong.append(f"{UNCHECKED}:{number}: there is no page '{words[0]}'")
            pages[words[0]] = (number, words[-1].strip())
    return pages, wrong


class Check:
    def __init__(self, update):
        self.update, self.wrong, self.changed = update, [], 0

    def say(self, page, line, text):
        self.wrong.append((page.path, line, f"{page.path}:{line + 1}: {text}"))

    def differs(self, page, line, there, given, command):
        self.say(page, line, f"stands '{there.strip()}', the command gives '{given.strip()}': {command.text}")

    def output(self, runner, page, line, command, failed):
        try:
            return runner.output(page, command)
        except docs_run.Failed as why:
            if command not in failed:
                self.say(page, line, f"the command {why}: {command.text}")
            failed.add(command)
            return None

    def block(self, runner, page, block, edits, failed):
        output = self.output(runner, page, block.line - 1, block.command, failed)
        if output is None:
            return
        given = docs_output.lines_of(output)
        found = docs_output.differences(block.lines, given)
        if found and self.update:
            edits.append((block.line, 0, block.line + len(block.lines), None, docs_output.merged(block.lines, given)))
        elif found:
            for line, old, new in found[:3]:
                self.differs(page, block.line + line, old, new, block.command)
            if len(found) > 3:
                self.say(page, block.line + found[3][0], f"and {len(found) - 3} more lines of this block differ")

    def figure(self, runner, page, figure, edits, failed):
        output = self.output(runner, page, figure.line, figure.command, failed)
        if output is None:
            return
        there = page.lines[figure.line][figure.start : figure.end]
        try:
            given = docs_value.printed(docs_value.values_of(figure.expression, output), figure.form)
        except docs_value.Wrong as why:
            self.say(page, figure.line, f"{why}: {figure.command.text}")
            return
        if figure.measured or given == there:
            return
        if self.update:
            edits.append((figure.line, figure.start, figure.line, figure.end, given))
        else:
            self.differs(page, figure.line, there, given, figure.command)

    def page(self, runner, page):
        edits, failed = [], set()
        failure = runner.setup_failure(page)
        if failure:
            line, script, why = failure
            self.say(page, line, f"the setup {why}: {docs_page.one_line(script)}")
            return
        for block in page.blocks:
            self.block(runner, page, block, edits, failed)
        for figure in page.figures:
            self.figure(runner, page, figure, edits, failed)
        if edits:
            self.changed += len(edits)
            rewrite(page, edits)


def rewrite(page, edits):
    """From the last to the first, so that places stay right."""
    lines = list(page.lines)
    for first, start, last, end, text in sorted(edits, key=lambda e: (e[0], e[1]), reverse=True):
        if end is None:
            lines[first:last] = text
        else:
            lines[first] = lines[first][:start] + text + lines[first][end:]
    with open(page.path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))


def look(check, paths, listed):
    """Reads the pages, and says what is wrong with them before anything runs."""
    pages = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            page = docs_page.read(path, f.read())
        for line, text in page.problems:
            check.say(page, line, text)
        if path in listed and page.directives:
            check.say(page, 0, f"this page is checked: take it off {UNCHECKED}")
        if path not in listed:
            if not page.directives:
                check.say(page, 0, f"this page names no command: expected comments (scripts/docs_check.py), or a line in {UNCHECKED}")
            for line, language, body in page.unnamed:
                if docs_output.looks_like_output(language, body):
                    check.say(page, line, "this block looks like output of npulab, and no comment names its command")
        pages.append(page)
    return pages


def main():
    parser = argparse.ArgumentParser(usage="docs_check.py [--update] [--program FOLDER] [--jobs N] [PAGE...]")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--program", default="build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    os.chdir(os.environ.get("ROOT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if not os.access(os.path.join(program, "npulab"), os.X_OK):
        sys.exit(f"docs: there is no program {program}/npulab: build it first")
    started = time.monotonic()
    check = Check(options.update)
    listed, wrong = unchecked()
    pages = look(check, options.pages or all_pages(), listed)
    with tempfile.TemporaryDirectory(prefix="npulab-docs-") as scratch:
        runner = docs_run.Runner(os.getcwd(), program, scratch, options.jobs)
        for page in pages:
            runner.prepare(page)
        for page in pages:
            for named in (*page.blocks, *page.figures):
                runner.start(page, named.command)
        for page in pages:
            check.page(runner, page)
    for path in options.pages:
        if path in listed:
            print(f"docs: {path} is not checked: it {listed[path][1]} ({UNCHECKED})")
    for line in wrong + [text for _, _, text in sorted(check.wrong, key=lambda w: w[:2])]:
        print(line)
    checked = sum(1 for page in pages if page.path not in listed)
    blocks, figures = sum(len(p.blocks) for p in pages), sum(len(p.figures) for p in pages)
    n = len(wrong) + len(check.wrong)
    print(
        f"docs: {checked} pages with {blocks} blocks and {figures} figures, {runner.count()} commands: {n} wrong"
        + (f", {check.changed} rewritten" if options.update else " (make docs-update rewrites what is stale)" if n else "")
        + f"; {time.monotonic() - started:.0f} s"
    )
    return n > 0


if __name__ == "__main__":
    sys.exit(main())
