/* SPDX-License-Identifier: MIT
 *
 * What the two files of core/integer.h share: elements of integer tensors, and the conversion of a scaled value to a
 * result.
 */
#ifndef NPULAB_CORE_INTEGER_IMPL_H
#define NPULAB_CORE_INTEGER_IMPL_H

#include "integer.h"

/* integer_at returns element i of a tensor of 8, 16 or 32 bits as it is, integer_less_zero less its zero point. */
int32_t integer_at(const struct npl_tensor *t, int64_t i);
int64_t integer_less_zero(const struct npl_tensor *t, int64_t i);
/* Returns all elements less the zero point, to be freed; NULL when memory is short. */
int32_t *integer_elements(const struct npl_tensor *t);
void integer_put(struct npl_tensor *t, int64_t i, int32_t q);

/* How a value in units of `scale` becomes an element of the result, with the fused activation. Values that Relu and
 * Relu6 cut off are not counted as saturations. */
struct integer_finish {
	float scale; /* the y_scale of the rule up to the rounding: 1/4096 where a function table follows */
	enum npl_activation fused;
	enum npl_dtype dtype;
	int32_t zero, relu6; /* relu6: 6 in the result's type */
	float function_scale;
	int16_t point[NPL_FUNCTION_POINTS];
	struct npl_integer_counts *counts;
};
void integer_finish_init(struct integer_finish *finish, enum npl_activation fused, const struct npl_tensor *out,
			 struct npl_integer_counts *counts);
int32_t integer_finish(const struct integer_finish *finish, float value);

#endif
