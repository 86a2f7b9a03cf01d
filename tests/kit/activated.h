/* SPDX-License-Identifier: MIT
 *
 * What a fused activation makes of a value, in double. */
#ifndef NPULAB_TESTS_KIT_ACTIVATED_H
#define NPULAB_TESTS_KIT_ACTIVATED_H

#include <criterion/criterion.h>
#include <math.h>

#include "npulab/layer.h"

static inline double activated(enum npl_activation fused, double x)
{
	switch (fused) {
	case NPL_ACT_NONE:
		return x;
	case NPL_ACT_RELU:
		return x < 0 ? 0 : x;
	case NPL_ACT_RELU6:
		return x < 0 ? 0 : x > 6 ? 6 : x;
	case NPL_ACT_SIGMOID:
		return 1 / (1 + exp(-x));
	case NPL_ACT_TANH:
		return tanh(x);
	}
	cr_assert_fail("no rule for the activation %d", (int)fused);
	return NAN;
}

#endif
