#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the code against the table of folders in ARCHITECTURE.md.

    check_rooms.py includes            what every file includes
    check_rooms.py symbols OBJECTS     what every object of a build folder needs of others, and the circles of files
    check_rooms.py prefixes OBJECTS    how its private symbols begin, against the table of CONTRIBUTING.md

A folder of the table has a rank. A file may include the private headers of its own folder and of folders with a lower rank, but where a
folder is for one machine or device alone ("seen by"), only that one's; and the public headers. Calls point the same way. Only
core/devices.c, the list of drivers, may name what lies above it. A folder with code that the table lacks is an error.
"""
import os
import re
import subprocess
import sys

os.chdir(os.environ.get("ROOT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

ROW = re.compile(r"^\| (\d+) \| `([\w/]+)/` \| ([^|]+) \|")
PREFIXES = re.compile(r"^\| (`[^|]*) \| ([^|]*) \|([^|]*)\|$")
DIRECTIVE = re.compile(r"^\s*(?:#|%:)\s*include(?:_next)?\b(.*)")
INCLUDE = re.compile(r'^\s*["<]([^">]+)[">]\s*$')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
OTHER = ("build", "tests", "bench", "scripts")  # folders whose code needs no rank
CODE = sorted(e.name for e in os.scandir(".") if e.is_dir() and e.name not in OTHER and not e.name.startswith("."))
LISTS = {"core/devices.o"}  # expands core/devices.def, whose drivers lie above
MAX_CIRCLES = 8


def rooms():
    """Folder: (rank, prefix of the folders that see it)."""
    table = {}
    with open("ARCHITECTURE.md", encoding="utf-8") as file:
        for line in file:
            row = ROW.match(line)
            if row:
                seen = row.group(3).strip().strip("`").rstrip("/")
                table[row.group(2)] = (int(row.group(1)), "" if seen == "all higher ranks" else seen)
    return table


def allowed(table, here, there):
    """None, or why a file in one folder may not use another."""
    if here == there:
        return None
    if there not in table:
        return f"{there}/ is not in the table of ARCHITECTURE.md"
    rank, seen = table[there]
    if rank >= table[here][0]:
        return f"{there}/ has rank {rank}, {here}/ {table[here][0]}"
    if seen and not (here + "/").startswith(seen + "/"):
        return f"{there}/ is seen by {seen}/ alone"
    return None


def sources():
    for top in CODE:
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".inc", ".cpp", ".cu", ".cuh")):
                    yield os.path.join(folder, name)


def plain(text):
    """The lines as the compiler sees them: without comments, those that a backslash joins being one behind blank ones."""
    text = COMMENT.sub(lambda m: m.group() if m.group()[0] == '"' else " " + "\n" * m.group().count("\n"), text)
    return re.sub(r"((?:[^\n]*\\\n)+)", lambda m: "\n" * m.group().count("\n") + m.group().replace("\\\n", ""), text).split("\n")


def complaints_of_includes(table):
    for path in sources():
        here = os.path.dirname(path)
        if here not in table:
            yield f"{path}: {here}/ is not in the table of ARCHITECTURE.md"
            continue
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(plain(file.read()), 1):
                directive = DIRECTIVE.match(line)
                if not directive:
                    continue
                found = INCLUDE.match(directive.group(1))
                if not found:
                    yield f"{path}:{number}: #include{directive.group(1)}: expected the name of a file in quotes or angle brackets"
                    continue
                name = found.group(1)
                beside = os.path.normpath(os.path.join(here, name))
                target = next((p for p in map(os.path.normpath, (beside, name, os.path.join("include", name))) if os.path.isfile(p)), None)
                if not target:
                    if name.startswith("npulab/") or "/" in name and name.split("/")[0] in CODE:
                        yield f"{path}:{number}: #include \"{name}\": there is no such file"
                    continue  # of another project
                if target.startswith("include/npulab/"):
                    continue
                why = allowed(table, here, os.path.dirname(target))
                if here == "include/npulab":
                    why = "a public header includes public headers only"
                if here == "examples" and os.path.dirname(target) != here:
                    why = "a program from outside includes public headers only"
                if why:
                    yield f"{path}:{number}: #include \"{name}\": {why}"


def names(objects):
    """Name: the object that defines it; and object: the names that it needs."""
    defined, wanted = {}, {}
    for folder, _, files in os.walk(objects):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), objects)
            if name.endswith(".o") and path.split("/")[0] in CODE and os.path.exists(path[:-2] + ".c"):
                wanted[path] = set()
    if not wanted:
        return {}, {}
    listed = subprocess.run(["nm", "-A", *sorted(wanted)], cwd=objects, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        path, rest = line.split(":", 1)
        words = rest.split()
        if words[-2] == "U":
            wanted[path].add(words[-1])
        elif words[-2] in "TDBRVWC":
            defined[words[-1]] = path
    return defined, wanted


def needs(objects):
    """Object: {object that it needs: one of the names}."""
    defined, wanted = names(objects)
    return {path: {defined[n]: n for n in sorted(of) if n in defined and defined[n] != path} for path, of in wanted.items()}


def prefixes():
    """Folder: (prefixes of its private symbols, prefixes of those that other folders use)."""
    table = {}
    with open("CONTRIBUTING.md", encoding="utf-8") as file:
        for row in filter(None, map(PREFIXES.match, file)):
            for folder in re.findall(r"`([\w/]+)/`", row.group(1).partition("except")[0]):
                table[folder] = tuple(tuple(re.findall(r"`(\w+_)`", cell)) for cell in row.groups()[1:])
    return table


def complaints_of_prefixes(objects):
    table, public, used = prefixes(), {"main"}, set()
    defined, wanted = names(objects)
    for name in os.listdir("include/npulab"):
        with open(os.path.join("include/npulab", name), encoding="utf-8") as file:
            public |= set(re.findall(r"\bnpl_\w+", file.read()))

    def room(path):
        return max((folder for folder in table if path.startswith(folder + "/")), key=len, default=None)

    private = {name: path for name, path in defined.items() if name not in public and not name.startswith("npl_driver_")}
    for name, path in sorted(private.items()):
        own = [prefix for prefix in table.get(room(path), ((),))[0] if name.startswith(prefix)]
        used |= {(room(path), prefix) for prefix in own}
        if not own:
            yield f"{path[:-2]}.c: the table of CONTRIBUTING.md has no prefix of this folder that {name} begins with"
    for path, of in sorted(wanted.items()):
        for name in sorted(of & private.keys()):
            there = room(private[name])
            if there and there != room(path) and not name.startswith(table[there][1]):
                yield f"{path[:-2]}.c uses {name} of {there}/, which the table of CONTRIBUTING.md gives to no other folder"
    yield from (f"CONTRIBUTING.md: no private symbol of {f}/ begins with {p}" for f in table for p in table[f][0] if (f, p) not in used)


def circles(graph):
    """Files that need each other, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def complaints_of_symbols(table, objects):
    graph = needs(objects)
    if not graph:
        yield f"there are no objects below {objects}"
    for path, others in sorted(graph.items()):
        here = os.path.dirname(path)
        for other, name in sorted(others.items()):
            there = os.path.dirname(other)
            if here not in table:
                yield f"{path[:-2]}.c: {here}/ is not in the table of ARCHITECTURE.md"
                continue
            if path in LISTS and table[there][0] > table[here][0]:
                continue
            why = allowed(table, here, there)
            if why:
                yield f"{path[:-2]}.c uses {name} of {other[:-2]}.c: {why}"
    found = circles({p: [o for o in others if p not in LISTS] for p, others in graph.items()})
    for circle in found:
        if len({os.path.dirname(path) for path in circle}) > 1:
            yield f"files of several folders need each other: {' '.join(circle)}"
    if len(found) > MAX_CIRCLES:
        yield f"{len(found)} circles of files, expected {MAX_CIRCLES} at most: " + "; ".join(" ".join(c) for c in found)


def main():
    table = rooms()
    if not table:
        sys.exit("ARCHITECTURE.md has no table of folders")
    if sys.argv[1:] == ["includes"]:
        complaints = list(complaints_of_includes(table))
    elif len(sys.argv) == 3 and sys.argv[1] == "symbols":
        complaints = list(complaints_of_symbols(table, sys.argv[2]))
    elif len(sys.argv) == 3 and sys.argv[1] == "prefixes":
        complaints = list(complaints_of_prefixes(sys.argv[2]))
    else:
        sys.exit(__doc__)
    print("\n".join(complaints), end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)


main()
