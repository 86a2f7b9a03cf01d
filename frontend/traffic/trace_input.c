/* SPDX-License-Identifier: MIT
 *
 * The bytes of a trace, piece by piece: those of a plain file as they are, those of a gzip file (RFC 1952, of one or
 * more members) inflated. The first two bytes show which it is. The memory needed does not depend on the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "core/files/file.h"
#include "traffic_impl.h"

enum { RAW_BYTES = 1 << 16, GZIP_ONLY = 16 + MAX_WBITS };

struct trace_input {
	int file;
	bool is_gzip, in_member, ended;
	int errnum; /* errno when reading failed */
	z_stream zip;
	size_t at, have;
	unsigned char raw[RAW_BYTES];
};

/* Reads on after the bytes in the buffer, so that it holds at least two unless the file ends. */
static void fill(struct trace_input *in)
{
	memmove(in->raw, in->raw + in->at, in->have - in->at);
	in->have -= in->at;
	in->at = 0;
	while (in->have < 2 && !in->ended) {
		ssize_t n = read(in->file, in->raw + in->have, RAW_BYTES - in->have);
		if (n < 0 && errno == EINTR)
			continue;
		in->errnum = n < 0 ? errno : 0;
		in->ended = n <= 0;
		in->have += n > 0 ? (size_t)n : 0;
	}
}

static bool at_magic(const struct trace_input *in)
{
	return in->have - in->at >= 2 && in->raw[in->at] == 0x1f && in->raw[in->at + 1] == 0x8b;
}

int trace_input_open(const char *path, const char *shown, struct trace_input **input, struct npl_err *err)
{
	struct trace_input *in = calloc(1, sizeof *in);
	if (!in)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", shown);
	in->file = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (in->file < 0) {
		npl_fail(err, NPL_EINPUT, "%s: cannot be opened: %s", shown, strerror(errno));
		free(in);
		return err->code;
	}
	if (npl_file_reads(in->file, shown, err)) {
		trace_input_close(in);
		return err->code;
	}
	fill(in);
	in->is_gzip = at_magic(in);
	if (in->errnum)
		npl_fail(err, NPL_EINPUT, "%s: cannot be read: %s", shown, strerror(in->errnum));
	else if (in->is_gzip && inflateInit2(&in->zip, GZIP_ONLY) != Z_OK)
		npl_fail(err, NPL_ENOMEM, "%s: out of memory", shown);
	else {
		in->in_member = in->is_gzip;
		*input = in;
		return 0;
	}
	in->is_gzip = false;
	trace_input_close(in);
	return err->code;
}

void trace_input_close(struct trace_input *in)
{
	if (!in)
		return;
	if (in->is_gzip)
		inflateEnd(&in->zip);
	close(in->file);
	free(in);
}

/* Skips zeros, to another byte or the end of the file. */
static void skip_zeros(struct trace_input *in)
{
	do {
		while (in->at < in->have && !in->raw[in->at])
			in->at++;
		if (in->at == in->have)
			fill(in);
	} while (in->at < in->have && !in->raw[in->at]);
}

/* Handles the end of a member: another one follows, or the file ends. */
static bool next_member(struct trace_input *in, const char **problem)
{
	if (in->have - in->at < 2)
		fill(in);
	if (in->have == in->at)
		return false;
	const bool padded = !in->raw[in->at]; /* zeros fill the last block of a tape: nothing follows them */
	if (padded)
		skip_zeros(in);
	if (in->have == in->at)
		return false;
	if (padded || !at_magic(in) || inflateReset(&in->zip) != Z_OK) {
		*problem = "what follows the gzip data is no gzip data";
		return false;
	}
	return in->in_member = true;
}

/* Inflates some bytes, or reaches the end of a member. */
static size_t inflate_some(struct trace_input *in, char *to, size_t capacity, const char **problem)
{
	if (in->at == in->have)
		fill(in);
	in->zip.next_in = in->raw + in->at;
	in->zip.avail_in = (uInt)(in->have - in->at);
	in->zip.next_out = (unsigned char *)to;
	in->zip.avail_out = (uInt)capacity;
	bool starved = in->zip.avail_in == 0;
	int rc = inflate(&in->zip, Z_NO_FLUSH);
	in->at = in->have - in->zip.avail_in;
	if (rc == Z_STREAM_END)
		in->in_member = false;
	else if (rc == Z_MEM_ERROR)
		*problem = "out of memory";
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		*problem = "the gzip data are damaged";
	else if (starved && in->zip.avail_out)
		*problem = in->errnum ? strerror(in->errnum) : "the gzip data end in the middle";
	return capacity - in->zip.avail_out;
}

void trace_input_read(struct trace_input *in, char *to, size_t capacity, size_t *n, const char **problem)
{
	*n = 0;
	*problem = NULL;
	while (in->is_gzip && *n < capacity && !*problem && (in->in_member || next_member(in, problem)))
		*n += inflate_some(in, to + *n, capacity - *n, problem);
	while (!in->is_gzip && *n < capacity) {
		if (in->at == in->have)
			fill(in);
		size_t take = in->have - in->at < capacity - *n ? in->have - in->at : capacity - *n;
		if (take == 0)
			break;
		memcpy(to + *n, in->raw + in->at, take);
		in->at += take;
		*n += take;
	}
	if (!*problem && in->errnum && *n < capacity)
		*problem = strerror(in->errnum);
}
