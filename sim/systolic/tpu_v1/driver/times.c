/* SPDX-License-Identifier: MIT
 *
 * Cycles by instruction (times.h). Events and intervals are kept while the program runs, and put together afterwards,
 * in program order. */
#include "times.h"

#include <stdlib.h>

#include "core/base/arith.h"
#include "core/base/grow.h"
#include "sim/systolic/tpu_v1/engine/engine.h"

_Static_assert(TPU_TIME_CLASSES <= NPL_MAX_CYCLE_CLASSES, "a result has room for all classes");

const struct npl_cycle_class tpu_time_classes[TPU_TIME_CLASSES] = {
#define TPU_TIME(form, constant, name, kind, help) {#name, kind, help},
#include "times.def"
#undef TPU_TIME
};

/* The time class of each class of the engines that has one. */
static const int time_class[TPU_CYCLE_CLASSES] = {
#define TPU_TIME(form, constant, ...) SIM_TIME_OF_##form(TPU_CYCLES_##constant, TPU_TIME_##constant)
#include "times.def"
#undef TPU_TIME
};

/* Boundaries, in the order in which they came. */
struct boundaries {
	uint64_t *cycle;
	int64_t count, capacity;
};

/* The read_weights of one kind: which of them brings each item, when each item arrived, and when each made room
 * again. */
struct transfers {
	/* the number of the first item that each instruction brings; one more entry ends the last one */
	int64_t *instruction, *first;
	int64_t readers, items;
	struct boundaries arrivals, releases;
};

struct times {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct sim_time_sink *sink;
	struct npl_instruction_time *time;
	uint64_t *issue_cycle, *start_cycle, *end_cycle; /* the cycles of each instruction */
	struct transfers transfers[2];                   /* tiles, tables */
	struct sim_cycles *stall;                        /* what issue waits for: parts of non_matrix */
	int64_t stalls, stalls_capacity;
	bool out_of_memory;
};
enum { TILES, TABLES };

static bool is_read_of(const struct tpu_instruction *in, int kind)
{
	return in->opcode == TPU_READ_WEIGHTS && !(in->flags & TPU_WEIGHTS_PARAMETERS) == (kind == TILES);
}

static bool open_transfers(struct transfers *transfers, const struct sim_program *program, int kind)
{
	for (int64_t i = 0; i < program->count; i++)
		transfers->readers += is_read_of(&tpu_code(program)[i], kind);
	transfers->instruction = calloc((size_t)transfers->readers + 1, sizeof *transfers->instruction);
	transfers->first = calloc((size_t)transfers->readers + 1, sizeof *transfers->first);
	if (!transfers->instruction || !transfers->first)
		return false;
	int64_t n = 0;
	for (int64_t i = 0; i < program->count; i++) {
		if (!is_read_of(&tpu_code(program)[i], kind))
			continue;
		transfers->instruction[n] = i;
		transfers->first[n++] = transfers->items;
		transfers->items += tpu_code(program)[i].operand;
	}
	transfers->first[n] = transfers->items;
	return true;
}

static void times_close(void *state);

static int times_open(void **state, const void *config, const struct sim_program *program,
		      const struct sim_time_sink *sink, struct npl_err *err)
{
	const size_t n = (size_t)program->count + 1;
	struct times *times = *state = calloc(1, sizeof *times);
	if (times) {
		times->config = config;
		times->program = program;
		times->sink = sink;
		times->time = calloc(n, sizeof *times->time);
		times->issue_cycle = calloc(n, sizeof *times->issue_cycle);
		times->start_cycle = calloc(n, sizeof *times->start_cycle);
		times->end_cycle = calloc(n, sizeof *times->end_cycle);
		if (times->time && times->issue_cycle && times->start_cycle && times->end_cycle &&
		    open_transfers(&times->transfers[TILES], program, TILES) &&
		    open_transfers(&times->transfers[TABLES], program, TABLES))
			return 0;
	}
	times_close(times);
	*state = NULL;
	return npl_fail(err, NPL_ENOMEM, "out of memory for the times of %lld instructions", (long long)program->count);
}

static void times_close(void *state)
{
	struct times *times = state;
	if (!times)
		return;
	for (int kind = TILES; kind <= TABLES; kind++) {
		free(times->transfers[kind].instruction);
		free(times->transfers[kind].first);
		free(times->transfers[kind].arrivals.cycle);
		free(times->transfers[kind].releases.cycle);
	}
	free(times->time);
	free(times->issue_cycle);
	free(times->start_cycle);
	free(times->end_cycle);
	free(times->stall);
	free(times);
}

static void add_boundary(struct times *times, struct boundaries *boundaries, uint64_t cycle)
{
	uint64_t *grown = npl_grow(boundaries->cycle, boundaries->count, &boundaries->capacity, sizeof *grown);
	times->out_of_memory = times->out_of_memory || !grown;
	if (!grown)
		return;
	boundaries->cycle = grown;
	grown[boundaries->count++] = cycle;
}

static void times_event(void *state, const struct sim_event *event)
{
	struct times *times = state;
	const struct tpu_instruction *in = times->program->instruction;
	switch (event->kind) {
	case TPU_ISSUED:
		times->issue_cycle[event->index] = event->cycle;
		break;
	case TPU_ACTIVATE_STARTED:
		if (in[event->index].flags & TPU_ACTIVATE_SWITCH) /* it makes room for a table */
			add_boundary(times, &times->transfers[TABLES].releases, event->cycle + 1);
		times->start_cycle[event->index] = event->cycle;
		break;
	case TPU_HOST_STARTED:
	case TPU_MATRIX_STARTED:
		times->start_cycle[event->index] = event->cycle;
		break;
	case TPU_ACTIVATE_ENDED:
	case TPU_HOST_ENDED:
	case TPU_MATRIX_WRITTEN:
		times->end_cycle[event->index] = event->cycle;
		break;
	case TPU_TABLE_LOADED:
		add_boundary(times, &times->transfers[TABLES].arrivals, event->cycle);
		break;
	case TPU_TILE_PUSHED:
		add_boundary(times, &times->transfers[TILES].arrivals, event->cycle);
		break;
	case TPU_TILE_POPPED:
		add_boundary(times, &times->transfers[TILES].releases, event->cycle);
		break;
	default:
		break;
	}
}

static void times_interval(void *state, const struct sim_cycles *interval)
{
	struct times *times = state;
	const uint64_t n = interval->end - interval->begin;
	if (interval->instruction >= 0)
		times->time[interval->instruction].cycles[time_class[interval->cycle_class]] += n;
	if (interval->cycle_class < TPU_WHOLE_CLASSES)
		return;
	struct sim_cycles *grown = npl_grow(times->stall, times->stalls, &times->stalls_capacity, sizeof *grown);
	times->out_of_memory = times->out_of_memory || !grown;
	if (!grown)
		return;
	times->stall = grown;
	grown[times->stalls++] = *interval;
}

/* Returns the index of the last of n ascending numbers that is not above the value. */
static int64_t last_below(const int64_t *numbers, int64_t n, int64_t value)
{
	int64_t low = 0;
	for (int64_t high = n; high - low > 1;) {
		const int64_t middle = low + (high - low) / 2;
		*(numbers[middle] <= value ? &low : &high) = middle;
	}
	return low;
}

static int64_t times_instruction(const void *state, const struct sim_event *event)
{
	const struct times *times = state;
	const enum tpu_event_index index = tpu_event_indices[event->kind];
	if (index == TPU_INDEX_INSTRUCTION)
		return event->index;
	const struct transfers *transfers = &times->transfers[index == TPU_INDEX_TABLE ? TABLES : TILES];
	return transfers->instruction[last_below(transfers->first, transfers->readers, event->index)];
}

/* What follows runs after the program. */

/* Attributes the stalls of issue. Issue waits in the cycles before the first instruction that issues no earlier; a sync
 * takes its time after it has issued. */
static void attribute_stalls(struct times *times)
{
	for (int64_t s = 0; s < times->stalls; s++) {
		const struct sim_cycles *interval = &times->stall[s];
		int64_t low = -1;
		for (int64_t high = times->program->count - 1; high - low > 1;) {
			const int64_t middle = low + (high - low) / 2;
			*(times->issue_cycle[middle] < interval->begin ? &low : &high) = middle;
		}
		const int64_t waiting = interval->cycle_class == TPU_CYCLES_SYNC_PAUSE ? low : low + 1;
		times->time[waiting].cycles[time_class[interval->cycle_class]] += interval->end - interval->begin;
	}
}

/* Charges the cycles up to a boundary, if that is not past, and goes there. */
static void charge(struct npl_instruction_time *time, uint64_t *now, uint64_t until, int cycle_class)
{
	if (until > *now)
		time->cycles[cycle_class] += until - *now;
	*now = npl_max_u64(*now, until);
}

/* The present place in the program. */
struct walk {
	uint64_t earliest_issue;  /* the cycle in which issue comes to the next instruction */
	uint64_t free[TPU_UNITS]; /* the cycle in which the last instruction in the unit makes room for the next */
	int64_t read[2], tables;  /* tiles and tables read; tables switched to */
};

/* Attributes transfers: each waits for room, then arrives; one that arrives in the same cycle as the next counts for
 * the earlier item. */
static void walk_read(const struct times *times, struct walk *walk, int64_t i, uint64_t *now)
{
	const struct tpu_instruction *in = &tpu_code(times->program)[i];
	const int kind = in->flags & TPU_WEIGHTS_PARAMETERS ? TABLES : TILES;
	const struct transfers *transfers = &times->transfers[kind];
	const int64_t capacity = kind == TABLES ? times->config->parameter_tables : times->config->fifo_tiles;
	for (int64_t n = 0; n < in->operand; n++) {
		const int64_t item = walk->read[kind]++, previous = item - capacity;
		if (item >= transfers->arrivals.count)
			continue; /* the program ended without it */
		const uint64_t arrived = transfers->arrivals.cycle[item];
		if (previous >= 0 && previous < transfers->releases.count &&
		    transfers->releases.cycle[previous] < arrived)
			charge(&times->time[i], now, transfers->releases.cycle[previous], TPU_TIME_FIFO_FULL);
		charge(&times->time[i], now, arrived, TPU_TIME_WEIGHT_MEMORY);
	}
	walk->free[TPU_WEIGHTS] = *now;
}

static void walk_matrix(const struct times *times, struct walk *walk, int64_t i, uint64_t *now)
{
	uint64_t *cycles = times->time[i].cycles;
	/* The waits for a tile and the work are known; in the table they come after the others. */
	const uint64_t weights = cycles[TPU_TIME_WEIGHT_STALL] + cycles[TPU_TIME_WEIGHT_SHIFT];
	cycles[TPU_TIME_ACCUMULATORS] = times->start_cycle[i] - *now - weights;
	walk->free[TPU_MATRIX] = times->start_cycle[i] + cycles[TPU_TIME_ARRAY_ACTIVE];
	*now = walk->free[TPU_MATRIX];
	charge(&times->time[i], now, times->end_cycle[i], TPU_TIME_RESULTS);
}

static void walk_activate(const struct times *times, struct walk *walk, int64_t i, uint64_t *now)
{
	struct npl_instruction_time *time = &times->time[i];
	const uint64_t read = times->end_cycle[i] - (uint64_t)times->config->activate_latency_cycles;
	if (tpu_code(times->program)[i].flags & TPU_ACTIVATE_SWITCH)
		charge(time, now, times->transfers[TABLES].arrivals.cycle[walk->tables++], TPU_TIME_TABLE);
	charge(time, now, times->start_cycle[i], TPU_TIME_ACCUMULATORS);
	charge(time, now, read, TPU_TIME_ACTIVATE_CYCLES);
	charge(time, now, times->end_cycle[i], TPU_TIME_RESULTS);
	walk->free[TPU_ACTIVATION] = times->end_cycle[i];
}

static void walk_instruction(const struct times *times, struct walk *walk, int64_t i)
{
	const struct tpu_instruction *in = &tpu_code(times->program)[i];
	const enum tpu_unit unit = tpu_unit_of(in->opcode);
	const uint64_t pause = in->opcode == TPU_SYNC ? (uint64_t)times->config->sync_cycles : 0;
	struct npl_instruction_time *time = &times->time[i];
	uint64_t now = times->issue_cycle[i];
	time->begin = walk->earliest_issue;
	time->cycles[unit < TPU_UNITS ? TPU_TIME_QUEUE_FULL : TPU_TIME_SYNC] = now - walk->earliest_issue -
									       time->cycles[TPU_TIME_INPUT_STALL] -
									       time->cycles[TPU_TIME_RAW_STALL] -
									       time->cycles[TPU_TIME_OUTPUT_STALL];
	walk->earliest_issue = now + (uint64_t)times->config->issue_cycles + pause;
	charge(time, &now, now + 1, TPU_TIME_ISSUE);
	if (pause)
		charge(time, &now, now + pause - time->cycles[TPU_TIME_SYNC_PAUSE], TPU_TIME_SYNC);
	now += time->cycles[TPU_TIME_SYNC_PAUSE];
	if (unit < TPU_UNITS)
		charge(time, &now, walk->free[unit], TPU_TIME_UNIT_BUSY);
	if (unit == TPU_WEIGHTS)
		walk_read(times, walk, i, &now);
	else if (unit == TPU_MATRIX)
		walk_matrix(times, walk, i, &now);
	else if (unit == TPU_ACTIVATION)
		walk_activate(times, walk, i, &now);
	else if (unit < TPU_UNITS) {
		charge(time, &now, times->start_cycle[i], TPU_TIME_UNIT_BUSY);
		charge(time, &now, times->end_cycle[i], TPU_TIME_HOST_LINK);
		walk->free[unit] = times->end_cycle[i];
	}
	time->end = now;
}

static int times_finish(void *state, uint64_t cycles, struct npl_err *err)
{
	struct times *times = state;
	struct walk walk = {0};
	(void)cycles;
	if (times->out_of_memory)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the times of %lld instructions",
				(long long)times->program->count);
	attribute_stalls(times);
	for (int64_t i = 0; i < times->program->count; i++) {
		const struct npl_instruction_time *time = &times->time[i];
		walk_instruction(times, &walk, i);
		const uint64_t cycles_of_time = time->end - time->begin;
		uint64_t unattributed = cycles_of_time;
		for (int s = 0; s < TPU_TIME_CLASSES && unattributed <= cycles_of_time; s++)
			unattributed -= time->cycles[s];
		if (unattributed)
			return npl_fail(err, NPL_EINTERNAL,
					"instruction %lld takes %llu cycles, and its classes sum to %llu", (long long)i,
					(unsigned long long)cycles_of_time,
					(unsigned long long)(cycles_of_time - unattributed));
		if (times->sink->on_time(times->sink->context, i, time, err))
			return err->code;
	}
	return 0;
}

const struct sim_times tpu_times = {
	.open = times_open,
	.on_event = times_event,
	.on_cycles = times_interval,
	.instruction_of = times_instruction,
	.finish = times_finish,
	.close = times_close,
};
