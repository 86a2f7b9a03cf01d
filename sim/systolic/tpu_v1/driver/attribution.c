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

static void on_event(void *context, const struct sim_event *event)
{
	struct tpu_attribution *attribution = context;
	if (event->kind == TPU_ACTIVATE_STARTED)
		attribution->start_cycle[event->index] = event->cycle;
	else if (event->kind == TPU_ACTIVATE_ENDED)
		attribution->end_cycle[event->index] = event->cycle;
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

int tpu_attribution_open(struct tpu_attribution *attribution, const struct tpu_config *config,
			 const struct tpu_generated *generated, struct npl_err *err)
{
	size_t instructions = (size_t)generated->program.count;
	*attribution = (struct tpu_attribution){
		.config = config, .generated = generated, .observer = {.on_event = on_event, .on_cycles = on_cycles}};
	attribution->layer_share = calloc((size_t)generated->n_layers, sizeof *attribution->layer_share);
	attribution->value_counts = calloc(instructions, sizeof *attribution->value_counts);
	const bool counts = tpu_counts_activity(config);
	attribution->activity = counts ? calloc(instructions, sizeof *attribution->activity) : NULL;
	attribution->start_cycle = calloc(instructions, sizeof *attribution->start_cycle);
	attribution->end_cycle = calloc(instructions, sizeof *attribution->end_cycle);
	if (!attribution->layer_share || !attribution->value_counts || !attribution->start_cycle ||
	    !attribution->end_cycle || (counts && !attribution->activity)) {
		tpu_attribution_close(attribution);
		return npl_fail(err, NPL_ENOMEM, "out of memory for the events of %zu instructions", instructions);
	}
	attribution->observer.value_counts = attribution->value_counts;
	return 0;
}

void tpu_attribution_reset(struct tpu_attribution *attribution)
{
	size_t instructions = (size_t)attribution->generated->program.count;
	memset(attribution->layer_share, 0,
	       (size_t)attribution->generated->n_layers * sizeof *attribution->layer_share);
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
	free(attribution->start_cycle);
	free(attribution->end_cycle);
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
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *in = &tpu_code(program)[i];
		struct tpu_share *share = share_of(attribution, i);
		tpu_count_instruction(attribution->config, &registers, in, &share->counters);
		if (tpu_unit_of(in->opcode) == TPU_ACTIVATION)
			share->counters.activate_cycles += attribution->end_cycle[i] - attribution->start_cycle[i] -
							   (uint64_t)attribution->config->activate_latency_cycles;
		if (attribution->activity)
			tpu_add_activity(&attribution->activity[i], &share->counters);
		share->overflows += attribution->value_counts[i].overflows;
		share->saturations += attribution->value_counts[i].saturations;
		if (in->opcode == TPU_SET_CONFIG)
			registers.value[in->operand] = in->length;
	}
}

static int64_t next_activate(const struct tpu_attribution *attribution, int64_t previous)
{
	const struct sim_program *program = &attribution->generated->program;
	int64_t i = previous + 1;
	while (i < program->count && tpu_unit_of(tpu_code(program)[i].opcode) != TPU_ACTIVATION)
		i++;
	return i < program->count ? i : -1;
}

/* Attributes the intervals of one class whose cycles belong to no instruction. A cycle goes to the layer of the
 * activate that ends next after it, or of the last activate if no other follows. So an interval is cut where activates
 * end. */
static void attribute_waits(struct tpu_attribution *attribution, enum tpu_cycle_class cycle_class)
{
	int64_t activate = next_activate(attribution, -1), last = activate;
	for (int64_t s = 0; s < attribution->n_intervals; s++) {
		const struct sim_cycles *interval = &attribution->interval[s];
		if (interval->cycle_class != cycle_class || interval->instruction >= 0)
			continue;
		for (uint64_t from = interval->begin; from < interval->end;) {
			while (activate >= 0 && attribution->end_cycle[activate] <= from) {
				last = activate;
				activate = next_activate(attribution, activate);
			}
			uint64_t to = activate >= 0 && attribution->end_cycle[activate] < interval->end
					      ? attribution->end_cycle[activate]
					      : interval->end;
			struct tpu_share *share = share_of(attribution, activate >= 0 ? activate : last);
			*tpu_class_counter(&share->counters, cycle_class) += to - from;
			from = to;
		}
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
	for (int64_t s = 0; s < attribution->n_intervals; s++) {
		const struct sim_cycles *interval = &attribution->interval[s];
		if (interval->instruction >= 0)
			*tpu_class_counter(&share_of(attribution, interval->instruction)->counters,
					   interval->cycle_class) += interval->end - interval->begin;
	}
	for (enum tpu_cycle_class cycle_class = 0; cycle_class < TPU_CYCLE_CLASSES; cycle_class++)
		attribute_waits(attribution, cycle_class);
	for (int i = 0; i < attribution->generated->n_layers; i++) {
		struct tpu_share *share = &attribution->layer_share[i];
		for (enum tpu_cycle_class whole = 0; whole < TPU_WHOLE_CLASSES; whole++)
			share->cycles += *tpu_class_counter(&share->counters, whole);
	}
	attribute_in_proportions(attribution, &outcome->counters);
	return compare_sums(attribution, outcome, err);
}
