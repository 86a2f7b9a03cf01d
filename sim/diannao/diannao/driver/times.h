/* SPDX-License-Identifier: MIT
 *
 * What each instruction of a program spends its cycles on (docs/exec.md), of what either engine tells an observer.
 *
 * An instruction's cycles are those from the end of the one before it, if it was decoded later than that, else from its decoding, to the
 * last thing that it brings about: its end, the arrival of its loads, the end of the store that it completes. */
#ifndef DIANNAO_TIMES_H
#define DIANNAO_TIMES_H

#include "npulab/program.h"
#include "sim/diannao/diannao/isa/engine.h"

/* Of the table: the engine's spendings, and what comes before and behind. */
enum { DN_TIME_QUEUED = DN_SPENDINGS, DN_TIME_MEMORY, DN_TIMES };
extern const struct npl_spending dn_spendings[DN_TIMES];

struct dn_times {
	struct npl_instruction_time *time; /* begin: decoded */
	uint64_t *ended;
	int64_t count;
};

/* NPL_ENOMEM. */
int dn_times_open(struct dn_times *times, int64_t count, struct npl_err *err);
void dn_times_event(void *opened, const struct sim_event *event);
void dn_times_span(void *opened, const struct sim_span *span);
/* After a run of so many cycles: the table, the caller's to free. */
struct npl_instruction_time *dn_times_take(struct dn_times *times, uint64_t cycles);
void dn_times_close(struct dn_times *times);

/* Its name and unit. */
void dn_describe(const struct dn_instruction *at, struct npl_instruction *instruction);

#endif
