/* SPDX-License-Identifier: MIT
 *
 * The values of a layer on an analytical device (values.h). */
#include "values.h"

#include <math.h>
#include <string.h>

#include "core/base/half.h"
#include "core/float_layer.h"

/* Returns the nearest number with 10 fraction bits, half to even; infinities and NaNs do not change. */
static float to_tf32(float x)
{
	uint32_t bits;
	if (!isfinite(x))
		return x;
	memcpy(&bits, &x, sizeof bits);
	bits += 0xfffu + (bits >> 13 & 1u);
	bits &= ~UINT32_C(0x1fff);
	memcpy(&x, &bits, sizeof x);
	return x;
}

static void round_all(float *x, int64_t n, enum npl_processor_precision precision)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = precision == NPL_PROCESSOR_F16 ? npl_f16_to_float(npl_f16_of_float(x[i])) : to_tf32(x[i]);
}

static bool rounds_inputs(const struct npl_layer *layer, enum npl_processor_precision precision)
{
	return precision == NPL_PROCESSOR_F16 || (precision == NPL_PROCESSOR_TF32 && layer->macs > 0);
}

int processor_values(const struct npl_layer *layer, enum npl_processor_precision precision, struct npl_err *err)
{
	struct npl_tensor copy[NPL_LAYER_INPUTS] = {{0}};
	struct npl_layer rounded = *layer;
	double wall;
	int rc = npl_float_layer_check(layer, err);
	for (int k = 0; k < layer->n_in && !rc && rounds_inputs(layer, precision); k++) {
		const struct npl_tensor *in = layer->in[k];
		if (!in || in->dtype != NPL_F32)
			continue;
		copy[k] = (struct npl_tensor){.name = in->name, .dtype = in->dtype, .shape = in->shape};
		rc = npl_tensor_alloc(&copy[k], err);
		if (rc)
			break;
		memcpy(copy[k].data, in->data, npl_tensor_bytes(in));
		round_all(copy[k].data, npl_tensor_count(in), precision);
		rounded.in[k] = &copy[k];
	}
	if (!rc)
		rc = npl_run_reference(&rounded, layer->out, &wall, err);
	for (int k = 0; k < npl_layer_outputs(layer) && !rc && precision == NPL_PROCESSOR_F16; k++)
		if (layer->out[k].dtype == NPL_F32)
			round_all(layer->out[k].data, npl_tensor_count(&layer->out[k]), precision);
	for (int k = 0; k < layer->n_in; k++)
		npl_tensor_free(&copy[k]);
	return rc;
}
