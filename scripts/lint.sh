#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Everything that is checked without running the program. All steps run, whatever the first ones find.
#
#     scripts/lint.sh [format] [includes] [paths] [text] [shell] [headers] [cppcheck] [gcc] [symbols] [tidy] [analyse]
#
# ANALYSE=changed has cppcheck, clang-tidy and clang's analyzer look at the files that are not as they were when they were clean
# (scripts/analysed.txt, which every clean run of all steps writes) and at a part of the others, another part with each commit: a third
# for the first two, a tenth for the analyzer. LINT_BUILD names the flavour
# whose objects gcc makes, `lint-gcc`.
set -u
cd "$(dirname "$0")/.." || exit 2

jobs=$(nproc)
flavour=${LINT_BUILD:-lint-gcc}
read -ra library < scripts/code-folders.txt
mapfile -t sources < <(find "${library[@]}" cli tests bench examples -name '*.c' | sort)
mapfile -t kernels < <(find backends/cuda/kernels -name '*.cu*' | sort)
mapfile -t headers < <(find include "${library[@]}" cli tests bench examples -name '*.h' | sort)

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

# The same of symbols, in the objects that a compiler has made, and their prefixes.
symbols()
{
	scripts/check_rooms.py symbols "build/$flavour" && scripts/check_rooms.py prefixes "build/$flavour"
}

text()
{
	scripts/check-text.sh
}

shell()
{
	shellcheck scripts/*.sh .ci/run
}

# Each public header alone, as C17 and as C++17, where its functions are C's; npulab.h includes every other.
headers_one()
{
	[ "$1" = include/npulab/npulab.h ] || grep -q 'extern "C"' "$1" || echo "$1 has no extern \"C\""
	[ "$1" = include/npulab/npulab.h ] || grep -qx "#include \"${1#include/}\"" include/npulab/npulab.h || echo "npulab.h does not include $1"
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
	scripts/abi.py
}

cppcheck_all()
{
	# The macros of Criterion and jansson that look like no C; cppcheck takes a semicolon for the end of the macro.
	cppcheck --quiet --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j "$jobs" \
		--suppressions-list=scripts/cppcheck-suppressions.txt --std=c11 -D_GNU_SOURCE -D__x86_64__ -D'TestSuite(...)=' \
		-D'json_object_foreach(o,key,value)=while((value=json_object_get(o,(key=""))))' \
		-D'json_array_foreach(a,i,value)=while((value=json_array_get(a,(i=0))))' \
		-Iinclude -I. --file-list=<(chosen 3)
}

# With the optimiser on, as some warnings need it.
compile()
{
	make -s --no-print-directory -j "$jobs" BUILD="$flavour" CC=gcc WERROR=1 objects
}

# clang's own warnings and the checks that need no analysis. What it says on standard error is how many warnings in system headers it
# kept to itself.
tidy_one()
{
	# shellcheck disable=SC2086
	clang-tidy --quiet '--checks=-clang-analyzer-*,clang-diagnostic-*' "$1" -- -std=c17 -D_GNU_SOURCE -Iinclude -I. $warnings 2> /dev/null
}
export -f tidy_one
warnings=$(make -s --no-print-directory warnings)
export warnings

tidy()
{
	chosen 3 | xargs -P "$jobs" -I FILE bash -c 'tidy_one FILE'
}

# Nine tenths of clang-tidy's time.
analyse_one()
{
	local flags=(-std=c17 -D_GNU_SOURCE -Iinclude -I.)
	case $1 in
	core/base/error.c | core/base/refuse.c) ;; # they define the functions that analyzer.h describes
	*) flags+=(-include scripts/analyzer.h) ;;
	esac
	clang-tidy --quiet '--checks=-bugprone-*,-misc-*,-performance-*,-portability-*,-readability-*' "$1" -- "${flags[@]}" 2> /dev/null
}
export -f analyse_one

# The code of a file, whatever its comments and lines: what the analyzer sees of it.
hash_one()
{
	printf '%s  %s\n' "$(gcc -std=c17 -w -fpreprocessed -dD -E -P "$1" 2> /dev/null | tr -d '[:space:]' | sha256sum | cut -d' ' -f1)" "$1"
}
export -f hash_one

hashes()
{
	printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -I FILE bash -c 'hash_one FILE' | LC_ALL=C sort -k 2
}

# All files; with ANALYSE=changed those that changed and one in N of the others.
chosen()
{
	if [ "${ANALYSE:-}" != changed ]; then
		printf '%s\n' "${sources[@]}"
		return
	fi
	hashes | awk -v turn="$(git rev-list --count HEAD 2> /dev/null || echo 0)" -v part="$1" '
		NR == FNR { same[$0] = 1; next }
		!($0 in same) { changed++; print $2; next }
		(++others + turn) % part == 0 { due++; print $2 }
		END { printf "lint: %d files changed since all were clean, %d of the other %d\n", changed, due, others > "/dev/stderr" }
	' scripts/analysed.txt -
}

# Not the tests: the analyzer does not see that cr_assert ends one, and the sanitizers watch them as they run.
analyse()
{
	chosen 10 | grep -v '^tests/' | xargs -P "$jobs" -I FILE bash -c 'analyse_one FILE'
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
	headers) step "each public header alone, and the interface as it was" headers_alone ;;
	cppcheck) step "cppcheck" cppcheck_all ;;
	gcc) step "gcc -Werror" compile ;;
	tidy) step "clang -Werror, clang-tidy" tidy ;;
	analyse) step "clang's analyzer" analyse ;;
	*)
		echo "lint: there is no step '$1'" >&2
		exit 2
		;;
	esac
}

all_steps=$((!$#))
[ $# -gt 0 ] || set -- format includes paths text shell headers cppcheck gcc symbols tidy analyse
for name; do
	run "$name"
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "lint: failed: $(printf '%s; ' "${failed[@]}")"
	exit 1
fi
((!all_steps)) || hashes > scripts/analysed.txt
echo "lint: clean"
