/* SPDX-License-Identifier: MIT
 *
 * What the devices that run on this computer share: the layers a float32 device takes, and one timed run of an
 * operator's reference kernel.
 */
#ifndef NPULAB_MEASURED_H
#define NPULAB_MEASURED_H

#include "npulab/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* False, with the reason in why, for a layer in another number format than float32 (integers that only pass through
 * an operator, such as shapes, are none). */
bool npl_float_layer_ok(const struct npl_layer *layer, char *why, size_t n);

/* NPL_EINTERNAL when an operand or, unless timing_only, the output has no data. */
int npl_float_layer_check(const struct npl_layer *layer, struct npl_err *err);

/* Runs npl_op_defs[op].run into out and applies the fused activation; seconds is the time of both. */
int npl_run_reference(const struct npl_layer *layer, struct npl_tensor *out, double *seconds, struct npl_err *err);

/* Where the values of a layer go: its own output, or with timing_only a tensor of the same shape, whose data the
 * caller frees with npl_tensor_free. */
int npl_layer_target(const struct npl_layer *layer, struct npl_tensor *target, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
