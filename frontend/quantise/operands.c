/* SPDX-License-Identifier: MIT
 *
 * Scales and zero points among the inputs of a quantised operator (operands.h). */
#include "operands.h"

#include <math.h>
#include <stdio.h>

#include "core/base/refuse.h"

bool npl_is_scale(float scale)
{
	return isfinite(scale) && scale > 0;
}

struct npl_value *npl_operand(const struct npl_operands *operands, int k)
{
	const struct npl_node *node = operands->node;
	const int v = k >= 0 && k < node->n_in ? node->in[k] : -1;
	return v < 0 ? NULL : &operands->graph->value[v];
}

const void *npl_operand_constant(const struct npl_operands *operands, int k, const char *what)
{
	struct npl_value *value = npl_operand(operands, k);
	if (!value->constant) {
		snprintf(operands->why, operands->n, "its %s is computed, not a constant", what);
		return NULL;
	}
	return npl_value_data(operands->graph, value, operands->err);
}

bool npl_operand_zero(const struct npl_operands *operands, int k, const char *what, int32_t *zero)
{
	const struct npl_value *value = npl_operand(operands, k);
	*zero = 0;
	if (!value)
		return true;
	const void *data = npl_operand_constant(operands, k, what);
	int64_t count = npl_shape_count(&value->shape);
	for (int64_t i = 0; data && i < count; i++) {
		int32_t z = value->dtype == NPL_I8 ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
		if (i && z != *zero)
			return npl_refuse(operands->why, operands->n, "its zero points differ from channel to channel");
		*zero = z;
	}
	return data != NULL;
}

/* What ONNX makes of a scale of 0, below 0 or no finite number is for its own arithmetic, in floats. */
bool npl_operand_scale(const struct npl_operands *operands, int k, const char *what, float *scale, const float **each)
{
	const struct npl_value *value = npl_operand(operands, k);
	*scale = 1;
	if (!value)
		return true;
	if (value->dtype != NPL_F32)
		return npl_refuse(operands->why, operands->n, "a scale is not float32");
	const float *data = npl_operand_constant(operands, k, what);
	int64_t count = npl_shape_count(&value->shape);
	if (!data || !count)
		return data && npl_refuse(operands->why, operands->n, "a scale is empty");
	for (int64_t i = 0; i < count; i++)
		if (!npl_is_scale(data[i]))
			return npl_refuse(operands->why, operands->n,
					  "its %s '%.60s' is %g, and the rule on integers takes finite numbers above 0",
					  what, value->name, (double)data[i]);
	*scale = data[0];
	if (count > 1 && !each)
		return npl_refuse(operands->why, operands->n, "its first operand has a scale per row");
	if (count > 1)
		*each = data;
	return true;
}
