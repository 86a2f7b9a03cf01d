/* SPDX-License-Identifier: MIT
 *
 * The values of a layer on an analytical device. */
#ifndef NPULAB_SIM_PROCESSOR_VALUES_H
#define NPULAB_SIM_PROCESSOR_VALUES_H

#include "processor_model.h"

/* Computes the layer by the reference kernels into its outputs. In tf32 operands of products are rounded to 10 fraction
 * bits, in f16 all float32 inputs and results to float16; sums are in float32. NPL_ENOMEM, and what the kernel says. */
int processor_values(const struct npl_layer *layer, enum npl_processor_precision precision, struct npl_err *err);

#endif
