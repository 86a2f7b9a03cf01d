#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A copy of the tree with the machine of examples/first_machine/ in it, built as docs/first-machine.md says: a driver, a line in
# core/devices.def and a machine file. The objects of a build that is there are taken along, so that little is compiled.
#
#     scripts/first-machine.sh FOLDER [FLAVOUR]
#
# FOLDER is new; FLAVOUR is `release` or another value of BUILD. The program is FOLDER/build/npulab, or FOLDER/build/FLAVOUR/npulab.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ] || [ -e "$1" ]; then
	echo "usage: first-machine.sh NEW_FOLDER [FLAVOUR]" >&2
	exit 2
fi
mkdir -p "$1"
copy=$(realpath "$1")
flavour=${2:-release}
cd "$(dirname "$(realpath "$0")")/.."

read -ra rooms < scripts/code-folders.txt
rooms+=(cli)
built=()
for part in "${rooms[@]}" kernel_texts.c kernel_texts.o flags prefix version.h public.names kernels.list; do
	[ ! -e "build/$flavour/$part" ] || built+=("build/$flavour/$part")
done
read -ra data < scripts/data-folders.txt
cp -a --parents Makefile include "${rooms[@]}" "${data[@]}" schemas scripts "${built[@]}" "$copy"
mkdir -p "$copy/sim/onemac" "$copy"/{tests/kit,bench,examples}

# The three places.
cp examples/first_machine/onemac.c "$copy/sim/onemac/"
echo 'NPL_DRIVER(onemac)' >> "$copy/core/devices.def"
cp examples/first_machine/onemac.yaml "$copy/machines/"

program=build/npulab
[ "$flavour" = release ] || program=build/$flavour/npulab
cd "$copy"
env -u MAKEFLAGS -u MAKELEVEL make -s BUILD="$flavour" "$program"
