#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Differential tests of the program on random models and files, every kind of tests/soak/ for its share of the time and as many
# at once as there are processors. What fails is printed and kept in build/soak.
#
#     [SOAK_SECONDS=600] [SOAK_SEED=n] scripts/soak.sh NPULAB_BINARY FAKE_CUDA_FOLDER
set -u

if [ $# -ne 2 ]; then
	echo "usage: soak.sh NPULAB_BINARY FAKE_CUDA_FOLDER" >&2
	exit 2
fi
cd "$(dirname "$0")/.." || exit 2
mapfile -t kinds < <(basename -s _kind.py -a tests/soak/*_kind.py)
seed=${SOAK_SEED:-$(date +%s)000}
jobs=$(nproc)
[ "$jobs" -le ${#kinds[@]} ] || jobs=${#kinds[@]}
rounds=$(((${#kinds[@]} + jobs - 1) / jobs))
seconds=$((${SOAK_SECONDS:-600} / rounds))
echo "soak: seed $seed, $seconds seconds for each of ${kinds[*]} (SOAK_SEED=$seed for the same cases)"
printf '%s\n' "${kinds[@]}" | xargs -P "$jobs" -I KIND \
	/usr/bin/python3 tests/soak/soak.py KIND --seed "$seed" --seconds "$seconds" --npulab "$1" --cuda "$2"
