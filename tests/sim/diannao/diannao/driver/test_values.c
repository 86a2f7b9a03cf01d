/* SPDX-License-Identifier: MIT
 *
 * Promise: every output value, and every count of a product, sum or output that left its width, is what the rules of
 * docs/machine-diannao.md say, written out here once more in wide integers and divisions. */
#include "core/q16/q16.h"
#include "sim/diannao/diannao/nfu.h"
#include "tests/kit/sim/diannao/fixture.h"

__extension__ typedef __int128 wide;

struct truth {
	uint64_t products, wraps, sums, outputs; /* that left their width */
};

/* floor(a / b), b > 0 */
static wide floor_div(wide a, wide b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* a / 2^shift, ties up */
static wide scale_down(wide a, int shift)
{
	wide d = (wide)1 << (shift > 0 ? shift : 0);
	return shift >= 0 ? floor_div(2 * a + d, 2 * d) : a * ((wide)1 << -shift);
}

static wide clip(wide a)
{
	return a > 32767 ? 32767 : a < -32768 ? -32768 : a;
}

static wide wrapped(wide a, int64_t bits, struct truth *t)
{
	wide size = (wide)1 << bits, w = a - floor_div(a + size / 2, size) * size;
	t->wraps += w != a;
	return w;
}

static int exponent(const struct npl_tensor *t)
{
	return ilogbf(t->quant.scale) + 10;
}

/* NFU-3's functions of numbers with 10 fraction bits; from[i] is where segment i begins. */
static const double from[16] = {-32, -4.625, -2.75, -1.75, -1.25, -0.875, -0.5, 0,
				0.5, 0.875,  1.25,  1.875, 3.125, 6,      12,   24};
static const int sigmoid_line[16][2] = {{0, 5},     {27, 130},  {91, 307},  {153, 418}, {195, 471}, {228, 500},
					{252, 512}, {252, 512}, {228, 524}, {195, 553}, {148, 613}, {75, 753},
					{14, 944},  {0, 1023},  {0, 1024},  {0, 1024}};
static const int tanh_line[16][2] = {{0, -1024}, {5, -1003}, {51, -881}, {189, -638}, {398, -377}, {659, -151},
				     {947, -7},  {948, 7},   {663, 148}, {398, 377},  {173, 660},  {35, 917},
				     {1, 1018},  {0, 1024},  {0, 1024},  {0, 1024}};

static wide along(const int line[16][2], wide x)
{
	int i = 15;
	while ((double)x / 1024 < from[i])
		i--;
	return clip(scale_down(line[i][0] * x, 10) + line[i][1]);
}

/* The lines that stand for the layer's function, NULL where it is exact. */
static const int (*lines_of(const struct dn_case *c))[2]
{
	enum npl_op op = c->layer.op;
	if (op == NPL_OP_SIGMOID || c->layer.activation == NPL_ACT_SIGMOID)
		return sigmoid_line;
	return op == NPL_OP_TANH || c->layer.activation == NPL_ACT_TANH ? tanh_line : NULL;
}

/* The scale that values have before NFU-3, as an exponent. */
static int middle(const struct dn_case *c)
{
	return lines_of(c) ? 0 : exponent(&c->y);
}

static int64_t leave(const struct dn_case *c, wide value, struct truth *t)
{
	wide x = clip(value);
	t->sums += x != value;
	if (lines_of(c)) {
		wide y = scale_down(along(lines_of(c), x), exponent(&c->y));
		t->outputs += y != clip(y);
		return (int64_t)clip(y);
	}
	double low = -INFINITY, high = INFINITY;
	if (c->layer.op == NPL_OP_RELU || c->layer.activation == NPL_ACT_RELU || c->layer.activation == NPL_ACT_RELU6)
		low = 0;
	if (c->layer.activation == NPL_ACT_RELU6)
		high = 6;
	if (c->layer.op == NPL_OP_CLIP) {
		low = (double)c->attrs.clip.min;
		high = (double)c->attrs.clip.max;
	}
	low /= (double)c->y.quant.scale;
	high /= (double)c->y.quant.scale;
	bool beyond = (double)x < low || (double)x >= high;
	t->outputs += x != value && !beyond;
	return !beyond ? (int64_t)x : (int64_t)((double)x < low ? low : high);
}

static wide product(const struct dn_config *config, int16_t x, int16_t w, struct truth *t)
{
	wide p = (wide)x * w;
	if (config->product == NPL_Q16_FULL)
		return p;
	wide r = scale_down(p, 10);
	t->products += r != clip(r);
	return clip(r);
}

/* The sum for output m of group g at (image, oy, ox); a Gemm's row is ox. */
static wide sum_at(const struct dn_config *config, const struct dn_case *c, int64_t image, int64_t m, int64_t oy,
		   int64_t ox, struct truth *t)
{
	const int16_t *x = c->x.data, *w = c->w.data;
	const struct npl_window *win = &c->attrs.conv.window;
	bool rounded = config->product == NPL_Q16_ROUNDED;
	wide sum = c->bias.data ? ((const int32_t *)c->bias.data)[m] : 0;
	sum = rounded ? scale_down(sum, 10) : sum;
	if (c->layer.op == NPL_OP_GEMM) {
		int64_t k = c->w.shape.dim[1];
		for (int64_t i = 0; i < k; i++)
			sum += product(config, x[ox * k + i], w[m * k + i], t);
		return wrapped(sum, config->sum_bits, t);
	}
	int64_t channels = c->x.shape.dim[1], height = c->x.shape.dim[2], width = c->x.shape.dim[3];
	int64_t ni = c->w.shape.dim[1], first = m / (c->w.shape.dim[0] / c->attrs.conv.groups) * ni;
	for (int64_t i = 0; i < ni; i++)
		for (int64_t ky = 0; ky < win->kernel[0]; ky++)
			for (int64_t kx = 0; kx < win->kernel[1]; kx++) {
				int64_t iy = oy * win->stride[0] + ky * win->dilation[0] - win->pad_begin[0];
				int64_t ix = ox * win->stride[1] + kx * win->dilation[1] - win->pad_begin[1];
				if (iy < 0 || iy >= height || ix < 0 || ix >= width)
					continue;
				sum += product(config, x[((image * channels + first + i) * height + iy) * width + ix],
					       w[((m * ni + i) * win->kernel[0] + ky) * win->kernel[1] + kx], t);
			}
	return wrapped(sum, config->sum_bits, t);
}

/* The pooled value, already at the scale before NFU-3. */
static wide pooled_at(const struct dn_config *config, const struct dn_case *c, int64_t plane, int64_t oy, int64_t ox,
		      struct truth *t)
{
	static const struct npl_window one = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
	const struct npl_window *slides = npl_op_window(c->layer.op, &c->attrs), *win = slides ? slides : &one;
	int64_t height = c->x.shape.dim[2], width = c->x.shape.dim[3], inside = 0, padded = 0, maximum = -32768;
	wide sum = 0;
	int shift = middle(c) - exponent(&c->x);
	for (int64_t ky = 0; ky < win->kernel[0]; ky++)
		for (int64_t kx = 0; kx < win->kernel[1]; kx++) {
			int64_t iy = oy * win->stride[0] + ky * win->dilation[0] - win->pad_begin[0];
			int64_t ix = ox * win->stride[1] + kx * win->dilation[1] - win->pad_begin[1];
			padded += iy < height + win->pad_end[0] && ix < width + win->pad_end[1];
			if (iy < 0 || iy >= height || ix < 0 || ix >= width)
				continue;
			int64_t v = ((const int16_t *)c->x.data)[(plane * height + iy) * width + ix];
			inside++;
			sum += v;
			maximum = v > maximum ? v : maximum;
		}
	if (c->layer.op != NPL_OP_AVERAGEPOOL && c->layer.op != NPL_OP_GLOBALAVERAGEPOOL)
		return scale_down(maximum, shift);
	int64_t count = win->count_include_pad ? padded : inside;
	sum = wrapped(sum, config->sum_bits, t);
	if (count == 0)
		return 0;
	/* 2^b / count, rounded, in 2^14 .. 2^15 - 1 */
	int b = 0;
	while (floor_div(((wide)2 << b) + count, 2 * count) < 1 << 14)
		b++;
	return scale_down(sum * floor_div(((wide)2 << b) + count, 2 * count), b + shift);
}

static struct truth compare(const struct dn_config *config, const struct dn_case *c, uint64_t seed)
{
	struct truth t = {0};
	bool gemm = c->layer.op == NPL_OP_GEMM;
	int64_t images = gemm ? 1 : c->y.shape.dim[0], maps = c->y.shape.dim[1];
	int64_t height = gemm ? 1 : c->y.shape.dim[2], width = gemm ? c->y.shape.dim[0] : c->y.shape.dim[3];
	int sum_exponent = exponent(&c->x) + (c->w.data ? exponent(&c->w) : 0) -
			   (config->product == NPL_Q16_FULL ? 20 : 10);
	for (int64_t plane = 0; plane < images * maps; plane++)
		for (int64_t p = 0; p < height * width; p++) {
			int64_t m = plane % maps, at = gemm ? p * maps + m : plane * height * width + p;
			wide v = c->w.data ? sum_at(config, c, plane / maps, m, p / width, p % width, &t)
					   : pooled_at(config, c, plane, p / width, p % width, &t);
			if (c->y.dtype == NPL_I32) {
				cr_assert_eq(((const int32_t *)c->y.data)[at], (int64_t)v, "raw sum %lld (seed %llu)",
					     (long long)at, (unsigned long long)seed);
				continue;
			}
			if (c->w.data)
				v = scale_down(v, middle(c) - 10 - sum_exponent);
			int64_t expected = leave(c, v, &t);
			cr_assert_eq(((const int16_t *)c->y.data)[at], expected,
				     "output %lld is %d, not %lld (seed %llu)", (long long)at,
				     ((const int16_t *)c->y.data)[at], (long long)expected, (unsigned long long)seed);
		}
	return t;
}

static void check_counts(const struct truth *t, const struct npl_result *result, uint64_t seed)
{
	cr_assert_eq(dn_counter(result, "product_saturations"), t->products, "seed %llu", (unsigned long long)seed);
	cr_assert_eq(dn_counter(result, "sum_wraps"), t->wraps, "seed %llu", (unsigned long long)seed);
	cr_assert_eq(dn_counter(result, "sum_saturations"), t->sums, "seed %llu", (unsigned long long)seed);
	cr_assert_eq(result->saturations, t->outputs, "seed %llu", (unsigned long long)seed);
	cr_assert_eq(result->overflows, t->wraps, "seed %llu", (unsigned long long)seed);
}

/* A function that the layer may have, at a scale that lets it be exact; dividing takes NFU-3 up. */
static void draw_function(struct dn_case *c, uint64_t *rng)
{
	bool divides = c->layer.op == NPL_OP_AVERAGEPOOL || c->layer.op == NPL_OP_GLOBALAVERAGEPOOL;
	c->layer.activation = (enum npl_activation)test_range(rng, 0, divides ? NPL_ACT_RELU : NPL_ACTIVATIONS - 1);
	c->y.quant.scale = ldexpf(1, (int)test_range(rng, -14, c->layer.activation == NPL_ACT_RELU6 ? -10 : -4));
}

/* Odd maps, single rows, partial groups, groups, strides, pads, dilation, all poolings, all functions, all widths, all
 * scales. */
Test(diannao_values, random_layers_against_the_rules)
{
	struct truth all = {0};
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_default();
		struct npl_result result;
		struct dn_case c;
		dn_random_case(&c, &rng);
		config.product = (int)test_range(&rng, 0, 1);
		config.sum_bits = test_range(&rng, 0, 1) ? 32 : test_range(&rng, 16, 32);
		c.x.quant.scale = ldexpf(1, (int)test_range(&rng, -14, -6));
		c.w.quant.scale = ldexpf(1, (int)test_range(&rng, -14, -8));
		draw_function(&c, &rng);
		if (c.w.shape.rank && test_range(&rng, 0, 4) == 0) {
			c.y.dtype = NPL_I32;
			c.layer.activation = NPL_ACT_NONE;
		}
		dn_case_data(&c, &rng, (int)test_range(&rng, 8, 15), (int)test_range(&rng, 8, 15));
		dn_case_run(&config, &c, &result);
		struct truth t = compare(&config, &c, seed);
		check_counts(&t, &result, seed);
		all.products += t.products;
		all.wraps += t.wraps;
		all.sums += t.sums;
		all.outputs += t.outputs;
		dn_case_free(&c);
	}
	cr_assert(all.products && all.wraps && all.sums && all.outputs < all.sums, "the cases must reach every limit");
}

/* More outputs, positions and inputs than one matrix product takes; shifts from one end to the other. */
Test(diannao_values, layers_larger_than_one_product_are_right)
{
	uint64_t rng = 11;
	for (int i = 0; i < 4; i++) {
		struct dn_config config = dn_default();
		struct npl_result result;
		struct dn_case c;
		if (i < 2)
			dn_case_window(&c, NPL_OP_CONV, 1, 3, 13, 17, 300, 1, dn_window(3, 1));
		else
			dn_case_gemm(&c, 3, 260, 5001);
		config.product = i % 2;
		c.y.quant.scale = ldexpf(1, -6);
		dn_case_data(&c, &rng, 13, 12);
		dn_case_run(&config, &c, &result);
		struct truth t = compare(&config, &c, 11);
		check_counts(&t, &result, 11);
		dn_case_free(&c);
	}
}

/* Every input, at random scales. */
Test(diannao_values, functions_alone_are_right_for_every_input)
{
	static const enum npl_op ops[] = {NPL_OP_RELU, NPL_OP_CLIP, NPL_OP_SIGMOID, NPL_OP_TANH};
	struct truth all = {0};
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config = dn_default();
		struct npl_result result;
		enum npl_op op = ops[seed % 4];
		struct dn_case c;
		dn_case_window(&c, op, 1, 16, 64, 64, 0, 1, dn_window(1, 1));
		c.x.quant.scale = ldexpf(1, (int)test_range(&rng, -16, -4));
		c.y.quant.scale = ldexpf(1, (int)test_range(&rng, -16, -8));
		const float min = (float)(from[test_range(&rng, 1, 7)] * 1024) * c.y.quant.scale;
		const float max = (float)(from[test_range(&rng, 7, 15)] * 1024) * c.y.quant.scale;
		if (op == NPL_OP_CLIP)
			c.attrs.clip = (struct npl_clip_attrs){.known = true, .min = min, .max = max};
		dn_case_data(&c, &rng, 15, 15);
		for (int32_t i = 0; i < 65536; i++)
			((int16_t *)c.x.data)[i] = (int16_t)(i - 32768);
		dn_case_run(&config, &c, &result);
		struct truth t = compare(&config, &c, seed);
		check_counts(&t, &result, seed);
		cr_assert_eq(dn_counter(&result, "nfu3_operations"), 65536);
		all.sums += t.sums;
		all.outputs += t.outputs;
		dn_case_free(&c);
	}
	cr_assert(all.sums && all.outputs && all.outputs < all.sums, "the cases must reach every limit");
}

/* What a function costs: as Relu, which is one pass through NFU-3. */
Test(diannao_values, functions_cost_the_same)
{
	for (int window = 0; window < 2; window++) {
		struct npl_result relu = {0};
		for (int fused = NPL_ACT_RELU; fused < NPL_ACTIVATIONS; fused++) {
			struct dn_config config = dn_default();
			struct npl_result result;
			struct dn_case c;
			if (window)
				dn_case_window(&c, NPL_OP_CONV, 1, 20, 9, 9, 33, 1, dn_window(3, 1));
			else
				dn_case_gemm(&c, 3, 40, 70);
			c.layer.activation = (enum npl_activation)fused;
			dn_case_run(&config, &c, &result);
			if (fused == NPL_ACT_RELU)
				relu = result;
			cr_assert_eq(dn_counter(&result, "nfu3_operations"), (uint64_t)npl_tensor_count(&c.y));
			cr_assert_eq(result.cycles, relu.cycles);
			cr_assert_eq(memcmp(result.counter, relu.counter, sizeof result.counter), 0);
			cr_assert_eq(npl_result_joules(&result), npl_result_joules(&relu));
			dn_case_free(&c);
		}
	}
}

/* Sums wrap, so no order of additions, and no Tn, changes a value. */
Test(diannao_values, tn_does_not_change_values)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		int16_t *first = NULL;
		for (int64_t tn = 8; tn <= 32; tn *= 2) {
			uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
			struct dn_config config = dn_default();
			struct npl_result result;
			struct dn_case c;
			config.tn = tn;
			config.product = (int)(seed % 2);
			dn_random_case(&c, &rng);
			dn_case_data(&c, &rng, 15, 15);
			dn_case_run(&config, &c, &result);
			size_t bytes = npl_tensor_bytes(&c.y);
			if (!first)
				first = memcpy(malloc(bytes), c.y.data, bytes);
			cr_assert_eq(memcmp(first, c.y.data, bytes), 0, "Tn %lld (seed %llu)", (long long)tn,
				     (unsigned long long)seed);
			dn_case_free(&c);
		}
		free(first);
	}
}

/* The reciprocal of an average costs at most one unit in the last place beside the rounding. */
Test(diannao_values, averages_are_close)
{
	for (int64_t count = 1; count <= 65536; count += 1 + count / 50)
		for (int64_t v = -32768; v <= 32767; v += 997) {
			double exact = (double)v, actual = (double)dn_average(v * count, count, 0);
			cr_assert_leq(fabs(actual - exact), 1.5, "average of %lld times %lld is %g", (long long)count,
				      (long long)v, actual);
		}
	cr_assert_eq(dn_average(7, 2, 0), 4, "a power of two is exact, ties up");
	cr_assert_eq(dn_average(-7, 2, 0), -3);
}

Test(diannao_values, timing_only_leaves_the_output_alone)
{
	struct dn_config config = dn_default();
	struct npl_result timed, full;
	struct dn_case c;
	uint64_t rng = 4;
	dn_case_gemm(&c, 4, 20, 33);
	dn_case_data(&c, &rng, 10, 10);
	((int16_t *)c.y.data)[0] = 12345;
	c.layer.timing_only = true;
	dn_case_run(&config, &c, &timed);
	cr_assert_eq(((int16_t *)c.y.data)[0], 12345);
	c.layer.timing_only = false;
	dn_case_run(&config, &c, &full);
	cr_assert_neq(((int16_t *)c.y.data)[0], 12345);
	cr_assert_eq(timed.cycles, full.cycles);
	cr_assert_eq(timed.bytes[NPL_MEM_DRAM], full.bytes[NPL_MEM_DRAM]);
	dn_case_free(&c);
}

/* The ends of float32's powers of two: results vanish (ties up, so that -1 does too) or saturate with their sign. */
Test(diannao_values, extreme_scales_follow_the_rule)
{
	const struct {
		int x, w, y; /* log2 of the scales */
		bool vanish;
	} cases[] = {{-149, -149, 127, true},  {-149, -10, 0, true},    {-10, -149, 127, true},
		     {-149, -149, -200, true}, /* the output's is 0: plain Q6.10 */
		     {127, 127, -149, false},  {127, -10, -149, false}, {0, 0, -100, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int product = 0; product < 2; product++) {
			struct dn_config config = dn_default();
			struct npl_result result;
			struct dn_case c;
			uint64_t rng = 12;
			config.product = product;
			dn_case_gemm(&c, 3, 1, 1);
			dn_case_data(&c, &rng, 10, 10);
			const int16_t x[] = {-3000, 0, 3000};
			memcpy(c.x.data, x, sizeof x);
			*(int16_t *)c.w.data = 2000;
			c.x.quant.scale = ldexpf(1, cases[i].x);
			c.w.quant.scale = ldexpf(1, cases[i].w);
			c.y.quant.scale = ldexpf(1, cases[i].y);
			dn_case_run(&config, &c, &result);
			const int16_t *y = c.y.data, maximum = cases[i].vanish ? 0 : 32767;
			cr_assert(y[0] == -maximum - !cases[i].vanish && y[1] == 0 && y[2] == maximum,
				  "case %zu, product %d: %d %d %d", i, product, y[0], y[1], y[2]);
			cr_assert_eq(result.saturations, cases[i].vanish ? 0 : 2);
			dn_case_free(&c);
		}
}

Test(diannao_values, scales_must_be_finite)
{
	static const char *const names[] = {"input", "weight", "output"};
	const float bad[] = {INFINITY, -INFINITY, NAN};
	for (int t = 0; t < 3; t++)
		for (int b = 0; b < 3; b++) {
			struct dn_config config = dn_default();
			void *state = dn_opened(&config);
			struct npl_result result = {0};
			struct npl_err err = {0};
			struct dn_case c;
			uint64_t rng = 13;
			char reason[200];
			dn_case_gemm(&c, 2, 3, 4);
			dn_case_data(&c, &rng, 10, 10);
			struct npl_tensor *tensors[] = {&c.x, &c.w, &c.y};
			tensors[t]->quant.scale = bad[b];
			cr_assert_not(npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason));
			cr_assert(strstr(reason, names[t]), "'%s' does not name the %s", reason, names[t]);
			cr_assert_eq(npl_driver_diannao.run(state, &c.layer, &result, &err), NPL_EINPUT);
			cr_assert(strstr(err.msg, names[t]), "'%s' does not name the %s", err.msg, names[t]);
			npl_driver_diannao.close(state);
			dn_case_free(&c);
		}
}
