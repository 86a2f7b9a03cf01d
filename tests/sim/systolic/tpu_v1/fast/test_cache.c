/* SPDX-License-Identifier: MIT
 *
 * What the fast engine keeps for the next run (fast/run.h). What the program promises: a run finds nothing of those
 * before it but what cannot matter, whatever machine, program and weights they had and however they ended; packed tiles
 * are kept as long as they fit TPU_FAST_KEPT_BYTES and are the same when they have been forgotten and packed again. */
#include <malloc.h>
#include <stdio.h>

#include "core/int8/rows.h"
#include "sim/systolic/tpu_v1/fast/values.h"
#include "tests/kit/sim/tpu_v1/fast_support.h"

enum { TABLE = 3000 }; /* weight row */

static struct test_machine *machine(int64_t rows, int64_t columns, uint64_t seed)
{
	struct tpu_config config = test_config(rows, columns, 64, 64);
	config.weight_bytes = 4096 * columns;
	struct test_machine *m = test_open(config, 4096);
	fast_fill(m, seed, TABLE, 4, 1000, 0.01f);
	return m;
}

/* Everything that may be left over: accumulators, some of them in memory, tiles, tables, weights that nobody used. */
static void program(struct test_machine *m)
{
	test_tiles(m, 2, 0);
	test_multiply(m, TPU_MATRIX_SWITCH | TPU_MATRIX_ACCUMULATE, 0, 0, 30); /* on what is there at reset */
	test_activate(m, TPU_ACTIVATE_FROM_BUFFER | TPU_WITH_FUNCTION(TPU_RELU), 500, 0, 10);
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, 50);
	test_activate(m, 0, 1000, 0, 40); /* no biases yet; rows that nobody wrote */
	test_activate(m, 0, 1200, 0, 40); /* once more: they are in memory now */
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I8);
	test_tables(m, 1, TABLE);
	test_activate(m, TPU_ACTIVATE_SWITCH, 1500, 0, 40);
	test_multiply(m, TPU_MATRIX_SWITCH, 0, 5, 30); /* left alone */
	test_halt(m);
}

static void run_again(struct test_machine *m, struct tpu_fast_cache **cache, const char *subject)
{
	cr_assert_eq(fast_run_with(m, cache), 0, "%s: %s", subject, m->err.msg);
	test_expect(m, subject);
}

/* Several images and sizes of machines, each several times and in turn. */
Test(tpu_fast_cache, runs_one_after_the_other)
{
	enum { MACHINES = 12 };
	static const int64_t sizes[][2] = {{16, 10}, {16, 10}, {5, 70}};
	struct test_machine *all[MACHINES];
	struct tpu_fast_cache *cache = NULL;
	for (int i = 0; i < MACHINES; i++) {
		all[i] = machine(sizes[i % 3][0], sizes[i % 3][1], (uint64_t)i + 1);
		program(all[i]);
	}
	for (int i = 0; i < 3 * MACHINES; i++)
		run_again(all[i < 2 * MACHINES ? i / 2 : i % MACHINES], &cache, "with a cache");
	tpu_fast_cache_free(cache);
	tpu_fast_cache_free(NULL);
	for (int i = 0; i < MACHINES; i++)
		test_close(all[i]);
}

static int stop(void *context, int64_t instruction, struct npl_err *err)
{
	return instruction == *(const int64_t *)context ? npl_fail(err, NPL_EOUTPUT, "stopped") : 0;
}

/* A run that somebody stops at any of its instructions, one without values and one that can never end leave nothing. */
Test(tpu_fast_cache, after_runs_that_do_not_end)
{
	struct test_machine *m = machine(16, 10, 1), *other = machine(16, 10, 2), *stuck = machine(16, 10, 3);
	struct tpu_fast_cache *cache = NULL;
	const struct tpu_memory none = {.timing_only = true};
	program(m);
	program(other);
	test_multiply(stuck, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_sync(stuck, 1u << TPU_MATRIX);
	test_tiles(stuck, 1, 0);
	test_halt(stuck);
	for (int64_t at = 0; at < m->program.count; at++) {
		struct tpu_outcome outcome;
		const struct sim_observer observer = {.on_retired = stop, .context = &at};
		bool stops = tpu_unit_of(tpu_code(&m->program)[at].opcode) < TPU_UNITS;
		int rc = tpu_run_fast(&(struct tpu_engine_input){.config = &m->config,
								 .program = &m->program,
								 .memory = m->memory,
								 .observer = &observer,
								 .cache = &cache},
				      &outcome, &m->err);
		cr_assert_eq(rc, stops ? NPL_EOUTPUT : 0);
		cr_assert_eq(fast_run_with(stuck, &cache), NPL_EINPUT);
		cr_assert_eq(tpu_run_fast(&(struct tpu_engine_input){.config = &m->config,
								     .program = &m->program,
								     .memory = none,
								     .cache = &cache},
					  &outcome, &m->err),
			     0);
		run_again(at % 2 ? m : other, &cache, "after a stopped run");
	}
	tpu_fast_cache_free(cache);
	test_close(m);
	test_close(other);
	test_close(stuck);
}

/* The same image of which less is given: what is beyond is 0 now. */
Test(tpu_fast_cache, another_part_of_the_weights)
{
	struct test_machine *m = machine(16, 10, 7);
	struct tpu_fast_cache *cache = NULL;
	program(m);
	for (int i = 0; i < 4; i++) {
		m->memory.weight_bytes = i % 2 ? 10 * 10 + 3 : 4096 * 10;
		run_again(m, &cache, "a part of the weights");
	}
	tpu_fast_cache_free(cache);
	test_close(m);
}

/* More tiles than are kept, in one run: those that were forgotten come again in it, and in the next. A tile of 2048 x 1
 * takes a panel of 128 KiB. */
Test(tpu_fast_cache, more_tiles_than_are_kept)
{
	enum { ROWS = 2048, TILES = TPU_FAST_KEPT_BYTES / (ROWS * NPL_INT8_PANEL) + 40, AGAIN = 60, OUT = 80 };
	struct tpu_config config = test_config(ROWS, 1, ROWS, 1);
	struct tpu_fast_cache *cache = NULL;
	config.accumulator_rows = 64;
	config.buffer_bytes = ROWS * 512;
	config.weight_bytes = ROWS * TILES;
	struct test_machine *m = test_open(config, 0);
	fast_fill(m, 5, 0, 0, 0, 0);
	test_tiles(m, TILES, 0);
	test_tiles(m, AGAIN, 0);
	for (int i = 0; i < TILES + AGAIN; i++) {
		test_set(m, TPU_REG_INPUT_ZERO_POINT, i % 7);
		test_multiply(m, TPU_MATRIX_SWITCH | (i < 32 ? 0 : TPU_MATRIX_ACCUMULATE), (uint32_t)(i % 60),
			      i % 32 * 2, 2);
	}
	test_set(m, TPU_REG_RESULT_TYPE, TPU_I32);
	test_set(m, TPU_REG_RESULT_PLANE_ROWS, 64);
	test_activate(m, 0, OUT, 0, 64);
	test_halt(m);
	for (int i = 0; i < 3; i++)
		run_again(m, &cache, "more tiles than are kept");
	tpu_fast_cache_free(cache);
	test_close(m);
}

static size_t kept_bytes(const struct tpu_fast_weights *w)
{
	return w->packed_bytes + w->arena.bytes;
}

/* The panel, packed, with the sums of its columns over the first k rows unless k < 0. */
static const uint8_t *panel_of(struct tpu_fast_weights *w, struct tpu_fast_packed *p, int64_t panel, int64_t k)
{
	cr_assert(tpu_fast_panel_space(w, p, panel));
	tpu_fast_pack(w, p, panel, k);
	return p->panel[panel];
}

/* The tile at `tile` as it must be packed; the greatest sum of magnitudes in a column. */
static int64_t check_tile(struct tpu_fast_weights *w, const uint8_t *image, size_t given, uint64_t tile,
			  struct tpu_fast_format format, bool inputs_signed)
{
	static uint8_t rows[300 * 70];
	const int64_t k = w->rows, n = w->columns;
	_Alignas(64) static uint8_t expected[304 * NPL_INT8_PANEL];
	struct tpu_fast_packed *p = tpu_fast_packed_tile(w, tile, format, inputs_signed);
	int64_t used = k, magnitude = 0;
	cr_assert(p);
	for (int64_t i = 0; i < k * n; i++)
		rows[i] = tile < given && given - tile > (uint64_t)i ? image[tile + (uint64_t)i] : 0;
	for (bool nothing = true; used > 0; used -= nothing) {
		for (int64_t j = 0; j < n; j++)
			nothing = nothing && rows[(used - 1) * n + j] == (uint8_t)format.zero_point;
		if (!nothing)
			break;
	}
	cr_assert_eq(p->k, used, "%lld rows in use, expected %lld", (long long)p->k, (long long)used);
	for (int64_t panel = 0; panel < w->panels; panel++) {
		int64_t columns = n - panel * NPL_INT8_PANEL < NPL_INT8_PANEL ? n - panel * NPL_INT8_PANEL
									      : NPL_INT8_PANEL;
		uint8_t flip = format.is_signed == !inputs_signed ? 0 : 0x80;
		const uint8_t *actual = panel_of(w, p, panel, used);
		const int32_t *sum = p->sum + panel * NPL_INT8_PANEL;
		npl_int8_pack_panel(rows + panel * NPL_INT8_PANEL, used, columns, n, flip, expected);
		cr_assert(actual && !memcmp(actual, expected, (size_t)npl_int8_panel_bytes(used)), "the tile at %llu",
			  (unsigned long long)tile);
		for (int64_t j = 0; j < columns; j++) {
			int64_t packed = 0, column = 0;
			for (int64_t i = 0; i < used; i++) {
				uint8_t byte = rows[i * n + panel * NPL_INT8_PANEL + j], as_packed = byte ^ flip;
				int64_t weight = (format.is_signed ? (int8_t)byte : byte) - format.zero_point;
				column += weight < 0 ? -weight : weight;
				packed += inputs_signed ? as_packed : (int8_t)as_packed;
			}
			cr_assert_eq(sum[j], packed);
			magnitude = column > magnitude ? column : magnitude;
		}
	}
	cr_assert_eq(tpu_fast_tile_magnitude(w, p), magnitude);
	return magnitude;
}

/* Tiles at any byte, in every format, of which the last are not all there. */
Test(tpu_fast_cache, tiles_as_they_are_packed)
{
	static const int64_t sizes[][2] = {{1, 1}, {7, 3}, {16, 64}, {300, 65}, {256, 70}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct tpu_config config = test_config(sizes[i][0], sizes[i][1], 1, 1);
		const size_t given = (size_t)(sizes[i][0] * sizes[i][1] * 5 / 2 + 3);
		uint8_t *image = malloc(given); /* exact, so that the sanitizers see what is read */
		struct tpu_memory memory = {.weights = image, .weight_bytes = given};
		struct tpu_fast_weights w;
		struct npl_err err;
		uint64_t rng = i + 1;
		cr_assert(image && !tpu_fast_weights_open(&w, &config, &err));
		for (size_t b = 0; b < given; b++)
			image[b] = (uint8_t)(test_rng(&rng) >> 32);
		tpu_fast_weights_use(&w, &memory);
		for (int k = 0; k < 60; k++) {
			int64_t row = test_range(&rng, 0, 3 * sizes[i][0]);
			bool is_signed = test_range(&rng, 0, 1), inputs_signed = test_range(&rng, 0, 1);
			struct tpu_fast_format format = {is_signed, (int32_t)(is_signed ? test_range(&rng, -128, 127)
											: test_range(&rng, 0, 255))};
			if (test_range(&rng, 0, 1))
				format.zero_point = 0;
			check_tile(&w, image, given, (uint64_t)(row * sizes[i][1]), format, inputs_signed);
		}
		check_tile(&w, image, given, TPU_FAST_NO_TILE, (struct tpu_fast_format){true, 0}, true);
		tpu_fast_weights_close(&w);
		free(image);
	}
}

/* Returns the memory of this process; 0 under the sanitizers. */
static size_t heap_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();
	return heap.uordblks + heap.hblkhd;
}

/* Kept while they fit, then forgotten all at once; never more than the limit and a tile, in memory that is used
 * again. */
Test(tpu_fast_cache, tiles_are_kept_and_forgotten)
{
	enum { ROWS = 300, COLUMNS = 65, PANELS = 2 * (304 * NPL_INT8_PANEL + 64), TILES = 1 << 12 };
	const struct tpu_fast_format format = {true, 0};
	struct tpu_config config = test_config(ROWS, COLUMNS, 1, 1);
	const size_t given = ROWS * COLUMNS + TILES * COLUMNS;
	uint8_t *image = malloc(given);
	struct tpu_memory memory = {.weights = image, .weight_bytes = given},
			  other = {.weights = image, .weight_bytes = 1};
	struct tpu_fast_weights w;
	struct npl_err err;
	uint64_t rng = 1;
	int forgotten = 0;
	size_t most_heap = 0;
	cr_assert(image && !tpu_fast_weights_open(&w, &config, &err));
	for (size_t b = 0; b < given; b++)
		image[b] = (uint8_t)(test_rng(&rng) >> 32 | 1);
	tpu_fast_weights_use(&w, &memory);
	const struct tpu_fast_packed *first = tpu_fast_packed_tile(&w, 0, format, false);
	const uint8_t *panel = panel_of(&w, tpu_fast_packed_tile(&w, 0, format, false), 1, -1);
	for (uint64_t t = 1; t < TILES; t++) { /* overlapping tiles are tiles like others */
		struct tpu_fast_packed *p = tpu_fast_packed_tile(&w, t * COLUMNS, format, false);
		cr_assert(p && panel_of(&w, p, 0, -1) && panel_of(&w, p, 1, -1));
		cr_assert_leq(kept_bytes(&w), (size_t)TPU_FAST_KEPT_BYTES + PANELS + 2048);
		if (kept_bytes(&w) <= TPU_FAST_KEPT_BYTES) {
			cr_assert_eq(p, tpu_fast_packed_tile(&w, t * COLUMNS, format, false));
			p = tpu_fast_packed_tile(&w, 0, format, false);
			cr_assert(forgotten || (p == first && panel_of(&w, p, 1, -1) == panel));
			continue;
		}
		most_heap = forgotten++ ? most_heap : heap_bytes();
		cr_assert_leq(heap_bytes(), most_heap + (1 << 22), "forgotten %d times", forgotten);
		check_tile(&w, image, given, 0, format, false);
		cr_assert_leq(kept_bytes(&w), (size_t)PANELS + 2048);
		check_tile(&w, image, given, t * COLUMNS, format, false);
	}
	cr_assert_geq(forgotten, 2);
	size_t before = kept_bytes(&w);
	tpu_fast_weights_use(&w, &memory);
	cr_assert_eq(kept_bytes(&w), before);
	tpu_fast_weights_use(&w, &other);
	cr_assert_eq(kept_bytes(&w), 0);
	tpu_fast_weights_close(&w);
	free(image);
}

/* What is known of tiles counts too, though none is packed: bounds of sums look at weights that nobody may need. */
Test(tpu_fast_cache, what_is_known_of_tiles_counts)
{
	const struct tpu_fast_format format = {true, 0};
	struct tpu_config config = test_config(1, 1, 1, 1);
	const struct tpu_memory memory = {0};
	struct tpu_fast_weights w;
	struct npl_err err;
	size_t maximum = 0;
	cr_assert(!tpu_fast_weights_open(&w, &config, &err));
	tpu_fast_weights_use(&w, &memory);
	for (uint64_t t = 0; t < 300000; t++) {
		struct tpu_fast_packed *p = tpu_fast_packed_tile(&w, t, format, false);
		cr_assert(p && tpu_fast_tile_magnitude(&w, p) == 0);
		maximum = kept_bytes(&w) > maximum ? kept_bytes(&w) : maximum;
	}
	cr_assert(maximum > (size_t)TPU_FAST_KEPT_BYTES - 4096 && maximum < (size_t)TPU_FAST_KEPT_BYTES + 4096,
		  "%zu bytes at most", maximum);
	tpu_fast_weights_close(&w);
}
