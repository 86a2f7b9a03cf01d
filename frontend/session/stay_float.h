/* SPDX-License-Identifier: MIT
 *
 * Layers that a device of integers could do, and that are better left in float32: on the `reference`, whose host has
 * floats, and on devices that have them themselves. A simulated machine does what it can; a mask that it adds is
 * clipped to what matters (ranges.c), so that its plan does not depend on values. */
#ifndef NPULAB_FRONTEND_SESSION_STAY_FLOAT_H
#define NPULAB_FRONTEND_SESSION_STAY_FLOAT_H

#include "session_impl.h"

/* Finds the values of which Softmax reads but the upper part: s->matters. After npl_ranges_open. NPL_ENOMEM. */
int npl_masks_find(struct npl_session *s, struct npl_err *err);

/* Whether calibration saw so much more of value v than what matters that its scale would be a mask's. */
bool npl_is_masked(const struct npl_session *s, int v);

/* Whether the step is left in float32, for the reason in why. Nodes are asked in their order. */
bool npl_stays_float(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step, char *why,
		     size_t n);

#endif
