/* SPDX-License-Identifier: MIT
 *
 * Cycles by instruction (times.h). Only instructions that something is still to be told of are held. An instruction is
 * done when all that it causes has happened, and when cycles have been attributed to a later one: attribution goes from
 * one instruction to the next and never back. */
#include "times.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"

_Static_assert(DN_TIME_CLASSES <= NPL_MAX_CYCLE_CLASSES, "a result has room for all classes");

const struct npl_cycle_class dn_time_classes[DN_TIME_CLASSES] = {
#define DN_TIME(form, constant, name, kind, help) {#name, kind, help},
#include "times.def"
#undef DN_TIME
};

/* The time class of each class of the engines that has one. */
static const int time_class[DN_CYCLE_CLASSES] = {
#define DN_TIME(form, constant, ...) SIM_TIME_OF_##form(DN_CYCLES_##constant, DN_TIME_##constant)
#include "times.def"
#undef DN_TIME
};

/* An instruction that cycles have been attributed to, or that has been decoded. */
struct entry {
	uint64_t begin, end; /* the cycle in which it was decoded, and that of the last event */
	uint64_t cycles[DN_TIME_CLASSES];
	struct dn_timed timed;
	uint64_t end_cycle; /* at which it has left the NFU's queue */
	int awaited;        /* events that are still to come; -1: it has not been decoded */
};

struct times {
	const struct dn_config *config;
	const struct sim_program *program; /* NULL: dn_times_fetched gives the instructions */
	const struct sim_time_sink *sink;
	const struct dn_instruction *fetched;
	struct entry *entry;                                   /* a ring: instruction i is entry i & mask */
	int64_t mask, first, next;                             /* those from `first` on and before `next` are held */
	struct npl_instruction_time time;                      /* of the instruction that is told */
	int64_t attributed;                                    /* the instruction that cycles were attributed to last */
	uint64_t store_address, store_bytes, store_bytes_left; /* of the open store */
	uint64_t previous_end;                                 /* at which the instruction before `first` has ended */
	bool out_of_memory;
	int rc;
	struct npl_err err; /* of rc */
};

static void times_close(void *state)
{
	struct times *times = state;
	if (!times)
		return;
	free(times->entry);
	free(times);
}

static int times_open(void **state, const void *config, const struct sim_program *program,
		      const struct sim_time_sink *sink, struct npl_err *err)
{
	enum { HELD = 256 };
	struct times *times = *state = calloc(1, sizeof *times);
	if (!times || !(times->entry = calloc(HELD, sizeof *times->entry))) {
		times_close(times);
		*state = NULL;
		return npl_no_memory(err);
	}
	times->config = config;
	times->program = program;
	times->sink = sink;
	times->mask = HELD - 1;
	return 0;
}

void dn_times_fetched(void *state, const struct dn_instruction *instruction)
{
	((struct times *)state)->fetched = instruction;
}

static bool grow(struct times *times)
{
	const int64_t mask = 2 * times->mask + 1;
	struct entry *grown = calloc((size_t)mask + 1, sizeof *grown);
	for (int64_t i = times->first; grown && i < times->next; i++)
		grown[i & mask] = times->entry[i & times->mask];
	if (!grown)
		return false;
	free(times->entry);
	times->entry = grown;
	times->mask = mask;
	return true;
}

/* Returns the entry of an instruction that has not been told; NULL: out of memory. */
static struct entry *entry_of(struct times *times, int64_t instruction)
{
	while (times->next <= instruction) {
		if (times->next - times->first > times->mask && !grow(times)) {
			times->out_of_memory = true;
			return NULL;
		}
		struct entry *entry = &times->entry[times->next++ & times->mask];
		entry->begin = entry->end = entry->end_cycle = 0;
		memset(entry->cycles, 0, sizeof entry->cycles);
		entry->awaited = -1; /* decoding fills the rest */
	}
	return &times->entry[instruction & times->mask];
}

/* Adds the instruction's results to the open store. */
static void add_results(struct times *times, struct dn_timed *timed)
{
	const struct dn_instruction *instruction = &timed->instruction;
	timed->result_bytes = 0;
	timed->completes_store = false;
	if (!dn_uses_nfu(instruction) || instruction->nbout.write != DN_STORE)
		return;
	if (instruction->nbout.size) {
		times->store_address = instruction->nbout.address;
		times->store_bytes = times->store_bytes_left = instruction->nbout.size;
	}
	timed->result_width = instruction->nfu.out == DN_TO_NBOUT && instruction->nfu.nfu2 == DN_ADD ? 4 : 2;
	timed->result_bytes = npl_min_u64(times->store_bytes_left, (uint64_t)times->config->tn * timed->result_width);
	times->store_bytes_left -= timed->result_bytes;
	timed->completes_store = !times->store_bytes_left;
	timed->store_address = times->store_address;
	timed->store_bytes = times->store_bytes;
}

static void decoded(struct times *times, struct entry *entry, int64_t index)
{
	struct dn_timed *timed = &entry->timed;
	timed->instruction = times->program ? dn_code(times->program)[index] : *times->fetched;
	add_results(times, timed);
	entry->awaited = 1 + (timed->instruction.nbin.op == DN_LOAD) + (timed->instruction.sb.op == DN_LOAD) +
			 timed->completes_store;
}

const struct dn_timed *dn_times_timed(const void *state)
{
	const struct times *times = state;
	return &times->entry[times->first & times->mask].timed;
}

static void tell(struct times *times, uint64_t end_cycle)
{
	struct entry *entry = &times->entry[times->first & times->mask];
	struct npl_instruction_time *time = &times->time;
	time->begin = entry->begin;
	if (time->begin < times->previous_end)
		entry->cycles[DN_TIME_QUEUED] = times->previous_end - time->begin;
	else
		time->begin = times->previous_end;
	times->previous_end = end_cycle;
	time->end = entry->end > end_cycle ? entry->end : end_cycle;
	entry->cycles[DN_TIME_MEMORY] = time->end - end_cycle;
	memcpy(time->cycles, entry->cycles, sizeof entry->cycles);
	if (!times->rc)
		times->rc = times->sink->on_time(times->sink->context, times->first, time, &times->err);
	times->first++;
}

static void tell_done(struct times *times)
{
	while (times->first < times->attributed && !times->entry[times->first & times->mask].awaited)
		tell(times, times->entry[times->first & times->mask].end_cycle);
}

static void times_event(void *state, const struct sim_event *event)
{
	struct times *times = state;
	struct entry *entry = entry_of(times, event->index);
	if (!entry)
		return;
	if (event->kind == DN_DECODED) {
		decoded(times, entry, event->index);
		entry->begin = event->cycle;
	}
	if (event->kind == DN_ENDED)
		entry->end_cycle = event->cycle;
	entry->awaited -= event->kind != DN_DECODED && event->kind != DN_STARTED;
	entry->end = event->cycle > entry->end ? event->cycle : entry->end;
	if (!entry->awaited)
		tell_done(times);
}

static void times_interval(void *state, const struct sim_cycles *interval)
{
	struct times *times = state;
	struct entry *entry = entry_of(times, interval->instruction);
	if (!entry)
		return;
	entry->cycles[time_class[interval->cycle_class]] += interval->end - interval->begin;
	if (interval->instruction == times->attributed)
		return;
	times->attributed = interval->instruction;
	tell_done(times);
}

static int times_finish(void *state, uint64_t cycles, struct npl_err *err)
{
	struct times *times = state;
	if (times->out_of_memory)
		return npl_no_memory(err);
	/* The last instruction waits for what comes after the end of the one before it. */
	for (; times->first < times->next;)
		tell(times,
		     times->first + 1 == times->next ? cycles : times->entry[times->first & times->mask].end_cycle);
	if (times->rc)
		npl_fail_as(err, &times->err);
	return times->rc;
}

const struct sim_times dn_times = {
	.open = times_open,
	.on_event = times_event,
	.on_cycles = times_interval,
	.finish = times_finish,
	.close = times_close,
};
