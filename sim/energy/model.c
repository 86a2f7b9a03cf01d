/* SPDX-License-Identifier: MIT
 *
 * Energy models of machines (model.h): first what follows from the tables of operations and memories, then the table
 * that was calibrated to the chip, then what the machine file itself gives. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "impl.h"
#include "npulab/result.h"

#define BOTTOM_UP       "modelled:bottom-up"
#define REFERENCE_VOLTS 0.9 /* at which the figures of memories hold */

static const struct npl_estimates nothing = {0, 0, 0}, unknown = {NAN, NAN, NAN};

/* Adds so many times a range to another. */
static void add(struct npl_estimates *sum, double times, const struct npl_estimates *range)
{
	sum->low += times * range->low;
	sum->middle += times * range->middle;
	sum->high += times * range->high;
}

/* Ho, Mai and Horowitz, "The future of wires", Proceedings of the IEEE 89(4), 2001: the capacitance of a wire changes
 * little from node to node; of the values there, 0.2 to 0.3 pF/mm, this is the middle. */
#define WIRE_PF_PER_MM 0.25

/* Returns the energy of the wires between a memory's macros and its port for an access whose operands are random: half
 * of the bits toggle, and each toggle costs C V^2 / 2. On average a macro is half a side of the memory away. */
static double wires_pj(const struct sim_process *process, const struct sim_component *component,
		       const struct npl_estimates *area_mm2)
{
	const double length_mm = sqrt(area_mm2->middle) / 2, toggles = (double)component->memory.width_bits / 2;
	return toggles * WIRE_PF_PER_MM * length_mm * process->volts * process->volts / 2;
}

/* Computes the share of an action's energy that follows its operands. The wires to the port are beside what the tables
 * say of the macros, so that their share is of both together. */
static int find_operand_share(const struct sim_energy_tables *tables, const struct sim_process *process,
			      const struct sim_component *component, const struct sim_action *action,
			      struct npl_component *model, struct npl_action *estimate, struct npl_err *err)
{
	struct npl_estimates multiply;
	const double whole_pj = estimate->bottom_up_pj.middle;
	if (!(whole_pj > 0))
		return 0;
	if (action->operands == SIM_FACTORS) {
		if (sim_operation_pj(tables, action->step[0].component, action->step[0].action, process, &multiply,
				     err))
			return err->code;
		estimate->operand_share = action->step[0].count * multiply.middle / whole_pj;
	} else if (action->operands == SIM_WIRES) {
		const double wires = (action->reads + action->writes) *
				     wires_pj(process, component, &model->bottom_up_mm2);
		estimate->operand_share = wires / (whole_pj + wires);
	}
	return 0;
}

static int add_steps(const struct sim_energy_tables *tables, const struct sim_process *process,
		     const struct sim_action *action, struct npl_estimates *pj, struct npl_err *err)
{
	struct npl_estimates step_pj;
	for (const struct sim_step *s = action->step; s < action->step + 2 && s->component; s++) {
		if (sim_operation_pj(tables, s->component, s->action, process, &step_pj, err))
			return err->code;
		add(pj, s->count, &step_pj);
	}
	return 0;
}

/* Computes the area of the circuits of an action's steps. */
static int add_circuits(const struct sim_energy_tables *tables, double node_nm, const struct sim_component *component,
			const struct sim_action *action, struct npl_estimates *mm2, struct npl_err *err)
{
	struct npl_estimates um2;
	for (const struct sim_step *s = action->step; s < action->step + 2 && s->component; s++) {
		if (sim_operation_area(tables, s->component, s->action, node_nm, &um2, err))
			return err->code;
		add(mm2, component->circuits * s->count * 1e-6, &um2);
	}
	return 0;
}

/* Returns the figures of a component's memory at the machine's node and voltage. A memory that the tables do not cover
 * is no error: the component's figures are unknown, and `model` says why. */
static bool memory_figures(const struct sim_energy_tables *tables, const struct sim_process *process,
			   const struct sim_component *component, struct sim_sram_figures *figures,
			   struct npl_arena *arena, struct npl_component *model)
{
	struct npl_estimates factor;
	struct npl_err err = {0};
	if (sim_sram_figures_of(tables, &component->memory, process->node_nm, figures, &err) ||
	    sim_scale_energy(tables, &(struct sim_process){process->node_nm, REFERENCE_VOLTS}, process, &factor,
			     &err)) {
		model->unknown = npl_arena_strdup(arena, err.msg);
		return false;
	}
	for (int i = 0; i < 2; i++) {
		struct npl_estimates *pj = i ? &figures->write_pj : &figures->read_pj;
		*pj = (struct npl_estimates){pj->low * factor.low, pj->middle * factor.middle, pj->high * factor.high};
	}
	return true;
}

/* Makes a component's bottom-up figures. */
static int estimate(const struct sim_energy_tables *tables, const struct sim_process *process,
		    const struct sim_component *component, struct npl_arena *arena, struct npl_component *model,
		    struct npl_err *err)
{
	struct sim_sram_figures figures;
	const bool has_memory = component->memory.bytes > 0;
	const bool known = !has_memory || memory_figures(tables, process, component, &figures, arena, model);
	bool has_logic = false;
	struct npl_estimates mm2 = nothing;
	for (int i = 0; i < model->n_actions; i++) {
		const struct sim_action *action = &component->action[i];
		struct npl_estimates pj = nothing;
		if (add_steps(tables, process, action, &pj, err) ||
		    add_circuits(tables, process->node_nm, component, action, &mm2, err))
			return err->code;
		if (has_memory && known) {
			add(&pj, action->reads, &figures.read_pj);
			add(&pj, action->writes, &figures.write_pj);
		}
		has_logic |= action->step[0].component != NULL;
		if (known && (has_memory || action->step[0].component))
			model->action[i].bottom_up_pj = pj;
	}
	if (has_memory && known) {
		add(&mm2, 1, &figures.area_mm2);
		model->leakage_watts = figures.leakage_w;
	}
	if (known && (has_memory || has_logic))
		model->bottom_up_mm2 = mm2;
	for (int i = 0; i < model->n_actions; i++)
		if (find_operand_share(tables, process, component, &component->action[i], model, &model->action[i],
				       err))
			return err->code;
	return 0;
}

static void describe(const struct sim_component *component, struct npl_component *model)
{
	*model = (struct npl_component){.name = component->name,
					.area_mm2 = NAN,
					.area_origin = "absent",
					.bottom_up_mm2 = unknown,
					.leakage_watts = nothing};
	for (int i = 0; i < NPL_MAX_ACTIONS && component->action[i].energy; i++)
		model->action[model->n_actions++] = (struct npl_action){.energy = component->action[i].energy,
									.event = component->action[i].event,
									.pj = NAN,
									.origin = "absent",
									.bottom_up_pj = unknown};
}

/* What is charged where nothing else says it: the middle of the bottom-up range. */
static void take_bottom_up(struct npl_component *component)
{
	for (int i = 0; i < component->n_actions; i++) {
		struct npl_action *action = &component->action[i];
		if (!isnan(action->bottom_up_pj.middle)) {
			action->pj = action->bottom_up_pj.middle;
			action->origin = BOTTOM_UP;
		}
	}
	if (!isnan(component->bottom_up_mm2.middle)) {
		component->area_mm2 = component->bottom_up_mm2.middle;
		component->area_origin = BOTTOM_UP;
	}
}

/* Where a row's figure goes, and what a factor multiplies. */
struct target {
	double *value;
	const char **origin;
	double base;           /* NAN: there is nothing that a factor could multiply, */
	bool is_outside;       /* because the tables do not cover the component's memory, or the machine's node */
	const char *unit;      /* of an absolute figure */
	const char *rate_unit; /* of a figure that `rate_base` multiplies; NULL: there is none */
	double rate_base;
};

static bool find_action(struct npl_component *component, bool has_process, const char *energy, struct target *target)
{
	for (int i = 0; i < component->n_actions; i++) {
		struct npl_action *action = &component->action[i];
		if (strcmp(energy, action->energy) != 0)
			continue;
		*target = (struct target){&action->pj,
					  &action->origin,
					  action->bottom_up_pj.middle,
					  component->unknown || !has_process,
					  "pJ",
					  NULL,
					  0};
		return true;
	}
	return false;
}

static bool find_target(const struct sim_calibration *row, const struct sim_component *components,
			struct npl_energy_model *model, struct target *target)
{
	for (int c = 0; c < model->n_components; c++) {
		struct npl_component *component = &model->component[c];
		const bool has_process = model->node_nm > 0;
		if (!strcmp(row->quantity, "energy") && find_action(component, has_process, row->component, target))
			return true;
		if (strcmp(row->quantity, "area") || strcmp(row->component, component->name))
			continue;
		*target = (struct target){&component->area_mm2,
					  &component->area_origin,
					  component->bottom_up_mm2.middle,
					  component->unknown || !has_process,
					  "mm2",
					  components[c].instances > 0 ? "mm2 each" : NULL,
					  components[c].instances};
		return true;
	}
	if (strcmp(row->component, "static") || strcmp(row->quantity, "power"))
		return false;
	*target = (struct target){
		&model->static_watts, &model->static_origin, model->bottom_up_static_watts.middle, true, "W", "W/mm2",
		model->area_mm2};
	return true;
}

/* Refuses a row whose component or quantity the machine does not have. */
static int refuse_row(const struct sim_calibration *row, const struct npl_energy_model *model, struct npl_err *err)
{
	static const char *const quantities[] = {"energy", "area", "power"};
	const char *names[NPL_MAX_COMPONENTS * (NPL_MAX_ACTIONS + 1)];
	int n = 0, q = 0;
	while (q < 3 && strcmp(row->quantity, quantities[q]))
		q++;
	if (q == 3)
		return npl_fail(err, NPL_EINPUT, "%s:%d: quantity is '%s'%s", row->path, row->line, row->quantity,
				NPL_NEAREST(row->quantity, quantities, 3));
	for (int c = 0; c < model->n_components && q == 1; c++)
		names[n++] = model->component[c].name;
	for (int c = 0; c < model->n_components && q == 0; c++)
		for (int i = 0; i < model->component[c].n_actions; i++)
			names[n++] = model->component[c].action[i].energy;
	if (q == 2)
		names[n++] = "static";
	return npl_fail(err, NPL_EINPUT, "%s:%d: component is '%s', of which the machine has no %s%s", row->path,
			row->line, row->component, row->quantity, NPL_NEAREST(row->component, names, n));
}

/* Computes what an absolute figure is multiplied with, as the machine's process may not be the table's. Powers stay as
 * they are: no table says how they scale. */
static int scale_of(const struct sim_calibration *row, const struct npl_energy_model *model, double *scale,
		    struct npl_err *err)
{
	const struct sim_process process = {model->node_nm, model->volts};
	struct npl_estimates energy = {0};
	*scale = 1;
	if (!(process.node_nm > 0) || *row->unit == 'W')
		return 0;
	const struct sim_energy_tables *tables = sim_shipped_tables(err);
	if (!tables)
		return err->code;
	const bool is_energy = !strcmp(row->unit, "pJ");
	if (is_energy ? sim_scale_energy(tables, &row->process, &process, &energy, err)
		      : sim_scale_area(tables, row->process.node_nm, process.node_nm, scale, err))
		return npl_prefix(err, "%s:%d", row->path, row->line);
	*scale = is_energy ? energy.middle : *scale;
	return 0;
}

static int take_row(const struct sim_calibration *row, const struct sim_component *components,
		    struct npl_energy_model *model, struct npl_err *err)
{
	struct target target;
	double times;
	if (!find_target(row, components, model, &target))
		return refuse_row(row, model, err);
	if (!npl_origin_ok(row->origin) || npl_origin_is_absent(row->origin))
		return npl_fail(err, NPL_EINPUT,
				"%s:%d: origin is '%s', expected calibrated:... or modelled:..., as in machine files",
				row->path, row->line, row->origin);
	if (!strcmp(row->unit, "factor") && isnan(target.base) && !target.is_outside)
		return npl_fail(err, NPL_EINPUT,
				"%s:%d: no table has the %s of %s, so that a factor has no meaning; "
				"expected %s",
				row->path, row->line, row->quantity, row->component, target.unit);
	if (!strcmp(row->unit, "factor"))
		times = target.base;
	else if (strcmp(row->unit, target.unit) && (!target.rate_unit || strcmp(row->unit, target.rate_unit)))
		return npl_fail(err, NPL_EINPUT, "%s:%d: unit is '%s', expected factor or %s%s%s", row->path, row->line,
				row->unit, target.unit, target.rate_unit ? " or " : "",
				target.rate_unit ? target.rate_unit : "");
	else if (scale_of(row, model, &times, err))
		return err->code;
	else if (strcmp(row->unit, target.unit))
		times *= target.rate_base;
	*target.value = row->value * times;
	if (isinf(*target.value))
		return npl_fail(err, NPL_EINPUT, "%s:%d: %g %s is too large", row->path, row->line, row->value,
				row->unit);
	*target.origin = isnan(*target.value) ? "absent" : row->origin;
	return 0;
}

static double sum_areas(const struct npl_energy_model *model)
{
	double mm2 = NAN;
	for (int c = 0; c < model->n_components; c++)
		if (!isnan(model->component[c].area_mm2))
			mm2 = model->component[c].area_mm2 + (isnan(mm2) ? 0 : mm2);
	return mm2;
}

/* Returns the rows of a table as text. NULL: out of memory. */
static const char *rows_text(const struct sim_calibration *rows, int n, struct npl_arena *arena)
{
	enum { NUMBERS = 120 }; /* characters of the numbers, commas and the line's end at most */
	size_t room = 1, used = 0;
	for (int i = 0; i < n; i++)
		room += strlen(rows[i].component) + strlen(rows[i].quantity) + strlen(rows[i].unit) +
			strlen(rows[i].origin) + NUMBERS;
	char *text = npl_arena_alloc(arena, room);
	for (int i = 0; i < n && text; i++)
		used += (size_t)snprintf(text + used, room - used, "%s,%s,%.17g,%s,%.17g,%.17g,%s\n", rows[i].component,
					 rows[i].quantity, rows[i].value, rows[i].unit, rows[i].process.node_nm,
					 rows[i].process.volts, rows[i].origin);
	return text;
}

/* Refuses a table that has a figure twice. */
static int refuse_doubles(const struct sim_calibration *rows, int n, struct npl_err *err)
{
	for (int i = 1; i < n; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(rows[i].component, rows[k].component) &&
			    !strcmp(rows[i].quantity, rows[k].quantity))
				return npl_fail(err, NPL_EINPUT, "%s:%d: the %s of %s is in line %d, too", rows[i].path,
						rows[i].line, rows[i].quantity, rows[i].component, rows[k].line);
	return 0;
}

/* Takes the table of calibrated figures. Areas come first, as the static power may follow from their sum. */
static int calibrate(const char *table, const struct sim_component *components, struct npl_arena *arena,
		     struct npl_energy_model *model, struct npl_err *err)
{
	struct sim_calibration *rows;
	int n;
	if (!strcmp(table, "none"))
		return 0;
	if (sim_calibrations_load(table, arena, &rows, &n, err))
		return npl_prefix(err, "energy.table");
	if (refuse_doubles(rows, n, err))
		return err->code;
	if (sim_table_is_path(table) && !(model->own_table = rows_text(rows, n, arena)))
		return npl_no_memory(err);
	for (int i = 0; i < n; i++)
		if (!strcmp(rows[i].quantity, "area") && take_row(&rows[i], components, model, err))
			return err->code;
	model->area_mm2 = sum_areas(model);
	for (int i = 0; i < n; i++)
		if (strcmp(rows[i].quantity, "area") && take_row(&rows[i], components, model, err))
			return err->code;
	return 0;
}

/* Takes the figures that the machine file gives. */
static void take_given(const struct sim_component *components, const struct sim_given_power *static_power,
		       struct npl_energy_model *model)
{
	for (int c = 0; c < model->n_components; c++)
		for (int i = 0; i < model->component[c].n_actions; i++) {
			const struct sim_action *action = &components[c].action[i];
			if (!action->given_origin || npl_origin_is_absent(action->given_origin))
				continue;
			model->component[c].action[i].pj = action->given_pj;
			model->component[c].action[i].origin = action->given_origin;
		}
	if (static_power->origin && !npl_origin_is_absent(static_power->origin)) {
		model->static_watts = static_power->watts;
		model->static_origin = static_power->origin;
	}
}

/* Makes what follows from the tables of operations and memories. */
static int estimate_all(const struct sim_process *process, const struct sim_component *components,
			struct npl_arena *arena, struct npl_energy_model *model, struct npl_err *err)
{
	const struct sim_energy_tables *tables = sim_shipped_tables(err);
	struct npl_estimates factor;
	if (!tables)
		return err->code;
	if (sim_scale_energy(tables, process, process, &factor, err)) {
		npl_prefix(err, "technology.node_nm, technology.volts");
		return npl_blame_settings(err, "technology", "node_nm volts");
	}
	model->bottom_up_static_watts = nothing;
	for (int c = 0; c < model->n_components; c++) {
		if (estimate(tables, process, &components[c], arena, &model->component[c], err))
			return err->code;
		take_bottom_up(&model->component[c]);
		add(&model->bottom_up_static_watts, 1, &model->component[c].leakage_watts);
	}
	model->static_watts = model->bottom_up_static_watts.middle;
	model->static_origin = BOTTOM_UP;
	return 0;
}

int sim_energy_model(const struct sim_technology *technology, const struct sim_component *components, int n,
		     const struct sim_given_power *static_power, struct npl_arena *arena,
		     struct npl_energy_model *model, struct npl_err *err)
{
	const bool has_process = technology->node_nm > 0;
	const struct sim_process process = {technology->node_nm, technology->volts};
	*model = (struct npl_energy_model){.node_nm = has_process ? technology->node_nm : 0,
					   .volts = has_process ? technology->volts : 0,
					   .table = technology->table ? technology->table : "none",
					   .n_components = n,
					   .static_watts = NAN,
					   .static_origin = "absent",
					   .bottom_up_static_watts = unknown};
	if (n > NPL_MAX_COMPONENTS)
		return npl_fail(err, NPL_EINTERNAL, "%d components, expected at most %d", n, NPL_MAX_COMPONENTS);
	for (int c = 0; c < n; c++)
		describe(&components[c], &model->component[c]);
	if (has_process && estimate_all(&process, components, arena, model, err))
		return err->code;
	if (calibrate(model->table, components, arena, model, err))
		return npl_blame_settings(err, "energy", "table");
	take_given(components, static_power, model);
	model->area_mm2 = sum_areas(model);
	for (int c = 0; c < n; c++)
		model->area_is_partial |= isnan(model->component[c].area_mm2);
	return 0;
}

int sim_charge(const struct npl_energy_model *model, const char *energy, uint64_t events, double activity,
	       struct npl_result *result, struct npl_err *err)
{
	for (int c = 0; c < model->n_components; c++) {
		const struct npl_component *component = &model->component[c];
		for (int i = 0; i < component->n_actions; i++) {
			const struct npl_action *action = &component->action[i];
			if (strcmp(action->energy, energy) != 0)
				continue;
			/* Where energies follow from tables, and none has the component, it is left out. */
			const bool has_no_table = model->node_nm > 0 && isnan(action->pj) && !component->unknown;
			return has_no_table ? 0 : npl_result_action(result, action, events, activity, err);
		}
	}
	return npl_fail(err, NPL_EINTERNAL, "the energy model has no %s", energy);
}

int sim_static_energy(const struct npl_energy_model *model, double clock_hz, uint64_t cycles, struct npl_result *result,
		      struct npl_err *err)
{
	const double pj_per_watt = 1e12 / clock_hz;
	const struct npl_estimates *watts = &model->bottom_up_static_watts;
	const struct npl_action action = {
		.energy = "static",
		.pj = model->static_watts * pj_per_watt,
		.origin = model->static_origin,
		.bottom_up_pj = {watts->low * pj_per_watt, watts->middle * pj_per_watt, watts->high * pj_per_watt}};
	return npl_result_action(result, &action, cycles, NAN, err);
}
