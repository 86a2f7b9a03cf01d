/* SPDX-License-Identifier: MIT
 *
 * Reads when an instruction is in its unit (occupancy.h). */
#include "occupancy.h"

#include <stdlib.h>

/* The first key of an instruction comes after its kind, name, unit, begin and length. */
enum { UNIT = 2, BEGIN = 3, LENGTH = 4, FIRST_KEY = 5 };

static const struct {
	const char *name;
	enum trace_phase phase;
} classes[] = {
#define PHASE_ISSUE                      TRACE_IN_ISSUE
#define PHASE_QUEUE                      TRACE_IN_QUEUE
#define PHASE_ARRAY                      TRACE_IN_ARRAY
#define PHASE_UNIT                       TRACE_IN_UNIT
#define PHASE_AFTER                      TRACE_AFTER
#define TRACE_CLASS(cycle_class, phase_) {#cycle_class, PHASE_##phase_},
#include "classes.def"
#undef TRACE_CLASS
};

enum trace_phase trace_phase_of(const char *cycle_class)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (!strcmp(cycle_class, classes[i].name))
			return classes[i].phase;
	return TRACE_IN_UNIT;
}

bool trace_read_count(const char *word, uint64_t *count)
{
	const bool is_count = trace_is_number(word, 18);
	*count = is_count ? strtoull(word, NULL, 10) : 0;
	return is_count;
}

/* Adds the begin of the instruction before to the distance from it, which has a sign. */
static bool read_begin(const char *word, uint64_t previous, uint64_t *begin)
{
	uint64_t distance;
	if ((*word != '+' && *word != '-') || !trace_read_count(word + 1, &distance) ||
	    (*word == '-' && distance > previous))
		return false;
	*begin = *word == '-' ? previous - distance : previous + distance;
	return *begin < (uint64_t)1e18;
}

int trace_occupancy_of(const struct trace_words *words, uint64_t previous, struct trace_occupancy *occupancy,
		       struct npl_err *err)
{
	uint64_t length, cycles, sum = 0, of[TRACE_PHASES] = {0};
	int i = FIRST_KEY;
	*occupancy = (struct trace_occupancy){.first_key = FIRST_KEY};
	if (words->n < FIRST_KEY || !read_begin(words->word[BEGIN], previous, &occupancy->begin) ||
	    !trace_read_count(words->word[LENGTH], &length))
		return npl_fail(err, NPL_EINPUT, "expected an instruction's name, unit, begin and length");
	for (; i < words->n && sum < length && words->value[i] && trace_read_count(words->value[i], &cycles); i++) {
		/* Where a unit has the name of a class, these cycles are its work: issue is a unit, too. */
		const bool own = !strcmp(words->word[i], words->word[UNIT]);
		of[own ? TRACE_IN_UNIT : trace_phase_of(words->word[i])] += cycles;
		sum += cycles;
	}
	if (sum != length)
		return npl_fail(err, NPL_EINPUT, "the classes of the instruction's cycles do not sum to its length");
	occupancy->end_key = i;
	occupancy->end = occupancy->begin + length;
	occupancy->issued = occupancy->begin + of[TRACE_IN_ISSUE];
	occupancy->taken = occupancy->issued + of[TRACE_IN_QUEUE];
	occupancy->leaves = occupancy->end - of[TRACE_AFTER];
	occupancy->array = of[TRACE_IN_ARRAY];
	return 0;
}
