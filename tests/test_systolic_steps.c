/* SPDX-License-Identifier: MIT
 *
 * The schedule of the systolic machines against a machine that is stepped cycle by cycle and shares no code with it:
 * weight memory, FIFO, shadow plane, array, wave, accumulator halves and activation unit, each a few counters. What
 * the program promises: the same total, the same counters and the same cycle of every event, for any parameters. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "systolic_support.h"

enum { MOST_PASSES = 1024, KINDS = TPU_ACTIVATE_END + 1 };

/* A pass as this test sees it. */
struct pass {
	int64_t rows, used;
	int block;
	bool fetch, opens, closes;
};

struct machine {
	const struct tpu_config *config;
	struct pass pass[MOST_PASSES];
	int n, blocks;
	bool raw;
	/* weight memory and FIFO: passes that fetch, by their number */
	int fetching;    /* next pass to fetch for */
	uint64_t credit; /* bytes so far, times the clock */
	bool receiving;
	int queue[TPU_MAX_FIFO_TILES + 1], queued; /* complete tiles, oldest first; the head stays until shifted */
	int shift_left;                            /* rows of the head still to shift; 0: not shifting */
	bool shadow_full;
	int shadow_for; /* pass whose weights are in or on their way to the shadow plane, -1: none */
	/* array */
	int at; /* next pass to start, or the one streaming */
	int64_t stream_left;
	/* wave and activation unit, by block */
	int64_t wave_left[MOST_PASSES]; /* cycles until the last write of the pass; -1: not started */
	int wave_first;                 /* all before it have been written */
	int waiting_pass[MOST_PASSES], waiting, activating; /* last passes of blocks */
	int64_t activate_left;
	uint64_t drained[MOST_PASSES]; /* predicted end of a block's Activate, as a scoreboard would know it */
	uint64_t predicted_free;
	bool done[MOST_PASSES];
	int blocks_done;
	uint64_t event[MOST_PASSES][KINDS];
	struct tpu_stats stats;
};

static int next_fetch(const struct machine *m, int from)
{
	while (from < m->n && !m->pass[from].fetch)
		from++;
	return from;
}

/* One cycle of the memory; tiles complete in it are in the FIFO from the next cycle on. */
static void step_memory(struct machine *m, uint64_t now)
{
	uint64_t need = (uint64_t)(m->config->rows * m->config->columns) * (uint64_t)m->config->clock_hz;
	int arriving = m->queued;
	uint64_t left = (uint64_t)m->config->weight_bytes_per_second;
	while (m->fetching < m->n) {
		if (!m->receiving) {
			if (arriving == m->config->fifo_tiles)
				break; /* no slot: the rest of the cycle is lost */
			m->receiving = true;
			m->credit = 0;
		}
		if (m->credit + left < need) {
			m->credit += left;
			break;
		}
		left -= need - m->credit;
		m->receiving = false;
		m->event[m->fetching][TPU_FIFO_PUSH] = now + 1;
		m->queue[arriving++] = m->fetching;
		m->stats.weight_bytes += need / (uint64_t)m->config->clock_hz;
		m->fetching = next_fetch(m, m->fetching + 1);
	}
	m->queued = arriving;
}

/* A pass may start when its weights are in place and its accumulators will be drained by its first write. */
static bool can_start(const struct machine *m, uint64_t now)
{
	const struct pass *p = &m->pass[m->at];
	if (p->fetch && !(m->shadow_full && m->shadow_for == m->at))
		return false;
	uint64_t first_write = now + (uint64_t)(m->config->rows - 1 + m->config->matrix_registers);
	return !p->opens || p->block < 2 || m->drained[p->block - 2] <= first_write;
}

static int64_t drain_cycles(const struct machine *m, const struct pass *p)
{
	return p->rows * (m->raw ? 4 : 1) * m->config->activate_cycles_per_row;
}

static void start_pass(struct machine *m, uint64_t now)
{
	const struct pass *p = &m->pass[m->at];
	m->event[m->at][TPU_TILE_START] = now;
	m->stream_left = p->rows;
	if (p->fetch) {
		m->shadow_full = false;
		m->shadow_for = -1;
	}
	m->wave_left[m->at] = p->rows + m->config->rows + m->config->columns - 2 + m->config->matrix_registers;
	m->stats.tiles++;
	if (!p->closes)
		return;
	uint64_t written = now + (uint64_t)m->wave_left[m->at];
	m->predicted_free = (m->predicted_free > written ? m->predicted_free : written) + (uint64_t)drain_cycles(m, p);
	m->drained[p->block] = m->predicted_free;
}

static void step_array(struct machine *m, uint64_t now)
{
	if (m->stream_left == 0 && m->at < m->n && can_start(m, now))
		start_pass(m, now);
	if (m->stream_left > 0) {
		const struct pass *p = &m->pass[m->at];
		uint64_t cells = (uint64_t)(m->config->rows * m->config->columns);
		m->stats.array_active++;
		m->stats.ub_rows_read++;
		m->stats.accumulator_writes++;
		m->stats.useful_macs += (uint64_t)p->used;
		m->stats.unused_macs += cells - (uint64_t)p->used;
		if (--m->stream_left == 0)
			m->at++;
	} else if (m->at == m->n) {
		m->stats.non_matrix++;
		m->stats.raw_stall++;
	} else if (!m->pass[m->at].fetch || (m->shadow_full && m->shadow_for == m->at)) {
		m->stats.non_matrix++;
	} else if (m->queued && m->queue[0] == m->at) {
		m->stats.weight_shift++;
	} else {
		m->stats.weight_stall++;
	}
}

/* After the array, so that a plane that became active in this cycle can be refilled in it. */
static void step_shift(struct machine *m, uint64_t now)
{
	if (m->shift_left == 0 && m->queued && m->shadow_for < 0) {
		m->shift_left = (int)m->config->rows;
		m->shadow_for = m->queue[0];
		m->event[m->shadow_for][TPU_SHIFT_START] = now;
	}
}

static void finish_shift(struct machine *m, uint64_t now)
{
	if (m->shift_left == 0 || --m->shift_left)
		return;
	m->shadow_full = true;
	m->event[m->queue[0]][TPU_FIFO_POP] = now + 1;
	m->queued--;
	memmove(m->queue, m->queue + 1, sizeof *m->queue * (size_t)m->queued);
}

static void step_activate(struct machine *m, uint64_t now)
{
	if (m->activate_left == 0 && m->waiting) {
		m->activating = m->waiting_pass[0];
		m->waiting--;
		memmove(m->waiting_pass, m->waiting_pass + 1, sizeof *m->waiting_pass * (size_t)m->waiting);
		m->activate_left = drain_cycles(m, &m->pass[m->activating]);
		m->event[m->activating][TPU_ACTIVATE_START] = now;
		m->stats.ub_rows_written += (uint64_t)(m->pass[m->activating].rows * (m->raw ? 4 : 1));
	}
	if (m->activate_left == 0)
		return;
	m->stats.activate_cycles++;
	if (--m->activate_left == 0) {
		int block = m->pass[m->activating].block;
		m->done[block] = true;
		m->blocks_done++;
		m->event[m->activating][TPU_ACTIVATE_END] = now + 1 + (uint64_t)m->config->activate_registers;
		cr_assert_eq(m->drained[block], now + 1, "the scoreboard was wrong");
	}
}

static void step_waves(struct machine *m, uint64_t now)
{
	for (int i = m->wave_first; i < m->n && m->wave_left[i] >= 0; i++) {
		if (m->wave_left[i] == 0) {
			m->wave_first = i == m->wave_first ? i + 1 : m->wave_first;
			continue;
		}
		int64_t since = (int64_t)(now - m->event[i][TPU_TILE_START]);
		bool first_write = since == m->config->rows - 1 + m->config->matrix_registers;
		if (first_write && m->pass[i].opens && m->pass[i].block >= 2)
			cr_assert(m->done[m->pass[i].block - 2], "accumulators written before they were drained");
		if (--m->wave_left[i] == 0) {
			m->event[i][TPU_LAST_WRITE] = now + 1;
			if (m->pass[i].closes)
				m->waiting_pass[m->waiting++] = i;
		}
	}
}

static uint64_t step_machine(struct machine *m)
{
	m->shadow_for = -1;
	m->fetching = next_fetch(m, 0);
	for (int i = 0; i < m->n; i++)
		m->wave_left[i] = -1;
	for (uint64_t now = 0; now < 3000000; now++) {
		if (m->blocks_done == m->blocks) {
			/* Registers after the activation unit: results on their way, the array waits. */
			m->stats.non_matrix += (uint64_t)m->config->activate_registers;
			m->stats.raw_stall += (uint64_t)m->config->activate_registers;
			return now + (uint64_t)m->config->activate_registers;
		}
		step_array(m, now);
		step_shift(m, now);
		step_activate(m, now);
		step_memory(m, now);
		finish_shift(m, now);
		step_waves(m, now);
	}
	cr_assert_fail("the stepped machine never ended");
	return 0;
}

/* Passes of a layer, worked out here from its shapes alone. */
static bool list_passes(struct machine *m, int64_t rows, int64_t groups, int64_t channels, int64_t taps, int64_t n)
{
	const struct tpu_config *c = m->config;
	int64_t half = c->accumulator_rows / 2, parts = (rows + half - 1) / half;
	for (int64_t g = 0; g < groups; g++)
		for (int64_t n0 = 0; n0 < n; n0 += c->columns)
			for (int64_t part = 0; part < parts; part++, m->blocks++) {
				int first = m->n;
				int64_t per_pass = channels <= c->rows ? c->rows / channels : 1;
				for (int64_t tap = 0; tap < taps; tap += per_pass) {
					int64_t length = (tap + per_pass < taps ? per_pass : taps - tap) * channels;
					for (int64_t k = 0; k < length; k += c->rows) {
						if (m->n == MOST_PASSES)
							return false;
						int64_t k_used = k + c->rows < length ? c->rows : length - k;
						int64_t n_used = n0 + c->columns < n ? c->columns : n - n0;
						m->pass[m->n] = (struct pass){.used = k_used * n_used,
									      .block = m->blocks,
									      .fetch = true,
									      .opens = m->n == first};
						m->n++;
					}
				}
				m->pass[m->n - 1].closes = true;
				if (m->n - first == 1 && part > 0)
					m->pass[first].fetch = false; /* the same tile again */
			}
	/* Parts as equal as can be; the first ones get the row more. */
	int64_t small = rows / parts, larger = rows % parts;
	for (int i = 0; i < m->n; i++)
		m->pass[i].rows = small + (m->pass[i].block % parts < larger);
	return true;
}

struct seen {
	uint64_t event[MOST_PASSES][KINDS];
	uint64_t count;
};

static void see(void *context, const struct tpu_event *event)
{
	struct seen *seen = context;
	cr_assert_lt(event->pass, MOST_PASSES);
	seen->event[event->pass][event->kind] = event->cycle;
	seen->count++;
}

static void random_config(struct tpu_config *c, uint64_t *rng, int round)
{
	c->rows = test_range(rng, 1, round % 10 == 0 ? 48 : 17);
	c->columns = test_range(rng, 1, round % 10 == 0 ? 48 : 17);
	c->fifo_tiles = test_range(rng, 1, 5);
	c->accumulator_rows = test_range(rng, 2, 90);
	c->activate_cycles_per_row = test_range(rng, 1, 3) == 3 ? test_range(rng, 2, 4) : 1;
	c->matrix_registers = test_range(rng, 0, 3) == 3 ? test_range(rng, 1, 4) : 0;
	c->activate_registers = test_range(rng, 0, 3) == 3 ? test_range(rng, 1, 4) : 0;
	c->clock_hz = test_range(rng, 1000, 100000);
	/* From starved (a tile in 200 times its shift) to several tiles per cycle. */
	int64_t bytes_per_kilocycle = test_range(rng, 0, 3) == 0 ? test_range(rng, 1000, 1000000)
								 : test_range(rng, 100, 20000);
	c->weight_bytes_per_second = c->clock_hz * bytes_per_kilocycle / 1000 + test_range(rng, 0, 999);
}

Test(systolic_steps, schedule_equals_the_stepped_machine)
{
	const uint64_t seed = 0x5eed0201;
	uint64_t rng = seed, passes = 0;
	struct tpu_config config = test_tpu_defaults();
	struct machine *m = malloc(sizeof *m);
	struct seen *seen = malloc(sizeof *seen);
	for (int round = 0; round < 600; round++) {
		struct test_layer t;
		struct tpu_plan plan;
		struct tpu_stats stats = {0};
		char why[200];
		random_config(&config, &rng, round);
		memset(m, 0, sizeof *m);
		memset(seen, 0, sizeof *seen);
		m->config = &config;
		bool listed;
		if (round % 2) {
			struct test_conv c = test_random_conv(&rng, 24, 9);
			if (!test_convolution(&t, &c))
				continue;
			listed = list_passes(m, npl_shape_count(&t.y.shape) / c.filters, c.groups,
					     c.channels / c.groups, c.kernel[0] * c.kernel[1], c.filters / c.groups);
		} else {
			int64_t rows = test_range(&rng, 1, 150), k = test_range(&rng, 1, 120),
				n = test_range(&rng, 1, 60);
			test_gemm(&t, rows, k, n);
			listed = list_passes(m, rows, 1, k, 1, n);
		}
		m->raw = test_range(&rng, 0, 1);
		if (!m->raw)
			test_requantised(&t, NPL_I8, 1.0f, 0);
		if (listed) {
			cr_assert(tpu_plan_layer(&config, &t.layer, &plan, why, sizeof why), "%s", why);
			uint64_t expected = step_machine(m);
			uint64_t cycles = tpu_schedule(&config, &plan, plan.images, &(struct tpu_observer){see, seen},
						       &stats);
			cr_assert_eq(cycles, expected, "seed %llx round %d: %llu cycles, stepped %llu",
				     (unsigned long long)seed, round, (unsigned long long)cycles,
				     (unsigned long long)expected);
			cr_assert_eq(stats.useful_macs, t.layer.macs);
			for (size_t i = 0; i < TPU_STATS; i++) {
				uint64_t got, want;
				npl_stats_read(&tpu_stats_table[i], 1, &stats, &got);
				npl_stats_read(&tpu_stats_table[i], 1, &m->stats, &want);
				cr_assert_eq(got, want, "seed %llx round %d: %s is %llu, stepped %llu",
					     (unsigned long long)seed, round, tpu_stats_table[i].name,
					     (unsigned long long)got, (unsigned long long)want);
			}
			for (int i = 0; i < m->n; i++)
				for (int kind = 0; kind < KINDS; kind++)
					cr_assert_eq(seen->event[i][kind], m->event[i][kind],
						     "seed %llx round %d: pass %d event %d at %llu, stepped %llu",
						     (unsigned long long)seed, round, i, kind,
						     (unsigned long long)seen->event[i][kind],
						     (unsigned long long)m->event[i][kind]);
			passes += (uint64_t)m->n;
		}
		test_layer_free(&t);
	}
	cr_assert_gt(passes, 5000, "the layers were too small to show anything");
	free(m);
	free(seen);
}
