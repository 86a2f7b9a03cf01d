/* SPDX-License-Identifier: MIT
 *
 * The inside of the check of programs: isa.c checks single instructions, check.c checks them against the state
 * that they find, check_memory.c checks the order in memory. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_ISA_CHECK_IMPL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_ISA_CHECK_IMPL_H

#include "check.h"

/* Fails with "SOURCE:LINE: ..." or "SOURCE: instruction I: ...". */
#define dn_refuse(check, ...)                                                                                          \
	sim_refuse((check)->err, (check)->source, &(check)->location, &dn_instruction_set, NULL, __VA_ARGS__)

/* These check the order in memory at this instruction, which is a CP SYNC, a load or a store. */
int dn_order_sync(struct dn_check *check);
int dn_order_load(struct dn_check *check, const struct dn_queue *queue, uint64_t first, uint64_t bytes);
int dn_order_store(struct dn_check *check, uint64_t first, uint64_t bytes);
void dn_order_close(struct dn_memory_order *order);

#endif
