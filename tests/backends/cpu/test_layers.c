/* SPDX-License-Identifier: MIT
 *
 * Promises of the cpu device's values: Conv, Gemm and MatMul equal brute-force sums in double within 1e-4 of the sum
 * of their terms' magnitudes, on random shapes with groups, dilation, stride, padding, one dimension and several
 * blocks, on 1 and 2 threads; nothing outside the output is written; timing_only leaves the output alone; time is
 * measured and energy absent. Other operators equal the reference device bit for bit. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/cpu_devices.h"

enum { GUARD = 64 }; /* floats on each side of an output */
static const float MARK = -12345.5f;
TestSuite(cpu_layers, .init = open_devices, .fini = close_devices);

/* An output between two guards. */
static float *guarded_output(struct npl_tensor *out, struct npl_shape shape)
{
	*out = (struct npl_tensor){.dtype = NPL_F32, .shape = shape};
	int64_t count = npl_shape_count(&shape) + 2 * GUARD;
	float *memory = malloc((size_t)count * sizeof *memory);
	cr_assert_not_null(memory);
	for (int64_t i = 0; i < count; i++)
		memory[i] = MARK;
	out->data = memory + GUARD;
	return memory;
}

static void check_guards(const float *memory, const struct npl_tensor *out)
{
	int64_t count = npl_tensor_count(out);
	for (int64_t i = 0; i < GUARD; i++)
		cr_assert(memory[i] == MARK && memory[GUARD + count + i] == MARK,
			  "seed %llu: written outside the output", (unsigned long long)seed);
}

/* expected[] and magnitude[] (the sum of the terms' sizes) per output. */
struct oracle {
	double *expected, *magnitude;
};

static struct oracle make_oracle(int64_t count)
{
	struct oracle oracle = {calloc((size_t)count + 1, sizeof(double)), calloc((size_t)count + 1, sizeof(double))};
	cr_assert(oracle.expected && oracle.magnitude);
	return oracle;
}

static void add_term(struct oracle *oracle, int64_t i, double term)
{
	oracle->expected[i] += term;
	oracle->magnitude[i] += fabs(term);
}

/* Runs the layer on 1 and 2 threads, timed only and in full, and compares. Frees the oracle. */
static void check_layer(struct npl_layer *layer, struct npl_shape shape, struct oracle oracle)
{
	static struct npl_tensor out; /* the caller's layer goes on pointing at it */
	struct npl_err err = {0};
	char reason[200], text[128];
	for (int threads = 1; threads <= 2; threads++) {
		float *memory = guarded_output(&out, shape), *y = out.data;
		layer->out = &out;
		cr_assert(npl_driver_cpu.supports(cpu[threads], layer, reason, sizeof reason), "%s", reason);
		for (int timing_only = 1; timing_only >= 0; timing_only--) {
			struct npl_result result = {0};
			layer->timing_only = timing_only;
			cr_assert_eq(npl_driver_cpu.run(cpu[threads], layer, &result, &err), 0, "%s", err.msg);
			cr_assert_eq(result.seconds_origin, NPL_TIME_MEASURED);
			cr_assert(result.seconds >= 0 && result.cycles == 0 && result.macs == layer->macs);
			cr_assert(result.n_energy == 1 && !strcmp(result.energy[0].component, "package"));
			cr_assert(!strcmp(result.energy[0].origin, "absent") && isnan(npl_result_joules(&result)));
			check_guards(memory, &out);
			for (int64_t i = 0; timing_only && i < npl_tensor_count(&out); i++)
				cr_assert_eq(y[i], MARK, "timing_only wrote an output");
		}
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			double expected = oracle.expected[i];
			if (layer->activation == NPL_ACT_RELU && expected < 0)
				expected = 0;
			cr_assert(fabs(y[i] - expected) <= 1e-4 * oracle.magnitude[i],
				  "seed %llu, %d threads, output %s[%lld]: %g, expected %g", (unsigned long long)seed,
				  threads, npl_shape_text(&shape, text, sizeof text), (long long)i, y[i], expected);
		}
		free(memory);
	}
	free(oracle.expected);
	free(oracle.magnitude);
}

/* Describes a convolution; one of rank 1 has height 1. */
struct conv {
	int64_t images, group_channels, group_filters, groups, size[2], kernel[2], stride[2], dilation[2], begin[2],
		end[2];
	int rank;
	bool bias, relu;
};

static int64_t conv_output(const struct conv *c, int d)
{
	int64_t room = c->size[d] + c->begin[d] + c->end[d] - (c->kernel[d] - 1) * c->dilation[d] - 1;
	return room < 0 ? 0 : room / c->stride[d] + 1;
}

static void conv_oracle(const struct conv *c, const float *x, const float *w, const float *bias, struct oracle *oracle)
{
	int64_t oh = conv_output(c, 0), ow = conv_output(c, 1), filters = c->groups * c->group_filters, i = 0;
	for (int64_t n = 0; n < c->images; n++)
		for (int64_t m = 0; m < filters; m++)
			for (int64_t oy = 0; oy < oh; oy++)
				for (int64_t ox = 0; ox < ow; ox++, i++) {
					if (bias)
						add_term(oracle, i, bias[m]);
					for (int64_t gc = 0; gc < c->group_channels; gc++)
						for (int64_t ky = 0; ky < c->kernel[0]; ky++)
							for (int64_t kx = 0; kx < c->kernel[1]; kx++) {
								int64_t iy = oy * c->stride[0] + ky * c->dilation[0] -
									     c->begin[0];
								int64_t ix = ox * c->stride[1] + kx * c->dilation[1] -
									     c->begin[1];
								if (iy < 0 || ix < 0 || iy >= c->size[0] ||
								    ix >= c->size[1])
									continue;
								int64_t channel = m / c->group_filters *
											  c->group_channels +
										  gc;
								int64_t plane = n * c->groups * c->group_channels +
										channel;
								add_term(oracle, i,
									 (double)x[(plane * c->size[0] + iy) *
											   c->size[1] +
										   ix] *
										 (double)w[((m * c->group_channels +
											     gc) * c->kernel[0] +
											    ky) * c->kernel[1] +
											   kx]);
							}
				}
}

static void check_conv(const struct conv *c)
{
	int64_t channels = c->groups * c->group_channels, filters = c->groups * c->group_filters;
	int64_t oh = conv_output(c, 0), ow = conv_output(c, 1);
	bool flat = c->rank == 1;
	if (!oh || !ow)
		return;
	struct npl_attrs attrs = {.conv = {.groups = c->groups, .window = {.rank = c->rank}}};
	for (int d = 0; d < 2; d++) {
		attrs.conv.window.kernel[d] = c->kernel[d];
		attrs.conv.window.stride[d] = c->stride[d];
		attrs.conv.window.dilation[d] = c->dilation[d];
		attrs.conv.window.pad_begin[d] = c->begin[d];
		attrs.conv.window.pad_end[d] = c->end[d];
	}
	struct npl_tensor x = random_tensor(flat ? npl_shape_of(3, c->images, channels, c->size[1])
						 : npl_shape_of(4, c->images, channels, c->size[0], c->size[1]));
	struct npl_tensor w = random_tensor(
		flat ? npl_shape_of(3, filters, c->group_channels, c->kernel[1])
		     : npl_shape_of(4, filters, c->group_channels, c->kernel[0], c->kernel[1]));
	struct npl_tensor bias = random_tensor(npl_shape_of(1, filters));
	struct npl_shape shape = flat ? npl_shape_of(3, c->images, filters, ow)
				      : npl_shape_of(4, c->images, filters, oh, ow);
	struct oracle oracle = make_oracle(npl_shape_count(&shape));
	conv_oracle(c, x.data, w.data, c->bias ? bias.data : NULL, &oracle);
	struct npl_layer layer = {.name = "conv",
				  .op = NPL_OP_CONV,
				  .attrs = &attrs,
				  .activation = c->relu ? NPL_ACT_RELU : NPL_ACT_NONE,
				  .n_in = 3,
				  .in = {&x, &w, c->bias ? &bias : NULL},
				  .macs = 42};
	check_layer(&layer, shape, oracle);
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&bias);
}

Test(cpu_layers, convolutions_equal_the_reference)
{
	for (uint64_t i = 1; i <= 400; i++) {
		start(i);
		struct conv c = {.images = pick(1, 3), .rank = (int)pick(1, 2), .bias = pick(0, 1), .relu = pick(0, 1)};
		bool depthwise = pick(0, 3) == 0;
		c.groups = depthwise ? pick(2, 9) : pick(0, 2) ? 1 : pick(2, 4);
		c.group_channels = depthwise ? 1 : pick(1, 6);
		c.group_filters = pick(1, depthwise ? 2 : 9);
		for (int d = 0; d < 2; d++) {
			bool unused = c.rank == 1 && d == 0;
			c.size[d] = unused ? 1 : pick(1, 40);
			c.kernel[d] = unused ? 1 : pick(1, 5);
			c.stride[d] = unused ? 1 : pick(1, 3);
			c.dilation[d] = unused ? 1 : pick(1, 3);
			c.begin[d] = unused ? 0 : pick(0, 4);
			c.end[d] = unused ? 0 : pick(0, 4);
		}
		check_conv(&c);
	}
}

/* Shapes that are cut into several blocks of positions or of filters, with remainders. */
Test(cpu_layers, convolutions_of_several_blocks)
{
	static const struct conv cases[] = {
		{1, 16, 5, 1, {53, 61}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, true, true},
		{2, 40, 7, 1, {23, 37}, {5, 3}, {1, 1}, {1, 2}, {2, 2}, {2, 2}, 2, true, false},
		{1, 9, 67, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, false, true},
		{1, 30, 70, 1, {41, 43}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2, true, true}, /* in place */
		{1,
		 600,
		 3,
		 1,
		 {1, 2500},
		 {1, 3},
		 {1, 1},
		 {1, 1},
		 {0, 1},
		 {0, 1},
		 1,
		 true,
		 true}, /* blocks within a row */
		{1, 3, 8, 1, {64, 67}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 2, true, true},
		{1, 1, 1, 33, {45, 38}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 2, true, true}, /* depthwise */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start(1000 + i);
		check_conv(&cases[i]);
	}
}

Test(cpu_layers, gemms_equal_the_reference)
{
	for (uint64_t i = 1; i <= 300; i++) {
		start(i);
		int64_t m = pick(0, 2) ? pick(1, 40) : 1, n = pick(1, 40), k = pick(0, 19) ? pick(1, 90) : 0;
		struct npl_attrs attrs = {.gemm = {.alpha = pick(0, 1) ? 1 : 0.75f,
						   .beta = pick(0, 1) ? 1 : -0.5f,
						   .trans_a = pick(0, 1),
						   .trans_b = pick(0, 1)}};
		struct npl_tensor x = random_tensor(attrs.gemm.trans_a ? npl_shape_of(2, k, m) : npl_shape_of(2, m, k));
		struct npl_tensor w = random_tensor(attrs.gemm.trans_b ? npl_shape_of(2, n, k) : npl_shape_of(2, k, n));
		struct npl_shape biases[] = {npl_shape_of(1, n),    npl_shape_of(2, 1, n), npl_shape_of(2, m, n),
					     npl_shape_of(2, m, 1), npl_shape_of(1, 1),    {0}};
		int variant = (int)pick(0, 6);
		struct npl_tensor bias = random_tensor(biases[variant < 6 ? variant : 0]);
		struct npl_shape *b = &bias.shape;
		const float *xs = x.data, *ws = w.data, *bs = bias.data;
		struct oracle oracle = make_oracle(m * n);
		for (int64_t r = 0; r < m; r++)
			for (int64_t c = 0; c < n; c++) {
				int64_t width = b->rank ? b->dim[b->rank - 1] : 1,
					height = b->rank == 2 ? b->dim[0] : 1;
				if (variant < 6)
					add_term(
						&oracle, r * n + c,
						(double)attrs.gemm.beta *
							(double)bs[(height > 1 ? r * width : 0) + (width > 1 ? c : 0)]);
				for (int64_t d = 0; d < k; d++)
					add_term(&oracle, r * n + c,
						 (double)attrs.gemm.alpha *
							 (double)xs[attrs.gemm.trans_a ? d * m + r : r * k + d] *
							 (double)ws[attrs.gemm.trans_b ? c * k + d : d * n + c]);
			}
		struct npl_layer layer = {.name = "gemm",
					  .op = NPL_OP_GEMM,
					  .attrs = &attrs,
					  .activation = pick(0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE,
					  .n_in = variant < 6 ? 3 : 2,
					  .in = {&x, &w, &bias},
					  .macs = (uint64_t)(m * n * k)};
		check_layer(&layer, npl_shape_of(2, m, n), oracle);
		npl_tensor_free(&x);
		npl_tensor_free(&w);
		npl_tensor_free(&bias);
	}
}

/* One MatMul over batch dimensions a[2], b[2] (absent: 0; else 1 or the common size); m or n of 0: a vector. */
static void check_matmul(const int64_t a[2], const int64_t b[2], int64_t m, int64_t k, int64_t n)
{
	struct npl_shape xs = {0}, ws = {0}, ys = {0};
	int64_t rows = m ? m : 1, cols = n ? n : 1, batch[2];
	for (int d = 0; d < 2; d++) {
		batch[d] = a[d] > b[d] ? a[d] : b[d];
		if (a[d] && m)
			xs.dim[xs.rank++] = a[d];
		if (b[d] && n)
			ws.dim[ws.rank++] = b[d];
		if (batch[d])
			ys.dim[ys.rank++] = batch[d];
		else
			batch[d] = 1;
	}
	if (m)
		xs.dim[xs.rank++] = ys.dim[ys.rank++] = m;
	xs.dim[xs.rank++] = ws.dim[ws.rank++] = k;
	if (n)
		ws.dim[ws.rank++] = ys.dim[ys.rank++] = n;
	struct npl_tensor x = random_tensor(xs), w = random_tensor(ws);
	struct oracle oracle = make_oracle(npl_shape_count(&ys));
	int64_t out = 0;
	for (int64_t i = 0; i < batch[0]; i++)
		for (int64_t j = 0; j < batch[1]; j++) {
			const float *xp = (float *)x.data +
					  ((a[0] > 1 ? i * (a[1] ? a[1] : 1) : 0) + (a[1] > 1 ? j : 0)) * rows * k;
			const float *wp = (float *)w.data +
					  ((b[0] > 1 ? i * (b[1] ? b[1] : 1) : 0) + (b[1] > 1 ? j : 0)) * k * cols;
			for (int64_t r = 0; r < rows; r++)
				for (int64_t c = 0; c < cols; c++, out++)
					for (int64_t d = 0; d < k; d++)
						add_term(&oracle, out,
							 (double)xp[r * k + d] * (double)wp[d * cols + c]);
		}
	struct npl_attrs attrs = {0};
	struct npl_layer layer = {.name = "matmul",
				  .op = NPL_OP_MATMUL,
				  .attrs = &attrs,
				  .activation = pick(0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE,
				  .n_in = 2,
				  .in = {&x, &w},
				  .macs = 1};
	check_layer(&layer, ys, oracle);
	npl_tensor_free(&x);
	npl_tensor_free(&w);
}

Test(cpu_layers, matmuls_equal_the_reference)
{
	for (uint64_t i = 1; i <= 300; i++) {
		start(i);
		int64_t size[2] = {pick(1, 3), pick(1, 3)}, a[2] = {0}, b[2] = {0};
		int64_t m = pick(0, 9) ? pick(1, 12) : 0, n = pick(0, 9) ? pick(1, 12) : 0;
		int rank_a = m ? (int)pick(0, 2) : 0, rank_b = n ? (int)pick(0, 2) : 0;
		for (int d = 2 - rank_a; d < 2; d++)
			a[d] = pick(0, 2) ? size[d] : 1;
		for (int d = 2 - rank_b; d < 2; d++)
			b[d] = pick(0, 2) ? size[d] : 1;
		check_matmul(a, b, m, pick(1, 30), n);
	}
}

/* Operators without a path of their own have the same bits as on the reference device, with a fused Relu too. */
Test(cpu_layers, other_operators_equal_the_reference)
{
	static const enum npl_op ops[] = {NPL_OP_MAXPOOL, NPL_OP_AVERAGEPOOL, NPL_OP_GLOBALAVERAGEPOOL,
					  NPL_OP_RELU,    NPL_OP_SOFTMAX,     NPL_OP_FLATTEN};
	for (uint64_t i = 1; i <= 60; i++) {
		start(i);
		enum npl_op op = ops[i % (sizeof ops / sizeof *ops)];
		struct npl_attrs attrs = {.op = op, .opset = 13};
		struct npl_window window = {.rank = 2};
		for (int d = 0; d < 2; d++) {
			window.kernel[d] = pick(1, 3);
			window.stride[d] = pick(1, 2);
			window.dilation[d] = 1;
			window.pad_begin[d] = window.pad_end[d] = window.kernel[d] / 2;
		}
		if (npl_op_defs[op].family == NPL_FAMILY_POOL)
			attrs.pool.window = window;
		if (npl_op_defs[op].family == NPL_FAMILY_ALONG)
			attrs.along.axis = 1;
		struct npl_tensor x = random_tensor(npl_shape_of(4, pick(1, 2), pick(1, 5), pick(3, 20), pick(3, 20)));
		const struct npl_tensor *in[] = {&x};
		struct npl_tensor y[3] = {{0}};
		struct npl_err err = {0};
		for (int k = 0; k < 3; k++) {
			cr_assert_eq(npl_op_shape(op, &attrs, in, 1, &y[k], 1, &err), 0, "%s", err.msg);
			cr_assert_eq(npl_tensor_alloc(&y[k], &err), 0);
			struct npl_result result = {0};
			struct npl_layer layer = {.name = "other",
						  .op = op,
						  .attrs = &attrs,
						  .activation = NPL_ACT_RELU,
						  .n_in = 1,
						  .in = {&x},
						  .out = &y[k]};
			int failed = k ? npl_driver_cpu.run(cpu[k], &layer, &result, &err)
				       : npl_driver_reference.run(NULL, &layer, &result, &err);
			cr_assert_eq(failed, 0, "%s", err.msg);
			cr_assert_eq(result.seconds_origin, NPL_TIME_MEASURED);
		}
		for (int k = 1; k <= 2; k++)
			cr_assert_arr_eq(y[k].data, y[0].data, npl_tensor_bytes(&y[0]), "seed %llu, %s",
					 (unsigned long long)seed, npl_op_defs[op].name);
		for (int k = 0; k < 3; k++)
			npl_tensor_free(&y[k]);
		npl_tensor_free(&x);
	}
}

Test(cpu_layers, refusals_say_the_reason)
{
	struct npl_attrs attrs = {.gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 4)};
	struct npl_tensor w = {.dtype = NPL_F32, .shape = npl_shape_of(2, 5, 4)};
	struct npl_tensor y = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 5)};
	struct npl_layer layer = {
		.name = "gemm", .op = NPL_OP_GEMM, .attrs = &attrs, .n_in = 2, .in = {&x, &w}, .out = &y};
	struct npl_result result = {0};
	struct npl_err err = {0};
	char reason[200];
	cr_assert(npl_driver_cpu.supports(cpu[1], &layer, reason, sizeof reason),
		  "data may be NULL when only asked: %s", reason);
	cr_assert_eq(npl_driver_cpu.run(cpu[1], &layer, &result, &err), NPL_EINTERNAL);
	cr_assert(strstr(err.msg, "input 0 has no data"), "%s", err.msg);
	w.dtype = NPL_I8;
	cr_assert(!npl_driver_cpu.supports(cpu[1], &layer, reason, sizeof reason));
	cr_assert_str_eq(reason, "input 1 of Gemm is int8; this device computes in float32");
	w.dtype = NPL_F32;
	x.dtype = NPL_U8;
	x.quant.scale = 0.5f;
	cr_assert(!npl_driver_cpu.supports(cpu[1], &layer, reason, sizeof reason));
	cr_assert_str_eq(reason, "input 0 is quantised uint8; this device computes in float32");
	x = (struct npl_tensor){.dtype = NPL_F32, .shape = npl_shape_of(2, 65536, 65536)};
	cr_assert(!npl_driver_cpu.supports(cpu[1], &layer, reason, sizeof reason));
	cr_assert(strstr(reason, "more than 2147483647 elements"), "%s", reason);
}
