/* SPDX-License-Identifier: MIT
 *
 * Split on a device of integers: the device makes each result by a Slice, in the input's format, and all Slices
 * together are the node's one row. Devices that compute in float32 take a Split as it is. */
#ifndef NPULAB_FRONTEND_SESSION_SPLIT_H
#define NPULAB_FRONTEND_SESSION_SPLIT_H

#include "value_store.h"

/* Says whether node i is a Split that its device makes by Slices. step: the node's plain step. */
bool npl_split_is(const struct npl_session *s, int i, const struct npl_step *step);

/* Turns the plain step into one of Slices. Returns false when the device does not take one of them, with the reason in
 * `reason`, or when memory is short, with NPL_ENOMEM in err->code. */
bool npl_split_plan(struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes,
		    struct npl_err *err);

/* Says whether result k of node i is read; other results are not made. */
bool npl_split_read(const struct npl_session *s, int i, int k);

/* Describes result k of the planned node as a layer without its input; *out becomes layer->out. */
void npl_split_layer(const struct npl_session *s, int i, int k, struct npl_tensor *out, struct npl_layer *layer);

/* Runs the Slices and charges them to the row. Adds the wall-clock time of the device's runs to *wall. Returns 0 or
 * err->code. */
int npl_split_run(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err);

#endif
