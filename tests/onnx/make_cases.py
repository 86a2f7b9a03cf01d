#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make_cases.py FOLDER [FAMILY...]: writes the test cases of the families (all: every ops_*.py beside this file) into
FOLDER/FAMILY/CASE, and prints how many each has. The same cases whenever it runs."""
import glob
import importlib
import os
import sys
import zlib

import cases


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    families = sys.argv[2:] or sorted(os.path.basename(path)[4:-3] for path in glob.glob(os.path.join(here, "ops_*.py")))
    for family in families:
        suite = cases.Suite(os.path.join(sys.argv[1], family), zlib.crc32(family.encode()))
        importlib.import_module("ops_" + family).cases(suite)
        print(family, len(suite.names))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
