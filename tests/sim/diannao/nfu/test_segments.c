/* SPDX-License-Identifier: MIT
 *
 * Promise of sim/diannao/nfu/segments.h: Clips between hard-wired limits are exact, sigmoid and tanh have the largest
 * errors that its header and docs/diannao-lrn.md state, their coefficients are the best 16-bit ones, and no better
 * limits are to be had on multiples of 1/8. All by brute force over the 16-bit integers, against libm. */
#include "tests/kit/sim/diannao/fixture.h"

enum { SIGMOID, TANGENT };
static const struct dn_function *const functions[] = {&dn_sigmoid, &dn_tanh};
static const double stated[] = {0.00694, 0.00784}; /* at most */

static double exact[2][65536]; /* times 1024, of x = i - 32768 */

static void compute_exact(void)
{
	for (int i = 0; i < 65536; i++) {
		double x = (i - 32768) / 1024.0;
		exact[SIGMOID][i] = 1024 / (1 + exp(-x));
		exact[TANGENT][i] = 1024 * tanh(x);
	}
}

static double floor_1024(double v) /* v / 1024, ties up */
{
	return floor((v + 512) / 1024);
}

struct line {
	int a, b;
	double limit, squares; /* errors, in units of 1 / 1024 */
};

static bool better(const struct line *l, const struct line *than)
{
	double tie = 1e-7; /* libm's last bits are some 1e-13 of these */
	return l->limit < than->limit - tie || (l->limit < than->limit + tie && l->squares < than->squares - tie);
}

/* The best b for slope a over x from `low` on and below `high`. False: the largest error is above that of `best`. */
static bool fit_b(int function, int low, int high, int a, struct line *best)
{
	const double *f = exact[function] + 32768;
	double minimum = INFINITY, maximum = -INFINITY;
	for (int x = low; x < high; x++) {
		double left = f[x] - floor_1024((double)a * x);
		minimum = fmin(minimum, left);
		maximum = fmax(maximum, left);
		if (maximum - minimum > 2 * best->limit + 1e-6)
			return false;
	}
	for (int up = 0; up < 2; up++) {
		struct line line = {.a = a, .b = (int)floor((minimum + maximum) / 2) + up};
		line.limit = fmax(fabs(maximum - line.b), fabs(minimum - line.b));
		for (int x = low; x < high; x++) {
			double error = f[x] - floor_1024((double)a * x) - line.b;
			line.squares += error * error;
		}
		if (better(&line, best))
			*best = line;
	}
	return true;
}

/* Over the slopes from -1 to 1.1. */
static struct line fit(int function, int low, int high)
{
	struct line best = {.limit = INFINITY, .squares = INFINITY};
	for (int a = -1024; a <= 1126; a++)
		fit_b(function, low, high, a, &best);
	return best;
}

static int begin_of(int segment)
{
	return segment ? dn_limits[segment - 1] : -32768;
}

static int end_of(int segment)
{
	return segment < DN_SEGMENTS - 1 ? dn_limits[segment] : 32768;
}

Test(diannao_segments, limits_of_segments_rise_by_eighths)
{
	bool zero = false, six = false;
	for (int i = 0; i < DN_SEGMENTS - 1; i++) {
		cr_assert_lt(begin_of(i), end_of(i));
		cr_assert_eq(dn_limits[i] % 128, 0, "limit %d is no multiple of 1/8", i);
		zero = zero || dn_limits[i] == 0;
		six = six || dn_limits[i] == 6 * 1024;
	}
	cr_assert(zero && six);
	for (int x = -32768; x < 32768; x++) {
		int s = dn_segment((int16_t)x);
		cr_assert(x >= begin_of(s) && x < end_of(s), "%d is not in segment %d", x, s);
	}
}

Test(diannao_segments, coefficients_are_the_best)
{
	compute_exact();
	for (int f = 0; f < 2; f++)
		for (int i = 0; i < DN_SEGMENTS; i++) {
			struct line best = fit(f, begin_of(i), end_of(i));
			cr_expect(functions[f]->a[i] == best.a && functions[f]->b[i] == best.b,
				  "function %d, segment %d: %d x + %d, not %d x + %d", f, i, best.a, best.b,
				  functions[f]->a[i], functions[f]->b[i]);
		}
}

/* The largest error over all inputs, as a real number. */
static double error_of_function(int f)
{
	double maximum = 0;
	for (int x = -32768; x < 32768; x++)
		maximum = fmax(maximum, fabs(dn_interpolate(functions[f], (int16_t)x) - exact[f][x + 32768]) / 1024);
	return maximum;
}

Test(diannao_segments, errors_over_all_inputs)
{
	compute_exact();
	for (int f = 0; f < 2; f++) {
		double maximum = error_of_function(f);
		cr_assert(maximum <= stated[f] && maximum > stated[f] - 1e-5, "function %d: %.7f, stated %g", f,
			  maximum, stated[f]);
	}
	for (int f = 0; f < 2; f++) {
		static const int16_t range[2][2] = {{5, 1028}, {-1026, 1026}};
		int16_t minimum = INT16_MAX, maximum = INT16_MIN;
		for (int x = -32768; x < 32768; x++) {
			int16_t y = dn_interpolate(functions[f], (int16_t)x);
			minimum = y < minimum ? y : minimum;
			maximum = y > maximum ? y : maximum;
		}
		cr_assert(minimum == range[f][0] && maximum == range[f][1], "function %d is from %d to %d", f, minimum,
			  maximum);
	}
}

/* Do lines with errors of at most `limit` reach from low to high in both functions? */
static bool reaches(int low, int high, double limit)
{
	for (int f = 0; f < 2; f++) {
		int rise = (int)lrint(1024 * (exact[f][high + 32767] - exact[f][low + 32768]) / (high - 1 - low));
		struct line best = {.limit = limit, .squares = INFINITY};
		bool found = false;
		for (int a = rise - 16; a <= rise + 16 && !found; a++)
			found = fit_b(f, low, high, a, &best) && best.squares < INFINITY;
		if (!found)
			return false;
	}
	return true;
}

/* The fewest segments from low to high with limits at multiples of 1/8: each as long as it can be, as what fits a
 * segment fits a part of it. */
static int fewest(int low, int high, double limit)
{
	int n = 0;
	while (low < high) {
		int next = low == -32768 ? -9 * 1024 : low + 128; /* at -9 sigmoid is within 0.0002 of its end */
		while (next < high && reaches(low, next + 128, limit))
			next += 128;
		low = next;
		n++;
	}
	return n;
}

/* With the limits that Relu and Relu6 want (at 2^-10, 2^-11 and 2^-12). */
Test(diannao_segments, no_limits_do_better)
{
	static const int output[] = {-32768, 0, 6 * 1024, 12 * 1024, 24 * 1024, 32768};
	compute_exact();
	double maximum = 1024 * fmax(error_of_function(SIGMOID), error_of_function(TANGENT));
	int n[2] = {0, 0};
	for (int i = 0; i < 5; i++) {
		n[0] += fewest(output[i], output[i + 1], maximum + 1e-6);
		n[1] += fewest(output[i], output[i + 1], maximum - 1e-3);
	}
	cr_assert_leq(n[0], DN_SEGMENTS, "these limits do");
	cr_assert_gt(n[1], DN_SEGMENTS, "%d segments have less than an error of %g / 1024", n[1], maximum);
}

static bool is_limit(int v)
{
	bool found = v <= -32768 || v >= 32767;
	for (int i = 0; i < DN_SEGMENTS - 1; i++)
		found = found || dn_limits[i] == v;
	return found;
}

static int clip(int x, int low, int high)
{
	return x < low ? low : x > high ? high : x;
}

Test(diannao_segments, clips_between_limits_are_exact)
{
	for (int i = 0; i < DN_SEGMENTS; i++)
		for (int k = i ? i : 1; k <= DN_SEGMENTS; k++) {
			struct dn_function f;
			int low = begin_of(i), high = k < DN_SEGMENTS ? begin_of(k) : 32767;
			cr_assert(dn_clip(low, high, &f));
			for (int x = -32768; x < 32768; x++)
				cr_assert_eq(dn_interpolate(&f, (int16_t)x), clip(x, low, high), "Clip(%d, %d) of %d",
					     low, high, x);
		}
	for (int v = -32800; v < 32800; v++) {
		struct dn_function f;
		cr_assert_eq(dn_clip(v, 32767, &f), is_limit(v) && v < 32767, "low %d", v);
		cr_assert_eq(dn_clip(-32768, v, &f), is_limit(v) && v > -32768, "high %d", v);
	}
}

/* A line is 16 bits times 16 bits, rounded with ties up, and a sum that saturates. */
Test(diannao_segments, one_multiplier_and_one_adder)
{
	static const int16_t ends[] = {-32768, -32767, -1, 0, 1, 511, 512, 513, 32767};
	uint64_t rng = 7;
	int saturated = 0;
	for (int i = 0; i < 200000; i++) {
		struct dn_function f;
		for (int k = 0; k < DN_SEGMENTS; k++) {
			f.a[k] = i % 2 ? (int16_t)test_range(&rng, -32768, 32767) : ends[test_range(&rng, 0, 8)];
			f.b[k] = (int16_t)test_range(&rng, -32768, 32767);
		}
		int16_t x = i % 3 ? (int16_t)test_range(&rng, -32768, 32767) : ends[test_range(&rng, 0, 8)];
		int s = dn_segment(x);
		double exactly = floor_1024((double)f.a[s] * x) + f.b[s];
		double y = fmax(-32768, fmin(32767, exactly));
		saturated += y < exactly || y > exactly;
		cr_assert_eq(dn_interpolate(&f, x), (int)y, "%d x + %d at %d", f.a[s], f.b[s], x);
	}
	cr_assert(saturated);
}

/* Relu6 is exact at scales that put 6 on a limit or beyond 16 bits, and refused at others; Clip likewise; with their
 * reasons. */
Test(diannao_segments, what_a_layer_may_ask_for)
{
	struct dn_config config = dn_default();
	struct npl_device_info info = {0};
	void *state = dn_opened(&config);
	struct dn_case c;
	char reason[200];
	npl_driver_diannao.describe(state, &info);
	cr_assert_eq(info.activations, 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH);
	dn_case_gemm(&c, 2, 3, 4);
	for (int e = -149; e < 128; e++)
		for (int act = 0; act < NPL_ACTIVATIONS; act++) {
			bool exactly = act != NPL_ACT_RELU6 || e <= -10;
			c.y.quant.scale = ldexpf(1, e);
			c.layer.activation = (enum npl_activation)act;
			*reason = '\0';
			cr_assert_eq(npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason), exactly,
				     "%s at 2^%d: %s", npl_activation_name(c.layer.activation), e, reason);
			cr_assert(exactly || strstr(reason, "limits of NFU-3's segments"), "%s", reason);
		}
	static const struct {
		enum npl_op op;
		enum npl_activation fused;
		double low, high;
		const char *reason; /* NULL: taken */
	} cases[] = {{NPL_OP_CLIP, NPL_ACT_NONE, 0, 6, NULL},
		     {NPL_OP_CLIP, NPL_ACT_NONE, -INFINITY, INFINITY, NULL},
		     {NPL_OP_CLIP, NPL_ACT_NONE, -0.5, 1000, NULL},
		     {NPL_OP_CLIP, NPL_ACT_NONE, 0, 5, "0 to 5 is none of the limits"},
		     {NPL_OP_CLIP, NPL_ACT_NONE, 0.0001, 6, "is none of the limits"},
		     {NPL_OP_CLIP, NPL_ACT_NONE, 6, 0, "is none of the limits"},
		     {NPL_OP_CLIP, NPL_ACT_NONE, 1e30, INFINITY, "is none of the limits"},
		     {NPL_OP_CLIP, NPL_ACT_NONE, -INFINITY, -1e30, "is none of the limits"},
		     {NPL_OP_CLIP, NPL_ACT_NONE, NAN, 0, "computed"},
		     {NPL_OP_TANH, NPL_ACT_RELU, 0, 0, "one function"},
		     {NPL_OP_MAXPOOL, NPL_ACT_SIGMOID, 0, 0, NULL},
		     {NPL_OP_AVERAGEPOOL, NPL_ACT_RELU, 0, 0, NULL},
		     {NPL_OP_AVERAGEPOOL, NPL_ACT_TANH, 0, 0, "cannot also apply Tanh"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		dn_case_window(&c, cases[i].op, 1, 3, 4, 4, 0, 1, dn_window(1, 1));
		c.layer.activation = cases[i].fused;
		if (cases[i].op == NPL_OP_CLIP)
			c.attrs.clip = (struct npl_clip_attrs){
				.known = !isnan(cases[i].low), .min = (float)cases[i].low, .max = (float)cases[i].high};
		*reason = '\0';
		cr_expect_eq(npl_driver_diannao.supports(state, &c.layer, reason, sizeof reason), !cases[i].reason,
			     "case %zu: %s", i, reason);
		cr_expect(!cases[i].reason || strstr(reason, cases[i].reason), "'%s' does not say '%s'", reason,
			  cases[i].reason ? cases[i].reason : "");
	}
	npl_driver_diannao.close(state);
}
