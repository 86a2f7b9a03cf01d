/* SPDX-License-Identifier: MIT
 *
 * Facts about a layer that every kind of product needs: the precision in which it is computed, and the type of its
 * numbers. */
#include "layer.h"

#include "core/base/dtype.h"
#include "core/float_layer.h"

bool cu_is_recurrent(enum npl_op op)
{
	return op == NPL_OP_RNN || op == NPL_OP_GRU || op == NPL_OP_LSTM;
}

bool cu_multiplies(const struct npl_layer *layer)
{
	return (npl_op_defs[layer->op].flags & NPL_OP_IS_GEMM) || cu_is_recurrent(layer->op);
}

enum cu_precision cu_layer_precision(const struct cu_device *device, const struct npl_layer *layer)
{
	const struct npl_tensor *x = layer->n_in > 0 ? layer->in[0] : NULL;
	char reason[200];
	if (cu_multiplies(layer) && x && npl_is_half(x->dtype))
		return x->dtype == NPL_F16 ? CU_F16 : CU_BF16;
	return device->precision == CU_INT8 && npl_widened_layer_ok(layer, reason, sizeof reason) ? CU_F32
												  : device->precision;
}

enum npl_dtype cu_layer_type(const struct cu_layer *layer)
{
	return cu_stored(NPL_F32, layer->precision);
}
