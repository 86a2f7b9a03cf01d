#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs each tests/fuzz/*.c under libFuzzer with the address and undefined-behaviour sanitizers, FUZZ_SECONDS each
# (default 60). What it learns stays in build/fuzz/corpus/NAME, from where the next run goes on; an input that
# crashes is left in build/fuzz/crashes and fails the run.
#
#     [FUZZ_SECONDS=60] scripts/fuzz.sh [NAME...]
set -eu
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
out=build/fuzz
if [ $# -eq 0 ]; then
	mapfile -t names < <(basename -s .c -a tests/fuzz/*.c)
	set -- "${names[@]}"
fi
make -s --no-print-directory -j "$(nproc)" BUILD=fuzz CC=clang WERROR=1 "${@/#/$out/fuzz_}"

# Copies files to start from into the corpus, of the places named, else of the project and of Debian's libonnx-testdata where that
# is installed: each behind the byte (in octal) by which tests/fuzz/onnx.c chooses the reader.
seed()
{
	local to=$1 choice=$2 kind=$3 file places=(models machines tests)
	shift 3
	[ ! -d /usr/share/libonnx-testdata ] || places+=(/usr/share/libonnx-testdata)
	[ $# -eq 0 ] || places=("$@")
	while read -r file; do
		seeds=$((seeds + 1))
		# shellcheck disable=SC2059
		{
			printf "$choice"
			cat "$file"
		} > "$to/seed-$kind-$seeds"
	done < <(find "${places[@]}" -name "*.$kind" -size -200k)
}
seeds=0

export ASAN_OPTIONS=allocator_may_return_null=1:allow_addr2line=1
export UBSAN_OPTIONS=print_stacktrace=1
# fuzz_npy writes files, thousands a second: in memory where that is possible.
shm=/dev/shm
[ -w $shm ] || shm=
TMPDIR=$(mktemp -d ${shm:+-p $shm})
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p $out/crashes
# Fuzzes with one program; what it says comes at the end, in one piece.
fuzz()
{
	local name=$1 corpus=$out/corpus/$1 log status
	if [ ! -d "$corpus" ]; then
		mkdir -p "$corpus"
		case $name in
		onnx)
			# Functions of models and the operators of newer opsets, which no other file has.
			if /usr/bin/python3 tests/onnx/make_cases.py "$TMPDIR/cases" functions attention quantise 2> "$TMPDIR/why"; then
				seed "$corpus" '\000' onnx "$TMPDIR/cases"
			fi
			seed "$corpus" '\000' onnx
			seed "$corpus" '\002' pb
			;;
		npy)
			seed "$corpus" '' npy
			printf '\223NUMPY\001\000\106\000%-69s\n\001\002\003\004' \
				"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" > "$corpus/seed-one"
			;;
		diannao)
			# the document's program as text; as a binary a SYNC and an END
			# shellcheck disable=SC2016
			{
				printf '\000'
				sed -n '/^```asm/,/^```$/p' docs/diannao-isa.md | grep -v '^```'
			} > "$corpus/seed-text"
			printf '\001DIANNAO%1s\001%7s\002%23s\001%63s\002%63s' '' '' '' '' '' | tr ' ' '\000' > "$corpus/seed-binary"
			;;
		tpu)
			# the document's program as text; as a binary a sync, a set_config and a halt
			# shellcheck disable=SC2016
			{
				printf '\000'
				sed -n '/^```asm/,/^```$/p' docs/tpu-isa.md | grep -v '^```'
			} > "$corpus/seed-text"
			printf '\001\002\001%10s\003%5s\017%1s\001%3s\001%11s' '' '' '' '' '' | tr ' ' '\000' > "$corpus/seed-binary"
			;;
		request_trace)
			printf '# a trace\n0x0 READ 0\n0xBFFFFFC0\tWRITE 7 # its end\r\n\n0X40 write 1099511627776' > "$corpus/seed-text"
			gzip -cn "$corpus/seed-text" > "$corpus/seed-gzip"
			;;
		run_trace)
			printf ' program tpu Gemm\nblock 1 fields=0 sums=7fa4129e\ni a b +1 2 c=2 d=3 sum\nend 2\n' > "$corpus/seed-events"
			printf ' program tpu Gemm\nc +0 a.b=0 c[1]=x\nc +3 c[1]=-7\nc +0 a.b=1\nend 9\n' > "$corpus/seed-signals"
			printf ' program tpu Gemm\nblock 1 fields=0 sums=7fa4129e\ni a b +1 2 c=2 d=3 sum\nend 3\ntask layer tpu Gemm start=1e-7 seconds=1e-9\nbatch 0 seconds=1e-6\n' > "$corpus/seed-tasks"
			;;
		sweep_plan)
			printf 'model: digits\ndevice: [tpu_v1, diannao]\nbatch: 1..8*2, 20\nvary:\n  tpu_v1.array.rows = tpu_v1.array.columns: [[64, 32], 128]\n  host.cores: 2..18+4\nset: {clock_hz: 1 GHz}\n' > "$corpus/seed-axes"
			printf 'model: [mlp0]\ndevice: tpu_v1\nderive: {array.rows: max(2 ^ 6, array.columns / 2)}\nconstraint: [area_mm2 < 400 and not (power_w > 75), "device == '"'tpu_v1'"'"]\nminimise: time, energy\nmethod: sobol\npoints: 9\nseed: 3\nvalues: no\n' > "$corpus/seed-formulas"
			;;
		sweep_point)
			printf '{"id":7,"parameters":{"array.rows":128,"weight_memory.preset":"hbm2","clock_hz":7e8}}\n' > "$corpus/seed-request"
			printf '{"id":7,"status":"done","feasible":true,"reason":null,"metrics":{"seconds":0.00124,"cycles":849928},"layers":[{"name":"conv1","op":"Conv","ran_on":"tpu_v1","seconds":1e-4,"energy_j":null,"cycles":7,"macs":9}]}\n' > "$corpus/seed-outcome"
			;;
		*) seed "$corpus" '' "$name" ;;
		esac
	fi
	log=$out/$name.log status=0
	"$out/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$out/crashes/$name-" "$corpus" > "$log" 2>&1 || status=1
	echo "fuzz: $name: $seconds s"
	if [ $status -eq 0 ]; then
		grep -E '^(Done|stat::number_of_executed_units)' "$log"
	else
		grep -vE '^#[0-9]+[[:space:]]' "$log" | tail -n 60
	fi
	return $status
}

# As many at once as there are processors.
declare -A running=()
failed=()
reap()
{
	local pid status=0
	wait -n -p pid || status=$?
	[ "$status" -eq 0 ] || failed+=("${running[$pid]}")
	unset "running[$pid]"
}
for name; do
	[ ${#running[@]} -lt "$(nproc)" ] || reap
	fuzz "$name" &
	running[$!]=$name
done
while [ ${#running[@]} -gt 0 ]; do
	reap
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "fuzz: failed: ${failed[*]}; to see one again: $out/fuzz_NAME $out/crashes/NAME-..."
	exit 1
fi
