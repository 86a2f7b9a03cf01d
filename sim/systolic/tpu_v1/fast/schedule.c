/* SPDX-License-Identifier: MIT
 *
 * The fast engine's schedule. Each round resolves issue as far as it can be known, then each unit as far as it can be
 * known, until the halt has issued. Program order is no order of dependency (a matrix instruction may wait in its queue
 * for a tile that a later read_weights brings), so what cannot be resolved yet is left for the next round. Each round
 * resolves something, or the program can never end. */
#include "fast.h"

#include <stdlib.h>
#include <string.h>

/* How many jobs each unit will have, and how many switches to tiles and tables there are. */
struct sizes {
	int64_t jobs[TPU_UNITS], waits, tile_switches, table_switches;
};

static struct sizes sizes_of(const struct sim_program *program)
{
	struct sizes sizes = {0};
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *in = &tpu_code(program)[i];
		enum tpu_unit unit = tpu_unit_of(in->opcode);
		if (unit < TPU_UNITS)
			sizes.jobs[unit]++;
		sizes.waits += in->opcode == TPU_SYNC || in->opcode == TPU_HALT;
		sizes.tile_switches += unit == TPU_MATRIX && (in->flags & TPU_MATRIX_SWITCH);
		sizes.table_switches += unit == TPU_ACTIVATION && (in->flags & TPU_ACTIVATE_SWITCH);
	}
	return sizes;
}

static void *array(int64_t count, size_t size)
{
	return reallocarray(NULL, (size_t)count + 1, size);
}

static void *zeroed_array(int64_t count, size_t size)
{
	return calloc((size_t)count + 1, size);
}

/* Makes room for the schedule. At most as many tiles come as are switched to, one more for the shadow plane, and a full
 * FIFO. Returns 0 or NPL_ENOMEM. */
static int open_timing(struct tpu_fast_timing *timing, struct npl_err *err)
{
	const struct sizes sizes = sizes_of(timing->program);
	bool ok = true;
	for (int u = 0; u < TPU_UNITS; u++) {
		timing->unit[u].job = array(sizes.jobs[u], sizeof *timing->unit[u].job);
		ok = ok && timing->unit[u].job;
	}
	timing->issue_cycle = array(timing->program->count, sizeof *timing->issue_cycle);
	timing->wait = array(sizes.waits, sizeof *timing->wait);
	timing->tile = zeroed_array(sizes.tile_switches + timing->config->fifo_tiles + 1, sizeof *timing->tile);
	timing->table = zeroed_array(sizes.table_switches + timing->config->parameter_tables, sizeof *timing->table);
	if (!ok || !timing->issue_cycle || !timing->wait || !timing->tile || !timing->table)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a program of %lld instructions",
				(long long)timing->program->count);
	int rc = tpu_fast_ranges_open(&timing->writers, timing->config->accumulator_rows, err);
	return rc ? rc : tpu_fast_ranges_open(&timing->readers, timing->config->accumulator_rows, err);
}

void tpu_fast_timing_close(struct tpu_fast_timing *timing)
{
	for (int u = 0; u < TPU_UNITS; u++)
		free(timing->unit[u].job);
	free(timing->issue_cycle);
	free(timing->wait);
	free(timing->tile);
	free(timing->table);
	free(timing->port.transfer);
	tpu_fast_ranges_close(&timing->writers);
	tpu_fast_ranges_close(&timing->readers);
}

/* Notes which job on the same accumulators a matrix or activate instruction waits for. */
static void note_accumulators(struct tpu_fast_timing *timing, const struct tpu_instruction *in,
			      struct tpu_fast_job *job)
{
	bool matrix = tpu_unit_of(in->opcode) == TPU_MATRIX;
	job->waits_for_job = -1;
	if (!matrix && (in->flags & TPU_ACTIVATE_FROM_BUFFER))
		return;
	job->waits_for_job = tpu_fast_ranges_most(matrix ? &timing->readers : &timing->writers, in->operand,
						  in->length);
	tpu_fast_ranges_assign(matrix ? &timing->writers : &timing->readers, in->operand, in->length,
			       timing->unit[matrix ? TPU_MATRIX : TPU_ACTIVATION].jobs_issued);
}

/* Puts an instruction that issues at `cycle` into its unit's queue. */
static void enqueue(struct tpu_fast_timing *timing, const struct tpu_instruction *in, enum tpu_unit unit_id,
		    uint64_t cycle)
{
	struct tpu_fast_unit *unit = &timing->unit[unit_id];
	struct tpu_fast_job *job = &unit->job[unit->jobs_issued];
	*job = (struct tpu_fast_job){.index = timing->next,
				     .issue_cycle = cycle,
				     .duration = tpu_fast_duration(timing, in),
				     .switch_to = -1,
				     .waits_for_job = -1};
	if (unit_id == TPU_WEIGHTS)
		job->n_transfers = in->operand;
	else if (unit_id == TPU_MATRIX && (in->flags & TPU_MATRIX_SWITCH))
		job->switch_to = timing->tile_switches++;
	else if (unit_id == TPU_ACTIVATION && (in->flags & TPU_ACTIVATE_SWITCH))
		job->switch_to = timing->table_switches++;
	if (unit_id == TPU_MATRIX || unit_id == TPU_ACTIVATION)
		note_accumulators(timing, in, job);
	unit->jobs_issued++;
}

/* Says whether it is known when the queue has room. *from: the cycle from which on it has. */
static bool queue_has_space(const struct tpu_fast_timing *timing, enum tpu_unit unit_id, uint64_t *from)
{
	const struct tpu_fast_unit *unit = &timing->unit[unit_id];
	/* the instruction that must have left the queue */
	int64_t previous = unit->jobs_issued - timing->config->queue_instructions;
	if (previous >= (unit_id == TPU_WEIGHTS ? timing->jobs_begun : unit->jobs_resolved))
		return false;
	if (previous >= 0 && unit->job[previous].start + 1 > *from)
		*from = unit->job[previous].start + 1;
	return true;
}

/* Says whether it is known when these units have nothing left to do. *from: the cycle from which on this is so; *wait:
 * what is waited for meanwhile. */
static bool units_done(const struct tpu_fast_timing *timing, unsigned units, uint64_t *from, struct tpu_fast_wait *wait)
{
	uint64_t *const until[TPU_UNITS] = {[TPU_HOST_IN] = &wait->input_end,
					    [TPU_HOST_OUT] = &wait->output_end,
					    [TPU_MATRIX] = &wait->raw_end,
					    [TPU_ACTIVATION] = &wait->raw_end};
	*wait = (struct tpu_fast_wait){.begin = timing->earliest_issue,
				       .input_end = timing->earliest_issue,
				       .raw_end = timing->earliest_issue,
				       .output_end = timing->earliest_issue};
	for (int u = 0; u < TPU_UNITS; u++) {
		const struct tpu_fast_unit *unit = &timing->unit[u];
		if (!(units & 1u << u) || !unit->jobs_issued)
			continue;
		if (unit->jobs_resolved < unit->jobs_issued)
			return false;
		const uint64_t end = unit->job[unit->jobs_issued - 1].end;
		if (until[u] && end > *until[u])
			*until[u] = end;
		*from = end > *from ? end : *from;
	}
	return true;
}

/* Issues the next instruction if its cycle is known. Says whether it was. */
static bool issue_one(struct tpu_fast_timing *timing)
{
	const struct tpu_instruction *in = &tpu_code(timing->program)[timing->next];
	const enum tpu_unit unit = tpu_unit_of(in->opcode);
	const bool waits = in->opcode == TPU_SYNC || in->opcode == TPU_HALT;
	const unsigned all = (1u << TPU_UNITS) - 1;
	const uint64_t pause = in->opcode == TPU_SYNC ? (uint64_t)timing->config->sync_cycles : 0;
	uint64_t cycle = timing->earliest_issue;
	struct tpu_fast_wait wait;
	if (waits && !units_done(timing, in->opcode == TPU_HALT ? all : in->flags, &cycle, &wait))
		return false;
	if (unit < TPU_UNITS && !queue_has_space(timing, unit, &cycle))
		return false;
	if (waits) {
		wait.pause = cycle + 1;
		wait.end = wait.pause + pause;
		timing->wait[timing->waits++] = wait;
	}
	if (unit < TPU_UNITS)
		enqueue(timing, in, unit, cycle);
	if (in->opcode == TPU_SET_CONFIG)
		timing->registers.value[in->operand] = in->length;
	timing->issue_cycle[timing->next++] = cycle;
	timing->earliest_issue = cycle + (uint64_t)timing->config->issue_cycles + pause;
	timing->outcome->counters.instructions++;
	timing->halted = in->opcode == TPU_HALT;
	return true;
}

int tpu_fast_find_times(struct tpu_fast_timing *timing, const struct tpu_engine_input *engine_input,
			struct npl_memory *weights, struct tpu_outcome *outcome, struct npl_err *err)
{
	const struct tpu_config *config = engine_input->config;
	*timing = (struct tpu_fast_timing){.config = config,
					   .program = engine_input->program,
					   .outcome = outcome,
					   .observer = engine_input->observer,
					   .registers = tpu_reset_registers(config->rows, config->columns)};
	int rc = open_timing(timing, err);
	if (!rc)
		rc = tpu_fast_port_open(timing, weights, err);
	while (!rc && !timing->halted) {
		bool moved = false;
		while (!timing->halted && issue_one(timing))
			moved = true;
		for (int u = 0; u < TPU_UNITS; u++)
			moved = tpu_fast_advance(timing, (enum tpu_unit)u) || moved;
		if (!moved && !tpu_fast_await_weights(timing))
			rc = tpu_fast_stuck(timing, err);
	}
	if (rc)
		return rc;
	outcome->cycles = timing->issue_cycle[timing->next - 1] + 1;
	tpu_fast_count_weight_memory(timing);
	tpu_fast_count_stalls(timing);
	return 0;
}
