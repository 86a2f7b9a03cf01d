#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares what the public headers offer with scripts/abi.txt, so that no change of it goes unnoticed.

    scripts/abi.py             prints what differs; ends with 0 if nothing does
    scripts/abi.py --update    writes scripts/abi.txt

The file has the prototypes of functions, the declarations of tables, the values of constants, and the sizes of structs with the offsets
of their members, as gcc has them on x86-64. A program that was linked before runs on as long as its lines stay: new functions and
constants leave it alone, and so do members of structs that only the library makes. Anything else needs another `abi` in the Makefile.
"""
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

FILE = "scripts/abi.txt"
NAME = re.compile(r"DW_AT_name\s+: (?:\(indirect string, offset: \w+\): )?(\S+)")


def entries(text):
    """The entries of the debug information: (depth, tag, {attribute: text})."""
    for line in text.splitlines():
        head = re.match(r" <(\d+)><\w+>: Abbrev Number: \d+ \((\w+)\)", line)
        if head:
            entry = (int(head[1]), head[2], {})
            yield entry
        elif name := NAME.search(line):
            entry[2]["name"] = name[1]
        elif value := re.search(r"DW_AT_(byte_size|data_member_location|const_value)\s*: (-?\w+)", line):
            entry[2][value[1]] = value[2]


def layout(text):
    """Lines of the structs and constants whose names begin as npulab's do."""
    inside = None
    for depth, tag, has in list(entries(text)):
        if depth == 1:
            inside = (tag, has.get("name", ""), has.get("byte_size"))
            if tag == "DW_TAG_structure_type" and inside[1].startswith("npl_") and inside[2]:
                yield f"struct {inside[1]}: {inside[2]} bytes"
        elif tag == "DW_TAG_member" and depth == 2 and inside[1].startswith("npl_") and "data_member_location" in has:
            yield f"struct {inside[1]}.{has.get('name', '(no name)')} at {has['data_member_location']}"
        elif tag == "DW_TAG_enumerator" and has["name"].startswith("NPL_"):
            yield f"{has['name']} = {has['const_value']}"


def interface():
    with tempfile.TemporaryDirectory() as folder:
        source, made, info = (os.path.join(folder, name) for name in ("a.c", "a.o", "a.txt"))
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include "npulab/npulab.h"\n')
        subprocess.run(["gcc", "-std=c17", "-gdwarf-5", "-gstrict-dwarf", "-fno-eliminate-unused-debug-types", "-Iinclude", "-aux-info", info,
                        "-c", source, "-o", made], check=True)
        debug = subprocess.run(["readelf", "--debug-dump=info", made], capture_output=True, text=True, check=True).stdout
        with open(info, encoding="utf-8") as file:
            functions = re.findall(r"^/\* include/npulab/\S+ \*/ extern (.*?);", file.read(), re.M)
    tables = []
    for path in glob.glob("include/npulab/*.h"):
        with open(path, encoding="utf-8") as file:
            tables += re.findall(r"^extern (const .*?);", file.read(), re.M)
    return sorted({*functions, *tables, *layout(debug)})


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    now = interface()
    assert len(now) > 1000, "gcc or readelf writes another form than this script reads"
    if sys.argv[1:] == ["--update"]:
        with open(FILE, "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
        return 0
    with open(FILE, encoding="utf-8") as file:
        before = file.read().splitlines()
    differs = [line for line in difflib.unified_diff(before, now, lineterm="", n=0) if line[0] in "+-" and line[:3] not in ("+++", "---")]
    print("\n".join(differs), end="\n" if differs else "")
    if differs:
        print("(The public interface differs from scripts/abi.txt. Say it in CHANGES.md if a program notices it; give `abi` in the Makefile\n"
              " another number if a program that was linked before could not run on; then run scripts/abi.py --update.)")
    return 1 if differs else 0


sys.exit(main())
