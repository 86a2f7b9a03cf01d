/* SPDX-License-Identifier: MIT
 *
 * Pictures of traces in tests: recorded by the program, exported for Perfetto, and held against Chrome's Trace Event
 * Format.
 *
 *     picture_record(folder, (const char *const[]){"digits", "--device", "tpu_v1", NULL});
 *     PICTURE_EXPECT(folder, 0, "trace", "export", "@/a.trace", "--perfetto", "@/a.json");
 *     json_t *root = picture_read(folder, "a.json"), *events = cli_at(root, "traceEvents");
 *     json_array_foreach (events, e, event)
 *             picture_check_form(events, event);
 */
#ifndef NPULAB_TESTS_KIT_PICTURE_H
#define NPULAB_TESTS_KIT_PICTURE_H

#include "cli_json.h"

static inline void picture_expect(const char *folder, int status, const char *const *args)
{
	struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, args);
	cr_assert_eq(r.status, status, "%s %s: status %d: %s", args[0], args[1], r.status, r.err);
	cli_free(&r);
}
#define PICTURE_EXPECT(folder, status, ...) picture_expect(folder, status, (const char *const[]){__VA_ARGS__, NULL})

/* Records a run as a.trace. */
static inline void picture_record(const char *folder, const char *const *run)
{
	const char *args[CLI_ARGUMENTS] = {"trace", "record", "-o", "@/a.trace"};
	for (int i = 0; run[i]; i++)
		args[4 + i] = run[i];
	picture_expect(folder, 0, args);
}

static inline json_t *picture_read(const char *folder, const char *name)
{
	char *text = cli_read(cli_path(folder, name), NULL);
	json_t *root = cli_parse_json(text);
	free(text);
	return root;
}

static inline const char *picture_phase(json_t *event)
{
	return cli_text(cli_at(event, "ph"));
}

/* Says whether an event is the slice of an instruction. */
static inline bool picture_is_instruction(json_t *event)
{
	return !strcmp(picture_phase(event), "X") && !strcmp(cli_text(cli_at(event, "cat")), "instruction");
}

/* The time of an event, in nanoseconds. */
static inline int64_t picture_ns(json_t *event, const char *key)
{
	const double ns = cli_number(cli_at(event, key)) * 1e3;
	cr_assert(ns >= 0 && fabs(ns - rint(ns)) < 1e-3, "%s is no time in nanoseconds", key);
	return llrint(ns);
}

/* Returns the name of a process, or of a thread in it; "" : it has none. */
static inline const char *picture_name(json_t *events, const char *what, json_int_t pid, json_int_t tid)
{
	json_t *event;
	size_t i;
	json_array_foreach (events, i, event)
		if (!strcmp(cli_text(cli_at(event, "name")), what) && cli_integer(cli_at(event, "pid")) == pid &&
		    (tid < 0 || cli_integer(cli_at(event, "tid")) == tid))
			return cli_text(cli_at(event, "args.name"));
	return "";
}

static inline const char *picture_process(json_t *events, json_t *event)
{
	return picture_name(events, "process_name", cli_integer(cli_at(event, "pid")), -1);
}

static inline const char *picture_thread(json_t *events, json_t *event)
{
	return picture_name(events, "thread_name", cli_integer(cli_at(event, "pid")),
			    cli_integer(cli_at(event, "tid")));
}

/* Everything that the format asks of an event. */
static inline void picture_check_form(json_t *events, json_t *event)
{
	const char *phase = picture_phase(event);
	const json_int_t pid = cli_integer(cli_at(event, "pid")), tid = cli_integer(cli_at(event, "tid"));
	json_t *args = cli_at(event, "args"), *value;
	const char *key;
	cr_assert(json_is_string(cli_at(event, "name")) && json_is_object(args) && pid > 0 && tid > 0);
	cr_assert(*picture_process(events, event), "process %lld has no name", (long long)pid);
	if (!strcmp(phase, "X")) {
		cli_check_keys(event, "name:s ph:s pid:i tid:i ts:n dur:n cat:s args:o", "a slice");
		cr_assert_neq(tid, pid, "viewers take this thread for the process's own");
		cr_assert(*picture_thread(events, event), "thread %lld has no name", (long long)tid);
		picture_ns(event, "ts");
		picture_ns(event, "dur");
	} else if (!strcmp(phase, "C")) {
		cli_check_keys(event, "name:s ph:s pid:i ts:n args:o", "a counter");
		picture_ns(event, "ts");
		cr_assert_eq(json_object_size(args), 1);
		json_object_foreach (args, key, value)
			cr_assert(*key && cli_number(value) >= 0);
	} else {
		cr_assert_str_eq(phase, "M");
		cr_assert(json_is_string(json_object_get(args, "name")) ||
			  json_is_integer(json_object_get(args, "sort_index")));
	}
}

struct picture_slice {
	json_int_t tid;
	int64_t begin, end;
};

static inline int picture_by_thread_and_time(const void *a, const void *b)
{
	const struct picture_slice *x = a, *y = b;
	return x->tid != y->tid       ? (x->tid > y->tid) - (x->tid < y->tid)
	       : x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin)
				      : (x->end > y->end) - (x->end < y->end);
}

static inline void picture_check_no_overlap(json_t *events)
{
	struct picture_slice *slice = calloc(json_array_size(events) + 1, sizeof *slice);
	json_t *event;
	size_t i, n = 0;
	cr_assert(slice);
	json_array_foreach (events, i, event)
		if (!strcmp(picture_phase(event), "X")) {
			const int64_t begin = picture_ns(event, "ts");
			slice[n++] = (struct picture_slice){cli_integer(cli_at(event, "tid")), begin,
							    begin + picture_ns(event, "dur")};
		}
	cr_assert_gt(n, 0);
	qsort(slice, n, sizeof *slice, picture_by_thread_and_time);
	for (size_t k = 1; k < n; k++)
		cr_assert(slice[k].tid != slice[k - 1].tid || slice[k].begin >= slice[k - 1].end,
			  "thread %lld: a slice ends at %lld ns, and the next begins at %lld ns",
			  (long long)slice[k].tid, (long long)slice[k - 1].end, (long long)slice[k].begin);
	free(slice);
}

#endif
