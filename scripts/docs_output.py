# SPDX-License-Identifier: MIT
#
# What a block of a page and a command's output have in common (docs_check.py): all words, but of measured devices the structure alone.
import difflib
import re

# Devices whose time and energy are measured on the computer at hand, and whose notes tell of it.
MEASURED = re.compile(r"(reference|cpu|cuda)(@\S*)?$")
WAITING = re.compile(r"npulab: .* \d\d:\d\d$")


def lines_of(output):
    lines = [line.rstrip() for line in output.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return [line for line in lines if not WAITING.match(line)]


def groups(lines):
    """(number of the first line, lines, name of the measured device or "", whether a note) of the rows and notes of measured devices, each
    with the lines that continue it, and of every other line."""
    at = notes = 0
    while at < len(lines):
        first = lines[at].split("  ")[0]
        notes = lines[at] == "NOTES" or (notes and lines[at] != "")
        end = at + 1
        if MEASURED.match(first):
            while notes and end < len(lines) and lines[end].startswith(" "):
                end += 1
            yield at, lines[at:end], first, notes
        else:
            yield at, lines[at:end], "", notes
        at = end


def shapes(lines):
    """(number of the line, what of it is compared): of a measured device's row its name and how many cells it has, of its note the name."""
    for number, group, device, note in groups(lines):
        if not device:
            yield number, " ".join(group[0].split())
        else:
            cells = len(re.split(r" {2,}", group[0]))
            yield number, device + (" (measured: a note)" if note else f" (measured: {cells} cells)")


def merged(there, given):
    """What the command gives, with the rows and notes of measured devices that stand there, where the table has kept its columns."""

    def keyed(lines):
        heading = ""
        for number, group, device, note in groups(lines):
            heading = lines[number] if number == 0 or not lines[number - 1] else heading
            cells = len(re.split(r" {2,}", group[0]))
            column = re.match(r"\S* *", group[0]).end() if note else cells
            yield (heading, device, column) if device else None, group

    old = dict(item for item in keyed(there) if item[0])
    return [line for key, group in keyed(given) for line in old.get(key, group)]


def differences(there, given):
    """[(line of the page's block, what stands there, what the command gives)] of two lists of lines; "" for a line that is missing."""
    here, now = list(shapes(there)), list(shapes(given))
    matcher = difflib.SequenceMatcher(None, [s for _, s in here], [s for _, s in now], autojunk=False)
    found = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        for k in range(max(b - a, d - c)):
            old = here[a + k] if a + k < b else None
            new = now[c + k] if c + k < d else None
            line = old[0] if old else (here[a][0] if a < len(here) else len(there))
            found.append((line, there[old[0]] if old else "", given[new[0]] if new else ""))
    # Where nothing is measured, the columns are the program's too.
    if not found and not any("(measured:" in s for _, s in now):
        found = [(k, a, b) for k, (a, b) in enumerate(zip(there, given)) if a != b]
    return found


def looks_like_output(language, lines):
    """Whether a block seems to be printed by npulab: modelled figures, headings of its tables, events, its errors, JSON with values."""
    if language not in ("", "text", "csv", "json", "console"):
        return False
    signs = (
        r"(^|.*\s)[<>]?~\d",
        r"[A-Z][A-Z/%. -]*( {2,}[A-Z][A-Z/%.-]*( [A-Z/%.-]+)*){2,}$",
        r"cycle,event,index$",
        r"\$ npulab ",
        r"npulab: ",
        r'\{"schema":"npulab\.\w+/\d+",.*:[\d"]',
    )
    return any(re.match(sign, line) for sign in signs for line in lines)
