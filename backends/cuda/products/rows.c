/* SPDX-License-Identifier: MIT
 *
 * Gemm (layer.h) in the canonical form: rows times a matrix (N,K) with one bias per column. The frontend brings every
 * product with constant weights, except Conv, into this form. */
#include <string.h>

#include "backends/cuda/load/alignment.h"
#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/integer.h"
#include "layer.h"

static bool integers_take(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (!npl_integer_layer_ok(layer, reason, reason_bytes))
		return false;
	if (!npl_is_byte(layer->in[0]->dtype) || !npl_is_byte(layer->in[1]->dtype))
		return npl_refuse(reason, reason_bytes, "the GPU multiplies integers of 8 bits");
	return npl_is_byte(layer->out->dtype) || layer->out->dtype == NPL_I32 ||
	       npl_refuse(reason, reason_bytes, "its result is neither of 8 nor of 32 bits");
}

bool cu_is_rows(const struct npl_layer *layer)
{
	const struct npl_gemm_attrs *gemm = &layer->attrs->gemm;
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	bool plain = layer->op == NPL_OP_GEMM && gemm->trans_b && !gemm->trans_a && gemm->alpha >= 1 &&
		     gemm->alpha <= 1 && gemm->beta >= 1 && gemm->beta <= 1;
	return plain && (!bias || (npl_tensor_count(bias) == layer->out->shape.dim[1] && bias->shape.rank >= 1 &&
				   bias->shape.dim[bias->shape.rank - 1] == layer->out->shape.dim[1]));
}

bool cu_rows_supports(const struct cu_device *device, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (cu_layer_precision(device, layer) == CU_INT8)
		return integers_take(layer, reason, reason_bytes);
	return cu_is_rows(layer) || cu_stack_supports(layer, reason, reason_bytes);
}

static size_t integer_bytes(int64_t rows, int64_t columns, size_t unit)
{
	return cu_aligned((size_t)rows * (size_t)columns * unit);
}

/* Prepares an integer product. cuBLASLt needs rows of a multiple of 4 sums and at least 4 elements along K; with 16 it
 * can use its faster kernels. */
static int open_integers(struct cu_layer *layer, const bool *resident, struct npl_err *err)
{
	const struct npl_layer *request = layer->layer;
	int64_t rows = request->out->shape.dim[0], n = request->out->shape.dim[1], k = request->in[1]->shape.dim[1];
	int64_t ld = npl_round_up_i64(k ? k : 1, 16), columns = npl_round_up_i64(n, 4);
	const struct cu_product_shape shape = {.operands = NPL_I8,
					       .result = NPL_I32,
					       .m = columns,
					       .n = rows,
					       .k = ld,
					       .ld_a = ld,
					       .ld_b = ld,
					       .ld_d = columns,
					       .transposed_a = true};
	if (cu_weights_plan(layer, resident, n, k, ld, columns, err))
		return err->code;
	layer->conv.flip = request->in[0]->dtype == NPL_U8 ? 0x80 : 0;
	layer->conv.sums_offset = layer->conv.flip || ld != k ? integer_bytes(rows, ld, 1) : 0;
	layer->conv.raw = request->out->dtype == NPL_I32 && request->activation == NPL_ACT_NONE && columns == n &&
			  !(request->n_in > 2 && request->in[2]) && !layer->conv.flip &&
			  !request->in[0]->quant.zero_point;
	layer->scratch_bytes = layer->conv.sums_offset +
			       (layer->conv.raw ? 0 : integer_bytes(rows, columns, sizeof(int32_t)));
	return cu_product_open(&layer->device->blas, &shape, &layer->product[0], err);
}

int cu_rows_open(struct cu_layer *layer, const bool *resident, struct npl_err *err)
{
	const struct npl_layer *request = layer->layer;
	int64_t rows = request->out->shape.dim[0], n = request->out->shape.dim[1], k = request->in[1]->shape.dim[1];
	const enum npl_dtype type = cu_layer_type(layer);
	if (layer->precision == CU_INT8)
		return open_integers(layer, resident, err);
	if (!cu_is_rows(request)) {
		layer->method = CU_METHOD_STACK;
		return cu_stack_open(layer, err);
	}
	if (cu_weights_plan(layer, resident, n, k, k, n, err))
		return err->code;
	if (!k) { /* the result is zeros and the bias */
		return 0;
	}
	const struct cu_product_shape shape = {.operands = type,
					       .result = type,
					       .tf32 = layer->precision == CU_TF32,
					       .m = n,
					       .n = rows,
					       .k = k,
					       .ld_a = k,
					       .ld_b = k,
					       .ld_d = n,
					       .transposed_a = true,
					       .relu = request->activation == NPL_ACT_RELU,
					       .bias = request->n_in > 2 && request->in[2]};
	return cu_product_open(&layer->device->blas, &shape, &layer->product[0], err);
}

static int run_integers(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
			struct npl_err *err)
{
	static const struct npl_window window = {
		.rank = 1, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
	const struct cu_device *d = layer->device;
	const struct npl_layer *request = layer->layer;
	struct cu_product *product = &layer->product[0];
	const int64_t rows = request->out->shape.dim[0], n = request->out->shape.dim[1];
	uint64_t x = in[0].address;
	if (layer->conv.sums_offset) { /* made signed in rows of the padded length, as patches of images of one pixel */
		const struct cu_value view = {.address = x,
					      .dtype = in[0].dtype,
					      .shape = npl_shape_of(3, rows, layer->weights.columns, 1),
					      .channels_last = true};
		const struct npl_shape image = npl_shape_of(3, rows, n, 1);
		const struct cu_patches patches = {.window = &window,
						   .out = &image,
						   .groups = 1,
						   .rows = rows,
						   .row_elements = layer->weights.ld,
						   .flip = (uint32_t)layer->conv.flip};
		if (cu_kernel_im2col(d->kernels, &view, &patches, scratch, d->stream, err))
			return err->code;
		x = scratch;
	}
	const struct cu_value sums = {.address = layer->conv.raw ? out[0].address : scratch + layer->conv.sums_offset,
				      .dtype = NPL_I32,
				      .shape = npl_shape_of(2, rows, n)};
	for (int p = 0; p < layer->weights.parts; p++)
		if (cu_product_run(&d->blas, product, cu_weights_matrix(layer, in, p), x, 0, sums.address, p > 0,
				   d->workspace.address, d->stream, err))
			return err->code;
	if (layer->conv.raw)
		return 0;
	return cu_kernel_sums(d->kernels, &sums, cu_weights_bias(layer, in),
			      layer->weights.address + layer->weights.scale_at, n, 1, n, product->shape.ld_d,
			      request->activation, request->out, out[0].address, d->stream, err);
}

int cu_rows_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	if (layer->precision == CU_INT8)
		return run_integers(layer, in, out, scratch, err);
	if (!layer->product[0].product)
		return cu_product_empty(layer, in, out, err);
	if (cu_product_run(&d->blas, &layer->product[0], cu_weights_matrix(layer, in, 0), in[0].address,
			   cu_weights_bias(layer, in), out[0].address, false, d->workspace.address, d->stream, err))
		return err->code;
	return cu_product_finish(layer, &out[0], err);
}
