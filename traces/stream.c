/* SPDX-License-Identifier: MIT
 *
 * The bytes of a trace file (stream.h). */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "core/base/refuse.h"
#include "core/files/file.h"
#include "core/files/path.h"

/* A window of 1 MiB finds the repeats of loops; a reader refuses files that need more than 8 MiB. */
enum { TEXT_BYTES = 1 << 18, LEVEL = 3, WINDOW_LOG = 20, MAX_WINDOW_LOG = 23, GZIP_LEVEL = 4, STREAM_BYTES = 1 << 16 };

struct trace_out {
	char *path; /* NULL: it stays without a name */
	int file;
	int errnum;         /* of the first write that failed */
	bool is_too_long;   /* a line was */
	ZSTD_CCtx *context; /* NULL: the file is not compressed by zstd */
	z_stream *gzip;     /* NULL: the file is not compressed by gzip */
	uint64_t lines;     /* that have been written */
	uint64_t bytes;     /* of the finished file */
	size_t n;           /* bytes of text that wait */
	char text[TEXT_BYTES], packed[TEXT_BYTES];
};

/* Returns what messages call an output. */
static const char *name_of(const struct trace_out *out)
{
	return out->path ? out->path : "the trace";
}

/* Returns the folder of temporary files. */
static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");
	return folder && *folder ? folder : "/tmp";
}

/* Opens a file without a name, in the folder of temporary files. Returns -1 with errno. */
static int open_nameless(void)
{
	const char *folder = temporary_folder();
	char name[4096];
	int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return file;
	if ((size_t)snprintf(name, sizeof name, "%s/npulab-trace-XXXXXX", folder) >= sizeof name) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* Signals wait, so that none ends the program between the two calls and leaves the file. */
	sigset_t all_signals, former_mask;
	sigfillset(&all_signals);
	pthread_sigmask(SIG_SETMASK, &all_signals, &former_mask);
	file = mkostemp(name, O_CLOEXEC);
	if (file >= 0)
		unlink(name);
	pthread_sigmask(SIG_SETMASK, &former_mask, NULL);
	return file;
}

int trace_out_open(const char *path, struct trace_out **opened, struct npl_err *err)
{
	struct trace_out *out = calloc(1, sizeof *out);
	*opened = NULL;
	if (!out || (path && !(out->path = strdup(path)))) {
		free(out);
		return npl_no_memory(err);
	}
	out->file = open_nameless();
	if (out->file < 0) {
		const int errnum = errno;
		npl_fail(err, NPL_EOUTPUT,
			 "%s: no temporary file can be made for it in %s: %s; TMPDIR names another folder",
			 name_of(out), temporary_folder(), strerror(errnum));
		trace_out_close(out);
		return NPL_EOUTPUT;
	}
	if (path && npl_path_ends_in(path, ".zst")) {
		out->context = ZSTD_createCCtx();
		if (!out->context ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(out->context, ZSTD_c_compressionLevel, LEVEL)) ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(out->context, ZSTD_c_windowLog, WINDOW_LOG)) ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(out->context, ZSTD_c_checksumFlag, 1))) {
			trace_out_close(out);
			return npl_no_memory(err);
		}
	}
	*opened = out;
	return 0;
}

int trace_out_gzip(struct trace_out *out, struct npl_err *err)
{
	enum { GZIP = 16 + MAX_WBITS, MEMORY_LEVEL = 8 };
	z_stream *gzip = calloc(1, sizeof *gzip);
	if (!gzip || deflateInit2(gzip, GZIP_LEVEL, Z_DEFLATED, GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return npl_no_memory(err);
	}
	out->gzip = gzip;
	return 0;
}

static void write_all(struct trace_out *out, const char *data, size_t bytes)
{
	while (bytes && !out->errnum) {
		const ssize_t n = write(out->file, data, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			out->errnum = n < 0 ? errno : ENOSPC;
		else
			data += n, bytes -= (size_t)n;
	}
}

static uint64_t count_lines(const char *text, size_t bytes)
{
	uint64_t n = 0;
	for (const char *at = text; bytes && (at = memchr(at, '\n', bytes - (size_t)(at - text))); n++)
		if ((size_t)(++at - text) == bytes)
			return n + 1;
	return n;
}

/* Compresses the text that waits by gzip, and writes it. */
static void flush_gzip(struct trace_out *out, bool end)
{
	z_stream *gzip = out->gzip;
	gzip->next_in = (unsigned char *)out->text;
	gzip->avail_in = (uInt)out->n;
	do {
		gzip->next_out = (unsigned char *)out->packed;
		gzip->avail_out = sizeof out->packed;
		if (deflate(gzip, end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
			out->errnum = EINVAL;
		write_all(out, out->packed, sizeof out->packed - gzip->avail_out);
	} while (!gzip->avail_out && !out->errnum);
}

/* Writes the text that waits; `end`: no more follows. */
static void flush(struct trace_out *out, bool end)
{
	ZSTD_inBuffer from = {out->text, out->n, 0};
	size_t left = 1;
	out->lines += count_lines(out->text, out->n);
	if (out->gzip)
		flush_gzip(out, end);
	else if (!out->context)
		write_all(out, out->text, out->n);
	while (out->context && !out->errnum && (from.pos < from.size || (end && left))) {
		ZSTD_outBuffer to = {out->packed, sizeof out->packed, 0};
		left = ZSTD_compressStream2(out->context, &to, &from, end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			out->errnum = ENOMEM;
		else
			write_all(out, out->packed, to.pos);
	}
	out->n = 0;
}

void trace_out_put(struct trace_out *out, const char *text, size_t bytes)
{
	while (bytes) {
		const size_t room = sizeof out->text - out->n, n = bytes < room ? bytes : room;
		memcpy(out->text + out->n, text, n);
		out->n += n;
		text += n;
		bytes -= n;
		if (out->n == sizeof out->text)
			flush(out, false);
	}
}

static ssize_t write_stream(void *cookie, const char *text, size_t bytes)
{
	trace_out_put(cookie, text, bytes);
	return (ssize_t)bytes;
}

FILE *trace_out_stream(struct trace_out *out)
{
	FILE *stream = fopencookie(out, "w", (cookie_io_functions_t){.write = write_stream});
	if (stream)
		setvbuf(stream, NULL, _IOFBF, STREAM_BYTES);
	return stream;
}

void trace_out_too_long(struct trace_out *out)
{
	out->is_too_long = true;
}

int trace_out_finish(struct trace_out *out, struct npl_err *err)
{
	struct stat status;
	flush(out, true);
	if (out->is_too_long)
		return npl_fail(err, NPL_EOUTPUT,
				"%s: a line of it would have %d bytes or more, for a name or a reason", name_of(out),
				TRACE_LINE);
	if (!out->errnum && fstat(out->file, &status))
		out->errnum = errno;
	if (out->errnum)
		return npl_fail(err, NPL_EOUTPUT, "%s: its temporary file cannot be written: %s", name_of(out),
				strerror(out->errnum));
	out->bytes = (uint64_t)status.st_size;
	if (!out->path)
		return 0;
	const size_t bytes = (size_t)status.st_size;
	void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, out->file, 0);
	if (data == MAP_FAILED)
		return npl_fail(err, NPL_EOUTPUT, "%s: its temporary file cannot be read: %s", out->path,
				strerror(errno));
	const int rc = npl_file_write(out->path, &(struct npl_file_piece){data, bytes}, 1, err);
	munmap(data, bytes);
	return rc;
}

uint64_t trace_out_lines(const struct trace_out *out)
{
	return out->lines + count_lines(out->text, out->n);
}

uint64_t trace_out_bytes(const struct trace_out *out)
{
	return out->bytes;
}

int trace_out_save(const struct trace_out *out, const char *path, struct npl_err *err)
{
	struct trace_out *saved;
	if (trace_out_open(path, &saved, err))
		return err->code;
	int rc = 0;
	for (off_t at = 0; !rc && (uint64_t)at < out->bytes;) {
		const ssize_t n = pread(out->file, saved->text, sizeof saved->text, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			rc = npl_fail(err, NPL_EOUTPUT, "%s: its temporary file cannot be read: %s", path,
				      n ? strerror(errno) : "it is cut off");
		saved->n = n > 0 ? (size_t)n : 0;
		at += n > 0 ? n : 0;
		flush(saved, false);
	}
	if (!rc)
		rc = trace_out_finish(saved, err);
	trace_out_close(saved);
	return rc;
}

void trace_out_close(struct trace_out *out)
{
	if (!out)
		return;
	if (out->file >= 0)
		close(out->file);
	ZSTD_freeCCtx(out->context);
	if (out->gzip)
		deflateEnd(out->gzip);
	free(out->gzip);
	free(out->path);
	free(out);
}

struct trace_in {
	char *path;
	int file;
	bool ended; /* the file has no further bytes */
	uint64_t number;
	ZSTD_DCtx *context; /* NULL: the file is not compressed */
	bool in_frame;      /* a frame of the compressed file has begun and not ended */
	ZSTD_inBuffer packed;
	size_t begin, end; /* of the text that has not been read */
	char raw[TEXT_BYTES], text[TEXT_BYTES + 1];
};

static int fail_reading(const struct trace_in *in, const char *why, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "%s: cannot be read: %s", in->path, why);
}

/* Reads bytes of the file into `to`. *n 0: it ends. */
static int read_some(struct trace_in *in, char *to, size_t capacity, size_t *n, struct npl_err *err)
{
	ssize_t got;
	do
		got = read(in->file, to, capacity);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return fail_reading(in, strerror(errno), err);
	in->ended = !got;
	*n = (size_t)got;
	return 0;
}

/* Makes an input of an open file, which is closed with it. file -1: it could not be opened, for the reason errnum. */
static int open_file(const char *path, int file, int errnum, struct trace_in **opened, struct npl_err *err)
{
	static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	struct trace_in *in = calloc(1, sizeof *in);
	size_t n = 1;
	*opened = NULL;
	if (!in || !(in->path = strdup(path))) {
		if (file >= 0)
			close(file);
		free(in);
		return npl_no_memory(err);
	}
	in->file = file;
	int rc = file < 0 ? npl_fail(err, NPL_EINPUT, "%s: cannot be opened: %s", path, strerror(errnum))
			  : npl_file_reads(file, path, err);
	for (size_t have = 0; !rc && n && have < sizeof magic; have += n) {
		rc = read_some(in, in->raw + have, sizeof in->raw - have, &n, err);
		in->packed.size = have + n;
	}
	if (!rc && in->packed.size >= sizeof magic && !memcmp(in->raw, magic, sizeof magic)) {
		in->context = ZSTD_createDCtx();
		in->packed.src = in->raw;
		if (!in->context ||
		    ZSTD_isError(ZSTD_DCtx_setParameter(in->context, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)))
			rc = npl_no_memory(err);
	} else if (!rc) {
		memcpy(in->text, in->raw, in->packed.size);
		in->end = in->packed.size;
	}
	if (rc)
		trace_in_close(in);
	else
		*opened = in;
	return rc;
}

int trace_in_open(const char *path, struct trace_in **opened, struct npl_err *err)
{
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	return open_file(path, file, errno, opened, err);
}

int trace_in_open_once(const char *path, struct trace_in **opened, struct npl_err *err)
{
	if (strcmp(path, "-") != 0)
		return trace_in_open(path, opened, err);
	const int file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	return open_file("standard input", file, errno, opened, err);
}

int trace_in_of(const struct trace_out *out, const char *name, struct trace_in **opened, struct npl_err *err)
{
	const int file = fcntl(out->file, F_DUPFD_CLOEXEC, 0);
	const int errnum = file >= 0 && lseek(file, 0, SEEK_SET) < 0 ? EIO : errno;
	return open_file(name, file, errnum, opened, err);
}

void trace_in_close(struct trace_in *in)
{
	if (!in)
		return;
	if (in->file >= 0)
		close(in->file);
	ZSTD_freeDCtx(in->context);
	free(in->path);
	free(in);
}

/* Decompresses some text behind the text that has not been read. */
static int unpack(struct trace_in *in, struct npl_err *err)
{
	ZSTD_outBuffer to = {in->text, TEXT_BYTES, in->end};
	for (;;) {
		/* Within a frame there may be text for which no further bytes are needed. */
		if (in->in_frame || in->packed.pos < in->packed.size) {
			const size_t left = ZSTD_decompressStream(in->context, &to, &in->packed);
			if (ZSTD_isError(left))
				return fail_reading(in, ZSTD_getErrorName(left), err);
			in->in_frame = left != 0;
		}
		if (to.pos > in->end)
			break;
		if (in->packed.pos < in->packed.size)
			continue;
		in->packed.pos = 0;
		if (read_some(in, in->raw, sizeof in->raw, &in->packed.size, err))
			return err->code;
		if (!in->packed.size)
			return in->in_frame ? fail_reading(in, "the compressed data is cut off", err) : 0;
	}
	in->end = to.pos;
	return 0;
}

/* Gets more text. It must not end within a line that fills all the room. */
static int fill(struct trace_in *in, struct npl_err *err)
{
	size_t n = 0;
	memmove(in->text, in->text + in->begin, in->end - in->begin);
	in->end -= in->begin;
	in->begin = 0;
	if (in->context)
		return unpack(in, err);
	if (read_some(in, in->text + in->end, TEXT_BYTES - in->end, &n, err))
		return err->code;
	in->end += n;
	return 0;
}

int trace_in_line(struct trace_in *in, char **line, size_t *bytes, struct npl_err *err)
{
	size_t searched = 0;
	char *newline = NULL;
	*line = NULL;
	while (!(newline = memchr(in->text + in->begin + searched, '\n', in->end - in->begin - searched))) {
		searched = in->end - in->begin;
		if (searched >= TRACE_LINE)
			break;
		if (!in->ended && fill(in, err))
			return err->code;
		if (in->ended && searched == in->end - in->begin)
			break;
	}
	if (!newline && in->begin == in->end)
		return 0;
	in->number++;
	if (!newline)
		return npl_fail(err, NPL_EINPUT, "%s:%llu: %s", in->path, (unsigned long long)in->number,
				searched >= TRACE_LINE ? "the line is longer than any of a trace"
						       : "the file ends within the line");
	*line = in->text + in->begin;
	*bytes = (size_t)(newline - *line);
	*newline = '\0';
	in->begin += *bytes + 1;
	if (*bytes >= TRACE_LINE || memchr(*line, '\0', *bytes))
		return npl_fail(err, NPL_EINPUT, "%s:%llu: %s", in->path, (unsigned long long)in->number,
				*bytes >= TRACE_LINE ? "the line is longer than any of a trace"
						     : "a zero byte, expected text");
	return 0;
}

uint64_t trace_in_number(const struct trace_in *in)
{
	return in->number;
}

const char *trace_in_path(const struct trace_in *in)
{
	return in->path;
}
