/* SPDX-License-Identifier: MIT
 *
 * What devices that compute in float32 share: the layers that they take, one timed run of an operator's reference
 * kernel, and where a layer's results go.
 */
#ifndef NPULAB_CORE_FLOAT_LAYER_H
#define NPULAB_CORE_FLOAT_LAYER_H

#include "npulab/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says whether the layer is in float32, or in float16 or bfloat16, which float32 holds. If not, `reason` gets the
 * reason. Integers that only pass through an operator, such as shapes, are accepted. */
bool npl_widened_layer_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes);
/* Says whether the operator computes in float32 and an input is float16 or bfloat16: such inputs come widened to
 * float32, and its results are rounded to the type once. */
bool npl_layer_widens(const struct npl_layer *layer);

/* Returns NPL_EINTERNAL when an operand or, unless timing_only, the output has no data. */
int npl_float_layer_check(const struct npl_layer *layer, struct npl_err *err);

/* Runs the reference kernel into out[], a tensor for each result, and applies the fused activation to the first;
 * seconds is the time of both. */
int npl_run_reference(const struct npl_layer *layer, struct npl_tensor *out, double *seconds, struct npl_err *err);

/* Applies a fused activation in place. */
int npl_activate(enum npl_activation fused, struct npl_tensor *out, struct npl_err *err);

/* Fills target[NPL_MAX_OUTPUTS], the tensors that a layer's values go to: its own results, or with timing_only tensors
 * of the same shapes. The caller closes it, also after an error. */
int npl_layer_target_open(const struct npl_layer *layer, struct npl_tensor *target, struct npl_err *err);
void npl_layer_target_close(const struct npl_layer *layer, struct npl_tensor *target);

#ifdef __cplusplus
}
#endif

#endif
