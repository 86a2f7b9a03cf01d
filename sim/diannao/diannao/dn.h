/* SPDX-License-Identifier: MIT
 *
 * DianNao: Chen et al., "DianNao: A Small-Footprint High-Throughput Accelerator for Ubiquitous Machine-Learning",
 * ASPLOS 2014. Any Tn, buffer sizes and arithmetic by parameters.
 *
 *     memory --> NBin (rows of Tn inputs) --\
 *     memory --> SB (rows of Tn x Tn) --> NFU-1 multiply --> NFU-2 add, max --> NFU-3 segments --> NBout --> memory
 *                                                             ^------- partial sums ----------------/
 *
 * One step of the NFU is one NBin row and one SB row. parameters.def has the parameters, nfu.h the arithmetic of single
 * values. A layer becomes a stream of instructions (isa/) in tiles that fit the buffers, by one of the paper's loop
 * nests (generate/). The instructions run on one of two engines (engine/):
 *
 *     layer -- generate/layer.c --> dn_layer -- generate/ --> instructions --> rtl/: every cycle, every value
 *                                      |                             \-> fast/: from event to event
 *                                      \-- driver/values.c: a layer's values as matrix products, beside the fast engine
 *
 * docs/diannao-isa.md states the machine, docs/machine-diannao.md what is modelled and what is not.
 */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_DN_H
#define NPULAB_SIM_DIANNAO_DIANNAO_DN_H

#include "core/param_members.h"
#include "npulab/device.h"
#include "npulab/memory.h"
#include "sim/energy/model.h"

/* Which part of the computer computes LRN's factor where the machine can. */
#define DN_LRN_BY(X) X(DN_LRN_MACHINE, "machine") X(DN_LRN_HOST, "host")
enum dn_lrn_by { DN_LRN_BY(PARAM_CONSTANT) };

/* The loop nest of layers with sums that the user asks for. */
#define DN_WANTED_NESTS(X)                                                                                             \
	X(DN_WANT_ANY, "any") X(DN_WANT_DOWN, "down") X(DN_WANT_ACROSS, "across") X(DN_WANT_STREAMED, "streamed")
enum dn_wanted_nest { DN_WANTED_NESTS(PARAM_CONSTANT) };

/* What a machine file describes. */
struct dn_config {
#define PARAM_MEMBER_TECHNOLOGY(member) struct sim_technology member;
#define DN_PARAMETER(form, ...)         PARAM_MEMBER_##form(__VA_ARGS__)
#include "parameters.def"
#undef DN_PARAMETER
};
enum {
	DN_CHIP_ENERGIES = 0 /* the number of energies.def's rows */
#define DN_ENERGY(member, ...) +1
#include "energies.def"
#undef DN_ENERGY
};

/* Says whether the activity of operands is counted (activity.def). */
static inline bool dn_counts_activity(const struct dn_config *config)
{
	return config->technology.activity != SIM_NOT_COUNTED;
}

/* The memory that a program works on. It is borrowed, and the engines write it. */
struct dn_memory {
	uint8_t *bytes; /* the bytes from address 0 on; NULL: there are no values */
	uint64_t size;
};

extern const struct npl_param dn_params[];
extern const char dn_size_keys[];
extern const struct npl_former_default dn_former_defaults[];
/* Returns the bytes of a row of NBin and NBout: Tn 16-bit values. */
int64_t dn_row_bytes(const struct dn_config *config);
int64_t dn_sb_row_bytes(const struct dn_config *config);         /* Tn x Tn 16-bit synapses */
int64_t dn_sum_rows(const struct dn_config *config);             /* NBout rows that Tn partial sums take */
int64_t dn_operations_per_cycle(const struct dn_config *config); /* Tn multipliers and Tn - 1 adders, Tn times */

/* Checks what the ranges of single parameters cannot say. NPL_EUSAGE. */
int dn_config_check(const struct dn_config *config, struct npl_err *err);

/* Opens the memory that the preset names. every_cycle: as in struct npl_memory_options, for rtl. NPL_EUSAGE: there is
 * no such memory, or it has no channels to set. NPL_EINPUT: its file is bad. NPL_ENOMEM. */
int dn_memory_open(const struct dn_config *config, bool every_cycle, struct npl_memory **memory, struct npl_err *err);

#endif
