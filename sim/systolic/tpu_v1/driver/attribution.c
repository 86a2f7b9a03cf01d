/* SPDX-License-Identifier: MIT
 *
 * A run's cycles and counters by layer (attribution.h). */
#include "attribution.h"

#include "core/base/arith.h"
#include "core/base/grow.h"
#include "count.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns the activate with this index in the program. */
static struct tpu_activate_time *activate_at(const struct tpu_attribution *attribution, int64_t index)
{
	int64_t low = 0, high = attribution->n_activates - 1;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (attribution->activate[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return &attribution->activate[low];
}

static void on_event(void *context, const struct sim_event *event)
{
	struct tpu_attribution *attribution = context;
	if (event->kind == TPU_ACTIVATE_STARTED)
		activate_at(attribution, event->index)->start = event->cycle;
	else if (event->kind == TPU_ACTIVATE_ENDED)
		activate_at(attribution, event->index)->end = event->cycle;
}

static void on_cycles(void *context, const struct sim_cycles *interval)
{
	struct tpu_attribution *attribution = context;
	struct sim_cycles *grown = npl_grow(attribution->interval, attribution->n_intervals,
					    &attribution->intervals_capacity, sizeof *grown);
	if (!grown) {
		attribution->out_of_memory = true;
		return;
	}
	attribution->interval = grown;
	grown[attribution->n_intervals++] = *interval;
}

/* Returns an array that is not zeroed: tpu_attribution_reset fills what a run adds to. */
static void *array(size_t count, size_t size)
{
	return reallocarray(NULL, count + 1, size);
}

int tpu_attribution_open(struct tpu_attribution *attribution, const struct tpu_config *config,
			 const struct tpu_generated *generated, bool timing_only, struct npl_err *err)
{
	const struct sim_program *program = &generated->program;
	const size_t instructions = (size_t)program->count;
	*attribution = (struct tpu_attribution){
		.config = config,
		.generated = generated,
		.observer = {.on_event = on_event,
			     .event_kinds = 1u << TPU_ACTIVATE_STARTED | 1u << TPU_ACTIVATE_ENDED,
			     .on_cycles = on_cycles}};
	for (size_t i = 0; i < instructions; i++)
		attribution->n_activates += tpu_unit_of(tpu_code(program)[i].opcode) == TPU_ACTIVATION;
	attribution->layer_share = array((size_t)generated->n_layers, sizeof *attribution->layer_share);
	attribution->value_counts = timing_only ? NULL : array(instructions, sizeof *attribution->value_counts);
	const bool counts = tpu_counts_activity(config);
	attribution->activity = counts ? array(instructions, sizeof *attribution->activity) : NULL;
	attribution->activate = array((size_t)attribution->n_activates, sizeof *attribution->activate);
	if (!attribution->layer_share || (!timing_only && !attribution->value_counts) || !attribution->activate ||
	    (counts && !attribution->activity)) {
		tpu_attribution_close(attribution);
		return npl_fail(err, NPL_ENOMEM, "out of memory for the events of %zu instructions", instructions);
	}
	attribution->observer.value_counts = attribution->value_counts;
	for (size_t i = 0, n = 0; i < instructions; i++)
		if (tpu_unit_of(tpu_code(program)[i].opcode) == TPU_ACTIVATION)
			attribution->activate[n++] = (struct tpu_activate_time){.index = (int64_t)i};
	return 0;
}

void tpu_attribution_reset(struct tpu_attribution *attribution)
{
	size_t instructions = (size_t)attribution->generated->program.count;
	memset(attribution->layer_share, 0,
	       (size_t)attribution->generated->n_layers * sizeof *attribution->layer_share);
	if (attribution->value_counts)
		memset(attribution->value_counts, 0, instructions * sizeof *attribution->value_counts);
	if (attribution->activity)
		memset(attribution->activity, 0, instructions * sizeof *attribution->activity);
	attribution->n_intervals = 0;
	attribution->out_of_memory = false;
	attribution->observer.context = attribution;
}

void tpu_attribution_close(struct tpu_attribution *attribution)
{
	free(attribution->layer_share);
	free(attribution->value_counts);
	free(attribution->activity);
	free(attribution->activate);
	free(attribution->interval);
	*attribution = (struct tpu_attribution){0};
}

/* Returns the share that an instruction counts for. An instruction of no layer (halt) counts for the last layer that
 * has instructions. */
static struct tpu_share *share_of(const struct tpu_attribution *attribution, int64_t instruction)
{
	int layer = instruction < 0 ? -1 : attribution->generated->of_layer[instruction];
	if (layer < 0)
		for (layer = attribution->generated->n_layers - 1; layer > 0; layer--)
			if (attribution->generated->layer[layer].pass == layer)
				break;
	return &attribution->layer_share[layer];
}

static void count_instructions(struct tpu_attribution *attribution)
{
	const struct sim_program *program = &attribution->generated->program;
	struct tpu_registers registers = tpu_reset_registers(attribution->config->rows, attribution->config->columns);
	const struct tpu_activate_time *activate = attribution->activate;
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *in = &tpu_code(program)[i];
		struct tpu_share *share = share_of(attribution, i);
		tpu_count_instruction(attribution->config, &registers, in, &share->counters);
		if (tpu_unit_of(in->opcode) == TPU_ACTIVATION) {
			share->counters.activate_cycles += activate->end - activate->start -
							   (uint64_t)attribution->config->activate_latency_cycles;
			activate++;
		}
		if (attribution->activity)
			tpu_add_activity(&attribution->activity[i], &share->counters);
		if (attribution->value_counts) {
			share->overflows += attribution->value_counts[i].overflows;
			share->saturations += attribution->value_counts[i].saturations;
		}
		if (in->opcode == TPU_SET_CONFIG)
			registers.value[in->operand] = in->length;
	}
}

/* Attributes an interval whose cycles belong to no instruction. A cycle goes to the layer of the activate that ends
 * next after it, or of the last activate if no other follows. So an interval is cut where activates end. *next: the
 * first activate, of those in the program's order, that may end after the interval begins. */
static void attribute_wait(struct tpu_attribution *attribution, const struct sim_cycles *interval, int64_t *next)
{
	const int64_t n = attribution->n_activates;
	const struct tpu_activate_time *activate = attribution->activate;
	for (uint64_t from = interval->begin; from < interval->end;) {
		while (*next < n && activate[*next].end <= from)
			++*next;
		const uint64_t to = *next < n && activate[*next].end < interval->end ? activate[*next].end
										     : interval->end;
		const int64_t instruction = *next < n ? activate[*next].index : n ? activate[n - 1].index : -1;
		*tpu_class_counter(&share_of(attribution, instruction)->counters, interval->cycle_class) += to - from;
		from = to;
	}
}

/* Attributes all intervals; those of one class are in the order of time. */
static void attribute_intervals(struct tpu_attribution *attribution)
{
	int64_t next[TPU_CYCLE_CLASSES] = {0};
	for (int64_t s = 0; s < attribution->n_intervals; s++) {
		const struct sim_cycles *interval = &attribution->interval[s];
		if (interval->instruction >= 0)
			*tpu_class_counter(&share_of(attribution, interval->instruction)->counters,
					   interval->cycle_class) += interval->end - interval->begin;
		else
			attribute_wait(attribution, interval, &next[interval->cycle_class]);
	}
}

/* A counter of the whole run, and what the layers' shares of it are in proportion to. */
struct proportion {
	size_t counter, weight; /* offsets in struct tpu_counters and struct tpu_share */
};

static void attribute_in_proportion(struct tpu_attribution *attribution, const struct tpu_counters *totals,
				    const struct proportion *p)
{
	const int n = attribution->generated->n_layers;
	const uint64_t total = *(const uint64_t *)((const char *)totals + p->counter);
	uint64_t total_weight = 0, weight_so_far = 0, attributed = 0;
	for (int i = 0; i < n; i++)
		total_weight += *sim_counter_at(&attribution->layer_share[i], p->weight);
	for (int i = 0; i < n && total_weight; i++) {
		struct tpu_share *share = &attribution->layer_share[i];
		weight_so_far += *sim_counter_at(share, p->weight);
		uint64_t attributed_to_here = (uint64_t)((npl_u128)total * weight_so_far / total_weight);
		*sim_counter_at(&share->counters, p->counter) = attributed_to_here - attributed;
		attributed = attributed_to_here;
	}
}

static void attribute_in_proportions(struct tpu_attribution *attribution, const struct tpu_counters *totals)
{
	static const struct proportion proportions[] = {
#define TPU_COUNTER(form, ...) SIM_SHARE_##form(struct tpu_counters, struct tpu_share, __VA_ARGS__)
#include "sim/systolic/tpu_v1/counters.def"
#undef TPU_COUNTER
	};
	for (size_t i = 0; i < sizeof proportions / sizeof *proportions; i++)
		attribute_in_proportion(attribution, totals, &proportions[i]);
}

/* Checks that the layers' shares sum to what the whole run counted: every counter, the cycles, overflows and
 * saturations. NPL_EINTERNAL names the first sum that differs. */
static int compare_sums(const struct tpu_attribution *attribution, const struct tpu_outcome *outcome,
			struct npl_err *err)
{
	uint64_t total[TPU_COUNTERS], sum[TPU_COUNTERS] = {0}, part[TPU_COUNTERS];
	uint64_t cycles = 0, overflows = 0, saturations = 0;
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &outcome->counters, total);
	for (int i = 0; i < attribution->generated->n_layers; i++) {
		const struct tpu_share *share = &attribution->layer_share[i];
		npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &share->counters, part);
		for (int k = 0; k < TPU_COUNTERS; k++)
			sum[k] += part[k];
		cycles += share->cycles;
		overflows += share->overflows;
		saturations += share->saturations;
	}
	for (int k = 0; k < TPU_COUNTERS; k++)
		if (sum[k] != total[k])
			return npl_fail(err, NPL_EINTERNAL, "the layers' %s sum to %llu, the program has %llu",
					tpu_counter_defs[k].name, (unsigned long long)sum[k],
					(unsigned long long)total[k]);
	if (cycles != outcome->cycles || overflows != outcome->overflows || saturations != outcome->saturations)
		return npl_fail(
			err, NPL_EINTERNAL,
			"the layers' cycles, overflows and saturations sum to %llu, %llu and %llu, the program has "
			"%llu, %llu and %llu",
			(unsigned long long)cycles, (unsigned long long)overflows, (unsigned long long)saturations,
			(unsigned long long)outcome->cycles, (unsigned long long)outcome->overflows,
			(unsigned long long)outcome->saturations);
	return 0;
}

int tpu_attribution_finish(struct tpu_attribution *attribution, const struct tpu_outcome *outcome, struct npl_err *err)
{
	if (attribution->out_of_memory)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the cycles of %d layers",
				attribution->generated->n_layers);
	count_instructions(attribution);
	attribute_intervals(attribution);
	for (int i = 0; i < attribution->generated->n_layers; i++) {
		struct tpu_share *share = &attribution->layer_share[i];
		for (enum tpu_cycle_class whole = 0; whole < TPU_WHOLE_CLASSES; whole++)
			share->cycles += *tpu_class_counter(&share->counters, whole);
	}
	attribute_in_proportions(attribution, &outcome->counters);
	return compare_sums(attribution, outcome, err);
}
