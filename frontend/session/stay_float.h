/* SPDX-License-Identifier: MIT
 *
 * Layers that a device of integers could run and that are better left in float32: on the `reference`, whose host has
 * floats, and on devices that also compute in float32. A simulated machine runs what it can; a mask that it adds is
 * clipped to the range that matters (ranges.c), so that its plan does not depend on values. */
#ifndef NPULAB_FRONTEND_SESSION_STAY_FLOAT_H
#define NPULAB_FRONTEND_SESSION_STAY_FLOAT_H

#include "session_impl.h"

/* Sets s->mask_below, the level below which a value's elements are a mask for a Softmax; it stays NULL without ranges.
 * Call it after npl_ranges_open. Returns 0 or NPL_ENOMEM. */
int npl_masks_find(struct npl_session *s, struct npl_err *err);

/* Says whether the range of value v in calibration is so much wider than the part that matters that its scale would be
 * a mask's. */
bool npl_is_masked(const struct npl_session *s, int v);

/* Says whether the step is left in float32; the reason goes to `reason`. Call it for the nodes in their order, because
 * it looks at the steps of the nodes before. */
bool npl_stays_float(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
		     char *reason, size_t reason_bytes);

#endif
