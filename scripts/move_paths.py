#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What scripts/move.sh does: moves the files of a table and rewrites what names them."""
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^(\s*#\s*include\s*)(?:"([^"]+)"|<(npulab/[^>]+)>)')
CODE = (".c", ".h", ".def", ".cu", ".cuh", ".cpp")
with open(os.path.join(os.path.dirname(__file__), "code-folders.txt"), encoding="utf-8") as _file:
    SEARCHED = (*_file.read().split(), "cli", "tests", "include") # what the compiler looks into, beside the file
PUBLIC = "include/"


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True, text=True).stdout
    return [path for path in listed.split("\0") if path and os.path.isfile(path)]


def refused(old, new, known):
    """None, or why the move cannot be: everything is checked before anything is written."""
    for path in (old, new):
        if os.path.isabs(path) or os.path.normpath(path) != path or path.startswith("../"):
            return f"{path} is no plain path from the root of the project"
    if not os.path.isfile(old):
        return f"there is no file {old}"
    if old not in known:
        return f"git does not know {old}"
    if old == new:
        return f"{old} would stay where it is"
    folder = os.path.dirname(new)
    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    if folder and not os.path.isdir(folder):
        return f"{folder} is a file, so {new} cannot be below it"
    if not subprocess.run(["git", "check-ignore", "-q", new], check=False).returncode:
        return f"git ignores {new}"
    return None


def table(lines, known):
    moves = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            sys.exit(f"move.sh: line {number}: expected OLD NEW, got {line.strip()!r}")
        old, new = words
        why = refused(old, new, known)
        if why:
            sys.exit(f"move.sh: line {number}: {why}")
        if old in moves or new in moves.values():
            sys.exit(f"move.sh: line {number}: {old} or {new} stands twice")
        moves[old] = new
    for new in moves.values():
        if os.path.exists(new) and new not in moves:
            sys.exit(f"move.sh: {new} is there already")
    if not moves:
        sys.exit("move.sh: no moves, expected lines OLD NEW on the standard input")
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
    if not path or path not in moves and (old not in moves or path.startswith(PUBLIC)):
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


def tell_of_emptied(moves):
    """Folders without a file now, where something still names them: a wildcard of the Makefile finds nothing there and says nothing."""
    left = {os.path.dirname(path) for path in tracked()}
    for folder in sorted({os.path.dirname(old) for old in moves} - left):
        by = subprocess.run(["git", "grep", "-lF", folder + "/"], capture_output=True, check=False, text=True).stdout.split()
        if by:
            print(f"move.sh: {folder}/ is empty now and still named in {', '.join(by)}")


def main():
    if sys.argv[1:] not in ([], ["--dry-run"]):
        sys.exit("usage: scripts/move.sh [--dry-run] < TABLE, with lines OLD NEW")
    dry = bool(sys.argv[1:])
    known = tracked()
    moves = table(sys.stdin, set(known))
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
    tell_of_emptied(moves)


main()
