#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures a GPU: products of SIZE^3 in every precision, and networks with a batch. Each line is the program's own: medians over repeated
# runs, transfers apart. Needs a shell and the program alone.
#
#     [NPULAB=build/npulab] [SIZE=8192] [NETWORKS='resnet50 mobilenet_v2'] [BATCH=32] scripts/bench-cuda.sh
set -eu
cd "$(dirname "$0")/.."
npulab=${NPULAB:-build/npulab}
size=${SIZE:-8192}
batch=${BATCH:-32}
"$npulab" devices cuda
date -u '+%Y-%m-%d'
printf '\nproducts of %s x %s x %s\n' "$size" "$size" "$size"
for precision in f32 tf32 f16 bf16 int8; do
	printf '%-5s ' "$precision"
	"$npulab" layer gemm -m "$size" -n "$size" -k "$size" --devices cuda --no-accuracy \
		--set "cuda.precision=$precision" | grep '^cuda' | head -n 1
done
for network in ${NETWORKS:-resnet50 mobilenet_v2 vgg16}; do
	printf '\n%s, batch %s\n' "$network" "$batch"
	for precision in f32 tf32 f16 bf16 int8; do
		printf '%-5s ' "$precision"
		"$npulab" compare "$network" --devices cuda --batch "$batch" --no-accuracy --quiet --json - \
			--set "cuda.precision=$precision" |
			tr ',' '\n' | tr '{' '\n' |
			sed -n 's/^"\(latency_s\|host_link_seconds\|inferences_per_second\)":\(.*\)$/\1 \2/p' | tr '\n' ' '
		echo
	done
done
