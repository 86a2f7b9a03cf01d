/* SPDX-License-Identifier: MIT
 *
 * Runs and comparisons: see run.h. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static int64_t count_items(const struct sim_program *program, bool tables)
{
	int64_t count = 0;
	for (int64_t i = 0; i < program->count; i++)
		if (tpu_code(program)[i].opcode == TPU_READ_WEIGHTS &&
		    !(tpu_code(program)[i].flags & TPU_WEIGHTS_PARAMETERS) == !tables)
			count += tpu_code(program)[i].operand;
	return count;
}

/* How many indices a kind of event can have. */
static int64_t indices(const struct sim_program *program, int kind)
{
	return tpu_event_indices[kind] == TPU_INDEX_INSTRUCTION
		       ? program->count
		       : count_items(program, tpu_event_indices[kind] == TPU_INDEX_TABLE);
}

static void report_fault(struct program_run *run, const char *fault, const char *subject, long long index)
{
	if (!run->wrong[0])
		snprintf(run->wrong, sizeof run->wrong, "event '%s' of %lld: %s", subject, index, fault);
}

/* By cycle, then by name, then by index: with the same events two runs have them in the same order. */
static bool in_order(const struct sim_event *previous, const struct sim_event *event)
{
	int names = strcmp(tpu_event_names[previous->kind], tpu_event_names[event->kind]);
	if (previous->cycle != event->cycle)
		return previous->cycle < event->cycle;
	return names ? names < 0 : previous->index < event->index;
}

static void on_event(void *context, const struct sim_event *event)
{
	struct program_run *run = context;
	if ((unsigned)event->kind >= TPU_EVENTS) {
		report_fault(run, "no such kind", "?", event->kind);
		return;
	}
	struct program_events *events = &run->events[event->kind];
	const char *name = tpu_event_names[event->kind];
	if (event->index < 0 || event->index >= events->count) {
		report_fault(run, "no such index", name, event->index);
		return;
	}
	if (events->cycle[event->index] != PROGRAM_NEVER)
		report_fault(run, "came twice", name, event->index);
	if (run->any && !in_order(&run->last, event))
		report_fault(run, "came after a later one", name, event->index);
	run->any = true;
	run->last = *event;
	events->cycle[event->index] = event->cycle;
	events->seen++;
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	struct program_run *run = context;
	if (!program_intervals_add(run->intervals, interval))
		report_fault(run, "no such class, or no memory", "cycles", interval->cycle_class);
}

static uint64_t mix(uint64_t hash, const uint8_t *bytes, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

static int on_retired(void *context, int64_t instruction, struct npl_err *err)
{
	struct program_run *run = context;
	(void)err;
	if (instruction < 0 || instruction >= run->c->program.count) {
		report_fault(run, "no such instruction", "retired", instruction);
		return 0;
	}
	const struct program_result *r = &run->result[instruction];
	const uint8_t *memory = r->to_host ? run->host : run->buffer;
	uint64_t hash = 0xcbf29ce484222325ull;
	for (int p = 0; p < r->planes && memory; p++)
		for (int64_t i = 0; i < r->items; i++) {
			int64_t at = r->first + p * r->plane_bytes;
			at += r->lanes ? (r->vector + i) / r->row_vectors * r->stride +
						 (r->vector + i) % r->row_vectors * r->lanes
				       : i * r->stride;
			hash = mix(hash, memory + at, r->bytes);
		}
	run->retired[instruction]++;
	run->retired_hash[instruction] = hash;
	return 0;
}

static struct program_result activate_result(const struct tpu_instruction *in, const struct tpu_registers *r,
					     int64_t row_bytes)
{
	int64_t results = in->length, type = r->value[TPU_REG_RESULT_TYPE];
	if (tpu_pooling_of(in->flags))
		results = results / ((int64_t)r->value[TPU_REG_IN_HEIGHT] * r->value[TPU_REG_IN_WIDTH]) *
			  r->value[TPU_REG_OUT_HEIGHT] * r->value[TPU_REG_OUT_WIDTH];
	return (struct program_result){.first = in->ub * row_bytes + r->value[TPU_REG_RESULT_LANE],
				       .stride = row_bytes,
				       .bytes = r->value[TPU_REG_RESULT_COLUMNS],
				       .items = results,
				       .vector = r->value[TPU_REG_FIRST_RESULT],
				       .row_vectors = r->value[TPU_REG_RESULT_ROW_PIXELS],
				       .lanes = r->value[TPU_REG_RESULT_PIXEL_LANES],
				       .planes = type == TPU_I32   ? 4
						 : type == TPU_I16 ? 2
								   : 1,
				       .plane_bytes = r->value[TPU_REG_RESULT_PLANE_ROWS] * row_bytes};
}

/* What each instruction writes, from the registers as it finds them. */
static void find_results(struct program_run *run)
{
	const struct sim_program *program = &run->c->program;
	int64_t row_bytes = tpu_row_bytes(&run->c->config);
	struct tpu_registers r = tpu_reset_registers(run->c->config.rows, run->c->config.columns);
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *in = tpu_code(program) + i;
		struct program_result *result = run->result + i;
		if (in->opcode == TPU_SET_CONFIG)
			r.value[in->operand] = in->length;
		else if (in->opcode == TPU_ACTIVATE)
			*result = activate_result(in, &r, row_bytes);
		else if (in->opcode == TPU_READ_HOST_MEMORY)
			*result = (struct program_result){.first = in->ub * row_bytes,
							  .stride = row_bytes,
							  .bytes = row_bytes,
							  .items = in->length,
							  .planes = 1};
		else if (in->opcode == TPU_WRITE_HOST_MEMORY)
			*result = (struct program_result){.to_host = true,
							  .first = r.value[TPU_REG_HOST_ADDRESS],
							  .stride = r.value[TPU_REG_HOST_STRIDE],
							  .bytes = r.value[TPU_REG_HOST_ROW_BYTES],
							  .items = in->length,
							  .planes = 1};
	}
}

static uint8_t *copy(const uint8_t *bytes, size_t count)
{
	uint8_t *copied = malloc(count ? count : 1);
	if (copied)
		memcpy(copied, bytes, count);
	return copied;
}

static bool open_run(struct program_run *run, const struct program_case *c, bool timing_only)
{
	size_t count = (size_t)c->program.count;
	*run = (struct program_run){.c = c};
	if (!timing_only) {
		run->buffer = copy(c->buffer, c->buffer_bytes);
		run->host = copy(c->host, c->host_bytes);
	}
	run->retired = calloc(count, sizeof *run->retired);
	run->retired_hash = calloc(count, sizeof *run->retired_hash);
	run->result = calloc(count, sizeof *run->result);
	run->value_counts = calloc(count, sizeof *run->value_counts);
	run->activity = calloc(count, sizeof *run->activity);
	bool ok = run->activity && run->retired && run->retired_hash && run->result && run->value_counts &&
		  (timing_only || (run->buffer && run->host));
	for (int kind = 0; kind < TPU_EVENTS && ok; kind++) {
		struct program_events *events = &run->events[kind];
		events->count = indices(&c->program, kind);
		events->cycle = malloc(((size_t)events->count + 1) * sizeof *events->cycle);
		ok = events->cycle;
		for (int64_t i = 0; i < events->count && ok; i++)
			events->cycle[i] = PROGRAM_NEVER;
	}
	return ok;
}

bool program_run(struct program_run *run, tpu_engine *engine, const struct program_case *c, bool timing_only)
{
	if (!open_run(run, c, timing_only))
		return false;
	find_results(run);
	struct tpu_memory memory = {.buffer = run->buffer,
				    .weights = timing_only ? NULL : c->weights,
				    .weight_bytes = c->weight_bytes,
				    .host = run->host,
				    .host_bytes = c->host_bytes,
				    .timing_only = timing_only};
	struct sim_observer observer = {.context = run,
					.on_event = on_event,
					.on_cycles = on_cycles,
					.on_retired = on_retired,
					.value_counts = run->value_counts};
	const struct tpu_engine_input engine_input = {.config = &c->config,
						      .program = &c->program,
						      .memory = memory,
						      .observer = &observer,
						      .activity = run->activity};
	run->rc = engine(&engine_input, &run->outcome, &run->err);
	return run->rc != NPL_ENOMEM;
}

void program_run_free(struct program_run *run)
{
	free(run->buffer);
	free(run->host);
	free(run->retired);
	free(run->retired_hash);
	free(run->result);
	free(run->value_counts);
	free(run->activity);
	program_intervals_free(run->intervals);
	for (int kind = 0; kind < TPU_EVENTS; kind++)
		free(run->events[kind].cycle);
	*run = (struct program_run){0};
}

/* Whether two engines refuse for the same reason, which ends with the instruction at which issue is stuck. */
static bool same_refusal(const struct program_run *a, const struct program_run *b)
{
	char word[40], *last = NULL;
	snprintf(word, sizeof word, "; instruction %lld:", (long long)a->c->stuck_at);
	for (char *at = strstr(a->err.msg, "; "); at; at = strstr(at + 1, "; "))
		last = at;
	return !strcmp(a->err.msg, b->err.msg) && (a->c->stuck_at < 0 || (last && !strncmp(last, word, strlen(word))));
}

static bool same_outcome(const struct tpu_outcome *a, const struct tpu_outcome *b, bool times_only, char *reason,
			 size_t reason_bytes)
{
	uint64_t x[TPU_COUNTERS], y[TPU_COUNTERS];
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &a->counters, x);
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &b->counters, y);
	if (a->cycles != b->cycles) {
		snprintf(reason, reason_bytes, "%llu and %llu cycles", (unsigned long long)a->cycles,
			 (unsigned long long)b->cycles);
		return false;
	}
	for (int i = 0; i < TPU_COUNTERS; i++)
		if (x[i] != y[i] && !(times_only && tpu_counter_defs[i].partition == NPL_COUNTER_OF_VALUES)) {
			snprintf(reason, reason_bytes, "%s is %llu and %llu", tpu_counter_defs[i].name,
				 (unsigned long long)x[i], (unsigned long long)y[i]);
			return false;
		}
	if (!times_only && (a->overflows != b->overflows || a->saturations != b->saturations)) {
		snprintf(reason, reason_bytes, "%llu and %llu overflows, %llu and %llu saturations",
			 (unsigned long long)a->overflows, (unsigned long long)b->overflows,
			 (unsigned long long)a->saturations, (unsigned long long)b->saturations);
		return false;
	}
	return true;
}

static bool same_events(const struct program_run *a, const struct program_run *b, char *reason, size_t reason_bytes)
{
	for (int kind = 0; kind < TPU_EVENTS; kind++)
		for (int64_t i = 0; i < a->events[kind].count; i++) {
			uint64_t x = a->events[kind].cycle[i], y = b->events[kind].cycle[i];
			if (x != y) {
				snprintf(reason, reason_bytes, "'%s' of %lld at %lld and %lld", tpu_event_names[kind],
					 (long long)i, (long long)x, (long long)y);
				return false;
			}
		}
	return true;
}

static bool same_bytes(const char *label, const uint8_t *a, const uint8_t *b, size_t count, int64_t row_bytes,
		       char *reason, size_t reason_bytes)
{
	if (!memcmp(a, b, count))
		return true;
	size_t i = 0;
	while (a[i] == b[i])
		i++;
	snprintf(reason, reason_bytes, "%s: byte %zu (row %lld, lane %lld) is %u and %u", label, i,
		 (long long)((int64_t)i / row_bytes), (long long)((int64_t)i % row_bytes), a[i], b[i]);
	return false;
}

static bool same_retirement(const struct program_run *a, const struct program_run *b, bool times_only, char *reason,
			    size_t reason_bytes)
{
	for (int64_t i = 0; i < a->c->program.count; i++) {
		int once = tpu_unit_of(tpu_code(&a->c->program)[i].opcode) < TPU_UNITS;
		if (a->retired[i] != once || b->retired[i] != once) {
			snprintf(reason, reason_bytes, "instruction %lld retired %d and %d times, expected %d",
				 (long long)i, a->retired[i], b->retired[i], once);
			return false;
		}
		if (!times_only && a->retired_hash[i] != b->retired_hash[i]) {
			snprintf(reason, reason_bytes, "what instruction %lld had written when it retired",
				 (long long)i);
			return false;
		}
	}
	return true;
}

static bool same_value_counts(const struct program_run *a, const struct program_run *b, char *reason,
			      size_t reason_bytes)
{
	for (int64_t i = 0; i < a->c->program.count; i++) {
		const struct sim_value_counts *x = a->value_counts + i, *y = b->value_counts + i;
		if (x->overflows == y->overflows && x->saturations == y->saturations)
			continue;
		snprintf(reason, reason_bytes,
			 "instruction %lld has %llu and %llu overflows, %llu and %llu saturations", (long long)i,
			 (unsigned long long)x->overflows, (unsigned long long)y->overflows,
			 (unsigned long long)x->saturations, (unsigned long long)y->saturations);
		return false;
	}
	return true;
}

/* The activity of operands is that of the same instructions. */
static bool same_activity(const struct program_run *a, const struct program_run *b, char *reason, size_t reason_bytes)
{
	for (int64_t i = 0; i < a->c->program.count; i++)
		for (int k = 0; k < TPU_ACTIVITY_COUNTERS; k++) {
			const uint64_t x = ((const uint64_t *)&a->activity[i])[k],
				       y = ((const uint64_t *)&b->activity[i])[k];
			if (x == y)
				continue;
			snprintf(reason, reason_bytes, "instruction %lld has %llu and %llu %s", (long long)i,
				 (unsigned long long)x, (unsigned long long)y,
				 tpu_counter_defs[TPU_COUNTERS - TPU_ACTIVITY_COUNTERS + k].name);
			return false;
		}
	return true;
}

/* That of all instructions is the program's, and no product of idle cells or cycles is counted. */
static bool activity_adds_up(const struct program_run *run, char *reason, size_t reason_bytes)
{
	const struct tpu_counters *all = &run->outcome.counters;
	struct tpu_counters sum = {0};
	for (int64_t i = 0; i < run->c->program.count; i++)
		tpu_add_activity(&run->activity[i], &sum);
	const bool ok = sum.zero_products == all->zero_products && sum.ub_read_toggles == all->ub_read_toggles &&
			sum.partial_product_toggles == all->partial_product_toggles &&
			sum.input_toggles == all->input_toggles && sum.weight_toggles == all->weight_toggles &&
			sum.ub_write_toggles == all->ub_write_toggles &&
			all->zero_products <= all->useful_macs + all->unused_macs;
	if (!ok)
		snprintf(reason, reason_bytes, "the activity of all instructions is not the program's");
	return ok;
}

static bool adds_up(const struct program_run *run, char *reason, size_t reason_bytes)
{
	const struct sim_program *program = &run->c->program;
	return activity_adds_up(run, reason, reason_bytes) &&
	       program_intervals_add_up(run->intervals, program, &run->outcome, reason, reason_bytes) &&
	       program_value_counts_add_up(run->value_counts, program, &run->outcome, reason, reason_bytes);
}

bool program_same(const struct program_run *a, const struct program_run *b, bool times_only, char *reason,
		  size_t reason_bytes)
{
	if (a->rc != b->rc || (a->rc && !same_refusal(a, b))) {
		snprintf(reason, reason_bytes, "return codes %d (%.150s) and %d (%.150s)", a->rc, a->err.msg, b->rc,
			 b->err.msg);
		return false;
	}
	if (a->wrong[0] || b->wrong[0]) {
		snprintf(reason, reason_bytes, "%s; %s", a->wrong, b->wrong);
		return false;
	}
	if (a->rc)
		return true;
	const struct program_case *c = a->c;
	int64_t row_bytes = tpu_row_bytes(&c->config);
	if (!times_only &&
	    (!same_bytes("unified buffer", a->buffer, b->buffer, c->buffer_bytes, row_bytes, reason, reason_bytes) ||
	     !same_bytes("host memory", a->host, b->host, c->host_bytes, row_bytes, reason, reason_bytes)))
		return false;
	return same_events(a, b, reason, reason_bytes) &&
	       same_outcome(&a->outcome, &b->outcome, times_only, reason, reason_bytes) &&
	       same_retirement(a, b, times_only, reason, reason_bytes) &&
	       program_intervals_same(a->intervals, b->intervals, reason, reason_bytes) &&
	       (times_only ||
		(same_value_counts(a, b, reason, reason_bytes) && same_activity(a, b, reason, reason_bytes))) &&
	       adds_up(a, reason, reason_bytes) && adds_up(b, reason, reason_bytes);
}
