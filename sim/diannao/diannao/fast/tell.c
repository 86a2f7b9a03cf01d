/* SPDX-License-Identifier: MIT
 *
 * Tells the observer what happens (fast.h). Repeats that are skipped take no steps, so of these it is told again what
 * it was told of the period that they repeat, as many cycles and instructions later. */
#include "fast.h"

#include <stdlib.h>

#include "core/base/refuse.h"

/* So much of what was told is remembered: longer periods are not skipped. The 128 KiB stay in a second-level cache, and
 * longer periods are rare: ResNet-50 is recorded as fast with 2 MiB. */
enum { REMEMBERED = 1 << 12 };

struct dn_fast_told {
	uint64_t begin, end; /* end: of an interval */
	int64_t index;
	unsigned kind; /* of an event, or the class of an interval */
	bool is_interval;
};

int dn_fast_remember(struct dn_fast *f)
{
	f->told = calloc(REMEMBERED, sizeof *f->told);
	return f->told ? 0 : npl_no_memory(f->err);
}

bool dn_fast_remembers(const struct dn_fast *f, uint64_t since)
{
	return !f->told || f->n_told - since <= REMEMBERED;
}

static void tell(const struct sim_observer *observer, const struct dn_fast_told *told)
{
	if (told->is_interval && observer->on_cycles)
		observer->on_cycles(observer->context,
				    &(struct sim_cycles){told->kind, told->begin, told->end, told->index});
	else if (!told->is_interval && observer->on_event)
		observer->on_event(observer->context, &(struct sim_event){told->kind, told->begin, told->index});
}

static void tell_and_remember(struct dn_fast *f, const struct dn_fast_told *told)
{
	tell(f->engine_input->observer, told);
	if (f->told)
		f->told[f->n_told++ % REMEMBERED] = *told;
}

void dn_fast_tell(struct dn_fast *f, enum dn_event event, uint64_t index, uint64_t cycle)
{
	if (f->engine_input->observer)
		tell_and_remember(f, &(struct dn_fast_told){.begin = cycle + f->repetition.cycles,
							    .index = (int64_t)(index + f->repetition.instructions),
							    .kind = event});
}

void dn_fast_tell_cycles(struct dn_fast *f, enum dn_cycle_class cycle_class, uint64_t begin, uint64_t end,
			 uint64_t index)
{
	if (f->engine_input->observer)
		tell_and_remember(f, &(struct dn_fast_told){.begin = begin,
							    .end = end,
							    .index = (int64_t)(index + f->repetition.instructions),
							    .kind = cycle_class,
							    .is_interval = true});
}

void dn_fast_tell_again(struct dn_fast *f, uint64_t since, uint64_t cycles, uint64_t instructions, int64_t times)
{
	const struct dn_stream *stream = &f->engine_input->stream;
	const uint64_t n = f->n_told - since;
	/* Each period is made of the one before it, which is remembered by then. */
	for (uint64_t i = 0; i < n * (uint64_t)times; i++) {
		struct dn_fast_told told = f->told[(f->n_told - n) % REMEMBERED];
		told.begin += cycles;
		told.end += cycles;
		told.index += (int64_t)instructions;
		if (!told.is_interval && told.kind == DN_DECODED)
			stream->next(stream->state, &f->next);
		tell_and_remember(f, &told);
	}
}
