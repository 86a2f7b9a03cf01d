#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures a GPU and prints Markdown for docs/gpu-results.md: which GPU it is, square products beside cuBLASLt called directly, ResNet-50 and
# other networks in every precision with their convolutions, and ResNet-50 in PyTorch where python3 has it. Each part is a process of
# its own with a limit of time, so that one that fails takes no other with it; the end says whether one did. Needs a shell and the
# program alone, so that it also runs from the bundle (scripts/cuda-bundle.sh). About three minutes.
#
#     [BENCH=build/bench-cuda] [SIZES=8192,4096,1024] [BATCH=32] [NETWORKS=mobilenet_v2,vgg16] [SMALLEST=1] scripts/bench-cuda.sh
#
# SMALLEST: everything once and tiny, to see that it runs.
set -u
cd "$(dirname "$0")/.." || exit 2
bench=${BENCH:-build/bench-cuda}
batch=${BATCH:-32}
failures=0
. scripts/cuda-path.sh

part()
{
	timeout "${PART_SECONDS:-300}" "$bench" "$@"
	code=$?
	[ $code -eq 0 ] || failures=$((failures + 1))
	[ $code -le 1 ] || printf '\nThis part ended early (exit status %s).\n' $code
}

"$bench" head || exit 1
if [ -n "${SMALLEST:-}" ]; then
	part --smallest products
	part --smallest networks
else
	part --size "${SIZES:-8192,4096,1024}" products
	printf '\n'
	said=$(timeout 240 python3 bench/pytorch_resnet50.py --batch "$batch" 2>&1)
	pytorch=$(printf '%s\n' "$said" | grep '^PyTorch' | tail -n 1)
	printf '%s\n' "${pytorch:-PyTorch: not measured: $(printf '%s\n' "$said" | tail -n 1)}"
	ms=$(printf '%s\n' "$pytorch" | sed -n 's/.*: \([0-9.]*\) ms a batch,.*/\1/p')
	part --batch "$batch" --network resnet50 ${ms:+--pytorch-ms "$ms"} networks
	part --batch "$batch" --network "${NETWORKS:-mobilenet_v2,vgg16}" --precision f16,int8,f32 networks
fi
[ $failures -eq 0 ] || printf '\n%s parts fail.\n' $failures
[ $failures -eq 0 ]
