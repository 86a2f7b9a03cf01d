/* SPDX-License-Identifier: MIT
 *
 * What a modelled machine costs, component by component: the energy of each action, area, leakage. Two answers stand
 * side by side. The bottom-up one follows from tables of operations and memories at the machine's node and voltage, and
 * is a range. The other one is what results charge: calibrated to what was published of the chip, given by the machine
 * file, or else the middle of the bottom-up range. Both follow the sizes that the machine is set to.
 *
 *     const struct npl_energy_model *model = npl_device_energy_model(device);
 *     for (int i = 0; model && i < model->n_components; i++)
 *             printf("%s: %g mm2\n", model->component[i].name, model->component[i].area_mm2);
 */
#ifndef NPULAB_ENERGY_MODEL_H
#define NPULAB_ENERGY_MODEL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npl_device;

/* The least and the greatest of several estimates, and their geometric mean. All NAN: there is none. */
struct npl_estimates {
	double low, middle, high;
};

/* An action of a component. */
struct npl_action {
	const char *energy; /* the component of npl_result.energy that it is charged as: "unified buffer read" */
	const char *event;  /* what is charged: "byte read" */
	double pj;          /* what results charge for an event; NAN: not known */
	const char *origin; /* of pj (result.h) */
	struct npl_estimates bottom_up_pj;
	/* What part of pj follows the activity of the operands, from 0 to 1: that of the multiplication, or that of
	 * the wires between a memory's macros and its port (docs/energy.md, The data matters). */
	double operand_share;
};

#define NPL_MAX_ACTIONS 2
struct npl_component {
	const char *name; /* "unified buffer" */
	int n_actions;
	struct npl_action action[NPL_MAX_ACTIONS];
	double area_mm2;         /* NAN: not known */
	const char *area_origin; /* "calibrated:...", "modelled:bottom-up", or "absent" */
	struct npl_estimates bottom_up_mm2, leakage_watts;
	const char *unknown; /* why nothing follows bottom-up for its memory; NULL: it does, or there is no memory */
};

#define NPL_MAX_COMPONENTS 12
struct npl_energy_model {
	double node_nm, volts; /* 0: the machine does not say */
	const char *table; /* the table of calibrated figures (energies/TABLE.csv, or a path); "none": there is none */
	const char *own_table; /* the rows of a table that is a file of the user's; NULL: it is none */
	int n_components;
	struct npl_component component[NPL_MAX_COMPONENTS];
	double area_mm2;      /* of all components whose area is known; NAN: of none is it */
	bool area_is_partial; /* of some it is not */
	/* What the machine draws at all times. The bottom-up range is the leakage of the memories alone: no table has
	 * that of logic, nor the clock. */
	double static_watts; /* NAN: not known */
	const char *static_origin;
	struct npl_estimates bottom_up_static_watts;
};

/* Returns the model of a device, which lives as long as the device; NULL: it has none. */
const struct npl_energy_model *npl_device_energy_model(const struct npl_device *device);

#ifdef __cplusplus
}
#endif

#endif
