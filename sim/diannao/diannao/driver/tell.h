/* SPDX-License-Identifier: MIT
 *
 * Tells a sink (npulab/instruction_sink.h) the instructions of a program that either engine executes, while it does:
 * only those that are under way are held. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_DRIVER_TELL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_DRIVER_TELL_H

#include "npulab/instruction_sink.h"
#include "sim/diannao/diannao/engine/engine.h"

struct dn_teller;

/* Everything is borrowed until the teller is closed. */
struct dn_told {
	const struct npl_instruction_sink *sink;
	const struct sim_observer *observer; /* what the engine tells goes to this one first; NULL: to none */
	const char *layer;                   /* the name of the layer whose program it is; NULL: it is of none */
};

/* Makes a teller, and tells the sink the program. It replaces the stream and the observer of engine_input by its own.
 * Returns 0, NPL_ENOMEM or what the sink returns. */
int dn_teller_open(const struct dn_told *told, struct dn_engine_input *engine_input, struct dn_teller **opened,
		   struct npl_err *err);
/* Says where the results are that stores write: bytes[0] is at address `first` of the machine's memory. NULL: there are
 * no values. */
void dn_teller_results(struct dn_teller *teller, const uint8_t *bytes, uint64_t first);
/* Tells the last instructions and the end, after an execution. Returns 0, NPL_ENOMEM or what the sink returns. */
int dn_teller_end(struct dn_teller *teller, const struct dn_outcome *outcome, struct npl_err *err);
void dn_teller_close(struct dn_teller *teller); /* accepts NULL */

#endif
