#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Files as C: an array of their names and texts, for a program that carries them. HEADER declares the array, ARRAY is its type and
# its name.
#
#     scripts/embed.sh HEADER 'struct cu_text cu_texts' FILE... > TEXTS.c
set -eu

header=$1 array=$2
shift 2
echo "#include \"$header\""
for file in "$@"; do
	name=${file##*/}
	echo "static const char text_${name//[^a-z0-9]/_}[] = {"
	od -An -v -tu1 "$file" | sed 's/^ *//; s/ \+/,/g; s/$/,/'
	echo '0};'
done
echo "const ${array}[] = {"
for file in "$@"; do
	name=${file##*/}
	echo "{\"$name\", text_${name//[^a-z0-9]/_}},"
done
echo '{0}};'
