/* SPDX-License-Identifier: MIT
 *
 * Random layers with long loops for DianNao's generators, and what the fast engine leaves out of them: one seed is a
 * machine, a memory, a layer and its tiles, run instruction by instruction and with units that are alike left out.
 */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_UNITS_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_UNITS_H

#include "cases.h"
#include "sim/diannao/diannao/generate/impl.h"

#define DIANNAO_NESTS (DN_POOLED_ACROSS + 1)

struct diannao_unit_case {
	struct dn_config config;
	struct dn_case layer_case;
	struct dn_layer layer;
	struct dn_tiles tiles;
};
/* False: the machine cannot do the layer, or no tiles that it asks for fit. */
bool diannao_unit_case_make(struct diannao_unit_case *c, uint64_t seed, const struct dn_config *paper);

/* How often iterations of a loop were skipped, by nest. */
struct diannao_unit_skips {
	int64_t iterations[DIANNAO_NESTS][DN_LOOPS];
	int64_t runs, instructions, n_skipped; /* in the streams; n_skipped of them were not executed */
};
/* Cycles, counters and those of memory are the same. False: the first difference, in `reason`. */
bool diannao_units_of_layer_agree(uint64_t seed, const struct dn_config *paper, struct diannao_unit_skips *skips,
				  char *reason, size_t reason_bytes);

#endif
