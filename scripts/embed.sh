#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Files as C: an array of their names and texts, for a program that carries its GPU kernels as source.
#
#     scripts/embed.sh FILE... > TEXTS.c
set -eu

echo '#include "backends/cuda/load/nvrtc.h"'
for file in "$@"; do
	name=${file##*/}
	echo "static const char text_${name//[^a-z0-9]/_}[] = {"
	od -An -v -tu1 "$file" | sed 's/^ *//; s/ \+/,/g; s/$/,/'
	echo '0};'
done
echo 'const struct cu_text cu_texts[] = {'
for file in "$@"; do
	name=${file##*/}
	echo "{\"$name\", text_${name//[^a-z0-9]/_}},"
done
echo '{0}};'
