/* SPDX-License-Identifier: MIT
 *
 * Exact 8-bit products on this computer, one thread: each kernel and oneDNN by shape; our fastest kernel against
 * oneDNN at 2048^3 and on the products that the convolutions of ResNet-50 (He et al., CVPR 2016, Table 1) come down
 * to; then what the simulated TPU v1, values included, takes of the time of the best product, and of the cpu device's
 * in 8 bits on those convolutions. Ratios are of medians of runs that took turns. Rates are 1e9 multiply-accumulates
 * per second. */
#include <string.h>

#include "bench.h"
#include "core/int8/int8.h"
#include "frontend/compare/draw.h"
#include "npulab/device.h"
#include "npulab/random.h"
#include "npulab/single_layer.h"
#include "npulab/thread.h"

static struct npl_err err;

static void stop(const char *subject)
{
	fprintf(stderr, "bench: %s: %s\n", subject, err.msg);
	exit(npl_exit_status(err.code));
}

static struct npl_tensor drawn(enum npl_dtype dtype, struct npl_shape shape, uint64_t seed)
{
	struct npl_tensor t = {.dtype = dtype, .shape = shape, .quant.scale = dtype == NPL_I32 ? 0.0f : 1.0f};
	if (npl_tensor_alloc(&t, &err))
		stop("operands");
	if (dtype != NPL_I32)
		npl_draw(&t, &(struct npl_random){.state = seed});
	return t;
}

static void run_product(void *context)
{
	uint64_t overflows = 0;
	if (npl_int8_gemm(context, &overflows, &err))
		stop("product");
}

struct layer_case {
	struct npl_device *device;
	struct npl_layer layer;
};

static void run_layer(void *context)
{
	struct layer_case *c = context;
	struct npl_result result = {0};
	if (npl_device_run(c->device, &c->layer, &result, &err))
		stop("layer");
}

/* Medians of two cases that take turns, for a second and at least five times. */
static void take_turns(void (*const work[2])(void *), void *const context[2], double seconds[2])
{
	double times[2][BENCH_RUNS], total = 0;
	int n = 0;
	for (int w = 0; w < 2; w++)
		work[w](context[w]);
	for (; n < BENCH_RUNS && (n < 5 || total < 1); n++)
		for (int w = 0; w < 2; w++) {
			double start = npl_clock_seconds();
			work[w](context[w]);
			times[w][n] = npl_clock_seconds() - start;
			total += times[w][n];
		}
	for (int w = 0; w < 2; w++) {
		qsort(times[w], (size_t)n, sizeof times[w][0], bench_order);
		seconds[w] = times[w][n / 2];
	}
}

/* u8 by i8; b lies as weights do (n,k), or as the pixels of a convolution do (k,n). */
struct operands {
	struct npl_tensor a, b, c;
	struct npl_int8_product product;
};

static struct operands operands_of(int64_t m, int64_t n, int64_t k, bool across)
{
	struct operands o = {.a = drawn(across ? NPL_I8 : NPL_U8, npl_shape_of(2, m, k), 1),
			     .b = drawn(NPL_I8, npl_shape_of(2, n, k), 2),
			     .c = drawn(NPL_I32, npl_shape_of(2, m, n), 0)};
	o.product = (struct npl_int8_product){.m = m,
					      .n = n,
					      .k = k,
					      .a = {o.a.data, o.a.dtype, 0, k, 1},
					      .b = {o.b.data, NPL_I8, 0, across ? 1 : k, across ? n : 1},
					      .c = o.c.data,
					      .c_stride = n};
	return o;
}

static void free_operands(struct operands *o)
{
	npl_tensor_free(&o->a);
	npl_tensor_free(&o->b);
	npl_tensor_free(&o->c);
}

static void bench_shape(int64_t m, int64_t n, int64_t k, bool across)
{
	struct operands o = operands_of(m, n, k, across);
	struct npl_int8_product p = o.product;
	char subject[64];
	for (p.kernel = 1; p.kernel <= npl_int8_kernels() + 1; p.kernel++) {
		bool library = p.kernel > npl_int8_kernels();
		if (library && !npl_int8_library(NULL))
			break;
		snprintf(subject, sizeof subject, "%lldx%lldx%lld%s, %s", (long long)m, (long long)n, (long long)k,
			 across ? " pixels" : "", library ? "oneDNN" : npl_int8_kernel_name(p.kernel));
		struct npl_int8_product one = p;
		one.kernel = library ? NPL_INT8_LIBRARY : p.kernel;
		bench_print(subject, (double)(m * n) * (double)k, "GMAC/s", bench_seconds(run_product, &one));
		if (m * n * k > 1 << 28 && p.kernel > 2 && !library)
			p.kernel = npl_int8_kernels(); /* the slow ones have been seen */
	}
	free_operands(&o);
}

/* Times a product by the fastest kernel and by oneDNN, `times` times each. */
static void against_library(int64_t m, int64_t n, int64_t k, bool across, int times, double sum[2])
{
	struct operands o = operands_of(m, n, k, across);
	struct npl_int8_product own = o.product, library = o.product;
	double seconds[2];
	own.kernel = 1;
	library.kernel = NPL_INT8_LIBRARY;
	take_turns((void (*const[2])(void *)){run_product, run_product}, (void *const[2]){&own, &library}, seconds);
	for (int i = 0; i < 2; i++)
		sum[i] += times * seconds[i];
	free_operands(&o);
}

static void print_against_library(const char *subject, double macs, const double seconds[2])
{
	char line[64];
	snprintf(line, sizeof line, "%s, %s", subject, npl_int8_kernel_name(1));
	bench_print(line, macs, "GMAC/s", seconds[0]);
	snprintf(line, sizeof line, "%s, oneDNN", subject);
	bench_print(line, macs, "GMAC/s", seconds[1]);
	printf("%-52s %9.2f times oneDNN's time\n", "", seconds[0] / seconds[1]);
}

static struct npl_device *opened(const char *name, const char *const *set, int n)
{
	struct npl_device *device;
	if (npl_device_open(name, &(struct npl_device_options){.set = set, .n_sets = n}, &device, &err))
		stop(name);
	return device;
}

/* Compares a 2048^3 Gemm on the simulated machine with the product alone. */
static void bench_gemm_ratio(struct npl_device *tpu)
{
	enum { N = 2048 };
	struct operands o = operands_of(N, N, N, false);
	struct npl_tensor y = drawn(NPL_I32, npl_shape_of(2, N, N), 0);
	struct npl_attrs attrs = {.op = NPL_OP_GEMM, .opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	const double macs = (double)N * N * N;
	struct layer_case layer = {tpu,
				   {.name = "gemm",
				    .op = NPL_OP_GEMM,
				    .attrs = &attrs,
				    .n_in = 2,
				    .in = {&o.a, &o.b},
				    .out = &y,
				    .macs = (uint64_t)N * N * N}};
	double seconds[2];
	take_turns((void (*const[2])(void *)){run_product, run_layer}, (void *const[2]){&o.product, &layer}, seconds);
	if (memcmp(y.data, o.c.data, npl_tensor_bytes(&y)))
		stop("the two differ");
	bench_print("2048^3, the best product", macs, "GMAC/s", seconds[0]);
	bench_print("2048^3, tpu_v1 with values", macs, "GMAC/s", seconds[1]);
	printf("%-52s %9.2f times the product alone (at most 1.50)\n", "", seconds[1] / seconds[0]);
	npl_tensor_free(&y);
	free_operands(&o);
}

/* Input channels and size, filters, kernel, stride, how many there are. */
static const int resnet50[][6] = {
	{3, 224, 64, 7, 2, 1},     {64, 56, 64, 1, 1, 1},    {64, 56, 64, 3, 1, 3},    {64, 56, 256, 1, 1, 4},
	{256, 56, 64, 1, 1, 2},    {256, 56, 128, 1, 1, 1},  {128, 56, 128, 3, 2, 1},  {128, 28, 512, 1, 1, 4},
	{256, 56, 512, 1, 2, 1},   {512, 28, 128, 1, 1, 3},  {128, 28, 128, 3, 1, 3},  {512, 28, 256, 1, 1, 1},
	{256, 28, 256, 3, 2, 1},   {256, 14, 1024, 1, 1, 6}, {512, 28, 1024, 1, 2, 1}, {1024, 14, 256, 1, 1, 5},
	{256, 14, 256, 3, 1, 5},   {1024, 14, 512, 1, 1, 1}, {512, 14, 512, 3, 2, 1},  {512, 7, 2048, 1, 1, 3},
	{1024, 14, 2048, 1, 2, 1}, {2048, 7, 512, 1, 1, 2},  {512, 7, 512, 3, 1, 2}};

static int64_t out_size(const int *c)
{
	return (c[1] + 2 * (c[3] / 2) - c[3]) / c[4] + 1;
}

static void bench_against_library(void)
{
	enum { N = 2048 };
	double square[2] = {0}, resnet[2] = {0}, macs = 0;
	if (!npl_int8_library(NULL))
		return;
	against_library(N, N, N, false, 1, square);
	print_against_library("2048^3", (double)N * N * N, square);
	for (size_t i = 0; i < sizeof resnet50 / sizeof *resnet50; i++) {
		const int *c = resnet50[i];
		int64_t k = (int64_t)c[0] * c[3] * c[3], pixels = out_size(c) * out_size(c);
		against_library(c[2], pixels, k, true, c[5], resnet);
		macs += (double)(c[2] * pixels) * (double)k * c[5];
	}
	print_against_library("ResNet-50's products", macs, resnet);
}

static void bench_conv(struct npl_device *const device[2], const int *c, double seconds[2], double *macs)
{
	struct npl_attrs attrs = {.op = NPL_OP_CONV, .opset = 13, .conv.groups = 1};
	int64_t pad = c[3] / 2, out = out_size(c);
	attrs.conv.window = (struct npl_window){.rank = 2,
						.kernel = {c[3], c[3]},
						.stride = {c[4], c[4]},
						.dilation = {1, 1},
						.pad_begin = {pad, pad},
						.pad_end = {pad, pad}};
	struct npl_tensor x = drawn(NPL_U8, npl_shape_of(4, 1, c[0], c[1], c[1]), 1);
	struct npl_tensor w = drawn(NPL_I8, npl_shape_of(4, c[2], c[0], c[3], c[3]), 2);
	struct npl_tensor y = drawn(NPL_U8, npl_shape_of(4, 1, c[2], out, out), 3);
	x.quant.zero_point = 117;
	y.quant = (struct npl_quant){.scale = 10000, .zero_point = 100};
	struct layer_case layer[2];
	for (int d = 0; d < 2; d++)
		layer[d] = (struct layer_case){device[d],
					       {.name = "conv",
						.op = NPL_OP_CONV,
						.attrs = &attrs,
						.activation = NPL_ACT_RELU,
						.n_in = 2,
						.in = {&x, &w},
						.out = &y,
						.macs = (uint64_t)(c[0] * c[2] * c[3] * c[3] * out * out)}};
	take_turns((void (*const[2])(void *)){run_layer, run_layer}, (void *const[2]){&layer[0], &layer[1]}, seconds);
	*macs = (double)layer[0].layer.macs;
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&y);
}

static void bench_resnet(struct npl_device *cpu, struct npl_device *tpu)
{
	double sum[2] = {0}, all_macs = 0;
	for (size_t i = 0; i < sizeof resnet50 / sizeof *resnet50; i++) {
		double seconds[2], macs;
		bench_conv((struct npl_device *const[2]){cpu, tpu}, resnet50[i], seconds, &macs);
		for (int d = 0; d < 2; d++)
			sum[d] += resnet50[i][5] * seconds[d];
		all_macs += resnet50[i][5] * macs;
	}
	bench_print("ResNet-50's convolutions, cpu in int8, 1 thread", all_macs, "GMAC/s", sum[0]);
	bench_print("ResNet-50's convolutions, tpu_v1 with values", all_macs, "GMAC/s", sum[1]);
	printf("%-52s %9.2f times the cpu device (at most 3.00)\n", "", sum[1] / sum[0]);
}

int main(void)
{
	const char *reason = NULL, *library = npl_int8_library(&reason);
	npl_threads_allow(1);
	printf("int8 products, 1 thread; %s\n", library ? library : reason);
	bench_shape(512, 512, 512, false);
	bench_shape(1024, 1024, 1024, false);
	bench_shape(2048, 2048, 2048, false);
	bench_shape(1, 1000, 2048, false);
	bench_shape(8, 2048, 2048, false);
	bench_shape(64, 3136, 576, true);
	bench_shape(256, 196, 1024, true);
	bench_against_library();
	struct npl_device *cpu = opened("cpu", (const char *const[]){"precision=int8", "threads=1"}, 2);
	struct npl_device *tpu = opened("tpu_v1", NULL, 0);
	bench_gemm_ratio(tpu);
	bench_resnet(cpu, tpu);
	npl_device_close(cpu);
	npl_device_close(tpu);
	return 0;
}
