#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Packs what a machine with a GPU needs to run `scripts/test-cuda.sh` and `scripts/bench-cuda.sh`, where nothing can be installed and the
# distribution may be another: the program, its data, both scripts with the benchmark, and ONNX's test cases where they are installed
# here. Starting it takes libc and libm; CUDA's libraries are looked for when the GPU is asked for. At most 30 MiB.
#
#     scripts/cuda-bundle.sh [build/npulab-cuda.tar.gz]
set -eu
cd "$(dirname "$0")/.."
bundle=${1:-build/npulab-cuda.tar.gz}
cases=/usr/share/libonnx-testdata/data
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/npulab-cuda
mkdir -p "$root/build" "$root/scripts" "$root/bench"
strip -o "$root/build/npulab" build/npulab
strip -o "$root/build/bench-cuda" build/bench-cuda
# shellcheck disable=SC2046 # a list of words
cp -r $(cat scripts/data-folders.txt) "$root/"
cp scripts/test-cuda.sh scripts/bench-cuda.sh scripts/cuda-path.sh "$root/scripts/"
cp bench/pytorch_resnet50.py "$root/bench/"
cp LICENSE* README.md "$root/" 2> /dev/null || true
if [ -d $cases/node ]; then
	mkdir "$root/cases"
	cp -r $cases/node $cases/simple $cases/pytorch-converted $cases/pytorch-operator "$root/cases/"
fi
needs=$(ldd "$root/build/npulab" "$root/build/bench-cuda" | grep "=>" | awk '{print $1}' | grep -v -e linux-vdso -e ld-linux -e '^libc\.so' -e '^libm\.so' || true)
if [ -n "$needs" ]; then
	echo "cuda-bundle: the program needs $needs to start" >&2
	exit 1
fi
glibc=$(objdump -T "$root/build/npulab" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
cat > "$root/README.cuda" << END
    cd npulab-cuda
    NPULAB_DATA=\$PWD scripts/test-cuda.sh
    NPULAB_DATA=\$PWD scripts/bench-cuda.sh

Needs $glibc or later. CUDA's libraries that are not where the linker looks: NPULAB_CUDA_PATH=/folder/of/libraries:...
END
mkdir -p "$(dirname "$bundle")"
tar -C "$folder" --owner=0 --group=0 --sort=name -czf "$bundle" npulab-cuda
bytes=$(stat -c %s "$bundle")
if [ "$bytes" -gt $((30 << 20)) ]; then
	echo "cuda-bundle: $bundle has $bytes bytes, expected at most $((30 << 20))" >&2
	exit 1
fi
echo "$bundle: $((bytes >> 10)) KiB, $glibc"
