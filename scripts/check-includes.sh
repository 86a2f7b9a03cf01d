#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The include rule: dependencies point one way, cli -> reports -> frontend -> sim, backends -> core, and no simulated
# machine knows another, the processor or the GPU. A folder may include the public headers of its own rank and below,
# its own private headers, and no other folder's; the command line also sees the private headers of reports/. Tests and
# benchmarks may include anything.
#
# Public headers lie together in include/npulab; the lists below say which belong to frontend/ and reports/, all others
# are core's.
set -eu
cd "$(dirname "$0")/.."

frontend_headers="build calibrate compare eager graph graph_run model placement quantise roofline session single_layer trace traffic"
reports_headers="report"

# FILE:LINE:NAME of every include with quotes; `<npulab/...>` counts as one.
includes()
{
	find include core sim backends frontend reports cli examples -name '*.[ch]' -exec \
		grep -HnoP '^\s*#\s*include\s*("\K[^"]+|<\Knpulab/[^>]+)' {} + || :
}

rank_of_folder()
{
	case $1 in
	core/* | sim/* | backends/*) rank=0 ;;
	frontend/*) rank=1 ;;
	reports/*) rank=2 ;;
	cli/* | examples/*) rank=3 ;;
	include/npulab/*) rank_of_header "${1#include/}" ;;
	*)
		echo "$1: scripts/check-includes.sh does not know this folder"
		exit 1
		;;
	esac
}

rank_of_header()
{
	local name=${1#npulab/}
	name=${name%.h}
	case " $frontend_headers " in *" $name "*) rank=1 && return ;; esac
	case " $reports_headers " in *" $name "*) rank=2 && return ;; esac
	rank=0
}

# The folder whose private headers a file may include: sim/X and backends/X each, else the first part of the path.
room_of()
{
	case $1 in
	sim/* | backends/*) room=${1%/*} ;;
	*) room=${1%%/*} ;;
	esac
}

bad=0
complain()
{
	echo "$file:$line: #include \"$name\": $1"
	bad=1
}

for header in $frontend_headers $reports_headers; do
	if [ ! -e "include/npulab/$header.h" ]; then
		echo "scripts/check-includes.sh: there is no include/npulab/$header.h any more"
		bad=1
	fi
done

while IFS=: read -r file line name; do
	rank_of_folder "$file"
	own=$rank
	case $name in
	npulab/*)
		rank_of_header "$name"
		if [ "$rank" -gt "$own" ]; then
			complain "a header of a higher layer"
		fi
		continue
		;;
	esac
	case $file in
	include/*)
		complain "a public header includes public headers only"
		continue
		;;
	esac
	# A private header is found beside the file that includes it.
	path=$(realpath --quiet --relative-to=. "${file%/*}/$name")
	if [ ! -e "$path" ]; then
		complain "not found beside the file"
		continue
	fi
	room_of "$file" && mine=$room
	room_of "$path"
	if [ "$room" != "$mine" ] && [ "$mine/$room" != cli/reports ]; then
		complain "a private header of $room/"
	fi
done < <(includes)
exit $bad
