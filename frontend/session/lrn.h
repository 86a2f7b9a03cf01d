/* SPDX-License-Identifier: MIT
 *
 * LRN on a device that takes no product of two activations (NPL_LRN_FACTOR, layer.h), in three steps: the host squares
 * x, with one multiplication per value; the device computes the factor from the squares; the host multiplies x by the
 * factor. The node's one row holds all three steps, with the conversions and transfers between them. */
#ifndef NPULAB_FRONTEND_SESSION_LRN_H
#define NPULAB_FRONTEND_SESSION_LRN_H

#include "value_store.h"

/* Says whether node i is an LRN whose device is asked for the factor alone. step: the node's plain step. */
bool npl_lrn_is_split(const struct npl_session *s, int i, const struct npl_step *step);

/* Turns the plain step into one that makes the factor. Returns false, with the reason in `reason`, when the device does
 * not take it or the input is a constant. */
bool npl_lrn_plan(const struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes);

/* Runs the three steps and charges them to the row. Adds the wall-clock time of the device's run to *wall. Returns 0 or
 * err->code. */
int npl_lrn_run(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err);

#endif
