#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Checks a GPU: the digits network in every precision against the reference (in int8 bit for bit), a product and a convolution as
# layers, and ONNX's own test cases of every operator where their folder is found. Ends with an error when one of them fails, or
# when there is no GPU. Needs a shell and the program alone, so that it also runs from the bundle (scripts/cuda-bundle.sh).
#
#     [NPULAB=build/npulab] [CASES=FOLDER] [LOGS=FOLDER] scripts/test-cuda.sh
#
# LOGS: a folder that gets what each failing check prints.
set -u
cd "$(dirname "$0")/.." || exit 2
npulab=${NPULAB:-build/npulab}
cases=${CASES:-/usr/share/libonnx-testdata/data}
[ -d "$cases" ] || cases=cases
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
failures=0
. scripts/cuda-path.sh

# check NAME COMMAND...: runs it and prints one line
check()
{
	name=$1
	shift
	if "$@" > "$out/stdout" 2> "$out/stderr"; then
		printf '%-44s ok    %s\n' "$name" "$(eval "$summary" < "$out/stdout")"
	else
		printf '%-44s FAILS %s\n' "$name" "$(tail -n 1 "$out/stderr")"
		failures=$((failures + 1))
		[ -z "${LOGS:-}" ] || cat "$out/stdout" "$out/stderr" > "$LOGS/check-$failures.txt"
	fi
}

# The hashes of all layers of the two devices of a report are the same.
same_bits()
{
	"$npulab" compare digits --devices reference,cuda --set reference.precision=int8 --set cuda.precision=int8 \
		--quiet --json "$out/bits.json" || return 1
	grep -o '"output_sha256": *"[0-9a-f]*"' "$out/bits.json" > "$out/hashes"
	layers=$(($(wc -l < "$out/hashes") / 2))
	[ "$layers" -gt 5 ] || return 1
	head -n "$layers" "$out/hashes" > "$out/first"
	tail -n "$layers" "$out/hashes" | cmp "$out/first" - >&2
}

"$npulab" devices cuda || exit 1
summary="sed -n 's/^cuda  *[0-9].* dB .*/&/p' | head -n 1"
for precision in f32 tf32 f16 bf16 int8; do
	check "digits, $precision" "$npulab" compare digits --devices reference,cuda --set "cuda.precision=$precision"
done
summary=true
check "digits, int8: the bits of the reference" same_bits
summary="grep '^cuda' | head -n 1"
for precision in f32 tf32 f16 bf16 int8; do
	check "product 300 x 500 x 700, $precision" "$npulab" layer gemm -m 300 -n 500 -k 700 --devices cuda \
		--set "cuda.precision=$precision"
	check "convolution 3x3, $precision" "$npulab" layer conv --input 4x32x28x28 --kernel 3x3 --filters 48 --pad 1x1 \
		--devices cuda --set "cuda.precision=$precision"
done
summary="grep ' cases on cuda' | tail -n 1"
for folder in simple pytorch-operator pytorch-converted node; do
	[ -d "$cases/$folder" ] && check "ONNX's cases, $folder" "$npulab" conformance "$cases/$folder" --device cuda
done
[ -d "$cases" ] || echo "ONNX's cases of the operators are not here (CASES=FOLDER says where they are)"
[ "$failures" -eq 0 ] || echo "$failures checks fail"
[ "$failures" -eq 0 ]
