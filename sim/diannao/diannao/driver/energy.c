/* SPDX-License-Identifier: MIT
 *
 * Energy as events times a table. The figures on chip are the paper's powers per block (Chen et al., ASPLOS 2014, Table
 * 6) divided by its clock, so that a layer which keeps every block busy draws the paper's 485 mW. They include leakage
 * (1.73 %) and the clock tree, and are charged only while the machine works: it has no static power. They are per
 * byte or lane, so that the energy of another Tn scales with its widths; that is a first-order rule.
 *
 * Memory has its own table (npulab/memory.h). Control, interface and the rest are charged while the NFU waits, too.
 *
 * NBout is charged in every step, as in the paper's power, though it is seldom written. Pooling is charged the power of
 * the whole NFU, though its multipliers rest: the paper does not split that power by stage. */
#include "driver_impl.h"
#include "sim/common/memory_energy.h"

static int memory_energy(const struct npl_memory *memory, const struct dn_outcome *outcome, struct npl_result *result,
			 struct npl_err *err)
{
	static const char *const names[NPL_MEMORY_ENERGIES] = SIM_MEMORY_PARTS("memory");
	const struct dn_counters *counters = &outcome->counters;
	bool known;
	if (sim_memory_energy(result, memory, &outcome->memory, names, SIM_STANDING_PARTS | SIM_UNUSED_PARTS, &known,
			      err))
		return err->code;
	if (known)
		return 0;
	return npl_result_energy_of(result, NPL_OF_MEMORY, "memory", counters->dram_reads + counters->dram_writes, 0,
				    "absent", err);
}

int dn_energy_of(const struct dn_config *config, const struct npl_memory *memory, const struct dn_outcome *outcome,
		 struct npl_result *result, struct npl_err *err)
{
	const struct dn_counters *counters = &outcome->counters;
	const uint64_t row_bytes = (uint64_t)dn_row_bytes(config);
	const struct {
		const char *component;
		uint64_t events;
		double pj;
	} part[] = {
#define DN_ENERGY(member, component, help, events) {component, events, config->member},
#include "sim/diannao/diannao/energies.def"
#undef DN_ENERGY
	};
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (npl_result_energy(result, part[i].component, part[i].events, part[i].pj, config->chip_origin, err))
			return err->code;
	return memory_energy(memory, outcome, result, err);
}
