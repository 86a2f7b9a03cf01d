/* SPDX-License-Identifier: MIT
 *
 * Makes the energy model of a machine (npulab/energy_model.h) from the machine's description of its components, the
 * tables of tables.h, and a table of figures that were calibrated to the chip.
 *
 * That table, energies/NAME.csv or a user's file, has the columns component, quantity, value, unit, node_nm, volts and
 * origin:
 *
 *     component            quantity  unit
 *     unified buffer read  energy    factor: times the middle of the bottom-up range; or pJ, of an event, at any size
 *     unified buffer       area      factor, or mm2; mm2 each: times the instances of the component
 *     static               power     W/mm2, of the machine's whole area; W; or factor: times the leakage
 *
 * A pJ or mm2 is at the row's node and voltage, and is scaled to the machine's.
 */
#ifndef NPULAB_SIM_ENERGY_MODEL_H
#define NPULAB_SIM_ENERGY_MODEL_H

#include "core/param_members.h"
#include "npulab/energy_model.h"
#include "npulab/result.h"
#include "tables.h"

/* The part of an action's energy that the operands decide. */
enum sim_operands {
	SIM_NO_OPERANDS, /* none that is counted */
	SIM_FACTORS,     /* the multiplication: the first step */
	SIM_WIRES,       /* the wires between the memory's macros and its port */
};

/* Operations of one kind that an event makes. */
struct sim_step {
	const char *component, *action; /* of energies/operations.csv; NULL: no step */
	double count;
};

/* An action as the machine describes it: it makes the steps, and accesses the component's memory. */
struct sim_action {
	const char *energy, *event; /* as in struct npl_action; energy NULL: there is no action */
	struct sim_step step[2];
	enum sim_operands operands;
	double reads, writes; /* of the whole width of the memory, for an event; 1.0 / 256 for a byte of 256 */
	/* The figure of the machine file, which comes before all others; origin "absent" or NULL: there is none. */
	double given_pj;
	const char *given_origin;
};

struct sim_component {
	const char *name;
	struct sim_action action[NPL_MAX_ACTIONS];
	double circuits;        /* how many there are of each step's operation, for the area */
	struct sim_sram memory; /* bytes 0: none */
	double instances;       /* how many there are, where its area goes by that; 0: it does not */
};

#define SIM_ACTIVITY(X) X(SIM_NOT_COUNTED, "not_counted") X(SIM_COUNTED, "counted") X(SIM_SAMPLED, "sampled")

/* What the machine file says of its process. */
struct sim_technology {
	double node_nm; /* 0: unknown, and nothing follows bottom-up */
	double volts;
	const char *table; /* of calibrated figures; "none" */
	enum sim_activity { SIM_ACTIVITY(PARAM_CONSTANT) } activity;
};

/* A power that the machine file gives; origin "absent" or NULL: it gives none. */
struct sim_given_power {
	double watts;
	const char *origin;
};

/* Makes the model; its strings are borrowed from the description and the arena. NPL_EINPUT names file and line of the
 * table where a row is wrong, or a component is unknown. NPL_EUSAGE: the node or the voltage is outside what the tables
 * are fitted to. */
int sim_energy_model(const struct sim_technology *technology, const struct sim_component *components, int n,
		     const struct sim_given_power *static_power, struct npl_arena *arena,
		     struct npl_energy_model *model, struct npl_err *err);

/* Adds so many events of the action that is charged under this name. `activity` is that of the action's operands, 1 for
 * random ones; NAN: it was not counted. Where energies follow from tables and none has the component, nothing is
 * added. */
int sim_charge(const struct npl_energy_model *model, const char *energy, uint64_t events, double activity,
	       struct npl_result *result, struct npl_err *err);
/* Adds the static energy of so many cycles; its origin may be "absent". */
int sim_static_energy(const struct npl_energy_model *model, double clock_hz, uint64_t cycles, struct npl_result *result,
		      struct npl_err *err);

/* Makes the rows of the parameters that are a struct sim_technology (core/param_rows.h). */
#define SIM_TECHNOLOGY(member)                                                                                         \
	CHOICE("activity", member.activity, "not_counted",                                                             \
	       "of operands: zeros and toggling bits, and an energy by them beside the others",                        \
	       SIM_ACTIVITY(PARAM_WORD)),                                                                              \
		NUMBER("technology.node_nm", DOUBLE, member.node_nm, "0", 0, 180, "nm",                                \
		       "of the process; 0: not known, and no energy follows from the tables"),                         \
		NUMBER("technology.volts", DOUBLE, member.volts, "0.9", 0.1, 5, "V", "supply of logic and memories"),  \
		FILE_OR_NAME("energy.table", member.table, "none",                                                     \
			     "figures calibrated to the chip: a name of energies/, or the path of a file",             \
			     "table of energies")

#endif
