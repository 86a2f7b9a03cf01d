/* SPDX-License-Identifier: MIT
 *
 * Promises: Resize takes the elements and weights that ONNX's formulas name, in every mode, coordinate transformation
 * and rounding, by scales and by sizes, on any rank; nearest also on integers; Upsample and Resize-10 as they were
 * before opset 11; what does not fit is refused. Range and the evenly random values are what their formulas say. */
#include <math.h>

#include "tests/kit/elements_support.h"
#include "tests/kit/ops_support.h"

#define SEED 0x5eed8001u

static const char *const modes[] = {"nearest", "linear", "cubic"};
static const char *const transforms[] = {"half_pixel",         "asymmetric",           "align_corners",
					 "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
static const char *const nearests[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

struct setting {
	int mode, transform, nearest;
	bool exclude;
	double a, outside;
	double scale[3], length[3], from[3], to[3];
};

static double position(const struct setting *s, int d, double y, double n)
{
	switch (s->transform) {
	case 0:
		return (y + 0.5) / s->scale[d] - 0.5;
	case 1:
		return y / s->scale[d];
	case 2:
		return s->length[d] == 1 ? 0 : y * (n - 1) / (s->length[d] - 1);
	case 3:
		return s->length[d] > 1 ? (y + 0.5) / s->scale[d] - 0.5 : 0;
	case 4:
		return (y + 0.5) / s->scale[d];
	default:
		return s->length[d] == 1
			       ? 0.5 * (s->from[d] + s->to[d]) * (n - 1)
			       : s->from[d] * (n - 1) + y * (s->to[d] - s->from[d]) * (n - 1) / (s->length[d] - 1);
	}
}

/* The weight of input element `at` of n for position x; edges repeat outside. */
static double weight(const struct setting *s, double x, int64_t at, int64_t n)
{
	double sum = 0, all = 0;
	if (s->mode == 0) {
		double r = s->nearest == 0   ? ceil(x - 0.5)
			   : s->nearest == 1 ? floor(x + 0.5)
			   : s->nearest == 2 ? floor(x)
					     : ceil(x);
		return fmin(fmax(r, 0), (double)(n - 1)) == (double)at;
	}
	for (int64_t k = -8; k < n + 8; k++) {
		double t = fabs(x - (double)k), w = 0;
		if (s->mode == 1)
			w = t < 1 ? 1 - t : 0;
		else if (t < 1)
			w = (s->a + 2) * t * t * t - (s->a + 3) * t * t + 1;
		else if (t < 2)
			w = s->a * t * t * t - 5 * s->a * t * t + 8 * s->a * t - 4 * s->a;
		if (s->exclude && (k < 0 || k >= n))
			w = 0;
		all += w;
		if ((k < 0 ? 0 : k >= n ? n - 1 : k) == at)
			sum += w;
	}
	return s->exclude ? sum / all : sum;
}

static double expected_value(const struct setting *s, const struct npl_tensor *x, const struct npl_shape *y, int64_t i)
{
	int64_t to[NPL_MAX_RANK], from[NPL_MAX_RANK];
	double sum = 0;
	test_unravel(y, i, to);
	for (int d = 0; d < y->rank; d++) {
		double at = position(s, d, (double)to[d], (double)x->shape.dim[d]);
		if (s->transform == 5 && (at < 0 || at > (double)(x->shape.dim[d] - 1)))
			return s->outside;
	}
	for (int64_t j = 0; j < npl_tensor_count(x); j++) {
		double w = 1;
		test_unravel(&x->shape, j, from);
		for (int d = 0; d < y->rank && w != 0; d++)
			w *= s->scale[d] == 1 && s->transform != 5
				     ? from[d] == to[d]
				     : weight(s, position(s, d, (double)to[d], (double)x->shape.dim[d]), from[d],
					      x->shape.dim[d]);
		sum += w == 0 ? 0 : w * test_real(x, j);
	}
	return sum;
}

static void check_resize(uint64_t seed, struct setting s, bool by_sizes)
{
	/* quarters: positions and scales are exact, so that rounding to the nearest has no doubtful cases */
	static const float scales[] = {0.25f, 0.5f, 1, 2, 4, 1.5f};
	int rank = (int)test_range(&seed, 1, 3);
	struct npl_tensor x = test_random_tensor(&seed, s.mode ? (test_rng(&seed) & 1 ? NPL_F32 : NPL_F64) : NPL_I16,
						 (struct npl_shape){0});
	struct npl_shape shape = {.rank = rank};
	float scale[3], roi[6];
	int64_t size[3];
	npl_tensor_free(&x);
	for (int d = 0; d < rank; d++) {
		static const int64_t lengths[] = {4, 8, 12};
		shape.dim[d] = lengths[test_rng(&seed) % 3];
		scale[d] = scales[test_rng(&seed) % (by_sizes ? 5 : 6)];
		size[d] = (int64_t)((float)shape.dim[d] * scale[d]);
		roi[d] = (float)test_range(&seed, -1, 2) / 4;
		roi[rank + d] = (float)test_range(&seed, 3, 5) / 4;
		s.scale[d] = (double)scale[d];
		s.from[d] = (double)roi[d];
		s.to[d] = (double)roi[rank + d];
		if (s.transform == 5 && !by_sizes)
			size[d] = (int64_t)floorf((float)shape.dim[d] * (roi[rank + d] - roi[d]) * scale[d]);
		s.length[d] = s.transform == 5 ? (double)size[d] : (double)shape.dim[d] * s.scale[d];
	}
	x = test_random_tensor(&seed, x.dtype, shape);
	struct npl_attr attr[] = {ATTR_STRING("mode", modes[s.mode]),
				  ATTR_STRING("coordinate_transformation_mode", transforms[s.transform]),
				  ATTR_STRING("nearest_mode", nearests[s.nearest]),
				  ATTR_FLOAT("cubic_coeff_a", (float)s.a),
				  ATTR_FLOAT("extrapolation_value", (float)s.outside),
				  ATTR_INT("exclude_outside", s.exclude)};
	struct npl_tensor by = {.dtype = NPL_F32, .shape = npl_shape_of(1, rank), .data = scale};
	struct npl_tensor to = {.dtype = NPL_I64, .shape = npl_shape_of(1, rank), .data = size};
	struct npl_tensor part = {.dtype = NPL_F32, .shape = npl_shape_of(1, 2 * rank), .data = roi};
	struct npl_attrs attrs = {.opset = test_rng(&seed) & 1 ? 11 : 13};
	cr_assert_eq(npl_op_attrs(NPL_OP_RESIZE, &(struct npl_attr_list){attr, 6}, &attrs, NULL), 0);
	const struct npl_tensor *in[] = {&x, &part, by_sizes ? NULL : &by, by_sizes ? &to : NULL};
	struct npl_tensor out = test_run(NPL_OP_RESIZE, &attrs, in, by_sizes ? 4 : 3);
	for (int d = 0; d < rank; d++)
		cr_assert_eq(out.shape.dim[d], size[d]);
	for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
		double expected = expected_value(&s, &x, &out.shape, i);
		cr_assert_float_eq(test_real(&out, i), expected, 1e-6 * (1 + fabs(expected)),
				   "%s %s %s: element %d is %g, expected %g", modes[s.mode], transforms[s.transform],
				   nearests[s.nearest], (int)i, test_real(&out, i), expected);
	}
	test_release(&out);
	npl_tensor_free(&x);
}

Test(ops_resize, resize_follows_its_formulas)
{
	uint64_t seed = SEED;
	for (int mode = 0; mode < 3; mode++)
		for (int transform = 0; transform < 6; transform++)
			for (int nearest = 0; nearest < 4; nearest++)
				for (int round = 0; round < 6; round += TEST_SANITIZED ? 5 : 1)
					check_resize(test_rng(&seed),
						     (struct setting){.mode = mode,
								      .transform = transform,
								      .nearest = nearest,
								      .exclude = mode == 2 && round & 2,
								      .a = round & 4 ? -0.5 : -0.75,
								      .outside = 9},
						     round & 1);
}

/* Positions i / scale, and before opset 11 the next element where it makes smaller. */
/* What has the weight 0 is left out, an infinity too, along the last dimension as along others; no result is -0. */
Test(ops_resize, elements_of_weight_0_are_left_out)
{
	float values[] = {1, INFINITY, -0.0f, -0.0f}, scale[2];
	struct npl_attr attr[] = {ATTR_STRING("mode", "linear"),
				  ATTR_STRING("coordinate_transformation_mode", "asymmetric")};
	struct npl_tensor scales = {.dtype = NPL_F32, .shape = npl_shape_of(1, 2), .data = scale};
	for (int d = 0; d < 2; d++) {
		struct npl_tensor x = {
			.dtype = NPL_F32, .shape = d ? npl_shape_of(2, 1, 4) : npl_shape_of(2, 4, 1), .data = values};
		struct npl_attrs attrs = {.opset = 13};
		scale[d] = 2;
		scale[1 - d] = 1;
		cr_assert_eq(npl_op_attrs(NPL_OP_RESIZE, &(struct npl_attr_list){attr, 2}, &attrs, NULL), 0);
		struct npl_tensor out = test_run(NPL_OP_RESIZE, &attrs,
						 (const struct npl_tensor *[]){&x, NULL, &scales}, 3);
		const float *y = out.data;
		cr_assert(y[0] == 1 && isinf(y[1]) && isinf(y[2]) && isinf(y[3]));
		for (int i = 4; i < 8; i++)
			cr_assert(y[i] == 0 && !signbit(y[i]));
		test_release(&out);
	}
}

Test(ops_resize, versions_before_opset_11_resize_by_scales)
{
	float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(4, 1, 1, 2, 4), .data = values};
	struct npl_tensor scales = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4), .data = (float[]){1, 1, 0.6f, 0.6f}};
	const struct npl_tensor *in[] = {&x, &scales};
	struct npl_attrs attrs = {.opset = 10};
	cr_assert_eq(npl_op_attrs(NPL_OP_RESIZE, &(struct npl_attr_list){0}, &attrs, NULL), 0);
	struct npl_tensor out = test_run(NPL_OP_RESIZE, &attrs, in, 2);
	cr_assert_eq(npl_tensor_count(&out), 2);
	cr_assert_arr_eq(out.data, ((float[]){1, 3}), 8);
	test_release(&out);
	struct npl_attr old[] = {ATTR_FLOAT("height_scale", 2), ATTR_FLOAT("width_scale", 1),
				 ATTR_STRING("mode", "bilinear")};
	struct npl_attr seven[] = {{.name = "scales", .type = NPL_ATTR_FLOATS, .floats = (float[]){1, 1, 2, 1}, .n = 4},
				   ATTR_STRING("mode", "linear")};
	for (int opset = 6; opset <= 7; opset++) {
		attrs = (struct npl_attrs){.opset = opset};
		struct npl_attr_list list = {opset == 6 ? old : seven, opset == 6 ? 3 : 2};
		cr_assert_eq(npl_op_attrs(NPL_OP_UPSAMPLE, &list, &attrs, NULL), 0);
		out = test_run(NPL_OP_UPSAMPLE, &attrs, in, 1);
		cr_assert_eq(npl_tensor_count(&out), 16);
		cr_assert_arr_eq(out.data, ((float[]){1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 8, 5, 6, 7, 8}), 64);
		test_release(&out);
	}
}

Test(ops_resize, wrong_nodes_are_refused)
{
	float values[8] = {0}, bad = NAN, zero = 0, half = 0.5f;
	int64_t size = 3, negative = -3;
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 8), .data = values};
	struct npl_tensor whole = {.dtype = NPL_I32, .shape = npl_shape_of(1, 8), .data = values},
			  none = {.dtype = NPL_F32, .shape = npl_shape_of(1, 0)};
#define SCALE(p)                                                                                                       \
	&(struct npl_tensor)                                                                                           \
	{                                                                                                              \
		.dtype = NPL_F32, .shape = npl_shape_of(1, 1), .data = (p)                                             \
	}
#define SIZE(p)                                                                                                        \
	&(struct npl_tensor)                                                                                           \
	{                                                                                                              \
		.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = (p)                                             \
	}
	const struct {
		const struct npl_tensor *in[4];
		int mode, transform;
		const char *expected;
	} cases[] = {
		{{&x, NULL, NULL, NULL}, 0, 0, "either scales or sizes"},
		{{&x, NULL, SCALE(&half), SIZE(&size)}, 0, 0, "either scales or sizes"},
		{{&x, NULL, SCALE(NULL), NULL}, 0, 0, "the scales must be constant"},
		{{&x, NULL, SCALE(&bad), NULL}, 0, 0, "not finite"},
		{{&x, NULL, SCALE(&zero), NULL}, 0, 0, "does not resize by 0"},
		{{&x, NULL, NULL, SIZE(&negative)}, 0, 0, "does not resize to -3"},
		{{&x, NULL, NULL, SIZE(NULL)}, 0, 0, "the sizes must be constant"},
		{{&whole, NULL, SCALE(&half), NULL}, 1, 0, "only the nearest"},
		{{&x, NULL, SCALE(&half), NULL}, 1, 5, "the roi is missing"},
		{{&x, &none, SCALE(&half), NULL}, 1, 5, "the roi is missing"},
		{{&none, NULL, NULL, SIZE(&size)}, 0, 0, "does not resize to 3"},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct npl_attrs attrs = {.opset = 13,
					  .resize = {.mode = cases[k].mode, .transform = cases[k].transform}};
		struct npl_tensor out = {.data = NULL};
		struct npl_err err = {.code = NPL_EDEVICE, .msg = "of an earlier call"};
		cr_assert_eq(npl_op_shape(NPL_OP_RESIZE, &attrs, cases[k].in, 4, &out, 1, &err), NPL_EINPUT, "%s",
			     cases[k].expected);
		cr_assert(strstr(err.msg, cases[k].expected), "'%s', not '%s'", err.msg, cases[k].expected);
	}
}

Test(ops_resize, range_follows_its_definition)
{
	struct npl_attrs attrs = {.opset = 11};
	for (int round = 0; round < 300; round++) {
		uint64_t seed = SEED + 5000 + (uint64_t)round;
		double start = (double)test_range(&seed, -20, 20), limit = (double)test_range(&seed, -20, 20),
		       delta = (double)test_range(&seed, 1, 9);
		enum npl_dtype dtype = (enum npl_dtype[]){NPL_F32, NPL_F64, NPL_I16, NPL_I32, NPL_I64}[round % 5];
		if (test_rng(&seed) & 1)
			delta = -delta;
		if (round % 5 < 2)
			delta /= 8;
		struct npl_tensor t[3];
		const struct npl_tensor *in[] = {&t[0], &t[1], &t[2]};
		for (int k = 0; k < 3; k++) {
			double v = k == 0 ? start : k == 1 ? limit : delta;
			t[k] = test_tensor(dtype, (struct npl_shape){0});
			if (dtype == NPL_F32)
				*(float *)t[k].data = (float)v;
			else if (dtype == NPL_F64)
				*(double *)t[k].data = v;
			else
				test_set_bits(&t[k], 0, (uint64_t)(int64_t)v);
		}
		struct npl_tensor out = test_run(NPL_OP_RANGE, &attrs, in, 3);
		int64_t n = 0;
		for (double v = start; delta > 0 ? v < limit : v > limit; v += delta, n++)
			cr_assert(n < npl_tensor_count(&out) && test_real(&out, n) == v, "round %d", round);
		cr_assert_eq(n, npl_tensor_count(&out), "round %d", round);
		test_release(&out);
		for (int k = 0; k < 3; k++)
			npl_tensor_free(&t[k]);
	}
	int64_t low = INT64_MIN, high = INT64_MAX, step = INT64_MAX;
	struct npl_tensor a = {.dtype = NPL_I64, .data = &low}, b = {.dtype = NPL_I64, .data = &high},
			  c = {.dtype = NPL_I64, .data = &step};
	struct npl_tensor out = test_run(NPL_OP_RANGE, &attrs, (const struct npl_tensor *[]){&a, &b, &c}, 3);
	cr_assert_eq(npl_tensor_count(&out), 3, "the whole of int64");
	cr_assert_arr_eq(out.data, ((int64_t[]){INT64_MIN, -1, INT64_MAX - 1}), 24);
	test_release(&out);
	step = 1;
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(NPL_OP_RANGE, &attrs, (const struct npl_tensor *[]){&a, &b, &c}, 3, &out, 1, &err),
		     NPL_EINPUT);
	step = 0;
	cr_assert_eq(npl_op_shape(NPL_OP_RANGE, &attrs, (const struct npl_tensor *[]){&a, &b, &c}, 3, &out, 1, &err),
		     NPL_EINPUT);
	cr_assert_str_eq(err.msg, "the delta is 0");
}

/* splitmix64 once more: the first output seeds the sequence, each value is low + (high - low) * p. */
Test(ops_resize, random_uniform_follows_its_generator)
{
	const struct npl_random_law law = {.uniform = true, .low = -3, .high = 5, .seed = 77, .seeded = true};
	enum { N = 20000 };
	float values[N], one;
	double wide, mean = 0;
	uint64_t state = 77;
	npl_random_floats(&law, 0, N, values);
	for (int i = -1; i < N; i++) {
		uint64_t z = state += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		if (i < 0) {
			state = z;
			continue;
		}
		double expected = -3 + 8 * (((double)(z >> 12) + 0.5) * 0x1p-52);
		cr_assert_eq(values[i], (float)expected);
		npl_random_floats(&law, i, 1, &one);
		npl_random_doubles(&law, i, 1, &wide);
		cr_assert(one == values[i] && wide == expected && one >= -3 && one < 5);
		mean += expected / N;
	}
	cr_assert_float_eq(mean, 1, 6 * 8 / sqrt(12.0 * N));
	/* an interval of one float: nothing rounds up to its end */
	const struct npl_random_law narrow = {.uniform = true, .low = 1, .high = 1 + 0x1p-23f, .seed = 5};
	npl_random_floats(&narrow, 0, 100, values);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(values[i], 1);
}
