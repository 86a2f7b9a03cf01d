/* SPDX-License-Identifier: MIT
 *
 * The integer rules (docs/integers.md; int8, int8x16) as simple loops. Every device that computes in these formats must
 * give the same results, bit for bit. The loops are not fast, and share no code with faster ones. */
#ifndef NPULAB_CORE_INTEGER_H
#define NPULAB_CORE_INTEGER_H

#include "npulab/device.h"
#include "npulab/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says whether there is a rule for the layer. Returns false, with the reason, for operators without a rule, and for
 * types, scales or zero points that the rule does not take. Tensors need no data. */
bool npl_integer_layer_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes);

struct npl_integer_counts {
	uint64_t saturations; /* values that a saturation changed */
	uint64_t overflows;   /* sums that wrapped: 32 bits do not hold them */
};

/* Computes a layer that is ok into out (its own output, or a tensor like it). Returns NPL_EINPUT for a scale that is
 * not a finite number, or NPL_ENOMEM. counts may be NULL. */
int npl_run_integer(const struct npl_layer *layer, struct npl_tensor *out, struct npl_integer_counts *counts,
		    struct npl_err *err);

/* For a driver's describe(): describes a device of NPL_FORMAT_INT8X16 whose parameter "precision" has the choice
 * int8. */
void npl_describe_int8x16(struct npl_device_info *info);

/* Says whether the rule takes the activation from the table below, at the sums in Q4.12: that is Sigmoid and Tanh. */
bool npl_activation_has_table(enum npl_activation activation);

/* The table of Sigmoid or Tanh has 257 points in Q0.15: point i is the function at (i - 128) / 16. */
#define NPL_FUNCTION_POINTS 257
void npl_function_points(enum npl_activation function, int16_t point[NPL_FUNCTION_POINTS]);
/* Returns the function of q, which is in Q4.12, by linear interpolation, in Q0.15. */
int16_t npl_function_value(const int16_t point[NPL_FUNCTION_POINTS], int16_t q);

#ifdef __cplusplus
}
#endif

#endif
