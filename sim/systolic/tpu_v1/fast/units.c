/* SPDX-License-Identifier: MIT
 *
 * Finds when the next instruction of a unit of the fast engine starts and ends, for each unit by its rule in
 * docs/tpu-isa.md. A function returns false while something that the instruction depends on is not known. */
#include "fast.h"

#include "core/base/arith.h"

/* Returns the job before the next one, or a job that ended at 0. */
static struct tpu_fast_job previous_job(const struct tpu_fast_unit *unit)
{
	return unit->jobs_resolved ? unit->job[unit->jobs_resolved - 1] : (struct tpu_fast_job){0};
}

static bool resolve_link(const struct tpu_fast_unit *unit, struct tpu_fast_job *job)
{
	job->start = npl_max_u64(job->issue_cycle + 1, previous_job(unit).end);
	job->end = job->start + job->duration;
	return true;
}

static bool resolve_matrix(struct tpu_fast_timing *timing, const struct tpu_fast_unit *unit, struct tpu_fast_job *job)
{
	const struct tpu_config *config = timing->config;
	const struct tpu_fast_unit *activation = &timing->unit[TPU_ACTIVATION];
	uint64_t registers = (uint64_t)config->matrix_registers, first_write = (uint64_t)config->rows - 1 + registers;
	const struct tpu_fast_job last = previous_job(unit);
	uint64_t start = npl_max_u64(job->issue_cycle + 1, last.start + last.duration);
	if (job->switch_to >= timing->tiles_popped || job->waits_for_job >= activation->jobs_resolved)
		return false;
	if (job->switch_to >= 0)
		start = npl_max_u64(start, timing->tile[job->switch_to].pop_cycle);
	if (job->waits_for_job >= 0) {
		const struct tpu_fast_job *reader = &activation->job[job->waits_for_job];
		uint64_t read = reader->start + reader->duration;
		start = npl_max_u64(start, npl_max_u64(reader->start, read > first_write ? read - first_write : 0));
	}
	job->start = start;
	job->end = start + job->duration + (uint64_t)(config->rows + config->columns - 2) + registers;
	if (job->switch_to >= 0) {
		timing->tile[job->switch_to].switch_cycle = start;
		timing->tiles_taken++;
		tpu_fast_shift_tiles(timing);
	}
	return true;
}

static bool resolve_activate(struct tpu_fast_timing *timing, const struct tpu_fast_unit *unit, struct tpu_fast_job *job)
{
	const struct tpu_fast_unit *matrix = &timing->unit[TPU_MATRIX];
	uint64_t start = npl_max_u64(job->issue_cycle + 1, previous_job(unit).end);
	if (job->switch_to >= timing->tables_loaded || job->waits_for_job >= matrix->jobs_resolved)
		return false;
	if (job->switch_to >= 0)
		start = npl_max_u64(start, timing->table[job->switch_to].load_cycle);
	if (job->waits_for_job >= 0)
		start = npl_max_u64(start, matrix->job[job->waits_for_job].end);
	job->start = start;
	job->end = start + job->duration + (uint64_t)timing->config->activate_latency_cycles;
	if (job->switch_to >= 0) {
		timing->table[job->switch_to].use_cycle = start;
		timing->tables_taken++;
	}
	return true;
}

static bool resolve(struct tpu_fast_timing *timing, enum tpu_unit unit_id)
{
	struct tpu_fast_unit *unit = &timing->unit[unit_id];
	struct tpu_fast_job *job = &unit->job[unit->jobs_resolved];
	if (unit_id == TPU_MATRIX)
		return resolve_matrix(timing, unit, job);
	if (unit_id == TPU_ACTIVATION)
		return resolve_activate(timing, unit, job);
	return resolve_link(unit, job);
}

bool tpu_fast_advance(struct tpu_fast_timing *timing, enum tpu_unit unit_id)
{
	struct tpu_fast_unit *unit = &timing->unit[unit_id];
	int64_t resolved = unit->jobs_resolved;
	if (unit_id == TPU_WEIGHTS)
		return tpu_fast_advance_weights(timing);
	while (unit->jobs_resolved < unit->jobs_issued && resolve(timing, unit_id))
		unit->jobs_resolved++;
	return unit->jobs_resolved > resolved;
}
