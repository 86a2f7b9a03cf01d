/* SPDX-License-Identifier: MIT
 *
 * Random layers with long loops, with and without skipping what repeats (units.h). */
#include "units.h"

#include "agree.h"
#include "core/base/refuse.h"
#include "sim/diannao/diannao/fast/run.h"
#include "told.h"

#define MAX_STEPS 60000

/* Mostly few, at times many. */
static int64_t draw_skewed(uint64_t *rng, int64_t minimum, int64_t greatest)
{
	return test_range(rng, 0, 2) ? test_range(rng, 1, minimum) : test_range(rng, minimum, greatest);
}

/* So many taps that they are more than one part, or gaps between them that leave out columns. */
static void draw_taps(struct npl_window *w, int d, int64_t size, uint64_t *rng)
{
	const bool gaps = size > 12 && test_range(rng, 0, 1);
	w->kernel[d] = gaps ? test_range(rng, 2, 4) : test_range(rng, 1, size < 12 ? size : 12);
	w->dilation[d] = gaps ? test_range(rng, 2, 4) : 1;
	w->stride[d] = gaps ? test_range(rng, 1, 4) : w->stride[d];
	w->pad_begin[d] = test_range(rng, 0, w->kernel[d] - 1);
	w->pad_end[d] = test_range(rng, 0, w->kernel[d] - 1);
}

/* Windows of which many lie beyond the input, or step over it, or have it between two of their taps. Pooling has to
 * read something. */
static void draw_beyond(struct npl_window *w, int d, bool pool, uint64_t *rng)
{
	w->kernel[d] = test_range(rng, 1, 4);
	w->stride[d] = draw_skewed(rng, 3, 12);
	w->dilation[d] = draw_skewed(rng, 3, 40);
	const int64_t maximum = pool ? (w->kernel[d] - 1) * w->dilation[d] : draw_skewed(rng, 30, 80);
	w->pad_begin[d] = test_range(rng, 0, maximum);
	w->pad_end[d] = test_range(rng, pool ? 0 : (w->kernel[d] - 1) * w->dilation[d], pool ? maximum : maximum + 120);
}

static struct npl_window long_window(uint64_t *rng, int64_t height, int64_t width, bool pool)
{
	struct npl_window w = dn_random_window(rng, height, width, pool);
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (test_range(rng, 0, 1))
			draw_taps(&w, d, d ? width : height, rng);
		else if (test_range(rng, 0, 2) == 0)
			draw_beyond(&w, d, pool, rng);
	return w;
}

static void long_case(struct dn_case *c, uint64_t *rng)
{
	static const enum npl_op ops[] = {NPL_OP_CONV, NPL_OP_CONV,    NPL_OP_CONV,       NPL_OP_GEMM,
					  NPL_OP_GEMM, NPL_OP_MAXPOOL, NPL_OP_AVERAGEPOOL};
	const enum npl_op op = ops[test_range(rng, 0, 6)];
	const int64_t height = draw_skewed(rng, 5, 40), width = draw_skewed(rng, 5, 60),
		      images = draw_skewed(rng, 2, 12);
	const int64_t groups = draw_skewed(rng, 1, 8);
	if (test_range(rng, 0, 15) == 0) {
		dn_random_lrn(c, rng, npl_shape_of(4, images, draw_skewed(rng, 30, 300), height, width));
		return;
	}
	/* Each draw is a statement of its own: the order of arguments is the compiler's. */
	if (op == NPL_OP_GEMM) {
		const int64_t columns = draw_skewed(rng, 60, 2000), inner = draw_skewed(rng, 30, 600),
			      rows = draw_skewed(rng, 3, 200);
		dn_case_gemm(c, rows, inner, columns);
	} else {
		const bool pool = op != NPL_OP_CONV;
		const struct npl_window window = long_window(rng, height, width, pool);
		const int64_t out = pool ? 0 : groups * draw_skewed(rng, 12, 150);
		const int64_t in = pool ? draw_skewed(rng, 30, 600) : groups * draw_skewed(rng, 12, 300);
		dn_case_window(c, op, images, in, height, width, out, pool ? 1 : groups, window);
	}
	if (c->w.shape.rank && test_range(rng, 0, 1)) {
		c->bias = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, c->y.shape.dim[1])};
		dn_case_layer(c, op);
	}
	if (op == NPL_OP_CONV && test_range(rng, 0, 3) == 0) {
		c->attrs.conv.private_kernels = true;
		c->w.shape.dim[0] *= c->y.shape.dim[2] * c->y.shape.dim[3];
	}
}

static int64_t steps_of(const struct dn_config *config, const struct dn_layer *layer)
{
	return layer->images * layer->groups * dn_positions(layer) * dn_taps(layer) * dn_in_rows(config, layer) *
	       (layer->kind == DN_SUM ? dn_out_rows(config, layer) : 1);
}

static void draw_machine(struct dn_config *config, const struct dn_config *paper, uint64_t *rng)
{
	*config = *paper;
	dn_random_buffers(config, rng);
	config->nest = test_range(rng, 0, 1) ? DN_WANT_ANY : (int)test_range(rng, DN_WANT_DOWN, DN_WANT_STREAMED);
	config->tile_positions = test_range(rng, 0, 3) ? 0 : test_range(rng, 1, 40);
	config->tile_groups = test_range(rng, 0, 2) ? 0 : test_range(rng, 1, 6);
	config->tile_columns = test_range(rng, 0, 3) ? 0 : test_range(rng, 1, 4);
	config->tile_lines = test_range(rng, 0, 3) ? 0 : 1;
	config->nfu1_stages = test_range(rng, 1, 4);
	config->nfu2_stages = test_range(rng, 1, 4);
	config->nfu3_stages = test_range(rng, 1, 4);
}

bool diannao_unit_case_make(struct diannao_unit_case *c, uint64_t seed, const struct dn_config *paper)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
	struct dn_candidates all;
	struct npl_err err;
	char reason[200];
	draw_machine(&c->config, paper, &rng);
	do {
		long_case(&c->layer_case, &rng);
		if (!dn_layer_of(&c->config, &c->layer_case.layer, &c->layer, reason, sizeof reason))
			return false;
	} while (steps_of(&c->config, &c->layer) > MAX_STEPS);
	if (dn_find_tiles(&c->config, &c->layer, (double)(1 << test_range(&rng, 3, 10)), &all, &err))
		return false;
	c->tiles = all.tiles[test_range(&rng, 0, all.n - 1)];
	return true;
}

/* ---- A generator that counts what is asked of it ---- */

struct counted {
	struct dn_generator *generator;
	struct dn_stream stream;
	struct diannao_unit_skips *skips;
	int64_t instructions;
};

static void next(void *state, struct dn_instruction *instruction)
{
	struct counted *c = state;
	c->instructions++;
	c->stream.next(c->stream.state, instruction);
}

static void count_repeats(void *state, int64_t units[DN_REPEAT_LEVELS])
{
	struct counted *c = state;
	c->stream.count_repeats(c->stream.state, units);
}

static void skip(void *state, int level, int64_t units)
{
	struct counted *c = state;
	c->skips->iterations[c->generator->tiles->nest][c->generator->code->loop[level]]++;
	c->stream.skip(c->stream.state, level, units);
}

static bool run_layer(const struct diannao_unit_case *c, struct npl_memory *memory, bool units,
		      const struct sim_observer *observer, struct dn_outcome *outcome, struct diannao_unit_skips *skips,
		      int64_t *instructions, struct npl_err *err)
{
	struct counted counted = {.skips = skips};
	if (dn_generator_open(&c->config, &c->layer, &c->tiles, &counted.generator, err))
		return false;
	counted.stream = dn_generator_stream(counted.generator);
	const struct dn_engine_input engine_input = {
		.config = &c->config,
		.stream = {&counted, next, units ? count_repeats : NULL, units ? skip : NULL},
		.n_functions = c->layer.activates,
		.function = &c->layer.function,
		.port = memory,
		.observer = observer};
	const bool ok = !dn_run_fast(&engine_input, outcome, err) && !dn_generator_failed(counted.generator, err);
	*instructions = counted.instructions;
	dn_generator_close(counted.generator);
	return ok;
}

/* Ideal, fixed of all kinds and, seldom, one where nothing can be left out. */
static struct npl_memory *memory_of(const struct dn_config *config, uint64_t seed, struct npl_err *err)
{
	static const enum diannao_memory kinds[] = {DIANNAO_WHOLE, DIANNAO_WHOLE, DIANNAO_FIXED,
						    DIANNAO_IDEAL, DIANNAO_LATE,  DIANNAO_DRAM};
	struct diannao_case c;
	const struct diannao_request wish = {.memory = kinds[seed % (sizeof kinds / sizeof *kinds)],
					     .this_memory = true};
	struct npl_memory *memory = NULL;
	if (!diannao_case_make(&c, seed, &wish)) {
		npl_no_memory(err);
		return NULL;
	}
	c.memory_clock = (struct npl_hz){config->clock_hz, 1};
	memory = diannao_case_memory(&c, err);
	diannao_case_free(&c);
	return memory;
}

struct observed {
	const struct diannao_unit_case *unit_case;
	struct npl_memory *memory;
};

static bool run_observed(const void *context, bool skips, const struct sim_observer *observer, struct npl_err *err)
{
	const struct observed *observed = context;
	struct diannao_unit_skips no_skips = {0};
	struct dn_outcome outcome;
	int64_t instructions;
	return run_layer(observed->unit_case, observed->memory, skips, observer, &outcome, &no_skips, &instructions,
			 err);
}

bool diannao_units_of_layer_agree(uint64_t seed, const struct dn_config *paper, struct diannao_unit_skips *skips,
				  char *reason, size_t reason_bytes)
{
	struct diannao_unit_case c;
	struct npl_err err = {0};
	struct dn_outcome full, counted;
	int64_t all = 0, some_of_them = 0;
	if (!diannao_unit_case_make(&c, seed, paper))
		return true;
	struct npl_memory *memory = memory_of(&c.config, seed, &err);
	bool ok = memory && run_layer(&c, memory, false, NULL, &full, skips, &all, &err) &&
		  run_layer(&c, memory, true, NULL, &counted, skips, &some_of_them, &err);
	if (!ok)
		snprintf(reason, reason_bytes, "%s", err.msg);
	else
		ok = diannao_same_counts(&full, &counted, reason, reason_bytes) &&
		     diannao_tells_the_same(run_observed, &(struct observed){&c, memory}, reason, reason_bytes);
	npl_memory_close(memory);
	skips->runs++;
	skips->instructions += all;
	skips->n_skipped += all - some_of_them;
	return ok;
}
