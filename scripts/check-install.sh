#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What somebody gets who installs npulab: `make install` into an empty folder, away from the source tree and with an
# empty environment. Each public header compiles alone and as strict C17, a program of a few lines builds with what
# npulab.pc says, against the shared library and the static one, loads an installed model and opens an installed
# memory, the installed command runs the shipped network, reads the tables of energies and of published figures, and
# has every file of the folders of data, and `make uninstall` leaves no file behind.
set -eu
cd "$(dirname "$0")/.."

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'echo "check-install: line $LINENO failed: $BASH_COMMAND"' ERR
make -s --no-print-directory -j "$(nproc)" all
touch "$root/built"
make -s --no-print-directory DESTDIR="$root" PREFIX=/usr/local install
compiled=$(find build/release -name '*.o' -newer "$root/built")
if [ "$compiled" ]; then
	echo "check-install: make install compiled again: $compiled"
	exit 1
fi
prefix=$root/usr/local

# Every path in npulab.pc below DESTDIR instead.
pc()
{
	sed -n "s|\${prefix}|$prefix|g; s/^$1: //p" "$prefix/lib/pkgconfig/npulab.pc"
}
read -ra compile_flags <<< "$(pc Cflags)"
read -ra link_flags <<< "$(pc Libs)"
strict=(-std=c17 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror)

bad=0
for header in "$prefix"/include/npulab/*.h; do
	gcc "${strict[@]}" "${compile_flags[@]}" -fsyntax-only -x c - <<< "#include \"npulab/$(basename "$header")\"" || bad=1
done

cat > "$root/program.c" << 'END'
#include <npulab/graph.h>
#include <npulab/memory.h>
#include <npulab/model.h>
#include <npulab/version.h>
#include <stdio.h>

int main(void)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	struct npl_graph *graph = NULL;
	struct npl_memory *memory = NULL;
	struct npl_err err = {0};
	int rc = npl_model_find("digits", &arena, &files, &err);
	if (!rc)
		rc = npl_graph_load(files.path, NULL, &graph, &err);
	if (!rc)
		rc = npl_memory_open("ddr3-2133", NULL, &memory, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.msg);
	else
		printf("npulab %s: %s has %d layers\n", npl_version(), files.path, graph->n_nodes);
	npl_memory_close(memory);
	npl_graph_free(graph);
	npl_arena_free(&arena);
	return rc != 0;
}
END
read -ra static_flags <<< "$(pc Libs.private)"
for link in "${link_flags[*]}" "-L$prefix/lib -l:libnpulab.a ${static_flags[*]}"; do
	read -ra flags <<< "$link"
	gcc "${strict[@]}" "${compile_flags[@]}" -o "$prefix/bin/program" "$root/program.c" "${flags[@]}"
	(cd / && env -i "$prefix/bin/program") | grep -F "$prefix/share/npulab/models/digits.onnx"
	rm "$prefix/bin/program"
done

cd /
env -i "$prefix/bin/npulab" compare digits --devices null > "$root/table"
grep -q 'null' "$root/table"
env -i "$prefix/bin/npulab" devices > /dev/null
env -i "$prefix/bin/npulab" energy --check > /dev/null
env -i PATH="$PATH" "$prefix/bin/npulab" lab start 2 "$root/lab" > /dev/null
env -i PATH="$PATH" "$prefix/bin/npulab" lab check 2 "$root/lab" > "$root/table" || true
grep -q '^0 of 7 tasks passed' "$root/table"
env -i "$prefix/bin/npulab" energy tpu_v1 | grep -q 'matrix unit'
env -i "$prefix/bin/npulab" validate diannao --check > "$root/table"
grep -q ' 0 outside, 0 missing' "$root/table"
cd - > /dev/null

for folder in $(cat scripts/data-folders.txt) schemas; do
	diff -rq --exclude='*.py' --exclude=__pycache__ "$folder" "$prefix/share/npulab/$folder" || bad=1
done

make -s --no-print-directory DESTDIR="$root" PREFIX=/usr/local uninstall
left=$(find "$prefix" ! -type d)
if [ "$left" ]; then
	echo "check-install: make uninstall left: $left"
	bad=1
fi
[ $bad -ne 0 ] || echo "check-install: good"
exit $bad
