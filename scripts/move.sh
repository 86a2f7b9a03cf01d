#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Moves files: `git mv` for each line "OLD NEW" of the standard input, then every #include that meant a moved file or stands in one, and
# every path of a moved file in the Makefile, scripts, tests and documents. An include names a file of its own folder by its name alone, a
# public header as "npulab/NAME.h", and any other by its path from the root of the project.
#
#     scripts/move.sh [--dry-run] < TABLE
#
# What a commit moved, it tells itself: git show -M --name-status COMMIT | awk '/^R/ { print $2, $3 }'. `make format` behind it sorts the
# includes. Words that are not a whole path (`rtl_*`, "see live.c") stay: `git grep` for them.
set -eu
cd "$(dirname "$0")/.."
exec /usr/bin/python3 scripts/move_paths.py "$@"
