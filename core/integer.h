/* SPDX-License-Identifier: MIT
 *
 * The integer rules (docs/integers.md; int8, int8x16) as simple loops: what every device that computes in them must
 * give, bit for bit. Nothing here is fast, and nothing is shared with what is. */
#ifndef NPULAB_CORE_INTEGER_H
#define NPULAB_CORE_INTEGER_H

#include "npulab/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* False, with the reason, for operators without a rule, and for types, scales or zero points that the rule does not
 * take. Data need not be there. */
bool npl_integer_layer_ok(const struct npl_layer *layer, char *why, size_t n);

struct npl_integer_counts {
	uint64_t saturations; /* values that a saturation changed */
	uint64_t overflows;   /* sums that wrapped: 32 bits do not hold them */
};

/* Computes a layer that is ok into out (its own output, or a tensor like it). NPL_EINPUT: a scale that is no number;
 * NPL_ENOMEM. counts may be NULL. */
int npl_run_integer(const struct npl_layer *layer, struct npl_tensor *out, struct npl_integer_counts *counts,
		    struct npl_err *err);

/* The 257 points of the table after Sigmoid and Tanh, in Q0.15: point i is the function at (i - 128) / 16. */
#define NPL_FUNCTION_POINTS 257
void npl_function_points(enum npl_activation function, int16_t point[NPL_FUNCTION_POINTS]);
/* The function of q in Q4.12, by linear interpolation, in Q0.15. */
int16_t npl_function_value(const int16_t point[NPL_FUNCTION_POINTS], int16_t q);

#ifdef __cplusplus
}
#endif

#endif
