/* SPDX-License-Identifier: MIT
 *
 * See intervals.h. */
#include "intervals.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[TPU_CYCLE_CLASSES] = {
	[TPU_CYCLES_ARRAY_ACTIVE] = "active", [TPU_CYCLES_WEIGHT_STALL] = "stall", [TPU_CYCLES_WEIGHT_SHIFT] = "shift",
	[TPU_CYCLES_NON_MATRIX] = "idle",     [TPU_CYCLES_RAW_STALL] = "raw",      [TPU_CYCLES_INPUT_STALL] = "input",
	[TPU_CYCLES_OUTPUT_STALL] = "output", [TPU_CYCLES_SYNC_PAUSE] = "pause",
};

_Static_assert(PROGRAM_STREAMS == 1 + TPU_CYCLE_CLASSES - TPU_WHOLE_CLASSES, "each part has a stream of its own");

static int stream_of(enum tpu_cycle_class cycle_class)
{
	return cycle_class == TPU_CYCLES_RAW_STALL      ? PROGRAM_RAW
	       : cycle_class == TPU_CYCLES_INPUT_STALL  ? PROGRAM_INPUT
	       : cycle_class == TPU_CYCLES_OUTPUT_STALL ? PROGRAM_OUTPUT
	       : cycle_class == TPU_CYCLES_SYNC_PAUSE   ? PROGRAM_PAUSE
							: PROGRAM_SHARES;
}

bool program_intervals_add(struct program_intervals stream[PROGRAM_STREAMS], const struct sim_cycles *interval)
{
	if ((unsigned)interval->cycle_class >= TPU_CYCLE_CLASSES)
		return false;
	struct program_intervals *s = &stream[stream_of(interval->cycle_class)];
	if (s->count == s->capacity) {
		int64_t capacity = 2 * s->capacity + 16;
		struct sim_cycles *grown = realloc(s->interval, (size_t)capacity * sizeof *grown);
		if (!grown)
			return false;
		s->interval = grown;
		s->capacity = capacity;
	}
	s->interval[s->count++] = *interval;
	return true;
}

void program_intervals_free(struct program_intervals stream[PROGRAM_STREAMS])
{
	for (int i = 0; i < PROGRAM_STREAMS; i++) {
		free(stream[i].interval);
		stream[i] = (struct program_intervals){0};
	}
}

/* "shift 4-7 i1" */
static void put_interval(const struct sim_cycles *interval, char *text, size_t n)
{
	int length = snprintf(text, n, "%s %llu-%llu", names[interval->cycle_class],
			      (unsigned long long)interval->begin, (unsigned long long)interval->end);
	if (interval->instruction != -1 && length > 0 && (size_t)length < n)
		snprintf(text + length, n - (size_t)length, " i%lld", (long long)interval->instruction);
}

bool program_intervals_same(const struct program_intervals a[PROGRAM_STREAMS],
			    const struct program_intervals b[PROGRAM_STREAMS], char *reason, size_t reason_bytes)
{
	for (int k = 0; k < PROGRAM_STREAMS; k++)
		for (int64_t i = 0; i < a[k].count || i < b[k].count; i++) {
			char x[80] = "none", y[80] = "none";
			const struct sim_cycles *p = a[k].interval + i, *q = b[k].interval + i;
			if (i < a[k].count && i < b[k].count && p->cycle_class == q->cycle_class &&
			    p->begin == q->begin && p->end == q->end && p->instruction == q->instruction)
				continue;
			if (i < a[k].count)
				put_interval(p, x, sizeof x);
			if (i < b[k].count)
				put_interval(q, y, sizeof y);
			snprintf(reason, reason_bytes, "interval %lld is '%s' and '%s'", (long long)i, x, y);
			return false;
		}
	return true;
}

/* Whether an interval can follow the one before in its stream; previous NULL: it is the first. */
static bool can_follow(const struct sim_cycles *interval, const struct sim_cycles *previous, int stream)
{
	uint64_t end = previous ? previous->end : 0;
	if (interval->begin >= interval->end || interval->begin < end ||
	    (stream == PROGRAM_SHARES && interval->begin > end))
		return false;
	return !previous || interval->begin > end || interval->cycle_class != previous->cycle_class ||
	       interval->instruction != previous->instruction;
}

static bool right_instruction(const struct sim_cycles *interval, const struct sim_program *program)
{
	if (interval->cycle_class != TPU_CYCLES_ARRAY_ACTIVE && interval->cycle_class != TPU_CYCLES_WEIGHT_STALL &&
	    interval->cycle_class != TPU_CYCLES_WEIGHT_SHIFT)
		return interval->instruction == -1;
	if (interval->instruction < 0 || interval->instruction >= program->count)
		return false;
	const struct tpu_instruction *in = tpu_code(program) + interval->instruction;
	return tpu_unit_of(in->opcode) == TPU_MATRIX &&
	       (interval->cycle_class == TPU_CYCLES_ARRAY_ACTIVE || in->flags & TPU_MATRIX_SWITCH);
}

bool program_intervals_add_up(const struct program_intervals stream[PROGRAM_STREAMS], const struct sim_program *program,
			      const struct tpu_outcome *outcome, char *reason, size_t reason_bytes)
{
	struct tpu_counters counters = outcome->counters;
	uint64_t sum[TPU_CYCLE_CLASSES] = {0}, all = 0;
	for (int s = 0; s < PROGRAM_STREAMS; s++)
		for (int64_t i = 0; i < stream[s].count; i++) {
			const struct sim_cycles *interval = stream[s].interval + i;
			sum[interval->cycle_class] += interval->end - interval->begin;
			if (can_follow(interval, i ? interval - 1 : NULL, s) && right_instruction(interval, program))
				continue;
			char text[80];
			put_interval(interval, text, sizeof text);
			snprintf(reason, reason_bytes, "interval %lld, '%s', cannot be", (long long)i, text);
			return false;
		}
	for (int s = 0; s < TPU_CYCLE_CLASSES; s++) {
		all += s < TPU_WHOLE_CLASSES ? sum[s] : 0;
		const uint64_t counted = *tpu_class_counter(&counters, s);
		if (sum[s] == counted)
			continue;
		snprintf(reason, reason_bytes, "intervals of '%s' add up to %llu cycles, expected %llu", names[s],
			 (unsigned long long)sum[s], (unsigned long long)counted);
		return false;
	}
	if (all == outcome->cycles)
		return true;
	snprintf(reason, reason_bytes, "intervals share out %llu cycles, expected %llu", (unsigned long long)all,
		 (unsigned long long)outcome->cycles);
	return false;
}

bool program_value_counts_add_up(const struct sim_value_counts *value_counts, const struct sim_program *program,
				 const struct tpu_outcome *outcome, char *reason, size_t reason_bytes)
{
	struct sim_value_counts sum = {0, 0};
	for (int64_t i = 0; i < program->count; i++) {
		enum tpu_unit unit = tpu_unit_of(tpu_code(program)[i].opcode);
		sum.overflows += value_counts[i].overflows;
		sum.saturations += value_counts[i].saturations;
		if (unit == TPU_ACTIVATION || value_counts[i].overflows + value_counts[i].saturations == 0)
			continue;
		snprintf(reason, reason_bytes, "instruction %lld has %llu overflows and %llu saturations", (long long)i,
			 (unsigned long long)value_counts[i].overflows,
			 (unsigned long long)value_counts[i].saturations);
		return false;
	}
	if (sum.overflows == outcome->overflows && sum.saturations == outcome->saturations)
		return true;
	snprintf(reason, reason_bytes, "instructions have %llu of %llu overflows, %llu of %llu saturations",
		 (unsigned long long)sum.overflows, (unsigned long long)outcome->overflows,
		 (unsigned long long)sum.saturations, (unsigned long long)outcome->saturations);
	return false;
}

/* Appends to a list in words. */
static void append(char *text, size_t n, size_t *length, const char *item)
{
	int printed = snprintf(text + *length, n - *length, "%s%s", *length ? ", " : "", item);
	*length = printed > 0 && *length + (size_t)printed < n ? *length + (size_t)printed : n - 1;
}

void program_intervals_text(const struct program_intervals stream[PROGRAM_STREAMS], char *text, size_t n)
{
	size_t length = 0;
	text[0] = '\0';
	for (int s = 0; s < PROGRAM_STREAMS; s++)
		for (int64_t i = 0; i < stream[s].count; i++) {
			char item[80];
			put_interval(stream[s].interval + i, item, sizeof item);
			append(text, n, &length, item);
		}
}

void program_value_counts_text(const struct sim_value_counts *value_counts, int64_t count, char *text, size_t n)
{
	size_t length = 0;
	text[0] = '\0';
	for (int64_t i = 0; i < count; i++)
		for (int k = 0; k < 2; k++) {
			uint64_t value = k ? value_counts[i].saturations : value_counts[i].overflows;
			char item[60];
			snprintf(item, sizeof item, "i%lld %llu %s", (long long)i, (unsigned long long)value,
				 k ? "saturated" : "wrapped");
			if (value)
				append(text, n, &length, item);
		}
}
