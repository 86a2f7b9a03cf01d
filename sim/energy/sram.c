/* SPDX-License-Identifier: MIT
 *
 * Energy, leakage and area of memories on the chip, from macros that CACTI models (tables.h). */
#include <math.h>
#include <string.h>

#include "core/base/arith.h"
#include "impl.h"

#define CACTI_VOLTS 0.9 /* of the logic by which a node outside the table is scaled */

/* The figures of a macro, in the order of struct sim_sram_macro. */
enum { READ_PJ, WRITE_PJ, LEAKAGE_MW, AREA_MM2, FIGURES };

struct macro {
	int64_t width_bits;
	double bytes, node_nm;
	const char *cells;
};

static double figure_of(const struct sim_sram_macro *run, int figure)
{
	const double figures[FIGURES] = {run->read_pj, run->write_pj, run->leakage_mw, run->area_mm2};
	return figures[figure];
}

/* Finds the runs of one width and node whose sizes are next to the macro's, below and above it. */
static bool find_sizes(const struct sim_energy_tables *tables, const struct macro *macro, double node_nm, int64_t ports,
		       const struct sim_sram_macro *size[2])
{
	size[0] = size[1] = NULL;
	for (int i = 0; i < tables->n_srams; i++) {
		const struct sim_sram_macro *run = &tables->sram[i];
		if (run->ports != ports || run->width_bits != macro->width_bits || run->node_nm != node_nm ||
		    strcmp(run->cells, macro->cells) != 0)
			continue;
		if ((double)run->bytes <= macro->bytes && (!size[0] || run->bytes > size[0]->bytes))
			size[0] = run;
		if ((double)run->bytes >= macro->bytes && (!size[1] || run->bytes < size[1]->bytes))
			size[1] = run;
	}
	return size[0] && size[1];
}

/* Computes a macro of one port at a node that the table has. */
static bool macro_at(const struct sim_energy_tables *tables, const struct macro *macro, double node_nm,
		     double value[FIGURES])
{
	const struct sim_sram_macro *size[2];
	if (!find_sizes(tables, macro, node_nm, 1, size))
		return false;
	for (int f = 0; f < FIGURES; f++)
		value[f] = size[0] == size[1] ? figure_of(size[0], f)
					      : sim_log_log(macro->bytes, (double)size[0]->bytes, figure_of(size[0], f),
							    (double)size[1]->bytes, figure_of(size[1], f));
	return true;
}

/* Finds the nodes of the table next to the macro's. Outside of them both are the nearest one. */
static void find_nodes(const struct sim_energy_tables *tables, double node_nm, double node[2])
{
	node[0] = 0, node[1] = HUGE_VAL;
	for (int i = 0; i < tables->n_sram_nodes; i++) {
		const double n = tables->sram_node_nm[i];
		node[0] = n <= node_nm ? fmax(node[0], n) : node[0];
		node[1] = n >= node_nm ? fmin(node[1], n) : node[1];
	}
	if (node[0] == 0)
		node[0] = node[1];
	if (isinf(node[1]))
		node[1] = node[0];
}

/* Multiplies the figures of the nearest node's macro with the scaling of logic. Leakage goes with the area. */
static int scale(const struct sim_energy_tables *tables, double from_nm, double to_nm, double value[FIGURES],
		 struct npl_err *err)
{
	struct npl_estimates energy;
	double area;
	if (sim_scale_energy(tables, &(struct sim_process){from_nm, CACTI_VOLTS},
			     &(struct sim_process){to_nm, CACTI_VOLTS}, &energy, err) ||
	    sim_scale_area(tables, from_nm, to_nm, &area, err))
		return err->code;
	value[READ_PJ] *= energy.middle;
	value[WRITE_PJ] *= energy.middle;
	value[LEAKAGE_MW] *= area;
	value[AREA_MM2] *= area;
	return 0;
}

static int refuse_size(const struct sim_energy_tables *tables, const struct macro *macro, struct npl_err *err)
{
	int64_t least = INT64_MAX;
	for (int i = 0; i < tables->n_srams; i++)
		if (tables->sram[i].ports == 1 && tables->sram[i].width_bits == macro->width_bits)
			least = npl_min_i64(least, tables->sram[i].bytes);
	return npl_fail(err, NPL_EUSAGE,
			"a macro of %g bytes and %lld bits, expected %lld bytes at least, the smallest that "
			"energies/sram.csv has",
			macro->bytes, (long long)macro->width_bits, (long long)least);
}

static int macro_of(const struct sim_energy_tables *tables, const struct macro *macro, double value[FIGURES],
		    struct npl_err *err)
{
	double node[2], other[FIGURES];
	find_nodes(tables, macro->node_nm, node);
	if (!macro_at(tables, macro, node[0], value) || !macro_at(tables, macro, node[1], other))
		return refuse_size(tables, macro, err);
	if (node[0] == node[1])
		return node[0] == macro->node_nm ? 0 : scale(tables, node[0], macro->node_nm, value, err);
	for (int f = 0; f < FIGURES; f++)
		value[f] = sim_log_log(macro->node_nm, node[0], value[f], node[1], other[f]);
	return 0;
}

/* Returns the run of one port like one of two; NULL: there is none. */
static const struct sim_sram_macro *one_port(const struct sim_energy_tables *tables, const struct sim_sram_macro *two)
{
	for (const struct sim_sram_macro *run = tables->sram; run < tables->sram + tables->n_srams; run++)
		if (run->ports == 1 && run->width_bits == two->width_bits && run->bytes == two->bytes &&
		    run->node_nm == two->node_nm && !strcmp(run->cells, two->cells))
			return run;
	return NULL;
}

/* Multiplies with the ratio of two ports to one, in the pair of runs that is nearest in width, then in size. */
static void add_port(const struct sim_energy_tables *tables, const struct macro *macro, double value[FIGURES])
{
	const struct sim_sram_macro *nearest = NULL;
	double node[2], least = HUGE_VAL;
	find_nodes(tables, macro->node_nm, node);
	for (int i = 0; i < tables->n_srams; i++) {
		const struct sim_sram_macro *run = &tables->sram[i];
		if (run->ports != 2 || run->node_nm != node[1] || strcmp(run->cells, macro->cells) != 0 ||
		    !one_port(tables, run))
			continue;
		/* First the width, as the ports of a row grow with it, then the size. */
		const double distance = fabs(log((double)run->width_bits / (double)macro->width_bits)) * 1e3 +
					fabs(log((double)run->bytes / macro->bytes));
		if (distance < least) {
			least = distance;
			nearest = run;
		}
	}
	for (int f = 0; f < FIGURES && nearest; f++)
		value[f] *= figure_of(nearest, f) / figure_of(one_port(tables, nearest), f);
}

/* Returns the least width of the table that holds the bits, or its greatest. */
static int64_t macro_width(const struct sim_energy_tables *tables, int64_t bits)
{
	int64_t least = INT64_MAX, greatest = tables->sram->width_bits;
	for (int i = 0; i < tables->n_srams; i++) {
		const int64_t width = tables->sram[i].width_bits;
		greatest = npl_max_i64(greatest, width);
		least = width >= bits ? npl_min_i64(least, width) : least;
	}
	return least == INT64_MAX ? greatest : least;
}

static int64_t largest_macro(const struct sim_energy_tables *tables, int64_t width_bits)
{
	int64_t largest = 0;
	for (int i = 0; i < tables->n_srams; i++)
		if (tables->sram[i].ports == 1 && tables->sram[i].width_bits == width_bits)
			largest = npl_max_i64(largest, tables->sram[i].bytes);
	return largest;
}

int sim_sram_figures_of(const struct sim_energy_tables *tables, const struct sim_sram *sram, double node_nm,
			struct sim_sram_figures *figures, struct npl_err *err)
{
	const int64_t width = macro_width(tables, npl_min_i64(sram->width_bits, sram->macro_bits));
	const int64_t columns = npl_div_up_i64(sram->width_bits, width);
	const double column_bytes = (double)sram->bytes / (double)columns;
	const int64_t banks = (int64_t)ceil(column_bytes / (double)largest_macro(tables, width));
	*figures = (struct sim_sram_figures){.columns = columns, .banks = banks};
	for (int i = 0; i < tables->n_sram_cells; i++) {
		const struct macro macro = {width, column_bytes / (double)banks, node_nm, tables->sram_cells[i]};
		double value[FIGURES];
		if (macro_of(tables, &macro, value, err))
			return err->code;
		if (sram->ports == 2)
			add_port(tables, &macro, value);
		sim_range_add(&figures->read_pj, (double)columns * value[READ_PJ]);
		sim_range_add(&figures->write_pj, (double)columns * value[WRITE_PJ]);
		sim_range_add(&figures->leakage_w, (double)(columns * banks) * value[LEAKAGE_MW] * 1e-3);
		sim_range_add(&figures->area_mm2, (double)(columns * banks) * value[AREA_MM2]);
	}
	sim_range_close(&figures->read_pj);
	sim_range_close(&figures->write_pj);
	sim_range_close(&figures->leakage_w);
	sim_range_close(&figures->area_mm2);
	return 0;
}
