/* SPDX-License-Identifier: MIT
 *
 * Points that another program chooses: it asks for them in lines of JSON and is told what came of each in another line
 * (explore/evaluate/wire.h). Answers come as points end, and not in the order in which they were asked for. */
#ifndef NPULAB_EXPLORE_ASK_H
#define NPULAB_EXPLORE_ASK_H

#include "sweep.h"

/* Answers the lines of a descriptor on another one until they end and all have been answered. Questions are read while
 * answers wait to be read. A line without "id" has the number of the line, from 0 on. A line that is no request is
 * answered as a failed point, and one of more than a mebibyte ends all. Where there is a store, points are kept in it
 * too, with ids that follow those that are there. Returns NPL_EOUTPUT when answers cannot be written. */
int sweep_answer(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, int input, int output,
		 struct sweep_store *store, const struct sweep_options *options, struct npl_err *err);

#endif
