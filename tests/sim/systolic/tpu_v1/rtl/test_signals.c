/* SPDX-License-Identifier: MIT
 *
 * The signals of the systolic array are its registers. What the program promises: every cell adds its product to the
 * sum from above, a cycle later than the cell above, and gives its activation on, a cycle later than the cell at the
 * left; weights come in as rows of the tile; the sums that fall out of the columns are those that the accumulators
 * take; and from these the layer's results follow. */
#include <stdio.h>

#include "npulab/signal_sink.h"
#include "tests/kit/layer_rule.h"
#include "tests/kit/support.h"

enum { CELLS = 16, ROWS = 6, DEPTH = 40 };

struct cell {
	int64_t activation, active, shadow, sum;
};
/* The registers of the machine in one cycle. */
struct registers {
	struct cell cell[CELLS][CELLS];
	int64_t left[CELLS], bottom[CELLS], write_valid[CELLS], write_address[CELLS], write_sum[CELLS],
		write_value[CELLS];
};
struct seen {
	struct registers now, before;
	int64_t *at[CELLS * CELLS * 4 + 6 * CELLS]; /* where the value of each signal goes, in now */
	uint64_t cycle;
	int cycles;
	int64_t accumulator[ROWS][CELLS]; /* their last values, by address from the first one on */
	int64_t first_address, sums;
};

static int64_t *place_of(struct registers *registers, const char *name)
{
	static const char *const edges[] = {"array.activation",        "array.sum",
					    "accumulator.write_valid", "accumulator.write_address",
					    "accumulator.write_sum",   "accumulator.write_value"};
	int64_t *const edge[] = {registers->left,          registers->bottom,    registers->write_valid,
				 registers->write_address, registers->write_sum, registers->write_value};
	char word[40];
	int r, c;
	if (sscanf(name, "cell[%d][%d].%30s", &r, &c, word) == 3) {
		struct cell *cell = &registers->cell[r][c];
		return word[0] == 's' && word[1] == 'u' ? &cell->sum
		       : word[0] == 's'                 ? &cell->shadow
		       : !strcmp(word, "active")        ? &cell->active
							: &cell->activation;
	}
	cr_assert_eq(sscanf(name, "%30[^[][%d]", word, &c), 2, "%s", name);
	for (int i = 0; i < 6; i++)
		if (!strcmp(word, edges[i]))
			return &edge[i][c];
	cr_assert_fail("%s was not chosen", name);
	return NULL;
}

static int on_signals(void *context, const struct npl_signal *signal, int n, int64_t clock_hz, struct npl_err *err)
{
	struct seen *seen = context;
	(void)clock_hz;
	(void)err;
	cr_assert_eq(n, CELLS * CELLS * 4 + 6 * CELLS);
	for (int i = 0; i < n; i++)
		seen->at[i] = place_of(&seen->now, signal[i].name);
	return 0;
}

/* Compares a cycle with the one before it, in which the registers may have been the same. */
static void expect_flow(const struct registers *now, const struct registers *before)
{
	for (int r = 0; r < CELLS; r++)
		for (int c = 0; c < CELLS; c++) {
			const struct cell *cell = &now->cell[r][c];
			const int64_t above = r ? before->cell[r - 1][c].sum : 0,
				      left = c ? before->cell[r][c - 1].activation : now->left[r];
			cr_assert_eq(cell->activation, left, "cell %d, %d", r, c);
			cr_assert_eq(cell->sum, above + cell->activation * (int8_t)cell->active, "cell %d, %d", r, c);
			/* A weight that multiplies has been there, or comes from the shadow plane. */
			cr_assert(cell->active == before->cell[r][c].active ||
					  cell->active == before->cell[r][c].shadow,
				  "cell %d, %d", r, c);
		}
	for (int c = 0; c < CELLS; c++)
		cr_assert_eq(now->bottom[c], now->cell[CELLS - 1][c].sum);
}

/* Adds what falls out of the columns to accumulators of the test's own. */
static void take_sums(struct seen *seen)
{
	const struct registers *now = &seen->now;
	for (int c = 0; c < CELLS; c++) {
		if (!now->write_valid[c])
			continue;
		if (!seen->sums++)
			seen->first_address = now->write_address[c];
		const int64_t row = now->write_address[c] - seen->first_address;
		cr_assert(row >= 0 && row < ROWS, "accumulator row %lld", (long long)now->write_address[c]);
		cr_assert_eq(now->write_sum[c], now->bottom[c]);
		seen->accumulator[row][c] += now->bottom[c]; /* the first tile replaces zeros */
		cr_assert_eq(seen->accumulator[row][c], now->write_value[c]);
	}
}

static int on_cycle(void *context, uint64_t cycle, const struct npl_signal_change *change, int n, struct npl_err *err)
{
	struct seen *seen = context;
	(void)err;
	if (seen->cycles++) {
		if (cycle > seen->cycle + 1) /* cycles between, in which nothing changes */
			expect_flow(&seen->now, &seen->now);
		for (uint64_t t = seen->cycle + 1; t < cycle; t++)
			take_sums(seen);
		seen->before = seen->now;
	}
	for (int i = 0; i < n; i++)
		*seen->at[change[i].signal] = change[i].is_known ? change[i].value : 0;
	seen->cycle = cycle;
	if (seen->cycles > 1)
		expect_flow(&seen->now, &seen->before);
	take_sums(seen);
	return 0;
}

static struct npl_tensor tensor(enum npl_dtype dtype, struct npl_shape shape, float scale, uint64_t *rng)
{
	struct npl_tensor t = {.dtype = dtype, .shape = shape, .quant = {.scale = scale}};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(&t); i++)
		rule_set(&t, i, test_range(rng, -128, 127));
	return t;
}

static void try_product(uint64_t seed)
{
	static struct seen seen;
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull | 1;
	const struct npl_attrs attrs = {
		.op = NPL_OP_GEMM, .opset = 22, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	struct npl_tensor x = tensor(NPL_I8, npl_shape_of(2, ROWS, test_range(&rng, 20, DEPTH)), 0.05f, &rng),
			  w = tensor(NPL_I8, npl_shape_of(2, CELLS, x.shape.dim[1]), 0.02f, &rng),
			  y = tensor(NPL_I8, npl_shape_of(2, ROWS, CELLS), 0.7f, &rng);
	x.quant.zero_point = (int32_t)test_range(&rng, -128, 127);
	struct npl_layer layer = {.name = "product", .op = NPL_OP_GEMM, .attrs = &attrs, .n_in = 2};
	layer.in[0] = &x;
	layer.in[1] = &w;
	layer.out = &y;
	layer.macs = (uint64_t)(ROWS * CELLS * x.shape.dim[1]);
	const struct npl_signal_sink signals = {.choice = "cell[*,array.activation[*,array.sum[*,accumulator.write_*",
						.on_signals = on_signals,
						.on_cycle = on_cycle,
						.context = &seen};
	const struct npl_instruction_sink sink = {.signals = &signals};
	struct npl_device *device;
	struct npl_result result = {0};
	struct npl_err err = {0};
	memset(&seen, 0, sizeof seen);
	cr_assert_eq(npl_device_open("systolic_16x16", &(struct npl_device_options){.engine = "rtl"}, &device, &err),
		     0);
	cr_assert_eq(npl_device_tell_instructions(device, &sink, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_device_run(device, &layer, &result, &err), 0, "%s", err.msg);
	cr_assert_eq(seen.sums, ROWS * CELLS * ((x.shape.dim[1] + CELLS - 1) / CELLS));
	for (int64_t i = 0; i < ROWS; i++)
		for (int64_t m = 0; m < CELLS; m++)
			cr_assert_eq(rule_requantise(&layer, m, seen.accumulator[i][m]), rule_get(&y, i * CELLS + m),
				     "seed %llu", (unsigned long long)seed);
	npl_device_close(device);
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&y);
}

Test(tpu_signals, the_layer_s_results_fall_out_of_the_columns)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		try_product(seed);
}
