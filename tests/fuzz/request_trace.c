/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on traces of memory requests: any bytes are read as a trace, as they are and compressed. Either they are
 * refused, with one line that names the file and blames the input, or they give requests within the memory at cycles
 * that do not go down; compressed they give the same, requests and refusal; and the requests written out as a trace
 * read back. What looks compressed goes through the decompressor as it is.
 *
 * Files are memfds, opened by their names below /proc like any other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "npulab/traffic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_REQUESTS = 1 << 16 };

static const struct npl_memory_info memory = {.name = "m", .access_bytes = 64, .capacity_bytes = UINT64_C(3) << 30};

struct read {
	int rc, n;
	struct npl_traffic_request request[MAX_REQUESTS];
	char said[sizeof((struct npl_err *)0)->msg]; /* without the path */
};

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void make_file(const void *data, size_t size, char path[64], int *fd)
{
	*fd = memfd_create("trace", 0);
	require(*fd >= 0 && write(*fd, data, size) == (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", *fd);
}

static void read_trace(const void *data, size_t size, int capacity, struct read *all)
{
	struct npl_traffic *traffic = NULL;
	struct npl_err err = {0};
	char path[64];
	int fd, n = 1;
	make_file(data, size, path, &fd);
	all->n = 0;
	all->rc = npl_traffic_open_trace(path, &memory, &traffic, &err);
	require(!all->rc == !!traffic);
	while (!all->rc && n && all->n + capacity <= MAX_REQUESTS) {
		all->rc = npl_traffic_next(traffic, false, all->request + all->n, capacity, &n, &err);
		all->n += all->rc ? 0 : n;
	}
	if (all->rc) {
		require(all->rc == NPL_EINPUT && err.code == all->rc && !strncmp(err.msg, path, strlen(path)));
		require(!strchr(err.msg, '\n'));
		snprintf(all->said, sizeof all->said, "%s", err.msg + strlen(path));
	} else
		require(all->n > 0);
	npl_traffic_close(traffic);
	close(fd);
}

static void check_requests(const struct read *all)
{
	uint64_t cycle = 0;
	for (int i = 0; i < all->n; i++) {
		const struct npl_traffic_request *r = &all->request[i];
		require(r->address % 64 == 0 && r->address <= memory.capacity_bytes - 64);
		require(r->cycle >= cycle && r->cycle <= NPL_TRACE_MAX_CYCLE);
		cycle = r->cycle;
	}
}

static void check_same(const struct read *a, const struct read *b)
{
	require(a->n == b->n);
	for (int i = 0; i < a->n; i++)
		require(a->request[i].address == b->request[i].address && a->request[i].cycle == b->request[i].cycle &&
			a->request[i].is_write == b->request[i].is_write);
}

static void check_compressed(const uint8_t *data, size_t size, const struct read *plain, struct read *again)
{
	z_stream zip = {0};
	require(deflateInit2(&zip, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	size_t maximum = deflateBound(&zip, size);
	unsigned char *packed = malloc(maximum);
	require(packed != NULL);
	zip.next_in = (unsigned char *)(uintptr_t)data;
	zip.avail_in = (uInt)size;
	zip.next_out = packed;
	zip.avail_out = (uInt)maximum;
	require(deflate(&zip, Z_FINISH) == Z_STREAM_END);
	read_trace(packed, maximum - zip.avail_out, 256, again);
	require(plain->rc == again->rc && (!plain->rc || !strcmp(plain->said, again->said)));
	if (!plain->rc)
		check_same(plain, again);
	deflateEnd(&zip);
	free(packed);
}

static void check_written_out(const struct read *all, struct read *again)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	require(out != NULL);
	for (int i = 0; i < all->n; i++)
		fprintf(out, "0x%llx %s %llu\n", (unsigned long long)all->request[i].address,
			all->request[i].is_write ? "WRITE" : "READ", (unsigned long long)all->request[i].cycle);
	require(fclose(out) == 0);
	read_trace(text, bytes, 1 + all->n % 255, again);
	require(!again->rc);
	check_same(all, again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct read all, again;
	const bool looks_compressed = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
	read_trace(data, size, 256, &all);
	check_requests(&all);
	if (!looks_compressed)
		check_compressed(data, size, &all, &again);
	if (!all.rc)
		check_written_out(&all, &again);
	return 0;
}
