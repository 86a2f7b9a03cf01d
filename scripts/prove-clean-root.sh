#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Proves the README's two commands where nothing is installed: makes a bare Debian 12 root (debootstrap, variant
# minbase, and git, make and ca-certificates), clones the repository's HEAD into it and runs `make demo` and
# `make test` there as root, each in a clone of its own and each from the packages it finds, on two processors. Prints
# both times; fails when one fails or takes over ten minutes.
#
#     [MIRROR=http://...] [KEEP=1] scripts/prove-clean-root.sh
#
#   MIRROR  where Debian's packages come from; otherwise where this system has them from
#   KEEP=1  leaves the root, and says where
#
# Needs root, debootstrap and the package mirror; `make test` finds the packages that `make demo` installed, so its
# time from nothing is at most the sum. Nothing outside the root is changed.
set -eu
cd "$(dirname "$0")/.."

suite=bookworm
limit=600

die()
{
	echo "prove-clean-root: $*" >&2
	exit 1
}

[ "$(id -u)" -eq 0 ] || die "must run as root (chroot, mount)"
command -v debootstrap > /dev/null || die "there is no debootstrap (scripts/install-deps.sh prove)"
git rev-parse --quiet --verify HEAD > /dev/null || die "there is no commit to prove"
