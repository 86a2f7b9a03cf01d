#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs the benchmarks: `make bench` has built the library.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/bench
printf '%s, %s processors, load %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(cut -d' ' -f1-3 /proc/loadavg)"
for source in bench/*.c; do
	program=build/bench/$(basename "$source" .c)
	gcc -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Iinclude -I. "$source" build/release/objects.a -l:libyaml.a -l:libmd.a -l:libz.a -l:libzstd.a -lm -ldl -o "$program"
	"$program"
done
bench/sweep_points.py
build/npulab compare resnet50 --devices tpu_v1,diannao,cpu,gpu_k80 --quiet --html build/bench/resnet50.html
if type node > /dev/null 2>&1; then
	bench/page_draw.mjs build/bench/resnet50.html
fi
