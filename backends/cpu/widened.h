/* SPDX-License-Identifier: MIT
 *
 * Layers whose values are float16 or bfloat16 (npl_layer_widens), computed in float32: their inputs widened, which is
 * exact, their results rounded once to the model's type.
 */
#ifndef NPULAB_BACKENDS_CPU_WIDENED_H
#define NPULAB_BACKENDS_CPU_WIDENED_H

#include "cpu.h"

struct cpu_widened; /* opaque */

/* constants: inputs that have data now are there to stay, with these values. */
int cpu_widened_open(struct cpu_state *cpu, const struct npl_layer *layer, bool constants, struct cpu_widened **opened,
		     struct npl_err *err);
/* The layer with its data, into out[]. */
int cpu_widened_run(struct cpu_state *cpu, struct cpu_widened *w, const struct npl_layer *layer, struct npl_tensor *out,
		    double *seconds, struct npl_err *err);
void cpu_widened_close(struct cpu_widened *w); /* accepts NULL */

/* Opened and run once. */
int cpu_widened_run_alone(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
			  struct npl_err *err);

#endif
