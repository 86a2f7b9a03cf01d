/* SPDX-License-Identifier: MIT
 *
 * Split on a device of integers: each of its results is a Slice for it, in the input's format, and all of them are the
 * one row of the node. Devices that compute in float32 take it as it is. */
#ifndef NPULAB_FRONTEND_SESSION_SPLIT_H
#define NPULAB_FRONTEND_SESSION_SPLIT_H

#include "value_store.h"

/* Whether node i, whose plain step is given, is one for its device. */
bool npl_split_is(const struct npl_session *s, int i, const struct npl_step *step);

/* Makes it the step of these slices. False: the device does not take one of them, for the reason in why. NPL_ENOMEM in
 * err->code. */
bool npl_split_plan(struct npl_session *s, int i, struct npl_step *step, char *why, size_t n, struct npl_err *err);

/* Whether somebody reads result k; the others are not made. */
bool npl_split_read(const struct npl_session *s, int i, int k);

/* Result k of the planned node as a layer, all but its input. The tensor is layer->out. */
void npl_split_layer(const struct npl_session *s, int i, int k, struct npl_tensor *out, struct npl_layer *layer);

/* Runs it, charged to the row; *wall grows by the device's time. */
int npl_split_run(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err);

#endif
