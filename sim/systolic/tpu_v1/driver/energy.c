/* SPDX-License-Identifier: MIT
 *
 * The energy of a layer: counters times the machine's energy model (energies.def), and the components of the chip from
 * which the model follows.
 *
 * The matrix unit costs the same in every cell of an active array, used or padding: weights of zero still move
 * operands. Each row of partial sums is one read and one write of the accumulators: the first tile's writes read
 * nothing, but the Activate reads each row once. Bytes over the host link within the cycles cost as much as bytes over
 * it elsewhere (frontend/session/execute.c). Where no bytes cross, the link has no part in the result, so that a link
 * of unknown energy does not make the layer's energy unknown.
 *
 * Weight memory at command level costs what its commands do (npulab/memory.h); other memories cost a figure for each
 * byte fetched. Standby and refresh are apart or, where the static power was measured with the memory in it, inside the
 * static power.
 *
 * Not modelled, as no table has them for this chip: clock tree and pipeline registers, the activation unit's
 * arithmetic, the weight FIFO, instruction issue, I/O of the weight memory. What was calibrated includes them. */
#include <math.h>
#include <string.h>

#include "driver_impl.h"
#include "sim/common/memory_energy.h"

/* The unified buffer is made of macros of 256 bits. The accumulators are one macro for each column, with a port that
 * reads and one that writes. */
enum { BUFFER_MACRO_BITS = 256, ACCUMULATOR_BITS = 32 };

/* What is charged, and the component that it belongs to. */
struct charge {
	const char *component;
	struct sim_action action;
};

/* Puts the charges into their components. */
static int distribute(const struct charge *charges, size_t n_charges, struct sim_component *components,
		      size_t n_components, struct npl_err *err)
{
	for (size_t i = 0; i < n_charges; i++) {
		size_t c = 0;
		int a = 0;
		while (c < n_components && strcmp(components[c].name, charges[i].component))
			c++;
		while (c < n_components && a < NPL_MAX_ACTIONS && components[c].action[a].energy)
			a++;
		if (c == n_components || a == NPL_MAX_ACTIONS)
			return npl_fail(err, NPL_EINTERNAL, "the energy %s has no component %s with room for it",
					charges[i].action.energy, charges[i].component);
		components[c].action[a] = charges[i].action;
	}
	return 0;
}

int tpu_energy_model(const struct tpu_config *config, struct npl_arena *arena, struct npl_energy_model *model,
		     struct npl_err *err)
{
	const int64_t row_bytes = tpu_row_bytes(config), row_words = config->columns;
	const struct charge charges[] = {
#define TPU_ENERGY(member, key, figure, component, name, text, events, toggles, random_toggles, ...)                   \
	{component,                                                                                                    \
	 {.energy = name,                                                                                              \
	  .event = text,                                                                                               \
	  .given_pj = config->member.pj,                                                                               \
	  .given_origin = config->member.origin,                                                                       \
	  __VA_ARGS__}},
#include "sim/systolic/tpu_v1/energies.def"
#undef TPU_ENERGY
	};
	struct sim_component components[] = {
		{.name = "matrix unit", .circuits = (double)(config->rows * config->columns)},
		{.name = "unified buffer", .memory = {config->buffer_bytes, 8 * row_bytes, BUFFER_MACRO_BITS, 1}},
		{.name = "accumulators",
		 .memory = {config->accumulator_rows * row_words * ACCUMULATOR_BITS / 8, ACCUMULATOR_BITS * row_words,
			    ACCUMULATOR_BITS, 2}},
		{.name = "activation unit", .instances = (double)row_words},
		{.name = "weight memory ports"},
		{.name = "host interface"},
		{.name = "control"},
		{.name = "other"},
	};
	const size_t n = sizeof components / sizeof *components;
	const struct sim_given_power static_power = {config->static_watts, config->static_origin};
	if (distribute(charges, sizeof charges / sizeof *charges, components, n, err))
		return err->code;
	return sim_energy_model(&config->technology, components, (int)n, &static_power, arena, model, err);
}

static int weight_memory_energy(const struct tpu_config *config, const struct npl_memory *weights,
				const struct tpu_counters *counters, struct npl_result *result, struct npl_err *err)
{
	static const char *const names[NPL_MEMORY_ENERGIES] = SIM_MEMORY_PARTS("weight memory");
	const uint64_t access = weights ? npl_memory_info(weights)->access_bytes : 0;
	const struct npl_memory_counters count = {.reads = counters->dram_reads,
						  .read_bytes = access ? counters->dram_reads * access
								       : counters->weight_bytes,
						  .read_commands = counters->dram_reads,
						  .activates = counters->dram_activates,
						  .refreshes = counters->dram_refreshes,
						  .active_rank_cycles = counters->dram_active_cycles,
						  .idle_rank_cycles = counters->dram_idle_cycles};
	const unsigned parts = config->weight_standby == TPU_STANDBY_STATIC ? 0 : SIM_STANDING_PARTS;
	bool known = false;
	if (weights && sim_memory_energy(result, weights, &count, names, parts, &known, err))
		return err->code;
	if (known)
		return 0;
	/* A memory without an energy model must not be charged another memory's energy. */
	return npl_result_energy_of(result, NPL_OF_MEMORY, "weight memory", counters->weight_bytes,
				    weights ? 0 : config->weight_byte.pj,
				    weights ? "absent" : config->weight_byte.origin, err);
}

/* Returns the activity of an action's operands, 1 for random ones. */
static double activity_of(uint64_t toggles, double random_toggles)
{
	return random_toggles > 0 ? (double)toggles / random_toggles : NAN;
}

int tpu_energy_of(const struct tpu_machine *machine, const struct tpu_counters *counters, uint64_t cycles,
		  bool has_activity, struct npl_result *result, struct npl_err *err)
{
	const struct tpu_config *config = &machine->config;
	const uint64_t link_bytes = counters->host_bytes_in + counters->host_bytes_out;
	const uint64_t row_bytes = (uint64_t)tpu_row_bytes(config), row_words = (uint64_t)config->columns;
	const struct {
		const char *energy;
		uint64_t events, toggles;
		double random_toggles; /* of an event */
	} part[] = {
#define TPU_ENERGY(member, key, figure, component, energy, event, events, toggles, random_toggles, ...)                \
	{energy, events, toggles, random_toggles},
#include "sim/systolic/tpu_v1/energies.def"
#undef TPU_ENERGY
	};
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (sim_charge(&machine->energy, part[i].energy, part[i].events,
			       has_activity
				       ? activity_of(part[i].toggles, part[i].random_toggles * (double)part[i].events)
				       : NAN,
			       result, err))
			return err->code;
	if (weight_memory_energy(config, machine->weights, counters, result, err) ||
	    sim_static_energy(&machine->energy, (double)config->clock_hz, cycles, result, err))
		return err->code;
	return link_bytes ? npl_result_energy_of(result, NPL_OF_LINK, NPL_HOST_LINK, link_bytes,
						 config->link.pj_per_byte, config->link.energy_origin, err)
			  : 0;
}
