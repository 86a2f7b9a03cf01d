/* SPDX-License-Identifier: MIT
 *
 * Loads the tables of energies/ (tables.h). */
#include "tables.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/files/csv.h"
#include "core/files/data_names.h"

/* A column of a table: where a row's field goes. */
struct column {
	const char *name;
	enum { TEXT, NUMBER, OPTIONAL_NUMBER, INTEGER, SMALL_INTEGER } kind;
	size_t offset;
};

static int refuse(const struct npl_csv *csv, int row, const char *column, const char *expected, struct npl_err *err)
{
	const int i = npl_csv_column(csv, column, err);
	return npl_fail(err, NPL_EINPUT, "%s:%d: %s is '%s', expected %s", csv->path, csv->row[row].line, column,
			i >= 0 ? csv->row[row].field[i] : "", expected);
}

static int read_field(const struct npl_csv *csv, int row, int index, const struct column *column, bool may_be_negative,
		      char *to, struct npl_err *err)
{
	const char *text = csv->row[row].field[index];
	double number = NAN;
	if (column->kind == TEXT) {
		if (!*text)
			return refuse(csv, row, column->name, "a word", err);
		*(const char **)(void *)(to + column->offset) = text;
		return 0;
	}
	if (npl_csv_number(csv, row, index, &number, err))
		return err->code;
	if (isnan(number) && column->kind != OPTIONAL_NUMBER)
		return refuse(csv, row, column->name, "a number", err);
	if (number < 0 && !may_be_negative)
		return refuse(csv, row, column->name, "0 or more", err);
	if (column->kind == NUMBER || column->kind == OPTIONAL_NUMBER)
		*(double *)(void *)(to + column->offset) = number;
	else if (!(number >= 1 && number <= 1e15 && number == floor(number)))
		return refuse(csv, row, column->name, "a whole number from 1 on", err);
	else if (column->kind == INTEGER)
		*(int64_t *)(void *)(to + column->offset) = (int64_t)number;
	else
		*(int *)(void *)(to + column->offset) = (int)number;
	return 0;
}

/* Reads a table. Returns its rows, of `bytes` each; NULL: an error. Numbers may be negative where the table is of
 * polynomials. */
static void *read_table(const char *path, const struct column *columns, size_t n_columns, size_t bytes,
			bool may_be_negative, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err)
{
	if (npl_csv_load(path, arena, csv, err))
		return NULL;
	char *rows = npl_arena_array(arena, (size_t)csv->n_rows + 1, bytes);
	if (!rows)
		npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	for (size_t c = 0; c < n_columns && rows; c++) {
		const int index = npl_csv_column(csv, columns[c].name, err);
		if (index < 0)
			return NULL;
		for (int i = 0; i < csv->n_rows; i++)
			if (read_field(csv, i, index, &columns[c], may_be_negative, rows + (size_t)i * bytes, err))
				return NULL;
	}
	if (rows && csv->n_rows)
		return rows;
	if (rows)
		npl_fail(err, NPL_EINPUT, "%s: no rows, expected one at least", path);
	return NULL;
}

#define COLUMN(type, kind, name, member)                                                                               \
	{                                                                                                              \
		name, kind, offsetof(struct type, member)                                                              \
	}

/* Returns the rows of a table of operations; NULL: an error. */
static struct sim_operation *load_operations(const char *path, struct npl_arena *arena, int *n, struct npl_err *err)
{
	static const struct column columns[] = {
		COLUMN(sim_operation, TEXT, "component", component),
		COLUMN(sim_operation, TEXT, "action", action),
		COLUMN(sim_operation, NUMBER, "pj", pj),
		COLUMN(sim_operation, NUMBER, "node_nm", process.node_nm),
		COLUMN(sim_operation, NUMBER, "volts", process.volts),
		COLUMN(sim_operation, OPTIONAL_NUMBER, "area_um2", area_um2),
		COLUMN(sim_operation, OPTIONAL_NUMBER, "leakage_uw", leakage_uw),
		COLUMN(sim_operation, TEXT, "source", source),
	};
	struct npl_csv csv;
	struct sim_operation *rows = read_table(path, columns, sizeof columns / sizeof *columns, sizeof *rows, false,
						arena, &csv, err);
	if (!rows)
		return NULL;
	*n = csv.n_rows;
	for (int i = 0; i < *n; i++) {
		rows[i].path = csv.path;
		rows[i].line = csv.row[i].line;
		const char *zero = !(rows[i].pj > 0) ? "pj" : !(rows[i].process.node_nm > 0) ? "node_nm" : NULL;
		if (!zero)
			continue;
		refuse(&csv, i, zero, "more than 0", err);
		return NULL;
	}
	return rows;
}

/* Appends the operations of a user's table. */
static int add_operations(const char *path, struct npl_arena *arena, struct sim_energy_tables *tables,
			  struct npl_err *err)
{
	int n = 0;
	const struct sim_operation *added = load_operations(path, arena, &n, err);
	if (!added)
		return err->code;
	struct sim_operation *all = npl_arena_array(arena, (size_t)(tables->n_operations + n), sizeof *all);
	if (!all)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	for (int i = 0; i < tables->n_operations; i++)
		all[i] = tables->operation[i];
	for (int i = 0; i < n; i++)
		all[tables->n_operations + i] = added[i];
	tables->operation = all;
	tables->n_operations += n;
	return 0;
}

/* Finds the path of a table that ships. */
static int shipped_path(const char *name, char *path, size_t n, struct npl_err *err)
{
	if (npl_data_dir("energies", path, n, err))
		return err->code;
	const size_t length = strlen(path);
	if ((size_t)snprintf(path + length, n - length, "/%s", name) < n - length)
		return 0;
	return npl_fail(err, NPL_EINPUT, "the path of %s is too long", name);
}

/* Returns the rows of a table that ships; NULL: an error. */
static void *load_shipped(const char *name, const struct column *columns, size_t n_columns, size_t bytes,
			  bool may_be_negative, struct npl_arena *arena, int *n, struct npl_err *err)
{
	char path[4096];
	struct npl_csv csv = {0};
	void *rows = NULL;
	if (!shipped_path(name, path, sizeof path, err))
		rows = read_table(path, columns, n_columns, bytes, may_be_negative, arena, &csv, err);
	*n = csv.n_rows;
	return rows;
}

static const struct column sram_columns[] = {
	COLUMN(sim_sram_run, SMALL_INTEGER, "ports", ports), COLUMN(sim_sram_run, INTEGER, "width_bits", width_bits),
	COLUMN(sim_sram_run, INTEGER, "bytes", bytes),       COLUMN(sim_sram_run, NUMBER, "node_nm", node_nm),
	COLUMN(sim_sram_run, TEXT, "cells", cells),          COLUMN(sim_sram_run, NUMBER, "read_pj", read_pj),
	COLUMN(sim_sram_run, NUMBER, "write_pj", write_pj),  COLUMN(sim_sram_run, NUMBER, "leakage_mw", leakage_mw),
	COLUMN(sim_sram_run, NUMBER, "area_mm2", area_mm2),  COLUMN(sim_sram_run, NUMBER, "access_ns", access_ns),
};

static const struct column scaling_columns[] = {
	COLUMN(sim_scaling, NUMBER, "node_nm", node_nm),
	COLUMN(sim_scaling, TEXT, "process", process),
	COLUMN(sim_scaling, NUMBER, "a2", a2),
	COLUMN(sim_scaling, NUMBER, "a1", a1),
	COLUMN(sim_scaling, NUMBER, "a0", a0),
	COLUMN(sim_scaling, NUMBER, "area", area),
	COLUMN(sim_scaling, NUMBER, "least_volts", least_volts),
	COLUMN(sim_scaling, NUMBER, "most_volts", most_volts),
};

int sim_energy_tables_load(struct npl_arena *arena, const char *operations_path, struct sim_energy_tables *tables,
			   struct npl_err *err)
{
	char path[4096];
	*tables = (struct sim_energy_tables){0};
	if (shipped_path("operations.csv", path, sizeof path, err))
		return err->code;
	tables->operation = load_operations(path, arena, &tables->n_operations, err);
	if (!tables->operation || (operations_path && add_operations(operations_path, arena, tables, err)))
		return err->code;
	tables->sram = load_shipped("sram.csv", sram_columns, sizeof sram_columns / sizeof *sram_columns,
				    sizeof *tables->sram, false, arena, &tables->n_srams, err);
	if (!tables->sram)
		return err->code;
	tables->scaling = load_shipped("scaling.csv", scaling_columns, sizeof scaling_columns / sizeof *scaling_columns,
				       sizeof *tables->scaling, true, arena, &tables->n_scalings, err);
	return tables->scaling ? 0 : err->code;
}
