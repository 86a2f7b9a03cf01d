/* SPDX-License-Identifier: MIT
 *
 * Cycles by instruction (times.h). */
#include "times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(DN_TIMES <= NPL_MAX_SPENDINGS, "all spendings have room");

const struct npl_spending dn_spendings[DN_TIMES] = {
	[DN_SPENT_ACTIVE] = {"nfu_active", NPL_SPENT_WORKING, "it takes a step"},
	[DN_SPENT_WAIT_SB] = {"wait_sb", NPL_SPENT_WAITING, "for a row of SB"},
	[DN_SPENT_WAIT_NBIN] = {"wait_nbin", NPL_SPENT_WAITING, "for a row of NBin"},
	[DN_SPENT_WAIT_NBOUT] = {"wait_nbout", NPL_SPENT_WAITING, "for room in NBout, or for stores"},
	[DN_SPENT_FILL] = {"nfu_fill", NPL_SPENT_WAITING, "for steps before it on their way through the pipeline"},
	[DN_TIME_QUEUED] = {"queued", NPL_SPENT_WAITING, "for instructions before it in the NFU's queue"},
	[DN_TIME_MEMORY] = {"memory", NPL_SPENT_PASSING, "its loads are still to arrive, or its results to be stored"},
};

int dn_times_open(struct dn_times *times, int64_t count, struct npl_err *err)
{
	*times = (struct dn_times){.count = count};
	times->time = calloc((size_t)count + 1, sizeof *times->time);
	times->ended = calloc((size_t)count + 1, sizeof *times->ended);
	if (times->time && times->ended)
		return 0;
	dn_times_close(times);
	return npl_fail(err, NPL_ENOMEM, "out of memory for the times of %lld instructions", (long long)count);
}

void dn_times_close(struct dn_times *times)
{
	free(times->time);
	free(times->ended);
	*times = (struct dn_times){0};
}

void dn_times_event(void *opened, const struct sim_event *event)
{
	const struct dn_times *times = opened;
	struct npl_instruction_time *time = &times->time[event->index];
	if (event->kind == DN_DECODED)
		time->begin = event->cycle;
	if (event->kind == DN_ENDED)
		times->ended[event->index] = event->cycle;
	time->end = event->cycle > time->end ? event->cycle : time->end;
}

void dn_times_span(void *opened, const struct sim_span *span)
{
	const struct dn_times *times = opened;
	times->time[span->instruction].cycles[span->kind] += span->to - span->from;
}

struct npl_instruction_time *dn_times_take(struct dn_times *times, uint64_t cycles)
{
	struct npl_instruction_time *time = times->time;
	uint64_t before = 0; /* boundary at which the one before has ended */
	if (times->count)
		times->ended[times->count - 1] = cycles; /* what comes behind the last one's end is waited for by it */
	for (int64_t i = 0; i < times->count; i++) {
		struct npl_instruction_time *t = &time[i];
		if (t->begin < before)
			t->cycles[DN_TIME_QUEUED] = before - t->begin;
		else
			t->begin = before;
		before = times->ended[i];
		t->end = t->end > before ? t->end : before;
		t->cycles[DN_TIME_MEMORY] = t->end - before;
	}
	times->time = NULL;
	return time;
}

/* Puts a word behind "|" where there is one before it. */
static void add(char *name, const char *slot, const char *op)
{
	const size_t used = strlen(name);
	snprintf(name + used, NPL_INSTRUCTION_NAME - used, "%s%s %s", used ? "|" : "", slot, op);
}

void dn_describe(const struct dn_instruction *at, struct npl_instruction *instruction)
{
	char *name = instruction->name;
	const bool loads_sb = at->sb.op == DN_LOAD, loads_nbin = at->nbin.op == DN_LOAD;
	if (at->cp != DN_CP_NOP)
		add(name, "CP", at->cp == DN_CP_SYNC ? "SYNC" : "END");
	if (at->sb.op != DN_NOP)
		add(name, "SB", loads_sb ? "LOAD" : "READ");
	if (at->nbin.op != DN_NOP)
		add(name, "NBIN", loads_nbin ? "LOAD" : "READ");
	if (at->nbout.write != DN_WRITE_NOP)
		add(name, "NBOUT", at->nbout.write == DN_STORE ? "STORE" : "WRITE");
	if (dn_works(at))
		add(name, "NFU",
		    at->nfu.nfu1 == DN_MULT   ? "MULT"
		    : at->nfu.nfu1 == DN_BIAS ? "BIAS"
		    : at->nfu.nfu2 == DN_ADD  ? "ADD"
					      : "MAX");
	if (!*name)
		add(name, "CP", "NOP");
	instruction->unit = dn_works(at) ? "nfu" : loads_sb ? "sb" : loads_nbin ? "nbin" : "cp";
}
