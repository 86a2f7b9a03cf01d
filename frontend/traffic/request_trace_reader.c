/* SPDX-License-Identifier: MIT
 *
 * The requests of a trace, line by line (npulab/traffic.h describes the form). Errors name the line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/words.h"
#include "traffic_impl.h"

enum { BUFFER_BYTES = 1 << 16, SHOWN = 40 /* characters of a bad line in a message */ };

struct request_trace {
	const char *path;
	struct request_trace_input *input;
	const char *problem; /* an error of reading, which comes after the bytes in the buffer */
	bool ended;
	uint64_t line, requests, last_cycle;
	uint64_t access_bytes, capacity_bytes;
	size_t begin, end;
	char buffer[BUFFER_BYTES];
};

struct word {
	const char *text;
	size_t length;
};

int request_trace_open(const char *path, const struct npl_memory_info *memory, struct request_trace **trace,
		       struct npl_err *err)
{
	struct request_trace *t = calloc(1, sizeof *t);
	const char *display_path = strcmp(path, "-") ? path : "standard input";
	char *copy = strdup(display_path);
	if (!t || !copy) {
		free(t);
		free(copy);
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", display_path);
	}
	t->path = copy;
	t->access_bytes = traffic_access_bytes(memory);
	t->capacity_bytes = memory->capacity_bytes;
	if (request_trace_input_open(path, display_path, &t->input, err)) {
		request_trace_close(t);
		return err->code;
	}
	*trace = t;
	return 0;
}

void request_trace_close(struct request_trace *t)
{
	if (!t)
		return;
	request_trace_input_close(t->input);
	free((char *)t->path);
	free(t);
}

static int no_request(const struct request_trace *t, const char *message, struct word word, struct npl_err *err)
{
	int shown_length = word.length < SHOWN ? (int)word.length : SHOWN;
	return npl_fail(err, NPL_EINPUT, "%s:%" PRIu64 ": %s '%.*s%s', expected '0xADDRESS READ|WRITE CYCLE'", t->path,
			t->line, message, shown_length, word.text, word.length > SHOWN ? "..." : "");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the next word and moves *cursor to its end. The word is empty at the end of the line or before a comment. */
static struct word next_word(const char **cursor, const char *end)
{
	struct word word;
	while (*cursor < end && is_blank(**cursor))
		++*cursor;
	word.text = *cursor;
	while (*cursor < end && !is_blank(**cursor) && **cursor != '#')
		++*cursor;
	word.length = (size_t)(*cursor - word.text);
	return word;
}

/* One more than the digit's value; 0: not a digit. */
static const unsigned char digit_of[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Reads 0x and hexadecimal digits. A number that does not fit into 64 bits is UINT64_MAX, beyond every memory. */
static bool read_address(struct word word, uint64_t *address)
{
	uint64_t value = 0;
	bool too_large = false;
	if (word.length < 3 || word.text[0] != '0' || (word.text[1] != 'x' && word.text[1] != 'X'))
		return false;
	for (size_t i = 2; i < word.length; i++) {
		const unsigned digit = digit_of[(unsigned char)word.text[i]];
		if (!digit)
			return false;
		too_large |= value >> 60 != 0;
		value = value << 4 | (digit - 1);
	}
	*address = too_large ? UINT64_MAX : value;
	return true;
}

static bool read_cycle(struct word word, uint64_t *cycle)
{
	uint64_t value = 0;
	for (size_t i = 0; i < word.length; i++) {
		if (word.text[i] < '0' || word.text[i] > '9')
			return false;
		value = 10 * value + (unsigned)(word.text[i] - '0');
		if (value > NPL_TRACE_MAX_CYCLE)
			return false;
	}
	*cycle = value;
	return word.length > 0;
}

static bool read_direction(struct word word, bool *is_write)
{
	*is_write = word.length == 5;
	if (*is_write)
		return !memcmp(word.text, "WRITE", 5) || !memcmp(word.text, "write", 5);
	return word.length == 4 && (!memcmp(word.text, "READ", 4) || !memcmp(word.text, "read", 4));
}

static int read_request(struct request_trace *t, const char *cursor, const char *end, bool any_order, bool *has_request,
			struct npl_traffic_request *request, struct npl_err *err)
{
	if (memchr(cursor, 0, (size_t)(end - cursor)))
		return npl_fail(err, NPL_EINPUT, "%s:%" PRIu64 ": a byte of value 0, expected text", t->path, t->line);
	struct word address = next_word(&cursor, end);
	*has_request = address.length > 0;
	if (!*has_request)
		return 0;
	struct word direction = next_word(&cursor, end), cycle = next_word(&cursor, end),
		    more = next_word(&cursor, end);
	if (!read_address(address, &request->address))
		return no_request(t, "the address is", address, err);
	if (!read_direction(direction, &request->is_write))
		return no_request(t, "the operation is", direction, err);
	if (!cycle.length)
		return no_request(t, "there is no cycle after", direction, err);
	if (!read_cycle(cycle, &request->cycle))
		return npl_fail(err, NPL_EINPUT,
				"%s:%" PRIu64 ": the cycle is '%.*s', expected a whole number from 0 to %" PRIu64,
				t->path, t->line, cycle.length < SHOWN ? (int)cycle.length : SHOWN, cycle.text,
				NPL_TRACE_MAX_CYCLE);
	if (more.length)
		return no_request(t, "after the cycle comes", more, err);
	const uint64_t mask = t->access_bytes - 1;
	request->address -= t->access_bytes & mask ? request->address % t->access_bytes : request->address & mask;
	if (request->address >= t->capacity_bytes || t->capacity_bytes - request->address < t->access_bytes)
		return npl_fail(err, NPL_EINPUT,
				"%s:%" PRIu64 ": address %.*s is beyond the memory, expected less than 0x%" PRIx64,
				t->path, t->line, (int)address.length, address.text,
				t->capacity_bytes - t->capacity_bytes % t->access_bytes);
	if (request->cycle < t->last_cycle && !any_order)
		return npl_fail(err, NPL_EINPUT,
				"%s:%" PRIu64 ": cycle %" PRIu64 " after cycle %" PRIu64
				", expected cycles that do not go down",
				t->path, t->line, request->cycle, t->last_cycle);
	t->last_cycle = request->cycle;
	return 0;
}

static void fill(struct request_trace *t)
{
	size_t n;
	memmove(t->buffer, t->buffer + t->begin, t->end - t->begin);
	t->end -= t->begin;
	t->begin = 0;
	request_trace_input_read(t->input, t->buffer + t->end, BUFFER_BYTES - t->end, &n, &t->problem);
	t->end += n;
	t->ended = t->problem || t->end < BUFFER_BYTES;
	if (!t->line)
		t->begin = npl_byte_order_mark(t->buffer, t->end);
}

/* Finds the next line; *begin is NULL at the end. */
static int next_line(struct request_trace *t, const char **begin, const char **end, struct npl_err *err)
{
	*end = memchr(t->buffer + t->begin, '\n', t->end - t->begin);
	if (!*end && !t->ended) {
		fill(t);
		*end = memchr(t->buffer, '\n', t->end);
	}
	*begin = t->buffer + t->begin;
	if (!*end && t->problem)
		return npl_fail(err, NPL_EINPUT, "%s:%" PRIu64 ": cannot be read on: %s", t->path, t->line + 1,
				t->problem);
	const bool is_last = !*end;
	*end = is_last ? t->buffer + t->end : *end;
	if (*end - *begin > NPL_TRACE_LINE)
		return npl_fail(err, NPL_EINPUT, "%s:%" PRIu64 ": the line is too long, expected at most %d bytes",
				t->path, t->line + 1, NPL_TRACE_LINE);
	if (is_last && *begin == *end)
		*begin = NULL;
	else
		t->line++;
	t->begin = (size_t)(*end - t->buffer) + !is_last;
	return 0;
}

int request_trace_next(struct request_trace *t, bool any_order, struct npl_traffic_request *request, int capacity,
		       int *n, struct npl_err *err)
{
	for (*n = 0; *n < capacity;) {
		const char *begin, *end;
		bool found;
		if (next_line(t, &begin, &end, err))
			return err->code;
		if (!begin)
			break;
		if (read_request(t, begin, end, any_order, &found, &request[*n], err))
			return err->code;
		*n += found;
	}
	t->requests += (uint64_t)*n;
	if (!t->requests)
		return npl_fail(err, NPL_EINPUT,
				"%s: there is no request in it, expected lines '0xADDRESS READ|WRITE CYCLE'", t->path);
	return 0;
}
