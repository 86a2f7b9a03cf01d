/* SPDX-License-Identifier: MIT
 *
 * Finds the layers at which a device loses accuracy: the float32 values of one batch are kept, and the device's values
 * are compared with them. A value that the device does not make by itself (inside a pass, or a view) is not seen. */
#ifndef NPULAB_FRONTEND_QUANTISE_LAYER_NOISE_H
#define NPULAB_FRONTEND_QUANTISE_LAYER_NOISE_H

#include "npulab/compare.h"

struct npl_layer_noise; /* opaque */

/* Opens a judge of the layers of a graph. It keeps at most `bytes` bytes of float32 values; values beyond that are not
 * judged. Returns 0 or NPL_ENOMEM. */
int npl_layer_noise_open(const struct npl_graph *graph, size_t bytes, struct npl_layer_noise **noise,
			 struct npl_err *err);
void npl_layer_noise_close(struct npl_layer_noise *noise); /* accepts NULL */

/* Returns the observer for npl_evaluate_observed, which keeps the values of the reference. */
struct npl_value_observer npl_layer_noise_reference(struct npl_layer_noise *noise);
/* Returns the observer for npl_session_observe, which compares the values of a device with those kept. The call forgets
 * what was seen of the device before. */
struct npl_value_observer npl_layer_noise_device(struct npl_layer_noise *noise);

/* Returns the accuracy of node i over all its results. NAN: none was seen. Exact results have an error of 0 and a ratio
 * of INFINITY. */
struct npl_layer_accuracy npl_layer_noise_of(const struct npl_layer_noise *noise, int i);

#endif
