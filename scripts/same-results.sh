#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two builds of npulab side by side: do they say the same of every shipped network on every device whose figures are not measured?
#
#     scripts/same-results.sh [--only REGEX] OLD NEW
#
# OLD and NEW are built trees, or programs that find their data themselves. Each runs every shipped network with values on the
# reference and the simulated machines, the larger ones on most by time alone, in both precisions of the TPU, and some on the
# processor in int8; placements, single layers, patterns of DRAM and the published figures. What is compared is in
# scripts/same_results.py: cycles, counters, hashes of values, saturations, joules; not what was measured, nor versions. Each difference
# is a line: the run, the place in its JSON, the old and the new value. Ends with "same" and 0, or with their number and 1. An environment
# variable for one of both: OLD_ENV or NEW_ENV, as NEW_ENV='NPULAB_MAX_ISA=sse2'. Under three minutes on two cores.
set -u

usage()
{
	echo "usage: same-results.sh [--only REGEX] OLD NEW" >&2
	exit 2
}

only=''
if [ "${1:-}" = --only ]; then
	only=${2:-}
	shift 2 || usage
fi
[ $# -eq 2 ] || usage
here=$(cd "$(dirname "$0")" && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# NAME.program and NAME.env, what to run and with which variables.
side()
{
	local name=$1 path=$2 extra=$3 program
	if [ -d "$path" ]; then
		path=$(realpath "$path")
		program=$path/build/npulab
		extra="NPULAB_DATA=$path $extra"
	else
		program=$(realpath "$path") || exit 2
	fi
	[ -x "$program" ] || { echo "same-results: there is no program $program; build it" >&2 && exit 2; }
	mkdir "$work/$name"
	printf '%s\n' "$program" > "$work/$name.program"
	printf '%s\n' "$extra" > "$work/$name.env"
}
side old "$1" "${OLD_ENV:-}"
side new "$2" "${NEW_ENV:-}"

# Runs: a name and arguments of npulab; @ stands for the folder of its outputs. The longest come first.
listed_machines()
{
	grep "$1" '^driver: processor' machines/*.yaml | grep -v /host.yaml | sed 's,.*/,,; s,\.yaml$,,' | paste -sd ,
}
machines=$(listed_machines -L) # those with cycles
analytical=$(listed_machines -l)
patterns=$(sed -nE 's/^TRAFFIC_PATTERN\("([a-z0-9_]+)",.*/\1/p' frontend/traffic/patterns.def)
validators=$(sed -nE 's/^NPL_VALIDATOR\(([a-z0-9_]+),.*/\1/p' validate/validators.def)
small=(digits lenet5 lstm_lm mlp1 mobilenet_v2)
middle=(mlp0 lstm0 lstm1 cnn0 resnet50 alexnet gpt2_small_decode)
large=(cnn1 vgg16 bert_base)
listed=$(printf '%s\n' "${small[@]}" "${middle[@]}" "${large[@]}" | sort)
shipped=$(basename -s .yaml models/*.yaml | sort)
[ "$listed" = "$shipped" ] || { echo "same-results: networks that only one of this script and models/ has:" && comm -3 <(echo "$listed") <(echo "$shipped"); exit 2; } >&2
{
	for network in "${large[@]}"; do
		echo "$network-tpu compare $network --devices tpu_v1 --no-accuracy --layers --json @/json"
	done
	for network in "${middle[@]}"; do
		echo "$network-values compare $network --devices tpu_v1,diannao --no-accuracy --json @/json"
	done
	echo "resnet50-8x16 compare resnet50 --devices tpu_v1 --set tpu_v1.precision=8x16 --no-accuracy --json @/json"
	for network in "${small[@]}"; do
		echo "$network-values compare $network --devices reference,null,$machines --json @/json"
		echo "$network-8x16 compare $network --devices tpu_v1,reference --set tpu_v1.precision=8x16 --set reference.precision=8x16 --json @/json"
	done
	for network in digits lenet5 mlp0 mobilenet_v2; do
		echo "$network-cpu8 compare $network --devices cpu --set cpu.precision=int8 --no-accuracy --json @/json"
	done
	for network in "${small[@]}" "${middle[@]}" "${large[@]}"; do
		echo "$network-time compare $network --devices null,$machines --timing-only --json @/json --csv @/csv"
		echo "$network-time8x16 compare $network --devices tpu_v1 --set tpu_v1.precision=8x16 --timing-only --json @/json"
	done
	echo "percentile compare digits --devices tpu_v1,diannao --calibrate percentile --json @/json"
	echo "mse compare lenet5 --devices tpu_v1,diannao --calibrate mse --scale-q6.10 off --json @/json"
	echo "rtl compare digits --devices diannao --engine rtl --batch 1 --timing-only --json @/json"
	echo "place-conv run digits --place Conv*=diannao,*=tpu_v1 --output @/y.npy --json @/json --timeline @/timeline"
	echo "place-cells run lstm_lm --place LSTM=tpu_v1,*=systolic_16x16 --output @/y.npy --json @/json"
	echo "place-host run lenet5 --place Conv*=systolic_128x128 --output @/y.npy --json @/json"
	echo "place-large run resnet50 --place Conv*=tpu_v1,Add=null,*=diannao --timing-only --json @/json"
	for precision in int8 8x16; do
		for shape in '1 1 1' '200 300 500' '37 512 1025'; do
			read -r m n k <<< "$shape"
			echo "gemm-$m-$precision layer gemm -m $m -n $n -k $k --devices $machines --set tpu_v1.precision=$precision --json @/json --output @/y.npy"
		done
	done
	echo "requantise layer gemm -m 99 -n 65 -k 130 --devices tpu_v1,systolic_16x16 --unsigned --requantise --json @/json --output @/y.npy"
	echo "conv layer conv --input 2x24x27x27 --kernel 5x5 --filters 32 --pad 2x2 --devices $machines,reference --json @/json --output @/y.npy"
	echo "conv-groups layer conv --input 1x32x28x28 --kernel 3x3 --filters 64 --groups 4 --stride 2x2 --pad 1x1 --devices $machines --json @/json"
	echo "conv-private layer conv --input 1x8x12x12 --kernel 5x5 --filters 8 --private --devices diannao,reference --json @/json --output @/y.npy"
	for type in max average; do
		echo "pool-$type layer pool --input 1x32x28x28 --kernel 2x2 --type $type --devices $machines,reference --json @/json"
	done
	for pattern in $patterns; do
		for preset in ddr3-2133 ddr4-3200 hbm2 gddr6; do
			echo "dram-$pattern-$preset dram --pattern $pattern -n 30000 --preset $preset --json @/json"
		done
	done
	for network in "${small[@]}" resnet50; do
		echo "$network-analytical compare $network --devices $analytical --timing-only --json @/json"
	done
	for what in $validators; do
		echo "validate-$what validate $what --all --json @/json"
	done
	for device in ${machines//,/ }; do
		echo "roofline-$device roofline digits --devices $device --json @/json"
	done
} | { grep -E -- "${only:-.}" || true; } > "$work/runs"
[ -s "$work/runs" ] || { echo "same-results: no run matches '$only'" >&2 && exit 2; }

run_one()
{
	local side=$1 name=$2 folder settings
	shift 2
	folder=$work/$side/$name
	mkdir "$folder"
	read -r -a settings < "$work/$side.env"
	(cd "$folder" && env "${settings[@]}" "$(< "$work/$side.program")" "${@//@/$folder}" --quiet > out 2> err)
	echo $? > "$folder/status"
}
export -f run_one
export work

while read -r line; do
	echo "old $line"
	echo "new $line"
done < "$work/runs" | xargs -P "$(nproc)" -L 1 bash -c 'run_one "$@"' run

"${PYTHON:-/usr/bin/python3}" "$here/same_results.py" "$work/old" "$work/new"
