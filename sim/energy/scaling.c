/* SPDX-License-Identifier: MIT
 *
 * Ranges, and figures of logic at another node or voltage (tables.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

double sim_round9(double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.8e", value);
	return strtod(text, NULL);
}

double sim_log_log(double x, double x0, double y0, double x1, double y1)
{
	return y0 * pow(y1 / y0, log(x / x0) / log(x1 / x0));
}

void sim_range_add(struct npl_estimates *range, double estimate)
{
	if (!(range->low > 0) || estimate < range->low)
		range->low = estimate;
	if (estimate > range->high)
		range->high = estimate;
}

void sim_range_close(struct npl_estimates *range)
{
	range->middle = sim_round9(sqrt(range->low) * sqrt(range->high));
	range->low = sim_round9(range->low);
	range->high = sim_round9(range->high);
}

/* Finds the nodes of one kind of transistors around a node; below == above: the table has it. */
static bool find_nodes(const struct sim_energy_tables *tables, const char *transistors, double node_nm,
		       const struct sim_scaling **below, const struct sim_scaling **above)
{
	*below = *above = NULL;
	for (int i = 0; i < tables->n_scalings; i++) {
		const struct sim_scaling *s = &tables->scaling[i];
		if (strcmp(s->transistors, transistors) != 0)
			continue;
		if (s->node_nm <= node_nm && (!*below || s->node_nm > (*below)->node_nm))
			*below = s;
		if (s->node_nm >= node_nm && (!*above || s->node_nm < (*above)->node_nm))
			*above = s;
	}
	return *below && *above;
}

static int refuse_node(const struct sim_energy_tables *tables, double node_nm, struct npl_err *err)
{
	double least = tables->scaling->node_nm, most = least;
	for (int i = 1; i < tables->n_scalings; i++) {
		least = fmin(least, tables->scaling[i].node_nm);
		most = fmax(most, tables->scaling[i].node_nm);
	}
	return npl_fail(err, NPL_EUSAGE, "%g nm, expected %g to %g, the nodes that energies/scaling.csv has", node_nm,
			least, most);
}

/* Computes the energy of logic, in units of 45 nm and 0.9 V. */
static int energy_at(const struct sim_energy_tables *tables, const char *transistors, const struct sim_process *at,
		     double *energy, struct npl_err *err)
{
	const struct sim_scaling *node[2];
	double value[2];
	if (!find_nodes(tables, transistors, at->node_nm, &node[0], &node[1]))
		return refuse_node(tables, at->node_nm, err);
	for (int i = 0; i < 2; i++) {
		const double v = at->volts;
		if (!(v >= node[i]->least_volts && v <= node[i]->most_volts))
			return npl_fail(err, NPL_EUSAGE,
					"%g V at %g nm, expected %g to %g V, for which energies/scaling.csv is fitted",
					v, at->node_nm, fmax(node[0]->least_volts, node[1]->least_volts),
					fmin(node[0]->most_volts, node[1]->most_volts));
		value[i] = node[i]->a2 * v * v + node[i]->a1 * v + node[i]->a0;
	}
	*energy = node[0] == node[1] ? value[0]
				     : sim_log_log(at->node_nm, node[0]->node_nm, value[0], node[1]->node_nm, value[1]);
	return 0;
}

int sim_scale_energy(const struct sim_energy_tables *tables, const struct sim_process *from,
		     const struct sim_process *to, struct npl_estimates *factor, struct npl_err *err)
{
	static const char *const transistors[] = {"hp", "lp"};
	*factor = (struct npl_estimates){0};
	for (int i = 0; i < 2; i++) {
		double energy_from = 0, energy_to = 0;
		if (energy_at(tables, transistors[i], from, &energy_from, err) ||
		    energy_at(tables, transistors[i], to, &energy_to, err))
			return err->code;
		sim_range_add(factor, energy_to / energy_from);
	}
	sim_range_close(factor);
	return 0;
}

int sim_scale_area(const struct sim_energy_tables *tables, double from_nm, double to_nm, double *factor,
		   struct npl_err *err)
{
	const double nodes[2] = {from_nm, to_nm};
	double area[2];
	for (int i = 0; i < 2; i++) {
		const struct sim_scaling *below, *above;
		if (!find_nodes(tables, "hp", nodes[i], &below, &above))
			return refuse_node(tables, nodes[i], err);
		area[i] = below == above
				  ? below->area
				  : sim_log_log(nodes[i], below->node_nm, below->area, above->node_nm, above->area);
	}
	*factor = sim_round9(area[1] / area[0]);
	return 0;
}
