/* SPDX-License-Identifier: MIT
 *
 * Gemm, MatMul and Conv on the cuda device, over a fake CUDA that checks every range and handle: in float32, TF32,
 * float16 and bfloat16, and of tensors that are float16 and bfloat16 in every precision, within what their digits allow
 * of the reference kernels, in int8 the bits of the integer rules; with cuDNN and without, with much room for
 * patches and with little. Nothing is left behind. */
#include <math.h>
#include <stdio.h>

#include "core/base/dtype.h"
#include "core/base/half.h"
#include "core/op_functions.h"
#include "core/ops/window.h"
#include "tests/kit/activated.h"
#include "tests/kit/cuda/layer_run.h"

static uint64_t rng;
static struct cu_config config = {.patch_mib = 64};
static enum npl_dtype declared = NPL_F32; /* of all tensors of a layer of floats */

TestSuite(cuda_products, .init = cuda_fake_open, .fini = cuda_fake_close);

static struct cu_device *open_device(enum cu_precision precision)
{
	return cuda_fake_gpu(&config, precision);
}

struct float_layer {
	struct npl_attrs attrs;
	struct npl_tensor in[3], y;
	struct npl_layer layer;
};

/* With what the declared type holds. */
static void fill(struct npl_tensor *t)
{
	const int64_t count = npl_tensor_count(t);
	uint16_t *narrow = malloc((size_t)count * sizeof *narrow + 1);
	cr_assert(narrow);
	for (int64_t i = 0; i < count; i++)
		((float *)t->data)[i] = (float)test_range(&rng, -1000, 1000) / 997.0f;
	if (declared != NPL_F32) {
		npl_half_narrow(declared, t->data, count, narrow);
		npl_half_widen(declared, narrow, count, t->data);
	}
	free(narrow);
}

static void add_input(struct float_layer *f, struct npl_shape shape)
{
	test_tensor(&f->in[f->layer.n_in], NPL_F32, shape, 0, 0);
	fill(&f->in[f->layer.n_in]);
	f->layer.in[f->layer.n_in] = &f->in[f->layer.n_in];
	f->layer.n_in++;
}

/* The result's shape and the work, by the operator's own rules. False: there is no such layer. */
static bool finish(struct float_layer *f, enum npl_op op)
{
	struct npl_err err = {0};
	f->layer.op = op;
	f->layer.name = npl_op_defs[op].name;
	f->layer.attrs = &f->attrs;
	if (npl_op_shape(op, &f->attrs, f->layer.in, f->layer.n_in, &f->y, 1, &err))
		return false;
	cr_assert_eq(npl_tensor_alloc(&f->y, &err), 0, "%s", err.msg);
	f->layer.out = &f->y;
	f->layer.macs = npl_op_macs(op, &f->attrs, f->layer.in, f->layer.n_in, &f->y);
	return true;
}

static void free_layer(struct float_layer *f)
{
	for (int k = 0; k < f->layer.n_in; k++)
		npl_tensor_free(&f->in[k]);
	npl_tensor_free(&f->y);
}

/* The reference's result, and for each element the sum of magnitudes that rounding is relative to. */
static void reference(struct float_layer *f, float **value, float **size)
{
	struct npl_tensor magnitude[3], y = f->y;
	const struct npl_tensor *in[3] = {0};
	struct npl_err err = {0};
	const size_t bytes = npl_tensor_bytes(&f->y);
	*value = malloc(bytes + 1);
	*size = malloc(bytes + 1);
	y.data = *value;
	cr_assert_eq(npl_op_run(f->layer.op, &f->attrs, f->layer.in, f->layer.n_in, &y, 1, &err), 0, "%s", err.msg);
	for (int k = 0; k < f->layer.n_in; k++) {
		test_tensor(&magnitude[k], NPL_F32, f->in[k].shape, 0, 0);
		for (int64_t i = 0; i < npl_tensor_count(&f->in[k]); i++)
			((float *)magnitude[k].data)[i] = fabsf(((float *)f->in[k].data)[i]);
		in[k] = &magnitude[k];
	}
	struct npl_attrs attrs = f->attrs;
	attrs.gemm.alpha = fabsf(attrs.gemm.alpha);
	y.data = *size;
	cr_assert_eq(npl_op_run(f->layer.op, &attrs, in, f->layer.n_in, &y, 1, &err), 0, "%s", err.msg);
	for (int k = 0; k < f->layer.n_in; k++)
		npl_tensor_free(&magnitude[k]);
}

/* What one rounding of both operands and of the result may cost, relative to the sum of magnitudes; float32: the order
 * of sums. */
static const double allowed[] = {[CU_F32] = 2e-6, [CU_TF32] = 0x1p-10, [CU_F16] = 0x1.9p-10, [CU_BF16] = 0x1.9p-7};

/* The layer with tensors of the declared type; its result widened. */
static void run_floats(struct cu_device *device, const struct float_layer *f, float *out, const char *subject)
{
	struct npl_tensor in[3], y = f->y;
	struct npl_layer layer = f->layer;
	void *narrow = malloc(npl_tensor_bytes(&f->y) + 1);
	cr_assert(narrow);
	for (int k = 0; k < layer.n_in; k++) {
		test_tensor(&in[k], declared, f->in[k].shape, 0, 0);
		npl_half_narrow(declared, f->in[k].data, npl_tensor_count(&in[k]), in[k].data);
		layer.in[k] = &in[k];
	}
	y.dtype = declared;
	layer.out = &y;
	cuda_run_layer(device, &layer, narrow, subject);
	npl_half_widen(declared, narrow, npl_tensor_count(&y), out);
	for (int k = 0; k < layer.n_in; k++)
		npl_tensor_free(&in[k]);
	free(narrow);
}

static void check_floats(struct cu_device *device, struct float_layer *f, const char *subject)
{
	const enum cu_precision precision = declared == NPL_F16    ? CU_F16
					    : declared == NPL_BF16 ? CU_BF16
								   : device->precision;
	float *sums, *size, *actual = malloc(npl_tensor_bytes(&f->y) + 1);
	reference(f, &sums, &size);
	if (declared == NPL_F32)
		cuda_run_layer(device, &f->layer, actual, subject);
	else
		run_floats(device, f, actual, subject);
	for (int64_t i = 0; i < npl_tensor_count(&f->y); i++) {
		double expected = activated(f->layer.activation, sums[i]);
		cr_assert(fabs(actual[i] - expected) <= allowed[precision] * ((double)size[i] + fabs(expected)) + 2e-7,
			  "%s, %s, precision %d: element %lld is %.9g, expected %.9g", subject,
			  npl_dtype_name(declared), (int)device->precision, (long long)i, (double)actual[i], expected);
	}
	free(sums);
	free(size);
	free(actual);
}

static int64_t range(int64_t low, int64_t high)
{
	return test_range(&rng, low, high);
}

static const struct npl_attrs plain_gemm = {.gemm = {.alpha = 1, .beta = 1, .trans_b = true}};

static void random_gemm(struct cu_device *device, int round)
{
	struct float_layer f = {.attrs = plain_gemm};
	const int64_t m = range(1, 40), n = range(1, 40), k = range(0, 9) ? range(1, 70) : 0;
	const bool canonical = range(0, 1);
	char subject[100];
	if (!canonical) {
		f.attrs.gemm.trans_a = range(0, 1);
		f.attrs.gemm.trans_b = range(0, 1);
		f.attrs.gemm.alpha = (float)range(1, 9) * (range(0, 1) ? 0.25f : -0.25f);
	}
	add_input(&f, f.attrs.gemm.trans_a ? npl_shape_of(2, k, m) : npl_shape_of(2, m, k));
	add_input(&f, f.attrs.gemm.trans_b ? npl_shape_of(2, n, k) : npl_shape_of(2, k, n));
	if (range(0, 1))
		add_input(&f, range(0, 1) ? npl_shape_of(1, n) : npl_shape_of(2, 1, n));
	cr_assert(finish(&f, NPL_OP_GEMM));
	f.layer.activation = (enum npl_activation)range(NPL_ACT_NONE, NPL_ACTIVATIONS - 1);
	snprintf(subject, sizeof subject, "round %d: Gemm %lld x %lld x %lld", round, (long long)m, (long long)n,
		 (long long)k);
	check_floats(device, &f, subject);
	free_layer(&f);
}

/* Draws two stacks that broadcast, of matrices with up to `limit` rows and columns; some matrices are vectors. */
static void random_stacks(int64_t limit, struct npl_shape *a, struct npl_shape *b)
{
	const int64_t m = range(1, limit), n = range(1, limit), k = range(1, 2 * limit);
	int64_t batch[3];
	*a = (struct npl_shape){.rank = 2 + (int)range(0, 3)};
	*b = (struct npl_shape){.rank = 2 + (int)range(0, 3)};
	for (int d = 0; d < 3; d++)
		batch[d] = range(1, 3);
	for (int d = 0; d < a->rank - 2; d++)
		a->dim[a->rank - 3 - d] = range(0, 2) ? batch[d] : 1;
	for (int d = 0; d < b->rank - 2; d++)
		b->dim[b->rank - 3 - d] = range(0, 2) ? batch[d] : 1;
	a->dim[a->rank - 2] = m;
	a->dim[a->rank - 1] = b->dim[b->rank - 2] = k;
	b->dim[b->rank - 1] = n;
	if (!range(0, 5))
		*a = npl_shape_of(1, k);
	if (!range(0, 5))
		*b = npl_shape_of(1, k);
}

static void random_matmul(struct cu_device *device, int round)
{
	struct float_layer f = {0};
	struct npl_shape a, b;
	char subject[60];
	random_stacks(9, &a, &b);
	add_input(&f, a);
	add_input(&f, b);
	cr_assert(finish(&f, NPL_OP_MATMUL));
	snprintf(subject, sizeof subject, "round %d: MatMul", round);
	check_floats(device, &f, subject);
	free_layer(&f);
}

/* A convolution of one to three dimensions, with groups, strides, dilations and pads that differ. */
static void random_conv(struct cu_device *device, int round)
{
	struct float_layer f = {0};
	const int rank = (int)range(1, 3);
	const int64_t groups = range(0, 2) ? 1 : range(2, 4), channels = groups * range(1, 4),
		      filters = groups * range(1, 5);
	struct npl_shape x = {.rank = 2 + rank, .dim = {range(1, 3), channels}},
			 w = {.rank = 2 + rank, .dim = {filters, channels / groups}};
	struct npl_window *window = &f.attrs.conv.window;
	const bool pointwise = !range(0, 3);
	char subject[60];
	window->rank = rank;
	f.attrs.conv.groups = groups;
	for (int d = 0; d < NPL_VOLUME; d++)
		window->kernel[d] = window->stride[d] = window->dilation[d] = 1;
	for (int i = 0; i < rank; i++) {
		const int d = npl_window_index(rank, i);
		x.dim[2 + i] = range(1, rank == 3 ? 5 : 9);
		w.dim[2 + i] = window->kernel[d] = pointwise ? 1 : range(1, 3);
		window->stride[d] = pointwise ? 1 : range(1, 3);
		window->dilation[d] = range(1, 2);
		window->pad_begin[d] = pointwise ? 0 : range(0, 2);
		window->pad_end[d] = range(0, 1) ? window->pad_begin[d] : pointwise ? 0 : range(0, 2);
	}
	add_input(&f, x);
	add_input(&f, w);
	if (range(0, 1))
		add_input(&f, npl_shape_of(1, filters));
	if (finish(&f, NPL_OP_CONV)) {
		f.layer.activation = (enum npl_activation)range(NPL_ACT_NONE, NPL_ACTIVATIONS - 1);
		snprintf(subject, sizeof subject, "round %d: Conv in %d dimensions", round, rank);
		check_floats(device, &f, subject);
	}
	free_layer(&f);
}

/* A depthwise convolution of two dimensions, of channels that are a whole number of packs of 8, 4, 2 or 1. */
static void random_depthwise(struct cu_device *device, int round)
{
	struct float_layer f = {0};
	const int64_t channels = range(8, 26);
	struct npl_shape x = npl_shape_of(4, range(1, 3), channels, range(1, 9), range(1, 9));
	struct npl_window *window = &f.attrs.conv.window;
	char subject[60];
	*window = (struct npl_window){.rank = 2};
	f.attrs.conv.groups = channels;
	for (int d = 0; d < NPL_VOLUME; d++)
		window->kernel[d] = window->stride[d] = window->dilation[d] = 1;
	for (int i = 0; i < 2; i++) {
		const int d = npl_window_index(2, i);
		window->kernel[d] = range(1, 4);
		window->stride[d] = range(1, 3);
		window->dilation[d] = range(1, 2);
		window->pad_begin[d] = range(0, 3);
		window->pad_end[d] = range(0, 3);
	}
	add_input(&f, x);
	add_input(&f, npl_shape_of(4, channels, 1, window->kernel[npl_window_index(2, 0)],
				   window->kernel[npl_window_index(2, 1)]));
	if (range(0, 1))
		add_input(&f, npl_shape_of(1, channels));
	if (finish(&f, NPL_OP_CONV)) {
		f.layer.activation = (enum npl_activation)range(NPL_ACT_NONE, NPL_ACTIVATIONS - 1);
		snprintf(subject, sizeof subject, "round %d: %lld channels", round, (long long)channels);
		check_floats(device, &f, subject);
	}
	free_layer(&f);
}

Test(cuda_products, depthwise_convolutions_of_halves_equal_the_reference_without_cudnn_or_cublas)
{
	rng = 0xc0da000c;
	for (int p = CU_F16; p <= CU_BF16; p++) {
		struct cu_device *device = open_device((enum cu_precision)p);
		for (int round = 0; round < 80; round++) {
			cu_fake.convolutions = cu_fake.products = 0;
			random_depthwise(device, round);
			cr_assert_eq(cu_fake.convolutions + cu_fake.products, 0, "round %d", round);
		}
		cu_close(device);
	}
}

static void random_products(enum cu_precision precision, uint64_t seed)
{
	struct cu_device *device = open_device(precision);
	rng = seed;
	for (int round = 0; round < 40; round++) {
		random_gemm(device, round);
		random_matmul(device, round);
		random_conv(device, round);
		device->patch_bytes = range(0, 1) ? (size_t)range(1, 4000) : (size_t)1 << 20;
	}
	cu_close(device);
}

Test(cuda_products, floats_equal_the_reference)
{
	for (int p = CU_F32; p <= CU_BF16; p++)
		random_products((enum cu_precision)p, 0xc0da0001);
	cr_assert_gt(cu_fake.convolutions, 50);
	cr_assert_gt(cu_fake.fused_convolutions, 5);
}

Test(cuda_products, convolutions_without_cudnn_equal_the_reference)
{
	cu_fake.missing[CU_FAKE_DNN] = true;
	for (int p = CU_F32; p <= CU_BF16; p++)
		random_products((enum cu_precision)p, 0xc0da0002);
	cr_assert_eq(cu_fake.convolutions, 0);
}

/* Tensors that a model has in 16 bits are multiplied so, whatever the device makes of float32. */
static void products_of_halves(uint64_t seed)
{
	static const enum npl_dtype halves[] = {NPL_F16, NPL_BF16};
	for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
		for (int p = CU_F32; p < CU_PRECISIONS; p++) {
			declared = halves[i];
			random_products((enum cu_precision)p, seed);
		}
	declared = NPL_F32;
}

Test(cuda_products, halves_equal_the_reference_in_every_precision)
{
	products_of_halves(0xc0da0009);
	cr_assert_gt(cu_fake.convolutions, 100);
	cr_assert_gt(cu_fake.last_convolutions, 50);
}

Test(cuda_products, halves_without_cudnn_equal_the_reference)
{
	cu_fake.missing[CU_FAKE_DNN] = true;
	products_of_halves(0xc0da000a);
	cr_assert_eq(cu_fake.convolutions, 0);
}

/* cuDNN is there, but has no algorithm, or none with bias and Relu in the same pass. */
Test(cuda_products, convolutions_that_cudnn_does_in_part_equal_the_reference)
{
	cu_fake.no_fused_convolution = true;
	random_products(CU_F32, 0xc0da0003);
	cr_assert_eq(cu_fake.fused_convolutions, 0);
	cr_assert_gt(cu_fake.convolutions, 10);
	const long before = cu_fake.convolutions;
	cu_fake.no_dnn_algorithm = true;
	random_products(CU_F32, 0xc0da0004);
	cr_assert_eq(cu_fake.convolutions, before);
}

Test(cuda_products, integers_have_the_bits_of_the_rules)
{
	struct cu_device *device = open_device(CU_INT8);
	rng = 0xc0da0005;
	for (int round = 0; round < 120; round++) {
		struct test_layer t;
		char subject[80];
		const int64_t rows = range(1, 30), k = range(1, 100), n = range(0, 1) ? range(1, 40) : 4 * range(1, 10);
		test_gemm(&t, rows, k, n);
		cuda_dress(&t, NPL_OP_GEMM, n, &rng);
		snprintf(subject, sizeof subject, "round %d: gemm %lldx%lldx%lld", round, (long long)rows, (long long)k,
			 (long long)n);
		cuda_check_integers(device, &t, subject);
		test_layer_free(&t);
	}
	cu_close(device);
}

/* An operand of 8 bits; its zero point is sometimes 0, sometimes the least that the type has. */
static void random_operand(struct npl_tensor *t, struct npl_shape shape, bool of_zeros)
{
	const enum npl_dtype dtype = range(0, 1) ? NPL_U8 : NPL_I8;
	const int32_t zero = range(0, 2)   ? (int32_t)range(npl_dtype_min(dtype), npl_dtype_max(dtype))
			     : range(0, 1) ? 0
					   : (int32_t)npl_dtype_min(dtype);
	test_tensor(t, dtype, shape, (float)range(1, 200) / 997.0f, zero);
	if (of_zeros)
		memset(t->data, 0, npl_tensor_bytes(t));
	else
		test_fill(t, &rng);
}

/* MatMul of two computed tensors: stacks that broadcast, vectors, rows that are no multiple of what cuBLASLt wants. */
Test(cuda_products, stacks_of_integers_have_the_bits_of_the_rules)
{
	struct cu_device *device = open_device(CU_INT8);
	uint64_t saturated = 0;
	rng = 0xc0da0008;
	for (int round = 0; round < 150; round++) {
		struct test_layer t = {0};
		struct npl_shape a, b;
		struct npl_err err = {0};
		char subject[60];
		random_stacks(round % 5 ? 9 : 70, &a, &b);
		if (round % 4 == 0 && a.rank > 1 && b.rank > 1) /* rows that are as long as cuBLASLt wants them */
			a.dim[a.rank - 1] = b.dim[b.rank - 2] = 32;
		random_operand(&t.x, a, round % 16 == 9);
		random_operand(&t.w, b, false);
		const struct npl_tensor of_a = {.dtype = NPL_F32, .shape = a}, of_b = {.dtype = NPL_F32, .shape = b},
					*in[] = {&of_a, &of_b};
		struct npl_tensor y = {0};
		cr_assert_eq(npl_op_shape(NPL_OP_MATMUL, &t.attrs, in, 2, &y, 1, &err), 0, "%s", err.msg);
		test_tensor(&t.y, range(0, 1) ? NPL_U8 : NPL_I8, y.shape, (float)range(1, 3000) / 997.0f,
			    (int32_t)range(0, 100));
		t.layer = (struct npl_layer){
			.name = "matmul",
			.op = NPL_OP_MATMUL,
			.attrs = &t.attrs,
			.activation = (enum npl_activation)range(NPL_ACT_NONE, NPL_ACTIVATIONS - 1),
			.n_in = 2,
			.in = {&t.x, &t.w},
			.out = &t.y};
		snprintf(subject, sizeof subject, "round %d: MatMul of integers", round);
		saturated += cuda_check_integers(device, &t, subject);
		test_layer_free(&t);
	}
	cr_assert_gt(saturated, 100);
	cu_close(device);
}

/* Weights whose distance from their zero point goes beyond 8 bits: sums of two and of three matrices. */
Test(cuda_products, weights_far_from_their_zero_point_are_exact)
{
	static const struct {
		enum npl_dtype dtype;
		int zero, fill;
	} cases[] = {{NPL_U8, 0, 255},    {NPL_U8, 255, 0}, {NPL_I8, -128, 127},
		     {NPL_I8, 127, -128}, {NPL_U8, 128, 0}, {NPL_I8, 0, -128}};
	struct cu_device *device = open_device(CU_INT8);
	rng = 0xc0da0006;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct test_layer t;
		char subject[40];
		test_gemm(&t, 3, 37, 5);
		t.x.dtype = i % 2 ? NPL_U8 : NPL_I8;
		t.w.dtype = cases[i].dtype;
		t.w.quant.zero_point = cases[i].zero;
		test_fill(&t.x, &rng);
		memset(t.w.data, cases[i].fill, npl_tensor_bytes(&t.w));
		test_layer_wire(&t, NPL_OP_GEMM, t.layer.macs);
		snprintf(subject, sizeof subject, "case %zu", i);
		cuda_check_integers(device, &t, subject);
		test_layer_free(&t);
	}
	cu_close(device);
}

Test(cuda_products, says_what_it_does_not_take)
{
	struct float_layer f = {.attrs = {.gemm = {.alpha = 1, .beta = 2, .trans_b = true}}};
	struct cu_device *device = open_device(CU_F32);
	char reason[200] = "";
	rng = 7;
	add_input(&f, npl_shape_of(2, 3, 4));
	add_input(&f, npl_shape_of(2, 5, 4));
	add_input(&f, npl_shape_of(2, 3, 5));
	cr_assert(finish(&f, NPL_OP_GEMM));
	cr_assert_not(npl_driver_cuda.supports(device, &f.layer, reason, sizeof reason));
	cr_assert(strstr(reason, "beta"), "%s", reason);
	f.attrs.gemm.beta = 1;
	cr_assert_not(npl_driver_cuda.supports(device, &f.layer, reason, sizeof reason));
	cr_assert(strstr(reason, "one element per column"), "%s", reason);
	cu_close(device);
	device = open_device(CU_INT8); /* which takes floats as float32 has them */
	cr_assert_not(npl_driver_cuda.supports(device, &f.layer, reason, sizeof reason));
	cr_assert(strstr(reason, "one element per column"), "%s", reason);
	f.in[0].quant.scale = 1;
	cr_assert_not(npl_driver_cuda.supports(device, &f.layer, reason, sizeof reason));
	cr_assert(strstr(reason, "not an integer tensor"), "%s", reason);
	cu_close(device);
	free_layer(&f);
}

/* A GPU whose cuBLASLt has no int8 products says so when it is asked for one, and leaves nothing. */
Test(cuda_products, a_product_that_the_library_lacks_is_an_error)
{
	struct cu_device *device = open_device(CU_INT8);
	struct npl_result result = {0};
	struct npl_err err = {0};
	struct test_layer t;
	test_gemm(&t, 3, 37, 5);
	t.x.dtype = NPL_U8;
	test_layer_wire(&t, NPL_OP_GEMM, t.layer.macs);
	cu_fake.no_int8 = true;
	cr_assert_eq(npl_driver_cuda.run(device, &t.layer, &result, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "cuBLASLt has no way to make a product of 8 x 3 x 48"), "%s", err.msg);
	cu_fake.no_int8 = false;
	cr_assert_eq(npl_driver_cuda.run(device, &t.layer, &result, &err), 0, "%s", err.msg);
	test_layer_free(&t);
	cu_close(device);
}
