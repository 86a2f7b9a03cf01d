/* SPDX-License-Identifier: MIT
 *
 * Runs the points of a plan: opens the machine that a point describes, runs the network on it, and gives the figures of
 * a batch. What two points share is made once: a network is imported once for each batch size, and a machine or host
 * that is the same as in the point before stays open.
 * Simulations that are alike are done once (core/memo.h).
 *
 * Without values, a point is one run of a session. With values it is a comparison (npulab/compare.h), in which the
 * samples of the network run in batches. Real devices, whose times are measured, need values.
 *
 *     struct sweep_evaluator *evaluator;
 *     if (sweep_evaluator_open(&plan, &evaluator, &err)) ...
 *     sweep_evaluate(evaluator, &request, &outcome);
 *     sweep_evaluator_close(evaluator);
 *
 * One thread at a time. */
#ifndef NPULAB_EXPLORE_EVALUATE_EVALUATOR_H
#define NPULAB_EXPLORE_EVALUATE_EVALUATOR_H

#include "explore/space/plan.h"
#include "point.h"

struct sweep_evaluator; /* opaque */

/* Opens an evaluator of a plan that has been checked, which must outlive it. Imports each network with the
 * first batch, so that a model that cannot be read is refused here. */
int sweep_evaluator_open(const struct sweep_plan *plan, struct sweep_evaluator **evaluator, struct npl_err *err);
void sweep_evaluator_close(struct sweep_evaluator *evaluator); /* accepts NULL */

/* Runs a point. What goes wrong is said in the outcome, whose layers are the evaluator's until the next call. */
void sweep_evaluate(struct sweep_evaluator *evaluator, const struct sweep_request *request,
		    struct sweep_outcome *outcome);

#endif
