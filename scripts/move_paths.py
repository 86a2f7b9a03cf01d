#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What scripts/move.sh does: moves the files of a table and rewrites what names them."""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^(\s*#\s*include\s*)(?:"([^"]+)"|<(npulab/[^>]+)>)')
CODE = (".c", ".h", ".def", ".cu", ".cuh", ".cpp")
SEARCHED = ("core", "frontend", "sim", "backends", "reports", "cli", "tests", "include") # what the compiler looks into, beside the file
PUBLIC = "include/"


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True, text=True).stdout
    return [path for path in listed.split("\0") if path and os.path.isfile(path)]


def table(lines):
    moves = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            sys.exit(f"move.sh: line {number}: expected OLD NEW, got {line.strip()!r}")
        old, new = words
        if not os.path.isfile(old):
            sys.exit(f"move.sh: line {number}: there is no file {old}")
        if old in moves or new in moves.values():
            sys.exit(f"move.sh: line {number}: {old} or {new} stands twice")
        moves[old] = new
    for new in moves.values():
        if os.path.exists(new) and new not in moves:
            sys.exit(f"move.sh: {new} is there already")
    return moves


def meant(including, name, known):
    """The file that an include names, None for one of another project."""
    for folder in (os.path.dirname(including), *SEARCHED, ""):
        path = os.path.normpath(os.path.join(folder, name))
        if path in known:
            return path
    return None


def named(path, including):
    """How a file is named by an include in another one, both at their new places."""
    if path.startswith(PUBLIC):
        return f'"{path[len(PUBLIC):]}"'
    if os.path.dirname(path) == os.path.dirname(including):
        return f'"{os.path.basename(path)}"'
    return f'"{path}"'


def include_rewritten(line, old, moves, known):
    found = INCLUDE.match(line)
    path = meant(old, found.group(2) or found.group(3), known)
    if not path or path not in moves and path.startswith(PUBLIC):
        return line
    return found.group(1) + named(moves.get(path, path), moves.get(old, old)) + line[found.end():]


def spelt(moves):
    """The words that mean a moved file: its path, that of its object, and npulab/NAME.h for a public header."""
    words = dict(moves)
    for old, new in moves.items():
        if old.endswith(".c"):
            words[old[:-2] + ".o"] = new[:-2] + ".o"
        if old.startswith(PUBLIC):
            words[old[len(PUBLIC):]] = new[len(PUBLIC):] if new.startswith(PUBLIC) else new
    return words


def main():
    dry = "--dry-run" in sys.argv[1:]
    moves = table(sys.stdin)
    known = tracked()
    everything = set(known)
    words = spelt(moves)
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    any_word = re.compile(r"(?<![\w./-])((?:\.\./)*)(" + "|".join(longest_first) + r")(?!\w)")
    changed = {}
    for old in known:
        try:
            text = read(old)
        except UnicodeDecodeError:
            continue # weights and pictures
        lines = text.splitlines(keepends=True)
        for number, line in enumerate(lines):
            if old.endswith(CODE) and INCLUDE.match(line):
                lines[number] = include_rewritten(line, old, moves, everything)
            else:
                lines[number] = any_word.sub(lambda found: found.group(1) + words[found.group(2)], line)
        if "".join(lines) != text:
            changed[old] = "".join(lines)
    if dry:
        print(f"{len(moves)} files move, {len(changed)} are rewritten")
        return
    for old, text in changed.items():
        with open(old, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    # In two steps, since the new place of one may be the old one of another.
    for old in moves:
        subprocess.run(["git", "mv", old, old + ".moving"], check=True)
    for old, new in moves.items():
        os.makedirs(os.path.dirname(new) or ".", exist_ok=True)
        subprocess.run(["git", "mv", old + ".moving", new], check=True)


main()
