/* SPDX-License-Identifier: MIT
 *
 * Functions that the methods for an 8-bit layer share (layer_impl.h): matrices of its tensors, conversion of sums to
 * results, and claims in the workspace. */
#include "layer_impl.h"
#include <math.h>
#include <stdlib.h>

#include "core/base/dtype.h"

struct npl_int8_matrix npl_int8_matrix_of(const struct npl_tensor *tensor, const void *data, int64_t stride,
					  int64_t k_stride)
{
	return (struct npl_int8_matrix){data, tensor->dtype, tensor->quant.zero_point, stride, k_stride};
}

void npl_int8_finish_by(struct npl_int8_finish *finish, enum npl_activation fused, const struct npl_tensor *y)
{
	finish->zero_point = y->quant.zero_point;
	finish->dtype = y->dtype;
	finish->relu = finish->has_limit = false;
	switch (fused) {
	case NPL_ACT_RELU:
		finish->relu = true;
		break;
	case NPL_ACT_RELU6:
		finish->relu = true;
		finish->has_limit = y->dtype != NPL_I32;
		break;
	case NPL_ACT_NONE:
	case NPL_ACT_SIGMOID: /* refused, like Tanh, by npl_int8_layer_ok and the devices */
	case NPL_ACT_TANH:
		break;
	}
	if (!finish->has_limit)
		return;
	const float limit = rintf(6.0f / y->quant.scale) + (float)y->quant.zero_point,
		    high = (float)npl_dtype_max(y->dtype);
	finish->limit = limit < high ? (int32_t)limit : (int32_t)high;
}

void npl_int8_finish_row(const struct npl_int8_job *job, int32_t *acc, int64_t count, int64_t channel, int step,
			 int64_t index, struct npl_int8_counts *counts)
{
	const struct npl_tensor *y = &job->out;
	struct npl_int8_finish finish = {
		.bias = job->bias ? job->bias + channel : NULL,
		.scale = job->scale ? job->scale + channel : NULL,
		.step = step,
	};
	npl_int8_finish_by(&finish, job->layer->activation, y);
	npl_int8_finish(&finish, acc, count, (uint8_t *)y->data + index * (int64_t)npl_dtype_size(y->dtype), counts);
}

size_t npl_int8_claim(struct npl_int8_job *job, int64_t bytes)
{
	size_t offset = job->claimed;
	job->claimed += ((size_t)bytes + 63) / 64 * 64;
	return offset;
}

size_t npl_int8_claim_weights(struct npl_int8_job *job, int64_t bytes)
{
	size_t offset = job->weights_claimed;
	job->weights_claimed += ((size_t)bytes + 63) / 64 * 64;
	return offset;
}
