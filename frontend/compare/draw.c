/* SPDX-License-Identifier: MIT
 *
 * Operands drawn from a seed (draw.h). */
#include "draw.h"

void npl_draw(struct npl_tensor *tensor, struct npl_random *random)
{
	int64_t n = npl_tensor_count(tensor);
	for (int64_t i = 0; i < n; i++) {
		if (tensor->dtype == NPL_F32) {
			((float *)tensor->data)[i] = npl_random_unit(random);
			continue;
		}
		uint64_t bits = npl_random_u64(random);
		if (tensor->dtype == NPL_I16)
			((int16_t *)tensor->data)[i] = (int16_t)(uint16_t)(bits >> 48);
		else
			((uint8_t *)tensor->data)[i] = (uint8_t)(bits >> 56);
	}
}
