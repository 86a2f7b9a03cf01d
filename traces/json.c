/* SPDX-License-Identifier: MIT
 *
 * Writes trace events (json.h). Traces have millions of instructions: everything goes to the output in pieces, and
 * nothing is formatted by printf but reals. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/printable.h"

static void put(const struct trace_json *json, const char *text)
{
	trace_out_put(json->out, text, strlen(text));
}

static void put_unsigned(const struct trace_json *json, uint64_t number)
{
	char digits[20];
	size_t n = 0;
	do
		digits[sizeof digits - ++n] = (char)('0' + number % 10);
	while (number /= 10);
	trace_out_put(json->out, digits + sizeof digits - n, n);
}

/* Writes a character as one or two UTF-16 units. */
static void put_escaped(const struct trace_json *json, uint32_t code)
{
	char text[16];
	if (code < 0x10000)
		snprintf(text, sizeof text, "\\u%04x", (unsigned)code);
	else
		snprintf(text, sizeof text, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
			 (unsigned)(0xdc00 + ((code - 0x10000) & 0x3ff)));
	put(json, text);
}

/* Returns how many bytes at the beginning of a text stand for themselves in JSON. */
static size_t plain_bytes(const char *text)
{
	size_t n = 0;
	while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

/* Writes a text of any bytes in quotes. A byte that is not UTF-8 becomes the character that stands for such. */
static void put_string(const struct trace_json *json, const char *text)
{
	put(json, "\"");
	while (*text) {
		const size_t plain = plain_bytes(text), length = plain ? plain : npl_utf8_length(text);
		if (plain)
			trace_out_put(json->out, text, plain);
		else if (!length)
			put(json, "\\ufffd");
		else if (*text == '"' || *text == '\\' || !npl_is_printable(npl_utf8_code(text)))
			put_escaped(json, npl_utf8_code(text));
		else
			trace_out_put(json->out, text, length);
		text += length ? length : 1;
	}
	put(json, "\"");
}

static void put_key(struct trace_json *json, const char *key)
{
	if (json->need_comma)
		put(json, ",");
	json->need_comma = true;
	put_string(json, key);
	put(json, ":");
}

/* Writes nanoseconds, which are not negative, as microseconds. */
static void put_time(struct trace_json *json, const char *key, int64_t ns)
{
	const char digits[] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10)};
	put_key(json, key);
	put_unsigned(json, (uint64_t)(ns / 1000));
	trace_out_put(json->out, digits, sizeof digits);
}

/* Begins the line of an event, up to its arguments. ns -1: it has no time. */
static void open_event(struct trace_json *json, const char *name, const char *phase, int pid, int tid, int64_t ns)
{
	put(json, json->need_comma ? ",\n{" : "\n{");
	json->need_comma = false;
	json->events++;
	trace_json_text(json, "name", name);
	trace_json_text(json, "ph", phase);
	trace_json_number(json, "pid", (uint64_t)pid);
	trace_json_number(json, "tid", (uint64_t)tid);
	if (ns >= 0)
		put_time(json, "ts", ns);
}

void trace_json_begin(struct trace_json *json, struct trace_out *out, const struct npl_trace_header *header)
{
	*json = (struct trace_json){.out = out};
	put(json, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
	trace_json_text(json, "npulab", header->version);
	trace_json_text(json, "run", header->command);
	trace_json_text(json, "of", header->argument);
	put(json, "},\"traceEvents\":[");
	json->need_comma = false;
}

void trace_json_end(struct trace_json *json)
{
	put(json, "\n]}\n");
}

/* Writes what is said of a process or a thread: its name, or its place among the others. */
static void put_metadata(struct trace_json *json, const char *what, int pid, int tid, const char *name, int order)
{
	open_event(json, what, "M", pid, tid, -1);
	trace_json_object(json, "args");
	if (name)
		trace_json_text(json, "name", name);
	else
		trace_json_number(json, "sort_index", (uint64_t)order);
	trace_json_close(json);
}

void trace_json_process(struct trace_json *json, int pid, const char *name)
{
	put_metadata(json, "process_name", pid, pid, name, 0);
	put_metadata(json, "process_sort_index", pid, pid, NULL, pid);
}

void trace_json_thread(struct trace_json *json, int pid, int tid, const char *name, int order)
{
	put_metadata(json, "thread_name", pid, tid, name, 0);
	put_metadata(json, "thread_sort_index", pid, tid, NULL, order);
}

void trace_json_slice(struct trace_json *json, int pid, int tid, const char *name, const char *category,
		      int64_t begin_ns, int64_t end_ns)
{
	open_event(json, name, "X", pid, tid, begin_ns);
	put_time(json, "dur", end_ns - begin_ns);
	trace_json_text(json, "cat", category);
	trace_json_object(json, "args");
}

void trace_json_number(struct trace_json *json, const char *key, uint64_t number)
{
	put_key(json, key);
	put_unsigned(json, number);
}

void trace_json_text(struct trace_json *json, const char *key, const char *text)
{
	put_key(json, key);
	put_string(json, text);
}

void trace_json_object(struct trace_json *json, const char *key)
{
	put_key(json, key);
	put(json, "{");
	json->need_comma = false;
}

void trace_json_close_object(struct trace_json *json)
{
	put(json, "}");
	json->need_comma = true;
}

void trace_json_close(struct trace_json *json)
{
	trace_json_close_object(json);
	trace_json_close_object(json);
}

void trace_json_counter(struct trace_json *json, int pid, const char *name, const char *series, int64_t ns,
			double value)
{
	char text[40];
	snprintf(text, sizeof text, "%.9g", isfinite(value) ? value : 0);
	open_event(json, name, "C", pid, pid, ns);
	trace_json_object(json, "args");
	put_key(json, series);
	put(json, text);
	trace_json_close(json);
}
