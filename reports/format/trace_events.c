/* SPDX-License-Identifier: MIT
 *
 * Writes trace events (trace_events.h). */
#include "trace_events.h"

#include <math.h>

void npl_picture_begin(struct npl_picture *picture, FILE *out)
{
	*picture = (struct npl_picture){.json = {.out = out}};
	npl_json_open(&picture->json, NULL, '{');
	npl_json_string(&picture->json, "displayTimeUnit", "ns");
}

void npl_picture_events(struct npl_picture *picture)
{
	npl_json_open(&picture->json, "traceEvents", '[');
}

void npl_picture_end(struct npl_picture *picture)
{
	putc_unlocked('\n', picture->json.out);
	npl_json_close(&picture->json, ']');
	npl_json_close(&picture->json, '}');
	putc_unlocked('\n', picture->json.out);
}

/* Writes nanoseconds, which are not negative, as microseconds. */
static void put_time(struct npl_json *json, const char *key, int64_t ns)
{
	npl_json_u64(json, key, (uint64_t)(ns / 1000));
	const char digits[] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10)};
	fwrite_unlocked(digits, 1, sizeof digits, json->out);
}

/* Begins the line of an event, up to its arguments. ns -1: it has no time. */
static void open_event(struct npl_picture *picture, const char *name, const char *phase, int pid, int tid, int64_t ns)
{
	struct npl_json *json = &picture->json;
	fputs_unlocked(json->need_comma ? ",\n" : "\n", json->out);
	json->need_comma = false;
	picture->events++;
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", name);
	npl_json_string(json, "ph", phase);
	npl_json_u64(json, "pid", (uint64_t)pid);
	npl_json_u64(json, "tid", (uint64_t)tid);
	if (ns >= 0)
		put_time(json, "ts", ns);
}

static void close_event(struct npl_json *json)
{
	npl_json_close(json, '}');
	npl_json_close(json, '}');
}

static void put_name(struct npl_picture *picture, const char *what, int pid, int tid, const char *name)
{
	open_event(picture, what, "M", pid, tid, -1);
	npl_json_open(&picture->json, "args", '{');
	npl_json_string(&picture->json, "name", name);
	close_event(&picture->json);
}

static void put_order(struct npl_picture *picture, const char *what, int pid, int tid, int order)
{
	if (order < 0)
		return;
	open_event(picture, what, "M", pid, tid, -1);
	npl_json_open(&picture->json, "args", '{');
	npl_json_i64(&picture->json, "sort_index", order);
	close_event(&picture->json);
}

void npl_picture_process(struct npl_picture *picture, int pid, const char *name, int order)
{
	put_name(picture, "process_name", pid, pid, name);
	put_order(picture, "process_sort_index", pid, pid, order);
}

void npl_picture_thread(struct npl_picture *picture, int pid, int tid, const char *name, int order)
{
	put_name(picture, "thread_name", pid, tid, name);
	put_order(picture, "thread_sort_index", pid, tid, order);
}

void npl_picture_slice(struct npl_picture *picture, int pid, int tid, const char *name, const char *category,
		       int64_t begin_ns, int64_t end_ns)
{
	open_event(picture, name, "X", pid, tid, begin_ns);
	put_time(&picture->json, "dur", end_ns - begin_ns);
	npl_json_string(&picture->json, "cat", category);
	npl_json_open(&picture->json, "args", '{');
}

void npl_picture_slice_end(struct npl_picture *picture)
{
	close_event(&picture->json);
}

void npl_picture_counter(struct npl_picture *picture, int pid, const char *name, const char *series, int64_t ns,
			 double value)
{
	char text[40];
	snprintf(text, sizeof text, "%.9g", isfinite(value) ? value : 0);
	open_event(picture, name, "C", pid, pid, ns);
	npl_json_open(&picture->json, "args", '{');
	npl_json_number(&picture->json, series, text);
	close_event(&picture->json);
}
