#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the register-level matrix unit (sim/systolic/array/matrix_unit.c) beside its Verilog (sim/systolic/array/matrix_unit.v), cycle by
# cycle, for several sizes; then shows that each of the faults that the Verilog knows (MUTATE_...) is found. Ends with
# "N passed, N failed". `make cosim` has built the library.
#
#     [COSIM_MUTATE=skew|switch|format|latency|refill|wrap] [COSIM_SEED=n] scripts/cosim.sh [LIBRARY]
#
# COSIM_MUTATE puts that fault into every size, so that the run fails.
set -eu
cd "$(dirname "$0")/.."

library=$(realpath "${1:-build/release/objects.a}")
export library out=build/cosim seed=${COSIM_SEED:-1}
# NAME ROWS COLUMNS ADDRESS_BITS REGISTERS CYCLES MUTATION EXPECTED, longest first. One row of cells has no registers
# between input and accumulators. A fault is looked for on the array where it is smallest.
fault=${COSIM_MUTATE:-none}
cases=(
	"64x64 64 64 7 0 20000 $fault equal"
	"16x16 16 16 6 0 60000 $fault equal"
	"8x8 8 8 5 0 100000 $fault equal"
	"4x4 4 4 4 0 200000 $fault equal"
	"3x5 3 5 3 2 200000 $fault equal"
	"1x6 1 6 2 0 200000 $fault equal"
)
faults=(skew switch format latency refill wrap)
case " ${faults[*]} none " in
*" $fault "*) ;;
*)
	echo "cosim: there is no fault '$fault', there are: ${faults[*]}" >&2
	exit 2
	;;
esac
if [ "$fault" = none ]; then
	for name in "${faults[@]}"; do
		cases+=("fault-$name 4 4 4 0 20000 $name found")
	done
fi

for tool in verilator g++; do
	if ! type $tool > /dev/null 2>&1; then
		echo "cosim: there is no $tool: scripts/install-deps.sh cosim" >&2
		exit 1
	fi
done
include=$(verilator --getenv VERILATOR_ROOT)/include
export include

# Verilator's own part, once.
runtime()
{
	local file
	for file in verilated verilated_threads; do
		g++ -std=gnu++17 -O1 -w -I"$include" -I"$include/vltstd" -c "$include/$file.cpp" -o "$out/$file.o" &
	done
	wait
}

# Verilog to C++ to a program in a folder of its own. Loops stay loops and wide vectors calls: compiled, 64x64 is then a
# fifth of the size and about as fast.
build()
{
	local dir=$out/$1 rows=$2 columns=$3 bits=$4 registers=$5 mutation=$7
	rm -rf "$dir" && mkdir -p "$dir" &&
		verilator --cc -Wall -Wno-DECLFILENAME -Wno-UNUSEDSIGNAL --unroll-count 2 -fno-expand --Mdir "$dir" \
			--top-module matrix_unit -GROWS="$rows" -GCOLUMNS="$columns" -GADDRESS_BITS="$bits" \
			-GREGISTERS="$registers" -DMUTATE_"${mutation^^}" sim/systolic/array/matrix_unit.v &&
		(cd "$dir" && printf '#include "%s"\n' Vmatrix_unit*.cpp > all.cpp) &&
		g++ -std=gnu++17 -O1 -w -I"$include" -I"$include/vltstd" -I"$dir" -c "$dir/all.cpp" -o "$dir/all.o" &&
		g++ -std=gnu++17 -O1 -Wall -Wextra -Werror -Iinclude -I. -isystem "$include" -isystem "$dir" \
			-DROWS="$rows" -DCOLUMNS="$columns" -DADDRESS_BITS="$bits" -DREGISTERS="$registers" \
			tests/sim/systolic/array/matrix_unit.cpp "$dir/all.o" "$out"/verilated*.o "$library" -pthread -o "$dir/cosim"
}

# One case; its last line says PASS or FAIL.
run_case()
{
	local name=$1 cycles=$6 expected=$8 status=0
	if ! build "$@"; then
		echo "FAIL $name: not built"
		return
	fi
	"$out/$name/cosim" "$cycles" "$seed" || status=$?
	case $expected/$status in
	equal/0) echo "PASS $name" ;;
	found/1) echo "PASS $name: found, as it must be" ;;
	found/0) echo "FAIL $name: the fault was not found" ;;
	*) echo "FAIL $name: exit status $status" ;;
	esac
}
export -f build run_case

mkdir -p "$out"
runtime
# shellcheck disable=SC2016
printf '%s\n' "${cases[@]}" | xargs -P "$(nproc)" -I CASE bash -c 'set -- CASE; run_case "$@" > "$out/$1.log" 2>&1'
passed=0 failed=0
for words in "${cases[@]}"; do
	log=$out/${words%% *}.log
	sed 's/^/cosim: /' "$log"
	if tail -n 1 "$log" | grep -q '^PASS'; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
