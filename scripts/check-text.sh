#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What no compiler checks: every C file and script (those that travel in pages excepted) names its licence and has fewer than 600 lines; a header's guard is its path;
# no line of C has more than 120 columns, which clang-format leaves in comments and strings;
# no line of prose in the pages has more than 100;
# no text file of the project has white space at the end of a line, carriage returns, no newline at its end, or a note of work left undone;
# no file is tracked in the root but those that belong there.
set -eu
cd "$(dirname "$0")/.."

root_files=' .clang-format .clang-tidy .gitattributes .gitignore ARCHITECTURE.md CHANGES.md CONTRIBUTING.md LICENSE Makefile README.md '
max_lines=600
max_columns=120
max_prose_columns=100
bad=0
complain()
{
	echo "$1"
	bad=1
}

# A copy without a repository has no tracked files, and nothing to find here.
while IFS= read -r file; do
	[[ $root_files == *" $file "* ]] || complain "$file: no file of this name belongs in the root (root_files in scripts/check-text.sh)"
done < <(git ls-files ':(glob)*' 2> /dev/null)

while IFS= read -r file; do
	file=${file#./}
	lines=$(wc -l < "$file")
	case $file in
	*.c | *.h | *.sh | .ci/run | *.py | *.mjs)
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || complain "$file:1: no SPDX-License-Identifier line"
		[ "$lines" -lt $max_lines ] || complain "$file:$lines: $lines lines, expected fewer than $max_lines"
		;;
	esac
	if [[ $file == *.h ]]; then
		guard=NPULAB_${file#include/npulab/}
		guard=$(tr a-z/. A-Z__ <<< "$guard")
		found=$(grep -m 1 -oP '^#ifndef \K\w+_H$' "$file") || found=$guard # included several times: it has none
		[ "$found" = "$guard" ] || complain "$file: the guard is $found, expected $guard"
	fi
	[ -z "$(tail -c 1 "$file")" ] || complain "$file:$lines: no newline at the end"
done < <(find . \( -path ./.git -o -path ./build \) -prune -o -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' \
	-o -name '*.py' -o -name '*.mjs' -o -name '*.js' -o -name '*.css' -o -name '*.html' -o -name '*.json' -o -name '*.md' -o -name '*.yaml' -o -name '*.txt' -o -path ./.ci/run -o -name Makefile \) -print | sort)

# Tabs have 8 columns. The backslash that continues a macro is not counted: clang-format may set it behind the others.
# shellcheck disable=SC2016 # what begins with $ is awk's
find . \( -path ./.git -o -path ./build \) -prune -o -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.cu' \) -print0 |
	LC_ALL=C.UTF-8 xargs -0 awk -v most="$max_columns" '
	{
		line = $0
		sub(/ *\\$/, "", line)
		if (length(line) + 7 * gsub(/\t/, "\t", line) <= most)
			next
		while (i = index(line, "\t"))
			line = sprintf("%s%*s%s", substr(line, 1, i - 1), 8 - (i - 1) % 8, "", substr(line, i + 1))
		if (length(line) > most) {
			printf "%s:%d: %d columns, expected at most %d\n", FILENAME, FNR, length(line), most
			wide = 1
		}
	}
	END { exit wide }' || bad=1

# Tables, blocks, headings and comments cannot be broken, and neither can a line that is one command.
# shellcheck disable=SC2016 # what begins with $ is awk's
LC_ALL=C.UTF-8 awk -v most="$max_prose_columns" '
	FNR == 1 { in_block = in_comment = 0 }
	/^ *(```|~~~)/ { in_block = !in_block; next }
	in_block || /^ *\|/ || /^#/ { next }
	/^ *<!--/ { in_comment = 1 }
	in_comment { in_comment = !/-->/; next }
	{
		line = $0
		gsub(/<!--[^>]*-->/, "", line)
		if (length(line) > most && line !~ /^ *\(?`[^`]*`[).,:;]*$/) {
			printf "%s:%d: %d columns of prose, expected at most %d\n", FILENAME, FNR, length(line), most
			wide = 1
		}
	}
	END { exit wide }' README.md CHANGES.md CONTRIBUTING.md ARCHITECTURE.md docs/*.md || bad=1

# Built from pieces so that this file does not find itself.
notes="TO""DO|FIX""ME|XX""X"
if grep -rnIE --exclude-dir=.git --exclude-dir=build "([[:space:]]|"$'\r'")\$|\b($notes)\b" .; then
	echo "(white space at the end of a line, or a note of work left undone)"
	bad=1
fi

# What a table prints may be broken between any two words, elsewhere with another processor's name: cli_says() looks past that.
if grep -nP '(?<!= )strstr\((r|table|help)\.out, "[^"|\\]*[^"|\\ ] [^"|\\ ][^"|\\]*"\)' -r tests --include='*.c' | grep -v '  [^"]*"'; then
	echo "(several words of a table: cli_says instead of strstr)"
	bad=1
fi
exit $bad
