/* SPDX-License-Identifier: MIT
 *
 * A convolution of 8-bit tensors with channels last, prepared once, run often: oneDNN's sums, brought to bytes by the
 * integer rule. Bits and saturations are those of every other way.
 */
#ifndef NPULAB_BACKENDS_CPU_INT8_CONV_H
#define NPULAB_BACKENDS_CPU_INT8_CONV_H

#include "cpu.h"

struct cpu_int8_conv; /* opaque */

/* Layers that may be prepared: u8 by i8 without a zero point of the weights; one of the input only where nothing is
 * padded. */
bool cpu_int8_conv_knows(const struct npl_layer *layer);
/* For so many threads. Weights and bias are copied. NPL_EDEVICE: not with oneDNN, or not exactly. */
int cpu_int8_conv_prepare(struct cpu_state *cpu, const struct npl_layer *layer, int threads,
			  struct cpu_int8_conv **made, struct npl_err *err);
/* From x to y, both with channels last; adds the time and the saturations. The layer's data is not looked at. */
int cpu_int8_conv_run(struct cpu_state *cpu, struct cpu_int8_conv *conv, const struct npl_layer *layer, const void *x,
		      void *y, struct npl_result *result, struct npl_err *err);
void cpu_int8_conv_release(struct cpu_int8_conv *conv); /* accepts NULL */

#endif
