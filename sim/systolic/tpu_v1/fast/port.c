/* SPDX-License-Identifier: MIT
 *
 * The fast engine's weights unit: which transfer is next and when it may begin, how long it takes with the preset
 * fixed, and when tiles go from the FIFO into the shadow plane. A transfer's end is a whole number of cycles and a part
 * of one in units of 1 / (bytes per second), so that a thousand transfers of 1343.99 cycles end where they should.
 * port_memory.c does any other memory. */
#include "fast.h"

/* Takes the port for `bytes` from cycle `ready` on, or from the end of the transfer before if that is in a later
 * cycle. */
static void transfer(struct tpu_fast_timing *s, uint64_t ready, uint64_t bytes)
{
	const uint64_t rate = (uint64_t)s->config->weight_bytes_per_second;
	uint64_t scaled = bytes * (uint64_t)s->config->clock_hz; /* at most 2^24 * 1e10 */
	if (ready > s->port.free_cycle) {
		s->port.free_cycle = ready;
		s->port.free_part = 0;
	}
	s->port.last_begin_cycle = s->port.free_cycle;
	s->port.free_cycle += scaled / rate;
	s->port.free_part += scaled % rate;
	if (s->port.free_part >= rate) {
		s->port.free_part -= rate;
		s->port.free_cycle++;
	}
}

static uint64_t port_free(const struct tpu_fast_port *port)
{
	return port->free_cycle + (port->free_part > 0);
}

void tpu_fast_shift_tiles(struct tpu_fast_timing *s)
{
	for (; s->tiles_popped < s->tiles_pushed && s->tiles_popped <= s->tiles_taken; s->tiles_popped++) {
		struct tpu_fast_tile *tile = &s->tile[s->tiles_popped];
		tile->shift_cycle = tile->push_cycle;
		if (s->tiles_popped && tile[-1].switch_cycle > tile->shift_cycle)
			tile->shift_cycle = tile[-1].switch_cycle;
		tile->pop_cycle = tile->shift_cycle + (uint64_t)s->config->rows;
	}
}

/* Says whether it is known when the FIFO has room for a tile. *ready: the cycle from which on it has. */
static bool tile_has_space(const struct tpu_fast_timing *s, uint64_t *ready)
{
	int64_t previous = s->tiles_begun - s->config->fifo_tiles; /* this tile must have left the FIFO */
	if (previous >= s->tiles_popped)
		return false;
	if (previous >= 0 && s->tile[previous].pop_cycle > *ready)
		*ready = s->tile[previous].pop_cycle;
	return true;
}

static bool table_has_space(const struct tpu_fast_timing *s, uint64_t *ready)
{
	int64_t previous = s->tables_begun - s->config->parameter_tables; /* this table must be in use, or past it */
	if (previous >= s->tables_taken)
		return false;
	if (previous >= 0 && s->table[previous].use_cycle + 1 > *ready)
		*ready = s->table[previous].use_cycle + 1;
	return true;
}

/* Returns the job whose transfer is next. */
static int64_t next_job(const struct tpu_fast_timing *s)
{
	return s->transfers_begun ? s->jobs_begun - 1 : s->jobs_begun;
}

bool tpu_fast_next_transfer(const struct tpu_fast_timing *s, struct tpu_fast_next *next)
{
	const struct tpu_fast_unit *unit = &s->unit[TPU_WEIGHTS];
	if (next_job(s) == unit->jobs_issued)
		return false;
	const struct tpu_fast_job *job = &unit->job[next_job(s)];
	const struct tpu_instruction *in = &tpu_code(s->program)[job->index];
	next->is_table = in->flags & TPU_WEIGHTS_PARAMETERS;
	next->ready = job->issue_cycle + 1;
	next->rows = (uint64_t)tpu_weight_rows_of(next->is_table, s->config->rows);
	next->row = in->length + (uint64_t)s->transfers_begun * next->rows;
	return next->is_table ? table_has_space(s, &next->ready) : tile_has_space(s, &next->ready);
}

int64_t tpu_fast_begin_transfer(struct tpu_fast_timing *s, bool is_table, uint64_t begin_cycle)
{
	const int64_t number = next_job(s);
	struct tpu_fast_job *job = &s->unit[TPU_WEIGHTS].job[number];
	*(is_table ? &s->tables_begun : &s->tiles_begun) += 1;
	if (s->transfers_begun++ == 0) {
		job->start = begin_cycle;
		s->jobs_begun++;
	}
	if (s->transfers_begun < job->n_transfers)
		return -1;
	s->transfers_begun = 0;
	return number;
}

void tpu_fast_arrive(struct tpu_fast_timing *s, bool is_table, int64_t job, uint64_t cycle)
{
	struct tpu_fast_unit *unit = &s->unit[TPU_WEIGHTS];
	if (is_table) {
		s->table[s->tables_loaded++].load_cycle = cycle;
	} else {
		s->tile[s->tiles_pushed++].push_cycle = cycle;
		tpu_fast_shift_tiles(s);
	}
	if (job >= 0) {
		unit->job[job].end = cycle;
		unit->jobs_resolved = job + 1;
	}
}

bool tpu_fast_advance_weights(struct tpu_fast_timing *s)
{
	struct tpu_fast_next next;
	bool moved = false;
	if (s->port.memory)
		return tpu_fast_ask_weights(s);
	while (tpu_fast_next_transfer(s, &next)) {
		transfer(s, next.ready, next.rows * (uint64_t)s->config->columns);
		int64_t job = tpu_fast_begin_transfer(s, next.is_table, s->port.last_begin_cycle);
		tpu_fast_arrive(s, next.is_table, job, port_free(&s->port));
		moved = true;
	}
	return moved;
}
