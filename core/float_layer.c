/* SPDX-License-Identifier: MIT
 *
 * Functions that devices in float32 share (float_layer.h). */
#include "float_layer.h"

#include "core/activation.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"

static bool is_unquantised(const struct npl_tensor *tensor, const char *role, int index, char *reason,
			   size_t reason_bytes)
{
	if (tensor->quant.scale == 0 && !tensor->quant.channel_scale)
		return true;
	return npl_refuse(reason, reason_bytes, "%s %d is quantised %s; this device computes in float32", role, index,
			  npl_dtype_name(tensor->dtype));
}

bool npl_widened_layer_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_op_def *def = &npl_op_defs[layer->op];
	bool must_be_float = layer->activation != NPL_ACT_NONE || (def->flags & NPL_OP_IS_GEMM);
	for (int i = 0; i < layer->n_in; i++) {
		const struct npl_tensor *in = layer->in[i];
		if (!in)
			continue;
		if (!is_unquantised(in, "input", i, reason, reason_bytes))
			return false;
		if ((def->flags & NPL_OP_IS_GEMM) && !npl_is_float32_or_half(in->dtype))
			return npl_refuse(reason, reason_bytes, "input %d of %s is %s; this device computes in float32",
					  i, def->name, npl_dtype_name(in->dtype));
	}
	if (must_be_float && !npl_is_float32_or_half(layer->out->dtype))
		return npl_refuse(reason, reason_bytes, "the output of %s is %s; this device computes in float32",
				  def->name, npl_dtype_name(layer->out->dtype));
	if (layer->op == NPL_OP_QUANTIZELINEAR && layer->n_in > 1)
		return true; /* the inputs, and perhaps the output, carry scales for the integers */
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		if (!is_unquantised(&layer->out[k], "output", k, reason, reason_bytes))
			return false;
	return true;
}

bool npl_layer_widens(const struct npl_layer *layer)
{
	for (int i = 0; i < layer->n_in; i++)
		if (npl_op_widens(layer->op, layer->in[i]))
			return true;
	return false;
}

int npl_float_layer_check(const struct npl_layer *layer, struct npl_err *err)
{
	for (int i = 0; i < layer->n_in; i++)
		if (layer->in[i] && !layer->in[i]->data && npl_tensor_count(layer->in[i]) > 0)
			return npl_fail(err, NPL_EINTERNAL,
					"input %d has no data; a measured device runs on real operands", i);
	for (int k = 0; k < npl_layer_outputs(layer) && !layer->timing_only; k++)
		if (!layer->out[k].data && npl_tensor_count(&layer->out[k]) > 0)
			return npl_fail(err, NPL_EINTERNAL, "output %d has no data", k);
	return 0;
}

int npl_activate(enum npl_activation fused, struct npl_tensor *out, struct npl_err *err)
{
	const struct npl_tensor *in = out;
	return fused == NPL_ACT_NONE
		       ? 0
		       : npl_op_run(npl_activation_op(fused), npl_activation_attrs(fused), &in, 1, out, 1, err);
}

int npl_run_reference(const struct npl_layer *layer, struct npl_tensor *out, double *seconds, struct npl_err *err)
{
	double begin = npl_clock_seconds();
	int rc = npl_op_run(layer->op, layer->attrs, layer->in, layer->n_in, out, npl_layer_outputs(layer), err);
	if (rc)
		return rc;
	rc = npl_activate(layer->activation, out, err);
	if (rc)
		return rc;
	*seconds = npl_clock_seconds() - begin;
	return 0;
}

int npl_layer_target_open(const struct npl_layer *layer, struct npl_tensor *target, struct npl_err *err)
{
	for (int k = 0; k < npl_layer_outputs(layer); k++) {
		target[k] = layer->out[k];
		target[k].owned = false;
		if (layer->timing_only)
			target[k].data = NULL;
	}
	int rc = 0;
	for (int k = 0; k < npl_layer_outputs(layer) && layer->timing_only && !rc; k++)
		rc = npl_tensor_alloc(&target[k], err);
	return rc;
}

void npl_layer_target_close(const struct npl_layer *layer, struct npl_tensor *target)
{
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		npl_tensor_free(&target[k]);
}
