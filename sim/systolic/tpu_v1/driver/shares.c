/* SPDX-License-Identifier: MIT
 *
 * A run's cycles and counters by layer (shares.h). */
#include "shares.h"

#include "core/base/grow.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void happened(void *context, const struct tpu_happened *event)
{
	struct tpu_shares *shares = context;
	if (event->what == TPU_ACTIVATE_STARTED)
		shares->started[event->index] = event->cycle;
	else if (event->what == TPU_ACTIVATE_ENDED)
		shares->ended[event->index] = event->cycle;
}

static void spent(void *context, const struct tpu_spent *span)
{
	struct tpu_shares *shares = context;
	struct tpu_spent *more = npl_grow(shares->span, shares->n_spans, &shares->spans_room, sizeof *more);
	if (!more) {
		shares->out_of_memory = true;
		return;
	}
	shares->span = more;
	more[shares->n_spans++] = *span;
}

int tpu_shares_open(struct tpu_shares *shares, const struct tpu_config *config, const struct tpu_generated *generated,
		    struct npl_err *err)
{
	size_t instructions = (size_t)generated->program.count;
	*shares = (struct tpu_shares){
		.config = config, .generated = generated, .watcher = {.happened = happened, .spent = spent}};
	shares->of_layer = calloc((size_t)generated->n_layers, sizeof *shares->of_layer);
	shares->faults = calloc(instructions, sizeof *shares->faults);
	shares->started = calloc(instructions, sizeof *shares->started);
	shares->ended = calloc(instructions, sizeof *shares->ended);
	if (!shares->of_layer || !shares->faults || !shares->started || !shares->ended) {
		tpu_shares_close(shares);
		return npl_fail(err, NPL_ENOMEM, "out of memory for the events of %zu instructions", instructions);
	}
	shares->watcher.faults = shares->faults;
	return 0;
}

void tpu_shares_reset(struct tpu_shares *shares)
{
	size_t instructions = (size_t)shares->generated->program.count;
	memset(shares->of_layer, 0, (size_t)shares->generated->n_layers * sizeof *shares->of_layer);
	memset(shares->faults, 0, instructions * sizeof *shares->faults);
	shares->n_spans = 0;
	shares->watcher.context = shares;
}

void tpu_shares_close(struct tpu_shares *shares)
{
	free(shares->of_layer);
	free(shares->faults);
	free(shares->started);
	free(shares->ended);
	free(shares->span);
	*shares = (struct tpu_shares){0};
}

static uint64_t planes_of(const struct tpu_registers *held, enum tpu_register type)
{
	return held->value[type] == TPU_I32 ? 4 : held->value[type] == TPU_I16 ? 2 : 1;
}

static void count_matrix(const struct tpu_shares *shares, const struct tpu_registers *held,
			 const struct tpu_instruction *in, struct tpu_counters *counter)
{
	uint64_t cells = (uint64_t)(shares->config->rows * shares->config->columns);
	uint64_t vectors = in->length * (in->flags & TPU_MATRIX_INPUTS16 ? 2u : 1u);
	uint64_t useful = held->value[TPU_REG_USEFUL_CELLS];
	counter->useful_macs += vectors * useful;
	counter->unused_macs += vectors * (cells - useful);
	counter->ub_rows_read += vectors;
	counter->accumulator_writes += vectors;
	counter->tiles += in->flags & TPU_MATRIX_SWITCH ? 1 : 0;
}

static void count_activate(const struct tpu_shares *shares, const struct tpu_registers *held, int64_t i,
			   struct tpu_counters *counter)
{
	const struct tpu_instruction *in = &tpu_code(&shares->generated->program)[i];
	enum tpu_operand operand = tpu_operand_of(in->flags);
	uint64_t results = in->length;
	if (tpu_pooling_of(in->flags) != TPU_NO_POOLING)
		results = results / (held->value[TPU_REG_IN_HEIGHT] * held->value[TPU_REG_IN_WIDTH]) *
			  held->value[TPU_REG_OUT_HEIGHT] * held->value[TPU_REG_OUT_WIDTH];
	if (in->flags & TPU_ACTIVATE_FROM_BUFFER)
		counter->ub_rows_read += in->length * planes_of(held, TPU_REG_SOURCE_TYPE);
	if (operand == TPU_ADD || operand == TPU_MULTIPLY)
		counter->ub_rows_read += in->length * planes_of(held, TPU_REG_OPERAND_TYPE);
	counter->ub_rows_written += results * planes_of(held, TPU_REG_RESULT_TYPE);
	counter->activate_cycles += shares->ended[i] - shares->started[i] -
				    (uint64_t)shares->config->activate_latency_cycles;
}

static void count_instruction(const struct tpu_shares *shares, const struct tpu_registers *held, int64_t i,
			      struct tpu_counters *counter)
{
	const struct tpu_instruction *in = &tpu_code(&shares->generated->program)[i];
	uint64_t columns = (uint64_t)shares->config->columns, host_bytes;
	counter->instructions++;
	switch (tpu_unit_of(in->opcode)) {
	case TPU_MATRIX:
		count_matrix(shares, held, in, counter);
		break;
	case TPU_ACTIVATION:
		count_activate(shares, held, i, counter);
		break;
	case TPU_WEIGHTS:
		counter->weight_bytes += in->acc * columns *
					 (in->flags & TPU_WEIGHTS_PARAMETERS ? 8 : (uint64_t)shares->config->rows);
		break;
	case TPU_HOST_IN:
	case TPU_HOST_OUT:
		host_bytes = (uint64_t)in->length * held->value[TPU_REG_HOST_ROW_BYTES];
		if (in->opcode == TPU_READ_HOST_MEMORY) {
			counter->host_bytes_in += host_bytes;
			counter->ub_rows_written += in->length;
		} else {
			counter->host_bytes_out += host_bytes;
			counter->ub_rows_read += in->length;
		}
		break;
	default:
		break;
	}
}

/* What is nobody's (halt) is that of the last layer that does something. */
static struct tpu_share *share_of(const struct tpu_shares *shares, int64_t instruction)
{
	int layer = instruction < 0 ? -1 : shares->generated->of_layer[instruction];
	if (layer < 0)
		for (layer = shares->generated->n_layers - 1; layer > 0; layer--)
			if (shares->generated->layer[layer].pass == layer)
				break;
	return &shares->of_layer[layer];
}

static void count_instructions(struct tpu_shares *shares)
{
	const struct sim_program *program = &shares->generated->program;
	struct tpu_registers held = tpu_reset_registers(shares->config->rows, shares->config->columns);
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *in = &tpu_code(program)[i];
		struct tpu_share *share = share_of(shares, i);
		count_instruction(shares, &held, i, &share->counter);
		share->overflows += shares->faults[i].overflows;
		share->saturations += shares->faults[i].saturations;
		if (in->opcode == TPU_SET_CONFIG)
			held.value[in->acc] = in->length;
	}
}

static int64_t next_activate(const struct tpu_shares *shares, int64_t after)
{
	const struct sim_program *program = &shares->generated->program;
	int64_t i = after + 1;
	while (i < program->count && tpu_unit_of(tpu_code(program)[i].opcode) != TPU_ACTIVATION)
		i++;
	return i < program->count ? i : -1;
}

static uint64_t *counted_as(struct tpu_share *share, enum tpu_spending what)
{
	struct tpu_counters *counter = &share->counter;
	uint64_t *const as[TPU_SPENDINGS] = {
		[TPU_SPENT_ACTIVE] = &counter->array_active,       [TPU_SPENT_WEIGHT_STALL] = &counter->weight_stall,
		[TPU_SPENT_WEIGHT_SHIFT] = &counter->weight_shift, [TPU_SPENT_NON_MATRIX] = &counter->non_matrix,
		[TPU_SPENT_RAW_STALL] = &counter->raw_stall,       [TPU_SPENT_INPUT_STALL] = &counter->input_stall,
		[TPU_SPENT_OUTPUT_STALL] = &counter->output_stall, [TPU_SPENT_SYNC_PAUSE] = &counter->sync_pause};
	return as[what];
}

/* Spans of one spending that have no instruction, in the order of time, cut where activates end. */
static void share_waits(struct tpu_shares *shares, enum tpu_spending what)
{
	int64_t activate = next_activate(shares, -1), last = activate;
	for (int64_t s = 0; s < shares->n_spans; s++) {
		const struct tpu_spent *span = &shares->span[s];
		if (span->what != what)
			continue;
		for (uint64_t from = span->from; from < span->to;) {
			while (activate >= 0 && shares->ended[activate] <= from) {
				last = activate;
				activate = next_activate(shares, activate);
			}
			uint64_t to = activate >= 0 && shares->ended[activate] < span->to ? shares->ended[activate]
											  : span->to;
			*counted_as(share_of(shares, activate >= 0 ? activate : last), what) += to - from;
			from = to;
		}
	}
}

__extension__ typedef unsigned __int128 wide;

/* A counter of the whole run in parts as the layers' bytes of weights, or their cycles. */
static void share_out(struct tpu_shares *shares, uint64_t whole, size_t counter, bool by_weights)
{
	uint64_t all = 0, before = 0, given = 0;
	for (int i = 0; i < shares->generated->n_layers; i++)
		all += by_weights ? shares->of_layer[i].counter.weight_bytes : shares->of_layer[i].cycles;
	for (int i = 0; i < shares->generated->n_layers && all; i++) {
		struct tpu_share *share = &shares->of_layer[i];
		before += by_weights ? share->counter.weight_bytes : share->cycles;
		uint64_t upto = (uint64_t)((wide)whole * before / all);
		memcpy((char *)&share->counter + counter, &(uint64_t){upto - given}, sizeof upto);
		given = upto;
	}
}

/* What weight memory did cannot be told apart by layers: bursts of one layer's tiles find rows that the layer before has opened. */
static void share_weight_memory(struct tpu_shares *shares, const struct tpu_counters *whole)
{
	share_out(shares, whole->dram_activates, offsetof(struct tpu_counters, dram_activates), true);
	share_out(shares, whole->dram_reads, offsetof(struct tpu_counters, dram_reads), true);
	share_out(shares, whole->dram_refreshes, offsetof(struct tpu_counters, dram_refreshes), false);
	share_out(shares, whole->dram_active_cycles, offsetof(struct tpu_counters, dram_active_cycles), false);
	share_out(shares, whole->dram_idle_cycles, offsetof(struct tpu_counters, dram_idle_cycles), false);
}

/* A counter of the table from its struct, as npl_stats_read finds it. */
static int compare_sums(const struct tpu_shares *shares, const struct tpu_outcome *outcome, struct npl_err *err)
{
	uint64_t whole[TPU_COUNTERS], sum[TPU_COUNTERS] = {0}, part[TPU_COUNTERS];
	uint64_t cycles = 0, overflows = 0, saturations = 0;
	npl_stats_read(tpu_counter_table, TPU_COUNTERS, &outcome->counter, whole);
	for (int i = 0; i < shares->generated->n_layers; i++) {
		const struct tpu_share *share = &shares->of_layer[i];
		npl_stats_read(tpu_counter_table, TPU_COUNTERS, &share->counter, part);
		for (int k = 0; k < TPU_COUNTERS; k++)
			sum[k] += part[k];
		cycles += share->cycles;
		overflows += share->overflows;
		saturations += share->saturations;
	}
	for (int k = 0; k < TPU_COUNTERS; k++)
		if (sum[k] != whole[k])
			return npl_fail(err, NPL_EINTERNAL, "the layers' %s sum to %llu, the program has %llu",
					tpu_counter_table[k].name, (unsigned long long)sum[k],
					(unsigned long long)whole[k]);
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

int tpu_shares_finish(struct tpu_shares *shares, const struct tpu_outcome *outcome, struct npl_err *err)
{
	if (shares->out_of_memory)
		return npl_fail(err, NPL_ENOMEM, "out of memory for the cycles of %d layers",
				shares->generated->n_layers);
	count_instructions(shares);
	for (int64_t s = 0; s < shares->n_spans; s++) {
		const struct tpu_spent *span = &shares->span[s];
		if (span->instruction >= 0)
			*counted_as(share_of(shares, span->instruction), span->what) += span->to - span->from;
	}
	for (enum tpu_spending what = TPU_SPENT_NON_MATRIX; what < TPU_SPENDINGS; what++)
		share_waits(shares, what);
	for (int i = 0; i < shares->generated->n_layers; i++) {
		struct tpu_counters *c = &shares->of_layer[i].counter;
		shares->of_layer[i].cycles = c->array_active + c->weight_stall + c->weight_shift + c->non_matrix;
	}
	share_weight_memory(shares, &outcome->counter);
	return compare_sums(shares, outcome, err);
}
