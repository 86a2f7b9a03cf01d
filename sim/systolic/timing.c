/* SPDX-License-Identifier: MIT
 *
 * When each pass of the array happens: exact event times for a weight-stationary array with two weight planes, a
 * weight FIFO and double-buffered accumulators (Jouppi et al., ISCA 2017, section 2). For pass i of B rows on an
 * R x C array, in cycles:
 *
 *   push(i)   weight memory delivers tile after tile at its bandwidth, exact to a fraction of a cycle; it waits while
 *             every FIFO slot is taken (a tile being received has one)
 *   shift(i)  = max(push(i), start of the pass whose weights are in the shadow plane); takes R cycles. The switch to
 *             new weights travels with the wave, and a row that enters in the cycle of the switch follows it.
 *   start(i)  = max(start(i-1) + B(i-1), shift(i) + R, accumulators free); one input row per cycle from then on.
 *             Accumulators are free for a block's first write, R - 1 cycles after its start, once the Activate of the
 *             block two before has ended.
 *   write(i)  = start(i) + B + R + C - 2: the last column of the last row (wave along both axes)
 *   activate  = after write() of the block's last tile and the block before, one row per cycle
 *
 * so that back-to-back passes cost max(B, R), or a tile's fetch time when that is longer. A pass with the weights of
 * the one before needs no fetch and no shift.
 *
 * Every cycle in which no row enters the array is one of: weight_stall, the next pass's weights are not in the FIFO;
 * weight_shift, they are being shifted in; non_matrix, all else (accumulators not free, and at the end the wave that
 * still travels and the last Activate). raw_stall counts that end: a following layer would read those results.
 *
 * Not modelled: instruction issue, conflicts at the unified buffer's ports, refresh and latency of weight memory. */
#include <stddef.h>

#include "tpu.h"

#define STAT(name, unit, help, partition)                                                                              \
	{                                                                                                              \
#name, unit, help, offsetof(struct tpu_stats, name), partition                                         \
	}

const struct npl_stat tpu_stats_table[TPU_STATS] = {
	STAT(array_active, "cycles", "an input row enters the array", 1),
	STAT(weight_stall, "cycles", "the array waits for weights to reach the FIFO", 1),
	STAT(weight_shift, "cycles", "the array waits for weights to be shifted in", 1),
	STAT(non_matrix, "cycles", "the array waits for anything else, or there is no matrix work", 1),
	STAT(useful_macs, "macs", "done by cells that hold a weight of the layer", 0),
	STAT(unused_macs, "macs", "that the padding cells could have done meanwhile", 0),
	STAT(raw_stall, "cycles", "of non_matrix: the last results are on their way to the unified buffer", 0),
	STAT(input_stall, "cycles", "of non_matrix: the host has not delivered the input", 0),
	STAT(tiles, "passes", "input blocks sent through a tile of weights", 0),
	STAT(weight_bytes, "bytes", "read from weight memory, in whole tiles", 0),
	STAT(ub_rows_read, "rows", "read from the unified buffer", 0),
	STAT(ub_rows_written, "rows", "written to the unified buffer", 0),
	STAT(accumulator_writes, "rows", "of partial sums added to the accumulators", 0),
	STAT(activate_cycles, "cycles", "the activation unit is busy", 0),
};

void tpu_stats_add(struct tpu_stats *total, const struct tpu_stats *part, uint64_t count)
{
	for (size_t i = 0; i < TPU_STATS; i++) {
		size_t offset = tpu_stats_table[i].offset;
		*(uint64_t *)(void *)((char *)total +
				      offset) += count * *(const uint64_t *)(const void *)((const char *)part + offset);
	}
}

/* A time with an exact fraction: cycles + part / denominator. */
struct instant {
	uint64_t cycles, part;
};

struct schedule {
	const struct tpu_config *config;
	const struct tpu_observer *observer;
	struct tpu_stats *stats;
	uint64_t pass;
	/* weight memory and FIFO */
	struct instant fetch_time, fetch_end; /* of one tile; of the last tile */
	uint64_t denominator;
	uint64_t fetched;
	uint64_t popped[TPU_MAX_FIFO_TILES]; /* when fetched tile t left, at t % fifo_tiles */
	/* array */
	uint64_t shadow_free; /* when the weights last shifted in became active */
	uint64_t stream_end;  /* when the array can take a row again */
	/* accumulators and activation unit */
	uint64_t half_free[2], activate_free;
	uint64_t blocks;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void emit(const struct schedule *s, enum tpu_event_kind kind, uint64_t cycle)
{
	if (s->observer)
		s->observer->see(s->observer->context,
				 &(struct tpu_event){.kind = kind, .cycle = cycle, .pass = s->pass});
}

/* Time of a tile at the weight memory's bandwidth, in the machine's cycles: bytes * clock / bandwidth. */
static void set_fetch_time(struct schedule *s)
{
	const struct tpu_config *c = s->config;
	uint64_t numerator = (uint64_t)(c->rows * c->columns) * (uint64_t)c->clock_hz;
	s->denominator = c->weight_bytes_per_second > 0 ? (uint64_t)c->weight_bytes_per_second : 1;
	s->fetch_time = (struct instant){numerator / s->denominator, numerator % s->denominator};
}

/* Fetches the next tile; the cycle from which it is in the FIFO. */
static uint64_t push(struct schedule *s)
{
	uint64_t slots = s->config->fifo_tiles > 0 ? (uint64_t)s->config->fifo_tiles : 1;
	uint64_t slot_free = s->fetched < slots ? 0 : s->popped[s->fetched % slots];
	struct instant at = s->fetch_end;
	if (slot_free > at.cycles)
		at = (struct instant){slot_free, 0};
	at.cycles += s->fetch_time.cycles;
	at.part += s->fetch_time.part;
	if (at.part >= s->denominator) {
		at.cycles++;
		at.part -= s->denominator;
	}
	s->fetch_end = at;
	s->stats->weight_bytes += (uint64_t)(s->config->rows * s->config->columns);
	uint64_t cycle = at.cycles + (at.part > 0);
	emit(s, TPU_FIFO_PUSH, cycle);
	return cycle;
}

static uint64_t overlap(uint64_t from, uint64_t to, uint64_t low, uint64_t high)
{
	from = later(from, low);
	to = to < high ? to : high;
	return to > from ? to - from : 0;
}

/* The array: from the end of the pass before to the start of this one, every idle cycle gets its name. */
static uint64_t start_pass(struct schedule *s, const struct tpu_tile *tile)
{
	uint64_t rows = (uint64_t)s->config->rows, start = s->stream_end, pushed = 0, shift = 0, in_place = 0;
	if (tile->fetch) {
		pushed = push(s);
		shift = later(pushed, s->shadow_free);
		in_place = shift + rows;
		s->popped[s->fetched++ % (uint64_t)s->config->fifo_tiles] = in_place;
		emit(s, TPU_SHIFT_START, shift);
		emit(s, TPU_FIFO_POP, in_place);
		start = later(start, in_place);
	}
	if (tile->first) {
		uint64_t before_write = rows - 1 + (uint64_t)s->config->matrix_registers,
			 free = s->half_free[s->blocks % 2];
		start = later(start, free > before_write ? free - before_write : 0);
	}
	uint64_t stall = overlap(s->stream_end, start, 0, pushed),
		 shifting = overlap(s->stream_end, start, shift, in_place);
	s->stats->weight_stall += stall;
	s->stats->weight_shift += shifting;
	s->stats->non_matrix += start - s->stream_end - stall - shifting;
	emit(s, TPU_TILE_START, start);
	if (tile->fetch)
		s->shadow_free = start;
	s->stream_end = start + (uint64_t)tile->rows;
	return start;
}

/* The activation unit empties a block of accumulators into the unified buffer. A row of 32-bit results is four buffer
 * rows. */
static void activate(struct schedule *s, uint64_t written, int64_t rows, bool raw)
{
	uint64_t buffer_rows = (uint64_t)rows * (raw ? 4 : 1);
	uint64_t busy = buffer_rows * (uint64_t)s->config->activate_cycles_per_row,
		 start = later(written, s->activate_free);
	s->activate_free = start + busy;
	s->half_free[s->blocks++ % 2] = start + busy;
	s->stats->activate_cycles += busy;
	s->stats->ub_rows_written += buffer_rows;
	emit(s, TPU_ACTIVATE_START, start);
	emit(s, TPU_ACTIVATE_END, start + busy + (uint64_t)s->config->activate_registers);
}

uint64_t tpu_schedule(const struct tpu_config *config, const struct tpu_plan *plan, int64_t images,
		      const struct tpu_observer *observer, struct tpu_stats *stats)
{
	struct schedule s = {.config = config, .observer = observer, .stats = stats};
	uint64_t rows = (uint64_t)config->rows, columns = (uint64_t)config->columns;
	set_fetch_time(&s);
	for (struct tpu_tile tile = TPU_NO_TILE; tpu_next_tile(config, plan, images, &tile); s.pass++) {
		uint64_t b = (uint64_t)tile.rows, useful = b * (uint64_t)tile.k_used * (uint64_t)tile.n_used;
		uint64_t written = start_pass(&s, &tile) + b + rows + columns - 2 + (uint64_t)config->matrix_registers;
		emit(&s, TPU_LAST_WRITE, written);
		stats->tiles++;
		stats->array_active += b;
		stats->ub_rows_read += b;
		stats->accumulator_writes += b;
		stats->useful_macs += useful;
		stats->unused_macs += b * rows * columns - useful;
		if (tile.last)
			activate(&s, written, tile.rows, plan->raw);
	}
	if (s.pass == 0)
		return 0;
	uint64_t end = s.activate_free + (uint64_t)config->activate_registers;
	stats->non_matrix += end - s.stream_end;
	stats->raw_stall += end - s.stream_end;
	return end;
}
