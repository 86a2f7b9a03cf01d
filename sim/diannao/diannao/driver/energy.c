/* SPDX-License-Identifier: MIT
 *
 * Energy as events times a table (energies.def), and the components of the chip from which the table follows.
 *
 * The calibrated figures (energies/diannao.csv) are the paper's powers per block (Chen et al., ASPLOS 2014, Table 6)
 * over its clock, so that a layer which keeps every block busy draws the paper's 485 mW. They include the clock tree,
 * which no table of operations has. Leakage is apart: it is drawn always.
 *
 * Memory has its own table (npulab/memory.h). Control, interface and the rest are charged while the NFU waits, too.
 *
 * Layers that pool have no products: their energy does not follow the operands of multipliers.
 *
 * NBout is charged in every step, as in the paper's power, though it is seldom written. Pooling is charged the power of
 * the whole NFU, though its multipliers rest: the paper does not split that power by stage. */
#include <math.h>

#include "driver_impl.h"
#include "sim/common/memory_energy.h"

#define MACRO_BITS 256 /* the widest macro of a buffer: SB's rows of 512 bytes are 16 of them */

/* A buffer with a port for reading and one for writing; an event is one byte of a row read, and also written if
 * `writes` is 1. */
#define BUFFER(rows, row_bytes, writes_a_byte)                                                                         \
	.action[0].reads = 1.0 / (double)(row_bytes), .action[0].writes = (writes_a_byte) / (double)(row_bytes),       \
	.memory = {(rows) * (row_bytes), 8 * (row_bytes), MACRO_BITS, 2}
/* The multipliers of the NFU, each with one adder of a tree. */
#define LANES                                                                                                          \
	.circuits = (double)(config->tn * config->tn),                                                                 \
	.action[0].step = {{"int16_multiplier", "multiply", 1},                                                        \
			   {config->sum_bits > 16 ? "int32_adder" : "int16_adder", "add", 1}}
#define NO_TABLE .circuits = 0

int dn_energy_model(const struct dn_config *config, struct npl_arena *arena, struct npl_energy_model *model,
		    struct npl_err *err)
{
	const struct sim_component components[] = {
#define DN_ENERGY(member, component, event, events, activity, ...)                                                     \
	{.name = component,                                                                                            \
	 .action[0] = {component, event, .given_pj = config->member, .given_origin = config->chip_origin},             \
	 __VA_ARGS__},
#include "sim/diannao/diannao/energies.def"
#undef DN_ENERGY
	};
	/* The figures of a machine file include leakage. */
	const struct sim_given_power no_static = {0, config->chip_origin};
	return sim_energy_model(&config->technology, components, DN_CHIP_ENERGIES, &no_static, arena, model, err);
}

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

/* Returns the activity of bits that toggle, 1 where half of them do. */
static double activity_of(uint64_t toggles, uint64_t bits)
{
	return bits ? 2 * (double)toggles / (double)bits : NAN;
}

/* Returns the activity of the multipliers. Of random operands that are both new in each step a partial product is 1 in
 * a quarter of the steps, and so toggles in 2 * 1/4 * 3/4 of them. */
static double multiplier_activity(const struct dn_counters *counters)
{
	const double random_toggles = 256 * 3.0 / 8 * (double)counters->products;
	return counters->products ? (double)counters->partial_product_toggles / random_toggles : NAN;
}

int dn_energy_of(const struct dn_machine *machine, const struct dn_outcome *outcome, bool has_activity,
		 struct npl_result *result, struct npl_err *err)
{
	const struct dn_config *config = machine->config;
	const struct dn_counters *counters = &outcome->counters;
	const uint64_t row_bytes = (uint64_t)dn_row_bytes(config);
	const uint64_t events[DN_CHIP_ENERGIES] = {
#define DN_ENERGY(member, component, event, events, activity, ...) events,
#include "sim/diannao/diannao/energies.def"
#undef DN_ENERGY
	};
	const uint64_t nbin_bits = 8 * row_bytes * counters->nbin_rows, sb_bits = 16 * counters->products;
	const double activity[DN_CHIP_ENERGIES] = {
#define DN_ENERGY(member, component, event, events, activity, ...) activity,
#include "sim/diannao/diannao/energies.def"
#undef DN_ENERGY
	};
	for (int i = 0; i < DN_CHIP_ENERGIES; i++)
		if (sim_charge(&machine->energy, machine->energy.component[i].name, events[i],
			       has_activity ? activity[i] : NAN, result, err))
			return err->code;
	const bool has_static = machine->energy.static_watts > 0 || machine->energy.node_nm > 0;
	if (has_static && sim_static_energy(&machine->energy, (double)config->clock_hz, outcome->cycles, result, err))
		return err->code;
	return memory_energy(machine->memory, outcome, result, err);
}
