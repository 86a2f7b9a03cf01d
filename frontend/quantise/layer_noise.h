/* SPDX-License-Identifier: MIT
 *
 * Where a device loses accuracy: the values of one batch in float32 are kept, and what a device makes of each is held
 * against them. A value that the device does not make by itself (inside a pass, or a view) is not seen. */
#ifndef NPULAB_FRONTEND_QUANTISE_LAYER_NOISE_H
#define NPULAB_FRONTEND_QUANTISE_LAYER_NOISE_H

#include "npulab/compare.h"

struct npl_layer_noise; /* opaque */

/* bytes: how much of the float32 values may be kept; what comes beyond is not judged. */
int npl_layer_noise_open(const struct npl_graph *graph, size_t bytes, struct npl_layer_noise **noise,
			 struct npl_err *err);
void npl_layer_noise_close(struct npl_layer_noise *noise); /* accepts NULL */

/* For npl_evaluate_observed: keeps the values of the reference. */
struct npl_value_observer npl_layer_noise_reference(struct npl_layer_noise *noise);
/* For npl_session_observe: looks at the values of a device, forgetting those of the device before. */
struct npl_value_observer npl_layer_noise_device(struct npl_layer_noise *noise);

/* The accuracy of node i's first result. NAN: it was not seen. An exact result has an error of 0 and a ratio of
 * INFINITY. */
struct npl_layer_accuracy npl_layer_noise_of(const struct npl_layer_noise *noise, int i);

#endif
