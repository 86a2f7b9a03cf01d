/* SPDX-License-Identifier: MIT
 *
 * The fast engine's weights unit: transfers one after the other at the memory's bandwidth, and the tiles' way from the FIFO
 * into the shadow plane. A transfer's end is a whole number of cycles and a part of one in units of 1 / (bytes per second),
 * so that a thousand transfers of 1343.99 cycles end where they should. */
#include "fast.h"

/* Takes the port for `bytes` from cycle `ready` on, or from the end of the transfer before if that is in a later one. */
static void transfer(struct tpu_fast_schedule *s, uint64_t ready, uint64_t bytes)
{
	const uint64_t rate = (uint64_t)s->config->weight_bytes_per_second;
	uint64_t scaled = bytes * (uint64_t)s->config->clock_hz; /* at most 2^24 * 1e10 */
	if (ready > s->port.cycle) {
		s->port.cycle = ready;
		s->port.part = 0;
	}
	s->port.begun = s->port.cycle;
	s->port.cycle += scaled / rate;
	s->port.part += scaled % rate;
	if (s->port.part >= rate) {
		s->port.part -= rate;
		s->port.cycle++;
	}
}

static uint64_t port_free(const struct tpu_fast_port *port)
{
	return port->cycle + (port->part > 0);
}

void tpu_fast_shift_tiles(struct tpu_fast_schedule *s)
{
	for (; s->popped < s->pushed && s->popped <= s->tiles_taken; s->popped++) {
		struct tpu_fast_tile *tile = &s->tile[s->popped];
		tile->shifted = tile->pushed;
		if (s->popped && tile[-1].switched > tile->shifted)
			tile->shifted = tile[-1].switched;
		tile->popped = tile->shifted + (uint64_t)s->config->rows;
	}
}

/* The next transfer, if it is known when its FIFO has room. */
static bool bring_tile(struct tpu_fast_schedule *s, uint64_t ready)
{
	int64_t before = s->pushed - s->config->fifo_tiles; /* must be out of the FIFO */
	if (before >= s->popped)
		return false;
	if (before >= 0 && s->tile[before].popped > ready)
		ready = s->tile[before].popped;
	transfer(s, ready, (uint64_t)(s->config->rows * s->config->columns));
	s->tile[s->pushed++].pushed = port_free(&s->port);
	tpu_fast_shift_tiles(s);
	return true;
}

static bool bring_table(struct tpu_fast_schedule *s, uint64_t ready)
{
	int64_t before = s->loaded - s->config->parameter_tables; /* must be in use, or past it */
	if (before >= s->tables_taken)
		return false;
	if (before >= 0 && s->table[before].used + 1 > ready)
		ready = s->table[before].used + 1;
	transfer(s, ready, (uint64_t)(8 * s->config->columns));
	s->table[s->loaded++].loaded = port_free(&s->port);
	return true;
}

bool tpu_fast_advance_weights(struct tpu_fast_schedule *s)
{
	struct tpu_fast_unit *unit = &s->unit[TPU_WEIGHTS];
	bool moved = false;
	while (unit->resolved < unit->issued) {
		struct tpu_fast_job *job = &unit->job[unit->resolved];
		bool tables = s->program->instruction[job->index].flags & TPU_WEIGHTS_PARAMETERS;
		if (!(tables ? bring_table(s, job->issued + 1) : bring_tile(s, job->issued + 1)))
			return moved;
		moved = true;
		if (s->begun++ == 0)
			job->start = s->port.begun;
		if (s->begun == job->takes) {
			job->end = port_free(&s->port);
			s->begun = 0;
			unit->resolved++;
		}
	}
	return moved;
}
