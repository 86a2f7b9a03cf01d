/* SPDX-License-Identifier: MIT
 *
 * Promise: for any layer, buffers and tiles the code generators make a program that passes the check of programs, loads
 * what its windows read and nothing outside the tensors, works every step of the layer and stores every result once;
 * and units that they call alike are, so that leaving some out changes nothing of what comes after. */
#include <stdlib.h>

#include "sim/diannao/diannao/driver/driver_impl.h"
#include "sim/diannao/diannao/generate/generate.h"
#include "sim/diannao/diannao/isa/check.h"
#include "tests/kit/sim/diannao/fixture.h"
#include "tests/kit/sim/diannao/units.h"

/* A machine, a layer and its program. */
struct made {
	struct dn_config config;
	struct dn_case c;
	struct dn_layer layer;
	struct dn_tiles tiles;
	uint64_t seed;
};

static bool make(struct made *m, uint64_t seed)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
	struct npl_err err;
	char reason[200];
	m->seed = seed;
	m->config = dn_random_machine(&rng);
	m->config.nest = (int)test_range(&rng, DN_WANT_ANY, DN_WANT_STREAMED);
	m->config.tile_positions = test_range(&rng, 0, 2) ? 0 : test_range(&rng, 1, 4);
	m->config.tile_groups = test_range(&rng, 0, 2) ? 0 : test_range(&rng, 1, 3);
	if (test_range(&rng, 0, 7))
		dn_random_case(&m->c, &rng);
	else
		dn_random_small_lrn(&m->c, &rng);
	if (m->c.layer.op == NPL_OP_CONV && test_range(&rng, 0, 3) == 0) { /* a kernel for each position */
		m->c.attrs.conv.private_kernels = true;
		m->c.w.shape.dim[0] *= m->c.y.shape.dim[2] * m->c.y.shape.dim[3];
	}
	if (!dn_layer_of(&m->config, &m->c.layer, &m->layer, reason, sizeof reason))
		return false;
	double bytes_per_cycle = (double)(1 << test_range(&rng, 3, 10));
	struct dn_candidates all;
	if (!dn_find_tiles(&m->config, &m->layer, bytes_per_cycle, &all, &err)) {
		m->tiles = all.tiles[test_range(&rng, 0, all.n - 1)];
		return true;
	}
	cr_assert(m->config.nest != DN_WANT_ANY || m->config.tile_positions || m->config.tile_groups, "seed %llu: %s",
		  (unsigned long long)seed, err.msg);
	return false;
}

/* Inputs that any window reads, of one image; and all reads of them by pooling. */
static uint64_t reads(const struct dn_layer *layer, bool *read)
{
	const struct dn_axis y = dn_axis_of(layer, 0), x = dn_axis_of(layer, 1);
	uint64_t n = 0;
	for (int64_t oy = 0; oy < y.out; oy++)
		for (int64_t ox = 0; ox < x.out; ox++)
			for (int64_t ky = 0; ky < y.kernel; ky++)
				for (int64_t kx = 0; kx < x.kernel; kx++) {
					int64_t iy = dn_tap_at(&y, oy, ky), ix = dn_tap_at(&x, ox, kx);
					if (iy < 0 || iy >= y.in || ix < 0 || ix >= x.in)
						continue;
					read[iy * x.in + ix] = true;
					n++;
				}
	return n;
}

struct walk {
	const struct dn_layout_map *map;
	uint8_t *loaded, *stored; /* by byte */
	uint64_t steps, bias_steps, store_left;
};

static uint64_t range_rows(const struct dn_instruction *instruction, int64_t held)
{
	if (instruction->nbin.op == DN_READ_NOP)
		return 0;
	return instruction->nbin.stride
		       ? (instruction->nbin.end - instruction->nbin.begin) / instruction->nbin.stride + 1
		       : (uint64_t)held;
}

static void take(struct walk *w, const struct dn_instruction *instruction, int64_t nbin_held, uint64_t seed)
{
	const struct dn_layout_map *map = w->map;
	for (uint64_t i = 0; instruction->sb.op == DN_LOAD && i < instruction->sb.size; i++) {
		uint64_t a = instruction->sb.address + i;
		cr_assert(a >= map->synapses && a < map->results, "seed %llu", (unsigned long long)seed);
		w->loaded[a] = 1;
	}
	for (uint64_t i = 0; instruction->nbin.op == DN_LOAD && i < instruction->nbin.size; i++) {
		uint64_t a = instruction->nbin.address + i;
		cr_assert_lt(a, map->synapses, "seed %llu", (unsigned long long)seed);
		w->loaded[a] = 1;
	}
	for (uint64_t i = 0; i < instruction->nbout.size; i++) {
		uint64_t a = instruction->nbout.address + i;
		cr_assert(a >= map->results && a < map->end && !w->stored[a]++, "seed %llu: %llu",
			  (unsigned long long)seed, (unsigned long long)a);
	}
	if (!dn_uses_nfu(instruction))
		return;
	uint64_t sb = instruction->sb.op == DN_READ_NOP ? 0
							: instruction->sb.size / (uint64_t)dn_sb_row_bytes(map->config);
	uint64_t steps = sb ? sb : range_rows(instruction, nbin_held);
	*(instruction->nfu.nfu1 == DN_BIAS ? &w->bias_steps : &w->steps) += steps;
}

/* Pairs of a group of Tn outputs and of Tn inputs that have synapses: all, but of LRN those that some window joins. */
static uint64_t joined(const struct made *m, const struct walk *w)
{
	const int64_t in_rows = w->map->in_rows, groups = w->map->groups, maps = m->layer.no, tn = m->config.tn;
	const int64_t size = m->c.attrs.lrn.size;
	if (m->c.layer.op != NPL_OP_LRN || m->tiles.nest != DN_ACROSS)
		return (uint64_t)(in_rows * groups);
	bool *joins = calloc((size_t)(in_rows * groups), sizeof *joins);
	for (int64_t to = 0; to < maps; to++)
		for (int64_t from = 0; from < maps; from++)
			if (2 * from >= 2 * to - (size - 1) && 2 * from <= 2 * to + size)
				joins[to / tn * in_rows + from / tn] = true;
	uint64_t n = 0;
	for (int64_t i = 0; i < in_rows * groups; i++)
		n += joins[i];
	free(joins);
	return n;
}

static void check_bytes(const struct made *m, const struct walk *w)
{
	const struct dn_layer *layer = &m->layer;
	bool *read = calloc((size_t)(layer->in[0] * layer->in[1]) + 1, sizeof *read);
	uint64_t taps = reads(layer, read);
	if (dn_positions(layer))
		for (int64_t image = 0; image < layer->images; image++)
			for (int64_t y = 0; y < layer->in[0]; y++)
				for (int64_t x = 0; x < layer->in[1]; x++)
					for (int64_t c = 0; c < w->map->channels; c++)
						cr_assert(!read[y * layer->in[1] + x] ||
								  w->loaded[dn_input_at(w->map, image, y, x, c)],
							  "seed %llu: (%d,%d,%d) is not loaded",
							  (unsigned long long)m->seed, (int)y, (int)x, (int)c);
	free(read);
	for (uint64_t a = w->map->results; a < w->map->end; a++)
		cr_assert_eq(w->stored[a], 1, "seed %llu: byte %llu", (unsigned long long)m->seed,
			     (unsigned long long)a);
	uint64_t planes = (uint64_t)(layer->images * layer->groups), positions = (uint64_t)dn_positions(layer);
	uint64_t in_rows = (uint64_t)w->map->in_rows, groups = (uint64_t)w->map->groups;
	if (layer->kind == DN_SUM) {
		const uint64_t steps = (uint64_t)dn_taps(layer) * joined(m, w),
			       kernels = (uint64_t)((layer->private_kernels ? dn_positions(layer) : 1) * layer->groups);
		cr_assert_eq(w->steps, planes * positions * steps, "seed %llu", (unsigned long long)m->seed);
		cr_assert_eq(w->bias_steps, planes * positions * groups * (uint64_t)w->map->bias_rows);
		const uint64_t synapses = kernels * (steps + groups * (uint64_t)w->map->bias_rows) *
					  (uint64_t)dn_sb_row_bytes(&m->config);
		cr_assert(w->map->results >= w->map->synapses + synapses &&
				  w->map->results < w->map->synapses + synapses + 4096,
			  "seed %llu", (unsigned long long)m->seed);
		for (uint64_t a = w->map->synapses; positions && a < w->map->synapses + synapses; a++)
			cr_assert(w->loaded[a], "seed %llu: synapse byte %llu", (unsigned long long)m->seed,
				  (unsigned long long)a);
	} else {
		cr_assert_eq(w->steps, planes * taps * in_rows, "seed %llu", (unsigned long long)m->seed);
	}
}

static void walk_program(struct made *m)
{
	struct dn_generator *g;
	struct npl_err err;
	cr_assert_eq(dn_generator_open(&m->config, &m->layer, &m->tiles, &g, &err), 0);
	struct dn_stream source = dn_generator_stream(g);
	struct walk w = {.map = dn_generator_map(g)};
	struct dn_check checker = {.config = &m->config,
				   .n_functions = m->layer.activates,
				   .memory_bytes = w.map->end,
				   .memory_order = true,
				   .source = "layer"};
	struct dn_instruction instruction;
	w.loaded = calloc(w.map->end + 1, 1);
	w.stored = calloc(w.map->end + 1, 1);
	cr_assert_eq(dn_check_begin(&checker, &err), 0);
	do {
		source.next(source.state, &instruction);
		int64_t before = checker.nbin.rows_freed;
		cr_assert_eq(dn_check_one(&checker, &instruction, 0, &err), 0, "seed %llu, nest %d: %s",
			     (unsigned long long)m->seed, m->tiles.nest, err.msg);
		take(&w, &instruction, checker.nbin.rows_loaded - before, m->seed);
	} while (instruction.cp.op != DN_CP_END);
	cr_assert_eq(dn_check_end(&checker, &err), 0, "seed %llu: %s", (unsigned long long)m->seed, err.msg);
	cr_assert_eq(dn_generator_failed(g, &err), 0);
	check_bytes(m, &w);
	dn_check_close(&checker);
	free(w.loaded);
	free(w.stored);
	dn_generator_close(g);
}

Test(diannao_generate, programs_pass_the_check_and_do_the_layer)
{
	int nests[5] = {0}, made = 0, several = 0, banded = 0;
	const int part = TEST_SANITIZED ? 3 : 1;
	for (uint64_t seed = 1; seed <= 3600; seed += (uint64_t)part) {
		struct made m;
		if (!make(&m, seed))
			continue;
		walk_program(&m);
		nests[m.tiles.nest]++;
		several += m.tiles.nest == DN_ACROSS && m.tiles.groups > 1;
		banded += m.tiles.nest == DN_ACROSS && m.c.layer.op == NPL_OP_LRN;
		made++;
	}
	cr_assert(part * made > 1500 && part * several > 100 && part * banded > 50, "%d, %d, %d", made, several,
		  banded);
	for (int i = 0; i < 5; i++)
		cr_assert_gt(part * nests[i], 100, "nest %d", i);
}

/* The instructions of one unit without their addresses, as a number. */
static uint64_t shape(const struct dn_instruction *instruction, uint64_t so_far)
{
	struct dn_instruction bare = *instruction;
	if (bare.sb.op == DN_LOAD)
		bare.sb.address = 0;
	bare.nbin.address = bare.nbout.address = 0;
	const uint8_t *byte = (const uint8_t *)&bare;
	for (size_t i = 0; i < sizeof bare; i++)
		so_far = (so_far ^ byte[i]) * 0x100000001b3ull;
	return so_far;
}

/* Three generators of one layer: one goes through all, one leaves out units one by one, one leaves out all of them at
 * once. */
struct three {
	struct dn_generator *all, *one, *some;
	const struct diannao_unit_case *c;
	uint64_t seed;
	int64_t skips[DN_LOOPS];
};

/* Goes on to where the others are; what came on the way, as a number. */
static uint64_t catch_up(struct three *t, const struct dn_generator *other)
{
	struct dn_stream s = dn_generator_stream(t->all);
	struct dn_instruction instruction;
	uint64_t seen = 1;
	do {
		s.next(s.state, &instruction);
		cr_assert_neq(instruction.cp.op, DN_CP_END, "seed %llu, nest %d", (unsigned long long)t->seed,
			      t->c->tiles.nest);
		seen = shape(&instruction, seen);
	} while (t->all->head < t->all->tail || t->all->ended != other->ended ||
		 memcmp(t->all->iteration, other->iteration, sizeof other->iteration));
	return seen;
}

/* Units of a level are the same instructions, and it is as many of them as were said. */
static void leave_out(struct three *t, int level, int64_t units, int64_t alike)
{
	struct dn_stream all = dn_generator_stream(t->all), one = dn_generator_stream(t->one),
			 some_of_them = dn_generator_stream(t->some);
	uint64_t first = 0;
	for (int64_t i = 0; i < units; i++) {
		int64_t left[DN_REPEAT_LEVELS];
		one.skip(one.state, level, 1);
		const uint64_t seen = catch_up(t, t->one);
		first = i ? first : seen;
		cr_assert_eq(seen, first, "seed %llu, nest %d, level %d: unit %d of %d differs",
			     (unsigned long long)t->seed, t->c->tiles.nest, level, (int)i, (int)alike);
		all.count_repeats(all.state, left);
		if (i + 1 < alike)
			cr_assert_eq(left[level], alike - i - 1, "seed %llu, nest %d, level %d",
				     (unsigned long long)t->seed, t->c->tiles.nest, level);
	}
	some_of_them.skip(some_of_them.state, level, units);
	t->skips[t->all->code->loop[level]]++;
}

/* A level of which units begin here, by chance; below 0: none. */
static int pick_level(const int64_t alike[DN_REPEAT_LEVELS], uint64_t *rng)
{
	int level = -1;
	for (int i = 0, n = 0; i < DN_REPEAT_LEVELS; i++)
		if (alike[i] && test_range(rng, 0, n++) == 0)
			level = i;
	return level;
}

static void units_can_be_left_out(struct three *t, uint64_t *rng)
{
	struct dn_stream all = dn_generator_stream(t->all), one = dn_generator_stream(t->one),
			 some_of_them = dn_generator_stream(t->some);
	struct dn_instruction a, b, c;
	do {
		int64_t alike[DN_REPEAT_LEVELS], others[DN_REPEAT_LEVELS];
		all.count_repeats(all.state, alike);
		some_of_them.count_repeats(some_of_them.state, others);
		cr_assert_eq(memcmp(alike, others, sizeof alike), 0, "seed %llu, nest %d", (unsigned long long)t->seed,
			     t->c->tiles.nest);
		const int level = pick_level(alike, rng);
		if (level >= 0 && test_range(rng, 0, 2) == 0)
			leave_out(t, level, test_range(rng, 1, alike[level]), alike[level]);
		all.next(all.state, &a);
		one.next(one.state, &b);
		some_of_them.next(some_of_them.state, &c);
		cr_assert_eq(memcmp(&a, &b, sizeof a), 0, "seed %llu, nest %d", (unsigned long long)t->seed,
			     t->c->tiles.nest);
		cr_assert_eq(memcmp(&a, &c, sizeof a), 0, "seed %llu, nest %d", (unsigned long long)t->seed,
			     t->c->tiles.nest);
	} while (a.cp.op != DN_CP_END);
}

Test(diannao_generate, units_that_are_alike_can_be_left_out)
{
	const struct dn_config paper = dn_default();
	int64_t skips[DIANNAO_NESTS] = {0};
	const int part = TEST_SANITIZED ? 3 : 1;
	for (uint64_t seed = 1; seed <= 4000; seed += (uint64_t)part) {
		uint64_t rng = seed;
		struct diannao_unit_case c;
		struct three t = {.c = &c, .seed = seed};
		struct npl_err err;
		if (!diannao_unit_case_make(&c, seed, &paper))
			continue;
		struct dn_generator **const generators[] = {&t.all, &t.one, &t.some};
		for (int i = 0; i < 3; i++)
			cr_assert_eq(dn_generator_open(&c.config, &c.layer, &c.tiles, generators[i], &err), 0);
		units_can_be_left_out(&t, &rng);
		for (int i = 0; i < 3; i++)
			dn_generator_close(*generators[i]);
		for (int i = 0; i < DN_LOOPS; i++)
			skips[c.tiles.nest] += t.skips[i];
	}
	for (int i = 0; i < DIANNAO_NESTS; i++)
		cr_assert_gt(part * skips[i], 500, "nest %d: %lld", i, (long long)skips[i]);
}

/* A machine that has chosen tiles for some layers chooses the same for them, and for others, as one that has chosen
 * none. */
Test(diannao_generate, tiles_do_not_depend_on_what_was_chosen_before)
{
	static struct dn_layer layer[40];
	const struct dn_config config = dn_default();
	struct dn_machine *state = dn_opened(&config);
	uint64_t rng = 7;
	char reason[200];
	int n = 0;
	while (n < 40) {
		struct dn_case c;
		dn_random_case(&c, &rng);
		n += dn_layer_of(&config, &c.layer, &layer[n], reason, sizeof reason);
	}
	for (int i = 0; i < 300; i++) {
		const struct dn_layer *this = &layer[test_range(&rng, 0, test_range(&rng, 0, 1) ? 39 : 5)];
		struct dn_machine *fresh = dn_opened(&config);
		struct dn_tiles tiles, anew;
		struct npl_err err;
		cr_assert_eq(dn_choose_tiles(state, this, &tiles, &err), 0, "%s", err.msg);
		cr_assert_eq(dn_choose_tiles(fresh, this, &anew, &err), 0, "%s", err.msg);
		cr_assert(tiles.nest == anew.nest && tiles.columns == anew.columns &&
				  tiles.positions == anew.positions && tiles.groups == anew.groups &&
				  tiles.lines == anew.lines && tiles.taps == anew.taps && tiles.rows == anew.rows,
			  "layer %d", (int)(this - layer));
		npl_driver_diannao.close(fresh);
	}
	cr_assert_lt(state->n_choices, 250); /* some were known */
	npl_driver_diannao.close(state);
}

/* Chen et al., ASPLOS 2014, section 5.3.3: the classifier's instructions, 8192 inputs and 256 outputs. The rows it
 * prints are the first two and the first one of the last chunk; here memory has the inputs in front of the synapses. */
Test(diannao_generate, the_papers_classifier_has_the_papers_instructions)
{
	struct dn_config config = dn_default();
	struct dn_case c;
	struct dn_layer layer;
	struct dn_tiles tiles;
	struct dn_generator *g;
	struct dn_instruction instruction;
	struct npl_err err;
	char reason[200];
	dn_case_gemm(&c, 1, 256, 8192);
	c.layer.activation = NPL_ACT_SIGMOID;
	void *state = dn_opened(&config);
	cr_assert(dn_layer_of(&config, &c.layer, &layer, reason, sizeof reason), "%s", reason);
	cr_assert_eq(dn_choose_tiles(state, &layer, &tiles, &err), 0, "%s", err.msg);
	cr_assert_eq(dn_generator_open(&config, &layer, &tiles, &g, &err), 0);
	const struct dn_layout_map *map = dn_generator_map(g);
	struct dn_stream source = dn_generator_stream(g);
	for (int i = 0; i < 8 * 16; i++) {
		const bool first = i % 16 == 0, begins = i < 16, ends = i >= 7 * 16;
		struct dn_instruction paper = {
			.sb = {DN_LOAD, 0, map->synapses + 32768 * (uint64_t)i, 32768},
			.nbin = {DN_READ, i % 16 < 15, 0, 0, 0, 0, 0},
			.nbout = {begins ? DN_READ_NOP : DN_READ, ends ? DN_STORE : DN_WRITE, 0, 0},
			.nfu = {DN_MULT, DN_ADD, begins ? DN_FROM_RESET : DN_FROM_NBOUT,
				ends ? DN_TO_NFU3 : DN_TO_NBOUT, 1, first, 0, 0, 0, 0},
		};
		if (first) {
			paper.nbin.op = DN_LOAD;
			paper.nbin.address = 2048 * (uint64_t)(i / 16);
			paper.nbin.size = 2048;
		}
		if (first && ends) {
			paper.nbout.address = map->results;
			paper.nbout.size = 512;
		}
		if (ends) {
			paper.nfu.shift = (int16_t)layer.shift;
			paper.nfu.result_shift = (int16_t)layer.result_shift;
		}
		source.next(source.state, &instruction);
		cr_assert(instruction.sb.op == paper.sb.op && instruction.sb.reuse == paper.sb.reuse &&
				  instruction.sb.size == paper.sb.size && instruction.sb.address == paper.sb.address,
			  "SB of instruction %d", i);
		cr_assert(instruction.nbin.op == paper.nbin.op && instruction.nbin.reuse == paper.nbin.reuse &&
				  !instruction.nbin.stride && !instruction.nbin.begin && !instruction.nbin.end &&
				  instruction.nbin.size == paper.nbin.size &&
				  instruction.nbin.address == paper.nbin.address,
			  "NBin of instruction %d", i);
		cr_assert(instruction.nbout.read == paper.nbout.read && instruction.nbout.write == paper.nbout.write &&
				  instruction.nbout.size == paper.nbout.size &&
				  instruction.nbout.address == paper.nbout.address,
			  "NBout of instruction %d", i);
		cr_assert(instruction.nfu.nfu1 == paper.nfu.nfu1 && instruction.nfu.nfu2 == paper.nfu.nfu2 &&
				  instruction.nfu.in == paper.nfu.in && instruction.nfu.out == paper.nfu.out &&
				  instruction.nfu.nfu3 == paper.nfu.nfu3 && instruction.nfu.begin == paper.nfu.begin &&
				  instruction.nfu.end == paper.nfu.end && instruction.nfu.shift == paper.nfu.shift &&
				  instruction.nfu.result_shift == paper.nfu.result_shift,
			  "NFU of instruction %d", i);
	}
	source.next(source.state, &instruction);
	cr_assert(instruction.cp.op == DN_CP_END && !dn_uses_nfu(&instruction));
	dn_generator_close(g);
	npl_driver_diannao.close(state);
}
