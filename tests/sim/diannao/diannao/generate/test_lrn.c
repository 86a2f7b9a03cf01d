/* SPDX-License-Identifier: MIT
 *
 * Promise of sim/diannao/diannao/generate/lrn.c: of squares the machine makes the factor (bias + alpha/size * sum of
 * neighbouring maps)^-beta, off by little more than NFU-3's segments are; both engines give the same values, cycles and
 * counters; its useful multiply-accumulates are the squares in windows; what cannot be held is refused with the
 * reason. */
#include "tests/kit/sim/diannao/fixture.h"

/* Maps of `plane` squares, calibrated so that they use 14 bits. */
static void make_case(struct dn_case *c, uint64_t *rng, struct npl_shape shape, int exponent)
{
	*c = (struct dn_case){.attrs.lrn = {.size = 5, .alpha = 1e-4f, .beta = 0.75f, .bias = 1}};
	c->x = dn_tensor(NPL_I16, exponent, shape);
	c->y = dn_tensor(NPL_I16, -3, shape);
	dn_case_layer(c, NPL_OP_LRN);
	if (!rng)
		return;
	dn_case_data(c, rng, 14, 0);
	for (int64_t i = 0, n = npl_tensor_count(&c->x); i < n; i++)
		((int16_t *)c->x.data)[i] = (int16_t)abs(((int16_t *)c->x.data)[i]);
}

static int64_t plane_of(const struct npl_shape *shape)
{
	return npl_shape_count(shape) / (shape->dim[0] * shape->dim[1]);
}

/* t of map m at a position, in doubles; *pairs counts what it sums. */
static double sum_of(const struct dn_case *c, int64_t image, int64_t m, int64_t p, uint64_t *pairs)
{
	int64_t maps = c->x.shape.dim[1], plane = plane_of(&c->x.shape);
	double sum = 0;
	for (int64_t k = 0; k < maps; k++)
		if (k >= m - (c->attrs.lrn.size - 1) / 2 && k <= m + c->attrs.lrn.size / 2) {
			sum += ((int16_t *)c->x.data)[(image * maps + k) * plane + p];
			++*pairs;
		}
	return (double)c->attrs.lrn.bias +
	       (double)c->attrs.lrn.alpha / (double)c->attrs.lrn.size * sum * (double)c->x.quant.scale;
}

/* Returns the largest error of y; *pairs gets the pairs of all positions. */
static double error_of(const struct dn_case *c, uint64_t *pairs)
{
	int64_t maps = c->x.shape.dim[1], plane = plane_of(&c->x.shape);
	double error = 0;
	*pairs = 0;
	for (int64_t image = 0; image < c->x.shape.dim[0]; image++)
		for (int64_t m = 0; m < maps; m++)
			for (int64_t p = 0; p < plane; p++) {
				double f = pow(sum_of(c, image, m, p, pairs), -(double)c->attrs.lrn.beta);
				int16_t y = ((int16_t *)c->y.data)[(image * maps + m) * plane + p];
				error = fmax(error, fabs(y * (double)c->y.quant.scale - f));
			}
	return error;
}

/* As a calibration on these squares would. */
static void calibrate(struct dn_case *c)
{
	double minimum = INFINITY;
	uint64_t pairs;
	for (int64_t image = 0; image < c->x.shape.dim[0]; image++)
		for (int64_t m = 0; m < c->x.shape.dim[1]; m++)
			for (int64_t p = 0; p < plane_of(&c->x.shape); p++)
				minimum = fmin(minimum,
					       pow(sum_of(c, image, m, p, &pairs), -(double)c->attrs.lrn.beta));
	c->attrs.lrn.least_factor = (float)minimum;
}

static void run_on(const struct dn_config *config, const char *engine, struct dn_case *c, struct npl_result *result)
{
	void *state = dn_opened(config);
	char reason[200];
	struct npl_err err;
	*result = (struct npl_result){0};
	cr_assert_eq(npl_driver_diannao.choose_engine(state, engine, &err), 0, "%s", err.msg);
	cr_assert(npl_driver_diannao.supports(state, &c->layer, reason, sizeof reason), "%s", reason);
	cr_assert_eq(npl_driver_diannao.run(state, &c->layer, result, &err), 0, "%s", err.msg);
	npl_driver_diannao.close(state);
}

static void same(const struct npl_result *a, const struct npl_result *b, int seed)
{
	cr_assert_eq(a->cycles, b->cycles, "seed %d", seed);
	for (size_t i = 0; i < DN_COUNTERS; i++)
		cr_assert_eq(a->counter[i], b->counter[i], "seed %d: %s is %llu and %llu", seed,
			     dn_counter_defs[i].name, (unsigned long long)a->counter[i],
			     (unsigned long long)b->counter[i]);
	cr_assert_eq(a->n_energy, b->n_energy);
	for (int i = 0; i < a->n_energy; i++)
		cr_assert_eq(a->energy[i].events, b->energy[i].events, "seed %d: %s", seed, a->energy[i].component);
}

/* A random case that the machine takes. */
static void random_case(struct dn_case *c, uint64_t *rng, const struct dn_config *config)
{
	void *state = dn_opened(config);
	char reason[200];
	for (;;) {
		int64_t images = test_range(rng, 1, 2), maps = test_range(rng, 1, 70);
		struct npl_shape shapes[] = {
			npl_shape_of(2, images, maps), npl_shape_of(3, images, maps, test_range(rng, 1, 9)),
			npl_shape_of(4, images, maps, test_range(rng, 1, 5), test_range(rng, 1, 5))};
		make_case(c, rng, shapes[test_range(rng, 0, 2)], (int)test_range(rng, -12, 12));
		c->attrs.lrn.size = test_range(rng, 1, 12);
		c->attrs.lrn.alpha = ldexpf((float)test_range(rng, 1, 1000), -(int)test_range(rng, 5, 25));
		c->attrs.lrn.beta = (float)test_range(rng, 0, 100) / 100;
		c->attrs.lrn.bias = (float)test_range(rng, 500, 3000) / 1000;
		if (npl_driver_diannao.supports(state, &c->layer, reason, sizeof reason))
			break;
		dn_case_free(c);
	}
	npl_driver_diannao.close(state);
}

Test(diannao_lrn, engines_agree_and_the_factor_is_right)
{
	double worst = 0;
	for (int seed = 1; seed <= 80; seed++) {
		uint64_t rng = (uint64_t)seed, pairs;
		struct dn_config config = seed % 3 ? dn_random_machine(&rng) : dn_default();
		struct dn_case c;
		struct npl_result fast, rtl, timed;
		config.nest = DN_WANT_ANY;
		config.sum_bits = 32;
		config.product = seed % 2;
		random_case(&c, &rng, &config);
		if (seed % 4 < 2)
			calibrate(&c);
		run_on(&config, "fast", &c, &fast);
		double error = error_of(&c, &pairs);
		int16_t *values = malloc(npl_tensor_bytes(&c.y));
		cr_assert(values);
		memcpy(values, c.y.data, npl_tensor_bytes(&c.y));
		memset(c.y.data, 0x55, npl_tensor_bytes(&c.y));
		run_on(&config, "rtl", &c, &rtl);
		same(&fast, &rtl, seed);
		cr_assert_eq(memcmp(values, c.y.data, npl_tensor_bytes(&c.y)), 0, "seed %d", seed);
		cr_assert(error < 1.0 / 32 + 0.005, "seed %d: %g", seed, error);
		worst = fmax(worst, error);
		cr_assert_eq(fast.macs, pairs, "seed %d", seed);
		c.layer.timing_only = true;
		run_on(&config, "fast", &c, &timed);
		cr_assert_eq(timed.cycles, fast.cycles);
		cr_assert_eq(timed.macs, pairs);
		cr_assert(fast.saturations == 0 && fast.overflows == 0, "seed %d", seed);
		free(values);
		dn_case_free(&c);
	}
	cr_assert_gt(worst, 1.0 / 512, "NFU-3 has only 16 segments: %g", worst);
}

/* Maps fewer than a row, one more or less than rows, one alone; windows of one map, wider than all, of an even size: by
 * the definition, on both engines. */
Test(diannao_lrn, maps_and_windows_of_all_sizes)
{
	static const int64_t sizes[] = {1, 2, 5, 8, 33, 40, 1000};
	for (int tn_log = 1; tn_log <= 5; tn_log++)
		for (int64_t maps = 1; maps <= 70; maps += maps < 4 ? 1 : 11)
			for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += TEST_SANITIZED ? 3 : 1) {
				uint64_t rng = (uint64_t)maps, pairs;
				struct dn_config config = dn_default();
				struct dn_case c;
				struct npl_result fast, rtl;
				config.tn = 1 << tn_log;
				make_case(&c, &rng, npl_shape_of(4, 2, maps, 3, 2), 4);
				c.attrs.lrn.size = sizes[i];
				c.attrs.lrn.alpha = 1e-3f;
				run_on(&config, "fast", &c, &fast);
				double error = error_of(&c, &pairs);
				cr_assert(error < 0.0145, "Tn %d, %d maps, size %d: %g", 1 << tn_log, (int)maps,
					  (int)sizes[i], error);
				run_on(&config, "rtl", &c, &rtl);
				same(&fast, &rtl, (int)maps);
				cr_assert_eq(error_of(&c, &pairs), error);
				cr_assert(fast.macs == pairs && rtl.macs == pairs);
				dn_case_free(&c);
			}
}

/* AlexNet's two by hand: a position of a group is one step of its biases and one for each group of inputs that its
 * window touches, its own and both neighbours; inputs and results cross the port once, and so does each row of SB. */
Test(diannao_lrn, steps_and_bytes_of_alexnets)
{
	static const int64_t shapes[][3] = {{96, 54, 54}, {256, 26, 26}};
	struct dn_config config = dn_default();
	for (int i = 0; i < 2; i++) {
		const int64_t maps = shapes[i][0], groups = maps / 16, plane = shapes[i][1] * shapes[i][2];
		const uint64_t rows = (uint64_t)(groups + 3 * groups - 2), positions = (uint64_t)plane;
		struct dn_case c;
		struct npl_result result;
		make_case(&c, NULL, npl_shape_of(4, 1, maps, shapes[i][1], shapes[i][2]), 0);
		run_on(&config, "fast", &c, &result);
		cr_assert_eq(dn_counter(&result, "nfu_active"), rows * positions);
		cr_assert_eq(dn_counter(&result, "sb_rows"), rows * positions);
		cr_assert_eq(dn_counter(&result, "nbin_rows"), (rows - (uint64_t)groups) * positions);
		cr_assert_eq(dn_counter(&result, "synapse_bytes"), 512 * rows);
		cr_assert_eq(dn_counter(&result, "input_bytes"), 2 * (uint64_t)maps * positions);
		cr_assert_eq(dn_counter(&result, "output_bytes"), 2 * (uint64_t)maps * positions);
		cr_assert_eq(dn_counter(&result, "nfu3_operations"), (uint64_t)maps * positions);
		cr_assert_eq(dn_counter(&result, "useful_macs"), (uint64_t)(5 * maps - 6) * positions);
		/* Two requests of 13 cycles for a position, or its steps. */
		const uint64_t minimum = (rows > 26 ? rows : 26) * positions;
		cr_assert(result.cycles >= minimum && result.cycles < minimum + 500, "%d: %llu cycles", i,
			  (unsigned long long)result.cycles);
	}
}

/* AlexNet's (size 5, alpha 1e-4, beta 0.75, bias 1), where t goes from 1 to t_most: with nothing known of the squares'
 * sums, and with what calibration says of these: the errors that the documentation states. */
Test(diannao_lrn, the_error_of_alexnets_lrn_is_as_documented)
{
	static const struct {
		int exponent;
		double t_most, unknown, known;
	} cases[] = {{-10, 1.00001, 1e-5, 1e-5}, {0, 1.002, 2e-4, 2e-4},    {6, 1.1, 2e-4, 2e-4},
		     {8, 1.4, 8e-4, 6e-4},       {10, 2.5, 0.0031, 0.0026}, {12, 7, 0.0042, 0.0036},
		     {14, 25, 0.0070, 0.0042},   {16, 95, 0.0108, 0.0042}};
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t rng = 5, pairs;
		struct dn_case c;
		struct npl_result result;
		make_case(&c, &rng, npl_shape_of(4, 1, 96, 9, 9), cases[i].exponent);
		run_on(&config, "fast", &c, &result);
		const double unknown = error_of(&c, &pairs);
		calibrate(&c);
		const double t = pow((double)c.attrs.lrn.least_factor, -1 / 0.75);
		cr_assert(t <= cases[i].t_most && t > 0.9 * cases[i].t_most, "case %zu: t up to %g", i, t);
		run_on(&config, "fast", &c, &result);
		const double known = error_of(&c, &pairs);
		cr_assert(unknown < cases[i].unknown && known < cases[i].known, "case %zu: %g, %g", i, unknown, known);
		cr_assert(result.saturations == 0 && dn_counter(&result, "sum_saturations") == 0);
		dn_case_free(&c);
	}
}

/* Squares whose sums are many times what calibration saw: the factor does not rise again, nothing wraps, and both
 * engines agree. */
Test(diannao_lrn, sums_that_calibration_did_not_see)
{
	struct dn_config config = dn_default();
	for (int exponent = 8; exponent <= 14; exponent++) {
		uint64_t rng = 9, pairs;
		struct dn_case c;
		struct npl_result fast, rtl;
		make_case(&c, &rng, npl_shape_of(4, 1, 33, 5, 5), exponent);
		c.attrs.lrn.least_factor = powf(1.0f + ldexpf(1, exponent - 16), -0.75f);
		run_on(&config, "fast", &c, &fast);
		for (int64_t m = 0; m < 33; m++)
			for (int64_t p = 0; p < 25; p++) {
				const double f = pow(sum_of(&c, 0, m, p, &pairs), -0.75);
				const double y = ((int16_t *)c.y.data)[m * 25 + p] * (double)c.y.quant.scale;
				cr_assert(y > f - 1.0 / 32 && y < 1.01, "2^%d: %g for %g", exponent, y, f);
			}
		run_on(&config, "rtl", &c, &rtl);
		same(&fast, &rtl, exponent);
		cr_assert_eq(fast.overflows, 0);
		dn_case_free(&c);
	}
}

/* Parameters of LRN, the exponent of the input's scale, the bits of sums, and why it is refused. */
static const struct {
	float alpha, beta, bias;
	int64_t size;
	int exponent;
	int sum_bits;
	const char *reason; /* NULL: taken */
} lrn_cases[] = {
	{1e-4f, 0.75f, 1, 5, 0, 32, NULL},
	{1e-4f, 0.75f, 2, 5, 0, 32, NULL},
	{1e-4f, 0.75f, 1, 5, 15, 32, NULL}, /* t up to 106 */
	{1e-4f, 0.75f, 1, 5, 20, 32, "miss t to the power of -0.75, t from 1 to 3.36e+03"},
	{1e-4f, 0.75f, 1, 5, -100, 32, NULL}, /* squares that do not count beside the bias */
	{0, 0.75f, 1, 5, 0, 32, NULL},
	{1e-4f, 0, 1, 5, 0, 32, NULL},
	{1, 0.75f, 1, 5, 0, 32, NULL},
	{1e-4f, 0.75f, 1, INT32_MAX, 0, 32, NULL},
	{1, 0.75f, 0.25f, 5, 0, 32, NULL},
	{1e-4f, 0.75f, 1e-3f, 5, 0, 32, NULL},
	{1e-4f, 0.75f, 1e6f, 5, 0, 32, NULL},
	{1, 0.75f, 1e-3f, 5, 0, 32, "miss t to the power of -0.75, t from 0.001 to 32"},
	{1, 3, 0.6f, 5, 0, 32, "miss t to the power of -3"},
	{1e-4f, -0.5f, 1, 5, 0, 32, "a power that falls"},
	{-1e-4f, 0.5f, 1, 5, 0, 32, "a power that falls"},
	{1e-4f, NAN, 1, 5, 0, 32, "a power that falls"},
	{INFINITY, 1, 1, 5, 0, 32, "a power that falls"},
	{1e-4f, 0.75f, 0, 5, 0, 32, "0 to the power of -0.75 is not a finite"},
	{1e-4f, 0.75f, -1, 5, 0, 32, "not a finite"},
	{1e-4f, 0.75f, NAN, 5, 0, 32, "not a finite"},
	{1e-4f, 0.75f, INFINITY, 5, 0, 32, "not a finite"},
	{1e-4f, 200, 1e-3f, 5, 0, 32, "not a finite"},
	{1e-4f, 0.75f, 1, 5, 0, 16, NULL},
};

Test(diannao_lrn, factors_that_segments_miss_are_refused)
{
	struct dn_config config = dn_default();
	for (size_t i = 0; i < sizeof lrn_cases / sizeof *lrn_cases; i++) {
		struct dn_case c;
		char reason[200] = "";
		config.sum_bits = lrn_cases[i].sum_bits;
		void *state = dn_opened(&config);
		make_case(&c, NULL, npl_shape_of(4, 1, 20, 3, 3), lrn_cases[i].exponent);
		c.attrs.lrn = (struct npl_lrn_attrs){.alpha = lrn_cases[i].alpha,
						     .beta = lrn_cases[i].beta,
						     .bias = lrn_cases[i].bias,
						     .size = lrn_cases[i].size};
		bool supported = npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason);
		cr_expect_eq(supported, !lrn_cases[i].reason, "case %zu: %s", i, reason);
		cr_expect(!lrn_cases[i].reason || strstr(reason, lrn_cases[i].reason), "case %zu: '%s'", i, reason);
		npl_driver_diannao.close(state);
	}
	config.sum_bits = 32;
	void *state = dn_opened(&config);
	struct dn_case c;
	char reason[200];
	make_case(&c, NULL, npl_shape_of(3, 1, 20, 3), 0);
	c.layer.activation = NPL_ACT_RELU;
	cr_assert(!npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason) &&
			  strstr(reason, "one function"),
		  "%s", reason);
	make_case(&c, NULL, npl_shape_of(3, 1, 20, 3), 0);
	c.y.shape.dim[2] = 4;
	cr_assert(!npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason) &&
			  strstr(reason, "of one shape"),
		  "%s", reason);
	npl_driver_diannao.close(state);
}
