/* SPDX-License-Identifier: MIT
 *
 * Loads the tables of energies/ (tables.h). */
#include "tables.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/csv.h"
#include "core/files/data_names.h"
#include "core/files/path.h"

/* OPTIONAL: a number from 0 on, or nothing, which is NAN. */
enum kind { TEXT, POSITIVE, NOT_NEGATIVE, ANY, OPTIONAL, WHOLE };

/* A column: what a field of it may be, and where a row's field goes. */
struct column {
	const char *name;
	enum kind kind;
	size_t offset;
};

/* A table in energies/, and the struct of its rows. */
struct table {
	const char *file;
	size_t row_bytes;
	struct column column[10]; /* a name of NULL ends */
};

#define COLUMN(type, kind, member)                                                                                     \
	{                                                                                                              \
#member, kind, offsetof(struct type, member)                                                           \
	}

static const struct table operations = {"operations.csv",
					sizeof(struct sim_operation),
					{COLUMN(sim_operation, TEXT, component),
					 COLUMN(sim_operation, TEXT, action),
					 COLUMN(sim_operation, POSITIVE, pj),
					 {"node_nm", POSITIVE, offsetof(struct sim_operation, process.node_nm)},
					 {"volts", POSITIVE, offsetof(struct sim_operation, process.volts)},
					 COLUMN(sim_operation, OPTIONAL, area_um2),
					 COLUMN(sim_operation, TEXT, source)}};
static const struct table srams = {"sram.csv",
				   sizeof(struct sim_sram_macro),
				   {COLUMN(sim_sram_macro, WHOLE, ports), COLUMN(sim_sram_macro, WHOLE, width_bits),
				    COLUMN(sim_sram_macro, WHOLE, bytes), COLUMN(sim_sram_macro, POSITIVE, node_nm),
				    COLUMN(sim_sram_macro, TEXT, cells), COLUMN(sim_sram_macro, POSITIVE, read_pj),
				    COLUMN(sim_sram_macro, POSITIVE, write_pj),
				    COLUMN(sim_sram_macro, POSITIVE, leakage_mw),
				    COLUMN(sim_sram_macro, POSITIVE, area_mm2)}};
static const struct table scalings = {
	"scaling.csv",
	sizeof(struct sim_scaling),
	{COLUMN(sim_scaling, POSITIVE, node_nm), COLUMN(sim_scaling, TEXT, transistors), COLUMN(sim_scaling, ANY, a2),
	 COLUMN(sim_scaling, ANY, a1), COLUMN(sim_scaling, ANY, a0), COLUMN(sim_scaling, POSITIVE, area),
	 COLUMN(sim_scaling, POSITIVE, least_volts), COLUMN(sim_scaling, POSITIVE, most_volts)}};

static const struct table calibrations = {"",
					  sizeof(struct sim_calibration),
					  {COLUMN(sim_calibration, TEXT, component),
					   COLUMN(sim_calibration, TEXT, quantity),
					   COLUMN(sim_calibration, NOT_NEGATIVE, value),
					   COLUMN(sim_calibration, TEXT, unit),
					   {"node_nm", POSITIVE, offsetof(struct sim_calibration, process.node_nm)},
					   {"volts", POSITIVE, offsetof(struct sim_calibration, process.volts)},
					   COLUMN(sim_calibration, TEXT, origin)}};

/* Returns what a number has to be; NULL: it is. */
static const char *expected(enum kind kind, double number)
{
	if (kind == OPTIONAL)
		return number < 0 ? "0 or more" : NULL;
	if (isnan(number))
		return "a number";
	if (kind == POSITIVE)
		return number > 0 ? NULL : "more than 0";
	if (kind == NOT_NEGATIVE)
		return number >= 0 ? NULL : "0 or more";
	if (kind == WHOLE)
		return number >= 1 && number <= 1e15 && number == floor(number) ? NULL : "a whole number from 1 on";
	return NULL;
}

static int read_field(const struct npl_csv *csv, int row, int index, const struct column *column, char *to,
		      struct npl_err *err)
{
	const char *text = csv->row[row].field[index], *wrong = NULL;
	double number = NAN;
	if (column->kind == TEXT)
		wrong = *text ? NULL : "a word";
	else if (npl_csv_number(csv, row, index, &number, err))
		return err->code;
	else
		wrong = expected(column->kind, number);
	if (wrong)
		return npl_fail(err, NPL_EINPUT, "%s:%d: %s is '%s', expected %s", csv->path, csv->row[row].line,
				column->name, text, wrong);
	to += column->offset;
	if (column->kind == TEXT)
		memcpy(to, &text, sizeof text);
	else if (column->kind == WHOLE)
		memcpy(to, &(int64_t){(int64_t)number}, sizeof(int64_t));
	else
		memcpy(to, &number, sizeof number);
	return 0;
}

/* Returns the rows of a table: of the file at `path`, or of the shipped one for NULL. NULL: an error. */
static void *load(const struct table *table, const char *path, struct npl_arena *arena, struct npl_csv *csv,
		  struct npl_err *err)
{
	if (path ? npl_csv_load(path, arena, csv, err) : npl_data_csv("energies", table->file, arena, csv, err))
		return NULL;
	if (!csv->n_rows) {
		npl_fail(err, NPL_EINPUT, "%s: no rows, expected one at least", csv->path);
		return NULL;
	}
	char *rows = npl_arena_array(arena, (size_t)csv->n_rows, table->row_bytes);
	if (!rows)
		npl_fail(err, NPL_ENOMEM, "%s: out of memory", csv->path);
	for (const struct column *c = table->column; rows && c->name; c++) {
		const int index = npl_csv_column(csv, c->name, err);
		if (index < 0)
			return NULL;
		for (int i = 0; i < csv->n_rows; i++)
			if (read_field(csv, i, index, c, rows + (size_t)i * table->row_bytes, err))
				return NULL;
	}
	return rows;
}

/* Says whether two rows are of the same action at the same process by the same source. */
static bool is_same_row(const struct sim_operation *x, const struct sim_operation *y)
{
	return x->process.volts == y->process.volts && !strcmp(x->component, y->component) &&
	       !strcmp(x->action, y->action) && !strcmp(x->source, y->source);
}

/* Appends the operations of a file. */
static int add_operations(const char *path, struct npl_arena *arena, struct sim_energy_tables *tables,
			  struct npl_err *err)
{
	struct npl_csv csv;
	const struct sim_operation *added = load(&operations, path, arena, &csv, err);
	if (!added)
		return err->code;
	struct sim_operation *all = npl_arena_array(arena, (size_t)(tables->n_operations + csv.n_rows), sizeof *all);
	if (!all)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", csv.path);
	for (int i = 0; i < tables->n_operations; i++)
		all[i] = tables->operation[i];
	for (int i = 0; i < csv.n_rows; i++) {
		all[tables->n_operations + i] = added[i];
		all[tables->n_operations + i].path = csv.path;
		all[tables->n_operations + i].line = csv.row[i].line;
	}
	for (int i = tables->n_operations; i < tables->n_operations + csv.n_rows; i++)
		for (int k = 0; k < i; k++)
			if (all[i].process.node_nm == all[k].process.node_nm && is_same_row(&all[i], &all[k]))
				return npl_fail(err, NPL_EINPUT, "%s:%d: %s of %s at %g nm by %s is in %s:%d, too",
						all[i].path, all[i].line, all[i].action, all[i].component,
						all[i].process.node_nm, all[i].source, all[k].path, all[k].line);
	tables->operation = all;
	tables->n_operations += csv.n_rows;
	return 0;
}

/* Lists the kinds of cells and the nodes of the macros. */
static int list_srams(struct npl_arena *arena, struct sim_energy_tables *tables, struct npl_err *err)
{
	tables->sram_cells = npl_arena_array(arena, (size_t)tables->n_srams, sizeof *tables->sram_cells);
	tables->sram_node_nm = npl_arena_array(arena, (size_t)tables->n_srams, sizeof *tables->sram_node_nm);
	if (!tables->sram_cells || !tables->sram_node_nm)
		return npl_no_memory(err);
	for (const struct sim_sram_macro *run = tables->sram; run < tables->sram + tables->n_srams; run++) {
		int cells = 0, node = 0;
		while (cells < tables->n_sram_cells && strcmp(tables->sram_cells[cells], run->cells) != 0)
			cells++;
		while (node < tables->n_sram_nodes && tables->sram_node_nm[node] != run->node_nm)
			node++;
		if (cells == tables->n_sram_cells)
			tables->sram_cells[tables->n_sram_cells++] = run->cells;
		if (node == tables->n_sram_nodes)
			tables->sram_node_nm[tables->n_sram_nodes++] = run->node_nm;
	}
	return 0;
}

int sim_energy_tables_load(struct npl_arena *arena, const char *operations_path, struct sim_energy_tables *tables,
			   struct npl_err *err)
{
	struct npl_csv csv;
	*tables = (struct sim_energy_tables){0};
	if (add_operations(NULL, arena, tables, err) ||
	    (operations_path && add_operations(operations_path, arena, tables, err)))
		return err->code;
	tables->sram = load(&srams, NULL, arena, &csv, err);
	if (!tables->sram)
		return err->code;
	tables->n_srams = csv.n_rows;
	if (list_srams(arena, tables, err))
		return err->code;
	tables->scaling = load(&scalings, NULL, arena, &csv, err);
	if (!tables->scaling)
		return err->code;
	tables->n_scalings = csv.n_rows;
	return 0;
}

bool sim_table_is_path(const char *name)
{
	return strchr(name, '/') || npl_path_ends_in(name, ".csv");
}

int sim_calibrations_load(const char *name, struct npl_arena *arena, struct sim_calibration **rows, int *n,
			  struct npl_err *err)
{
	struct npl_csv csv;
	struct table table = calibrations;
	const bool is_path = sim_table_is_path(name);
	table.file = is_path ? NULL : npl_arena_printf(arena, "%s.csv", name);
	if (!is_path && !table.file)
		return npl_no_memory(err);
	*rows = load(&table, is_path ? name : NULL, arena, &csv, err);
	for (int i = 0; *rows && i < csv.n_rows; i++) {
		(*rows)[i].path = csv.path;
		(*rows)[i].line = csv.row[i].line;
	}
	*n = *rows ? csv.n_rows : 0;
	return *rows ? 0 : err->code;
}

/* The shipped tables of this process, and how their reading ended. */
static struct {
	pthread_once_t once;
	struct npl_arena arena;
	struct sim_energy_tables tables;
	struct npl_err err;
	int rc;
} shipped = {.once = PTHREAD_ONCE_INIT};

static void load_shipped(void)
{
	shipped.rc = sim_energy_tables_load(&shipped.arena, NULL, &shipped.tables, &shipped.err);
}

const struct sim_energy_tables *sim_shipped_tables(struct npl_err *err)
{
	pthread_once(&shipped.once, load_shipped);
	if (!shipped.rc)
		return &shipped.tables;
	npl_fail_as(err, &shipped.err);
	return NULL;
}
