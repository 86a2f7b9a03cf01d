/* SPDX-License-Identifier: MIT
 *
 * A convolution of 8-bit tensors with channels last, prepared once and run often. oneDNN computes the sums, which are
 * converted to bytes by the integer rule. Results and saturations are the same as with every other implementation.
 */
#ifndef NPULAB_BACKENDS_CPU_INT8_CONV_H
#define NPULAB_BACKENDS_CPU_INT8_CONV_H

#include "cpu.h"

struct cpu_int8_conv; /* opaque */

/* Says whether the layer may be prepared: u8 by i8, weights with the zero point 0, and no padding unless the input's
 * zero point is 0. */
bool cpu_int8_conv_knows(const struct npl_layer *layer);
/* Prepares a layer for `threads` threads; weights and bias are copied. NPL_EDEVICE: oneDNN cannot run it, or not
 * exactly. */
int cpu_int8_conv_prepare(struct cpu_state *cpu, const struct npl_layer *layer, int threads,
			  struct cpu_int8_conv **new_conv, struct npl_err *err);
/* Computes y from x, both with channels last; adds time and saturations to the result. The data of the layer's tensors
 * is not read. */
int cpu_int8_conv_run(struct cpu_state *cpu, struct cpu_int8_conv *conv, const struct npl_layer *layer, const void *x,
		      void *y, struct npl_result *result, struct npl_err *err);
void cpu_int8_conv_release(struct cpu_int8_conv *conv); /* accepts NULL */

#endif
