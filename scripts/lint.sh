#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Everything that is checked without running the program. All steps run, whatever the first ones find.
#
#     scripts/lint.sh [format] [includes] [paths] [text] [shell] [headers] [cppcheck] [gcc] [symbols] [clang] [tidy]
set -u
cd "$(dirname "$0")/.." || exit 2

jobs=$(nproc)
mapfile -t sources < <(find core sim backends frontend validate reports cli tests bench examples -name '*.c' | sort)
mapfile -t kernels < <(find backends/cuda/kernels -name '*.cu*' | sort)
mapfile -t headers < <(find include core sim backends frontend validate reports cli tests bench examples -name '*.h' | sort)

format()
{
	if ! clang-format --dry-run -Werror --ferror-limit=3 "${sources[@]}" "${headers[@]}" "${kernels[@]}"; then
		echo "(make format)"
		return 1
	fi
}

includes()
{
	scripts/check_rooms.py includes
}

# The files that documents name.
paths()
{
	scripts/check_paths.py
}

# The same of symbols, in the objects that a compiler has made.
symbols()
{
	scripts/check_rooms.py symbols build/lint-gcc
}

text()
{
	scripts/check-text.sh
}

shell()
{
	shellcheck scripts/*.sh .ci/run
}

# Each public header alone, as C17 and as C++17, where its functions are C's.
headers_one()
{
	grep -q 'extern "C"' "$1" || echo "$1 has no extern \"C\""
	echo "#include \"${1#include/}\"" | clang -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c - &&
		echo "#include \"${1#include/}\"" | clang++ -std=c++17 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - ||
		echo "$1 does not compile alone"
}
export -f headers_one

headers_alone()
{
	local complaints
	complaints=$(printf '%s\n' include/npulab/*.h | xargs -P "$jobs" -I FILE bash -c 'headers_one FILE' 2>&1)
	[ -z "$complaints" ] || { echo "$complaints" && return 1; }
}

cppcheck_all()
{
	# The macros of Criterion and jansson that look like no C; cppcheck takes a semicolon for the end of the macro.
	cppcheck --quiet --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j "$jobs" \
		--suppressions-list=scripts/cppcheck-suppressions.txt --std=c11 -D_GNU_SOURCE -D__x86_64__ -D'TestSuite(...)=' \
		-D'json_object_foreach(o,key,value)=while((value=json_object_get(o,(key=""))))' \
		-D'json_array_foreach(a,i,value)=while((value=json_array_get(a,(i=0))))' \
		-Iinclude -I. core sim backends frontend validate reports cli tests bench
}

# With the optimiser on, as some warnings need it.
compile()
{
	make -s --no-print-directory -j "$jobs" BUILD="lint-$1" CC="$1" WERROR=1 objects
}

tidy_one()
{
	local options=(--quiet) flags=(-std=c17 -D_GNU_SOURCE -Iinclude -I.)
	case $1 in
	core/base/error.c) ;; # defines the function that analyzer.h describes
	# The analyzer does not see that cr_assert ends a test; the sanitizers watch the tests as they run.
	tests/*) options+=('--checks=-clang-analyzer-*') ;;
	*) flags+=(-include scripts/analyzer.h) ;;
	esac
	# What it says on standard error is how many warnings in system headers it kept to itself.
	clang-tidy "${options[@]}" "$1" -- "${flags[@]}" 2> /dev/null
}
export -f tidy_one

tidy()
{
	printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -I FILE bash -c 'tidy_one FILE'
}

failed=()
step()
{
	local name=$1 started=$SECONDS
	shift
	"$@" || failed+=("$name")
	echo "lint: $name: $((SECONDS - started)) s"
}

run()
{
	case $1 in
	format) step "clang-format" format ;;
	includes) step "includes by folder" includes ;;
	paths) step "files that documents name" paths ;;
	symbols) step "symbols by folder, circles of files" symbols ;;
	text) step "licences, length of files, white space" text ;;
	shell) step "shellcheck" shell ;;
	headers) step "each public header alone" headers_alone ;;
	cppcheck) step "cppcheck" cppcheck_all ;;
	gcc | clang) step "$1 -Werror" compile "$1" ;;
	tidy) step "clang-tidy" tidy ;;
	*)
		echo "lint: there is no step '$1'" >&2
		exit 2
		;;
	esac
}

[ $# -gt 0 ] || set -- format includes paths text shell headers cppcheck gcc symbols clang tidy
for name; do
	run "$name"
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "lint: failed: $(printf '%s; ' "${failed[@]}")"
	exit 1
fi
echo "lint: clean"
