/* SPDX-License-Identifier: MIT
 *
 * The table of operators that kernels run, with the family of each (kernel.h). */

#include "job.h"

static const struct cu_family *const families[NPL_OPS] = {
	[NPL_OP_RELU] = &cu_unary_family,
	[NPL_OP_SIGMOID] = &cu_unary_family,
	[NPL_OP_TANH] = &cu_unary_family,
	[NPL_OP_CLIP] = &cu_unary_family,
	[NPL_OP_LEAKYRELU] = &cu_unary_family,
	[NPL_OP_ELU] = &cu_unary_family,
	[NPL_OP_SELU] = &cu_unary_family,
	[NPL_OP_CELU] = &cu_unary_family,
	[NPL_OP_HARDSIGMOID] = &cu_unary_family,
	[NPL_OP_HARDSWISH] = &cu_unary_family,
	[NPL_OP_SOFTPLUS] = &cu_unary_family,
	[NPL_OP_SOFTSIGN] = &cu_unary_family,
	[NPL_OP_THRESHOLDEDRELU] = &cu_unary_family,
	[NPL_OP_SHRINK] = &cu_unary_family,
	[NPL_OP_ERF] = &cu_unary_family,
	[NPL_OP_SQRT] = &cu_unary_family,
	[NPL_OP_EXP] = &cu_unary_family,
	[NPL_OP_LOG] = &cu_unary_family,
	[NPL_OP_RECIPROCAL] = &cu_unary_family,
	[NPL_OP_SIN] = &cu_unary_family,
	[NPL_OP_COS] = &cu_unary_family,
	[NPL_OP_TAN] = &cu_unary_family,
	[NPL_OP_ASIN] = &cu_unary_family,
	[NPL_OP_ACOS] = &cu_unary_family,
	[NPL_OP_ATAN] = &cu_unary_family,
	[NPL_OP_SINH] = &cu_unary_family,
	[NPL_OP_COSH] = &cu_unary_family,
	[NPL_OP_ASINH] = &cu_unary_family,
	[NPL_OP_ACOSH] = &cu_unary_family,
	[NPL_OP_ATANH] = &cu_unary_family,
	[NPL_OP_FLOOR] = &cu_unary_family,
	[NPL_OP_CEIL] = &cu_unary_family,
	[NPL_OP_ROUND] = &cu_unary_family,
	[NPL_OP_ABS] = &cu_unary_family,
	[NPL_OP_NEG] = &cu_unary_family,
	[NPL_OP_SIGN] = &cu_unary_family,
	[NPL_OP_ISNAN] = &cu_unary_family,
	[NPL_OP_ISINF] = &cu_unary_family,
	[NPL_OP_NOT] = &cu_unary_family,
	[NPL_OP_ADD] = &cu_binary_family,
	[NPL_OP_SUB] = &cu_binary_family,
	[NPL_OP_MUL] = &cu_binary_family,
	[NPL_OP_DIV] = &cu_binary_family,
	[NPL_OP_MOD] = &cu_binary_family,
	[NPL_OP_BITSHIFT] = &cu_binary_family,
	[NPL_OP_EQUAL] = &cu_binary_family,
	[NPL_OP_LESS] = &cu_binary_family,
	[NPL_OP_LESSOREQUAL] = &cu_binary_family,
	[NPL_OP_GREATER] = &cu_binary_family,
	[NPL_OP_GREATEROREQUAL] = &cu_binary_family,
	[NPL_OP_AND] = &cu_binary_family,
	[NPL_OP_OR] = &cu_binary_family,
	[NPL_OP_XOR] = &cu_binary_family,
	[NPL_OP_PRELU] = &cu_binary_family,
	[NPL_OP_POW] = &cu_binary_family,
	[NPL_OP_SUM] = &cu_variadic_family,
	[NPL_OP_MEAN] = &cu_variadic_family,
	[NPL_OP_MIN] = &cu_variadic_family,
	[NPL_OP_MAX] = &cu_variadic_family,
	[NPL_OP_WHERE] = &cu_where_family,
	[NPL_OP_CAST] = &cu_cast_family,
	[NPL_OP_CASTLIKE] = &cu_cast_family,
	[NPL_OP_RESHAPE] = &cu_copy_family,
	[NPL_OP_FLATTEN] = &cu_copy_family,
	[NPL_OP_SQUEEZE] = &cu_copy_family,
	[NPL_OP_UNSQUEEZE] = &cu_copy_family,
	[NPL_OP_IDENTITY] = &cu_copy_family,
	[NPL_OP_DROPOUT] = &cu_copy_family,
	[NPL_OP_TRANSPOSE] = &cu_copy_family,
	[NPL_OP_SLICE] = &cu_copy_family,
	[NPL_OP_SPLIT] = &cu_copy_family,
	[NPL_OP_CONCAT] = &cu_copy_family,
	[NPL_OP_EXPAND] = &cu_copy_family,
	[NPL_OP_TILE] = &cu_copy_family,
	[NPL_OP_DEPTHTOSPACE] = &cu_copy_family,
	[NPL_OP_SPACETODEPTH] = &cu_copy_family,
	[NPL_OP_PAD] = &cu_pad_family,
	[NPL_OP_GATHER] = &cu_gather_family,
	[NPL_OP_GATHERELEMENTS] = &cu_gather_family,
	[NPL_OP_GATHERND] = &cu_gather_family,
	[NPL_OP_MAXPOOL] = &cu_pool_family,
	[NPL_OP_GLOBALMAXPOOL] = &cu_pool_family,
	[NPL_OP_AVERAGEPOOL] = &cu_pool_family,
	[NPL_OP_GLOBALAVERAGEPOOL] = &cu_pool_family,
	[NPL_OP_LPPOOL] = &cu_pool_family,
	[NPL_OP_GLOBALLPPOOL] = &cu_pool_family,
	[NPL_OP_BATCHNORMALIZATION] = &cu_channels_family,
	[NPL_OP_LRN] = &cu_lrn_family,
	[NPL_OP_REDUCESUM] = &cu_reduce_family,
	[NPL_OP_REDUCEMEAN] = &cu_reduce_family,
	[NPL_OP_REDUCEMAX] = &cu_reduce_family,
	[NPL_OP_REDUCEMIN] = &cu_reduce_family,
	[NPL_OP_REDUCEPROD] = &cu_reduce_family,
	[NPL_OP_REDUCEL1] = &cu_reduce_family,
	[NPL_OP_REDUCEL2] = &cu_reduce_family,
	[NPL_OP_REDUCESUMSQUARE] = &cu_reduce_family,
	[NPL_OP_REDUCELOGSUM] = &cu_reduce_family,
	[NPL_OP_REDUCELOGSUMEXP] = &cu_reduce_family,
	[NPL_OP_SOFTMAX] = &cu_softmax_family,
	[NPL_OP_LOGSOFTMAX] = &cu_softmax_family,
	[NPL_OP_HARDMAX] = &cu_softmax_family,
	[NPL_OP_ARGMAX] = &cu_arg_family,
	[NPL_OP_ARGMIN] = &cu_arg_family,
	[NPL_OP_LAYERNORMALIZATION] = &cu_normalise_family,
	[NPL_OP_INSTANCENORMALIZATION] = &cu_normalise_family,
	[NPL_OP_MEANVARIANCENORMALIZATION] = &cu_normalise_family,
	[NPL_OP_LPNORMALIZATION] = &cu_normalise_family,
	[NPL_OP_RESIZE] = &cu_resize_family,
	[NPL_OP_UPSAMPLE] = &cu_resize_family,
	[NPL_OP_ONEHOT] = &cu_onehot_family,
	[NPL_OP_TRILU] = &cu_triangle_family,
	[NPL_OP_REVERSESEQUENCE] = &cu_reverse_family,
	[NPL_OP_CONVTRANSPOSE] = &cu_convtranspose_family,
	[NPL_OP_QUANTIZELINEAR] = &cu_quantise_family,
	[NPL_OP_DEQUANTIZELINEAR] = &cu_quantise_family,
};

const struct cu_family *cu_family_of(enum npl_op op)
{
	return families[op];
}

enum npl_dtype cu_stored(enum npl_dtype declared, enum cu_precision precision)
{
	if (declared != NPL_F32)
		return declared;
	return precision == CU_F16 ? NPL_F16 : precision == CU_BF16 ? NPL_BF16 : NPL_F32;
}

/* Says whether the layer follows the rules for quantised tensors; else its integers are plain numbers. */
static bool is_quantised(const struct npl_layer *layer)
{
	const struct npl_tensor *x = layer->n_in > 0 ? layer->in[0] : NULL;
	return x && x->quant.scale > 0 && (x->dtype == NPL_U8 || x->dtype == NPL_I8 || x->dtype == NPL_I16);
}

/* Says whether the layer converts a whole tensor between floats and the integers that stand for them. */
static bool is_conversion(const struct npl_layer *layer)
{
	return (layer->op == NPL_OP_QUANTIZELINEAR || layer->op == NPL_OP_DEQUANTIZELINEAR) && layer->n_in == 1;
}

bool cu_kernel_supports(const struct npl_layer *layer, enum cu_precision precision, char *reason, size_t reason_bytes)
{
	const struct cu_family *family = families[layer->op];
	if (npl_op_defs[layer->op].flags & NPL_OP_IS_GEMM || !family)
		return npl_refuse(reason, reason_bytes, "there is no GPU kernel for %s", npl_op_defs[layer->op].name);
	if (is_quantised(layer))
		return cu_integer_supports(layer, reason, reason_bytes);
	if (precision == CU_INT8)
		return npl_refuse(reason, reason_bytes,
				  "its input is not a quantised tensor, and the precision is int8");
	for (int k = 0; k < npl_op_defs[layer->op].min_in; k++)
		if (k >= layer->n_in || !layer->in[k])
			return npl_refuse(reason, reason_bytes, "input %d is missing", k);
	if (!family->supports(layer, reason, reason_bytes))
		return false;
	return layer->activation == NPL_ACT_NONE || npl_is_float32_or_half(layer->out->dtype) ||
	       npl_refuse(reason, reason_bytes, "no activation follows integers");
}

bool cu_kernel_reads(const struct npl_layer *layer, int k)
{
	return families[layer->op] && cu_reads(layer, k);
}

enum cu_layouts cu_kernel_layouts(const struct npl_layer *layer)
{
	const struct cu_family *family = families[layer->op];
	const struct npl_attrs *attrs = layer->attrs;
	if (!family)
		return CU_LAYOUT_PLAIN;
	if (is_conversion(layer))
		return CU_LAYOUT_FOLLOWS;
	switch (layer->op) {
	case NPL_OP_TRANSPOSE:
	case NPL_OP_EXPAND:
	case NPL_OP_TILE:
	case NPL_OP_DEPTHTOSPACE:
	case NPL_OP_SPACETODEPTH:
	case NPL_OP_RESHAPE:
	case NPL_OP_FLATTEN:
	case NPL_OP_SQUEEZE:
	case NPL_OP_UNSQUEEZE:
	case NPL_OP_ARGMAX:
	case NPL_OP_ARGMIN:
		return CU_LAYOUT_READS;
	case NPL_OP_GLOBALAVERAGEPOOL:
	case NPL_OP_GLOBALMAXPOOL:
		return layer->n_further ? CU_LAYOUT_PLAIN : CU_LAYOUT_READS;
	case NPL_OP_MAXPOOL: /* the result's indices count in ONNX's order */
		return layer->n_further ? CU_LAYOUT_PLAIN : CU_LAYOUT_FOLLOWS;
	case NPL_OP_BATCHNORMALIZATION:
		return attrs && attrs->norm.per_element ? CU_LAYOUT_PLAIN : CU_LAYOUT_FOLLOWS;
	case NPL_OP_HARDMAX: /* the first of equal elements in ONNX's order is taken */
	case NPL_OP_CONVTRANSPOSE:
	case NPL_OP_QUANTIZELINEAR:
	case NPL_OP_DEQUANTIZELINEAR:
	case NPL_OP_GATHER:
	case NPL_OP_GATHERELEMENTS:
	case NPL_OP_GATHERND:
	case NPL_OP_ONEHOT:
	case NPL_OP_TRILU:
	case NPL_OP_REVERSESEQUENCE:
		return CU_LAYOUT_PLAIN;
	default:
		return family == &cu_reduce_family ? CU_LAYOUT_READS : CU_LAYOUT_FOLLOWS;
	}
}

bool cu_kernel_same_layout(const struct npl_layer *layer, int k)
{
	return npl_shape_equal(&layer->in[k]->shape, &layer->out->shape) ||
	       (k == 0 && families[layer->op] == &cu_pool_family);
}

bool cu_kernel_follows(const struct npl_layer *layer, int k)
{
	return k == 0 || layer->op == NPL_OP_SPLIT;
}

int cu_kernel_run(struct cu_kernels *kernels, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out, void *stream, struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const struct cu_family *family = families[layer->op];
	bool empty = npl_shape_count(&out[0].shape) == 0;
	for (int k = 1; k < npl_layer_outputs(layer); k++)
		empty = empty && npl_shape_count(&out[k].shape) == 0;
	if (empty)
		return 0;
	if (is_conversion(layer))
		return cu_run_conversion(&job, layer, in, out);
	if (is_quantised(layer))
		return cu_integer_run(&job, layer, in, out);
	int rc = family->run(&job, layer, in, out);
	if (!rc && !family->fuses && layer->activation != NPL_ACT_NONE)
		rc = cu_activate(&job, layer->activation, &out[0]);
	return rc;
}
