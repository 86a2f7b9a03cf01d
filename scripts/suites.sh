#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Prints a filter for the suites that test a source or a folder: those of the folder of the same path in tests/, with all below it,
# and those directly in the folders above it.
#
#     scripts/suites.sh reports/figures.c sim/memory      # @(cut_names|energy_parts|...)/*
set -u
cd "$(dirname "$0")/.." || exit 2

if [ $# -eq 0 ]; then
	echo "usage: suites.sh SOURCE-OR-FOLDER..." >&2
	exit 2
fi
tests=()
for path; do
	path=${path%/}
	[ -e "$path" ] || { echo "suites: there is no $path" >&2 && exit 2; }
	[ -d "$path" ] || path=$(dirname "$path")
	path=${path#tests/}
	[ ! -d "tests/$path" ] || mapfile -t -O ${#tests[@]} tests < <(find "tests/$path" -name 'test_*.c')
	while [[ $path == */* ]]; do
		path=${path%/*}
		[ ! -d "tests/$path" ] || mapfile -t -O ${#tests[@]} tests < <(find "tests/$path" -maxdepth 1 -name 'test_*.c')
	done
done
[ ${#tests[@]} -gt 0 ] || { echo "suites: no tests in the folders of the same paths" >&2 && exit 2; }
suites=$(sed -nE 's/^Test\(([a-z0-9_]+),.*/\1/p' "${tests[@]}" | sort -u | paste -sd '|')
echo "@($suites)/*"
