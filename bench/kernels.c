/* SPDX-License-Identifier: MIT
 *
 * How fast the kernels and engines are on this computer: the float reference, the cpu device in float32 and the
 * simulated machines with values. Rates are 1e9 multiply-accumulates per second. */
#include <string.h>

#include "bench.h"
#include "core/number_format.h"
#include "core/op_functions.h"
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

/* One layer on one device, operands drawn as `npulab layer` draws them. */
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

static void fill(struct npl_tensor *t, struct npl_random *random)
{
	if (npl_tensor_alloc(t, &err))
		stop("operands");
	npl_draw(t, random);
}

/* format decides the operands' types; raw int32 results for int8. */
static void bench_layer(const char *device, const char *set, const char *subject, enum npl_op op,
			struct npl_attrs attrs, struct npl_shape x_shape, struct npl_shape w_shape)
{
	struct npl_device_options options = {.set = &set, .n_sets = set ? 1 : 0};
	struct layer_case c = {0};
	struct npl_random random = {.state = 1};
	if (npl_device_open(device, &options, &c.device, &err)) {
		printf("%-52s %s\n", subject, err.msg);
		return;
	}
	enum npl_format format = npl_device_get_info(c.device)->format;
	enum npl_dtype type = npl_format_weight_dtype(format);
	bool is_raw = npl_format_per_channel(format);
	float scale = npl_format_plain_scale(format);
	struct npl_tensor x = {.dtype = type, .shape = x_shape, .quant.scale = scale};
	struct npl_tensor w = {.dtype = type, .shape = w_shape, .quant.scale = scale};
	struct npl_tensor y = {.dtype = type, .quant.scale = scale};
	const struct npl_tensor *in[] = {&x, &w};
	struct npl_tensor fx = x, fw = w;
	fx.dtype = fw.dtype = NPL_F32;
	const struct npl_tensor *plain[] = {&fx, &fw};
	if (npl_op_shape(op, &attrs, plain, 2, &y, 1, &err))
		stop(subject);
	y.dtype = is_raw ? NPL_I32 : type;
	y.quant.scale = is_raw ? 0 : scale;
	fill(&x, &random);
	fill(&w, &random);
	if (npl_tensor_alloc(&y, &err))
		stop(subject);
	c.layer = (struct npl_layer){.name = subject,
				     .op = op,
				     .attrs = &attrs,
				     .n_in = 2,
				     .in = {in[0], in[1]},
				     .out = &y,
				     .macs = npl_op_macs(op, &attrs, plain, 2, &y)};
	bench_print(subject, (double)c.layer.macs, "GMAC/s", bench_seconds(run_layer, &c));
	npl_tensor_free(&x);
	npl_tensor_free(&w);
	npl_tensor_free(&y);
	npl_device_close(c.device);
}

static struct npl_attrs gemm_attrs(void)
{
	return (struct npl_attrs){.op = NPL_OP_GEMM, .opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
}

static struct npl_attrs conv_attrs(int64_t pad)
{
	return (struct npl_attrs){.op = NPL_OP_CONV,
				  .opset = 13,
				  .conv = {.groups = 1,
					   .window = {.rank = 2,
						      .stride = {1, 1},
						      .dilation = {1, 1},
						      .pad_begin = {pad, pad},
						      .pad_end = {pad, pad}}}};
}

int main(void)
{
	struct npl_shape w3x3 = npl_shape_of(4, 64, 64, 3, 3), x56 = npl_shape_of(4, 1, 64, 56, 56);
	struct npl_shape w1x1 = npl_shape_of(4, 256, 1024, 1, 1), x14 = npl_shape_of(4, 1, 1024, 14, 14);
	struct npl_shape g512 = npl_shape_of(2, 512, 512), g1024 = npl_shape_of(2, 1024, 1024);
	npl_threads_allow(1);
	bench_layer("reference", NULL, "reference: gemm 512^3", NPL_OP_GEMM, gemm_attrs(), g512, g512);
	bench_layer("reference", NULL, "reference: conv 3x3 64 -> 64 on 56x56", NPL_OP_CONV, conv_attrs(1), x56, w3x3);
	bench_layer("reference", NULL, "reference: conv 1x1 1024 -> 256 on 14x14", NPL_OP_CONV, conv_attrs(0), x14,
		    w1x1);
	bench_layer("cpu", "threads=1", "cpu: gemm 1024^3, 1 thread", NPL_OP_GEMM, gemm_attrs(), g1024, g1024);
	bench_layer("cpu", NULL, "cpu: gemm 1024^3", NPL_OP_GEMM, gemm_attrs(), g1024, g1024);
	bench_layer("cpu", NULL, "cpu: conv 3x3 64 -> 64 on 56x56", NPL_OP_CONV, conv_attrs(1), x56, w3x3);
	bench_layer("tpu_v1", NULL, "tpu_v1 with values: gemm 1024^3", NPL_OP_GEMM, gemm_attrs(), g1024, g1024);
	bench_layer("tpu_v1", NULL, "tpu_v1 with values: conv 3x3 64 -> 64 on 56x56", NPL_OP_CONV, conv_attrs(1), x56,
		    w3x3);
	bench_layer("diannao", NULL, "diannao with values: gemm 512^3", NPL_OP_GEMM, gemm_attrs(), g512, g512);
	bench_layer("diannao", NULL, "diannao with values: conv 3x3 64 -> 64 on 56x56", NPL_OP_CONV, conv_attrs(1), x56,
		    w3x3);
	return 0;
}
