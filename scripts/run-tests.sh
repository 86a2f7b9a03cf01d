#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the test program from the repository's root and ends with Criterion's closing line.
#
#     [FILTER='q16*/*'] [EMULATE=Nehalem] scripts/run-tests.sh FLAVOUR TEST_BINARY NPULAB_BINARY
#
# Criterion leaves three things open that are settled here: a leak or a fault in a child process does not fail a test,
# so in the flavour asan the sanitizers write logs and any log fails the run; skipped tests are not mentioned, so they
# are listed with their reasons; and a run of no tests at all succeeds, so that fails too. TEST_SECONDS limits the
# whole run (Criterion's own time limits can deadlock). EMULATE names a processor of qemu's that tests and npulab run on.
set -u

if [ $# -ne 3 ]; then
	echo "usage: run-tests.sh FLAVOUR TEST_BINARY NPULAB_BINARY" >&2
	exit 2
fi
cd "$(dirname "$0")/.." || exit 2
flavour=$1
tests=$(realpath "$2") || exit 2
NPULAB_BIN=$(realpath "$3") || exit 2
export NPULAB_BIN

logs=$(mktemp -d) || exit 2
trap 'rm -rf "$logs"' EXIT
seconds=${TEST_SECONDS:-1800}
if [ "$flavour" = asan ]; then
	seconds=${TEST_SECONDS:-3000}
	# An impossible allocation must come back as NULL, as it does without the sanitizer. The search for leaks dies in the thread-local
	# memory of libraries that were loaded on demand and have threads (oneDNN's OpenMP) if it follows __tls_get_addr.
	export ASAN_OPTIONS="log_path=$logs/sanitizer:allocator_may_return_null=1:detect_stack_use_after_return=1:exitcode=99:intercept_tls_get_addr=0"
	export UBSAN_OPTIONS="print_stacktrace=1:exitcode=99"
fi
# Without what qemu's own translation has no instructions for it would say so on standard error at each start.
if [ "${EMULATE:-}" ]; then
	emulator=$(type -P qemu-x86_64-static) || { echo "run-tests: EMULATE needs qemu-x86_64-static" >&2 && exit 2; }
	absent=''
	[ "$EMULATE" = Nehalem ] || absent=,-pcid,-x2apic,-tsc-deadline,-hle,-invpcid,-rtm
	export NPULAB_TEST_RUNNER="$emulator -cpu $EMULATE$absent"
	seconds=${TEST_SECONDS:-14400}
	unset OPENBLAS_CORETYPE DNNL_MAX_CPU_ISA # set for the processor that is here
	echo "emulated processor: $EMULATE"
fi

closing='\[====\] Synthesis: Tested: '
timeout --kill-after=10 "$seconds" "$tests" --jobs "$(nproc)" --tap="$logs/tap" ${FILTER:+--filter "$FILTER"} 2>&1 |
	tee "$logs/output" | sed -u "s/$closing.*//; /^$/d"
status=${PIPESTATUS[0]}
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
	echo "run-tests: stopped, the tests took more than $seconds seconds"
fi

# The C library's and the sanitizer's own word on an impossible allocation is no fault.
for log in "$logs"/sanitizer.*; do
	[ -e "$log" ] || continue
	if grep -qvE '^$|^==[0-9]+==WARNING: AddressSanitizer failed to allocate' "$log"; then
		cat "$log"
		status=1
	fi
done
# gcc's undefined-behaviour sanitizer writes no log.
if [ "$flavour" = asan ] && grep -q 'runtime error:' "$logs/output"; then
	echo "run-tests: undefined behaviour, see above"
	status=1
fi

skips=$(sed -n 's/^ok - \(.*[^ ]\) *# SKIP \(.*\)$/\1: \2/p' "$logs/tap" 2> /dev/null | sort)
if [ "${FILTER:-}" ]; then
	skips=$(grep -v ': test was skipped$' <<< "$skips")
fi
if [ "$skips" ]; then
	echo "skipped: $(wc -l <<< "$skips")"
	while read -r line; do
		echo "  $line"
	done <<< "$skips"
fi

line=$(grep -o "$closing.*[^ ]" "$logs/output" | tail -n 1)
if ! [[ $line =~ Tested:\ [1-9] ]]; then
	echo "run-tests: nothing was tested, or the tests ended without their last line (exit status $status)"
	[ "$status" -ne 0 ] || status=1
elif [ "$status" -ne 0 ] && [[ $line == *"Failing: 0 | Crashing: 0"* ]]; then
	echo "run-tests: failed, though no test did"
fi
echo "$line"
exit "$status"
