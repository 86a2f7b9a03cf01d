/* SPDX-License-Identifier: MIT
 *
 * What a machine costs by its components: energy of each event, area, static power; each beside its bottom-up range. */
#include "npulab/energy_model.h"

#include <math.h>
#include <string.h>

#include "cells.h"
#include "npulab/report.h"
#include "reports/format/json.h"
#include "reports/format/table.h"

/* Writes "0.13 - 0.21"; "-" where it is not known. */
static const char *range_cell(char text[CELL], const struct npl_estimates *range)
{
	if (isnan(range->middle))
		snprintf(text, CELL, "-");
	else if (range->low < range->high)
		snprintf(text, CELL, "%.3g - %.3g", range->low, range->high);
	else
		snprintf(text, CELL, "%.3g", range->middle);
	return text;
}

static const char *number_cell(char text[CELL], double value)
{
	snprintf(text, CELL, isnan(value) ? "-" : "%.3g", value);
	return text;
}

static const char *percent_cell(char text[CELL], double share)
{
	snprintf(text, CELL, share > 0 ? "%.0f %%" : "-", share * 100);
	return text;
}

static int put_energies(FILE *out, const struct npl_energy_model *model)
{
	static const char *const header[] = {"ENERGY", "PER", "PJ", "BOTTOM-UP", "DATA SHARE", "ORIGIN"};
	struct npl_table table;
	char pj[CELL], range[CELL], share[CELL];
	npl_table_open(&table, "wwrrrl", header);
	table.keys = 2; /* what takes energy, and in which event */
	for (int c = 0; c < model->n_components; c++)
		for (int i = 0; i < model->component[c].n_actions; i++) {
			const struct npl_action *action = &model->component[c].action[i];
			npl_table_row(&table, (const char *const[]){
						      action->energy, action->event, number_cell(pj, action->pj),
						      range_cell(range, &action->bottom_up_pj),
						      percent_cell(share, action->operand_share), action->origin});
		}
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

static int put_areas(FILE *out, const struct npl_energy_model *model)
{
	static const char *const header[] = {"COMPONENT", "MM2", "BOTTOM-UP", "LEAKAGE W", "ORIGIN"};
	struct npl_table table;
	char mm2[CELL], all_mm2[CELL], range[CELL], leakage[CELL];
	npl_table_open(&table, "wrrrl", header);
	for (int c = 0; c < model->n_components; c++) {
		const struct npl_component *component = &model->component[c];
		npl_table_row(&table, (const char *const[]){component->name, number_cell(mm2, component->area_mm2),
							    range_cell(range, &component->bottom_up_mm2),
							    component->leakage_watts.high > 0
								    ? range_cell(leakage, &component->leakage_watts)
								    : "",
							    component->area_origin});
	}
	snprintf(all_mm2, sizeof all_mm2, "%s%.*s", model->area_is_partial && model->area_mm2 > 0 ? ">" : "", CELL - 2,
		 number_cell(mm2, model->area_mm2));
	npl_table_row(&table, (const char *const[]){"all", all_mm2, "",
						    range_cell(leakage, &model->bottom_up_static_watts), ""});
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

int npl_energy_model_table(FILE *out, const char *name, const struct npl_energy_model *model)
{
	char line[300], watts[CELL];
	if (model->node_nm > 0)
		snprintf(line, sizeof line, "%s: %g nm, %g V, calibrated by %s", name, model->node_nm, model->volts,
			 strcmp(model->table, "none") ? model->table : "nothing");
	else
		snprintf(line, sizeof line,
			 "%s: technology.node_nm is not given, and nothing follows from tables of operations", name);
	npl_table_text(line, out);
	fputc('\n', out);
	const int energies = put_energies(out, model);
	fputc('\n', out);
	const int areas = put_areas(out, model);
	snprintf(line, sizeof line, "static power: %s W, %s", number_cell(watts, model->static_watts),
		 model->static_origin);
	fputc('\n', out);
	npl_table_text(line, out);
	for (int c = 0; c < model->n_components; c++)
		if (model->component[c].unknown) {
			snprintf(line, sizeof line, "%s has no bottom-up figures: %s", model->component[c].name,
				 model->component[c].unknown);
			npl_table_text(line, out);
		}
	return energies ? energies : areas;
}

static void put_estimates(struct npl_json *json, const char *low_key, const char *high_key,
			  const struct npl_estimates *range)
{
	npl_json_double(json, low_key, range->low);
	npl_json_double(json, high_key, range->high);
}

static void put_component(struct npl_json *json, const struct npl_component *component)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "component", component->name);
	npl_json_double(json, "area_mm2", component->area_mm2);
	put_estimates(json, "area_low_mm2", "area_high_mm2", &component->bottom_up_mm2);
	npl_json_string(json, "area_origin", component->area_origin);
	put_estimates(json, "leakage_low_w", "leakage_high_w", &component->leakage_watts);
	npl_json_string(json, "unknown", component->unknown);
	npl_json_open(json, "energy", '[');
	for (int i = 0; i < component->n_actions; i++) {
		const struct npl_action *action = &component->action[i];
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "component", action->energy);
		npl_json_string(json, "event", action->event);
		npl_json_double(json, "pj", action->pj);
		npl_json_double(json, "pj_middle", action->bottom_up_pj.middle);
		put_estimates(json, "pj_low", "pj_high", &action->bottom_up_pj);
		npl_json_double(json, "operand_share", action->operand_share);
		npl_json_string(json, "origin", action->origin);
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
	npl_json_close(json, '}');
}

void npl_energy_model_json(FILE *out, const char *name, const struct npl_energy_model *model)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.energy/1");
	npl_json_build(&json);
	npl_json_string(&json, "machine", name);
	npl_json_double(&json, "node_nm", model->node_nm > 0 ? model->node_nm : NAN);
	npl_json_double(&json, "volts", model->node_nm > 0 ? model->volts : NAN);
	npl_json_string(&json, "table", model->table);
	npl_json_double(&json, "area_mm2", model->area_mm2);
	npl_json_double(&json, "static_w", model->static_watts);
	put_estimates(&json, "static_low_w", "static_high_w", &model->bottom_up_static_watts);
	npl_json_string(&json, "static_origin", model->static_origin);
	npl_json_open(&json, "components", '[');
	for (int c = 0; c < model->n_components; c++)
		put_component(&json, &model->component[c]);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
