/* SPDX-License-Identifier: MIT
 *
 * The table of operators that kernels run, with the family of each (kernel.h). */

#include "job.h"

/* ROW(operator, family, layouts): `layouts` is what the family's kernels do for the operator with tensors whose
 * channels are last, enum cu_layouts without its prefix. Some layers of an operator need ONNX's order all the same:
 * is_plain. */
#define ROW(op, family, layouts) [NPL_OP_##op] = {&cu_##family##_family, CU_LAYOUT_##layouts}
static const struct {
	const struct cu_family *family; /* NULL: no kernel runs the operator */
	enum cu_layouts layouts;
} families[NPL_OPS] = {
	ROW(RELU, unary, FOLLOWS),
	ROW(SIGMOID, unary, FOLLOWS),
	ROW(TANH, unary, FOLLOWS),
	ROW(CLIP, unary, FOLLOWS),
	ROW(LEAKYRELU, unary, FOLLOWS),
	ROW(ELU, unary, FOLLOWS),
	ROW(SELU, unary, FOLLOWS),
	ROW(CELU, unary, FOLLOWS),
	ROW(HARDSIGMOID, unary, FOLLOWS),
	ROW(HARDSWISH, unary, FOLLOWS),
	ROW(SOFTPLUS, unary, FOLLOWS),
	ROW(SOFTSIGN, unary, FOLLOWS),
	ROW(THRESHOLDEDRELU, unary, FOLLOWS),
	ROW(SHRINK, unary, FOLLOWS),
	ROW(ERF, unary, FOLLOWS),
	ROW(SQRT, unary, FOLLOWS),
	ROW(EXP, unary, FOLLOWS),
	ROW(LOG, unary, FOLLOWS),
	ROW(RECIPROCAL, unary, FOLLOWS),
	ROW(SIN, unary, FOLLOWS),
	ROW(COS, unary, FOLLOWS),
	ROW(TAN, unary, FOLLOWS),
	ROW(ASIN, unary, FOLLOWS),
	ROW(ACOS, unary, FOLLOWS),
	ROW(ATAN, unary, FOLLOWS),
	ROW(SINH, unary, FOLLOWS),
	ROW(COSH, unary, FOLLOWS),
	ROW(ASINH, unary, FOLLOWS),
	ROW(ACOSH, unary, FOLLOWS),
	ROW(ATANH, unary, FOLLOWS),
	ROW(FLOOR, unary, FOLLOWS),
	ROW(CEIL, unary, FOLLOWS),
	ROW(ROUND, unary, FOLLOWS),
	ROW(ABS, unary, FOLLOWS),
	ROW(NEG, unary, FOLLOWS),
	ROW(SIGN, unary, FOLLOWS),
	ROW(ISNAN, unary, FOLLOWS),
	ROW(ISINF, unary, FOLLOWS),
	ROW(NOT, unary, FOLLOWS),
	ROW(ADD, binary, FOLLOWS),
	ROW(SUB, binary, FOLLOWS),
	ROW(MUL, binary, FOLLOWS),
	ROW(DIV, binary, FOLLOWS),
	ROW(MOD, binary, FOLLOWS),
	ROW(BITSHIFT, binary, FOLLOWS),
	ROW(EQUAL, binary, FOLLOWS),
	ROW(LESS, binary, FOLLOWS),
	ROW(LESSOREQUAL, binary, FOLLOWS),
	ROW(GREATER, binary, FOLLOWS),
	ROW(GREATEROREQUAL, binary, FOLLOWS),
	ROW(AND, binary, FOLLOWS),
	ROW(OR, binary, FOLLOWS),
	ROW(XOR, binary, FOLLOWS),
	ROW(PRELU, binary, FOLLOWS),
	ROW(POW, binary, FOLLOWS),
	ROW(SUM, variadic, FOLLOWS),
	ROW(MEAN, variadic, FOLLOWS),
	ROW(MIN, variadic, FOLLOWS),
	ROW(MAX, variadic, FOLLOWS),
	ROW(WHERE, where, FOLLOWS),
	ROW(CAST, cast, FOLLOWS),
	ROW(CASTLIKE, cast, FOLLOWS),
	ROW(RESHAPE, copy, READS),
	ROW(FLATTEN, copy, READS),
	ROW(SQUEEZE, copy, READS),
	ROW(UNSQUEEZE, copy, READS),
	ROW(IDENTITY, copy, FOLLOWS),
	ROW(DROPOUT, copy, FOLLOWS),
	ROW(TRANSPOSE, copy, READS),
	ROW(SLICE, copy, FOLLOWS),
	ROW(SPLIT, copy, FOLLOWS),
	ROW(CONCAT, copy, FOLLOWS),
	ROW(EXPAND, copy, READS),
	ROW(TILE, copy, READS),
	ROW(DEPTHTOSPACE, copy, READS),
	ROW(SPACETODEPTH, copy, READS),
	ROW(PAD, pad, FOLLOWS),
	ROW(GATHER, gather, PLAIN),
	ROW(GATHERELEMENTS, gather, PLAIN),
	ROW(GATHERND, gather, PLAIN),
	ROW(MAXPOOL, pool, FOLLOWS),
	ROW(GLOBALMAXPOOL, pool, READS),
	ROW(AVERAGEPOOL, pool, FOLLOWS),
	ROW(GLOBALAVERAGEPOOL, pool, READS),
	ROW(LPPOOL, pool, FOLLOWS),
	ROW(GLOBALLPPOOL, pool, FOLLOWS),
	ROW(BATCHNORMALIZATION, channels, FOLLOWS),
	ROW(LRN, lrn, FOLLOWS),
	ROW(REDUCESUM, reduce, READS),
	ROW(REDUCEMEAN, reduce, READS),
	ROW(REDUCEMAX, reduce, READS),
	ROW(REDUCEMIN, reduce, READS),
	ROW(REDUCEPROD, reduce, READS),
	ROW(REDUCEL1, reduce, READS),
	ROW(REDUCEL2, reduce, READS),
	ROW(REDUCESUMSQUARE, reduce, READS),
	ROW(REDUCELOGSUM, reduce, READS),
	ROW(REDUCELOGSUMEXP, reduce, READS),
	ROW(SOFTMAX, softmax, FOLLOWS),
	ROW(LOGSOFTMAX, softmax, FOLLOWS),
	ROW(HARDMAX, softmax, PLAIN), /* the first of equal elements in ONNX's order is taken */
	ROW(ARGMAX, arg, READS),
	ROW(ARGMIN, arg, READS),
	ROW(LAYERNORMALIZATION, normalise, FOLLOWS),
	ROW(INSTANCENORMALIZATION, normalise, FOLLOWS),
	ROW(MEANVARIANCENORMALIZATION, normalise, FOLLOWS),
	ROW(LPNORMALIZATION, normalise, FOLLOWS),
	ROW(RESIZE, resize, FOLLOWS),
	ROW(UPSAMPLE, resize, FOLLOWS),
	ROW(ONEHOT, onehot, PLAIN),
	ROW(TRILU, triangle, PLAIN),
	ROW(REVERSESEQUENCE, reverse, PLAIN),
	ROW(CONVTRANSPOSE, convtranspose, PLAIN),
	ROW(QUANTIZELINEAR, quantise, PLAIN),
	ROW(DEQUANTIZELINEAR, quantise, PLAIN),
};
#undef ROW

const struct cu_family *cu_family_of(enum npl_op op)
{
	return families[op].family;
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
	const struct cu_family *family = families[layer->op].family;
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
	return families[layer->op].family && cu_reads(layer, k);
}

/* Says whether a layer needs ONNX's order though others of its operator do not. */
static bool is_plain(const struct npl_layer *layer)
{
	if (families[layer->op].family == &cu_pool_family)
		return layer->n_further; /* indices of the greatest elements count in ONNX's order */
	return layer->op == NPL_OP_BATCHNORMALIZATION && layer->attrs && layer->attrs->norm.per_element;
}

enum cu_layouts cu_kernel_layouts(const struct npl_layer *layer)
{
	if (!families[layer->op].family)
		return CU_LAYOUT_PLAIN;
	if (is_conversion(layer))
		return CU_LAYOUT_FOLLOWS;
	return is_plain(layer) ? CU_LAYOUT_PLAIN : families[layer->op].layouts;
}

bool cu_kernel_same_layout(const struct npl_layer *layer, int k)
{
	return npl_shape_equal(&layer->in[k]->shape, &layer->out->shape) ||
	       (k == 0 && families[layer->op].family == &cu_pool_family);
}

bool cu_kernel_follows(const struct npl_layer *layer, int k)
{
	return k == 0 || layer->op == NPL_OP_SPLIT;
}

int cu_kernel_run(struct cu_kernels *kernels, const struct npl_layer *layer, const struct cu_value *in,
		  struct cu_value *out, void *stream, struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const struct cu_family *family = families[layer->op].family;
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
