/* SPDX-License-Identifier: MIT
 *
 * The fast engine's weights unit: which transfer is next and when it may begin, how long it takes with the preset
 * fixed, and when tiles go from the FIFO into the shadow plane. A transfer's end is a whole number of cycles and a part
 * of one in units of 1 / (bytes per second), so that a thousand transfers of 1343.99 cycles end where they should.
 * port_memory.c does any other memory. */
#include "fast.h"

/* Takes the port for `bytes` from cycle `ready` on, or from the end of the transfer before if that is in a later
 * cycle. */
static void transfer(struct tpu_fast_timing *timing, uint64_t ready, uint64_t bytes)
{
	const uint64_t rate = (uint64_t)timing->config->weight_bytes_per_second;
	uint64_t scaled = bytes * (uint64_t)timing->config->clock_hz; /* at most 2^24 * 1e10 */
	if (ready > timing->port.free_cycle) {
		timing->port.free_cycle = ready;
		timing->port.free_part = 0;
	}
	timing->port.last_begin_cycle = timing->port.free_cycle;
	timing->port.free_cycle += scaled / rate;
	timing->port.free_part += scaled % rate;
	if (timing->port.free_part >= rate) {
		timing->port.free_part -= rate;
		timing->port.free_cycle++;
	}
}

static uint64_t port_free(const struct tpu_fast_port *port)
{
	return port->free_cycle + (port->free_part > 0);
}

void tpu_fast_shift_tiles(struct tpu_fast_timing *timing)
{
	for (; timing->tiles_popped < timing->tiles_pushed && timing->tiles_popped <= timing->tiles_taken;
	     timing->tiles_popped++) {
		struct tpu_fast_tile *tile = &timing->tile[timing->tiles_popped];
		tile->shift_cycle = tile->push_cycle;
		if (timing->tiles_popped && tile[-1].switch_cycle > tile->shift_cycle)
			tile->shift_cycle = tile[-1].switch_cycle;
		tile->pop_cycle = tile->shift_cycle + (uint64_t)timing->config->rows;
	}
}

/* Says whether it is known when the FIFO has room for a tile. *ready: the cycle from which on it has. */
static bool tile_has_space(const struct tpu_fast_timing *timing, uint64_t *ready)
{
	int64_t previous = timing->tiles_begun - timing->config->fifo_tiles; /* this tile must have left the FIFO */
	if (previous >= timing->tiles_popped)
		return false;
	if (previous >= 0 && timing->tile[previous].pop_cycle > *ready)
		*ready = timing->tile[previous].pop_cycle;
	return true;
}

static bool table_has_space(const struct tpu_fast_timing *timing, uint64_t *ready)
{
	int64_t previous = timing->tables_begun -
			   timing->config->parameter_tables; /* this table must be in use, or past it */
	if (previous >= timing->tables_taken)
		return false;
	if (previous >= 0 && timing->table[previous].use_cycle + 1 > *ready)
		*ready = timing->table[previous].use_cycle + 1;
	return true;
}

/* Returns the job whose transfer is next. */
static int64_t next_job(const struct tpu_fast_timing *timing)
{
	return timing->transfers_begun ? timing->jobs_begun - 1 : timing->jobs_begun;
}

bool tpu_fast_next_transfer(const struct tpu_fast_timing *timing, struct tpu_fast_next *next)
{
	const struct tpu_fast_unit *unit = &timing->unit[TPU_WEIGHTS];
	if (next_job(timing) == unit->jobs_issued)
		return false;
	const struct tpu_fast_job *job = &unit->job[next_job(timing)];
	const struct tpu_instruction *in = &tpu_code(timing->program)[job->index];
	next->is_table = in->flags & TPU_WEIGHTS_PARAMETERS;
	next->ready = job->issue_cycle + 1;
	next->rows = (uint64_t)tpu_weight_rows_of(next->is_table, timing->config->rows);
	next->row = in->length + (uint64_t)timing->transfers_begun * next->rows;
	return next->is_table ? table_has_space(timing, &next->ready) : tile_has_space(timing, &next->ready);
}

int64_t tpu_fast_begin_transfer(struct tpu_fast_timing *timing, bool is_table, uint64_t begin_cycle)
{
	const int64_t number = next_job(timing);
	struct tpu_fast_job *job = &timing->unit[TPU_WEIGHTS].job[number];
	*(is_table ? &timing->tables_begun : &timing->tiles_begun) += 1;
	if (timing->transfers_begun++ == 0) {
		job->start = begin_cycle;
		timing->jobs_begun++;
	}
	if (timing->transfers_begun < job->n_transfers)
		return -1;
	timing->transfers_begun = 0;
	return number;
}

void tpu_fast_arrive(struct tpu_fast_timing *timing, bool is_table, int64_t job, uint64_t cycle)
{
	struct tpu_fast_unit *unit = &timing->unit[TPU_WEIGHTS];
	if (is_table) {
		timing->table[timing->tables_loaded++].load_cycle = cycle;
	} else {
		timing->tile[timing->tiles_pushed++].push_cycle = cycle;
		tpu_fast_shift_tiles(timing);
	}
	if (job >= 0) {
		unit->job[job].end = cycle;
		unit->jobs_resolved = job + 1;
	}
}

bool tpu_fast_advance_weights(struct tpu_fast_timing *timing)
{
	struct tpu_fast_next next;
	bool moved = false;
	if (timing->port.memory)
		return tpu_fast_ask_weights(timing);
	while (tpu_fast_next_transfer(timing, &next)) {
		transfer(timing, next.ready, next.rows * (uint64_t)timing->config->columns);
		int64_t job = tpu_fast_begin_transfer(timing, next.is_table, timing->port.last_begin_cycle);
		tpu_fast_arrive(timing, next.is_table, job, port_free(&timing->port));
		moved = true;
	}
	return moved;
}
