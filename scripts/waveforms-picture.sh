#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes docs/waveforms/product.png: the waveforms of docs/waveforms.md as GTKWave shows them, with the signals of
# docs/waveforms/product.gtkw. It is no part of CI: the picture depends on fonts and on GTKWave's version.
#
#     scripts/waveforms-picture.sh [PROGRAM]
#
# Needs gtkwave, Xvfb, xdotool, and import and convert of ImageMagick.
set -eu
cd "$(dirname "$0")/.."
npulab=$(realpath "${1:-build/npulab}")
for tool in gtkwave Xvfb xdotool import convert; do
	if ! type $tool > /dev/null 2>&1; then
		echo "waveforms-picture: there is no $tool: apt-get install gtkwave xvfb xdotool imagemagick" >&2
		exit 1
	fi
done

folder=$(mktemp -d)
server='' viewer=''
cleanup()
{
	[ -z "$viewer" ] || kill "$viewer" 2> /dev/null || true
	[ -z "$server" ] || kill "$server" 2> /dev/null || true
	rm -rf "$folder"
}
trap cleanup EXIT

# The commands of docs/waveforms.md.
eval "$(sed -n '/^npulab trace record .* -o product.trace$/p; /^npulab trace export product.trace --vcd/p' docs/waveforms.md |
	sed "s|^npulab|\"$npulab\"|; s|product\\.|$folder/product.|g")"

mkfifo "$folder/display"
Xvfb -displayfd 3 -screen 0 1800x870x24 -nolisten tcp 3> "$folder/display" > "$folder/log" 2>&1 &
server=$!
read -r number < "$folder/display"
export DISPLAY=:$number
gtkwave --nomenus --rcvar 'hide_sst 1' --rcvar 'splash_disable on' "$folder/product.vcd" docs/waveforms/product.gtkw \
	> "$folder/log" 2>&1 &
viewer=$!
xdotool search --sync --onlyvisible --name GTKWave > /dev/null
sleep 3
import -window root "$folder/picture.png"
convert "$folder/picture.png" -trim +repage -colors 64 -strip PNG8:docs/waveforms/product.png
stat -c '%n: %s bytes' docs/waveforms/product.png
