/* SPDX-License-Identifier: MIT
 *
 * Layers of float16 or bfloat16 values (npl_layer_widens), computed in float32: inputs are widened, which is exact, and
 * results are rounded once to the model's type.
 */
#ifndef NPULAB_BACKENDS_CPU_WIDENED_H
#define NPULAB_BACKENDS_CPU_WIDENED_H

#include "cpu.h"

struct cpu_widened; /* opaque */

/* Prepares a layer. `constants` says that inputs which have data now keep these values. */
int cpu_widened_open(struct cpu_state *cpu, const struct npl_layer *layer, bool constants, struct cpu_widened **handle,
		     struct npl_err *err);
/* Runs the layer with its data, into out[]. */
int cpu_widened_run(struct cpu_state *cpu, struct cpu_widened *w, const struct npl_layer *layer, struct npl_tensor *out,
		    double *seconds, struct npl_err *err);
void cpu_widened_close(struct cpu_widened *w); /* accepts NULL */

/* Opens a layer, runs it once and closes it. */
int cpu_widened_run_alone(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
			  struct npl_err *err);

#endif
