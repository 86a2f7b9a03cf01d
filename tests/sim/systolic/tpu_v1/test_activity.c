/* SPDX-License-Identifier: MIT
 *
 * The activity of operands on a systolic machine. What the program promises: random operands have an activity of one
 * and cost what is charged; operands that stand still, or are 0, cost less by what they decide; the counts are those of
 * the definition, worked out here product by product. That both engines count the same is tpu_engines' test. */
#include <math.h>

#include "tests/kit/sim/tpu_v1/support.h"

static struct tpu_config counting(int64_t side)
{
	struct tpu_config config = test_tpu_defaults();
	config.technology.activity = SIM_COUNTED;
	config.rows = config.columns = side;
	return config;
}

static uint64_t counted(const struct npl_result *result, const char *name)
{
	for (int i = 0; i < TPU_COUNTERS; i++)
		if (!strcmp(tpu_counter_defs[i].name, name))
			return result->counter[i];
	cr_assert_fail("no counter %s", name);
	return 0;
}

static double toggle_rate(const struct npl_result *r)
{
	return (double)counted(r, "partial_product_toggles") /
	       (double)(counted(r, "useful_macs") + counted(r, "unused_macs"));
}

Test(tpu_activity, random_operands_cost_what_is_charged)
{
	const struct tpu_config config = counting(64);
	struct test_layer t;
	uint64_t rng = 1;
	test_gemm(&t, 400, 64, 64);
	t.x.dtype = NPL_I8;
	test_fill(&t.x, &rng);
	test_fill(&t.w, &rng);
	const struct npl_result r = test_run(&config, &t.layer);
	cr_expect_float_eq(toggle_rate(&r), 81.0 / 4, 0.5, "half of the input bits toggle, half of the weights' are 1");
	cr_expect_float_eq((double)counted(&r, "input_toggles"), 400 * 64 * 4, 2000);
	cr_expect_float_eq(npl_energy_by_activity(r.energy, r.n_energy) / npl_result_joules(&r), 1, 0.01);
	test_layer_free(&t);
}

Test(tpu_activity, still_and_zero_operands_cost_less)
{
	const struct tpu_config config = counting(64);
	struct test_layer t;
	uint64_t rng = 2;
	test_gemm(&t, 400, 64, 64);
	test_fill(&t.x, &rng);
	test_fill(&t.w, &rng);
	for (int row = 1; row < 400; row++)
		memcpy((uint8_t *)t.x.data + row * 64, t.x.data, 64);
	const struct npl_result still = test_run(&config, &t.layer);
	memset(t.x.data, 0, 400 * 64);
	const struct npl_result zero = test_run(&config, &t.layer);
	cr_expect_leq(counted(&still, "input_toggles"), 64 * 8, "only the first row");
	cr_expect_lt(npl_energy_by_activity(still.energy, still.n_energy), npl_result_joules(&still));
	cr_expect_eq(counted(&zero, "zero_products"), counted(&zero, "useful_macs") + counted(&zero, "unused_macs"));
	cr_expect_eq(counted(&zero, "partial_product_toggles"), 0);
	cr_expect_float_eq(npl_result_joules(&zero), npl_result_joules(&still), 1e-15, "what is charged is the same");
	test_layer_free(&t);
}

static int ones(int x)
{
	return __builtin_popcount((unsigned)x & 0x1ff);
}

/* One tile, signed inputs with a zero point: every product of every cell, in the order of the vectors. */
Test(tpu_activity, counts_are_those_of_the_definition)
{
	enum { SIDE = 16, ROWS = 37, ZERO = -5 };
	const struct tpu_config config = counting(SIDE);
	struct test_layer t;
	uint64_t rng = 3, zeros = 0, toggles = 0, input_toggles = 0;
	test_gemm(&t, ROWS, SIDE, SIDE);
	t.x.dtype = NPL_I8;
	t.x.quant.zero_point = ZERO;
	int8_t *x = t.x.data, *w = t.w.data;
	for (int i = 0; i < ROWS * SIDE; i++)
		x[i] = (int8_t)(test_range(&rng, 0, 2) ? test_range(&rng, -128, 127) : ZERO);
	for (int i = 0; i < SIDE * SIDE; i++)
		w[i] = (int8_t)(test_range(&rng, 0, 2) ? test_range(&rng, -128, 127) : 0);
	for (int v = 0; v < ROWS; v++)
		for (int k = 0; k < SIDE; k++) {
			const int now = x[v * SIDE + k] - ZERO, before = v ? x[(v - 1) * SIDE + k] - ZERO : 0;
			input_toggles += (uint64_t)__builtin_popcount(
				(unsigned)(x[v * SIDE + k] ^ (v ? x[(v - 1) * SIDE + k] : 0)) & 0xff);
			for (int n = 0; n < SIDE; n++) {
				zeros += !now || !w[n * SIDE + k];
				toggles += (uint64_t)(ones(now ^ before) * ones(w[n * SIDE + k]));
			}
		}
	const struct npl_result r = test_run(&config, &t.layer);
	cr_expect_eq(counted(&r, "zero_products"), zeros);
	cr_expect_eq(counted(&r, "partial_product_toggles"), toggles);
	cr_expect_eq(counted(&r, "input_toggles"), input_toggles);
	test_layer_free(&t);
}

Test(tpu_activity, is_not_known_without_values)
{
	const struct tpu_config config = counting(64);
	struct test_layer t;
	test_gemm(&t, 40, 64, 64);
	t.layer.timing_only = true;
	const struct npl_result r = test_run(&config, &t.layer);
	cr_expect(isnan(npl_energy_by_activity(r.energy, r.n_energy)));
	test_layer_free(&t);
}
