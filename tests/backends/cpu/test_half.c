/* SPDX-License-Identifier: MIT
 *
 * Promises of float16 and bfloat16 on the processor: cpu takes every layer of them that it takes of float32, alone and
 * in a layer group whose weights were prepared, run again with other inputs too. What has no sums comes out as on the
 * reference, bit for bit; sums may differ by their order in float32 before they are rounded. Whole arrays are converted
 * as single numbers are. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/base/half.h"
#include "core/one_layer_group.h"
#include "npulab/driver.h"
#include "tests/kit/support.h"

extern const struct npl_driver npl_driver_cpu, npl_driver_reference;

static const enum npl_dtype halves[] = {NPL_F16, NPL_BF16};

Test(cpu_half, arrays_are_converted_as_single_numbers)
{
	enum { N = 4099 };
	static float x[N], wide[N];
	static uint16_t half[N];
	uint64_t rng = 5;
	for (int turn = 0; turn < 500; turn++)
		for (int type = 0; type < 2; type++) {
			for (int i = 0; i < N; i++) {
				uint32_t bits = (uint32_t)(test_rng(&rng) >> 32);
				if (turn & 1) /* about where float16 begins, ends and has no more places */
					bits = (bits & 0x8000ffffu) | (uint32_t)test_range(&rng, 0x3280, 0x4790) << 16;
				memcpy(&x[i], &bits, sizeof bits);
			}
			npl_half_narrow(halves[type], x, N, half);
			npl_half_widen(halves[type], half, N, wide);
			for (int i = 0; i < N; i++) {
				uint16_t one = type ? npl_bf16_of_float(x[i]) : npl_f16_of_double((double)x[i]);
				float back = type ? npl_bf16_to_float(one) : npl_f16_to_float(one);
				cr_assert_eq(half[i], one, "%a as %s: %04x, expected %04x", (double)x[i],
					     npl_dtype_name(halves[type]), half[i], one);
				cr_assert(!memcmp(&wide[i], &back, sizeof back));
			}
		}
}

static void fill(struct npl_tensor *t, uint64_t *rng)
{
	for (int64_t i = 0; i < npl_tensor_count(t); i++) {
		float x = (float)test_range(rng, -1000, 1000) / 500;
		npl_half_narrow(t->dtype, &x, 1, (uint16_t *)t->data + i);
	}
}

static struct npl_tensor random_half(enum npl_dtype dtype, struct npl_shape shape, uint64_t *rng)
{
	struct npl_tensor t = {.dtype = dtype, .shape = shape};
	struct npl_err err;
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0);
	fill(&t, rng);
	return t;
}

/* tolerance: of a float32 sum; besides, one step of the type where the sums lie on either side of the middle between
 * two. */
static void check_same(const struct npl_tensor *found, const struct npl_tensor *expected, float tolerance,
		       const char *subject)
{
	const float step = found->dtype == NPL_F16 ? 0x1p-10f : 0x1p-7f;
	for (int64_t i = 0; i < npl_tensor_count(found); i++) {
		float f, e;
		npl_half_widen(found->dtype, (const uint16_t *)found->data + i, 1, &f);
		npl_half_widen(found->dtype, (const uint16_t *)expected->data + i, 1, &e);
		if (tolerance > 0)
			cr_assert(fabsf(f - e) <= tolerance + step * fabsf(e), "%s[%lld]: %g, expected %g", subject,
				  (long long)i, (double)f, (double)e);
		else
			cr_assert_eq(((uint16_t *)found->data)[i], ((uint16_t *)expected->data)[i],
				     "%s[%lld]: %g, expected %g", subject, (long long)i, (double)f, (double)e);
	}
}

/* Alone, then as a layer group whose first input changes while the others stay; twice the same input gives the same. */
static void check_layer(void *cpu, const struct npl_layer *asked, struct npl_shape shape, float tolerance,
			uint64_t *rng)
{
	struct npl_layer own = *asked, *layer = &own;
	const char *subject = npl_op_defs[layer->op].name;
	enum npl_dtype dtype = layer->in[0]->dtype;
	struct npl_tensor found = random_half(dtype, shape, rng), expected = random_half(dtype, shape, rng);
	struct npl_tensor x = *asked->in[0];
	struct npl_result result = {0};
	struct npl_err err = {0};
	char reason[200];
	layer->name = subject;
	layer->out = &expected;
	cr_assert(npl_driver_reference.supports(NULL, layer, reason, sizeof reason), "%s: %s", subject, reason);
	cr_assert_eq(npl_driver_reference.run(NULL, layer, &result, &err), 0, "%s", err.msg);
	layer->out = &found;
	cr_assert(npl_driver_cpu.supports(cpu, layer, reason, sizeof reason), "%s: %s", subject, reason);
	cr_assert_eq(npl_driver_cpu.run(cpu, layer, &result, &err), 0, "%s: %s", subject, err.msg);
	check_same(&found, &expected, tolerance, subject);

	struct npl_one_layer_group request;
	struct npl_layer_group_info info;
	void *handle;
	void *data = x.data;
	npl_one_layer_group_init(&request, layer);
	x.owned = false;
	x.data = NULL;
	layer->in[0] = &x;
	cr_assert_eq(npl_driver_cpu.open_layer_group(cpu, &request.group, &handle, &info, &err), 0, "%s: %s", subject,
		     err.msg);
	x.data = data;
	for (int turn = 0; turn < 3; turn++) {
		struct npl_result made = {0};
		memset(found.data, 0xff, npl_tensor_bytes(&found));
		cr_assert_eq(npl_driver_cpu.run_layer_group(cpu, handle, NULL, &made, &err), 0, "%s: %s", subject,
			     err.msg);
		cr_assert(made.seconds > 0 && made.n_energy == 1);
		check_same(&found, &expected, tolerance, subject);
		if (turn == 1) {
			fill(&x, rng);
			layer->out = &expected;
			cr_assert_eq(npl_driver_reference.run(NULL, layer, &result, &err), 0, "%s", err.msg);
			layer->out = &found;
		}
	}
	npl_driver_cpu.close_layer_group(handle);
	npl_tensor_free(&found);
	npl_tensor_free(&expected);
}

static void check_conv(void *cpu, enum npl_dtype dtype, uint64_t *rng)
{
	int64_t n = test_range(rng, 1, 2), c = test_range(rng, 1, 9), m = test_range(rng, 1, 9),
		size = test_range(rng, 3, 20), kernel = test_range(rng, 1, 3);
	struct npl_tensor x = random_half(dtype, npl_shape_of(4, n, c, size, size), rng),
			  w = random_half(dtype, npl_shape_of(4, m, c, kernel, kernel), rng),
			  bias = random_half(dtype, npl_shape_of(1, m), rng);
	struct npl_attrs attrs = {.conv = {.groups = 1, .window = {.rank = 2}}};
	for (int d = 0; d < 2; d++) {
		attrs.conv.window.kernel[d] = kernel;
		attrs.conv.window.stride[d] = attrs.conv.window.dilation[d] = 1;
	}
	struct npl_layer layer = {.op = NPL_OP_CONV, .attrs = &attrs, .n_in = 3, .in = {&x, &w, &bias}, .macs = 1};
	int64_t out = size - kernel + 1;
	check_layer(cpu, &layer, npl_shape_of(4, n, m, out, out), 1e-4f, rng);
	layer = (struct npl_layer){.op = NPL_OP_MAXPOOL, .attrs = &attrs, .n_in = 1, .in = {&x}};
	check_layer(cpu, &layer, npl_shape_of(4, n, c, out, out), 0, rng);
	layer.op = NPL_OP_AVERAGEPOOL;
	check_layer(cpu, &layer, npl_shape_of(4, n, c, out, out), 1e-5f, rng);
	layer.op = NPL_OP_RELU;
	check_layer(cpu, &layer, x.shape, 0, rng);
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&bias);
}

static void check_products(void *cpu, enum npl_dtype dtype, uint64_t *rng)
{
	int64_t m = test_range(rng, 1, 20), n = test_range(rng, 1, 20), k = test_range(rng, 1, 60);
	struct npl_tensor x = random_half(dtype, npl_shape_of(2, m, k), rng),
			  w = random_half(dtype, npl_shape_of(2, n, k), rng),
			  v = random_half(dtype, npl_shape_of(2, k, n), rng),
			  bias = random_half(dtype, npl_shape_of(1, n), rng),
			  scale = random_half(dtype, npl_shape_of(1, k), rng);
	struct npl_attrs gemm = {.opset = 13, .gemm = {.alpha = 0.75f, .beta = 1, .trans_b = true}},
			 softmax = {.opset = 13, .along.axis = 1}, matmul = {.opset = 13}, mul = {.opset = 13};
	struct npl_layer layer = {.op = NPL_OP_GEMM, .attrs = &gemm, .n_in = 3, .in = {&x, &w, &bias}, .macs = 1};
	check_layer(cpu, &layer, npl_shape_of(2, m, n), 1e-4f, rng);
	layer = (struct npl_layer){.op = NPL_OP_MATMUL, .attrs = &matmul, .n_in = 2, .in = {&x, &v}, .macs = 1};
	check_layer(cpu, &layer, npl_shape_of(2, m, n), 1e-4f, rng);
	layer = (struct npl_layer){.op = NPL_OP_SOFTMAX, .attrs = &softmax, .n_in = 1, .in = {&x}};
	check_layer(cpu, &layer, x.shape, 0, rng);
	layer = (struct npl_layer){.op = NPL_OP_MUL, .attrs = &mul, .n_in = 2, .in = {&x, &scale}};
	check_layer(cpu, &layer, x.shape, 0, rng);
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&v);
	npl_tensor_free(&scale);
	npl_tensor_free(&bias);
}

static void check_device(int64_t threads, int convolution)
{
	struct npl_err err = {0};
	void *cpu;
	if (npl_driver_cpu.open(&(struct cpu_config){.threads = threads, .convolution = convolution}, &cpu, &err))
		cr_skip("%s", err.msg);
	for (uint64_t seed = 1; seed <= 20; seed++)
		for (int type = 0; type < 2; type++) {
			uint64_t rng = seed;
			check_conv(cpu, halves[type], &rng);
			check_products(cpu, halves[type], &rng);
		}
	npl_driver_cpu.close(cpu);
}

Test(cpu_half, layers_run_with_onednn)
{
	check_device(2, CPU_CONV_ONEDNN);
}

Test(cpu_half, layers_run_without_onednn)
{
	check_device(1, CPU_CONV_BLAS);
}
