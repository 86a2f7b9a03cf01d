/* SPDX-License-Identifier: MIT
 *
 * The layers of diannao_layers.h. */
#include "diannao_layers.h"
#include "core/op_functions.h"

#include <math.h>

/* clang-format off */
const struct npl_diannao_layer npl_diannao_layers[NPL_DIANNAO_LAYERS] = {
	{"CLASS1", NPL_DIANNAO_CLASS, {.in = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}, .ni = 960, .no = 20}},
	{"CLASS3", NPL_DIANNAO_CLASS, {.in = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}, .ni = 200, .no = 100}},
	{"CONV1", NPL_DIANNAO_CONV, {.in = {375, 500}, .kernel = {9, 9}, .stride = {1, 1}, .ni = 32, .no = 48}},
	{"CONV2*", NPL_DIANNAO_CONV,
	 {.private_kernels = true, .in = {200, 200}, .kernel = {18, 18}, .stride = {1, 1}, .ni = 8, .no = 8}},
	{"CONV3", NPL_DIANNAO_CONV, {.in = {32, 32}, .kernel = {4, 4}, .stride = {1, 1}, .ni = 108, .no = 200}},
	{"CONV4", NPL_DIANNAO_CONV, {.in = {32, 32}, .kernel = {7, 7}, .stride = {1, 1}, .ni = 16, .no = 512}},
	{"CONV5*", NPL_DIANNAO_CONV,
	 {.private_kernels = true, .in = {256, 256}, .kernel = {11, 11}, .stride = {1, 1}, .ni = 256, .no = 384}},
	{"POOL1", NPL_DIANNAO_POOL,
	 {.pools = true, .in = {367, 492}, .kernel = {2, 2}, .stride = {2, 2}, .ni = 12, .no = 12}},
	{"POOL3", NPL_DIANNAO_POOL,
	 {.pools = true, .in = {32, 32}, .kernel = {4, 4}, .stride = {4, 4}, .ni = 100, .no = 100}},
	{"POOL5", NPL_DIANNAO_POOL,
	 {.pools = true, .in = {256, 256}, .kernel = {2, 2}, .stride = {2, 2}, .ni = 256, .no = 256}},
};
/* clang-format on */

static int64_t outputs(const struct npl_simd_layer *shape, int d)
{
	return (shape->in[d] - shape->kernel[d]) / shape->stride[d] + 1;
}

static double positions(const struct npl_simd_layer *shape)
{
	return (double)outputs(shape, 0) * (double)outputs(shape, 1);
}

static double taps(const struct npl_simd_layer *shape)
{
	return (double)shape->kernel[0] * (double)shape->kernel[1];
}

double npl_diannao_operations(const struct npl_diannao_layer *layer)
{
	const struct npl_simd_layer *shape = &layer->shape;
	return positions(shape) * taps(shape) * (double)shape->ni * (shape->pools ? 1 : (double)shape->no);
}

double npl_diannao_ideal(const struct npl_diannao_layer *layer, enum npl_diannao_ideal reading, double tn)
{
	const struct npl_simd_layer *shape = &layer->shape;
	const double rows = ceil((double)shape->ni / tn);
	if (reading == NPL_DIANNAO_OTHER)
		return npl_diannao_operations(layer) / (shape->pools ? tn : tn * tn);
	if (shape->pools)
		return positions(shape) * rows;
	return positions(shape) * taps(shape) * rows * ceil((double)shape->no / tn);
}

/* The layer's operator with its tensors, which have shapes and no data. */
struct operation {
	struct npl_attrs attrs;
	struct npl_tensor x, w, y;
	struct npl_layer layer;
};

static int make_operation(const struct npl_diannao_layer *from, struct operation *operation, struct npl_err *err)
{
	static const enum npl_op ops[] = {[NPL_DIANNAO_CLASS] = NPL_OP_GEMM,
					  [NPL_DIANNAO_CONV] = NPL_OP_CONV,
					  [NPL_DIANNAO_POOL] = NPL_OP_MAXPOOL};
	const struct npl_simd_layer *shape = &from->shape;
	const int64_t *k = shape->kernel;
	const struct npl_window window = {
		.rank = 2, .kernel = {k[0], k[1]}, .stride = {shape->stride[0], shape->stride[1]}, .dilation = {1, 1}};
	int n_in = shape->pools ? 1 : 2;
	*operation = (struct operation){
		.x = {.name = "x",
		      .dtype = NPL_F32,
		      .shape = npl_shape_of(4, 1, shape->ni, shape->in[0], shape->in[1])},
		.w = {.name = "w", .dtype = NPL_F32, .shape = npl_shape_of(4, shape->no, shape->ni, k[0], k[1])},
		.y = {.name = "y"},
	};
	if (from->kind == NPL_DIANNAO_CLASS)
		operation->attrs.gemm = (struct npl_gemm_attrs){.alpha = 1, .beta = 1, .trans_b = true};
	else if (from->kind == NPL_DIANNAO_CONV)
		operation->attrs.conv = (struct npl_conv_attrs){
			.window = window, .groups = 1, .private_kernels = shape->private_kernels};
	else
		operation->attrs.pool.window = window;
	if (shape->private_kernels)
		operation->w.shape.dim[0] *= outputs(shape, 0) * outputs(shape, 1);
	if (from->kind == NPL_DIANNAO_CLASS) {
		operation->x.shape = npl_shape_of(2, 1, shape->ni);
		operation->w.shape = npl_shape_of(2, shape->no, shape->ni);
	}
	const struct npl_tensor *in[] = {&operation->x, &operation->w};
	if (npl_op_shape(ops[from->kind], &operation->attrs, in, n_in, &operation->y, 1, err))
		return npl_prefix(err, "%s", from->name);
	operation->layer = (struct npl_layer){
		.name = from->name,
		.op = ops[from->kind],
		.attrs = &operation->attrs,
		.n_in = n_in,
		.in = {&operation->x, shape->pools ? NULL : &operation->w},
		.out = &operation->y,
		.macs = npl_op_macs(ops[from->kind], &operation->attrs, in, n_in, &operation->y),
		.timing_only = true};
	operation->x.dtype = operation->w.dtype = operation->y.dtype =
		NPL_I16; /* the shape rules are those of floats */
	return 0;
}

int npl_diannao_run(struct npl_device *device, const struct npl_diannao_layer *layer, struct npl_result *result,
		    bool *supported, char *reason, size_t reason_bytes, struct npl_err *err)
{
	struct operation operation;
	*result = (struct npl_result){0};
	if (make_operation(layer, &operation, err))
		return err->code;
	*supported = npl_device_supports(device, &operation.layer, reason, reason_bytes);
	return *supported ? npl_device_run(device, &operation.layer, result, err) : 0;
}
