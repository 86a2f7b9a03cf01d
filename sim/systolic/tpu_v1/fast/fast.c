/* SPDX-License-Identifier: MIT
 *
 * The fast engine (fast.h): it finds first when everything happens, then the values. */
#include "fast.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "values.h"

/* The events of one kind, in the order of time. They are read from an array of the schedule, which has an element for
 * each event. */
struct stream {
	enum tpu_event kind;
	const void *cycle; /* the event's boundary in the first element */
	const void *index; /* the event's index in the first element; NULL: it is the number of events sent before */
	size_t step;       /* bytes of an element */
	int64_t count, n_sent;
};

static struct sim_event next_of(const struct stream *stream)
{
	struct sim_event event = {.kind = (int)stream->kind, .index = stream->n_sent};
	const size_t offset = (size_t)stream->n_sent * stream->step;
	memcpy(&event.cycle, (const char *)stream->cycle + offset, sizeof event.cycle);
	if (stream->index)
		memcpy(&event.index, (const char *)stream->index + offset, sizeof event.index);
	return event;
}

static struct stream starts_of(const struct tpu_fast_unit *unit, enum tpu_event kind)
{
	const struct tpu_fast_job *job = unit->job;
	return (struct stream){kind, &job->start, &job->index, sizeof *job, unit->jobs_resolved, 0};
}

static struct stream ends_of(const struct tpu_fast_unit *unit, enum tpu_event kind)
{
	const struct tpu_fast_job *job = unit->job;
	return (struct stream){kind, &job->end, &job->index, sizeof *job, unit->jobs_resolved, 0};
}

static bool precedes(const struct sim_event *a, const struct sim_event *b)
{
	if (a->cycle != b->cycle)
		return a->cycle < b->cycle;
	return a->kind != b->kind ? a->kind < b->kind : a->index < b->index;
}

/* Returns the number of tiles popped. A tile whose shift would end after the program is not popped. */
static int64_t tiles_popped(const struct tpu_fast_timing *timing)
{
	int64_t popped = 0;
	while (popped < timing->tiles_popped && timing->tile[popped].pop_cycle <= timing->outcome->cycles)
		popped++;
	return popped;
}

/* Moves the streams that the observer looks at to the front. Returns their number. */
static size_t keep_wanted(struct stream *streams, size_t n, const struct sim_observer *observer)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!observer->event_kinds || observer->event_kinds >> streams[i].kind & 1)
			streams[kept++] = streams[i];
	return kept;
}

/* Tells the observer all events that it looks at. */
static void tell_events(const struct tpu_fast_timing *timing, const struct sim_observer *observer)
{
	const struct tpu_fast_tile *tile = timing->tile;
	struct stream streams[] = {
		ends_of(&timing->unit[TPU_ACTIVATION], TPU_ACTIVATE_ENDED),
		starts_of(&timing->unit[TPU_ACTIVATION], TPU_ACTIVATE_STARTED),
		ends_of(&timing->unit[TPU_HOST_IN], TPU_HOST_ENDED),
		ends_of(&timing->unit[TPU_HOST_OUT], TPU_HOST_ENDED),
		starts_of(&timing->unit[TPU_HOST_IN], TPU_HOST_STARTED),
		starts_of(&timing->unit[TPU_HOST_OUT], TPU_HOST_STARTED),
		{TPU_ISSUED, timing->issue_cycle, NULL, sizeof *timing->issue_cycle, timing->next, 0},
		starts_of(&timing->unit[TPU_MATRIX], TPU_MATRIX_STARTED),
		ends_of(&timing->unit[TPU_MATRIX], TPU_MATRIX_WRITTEN),
		{TPU_TABLE_LOADED, &timing->table->load_cycle, NULL, sizeof *timing->table, timing->tables_loaded, 0},
		{TPU_TILE_POPPED, &tile->pop_cycle, NULL, sizeof *tile, tiles_popped(timing), 0},
		{TPU_TILE_PUSHED, &tile->push_cycle, NULL, sizeof *tile, timing->tiles_pushed, 0},
		{TPU_TILE_SHIFTED, &tile->shift_cycle, NULL, sizeof *tile, timing->tiles_popped, 0},
	};
	const size_t n = keep_wanted(streams, sizeof streams / sizeof *streams, observer);
	for (;;) {
		struct stream *first = NULL;
		struct sim_event event = {0};
		for (struct stream *stream = streams; stream < streams + n; stream++) {
			if (stream->n_sent == stream->count)
				continue;
			const struct sim_event next = next_of(stream);
			if (first && !precedes(&next, &event))
				continue;
			first = stream;
			event = next;
		}
		if (!first)
			return;
		first->n_sent++;
		observer->on_event(observer->context, &event);
	}
}

/* What an execution keeps for the next one. */
struct tpu_fast_cache {
	struct tpu_fast_machine *machine;
	struct npl_memory *weights;
	bool weights_open;
};

void tpu_fast_cache_free(struct tpu_fast_cache *cache)
{
	if (cache) {
		tpu_fast_machine_free(cache->machine);
		npl_memory_close(cache->weights);
	}
	free(cache);
}

static int run(struct tpu_fast_cache *cache, const struct tpu_engine_input *engine_input, struct tpu_outcome *outcome,
	       struct npl_err *err)
{
	struct tpu_fast_timing timing;
	*outcome = (struct tpu_outcome){0};
	if (!cache->weights_open && tpu_weight_memory_open(engine_input->config, false, &cache->weights, err))
		return err->code;
	cache->weights_open = true;
	int rc = tpu_fast_find_times(&timing, engine_input, cache->weights, outcome, err);
	if (!rc && engine_input->observer && engine_input->observer->on_event)
		tell_events(&timing, engine_input->observer);
	tpu_fast_timing_close(&timing);
	return rc ? rc : tpu_fast_values(&cache->machine, engine_input, outcome, err);
}

int tpu_run_fast(const struct tpu_engine_input *engine_input, struct tpu_outcome *outcome, struct npl_err *err)
{
	struct tpu_fast_cache *own_cache = NULL, **cache = engine_input->cache ? engine_input->cache : &own_cache;
	if (!*cache)
		*cache = calloc(1, sizeof **cache);
	const int rc = *cache ? run(*cache, engine_input, outcome, err) : npl_no_memory(err);
	tpu_fast_cache_free(own_cache);
	return rc;
}
