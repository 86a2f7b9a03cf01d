/* SPDX-License-Identifier: MIT
 *
 * Energy in the tables of a comparison (energy_table.h). */
#include "energy_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cells.h"
#include "core/base/message.h"

/* Says whether any of the report's time comes from a model. A placement's does where one of its devices is modelled. */
bool npl_report_simulated(const struct npl_device_report *r)
{
	bool simulated = !r->n_parts && npl_device_kind_is_modelled(r->info.kind);
	for (int i = 0; i < r->n_parts; i++)
		simulated = simulated || npl_device_kind_is_modelled(r->part[i].info.kind);
	return simulated;
}

/* Says whether a sum of times is marked as modelled. One modelled part suffices: a real device whose host did a layer
 * is marked too. */
bool npl_report_modelled(const struct npl_device_report *r)
{
	return npl_report_simulated(r) || r->run.host_seconds > 0;
}

/* Says whether bytes crossed the link and cost no energy of their own, since what the link draws at rest is counted
 * elsewhere. */
bool npl_link_is_free(const struct npl_resource *link)
{
	return link->joules >= 0 && link->joules <= 0 && link->bytes + link->bytes_within > 0;
}

/* Says whether all known energy was measured: assumed and modelled energy is marked. */
bool npl_energy_measured(const struct npl_device_report *r)
{
	for (int i = 0; i < r->run.n_energy; i++)
		if (isfinite(r->run.energy[i].joules) && !npl_origin_is_measured(r->run.energy[i].origin))
			return false;
	return true;
}

/* What the energy model of a chip says beside what it is charged; NAN: nothing. */
struct chip_estimates {
	struct npl_estimates bottom_up;
	double by_activity;
};

static struct chip_estimates chip_estimates_of(const struct npl_device_report *r)
{
	struct npl_energy energy[NPL_MAX_RUN_ENERGY] = {{0}};
	bool has_range = false;
	int n = 0;
	for (int i = 0; i < r->run.n_energy; i++)
		if (r->run.energy[i].part == NPL_OF_MACHINE) {
			energy[n++] = r->run.energy[i];
			has_range |= r->run.energy[i].has_range;
		}
	struct chip_estimates chip = {npl_energy_estimates(energy, n), npl_energy_by_activity(energy, n)};
	if (!has_range)
		chip.bottom_up.low = chip.bottom_up.high = NAN;
	return chip;
}

/* Writes "~1.2 - 3.4 mJ", or "~950 uJ - 1.2 mJ" where the units differ. */
static const char *range_figure(char text[CELL], double low, double high)
{
	char larger[CELL], smaller[CELL];
	if (!isfinite(low) || !isfinite(high))
		return figure(text, NAN, "J", true);
	figure(larger, high, "J", false);
	figure(smaller, low, "J", true);
	char *unit = strrchr(smaller, ' ');
	const char *larger_unit = strrchr(larger, ' ');
	if (unit && larger_unit && !strcmp(unit, larger_unit))
		*unit = '\0';
	snprintf(text, CELL, "%.20s - %.20s", smaller, larger);
	return text;
}

/* The columns of the table of energies; those of the chip's estimates are there where some chip has them. */
enum energy_column { CHIP, BOTTOM_UP, BY_DATA, MEMORY, WAITING, HOST, LINK, ENERGY_COLUMNS };

/* Returns the column that has the energy of a part. */
static enum energy_column column_of(enum npl_energy_part part)
{
	switch (part) {
	case NPL_OF_MACHINE:
		return CHIP;
	case NPL_OF_MEMORY:
		return MEMORY;
	case NPL_OF_WAITING:
		return WAITING;
	case NPL_OF_HOST:
		return HOST;
	case NPL_OF_LINK:
		return LINK;
	case NPL_ENERGY_PARTS:
		break;
	}
	return ENERGY_COLUMNS;
}

static const char *energy_cell(enum energy_column column, const struct npl_device_report *r,
			       const struct npl_figures *f, char text[CELL])
{
	const struct chip_estimates chip = chip_estimates_of(r);
	const double batches = (double)r->batches;
	switch (column) {
	case BOTTOM_UP:
		return range_figure(text, chip.bottom_up.low / batches, chip.bottom_up.high / batches);
	case BY_DATA:
		return figure(text, chip.by_activity / batches, "J", true);
	default:
		break;
	}
	double joules = 0;
	for (int p = 0; p < NPL_ENERGY_PARTS; p++)
		if (column_of((enum npl_energy_part)p) == column)
			joules += f->part_joules[p];
	/* A part that is not counted separately is within the chip's: the memory of a processor, a link without energy
	 * of its own, the waiting of a machine without static power. A host that did nothing used nothing. */
	const bool no_own = column != HOST && joules <= 0;
	return figure(text, no_own ? NAN : joules / batches, "J", true);
}

static bool has_energy(const struct npl_device_report *r)
{
	return npl_report_modelled(r) && r->run.n_energy;
}

void npl_energy_has(const struct npl_device_report *r, bool *has_range, bool *has_activity)
{
	const struct chip_estimates chip = chip_estimates_of(r);
	*has_range |= has_energy(r) && isfinite(chip.bottom_up.low);
	*has_activity |= has_energy(r) && isfinite(chip.by_activity);
}

/* Says which columns the table has. */
static void find_columns(const struct npl_comparison *c, bool single_layer, bool has[ENERGY_COLUMNS])
{
	memset(has, 0, ENERGY_COLUMNS * sizeof *has);
	has[CHIP] = has[MEMORY] = true;
	has[WAITING] = has[HOST] = has[LINK] = !single_layer;
	for (int d = 0; d < c->n_devices; d++)
		npl_energy_has(&c->device[d], &has[BOTTOM_UP], &has[BY_DATA]);
}

/* Divides the energy of a batch, or of a single layer, into the same parts as its time. */
int npl_energy_table(FILE *out, const struct npl_comparison *c, const struct npl_report_context *context)
{
	static const char *const headings[] = {"CHIP", "BOTTOM-UP", "BY DATA", "MEMORY", "WAITING", "HOST", "LINK"};
	_Static_assert(sizeof headings / sizeof *headings == ENERGY_COLUMNS, "each column has a heading");
	const char *header[1 + ENERGY_COLUMNS] = {context->single_layer ? "ENERGY" : "ENERGY OF A BATCH"};
	bool has[ENERGY_COLUMNS];
	struct npl_table table;
	char align[2 + ENERGY_COLUMNS] = "l";
	int rows = 0, columns = 0;
	find_columns(c, context->single_layer, has);
	for (int column = 0; column < ENERGY_COLUMNS; column++)
		if (has[column]) {
			header[++columns] = headings[column];
			align[columns] = 'r';
		}
	npl_table_open(&table, align, header);
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		struct npl_figures f;
		char text[ENERGY_COLUMNS][CELL];
		const char *cells[1 + ENERGY_COLUMNS] = {r->instance};
		if (!has_energy(r))
			continue;
		npl_figures_of(r, context, &f);
		for (int column = 0, k = 1; column < ENERGY_COLUMNS; column++)
			if (has[column])
				cells[k++] = energy_cell((enum energy_column)column, r, &f, text[column]);
		npl_table_row(&table, cells);
		rows++;
	}
	if (rows) {
		fputc('\n', out);
		npl_table_print(&table, out);
	}
	return npl_table_close(&table);
}

/* Writes where the energy of some parts comes from; false: there are no such parts. */
static bool origins_of(const struct npl_run *run, unsigned parts, char *text, size_t size)
{
	struct npl_energy energy[NPL_MAX_RUN_ENERGY];
	int n = 0;
	for (int i = 0; i < run->n_energy; i++)
		if (parts >> run->energy[i].part & 1u)
			energy[n++] = run->energy[i];
	npl_energy_origins(energy, n, text, size);
	return n > 0;
}

/* Writes what the device is, and the origin of its energy: for a real device how it was measured, or why it is
 * absent. */
void npl_energy_note(FILE *note, const struct npl_device_report *r)
{
	char machine[300], memory[120], link[120];
	const bool has_memory = origins_of(&r->run, 1u << NPL_OF_MEMORY, memory, sizeof memory);
	const bool has_link = origins_of(&r->run, 1u << NPL_OF_LINK, link, sizeof link);
	origins_of(&r->run, 1u << NPL_OF_MACHINE | 1u << NPL_OF_WAITING, machine, sizeof machine);
	fprintf(note, "%s%s", r->info.detail, *r->info.detail ? "; " : "");
	if (r->info.area_mm2 > 0)
		fprintf(note, "%s%.3g mm2; ", r->info.area_is_partial ? ">" : "~", r->info.area_mm2);
	fprintf(note, "energy %s", machine);
	if (has_memory)
		fprintf(note, ", of its memory %s", memory);
	if (has_link)
		fprintf(note, ", of its link %s", link);
	if (*r->energy.note)
		fprintf(note, "%s%s", has_memory || has_link ? "; " : ": ", r->energy.note);
}

/* Notes the modelled host, where it has worked. */
void npl_host_note(struct npl_table *table, const struct npl_comparison *c)
{
	char line[900], origin[120];
	const bool is_usual = !c->host.name || !strcmp(c->host.name, NPL_HOST_NAME);
	for (int d = 0; d < c->n_devices; d++) {
		if (!(c->device[d].run.host_seconds > 0) || !c->host.name)
			continue;
		origins_of(&c->device[d].run, 1u << NPL_OF_HOST, origin, sizeof origin);
		snprintf(line, sizeof line,
			 "%s%s%s; converts inputs and outputs between float32 and a machine's format, too; energy %s "
			 "while it works; --set host.KEY=VALUE or --host FILE changes it",
			 is_usual ? "" : c->host.name, is_usual ? "" : ", ", c->host.info.detail, origin);
		npl_table_row(table, (const char *const[]){"host", line});
		return;
	}
}

/* Returns what a byte of main memory costs on a device; NAN: it has none, or that is not known. */
static double pj_per_memory_byte(const struct npl_device_report *r)
{
	double joules = 0;
	for (int i = 0; i < r->run.n_energy; i++)
		if (r->run.energy[i].part == NPL_OF_MEMORY)
			joules += r->run.energy[i].joules;
	const double bytes = (double)r->run.bytes[NPL_MEM_DRAM];
	return joules > 0 && bytes > 0 ? joules / bytes * 1e12 : NAN;
}

/* Returns how many devices from the d-th on show the energy of a byte of memory as the d-th does; 0: an earlier one
 * does. */
static int alike_in_memory(const struct npl_comparison *c, int d)
{
	char text[CELL], other[CELL];
	int n = 0;
	figure(text, pj_per_memory_byte(&c->device[d]), "", false);
	for (int k = 0; k < c->n_devices; k++) {
		if (strcmp(text, figure(other, pj_per_memory_byte(&c->device[k]), "", false)) != 0)
			continue;
		if (k < d)
			return 0;
		n++;
	}
	return n;
}

/* Notes rows whose sources give a byte of memory very different energies: their difference is not the machines'
 * alone. */
void npl_memory_note(struct npl_table *table, const struct npl_comparison *c)
{
	const struct npl_device_report *least = NULL, *most = NULL;
	char line[1000];
	int listed = 0;
	for (int d = 0; d < c->n_devices; d++) {
		const struct npl_device_report *r = &c->device[d];
		const double pj = pj_per_memory_byte(r);
		if (isnan(pj))
			continue;
		least = !least || pj < pj_per_memory_byte(least) ? r : least;
		most = !most || pj > pj_per_memory_byte(most) ? r : most;
	}
	if (!most || pj_per_memory_byte(most) < NPL_MEMORIES_DIFFER * pj_per_memory_byte(least))
		return;
	snprintf(line, sizeof line, "a byte of main memory takes");
	for (int d = 0; d < c->n_devices; d++) {
		const double pj = pj_per_memory_byte(&c->device[d]);
		const int alike = isnan(pj) ? 0 : alike_in_memory(c, d);
		char others[40] = "";
		if (!alike)
			continue;
		if (alike > 1)
			snprintf(others, sizeof others, " and %d more", alike - 1);
		npl_append(line, sizeof line, "", "%s %.3g pJ on %s%s", listed++ ? "," : "", pj, c->device[d].instance,
			   others);
	}
	npl_append(line, sizeof line, "",
		   ", because their sources differ; this is part of the difference between their energies");
	npl_table_row(table, (const char *const[]){"memory", line});
}
