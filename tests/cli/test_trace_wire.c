/* SPDX-License-Identifier: MIT
 *
 * Verdicts between processes (cli/trace_wire.h). What the program promises: each member of a verdict arrives; bytes
 * that are cut off or too many are refused. */
#include "cli/trace_wire.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void same_text(const char *a, const char *b, const char *what)
{
	cr_expect(a && b ? !strcmp(a, b) : a == b, "%s: %s instead of %s", what, a ? a : "none", b ? b : "none");
}

static void same_first(const struct npl_trace_difference *a, const struct npl_trace_difference *b)
{
	cr_expect_eq(a->is_known, b->is_known);
	same_text(a->layer, b->layer, "layer");
	same_text(a->what, b->what, "what");
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(a->line[i], b->line[i]);
		same_text(a->text[i], b->text[i], "text");
	}
	for (int i = 0; i < 3; i++)
		same_text(a->before[i], b->before[i], "before");
}

static void same_layer(const struct npl_trace_layer *a, const struct npl_trace_layer *b)
{
	same_text(a->name, b->name, "name");
	same_text(a->ran_on, b->ran_on, "ran_on");
	cr_expect_eq(a->order, b->order);
	cr_expect_eq(a->moved, b->moved);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(a->in[i], b->in[i]);
		cr_expect_eq(a->cycles[i], b->cycles[i]);
		cr_expect_eq(a->seconds[i], b->seconds[i]);
		cr_expect_eq(a->joules[i], b->joules[i]);
		cr_expect_eq(a->sqnr_db[i], b->sqnr_db[i]);
	}
	same_text(a->other_ran_on, b->other_ran_on, "other_ran_on");
	cr_assert_eq(a->n_classes, b->n_classes);
	for (int i = 0; i < a->n_classes; i++) {
		same_text(a->cycle_class[i].name, b->cycle_class[i].name, "name");
		cr_expect_arr_eq(a->cycle_class[i].cycles, b->cycle_class[i].cycles, sizeof a->cycle_class[i].cycles);
	}
}

static void same_diff(const struct npl_trace_diff *a, const struct npl_trace_diff *b)
{
	cr_expect_eq(a->moved, b->moved);
	cr_expect_eq(a->is_beyond, b->is_beyond);
	cr_expect_eq(a->values_db, b->values_db);
	cr_expect_eq(a->events, b->events);
	cr_expect_eq(a->differing, b->differing);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(a->only[i], b->only[i]);
		cr_expect_eq(a->cycles[i], b->cycles[i]);
		cr_expect_eq(a->seconds[i], b->seconds[i]);
		cr_expect_eq(a->joules[i], b->joules[i]);
	}
	same_first(&a->first, &b->first);
	same_first(&a->first_wait, &b->first_wait);
	same_text(a->beyond, b->beyond, "beyond");
	cr_assert_eq(a->n_events, b->n_events);
	for (int i = 0; i < a->n_events; i++)
		same_first(&a->event[i], &b->event[i]);
	cr_assert(a->n_heads == b->n_heads && a->n_layers == b->n_layers && a->n_causes == b->n_causes);
	for (int i = 0; i < a->n_heads; i++)
		same_text(a->head[i], b->head[i], "head");
	for (int i = 0; i < a->n_layers; i++)
		same_layer(&a->layer[i], &b->layer[i]);
	cr_assert(a->has_times == b->has_times && a->n_components == b->n_components);
	for (int i = 0; i < a->n_components; i++) {
		same_text(a->component[i].name, b->component[i].name, "component");
		for (int side = 0; side < 2; side++)
			cr_expect_eq(a->component[i].joules[side], b->component[i].joules[side]);
	}
	for (int i = 0; i < a->n_causes; i++) {
		same_text(a->cause[i].unit, b->cause[i].unit, "unit");
		same_text(a->cause[i].cycle_class, b->cause[i].cycle_class, "cycle_class");
		cr_expect_eq(a->cause[i].cycles, b->cause[i].cycles);
	}
}

/* The constants give all members in their order, without their names, so that a further member is a missing
 * initialiser: give it a value here and a check above, and have it passed in cli/trace_wire.c. The process that reports
 * knows `path`, `other` and `wall_seconds` itself. Capacities and arenas are those of each process. */
static void fill(struct npl_trace_verdict *verdict)
{
	static const char *heads[] = {"option: set absent -> a=1", "m: rows 4 -> 1"};
	static struct npl_trace_class classes[] = {{"weight_stall", {31, 32}}, {"table", {33, 34}}};
	static struct npl_trace_layer layers[] = {
		{"conv", "tpu_v1", "tpu", 3, {true, false}, 5, {7, 11}, {0.5, 0.25}, {2, 3}, {41, 42}, classes, 2, 0},
		{"fc", NULL, NULL, 4, {true, true}, 0, {0, 1}, {0, 1}, {0, 1}, {0, 1}, NULL, 0, 0}};
	static struct npl_trace_difference events[] = {
		{true, {26, 27}, "pool", {"c", "d"}, "table 1 -> 2", {"p", NULL, NULL}}};
	static struct npl_trace_component components[] = {{"array", {51, 52}}};
	static struct npl_trace_cause causes[] = {{"weights", "fifo_full", -12}, {"matrix", "table", 13}};
	*verdict = (struct npl_trace_verdict){
		"a.trace",
		"b.trace",
		NPL_EINPUT,
		"no trace",
		1.5,
		{{0},
		 6,
		 true,
		 1.25,
		 "line 3: cycles 1 -> 2",
		 17,
		 18,
		 {19, 20},
		 {21, 22},
		 {0.125, 0.75},
		 {8, 9},
		 true,
		 {true, {23, 24}, "conv", {"i a", "i b"}, "a 1 -> 2", {"x", "y", NULL}},
		 {false, {25, 0}, NULL, {NULL, "i c"}, "", {NULL, NULL, "z"}},
		 events,
		 1,
		 0,
		 heads,
		 2,
		 0,
		 layers,
		 2,
		 0,
		 components,
		 1,
		 0,
		 causes,
		 2,
		 0},
	};
}

Test(trace_wire, every_member_arrives)
{
	struct npl_trace_verdict sent, received;
	char *data = NULL;
	size_t bytes = 0;
	struct npl_err err;
	fill(&sent);
	FILE *to = open_memstream(&data, &bytes);
	cr_assert(to);
	cli_trace_verdict_send(to, &sent);
	cr_assert_eq(fclose(to), 0);
	memset(&received, 0, sizeof received);
	cr_assert_eq(cli_trace_verdict_receive(data, bytes, &received, &err), 0, "%s", err.msg);
	cr_expect_eq(received.code, sent.code);
	same_text(received.message, sent.message, "message");
	same_diff(&received.diff, &sent.diff);
	npl_trace_diff_free(&received.diff);
	for (size_t n = 0; n < bytes; n++) {
		memset(&received, 0, sizeof received);
		char *part = malloc(n + 1); /* so that a sanitizer sees what is read behind the end */
		cr_assert(part);
		memcpy(part, data, n);
		cr_expect_eq(cli_trace_verdict_receive(part, n, &received, &err), NPL_EINTERNAL, "%zu bytes", n);
		npl_trace_diff_free(&received.diff);
		free(part);
	}
	free(data);
}
