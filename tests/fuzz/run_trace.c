/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on run traces: any bytes are read as a trace, as they are or behind a head that is right. Either they are
 * refused, with one line that names the file and blames the input, or they are shown, drawn for Perfetto, and compared
 * with themselves and with another trace.
 *
 * Files are memfds, opened by their names below /proc like any other.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "npulab/run_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] = "npulab-trace 2\nnpulab 0\nrun layer gemm\noption m 4\ndetail cycles\nvalues yes\n"
			   "times yes\nmachine tpu systolic int8 0\nparameter clock_hz 1e9\nevents follow\n";
static const char events[] =
	"program tpu Gemm\nc +0 matrix.busy=0 cell[0][1].sum=x\n"
	"c +7 matrix.busy=1 cell[0][1].sum=-5\nc +0 matrix.queue=3\nblock 3 fields=0 sums=7fa4129e\nof Gemm\n"
	"i read_weights weights +0 7 issue=1 weight_memory=6 weight_bytes=256\n"
	"i activate activate +1 66 issue=1 results=65 sum\ni halt issue +1 1 issue=1\n"
	"end 74 cycles:array_active=4\nlayer Gemm Gemm tpu ran macs=1024 seconds=1e-7 sum=0\n"
	"task layer tpu Gemm start=1e-7 seconds=1e-7\ntask to_host tpu Gemm bytes=4\n"
	"batch 0 cycles=74 joules:array:modelled:x=1e-9\ncomplete 12\n";

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static int make_file(const void *a, size_t n, const void *b, size_t m, char path[64])
{
	const int fd = memfd_create("trace", 0);
	require(fd >= 0 && write(fd, a, n) == (ssize_t)n && write(fd, b, m) == (ssize_t)m);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void check_refusal(int rc, const struct npl_err *err, const char *path)
{
	require(rc == NPL_EINPUT && err->code == rc && !strncmp(err->msg, path, strlen(path)) &&
		!strchr(err->msg, '\n'));
}

/* Compares two traces, of which `path` may be bad. */
static void compare(const char *path, const char *other, bool must_be_same)
{
	struct npl_trace_diff diff;
	struct npl_err err = {0};
	const int rc = npl_trace_diff(path, other, NULL, &diff, &err);
	if (rc)
		check_refusal(rc, &err, path);
	else
		require(!must_be_same || !diff.moved);
	npl_trace_diff_free(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	const struct npl_trace_choice all = {0};
	const bool whole = size && data[0] & 1;
	char path[64], good[64];
	struct npl_err err = {0};
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	require(nowhere != NULL);
	const int fd = make_file(head, whole ? 0 : sizeof head - 1, data + (size > 0), size - (size > 0), path),
		  good_fd = make_file(head, sizeof head - 1, events, sizeof events - 1, good);
	const int rc = npl_trace_show(nowhere, path, &all, &err);
	if (rc)
		check_refusal(rc, &err, path);
	const int drawn = npl_trace_export_perfetto(path, "/dev/null", &all, 64, NULL, &err);
	if (drawn)
		check_refusal(drawn, &err, path);
	compare(path, path, true);
	compare(path, good, false);
	close(fd);
	close(good_fd);
	return 0;
}
