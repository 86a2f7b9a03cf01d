/* SPDX-License-Identifier: MIT
 *
 * LRN on a device that takes no product of two activations (NPL_LRN_FACTOR, layer.h), in three steps: the host squares
 * x, one multiplication per value; the device makes the factor of the squares; the host multiplies x by it. All three,
 * with the conversions and transfers between them, are the one row of the node. */
#ifndef NPULAB_FRONTEND_SESSION_LRN_H
#define NPULAB_FRONTEND_SESSION_LRN_H

#include "value_store.h"

/* Whether the device of LRN node i, whose plain step is given, is asked for the factor. */
bool npl_lrn_is_split(const struct npl_session *s, int i, const struct npl_step *step);

/* Makes the step that of the factor. False: the device does not take it, for the reason in why. */
bool npl_lrn_plan(const struct npl_session *s, int i, struct npl_step *step, char *why, size_t n);

/* Runs it, charged to the row; *wall grows by the device's time. */
int npl_lrn_run(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err);

#endif
