#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Whether the agreement of the two engines would notice a fault: puts each fault of tests/mutants.txt, one at a time, into
# a copy of its file, links that with everything else as built, and runs the agreement (tests/kit/sim/agree_main.c), which must
# fail: that of the machine or memory that the file is of, or the one that the fault names. One that does not has survived and
# fails this script; so does a fault whose text is not found exactly once in its file, so that the list keeps up with the
# code. `make mutants` has built the objects and the library.
#
#     CC=... CFLAGS=... LIBS=... AGREEMENT=OBJECTS scripts/mutants.sh LIBRARY [--changed | NAME...]
#
# AGREEMENT has the objects of the agreement; names choose some of the faults. A run of all that finds them all writes
# tests/mutants-caught.txt, a digest of each file's code and its faults. --changed runs the faults of the files that are not as they were
# then, and a tenth of the others: another tenth with each commit, since a change elsewhere may hide a fault as well. Ends with
# "N caught, N survived, N broken".
set -eu
cd "$(dirname "$0")/.."

if [ $# -lt 1 ] || [ -z "${AGREEMENT:-}" ]; then
	echo "usage: AGREEMENT=OBJECTS mutants.sh LIBRARY [--changed | NAME...]" >&2
	exit 2
fi
export library=$1 out=build/mutants agreement=$AGREEMENT
shift
: "${CC:=gcc}" "${CFLAGS:=}" "${LIBS:=}"
export CC CFLAGS LIBS
list=tests/mutants.txt caught_before=tests/mutants-caught.txt

# The fields of a fault: file, whose agreement if not the file's, old text, new text.
field()
{
	awk -v name="$1" -v key="$2" '
		$1 == "@" { here = $2 == name; if (here && (key == "@" || key == "of")) { print $(key == "@" ? 3 : 4); exit } }
		here && $1 == key { print substr($0, 3); exit }' "$list"
}

# One fault; its log ends with CAUGHT, SURVIVED or BROKEN.
mutant()
{
	local name=$1 file old new text left what dir=$out/$1 status=0
	file=$(field "$name" @) what=$(field "$name" of) old=$(field "$name" -) new=$(field "$name" +)
	text=$(cat "$file") || return
	left=${text//"$old"/}
	if [ -z "$old" ] || [ $((${#text} - ${#left})) -ne ${#old} ]; then
		echo "BROKEN '$old' is not found exactly once in $file"
		return
	fi
	rm -rf "$dir" && mkdir -p "$dir"
	printf '%s\n' "${text/"$old"/"$new"}" > "$dir/${file##*/}"
	# Before the library, so that it takes the place of the object in there.
	# shellcheck disable=SC2086
	if ! $CC $CFLAGS -O1 -w -I"$(dirname "$file")" -c "$dir/${file##*/}" -o "$dir/mutant.o" ||
		! $CC $CFLAGS -o "$dir/agree" "$dir/mutant.o" $agreement "$library" $LIBS; then
		echo "BROKEN not built"
		return
	fi
	case $what$file in
	sim/memory/*) what=dram ;;
	sim/diannao/*) what=diannao ;;
	esac
	timeout 90 "$dir/agree" ${what:+"$what"} || status=$?
	rm -f "$dir/agree"
	case $status in
	0) echo "SURVIVED $file: '$old' as '$new'" ;;
	124) echo "CAUGHT it does not end" ;;
	*) echo "CAUGHT" ;;
	esac
}
export -f field mutant
export list

# A line for each file: a digest of its code, whatever its comments and lines, and of its faults, and its name.
digests()
{
	local file
	awk '$1 == "@" { print $3 }' "$list" | LC_ALL=C sort -u | while read -r file; do
		{
			gcc -std=c17 -w -fpreprocessed -dD -E -P "$file" | tr -d '[:space:]'
			awk -v file="$file" '$1 == "@" { here = $3 == file } here' "$list"
		} | sha256sum | awk -v file="$file" '{ print substr($1, 1, 16), file }'
	done
}

# The names of the faults that --changed runs; how many they are on standard error.
changed_names()
{
	local turn
	turn=$(git rev-list --count HEAD) || turn=0
	awk -v turn="$turn" '
		input == "same" { same[$2] = 1; next }
		$1 != "@" { next }
		!($3 in same) { changed++; print $2; next }
		(++others + turn) % 10 == 0 { tenth++; print $2 }
		END {
			printf "mutants: %d of files changed since all were caught, %d of the other %d\n", changed, tenth, others > "/dev/stderr"
		}' input=same <(digests | grep -xFf - "$caught_before") input=list "$list"
}

mapfile -t names < <(awk '$1 == "@" { print $2 }' "$list")
if [ "$(printf '%s\n' "${names[@]}" | sort -u | wc -l)" -ne ${#names[@]} ]; then
	echo "mutants: a name occurs twice in $list" >&2
	exit 1
fi
whole=$#
if [ "${1:-}" = --changed ]; then
	mapfile -t names < <(changed_names)
elif [ $# -gt 0 ]; then
	names=("$@")
fi
mkdir -p "$out"

# Without any fault it must succeed.
# shellcheck disable=SC2086
$CC $CFLAGS -o "$out/agree" $agreement "$library" $LIBS
if ! "$out/agree" || ! "$out/agree" dram || ! "$out/agree" diannao; then
	echo "mutants: the engines disagree as they are"
	exit 1
fi
# shellcheck disable=SC2016
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I NAME bash -c 'mutant NAME > "$out/NAME.log" 2>&1'
caught=0 survived=0 broken=0
for name in "${names[@]}"; do
	log=$out/$name.log
	if tail -n 1 "$log" | grep -q '^CAUGHT'; then
		caught=$((caught + 1))
		echo "mutants: caught $name: $(head -n 1 "$log" | cut -c 1-150)"
	else
		if tail -n 1 "$log" | grep -q '^SURVIVED'; then
			survived=$((survived + 1))
		else
			broken=$((broken + 1))
		fi
		sed "s/^/mutants: $name: /" "$log"
	fi
done
if [ "$whole" -eq 0 ] && [ $((survived + broken)) -eq 0 ]; then
	{
		echo "# Files whose faults were all caught, with digests of both; written by \`make mutants\`."
		digests
	} > "$caught_before"
fi
echo "$caught caught, $survived survived, $broken broken"
[ $((survived + broken)) -eq 0 ]
