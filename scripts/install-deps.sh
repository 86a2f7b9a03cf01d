#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs the Debian packages that npulab needs and that are missing; silent and without the network when none is.
#
#     scripts/install-deps.sh [--list] [demo] [test] [lint] [emulate] [cosim] [waves] [browser] [mpi] [prove]
#
#   demo    to build and run the program (always included)
#   test    to build and run the tests
#   lint    the tests, the checkers of scripts/lint.sh, and clang's sanitizers for scripts/fuzz.sh
#   emulate the emulator of other processors, for `make test-emulated`
#   cosim   Verilator and the C++ compiler that it needs, for scripts/cosim.sh
#   waves   GTKWave, through whose vcd2fst a test reads dumps; without it that test is skipped. What else
#           scripts/waveforms-picture.sh needs, it says itself
#   browser Chromium, Node and npm, for the tests of pages in a browser (tests/pages/test_browser.c), which are skipped without them.
#           A program of these that is there from elsewhere is taken as it is. Then npm fetches the two packages of
#           tests/pages/browser/package-lock.json into build/browser, with the sums that stand there, and runs nothing of them.
#           About a minute on a bare Debian: 540 packages, nearly all of them npm's
#   mpi     Open MPI, for `make mpi`: the program that runs sweeps on clusters. Its tests are skipped without it
#   prove   what scripts/prove-clean-root.sh itself needs
#   --list  prints the packages and installs nothing
#
# OpenBLAS and oneDNN (libdnnl2) are loaded at run time: without the first everything works but the device `cpu` in float32, which
# then says why; without the second 8-bit products come from npulab's own kernels, with the same bits.
set -eu

demo=(gcc libc6-dev make libjs-chart.js libyaml-dev libmd-dev libjansson-dev libsqlite3-dev zlib1g-dev libxxhash-dev libzstd-dev libopenblas0-pthread libdnnl2 python3)
test=(libcriterion-dev libonnx-testdata pkg-config python3-jsonschema python3-numpy python3-onnx python3-yaml)
lint=(clang clang-format clang-tidy cppcheck libclang-rt-dev shellcheck)
lint_tools=(clang clang-format clang-tidy cppcheck shellcheck)
emulate=(qemu-user-static)
cosim=(verilator g++)
waves=(gtkwave)
browser=(chromium nodejs npm)
mpi=(libopenmpi-dev openmpi-bin)
prove=(debootstrap)

die()
{
	echo "install-deps: $*" >&2
	exit 1
}

# Compiles and links a program, where there are no Debian packages to ask for.
links()
{
	local program=$1 dir status=0
	shift
	dir=$(mktemp -d)
	"${CC:-gcc}" -x c -o "$dir/probe" - "$@" <<< "$program" 2> /dev/null || status=1
	rm -r "$dir"
	return $status
}

have_without_packages()
{
	links '#include <sys/types.h>
		#include <jansson.h>
		#include <sha256.h>
		#include <sqlite3.h>
		#include <yaml.h>
		#include <xxhash.h>
		#include <zlib.h>
		#include <zstd.h>
		int main(void) { SHA256_CTX c; SHA256_Init(&c); return !yaml_get_version_string() || !json_null() || !zlibVersion() || !ZSTD_versionNumber() || !sqlite3_libversion(); }' \
		-l:libyaml.a -l:libmd.a -l:libjansson.a -l:libsqlite3.a -l:libz.a -l:libzstd.a -lm ||
		return 1
	if [ "$want_test" ]; then
		links '#include <criterion/criterion.h>
			Test(a, b) { cr_assert(1); }' -lcriterion || return 1
	fi
	if [ "$want_lint" ]; then
		type "${lint_tools[@]}" > /dev/null 2>&1 || return 1
	fi
	if [ "$want_emulate" ]; then
		type qemu-x86_64-static > /dev/null 2>&1 || return 1
	fi
	if [ "$want_cosim" ]; then
		type "${cosim[@]}" > /dev/null 2>&1 || return 1
	fi
	if [ "$want_waves" ]; then
		type "${waves[@]}" > /dev/null 2>&1 || return 1
	fi
	if [ "$want_browser" ]; then
		type chromium node npm > /dev/null 2>&1 || return 1
	fi
	if [ "$want_mpi" ]; then
		type mpicc mpirun > /dev/null 2>&1 || return 1
	fi
	if [ "$want_prove" ]; then
		type debootstrap > /dev/null 2>&1 || return 1
	fi
}

list='' want_test='' want_lint='' want_emulate='' want_cosim='' want_waves='' want_browser='' want_mpi='' want_prove=''
for word; do
	case $word in
	--list) list=1 ;;
	demo) ;;
	test) want_test=1 ;;
	lint) want_test=1 want_lint=1 ;;
	emulate) want_emulate=1 ;;
	cosim) want_cosim=1 ;;
	waves) want_waves=1 ;;
	browser) want_browser=1 ;;
	mpi) want_mpi=1 ;;
	prove) want_prove=1 ;;
	*) die "there is no set '$word'; usage: install-deps.sh [--list] [demo] [test] [lint] [emulate] [cosim] [waves] [browser] [mpi] [prove]" ;;
	esac
done
packages=("${demo[@]}" ${want_test:+"${test[@]}"} ${want_lint:+"${lint[@]}"} ${want_emulate:+"${emulate[@]}"} ${want_cosim:+"${cosim[@]}"}
	${want_waves:+"${waves[@]}"} ${want_browser:+"${browser[@]}"} ${want_mpi:+"${mpi[@]}"} ${want_prove:+"${prove[@]}"})

if [ "$list" ]; then
	printf '%s\n' "${packages[@]}"
	exit 0
fi

# A package, or for Chromium, Node and npm a program: Debian's packages conflict with those of others.
is_there()
{
	case $1 in
	chromium | npm) type "$1" > /dev/null 2>&1 ;;
	nodejs) type node > /dev/null 2>&1 ;;
	*) [[ $installed == *$'\n'"$1 installed"$'\n'* ]] ;;
	esac
}

install_packages()
{
	local package missing=() as_root=()
	if ! type dpkg-query apt-get > /dev/null 2>&1; then
		have_without_packages ||
			die "this is not Debian: install what these Debian packages bring (libyaml, libmd, jansson, SQLite, zlib and zstd as static libraries, and the header of xxhash): ${packages[*]}"
		return
	fi
	# dpkg-query exits with 1 when it has never heard of one of them.
	installed=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2> /dev/null || :)$'\n'
	for package in "${packages[@]}"; do
		is_there "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		type sudo > /dev/null 2>&1 ||
			die "not root, and there is no sudo; let root run: apt-get install --no-install-recommends ${missing[*]}"
		as_root=(sudo)
	fi
	local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
	echo "install-deps: installing the Debian packages ${missing[*]}"
	"${apt[@]}" update || echo "install-deps: the package lists could not be refreshed; going on with those there are" >&2
	"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" > /dev/null ||
		die "apt-get could not install ${missing[*]}"
}

# The list of what was installed is the last file that is written: a run that was interrupted is made again.
install_modules()
{
	local from to
	from=$(dirname "$0")/../tests/pages/browser
	to=$(dirname "$0")/../build/browser
	! cmp -s "$from/package-lock.json" "$to/installed.json" || return 0
	mkdir -p "$to"
	cp "$from/package.json" "$from/package-lock.json" "$to"
	echo "install-deps: installing npm's packages for the tests of pages in build/browser"
	npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=1000 \
		--fetch-timeout=30000 > /dev/null || die "npm could not install the packages of tests/pages/browser/package-lock.json"
	cp "$from/package-lock.json" "$to/installed.json"
}

install_packages
if [ "$want_browser" ]; then
	install_modules
fi
