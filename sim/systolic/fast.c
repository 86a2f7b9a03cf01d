/* SPDX-License-Identifier: MIT
 *
 * The fast engine (fast.h): first when everything happens, then what comes out. */
#include "fast.h"

#include <stdlib.h>
#include <string.h>

#include "fast_values.h"

static void tell(const struct tpu_watcher *watcher, enum tpu_happening what, uint64_t cycle, int64_t index)
{
	watcher->happened(watcher->context, &(struct tpu_happened){what, cycle, index});
}

static void tell_unit(const struct tpu_fast_unit *unit, const struct tpu_watcher *watcher, enum tpu_happening start,
		      enum tpu_happening end)
{
	for (int64_t i = 0; i < unit->resolved; i++)
		tell(watcher, start, unit->job[i].start, unit->job[i].index);
	for (int64_t i = 0; i < unit->resolved; i++)
		tell(watcher, end, unit->job[i].end, unit->job[i].index);
}

/* The transfers of both directions, which have one kind of event between them, in the order of the program. */
static void tell_links(const struct tpu_fast_schedule *s, const struct tpu_watcher *watcher, enum tpu_happening what)
{
	const struct tpu_fast_job *in = s->unit[TPU_HOST_IN].job, *in_end = in + s->unit[TPU_HOST_IN].resolved;
	const struct tpu_fast_job *out = s->unit[TPU_HOST_OUT].job, *out_end = out + s->unit[TPU_HOST_OUT].resolved;
	while (in < in_end || out < out_end) {
		bool inward = out == out_end || (in < in_end && in->index < out->index);
		const struct tpu_fast_job *job = inward ? in++ : out++;
		tell(watcher, what, what == TPU_HOST_STARTED ? job->start : job->end, job->index);
	}
}

void tpu_fast_tell(const struct tpu_fast_schedule *s, const struct tpu_watcher *watcher)
{
	for (int64_t i = 0; i < s->next; i++)
		tell(watcher, TPU_ISSUED, s->issued[i], i);
	for (int64_t i = 0; i < s->pushed; i++)
		tell(watcher, TPU_TILE_PUSHED, s->tile[i].pushed, i);
	for (int64_t i = 0; i < s->popped; i++)
		tell(watcher, TPU_TILE_SHIFTED, s->tile[i].shifted, i);
	for (int64_t i = 0; i < s->popped && s->tile[i].popped <= s->outcome->cycles; i++)
		tell(watcher, TPU_TILE_POPPED, s->tile[i].popped, i);
	for (int64_t i = 0; i < s->loaded; i++)
		tell(watcher, TPU_TABLE_LOADED, s->table[i].loaded, i);
	tell_unit(&s->unit[TPU_MATRIX], watcher, TPU_MATRIX_STARTED, TPU_MATRIX_WRITTEN);
	tell_unit(&s->unit[TPU_ACTIVATION], watcher, TPU_ACTIVATE_STARTED, TPU_ACTIVATE_ENDED);
	tell_links(s, watcher, TPU_HOST_STARTED);
	tell_links(s, watcher, TPU_HOST_ENDED);
}

/* What a run leaves for the next. */
struct tpu_fast_cache {
	struct tpu_fast_machine *machine;
};

void tpu_fast_cache_free(struct tpu_fast_cache *cache)
{
	if (cache)
		tpu_fast_machine_free(cache->machine);
	free(cache);
}

static int run(struct tpu_fast_machine **kept, const struct tpu_config *config, const struct tpu_program *program,
	       const struct tpu_memory *memory, const struct tpu_watcher *watcher, struct tpu_outcome *outcome,
	       struct npl_err *err)
{
	struct tpu_fast_schedule schedule;
	memset(outcome, 0, sizeof *outcome);
	int rc = tpu_fast_schedule(&schedule, config, program, watcher, outcome, err);
	if (!rc && watcher && watcher->happened)
		tpu_fast_tell(&schedule, watcher);
	tpu_fast_schedule_close(&schedule);
	return rc ? rc : tpu_fast_values(kept, config, program, memory, watcher, outcome, err);
}

int tpu_run_fast(const struct tpu_config *config, const struct tpu_program *program, const struct tpu_memory *memory,
		 const struct tpu_watcher *watcher, struct tpu_outcome *outcome, struct npl_err *err)
{
	struct tpu_fast_machine *machine = NULL;
	int rc = run(&machine, config, program, memory, watcher, outcome, err);
	tpu_fast_machine_free(machine);
	return rc;
}

int tpu_run_fast_again(struct tpu_fast_cache **cache, const struct tpu_config *config,
		       const struct tpu_program *program, const struct tpu_memory *memory,
		       const struct tpu_watcher *watcher, struct tpu_outcome *outcome, struct npl_err *err)
{
	if (!*cache)
		*cache = calloc(1, sizeof **cache);
	if (!*cache)
		return npl_fail(err, NPL_ENOMEM, "fast engine: out of memory");
	return run(&(*cache)->machine, config, program, memory, watcher, outcome, err);
}
