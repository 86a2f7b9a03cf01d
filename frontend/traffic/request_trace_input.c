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

struct request_trace_input {
	int file;
	bool is_gzip, in_member, ended;
	int errnum; /* errno when reading failed */
	z_stream zip;
	size_t begin, end;
	unsigned char raw[RAW_BYTES];
};

/* Reads on after the bytes in the buffer, so that it holds at least two unless the file ends. */
static void fill(struct request_trace_input *in)
{
	memmove(in->raw, in->raw + in->begin, in->end - in->begin);
	in->end -= in->begin;
	in->begin = 0;
	while (in->end < 2 && !in->ended) {
		ssize_t n = read(in->file, in->raw + in->end, RAW_BYTES - in->end);
		if (n < 0 && errno == EINTR)
			continue;
		in->errnum = n < 0 ? errno : 0;
		in->ended = n <= 0;
		in->end += n > 0 ? (size_t)n : 0;
	}
}

static bool has_gzip_magic(const struct request_trace_input *in)
{
	return in->end - in->begin >= 2 && in->raw[in->begin] == 0x1f && in->raw[in->begin + 1] == 0x8b;
}

int request_trace_input_open(const char *path, const char *display_path, struct request_trace_input **input,
			     struct npl_err *err)
{
	struct request_trace_input *in = calloc(1, sizeof *in);
	if (!in)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", display_path);
	in->file = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (in->file < 0) {
		npl_fail(err, NPL_EINPUT, "%s: cannot be opened: %s", display_path, strerror(errno));
		free(in);
		return err->code;
	}
	if (npl_file_reads(in->file, display_path, err)) {
		request_trace_input_close(in);
		return err->code;
	}
	fill(in);
	in->is_gzip = has_gzip_magic(in);
	if (in->errnum)
		npl_fail(err, NPL_EINPUT, "%s: cannot be read: %s", display_path, strerror(in->errnum));
	else if (in->is_gzip && inflateInit2(&in->zip, GZIP_ONLY) != Z_OK)
		npl_fail(err, NPL_ENOMEM, "%s: out of memory", display_path);
	else {
		in->in_member = in->is_gzip;
		*input = in;
		return 0;
	}
	in->is_gzip = false;
	request_trace_input_close(in);
	return err->code;
}

void request_trace_input_close(struct request_trace_input *in)
{
	if (!in)
		return;
	if (in->is_gzip)
		inflateEnd(&in->zip);
	close(in->file);
	free(in);
}

/* Skips zeros, to another byte or the end of the file. */
static void skip_zeros(struct request_trace_input *in)
{
	do {
		while (in->begin < in->end && !in->raw[in->begin])
			in->begin++;
		if (in->begin == in->end)
			fill(in);
	} while (in->begin < in->end && !in->raw[in->begin]);
}

/* Handles the end of a member: another one follows, or the file ends. */
static bool next_member(struct request_trace_input *in, const char **problem)
{
	if (in->end - in->begin < 2)
		fill(in);
	if (in->end == in->begin)
		return false;
	const bool padded = !in->raw[in->begin]; /* zeros fill the last block of a tape: nothing follows them */
	if (padded)
		skip_zeros(in);
	if (in->end == in->begin)
		return false;
	if (padded || !has_gzip_magic(in) || inflateReset(&in->zip) != Z_OK) {
		*problem = "what follows the gzip data is not gzip data";
		return false;
	}
	return in->in_member = true;
}

/* Inflates some bytes, or reaches the end of a member. */
static size_t inflate_part(struct request_trace_input *in, char *to, size_t capacity, const char **problem)
{
	if (in->begin == in->end)
		fill(in);
	in->zip.next_in = in->raw + in->begin;
	in->zip.avail_in = (uInt)(in->end - in->begin);
	in->zip.next_out = (unsigned char *)to;
	in->zip.avail_out = (uInt)capacity;
	bool starved = in->zip.avail_in == 0;
	int rc = inflate(&in->zip, Z_NO_FLUSH);
	in->begin = in->end - in->zip.avail_in;
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

void request_trace_input_read(struct request_trace_input *in, char *to, size_t capacity, size_t *n,
			      const char **problem)
{
	*n = 0;
	*problem = NULL;
	while (in->is_gzip && *n < capacity && !*problem && (in->in_member || next_member(in, problem)))
		*n += inflate_part(in, to + *n, capacity - *n, problem);
	while (!in->is_gzip && *n < capacity) {
		if (in->begin == in->end)
			fill(in);
		size_t take = in->end - in->begin < capacity - *n ? in->end - in->begin : capacity - *n;
		if (take == 0)
			break;
		memcpy(to + *n, in->raw + in->begin, take);
		in->begin += take;
		*n += take;
	}
	if (!*problem && in->errnum && *n < capacity)
		*problem = strerror(in->errnum);
}
