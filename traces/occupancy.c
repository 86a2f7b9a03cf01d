/* SPDX-License-Identifier: MIT
 *
 * Reads when an instruction is in its unit (occupancy.h). */
#include "occupancy.h"

#include <stdlib.h>
#include <string.h>

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

/* Adds the begin of the instruction before to the distance from it, which has a sign. */
static bool read_begin(const char *word, uint64_t previous, uint64_t *begin)
{
	uint64_t distance;
	if (!trace_read_count(word + 1, &distance) || (*word == '-' && distance > previous))
		return false;
	*begin = *word == '-' ? previous - distance : previous + distance;
	return *begin < (uint64_t)1e18;
}

bool trace_occupancy_of(const struct trace_words *words, uint64_t previous, struct trace_occupancy *occupancy)
{
	uint64_t cycles, length, of[TRACE_PHASES] = {0};
	*occupancy = (struct trace_occupancy){0};
	if (!read_begin(words->word[TRACE_BEGIN], previous, &occupancy->begin) ||
	    !trace_read_count(words->word[TRACE_LENGTH], &length))
		return false;
	for (int i = TRACE_FIRST_KEY; i < words->end_of_classes && trace_read_count(words->value[i], &cycles); i++) {
		/* Where a unit has the name of a class, these cycles are its work: issue is a unit, too. */
		const bool own = !strcmp(words->word[i], words->word[TRACE_UNIT]);
		of[own ? TRACE_IN_UNIT : trace_phase_of(words->word[i])] += cycles;
	}
	occupancy->end = occupancy->begin + length;
	occupancy->issued = occupancy->begin + of[TRACE_IN_ISSUE];
	occupancy->taken = occupancy->issued + of[TRACE_IN_QUEUE];
	occupancy->leaves = occupancy->end - of[TRACE_AFTER];
	occupancy->array = of[TRACE_IN_ARRAY];
	return true;
}
