/* SPDX-License-Identifier: MIT
 *
 * Judges differences of events (judge.h). */
#include "judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *key, const char *const *names)
{
	while (*names && strcmp(key, *names) != 0)
		names++;
	return *names;
}

/* The times of layers and batches that a tolerance judges. */
static const char *const judged_times[] = {"cycles", "seconds", "host_seconds", "link_seconds", NULL};

/* The keys that the recorder writes (record.c, instructions.c), and what moved where one differs. A key that ends in
 * ':' is the beginning of those of counters or of components. */
static const struct listed_key {
	const char *key;
	unsigned moved;
} listed_keys[] = {
#define OF_TIME(name)  {#name, NPL_TRACE_MOVED_TIMES},
#define OF_WORK(name)  {#name, NPL_TRACE_MOVED_COUNTS},
#define OF_VALUE(name) {#name, NPL_TRACE_MOVED_VALUES},
	NPL_RESULT_COUNTS_OF(OF_TIME, OF_WORK, OF_VALUE)
#undef OF_TIME
#undef OF_WORK
#undef OF_VALUE
		{"seconds", NPL_TRACE_MOVED_TIMES},
	{"host_seconds", NPL_TRACE_MOVED_TIMES},
	{"link_seconds", NPL_TRACE_MOVED_TIMES},
	{"overlap_seconds", NPL_TRACE_MOVED_TIMES},
	{"start", NPL_TRACE_MOVED_TIMES},
	{"cycles:", NPL_TRACE_MOVED_TIMES},
	{"ps:", NPL_TRACE_MOVED_TIMES},
	{"joules:", NPL_TRACE_MOVED_ENERGY},
	{"clipped", NPL_TRACE_MOVED_VALUES},
	{"scale", NPL_TRACE_MOVED_VALUES},
	{"zero_point", NPL_TRACE_MOVED_VALUES},
	{"sum", NPL_TRACE_MOVED_VALUES},
	{"sums", NPL_TRACE_MOVED_VALUES},    /* diff.c compares each with its instruction */
	{"sqnr_db", NPL_TRACE_MOVED_VALUES}, /* judges the difference of a sum, and is none by itself */
	{"fields", NPL_TRACE_MOVED_PROGRAM},
	{"bytes", NPL_TRACE_MOVED_COUNTS},
	{"dram_bytes", NPL_TRACE_MOVED_COUNTS},
	{"buffer_bytes", NPL_TRACE_MOVED_COUNTS},
	{"host_bytes", NPL_TRACE_MOVED_COUNTS},
	{"link_bytes", NPL_TRACE_MOVED_COUNTS},
	{"transfers", NPL_TRACE_MOVED_COUNTS},
};

/* Returns the row of a key, or NULL. */
static const struct listed_key *listed(const char *key)
{
	for (size_t i = 0; i < sizeof listed_keys / sizeof *listed_keys; i++) {
		const char *name = listed_keys[i].key;
		const size_t length = strlen(name);
		if (name[length - 1] == ':' ? !strncmp(key, name, length) : !strcmp(key, name))
			return &listed_keys[i];
	}
	return NULL;
}

bool trace_key_is_listed(const char *key)
{
	return listed(key) != NULL;
}

unsigned trace_moved_by(const char *key)
{
	const struct listed_key *row = listed(key);
	return row ? row->moved : NPL_TRACE_MOVED_COUNTS;
}

/* Says whether the layers of a trace have ratios: those of real devices do, others where `--accuracy` asked for it. */
static bool has_ratios(const struct npl_trace_header *header)
{
	for (int i = 0; i < header->option.n; i++)
		if (!strcmp(header->option.pair[i].name, "accuracy"))
			return true;
	return header->has_values && !header->has_times;
}

static bool same_pairs(const struct npl_trace_pairs *a, const struct npl_trace_pairs *b)
{
	bool same = a->n == b->n;
	for (int i = 0; i < a->n && same; i++)
		same = !strcmp(a->pair[i].name, b->pair[i].name) && !strcmp(a->pair[i].value, b->pair[i].value);
	return same;
}

struct trace_judge trace_judge_of(const struct npl_trace_tolerance *tolerance, const struct npl_trace_header *a,
				  const struct npl_trace_header *b)
{
	struct trace_judge judge = {.have_ratios = has_ratios(a) && has_ratios(b)};
	if (tolerance)
		judge.tolerance = *tolerance;
	/* Another model is another matter: a layer of it is as near to its own float32 as before. */
	if (!(judge.tolerance.values_db > 0) && !a->has_times && !b->has_times &&
	    !same_pairs(&a->environment, &b->environment) && same_pairs(&a->file, &b->file))
		judge.tolerance.values_db = NPL_TRACE_OTHER_ENVIRONMENT_DB;
	return judge;
}

static bool is_within(double a, double b, double share)
{
	return fabs(a - b) <= share * fmax(fabs(a), fabs(b));
}

static bool same_ratio(double a, double b, double db)
{
	return a == b || (a >= NPL_TRACE_ROUNDING_DB && b >= NPL_TRACE_ROUNDING_DB) || fabs(a - b) <= db;
}

/* Of values a trace has checksums, which are the same or not. How far they are apart is judged by the ratio of their
 * layer, and with it the scale of the result and the values that were clipped. What is no layer's row follows from
 * layers, which are judged themselves. A row without a result is judged by that of the layer that is fused with it. */
static bool values_are_tolerated(const struct trace_judge *judge, enum trace_kind kind, const double sqnr_db[2])
{
	if (!(judge->tolerance.values_db > 0) || !judge->have_ratios)
		return false;
	if (sqnr_db)
		return same_ratio(sqnr_db[0], sqnr_db[1], judge->tolerance.values_db);
	return kind == TRACE_LAYER || kind == TRACE_BATCH || kind == TRACE_INSTRUCTION;
}

bool trace_is_given(const struct trace_judge *judge)
{
	const struct npl_trace_tolerance *t = &judge->tolerance;
	return t->cycles > 0 || t->energy > 0 || t->values_db > 0;
}

bool trace_is_tolerated(const struct trace_judge *judge, enum trace_kind kind, unsigned moved, const char *key,
			const char *a, const char *b, const double sqnr_db[2])
{
	const bool of_row = kind == TRACE_LAYER || kind == TRACE_TASK || kind == TRACE_BATCH ||
			    kind == TRACE_EXECUTION || kind == TRACE_END,
		   of_energy = moved == NPL_TRACE_MOVED_ENERGY;
	const double share = of_energy ? judge->tolerance.energy : judge->tolerance.cycles;
	if (kind == TRACE_CYCLE)
		return judge->tolerance.cycles > 0; /* signals move with the times */
	if (moved == NPL_TRACE_MOVED_VALUES)
		return values_are_tolerated(judge, kind, sqnr_db);
	if ((moved != NPL_TRACE_MOVED_TIMES && !of_energy) || share <= 0)
		return false;
	if (of_energy)
		return is_within(judge->joules[0], judge->joules[1], share);
	return !of_row || !is_one_of(key, judged_times) ||
	       is_within(a ? strtod(a, NULL) : 0, b ? strtod(b, NULL) : 0, share);
}
