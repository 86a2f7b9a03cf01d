#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Proves the README's two commands where nothing is installed. Makes a bare Debian 12 root (debootstrap, variant
# minbase, with git, make and ca-certificates), and in a fresh copy of it for each command clones the repository's
# HEAD and runs `make demo` or `make test` as root on two processors. Prints both times; fails when a command fails
# or takes over ten minutes.
#
#     [MIRROR=http://...] [KEEP=1] scripts/prove-clean-root.sh [demo] [test]
#
#   MIRROR  where Debian's packages come from; otherwise where this system has them from
#   KEEP=1  leaves the roots, and says where (they take about 3 GB below TMPDIR or /var/tmp)
#
# Needs root, debootstrap and the mirror. Nothing outside the roots is changed: their mounts live in a mount namespace
# of their own and end with it.
set -eu
cd "$(dirname "$0")/.."

suite=bookworm
limit_seconds=600
export PATH=$PATH:/usr/sbin:/sbin

die()
{
	echo "prove-clean-root: $*" >&2
	exit 1
}

[ "$(id -u)" -eq 0 ] || die "must run as root (chroot, mount)"
type debootstrap > /dev/null 2>&1 || die "there is no debootstrap (scripts/install-deps.sh prove)"
git rev-parse --quiet --verify HEAD > /dev/null || die "there is no commit to prove"

mirror=${MIRROR:-}
if [ -z "$mirror" ] && type apt-get > /dev/null 2>&1; then
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" 'Component: main' | head -n 1)
fi
mirror=${mirror:-http://deb.debian.org/debian}

dir=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
if [ "${KEEP:-}" ]; then
	echo "prove-clean-root: the roots stay in $dir"
else
	trap 'rm -rf --one-file-system "$dir"' EXIT
fi

make_base()
{
	local log=$dir/debootstrap.log
	echo "prove-clean-root: debootstrap"
	debootstrap --variant=minbase --include=git,make,ca-certificates $suite "$dir/base" "$mirror" > "$log" 2>&1 || {
		tail -n 20 "$log"
		die "debootstrap failed"
	}
	# How to reach the network and the mirror is this system's affair; the packages are not.
	cp -L /etc/resolv.conf /etc/hosts "$dir/base/etc/"
	if type apt-config > /dev/null 2>&1; then
		apt-config dump | grep -E '^Acquire::(Check-|Retries|[a-z]+::(Proxy|Timeout))' > "$dir/base/etc/apt/apt.conf.d/99host" || :
	fi
	git clone --quiet --bare . "$dir/base/npulab.git"
}

# Runs a shell command in a root, with nothing of this environment but the proxies.
in_root()
{
	local root=$1 name
	local environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
	for name in http_proxy https_proxy no_proxy; do
		[ -z "${!name:-}" ] || environment+=("$name=${!name}")
	done
	local two=()
	[ "$(nproc)" -le 2 ] || two=(taskset --cpu-list "0,1")
	# shellcheck disable=SC2016
	"${two[@]}" unshare --mount --propagation private bash -euc '
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		exec chroot "$1" env -i "${@:3}" bash -euc "$2"' - "$root" "$2" "${environment[@]}"
}

prove()
{
	local what=$1 root=$dir/$1 started seconds status=0
	cp -a "$dir/base" "$root"
	in_root "$root" 'git clone --quiet /npulab.git /root/npulab; dpkg-query -W | wc -l | sed "s/$/ packages installed/"'
	echo "prove-clean-root: make $what"
	started=$SECONDS
	in_root "$root" "cd /root/npulab && make $what" || status=$?
	seconds=$((SECONDS - started))
	if [ $status -ne 0 ]; then
		verdict+=("make $what: failed with status $status after $seconds s")
	elif [ $seconds -gt $limit_seconds ]; then
		verdict+=("make $what: $seconds s, expected at most $limit_seconds s")
	else
		verdict+=("make $what: $seconds s")
		return 0
	fi
	failed=1
}

[ $# -gt 0 ] || set -- demo test
verdict=()
failed=0
make_base
for what; do
	prove "$what"
done
echo "prove-clean-root: $(git rev-parse --short=12 HEAD) in a bare Debian $suite"
printf '  %s\n' "${verdict[@]}"
exit $failed
