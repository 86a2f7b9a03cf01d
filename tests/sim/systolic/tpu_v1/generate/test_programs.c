/* SPDX-License-Identifier: MIT
 *
 * What generated programs look like, where it can be counted by hand: tiles, passes, activates, syncs, rows of the
 * unified buffer, bytes over the link. Values are test_generate.c's affair. */
#include <criterion/criterion.h>
#include <math.h>

#include "sim/systolic/tpu_v1/fast/run.h"
#include "sim/systolic/tpu_v1/generate/generate.h"
#include "sim/systolic/tpu_v1/isa/check.h"
#include "sim/systolic/tpu_v1/rtl/run.h"
#include "tests/kit/sim/tpu_v1/code.h"
#include "tests/kit/sim/tpu_v1/support.h"

/* Builds a network of layers without data. */
struct net {
	struct npl_tensor tensor[64];
	struct npl_attrs attrs[24];
	struct npl_layer layer[24];
	const struct npl_layer *list[24];
	int n_tensors, n_layers;
};

static struct npl_tensor *tensor(struct net *n, enum npl_dtype dtype, struct npl_shape shape)
{
	struct npl_tensor *t = &n->tensor[n->n_tensors++];
	*t = (struct npl_tensor){.dtype = dtype, .shape = shape, .quant = {.scale = 0.5f}};
	return t;
}

static struct npl_layer *add_layer(struct net *n, enum npl_op op, struct npl_tensor *x)
{
	struct npl_layer *l = &n->layer[n->n_layers];
	*l = (struct npl_layer){.name = "test", .op = op, .attrs = &n->attrs[n->n_layers], .n_in = 1, .in = {x}};
	n->attrs[n->n_layers] = (struct npl_attrs){.op = op};
	if (op == NPL_OP_CONCAT)
		n->attrs[n->n_layers].along.axis = 1;
	n->list[n->n_layers++] = l;
	return l;
}

static struct npl_tensor *gemm(struct net *n, struct npl_tensor *x, int64_t outputs)
{
	struct npl_layer *l = add_layer(n, NPL_OP_GEMM, x);
	l->in[l->n_in++] = tensor(n, NPL_I8, npl_shape_of(2, outputs, x->shape.dim[1]));
	l->out = tensor(n, NPL_U8, npl_shape_of(2, x->shape.dim[0], outputs));
	l->macs = (uint64_t)(x->shape.dim[0] * outputs * x->shape.dim[1]);
	return l->out;
}

static struct npl_window square(int64_t kernel, int64_t stride, int64_t pad)
{
	return (struct npl_window){.rank = 2,
				   .kernel = {kernel, kernel},
				   .stride = {stride, stride},
				   .dilation = {1, 1},
				   .pad_begin = {pad, pad},
				   .pad_end = {pad, pad}};
}

static struct npl_shape slid(const struct npl_tensor *x, const struct npl_window *w, int64_t channels)
{
	return npl_shape_of(4, x->shape.dim[0], channels, npl_window_output(w, 0, x->shape.dim[2]),
			    npl_window_output(w, 1, x->shape.dim[3]));
}

static struct npl_tensor *conv(struct net *n, struct npl_tensor *x, int64_t filters, int64_t kernel, int64_t stride,
			       int64_t groups)
{
	struct npl_layer *l = add_layer(n, NPL_OP_CONV, x);
	struct npl_conv_attrs *a = &n->attrs[n->n_layers - 1].conv;
	a->window = square(kernel, stride, kernel / 2);
	a->groups = groups;
	int64_t channels = x->shape.dim[1] / groups;
	l->in[l->n_in++] = tensor(n, NPL_I8, npl_shape_of(4, filters, channels, kernel, kernel));
	l->out = tensor(n, NPL_U8, slid(x, &a->window, filters));
	l->macs = (uint64_t)(npl_tensor_count(l->out) * channels * kernel * kernel);
	return l->out;
}

static struct npl_tensor *pool(struct net *n, struct npl_tensor *x, int64_t kernel, int64_t stride, int64_t pad)
{
	struct npl_layer *l = add_layer(n, NPL_OP_MAXPOOL, x);
	const struct npl_window window = n->attrs[n->n_layers - 1].pool.window = square(kernel, stride, pad);
	l->out = tensor(n, NPL_U8, slid(x, &window, x->shape.dim[1]));
	return l->out;
}

static struct npl_tensor *add(struct net *n, struct npl_tensor *a, struct npl_tensor *b)
{
	struct npl_layer *l = add_layer(n, NPL_OP_ADD, a);
	l->in[l->n_in++] = b;
	l->out = tensor(n, NPL_U8, a->shape);
	return l->out;
}

static struct npl_tensor *relu(struct net *n, struct npl_tensor *x)
{
	struct npl_layer *l = add_layer(n, NPL_OP_RELU, x);
	l->out = tensor(n, NPL_U8, x->shape);
	return l->out;
}

static struct npl_tensor *concat(struct net *n, struct npl_tensor *const *in, int count)
{
	struct npl_layer *l = add_layer(n, NPL_OP_CONCAT, in[0]);
	struct npl_shape shape = in[0]->shape;
	for (l->n_in = 1; l->n_in < count; l->n_in++) {
		l->in[l->n_in] = in[l->n_in];
		shape.dim[1] += in[l->n_in]->shape.dim[1];
	}
	l->out = tensor(n, NPL_U8, shape);
	return l->out;
}

struct made {
	struct tpu_generated g;
	struct tpu_outcome outcome;
};

/* Generates without values, checks, and runs on the fast engine for the counters. */
static struct made make(const struct net *n, const struct tpu_config *config, bool host_io)
{
	const struct npl_layer_group group = {.layer = n->list,
					      .n = n->n_layers,
					      .timing_only = true,
					      .inputs_over_link = host_io,
					      .outputs_over_link = host_io};
	struct tpu_memory memory = {.timing_only = true};
	struct npl_err err = {0};
	struct made m;
	cr_assert_eq(tpu_generate(config, &group, &m.g, &err), 0, "%s", err.msg);
	cr_assert_null(m.g.weights);
	cr_assert_eq(tpu_program_check(config, &m.g.program, &memory, "generated", &err), 0, "%s", err.msg);
	cr_assert_eq(
		tpu_run_fast(&(struct tpu_engine_input){.config = config, .program = &m.g.program, .memory = memory},
			     &m.outcome, &err),
		0, "%s", err.msg);
	return m;
}

static uint64_t macs_of(const struct net *n)
{
	uint64_t macs = 0;
	for (int i = 0; i < n->n_layers; i++)
		macs += n->layer[i].macs;
	return macs;
}

static int64_t count(const struct tpu_generated *g, enum tpu_opcode opcode)
{
	int64_t n = 0;
	for (int64_t i = 0; i < g->program.count; i++)
		n += tpu_code(&g->program)[i].opcode == opcode;
	return n;
}

static int64_t passes(const struct tpu_generated *g)
{
	return count(g, TPU_MATRIX_MULTIPLY) + count(g, TPU_CONVOLVE);
}

/* Jouppi et al., section 7: a 600 x 600 matrix takes 9 tiles of 256 x 256. */
Test(tpu_generate_programs, tiles_of_600_by_600)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	gemm(&n, tensor(&n, NPL_U8, npl_shape_of(2, 96, 600)), 600);
	struct made m = make(&n, &config, false);
	cr_assert_eq(m.outcome.counters.tiles, 9);
	cr_assert_eq(passes(&m.g), 9);
	cr_assert_eq(count(&m.g, TPU_ACTIVATE), 3);
	cr_assert_eq(count(&m.g, TPU_SYNC), 0);
	cr_assert_eq(m.outcome.counters.weight_bytes, 9 * 65536 + 3 * 2048, "and a table for each block");
	cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
	tpu_generated_free(&m.g);
}

/* US Patent 9,697,463: taps side by side where channels are few. A stem of 7 x 7 x 3 = 147 inputs is one tile. */
Test(tpu_generate_programs, taps_are_packed)
{
	static const struct {
		int64_t channels, kernel, tiles;
	} cases[] = {{3, 7, 1}, {48, 5, 5}, {64, 3, 3}, {128, 3, 5}, {129, 3, 9}, {256, 3, 9}, {300, 3, 9 + 2}};
	struct tpu_config config = test_tpu_defaults();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct net n = {0};
		conv(&n, tensor(&n, NPL_U8, npl_shape_of(4, 1, cases[i].channels, 14, 14)), 64, cases[i].kernel, 1, 1);
		struct made m = make(&n, &config, false);
		cr_assert_eq((int64_t)m.outcome.counters.tiles, cases[i].tiles, "%lld channels: %llu tiles",
			     (long long)cases[i].channels, (unsigned long long)m.outcome.counters.tiles);
		cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
		tpu_generated_free(&m.g);
	}
}

/* Depthwise: 256 groups fit in a tile with one tap each, 9 passes; 32 groups with 8 taps, 2 passes. */
Test(tpu_generate_programs, groups_stand_side_by_side)
{
	static const struct {
		int64_t channels, groups, tiles;
	} cases[] = {{256, 256, 9}, {512, 512, 18}, {32, 32, 2}, {128, 32, 5}, {512, 2, 18}};
	struct tpu_config config = test_tpu_defaults();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct net n = {0};
		conv(&n, tensor(&n, NPL_U8, npl_shape_of(4, 1, cases[i].channels, 14, 14)), cases[i].channels, 3, 1,
		     cases[i].groups);
		struct made m = make(&n, &config, false);
		cr_assert_eq((int64_t)m.outcome.counters.tiles, cases[i].tiles, "%lld channels: %llu tiles",
			     (long long)cases[i].channels, (unsigned long long)m.outcome.counters.tiles);
		cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
		tpu_generated_free(&m.g);
	}
}

/* 2,888 rows through 9 tiles: two blocks of 1,444 hide the weights of 1,344 cycles. 4,096 rows of one tile: its weights
 * come once. 1,500 rows: one block. */
Test(tpu_generate_programs, rows_are_cut_into_equal_blocks)
{
	static const struct {
		int64_t rows, k, passes, tiles, longest;
	} cases[] = {
		{2888, 2304, 18, 18, 1444}, {4096, 256, 2, 1, 2048}, {1500, 512, 2, 2, 1500}, {5000, 256, 3, 1, 1667}};
	struct tpu_config config = test_tpu_defaults();
	config.activate_latency_cycles = 5000; /* in one piece */
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct net n = {0};
		gemm(&n, tensor(&n, NPL_U8, npl_shape_of(2, cases[i].rows, cases[i].k)), 256);
		struct made m = make(&n, &config, false);
		cr_assert_eq(passes(&m.g), cases[i].passes, "%lld rows: %lld passes", (long long)cases[i].rows,
			     (long long)passes(&m.g));
		cr_assert_eq((int64_t)m.outcome.counters.tiles, cases[i].tiles);
		for (int64_t k = 0; k < m.g.program.count; k++)
			if (tpu_unit_of(tpu_code(&m.g.program)[k].opcode) == TPU_MATRIX)
				cr_assert_leq(tpu_code(&m.g.program)[k].length, cases[i].longest);
		int last = -1; /* while one block is read another is written */
		for (int64_t k = 0; k < m.g.program.count; k++)
			if (tpu_code(&m.g.program)[k].opcode == TPU_ACTIVATE) {
				cr_assert_neq(tpu_code(&m.g.program)[k].operand, last);
				last = tpu_code(&m.g.program)[k].operand;
			}
		tpu_generated_free(&m.g);
	}
}

/* When weights are scarce, more rows than half the accumulators at once save a fetch of all weights. */
Test(tpu_generate_programs, larger_blocks_where_weights_are_slow)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	gemm(&n, tensor(&n, NPL_U8, npl_shape_of(2, 2100, 2560)), 2560);
	struct made fast = make(&n, &config, false);
	config.weight_bytes_per_second /= 8;
	struct made slow = make(&n, &config, false);
	cr_assert_eq(fast.outcome.counters.tiles, 100);
	cr_assert_eq(slow.outcome.counters.tiles, 100);
	config = test_tpu_defaults();
	config.weight_bytes_per_second *= 8;
	struct made faster = make(&n, &config, false);
	cr_assert_eq(faster.outcome.counters.tiles, 200, "weights are cheap: halves of the accumulators");
	tpu_generated_free(&fast.g);
	tpu_generated_free(&slow.g);
	tpu_generated_free(&faster.g);
}

/* Dependent layers have a sync between them, others none; weights of the next layer are asked for before it. */
Test(tpu_generate_programs, dependent_layers_sync_and_weights_are_fetched_early)
{
	struct tpu_config config = test_tpu_defaults();
	config.sync_cycles = config.activate_latency_cycles = 0;
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(2, 100, 512));
	gemm(&n, gemm(&n, gemm(&n, x, 512), 512), 512);
	struct made m = make(&n, &config, false);
	cr_assert_eq(count(&m.g, TPU_SYNC), 2);
	int64_t tiles = 0, i = 0;
	for (; tpu_code(&m.g.program)[i].opcode != TPU_SYNC; i++)
		if (tpu_code(&m.g.program)[i].opcode == TPU_READ_WEIGHTS && !tpu_code(&m.g.program)[i].flags)
			tiles += tpu_code(&m.g.program)[i].operand;
	cr_assert_geq(tiles, 8, "%lld tiles are read before the first sync, 4 of them its layer's", (long long)tiles);
	cr_assert_lt((double)m.outcome.cycles, 12 * 1344 * 1.1, "%llu cycles: the memory has not rested",
		     (unsigned long long)m.outcome.cycles);
	tpu_generated_free(&m.g);

	n = (struct net){0};
	x = tensor(&n, NPL_U8, npl_shape_of(2, 100, 512));
	for (int k = 0; k < 3; k++)
		gemm(&n, x, 512);
	m = make(&n, &config, false);
	cr_assert_eq(count(&m.g, TPU_SYNC), 0);
	tpu_generated_free(&m.g);
}

/* One activate per block where it can do all: addition, Relu, pooling. */
Test(tpu_generate_programs, one_activate_does_addition_relu_and_pooling)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(4, 1, 256, 14, 14));
	struct npl_tensor *y = conv(&n, x, 64, 1, 1, 1);
	pool(&n, relu(&n, add(&n, conv(&n, y, 256, 3, 1, 1), x)), 2, 2, 0);
	struct made m = make(&n, &config, false);
	cr_assert_eq(count(&m.g, TPU_ACTIVATE), 2);
	cr_assert_gt(m.g.layer[2].first, m.g.layer[2].last, "the addition has no instructions of its own");
	for (int64_t i = 0; i < m.g.program.count; i++) {
		const struct tpu_instruction *instruction = &tpu_code(&m.g.program)[i];
		if (instruction->opcode == TPU_ACTIVATE && m.g.of_layer[i] == 1)
			cr_assert_eq(instruction->flags & ~(unsigned)TPU_ACTIVATE_SWITCH,
				     TPU_WITH_OPERAND(TPU_ADD) | TPU_WITH_FUNCTION(TPU_RELU) |
					     TPU_WITH_POOLING(TPU_POOL_MAX));
	}
	cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
	tpu_generated_free(&m.g);
}

/* The last tile of K goes through in pieces, and Activate has only the last one left when the array is done: as many as
 * end soonest with what each costs Activate besides its rows. */
Test(tpu_generate_programs, the_last_tile_is_computed_in_pieces)
{
	static const struct {
		int64_t latency, activates, after_the_array;
	} cases[] = {{0, 5, 288},
		     {150, 3, 3 * (481 + 150) - 2 * 481},
		     {500, 2, 2 * (722 + 500) - 722},
		     {5000, 1, 1444 + 5000}};
	struct tpu_config config = test_tpu_defaults();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct net n = {0};
		config.activate_latency_cycles = cases[i].latency;
		gemm(&n, tensor(&n, NPL_U8, npl_shape_of(2, 1444, 512)), 256);
		struct made m = make(&n, &config, false);
		uint64_t array = 1344 + 256 + 1444 + 1444 + 510;
		cr_assert_eq(count(&m.g, TPU_ACTIVATE), cases[i].activates, "latency %d: %d activates",
			     (int)cases[i].latency, (int)count(&m.g, TPU_ACTIVATE));
		int64_t after = (int64_t)(m.outcome.cycles - array);
		cr_assert(after >= cases[i].after_the_array && after < cases[i].after_the_array + 30,
			  "latency %d: %d cycles after the array", (int)cases[i].latency, (int)after);
		tpu_generated_free(&m.g);
	}
}

/* Not what others need: a value that is read twice or wanted leaves on its own. */
Test(tpu_generate_programs, values_read_twice_or_given_out_leave_on_their_own)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(4, 1, 64, 14, 14));
	struct npl_tensor *y = conv(&n, x, 64, 3, 1, 1);
	relu(&n, y);
	pool(&n, y, 2, 2, 0);
	struct made m = make(&n, &config, false);
	cr_assert_eq(count(&m.g, TPU_ACTIVATE), 3);
	tpu_generated_free(&m.g);

	n = (struct net){0};
	y = conv(&n, tensor(&n, NPL_U8, npl_shape_of(4, 1, 64, 14, 14)), 64, 3, 1, 1);
	const struct npl_tensor *output[] = {y, relu(&n, y)};
	const struct npl_layer_group group = {
		.layer = n.list, .n = n.n_layers, .timing_only = true, .output = output, .n_outputs = 2};
	struct npl_err err = {0};
	cr_assert_eq(tpu_generate(&config, &group, &m.g, &err), 0, "%s", err.msg);
	cr_assert_eq(count(&m.g, TPU_ACTIVATE), 2);
	cr_assert_not_null(tpu_location_of(&m.g, y));
	tpu_generated_free(&m.g);
}

/* The branches of an Inception block write side by side: joining them costs nothing, and the next layer reads full
 * tiles. */
Test(tpu_generate_programs, branches_are_joined_in_place)
{
	struct tpu_config config = test_tpu_defaults();
	config.activate_latency_cycles = 1000; /* in one piece */
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(4, 1, 192, 28, 28));
	struct npl_tensor *branch[] = {conv(&n, x, 64, 1, 1, 1), conv(&n, x, 128, 3, 1, 1), conv(&n, x, 32, 5, 1, 1),
				       conv(&n, x, 32, 1, 1, 1)};
	struct npl_tensor *joint = concat(&n, branch, 4);
	pool(&n, joint, 3, 1, 1);
	conv(&n, joint, 128, 3, 1, 1);
	struct made m = make(&n, &config, false);
	cr_assert_eq(count(&m.g, TPU_ACTIVATE), 4 + 1 + 1);
	cr_assert_eq(m.outcome.counters.tiles, 1 + 9 + 25 + 1 + 9);
	cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
	/* the joint tensor and the pool's result with a row per pixel, the convolution's with two pixels in a row */
	cr_assert_eq(m.g.peak_rows, 784 * 2 + 784 / 2, "%lld rows", (long long)m.g.peak_rows);
	tpu_generated_free(&m.g);
}

/* CNN0 as reconstructed: two maps of 8 x 19 x 19 x 256 live at a time. Table 8 of the paper says 1.5 MiB. */
Test(tpu_generate_programs, rows_of_ended_values_are_reused)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	struct npl_tensor *x = conv(&n, tensor(&n, NPL_U8, npl_shape_of(4, 8, 48, 19, 19)), 256, 5, 1, 1);
	for (int i = 0; i < 13; i++)
		x = conv(&n, x, 256, 3, 1, 1);
	for (int i = 0; i < 2; i++)
		x = conv(&n, x, 256, 1, 1, 1);
	struct made m = make(&n, &config, false);
	cr_assert_eq(m.g.peak_rows, 2 * 2888);
	cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
	cr_assert_eq(m.g.parts, 1);
	cr_assert_eq(m.g.host_bytes_for_size, 0);
	tpu_generated_free(&m.g);
}

/* Vectors of few channels share rows. */
Test(tpu_generate_programs, short_vectors_share_rows)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	conv(&n, tensor(&n, NPL_U8, npl_shape_of(4, 1, 3, 224, 224)), 64, 7, 2, 1);
	struct made m = make(&n, &config, false);
	cr_assert_eq(m.g.peak_rows, (224 * 224 + 84) / 85 + 112 * 112 / 4);
	tpu_generated_free(&m.g);
}

/* Ratios of scales are taken in the order of the integer rules, to the last bit. */
Test(tpu_generate_programs, scales_in_the_order_of_the_rule)
{
	struct tpu_config config = test_tpu_defaults();
	bool matters = false;
	for (int k = 0; k < 20; k++) {
		struct net n = {0};
		struct npl_tensor *a = tensor(&n, NPL_U8, npl_shape_of(2, 1, 8));
		struct npl_tensor *b = tensor(&n, NPL_U8, npl_shape_of(2, 1, 8));
		struct npl_tensor *y = add(&n, a, b);
		n.layer[0].op = NPL_OP_MUL;
		a->quant.scale = 0.1f + (float)k * 0.013f;
		b->quant.scale = 0.3f;
		y->quant.scale = 0.7f;
		float expected = a->quant.scale * b->quant.scale / y->quant.scale, found = 0;
		matters |= fabsf(expected - a->quant.scale / y->quant.scale * b->quant.scale) > 0;
		struct made m = make(&n, &config, false);
		for (int64_t i = 0; i < m.g.program.count; i++) {
			const struct tpu_instruction *instruction = &tpu_code(&m.g.program)[i];
			if (instruction->opcode == TPU_SET_CONFIG && instruction->operand == TPU_REG_SOURCE_SCALE)
				memcpy(&found, &instruction->length, sizeof found);
		}
		cr_assert(!memcmp(&found, &expected, sizeof found), "%.9g, expected %.9g", (double)found,
			  (double)expected);
		tpu_generated_free(&m.g);
	}
	cr_assert(matters);
}

/* Four vectors of 64 channels are added as one of 256. */
Test(tpu_generate_programs, whole_rows_at_once)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	add(&n, tensor(&n, NPL_U8, npl_shape_of(4, 1, 64, 9, 9)), tensor(&n, NPL_U8, npl_shape_of(4, 1, 64, 9, 9)));
	struct made m = make(&n, &config, false);
	cr_assert_eq(m.outcome.counters.activate_cycles, (20 + 1) * 2, "a row of each operand at a time");
	cr_assert_eq(m.outcome.counters.ub_rows_read, 2 * 21);
	tpu_generated_free(&m.g);
}

/* Over the link: what is given once in, what is wanted once out, and nothing more while all fits. */
Test(tpu_generate_programs, nothing_crosses_the_link_twice)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(4, 2, 3, 32, 32));
	struct npl_tensor *y = conv(&n, conv(&n, x, 40, 3, 1, 1), 300, 3, 2, 1);
	struct made m = make(&n, &config, true);
	cr_assert_eq(m.outcome.counters.host_bytes_in, npl_tensor_bytes(x));
	cr_assert_eq(m.outcome.counters.host_bytes_out, npl_tensor_bytes(y));
	cr_assert_eq(m.g.host_bytes, npl_tensor_bytes(x) + npl_tensor_bytes(y));
	cr_assert_eq(m.g.host_bytes_for_size, 0);
	cr_assert(tpu_location_of(&m.g, x)->extent->in_host && tpu_location_of(&m.g, y)->extent->in_host);
	tpu_generated_free(&m.g);
}

/* A middle tensor too large for the whole batch: parts, no host memory, weights once per part. A tensor too large for
 * one image: strips, each byte once over the link except the halo. */
Test(tpu_generate_programs, large_tensors_are_split_into_parts_and_strips)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(4, 8, 256, 16, 16));
	conv(&n, conv(&n, x, 2048, 1, 1, 1), 256, 1, 1, 1);
	config.buffer_bytes = 256 * (2 * 2048 + 3 * 2048); /* in, out and 3 of 8 images of the middle */
	struct made m = make(&n, &config, false);
	cr_assert_eq(m.g.parts, 3);
	cr_assert_eq(m.g.host_bytes_for_size, 0);
	cr_assert_eq(m.outcome.counters.tiles, 3 * 16);
	cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
	tpu_generated_free(&m.g);

	n = (struct net){0};
	x = tensor(&n, NPL_U8, npl_shape_of(4, 1, 256, 64, 64));
	struct npl_tensor *y = conv(&n, x, 256, 3, 1, 1);
	config.buffer_bytes = 256 * 2048;
	m = make(&n, &config, false);
	uint64_t in = npl_tensor_bytes(x), out = npl_tensor_bytes(y);
	cr_assert_eq(m.outcome.counters.host_bytes_out, out);
	cr_assert_geq(m.outcome.counters.host_bytes_in, in);
	cr_assert_leq(m.outcome.counters.host_bytes_in, in + in / 2, "%llu bytes in",
		      (unsigned long long)m.outcome.counters.host_bytes_in);
	cr_assert_eq(m.g.host_bytes_for_size, m.outcome.counters.host_bytes_in + out);
	cr_assert_leq(m.g.peak_rows, 2048);
	cr_assert_eq(m.outcome.counters.useful_macs, macs_of(&n));
	tpu_generated_free(&m.g);
}

/* The program does not depend on whether values are wanted. */
Test(tpu_generate_programs, the_program_does_not_depend_on_values)
{
	struct tpu_config config = test_tpu_defaults();
	struct net n = {0};
	struct npl_err err = {0};
	config.rows = 32;
	config.columns = 24;
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(4, 2, 10, 12, 12));
	pool(&n, conv(&n, conv(&n, x, 70, 3, 1, 1), 30, 3, 2, 1), 3, 2, 1);
	struct made m = make(&n, &config, false);
	for (int i = 0; i < n.n_tensors; i++)
		cr_assert_eq(npl_tensor_alloc(&n.tensor[i], &err), 0);
	const struct npl_layer_group group = {.layer = n.list, .n = n.n_layers};
	struct tpu_generated with;
	cr_assert_eq(tpu_generate(&config, &group, &with, &err), 0, "%s", err.msg);
	cr_assert_eq(with.program.count, m.g.program.count);
	for (int64_t i = 0; i < with.program.count; i++) {
		uint8_t a[TPU_INSTRUCTION_BYTES], b[TPU_INSTRUCTION_BYTES];
		tpu_encode(&tpu_code(&with.program)[i], a);
		tpu_encode(&tpu_code(&m.g.program)[i], b);
		cr_assert_arr_eq(a, b, sizeof a, "instruction %lld", (long long)i);
	}
	for (int i = 0; i < n.n_tensors; i++)
		npl_tensor_free(&n.tensor[i]);
	tpu_generated_free(&with);
	tpu_generated_free(&m.g);
}

static void refused(const struct net *n, const struct tpu_config *config, struct npl_layer_group group, int code,
		    const char *part)
{
	struct tpu_generated g;
	struct npl_err err = {0};
	group.layer = n->list;
	group.n = n->n_layers;
	int rc = tpu_generate(config, &group, &g, &err);
	cr_assert_eq(rc, code, "%d: %s", rc, err.msg);
	cr_assert_not_null(strstr(err.msg, part), "%s", err.msg);
}

Test(tpu_generate_programs, groups_that_do_not_fit_are_refused)
{
	struct tpu_config config = test_tpu_defaults(), small = config;
	struct npl_layer_group timing = {.n = 1, .timing_only = true}, values = {0};
	struct npl_err err = {0};
	struct net n = {0};
	struct npl_tensor *x = tensor(&n, NPL_U8, npl_shape_of(2, 4, 2048));
	struct npl_tensor *y = gemm(&n, x, 64);
	small.weight_bytes = 65536;
	refused(&n, &small, timing, NPL_EDEVICE, "weight memory");
	small = config;
	small.buffer_bytes = 512;
	struct tpu_generated g;
	timing.layer = n.list;
	cr_assert_eq(tpu_generate(&small, &timing, &g, &err), 0, "one block of K at a time: %s", err.msg);
	tpu_generated_free(&g);
	y->dtype = NPL_I32;
	refused(&n, &small, timing, NPL_EDEVICE, "does not fit in the 2 rows");
	y->dtype = NPL_U8;

	for (int i = 0; i < n.n_tensors; i++)
		cr_assert_eq(npl_tensor_alloc(&n.tensor[i], &err), 0);
	y->quant.scale = 0;
	refused(&n, &config, values, NPL_EINPUT, "output channel 0 is scaled by");
	struct npl_tensor *z = add(&n, x, x);
	z->quant.scale = 0;
	y->quant.scale = 1;
	refused(&n, &config, values, NPL_EINPUT, "test: the scales of its tensors give a ratio of inf");
	n.n_layers--;
	for (int i = 0; i < n.n_tensors; i++)
		npl_tensor_free(&n.tensor[i]);

	const struct npl_tensor stranger = {0}, *output[] = {&stranger};
	timing.output = output;
	timing.n_outputs = 1;
	refused(&n, &config, timing, NPL_EDEVICE, "no layer makes or reads");
	timing = (struct npl_layer_group){.timing_only = true};
	n.layer[0].in[1] = NULL;
	refused(&n, &config, timing, NPL_EDEVICE, "test (Gemm): the layer has no weights");
}
