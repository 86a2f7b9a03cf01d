/* SPDX-License-Identifier: MIT
 *
 * The attribution of a program's cycles to its instructions (docs/exec.md), from what either engine tells an observer.
 *
 * An instruction's cycles begin at its decoding or, if that was earlier, at the end of the instruction before it. They
 * end with the last thing that the instruction causes: its end, the arrival of its loads, or the end of the store that
 * it completes. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_DRIVER_TIMES_H
#define NPULAB_SIM_DIANNAO_DIANNAO_DRIVER_TIMES_H

#include "sim/common/execute.h"
#include "sim/diannao/diannao/engine/engine.h"

enum {
#define DN_TIME(form, constant, ...) DN_TIME_##constant,
#include "times.def"
#undef DN_TIME
	DN_TIME_CLASSES
};
extern const struct npl_cycle_class dn_time_classes[DN_TIME_CLASSES];

extern const struct sim_times dn_times;

/* An instruction whose time is told, and what it does for the open store of results. */
struct dn_timed {
	struct dn_instruction instruction;
	uint64_t result_bytes; /* that it adds to the store; 0: none */
	unsigned result_width; /* bytes of a result */
	bool completes_store;
	uint64_t store_address, store_bytes;
};
/* For on_time: returns what is known of the instruction whose time is told. */
const struct dn_timed *dn_times_timed(const void *state);
/* Where the times were opened without a program: gives each instruction before its event `decoded`, until which it is
 * borrowed. */
void dn_times_fetched(void *state, const struct dn_instruction *instruction);

#endif
