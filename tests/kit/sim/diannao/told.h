/* SPDX-License-Identifier: MIT
 *
 * What DianNao's fast engine tells an observer, compared with what it tells where it skips no repeats. */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_TOLD_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_TOLD_H

#include "sim/diannao/diannao/engine/engine.h"

/* Runs a program with this observer, with or without skipping repeats. False: why it failed, in err. */
typedef bool diannao_run_observed(const void *context, bool skips, const struct sim_observer *observer,
				  struct npl_err *err);
/* Says whether an observer is told the same where repeats are skipped. False: the first difference, in `reason`. */
bool diannao_tells_the_same(diannao_run_observed *run, const void *context, char *reason, size_t reason_bytes);

#endif
