/* SPDX-License-Identifier: MIT
 *
 * Private: the columns of a SCALE-Sim topology (docs/topologies.md). They are read by place, as SCALE-Sim reads them
 * (scalesim/topology_utils.py); their names only tell convolutions from products, and the meaning of columns after the
 * known ones. */
#ifndef NPULAB_FRONTEND_IMPORT_TOPOLOGY_COLUMNS_H
#define NPULAB_FRONTEND_IMPORT_TOPOLOGY_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/files/csv.h"

#define TOPOLOGY_CONV_COLUMNS  8 /* name, input height and width, filter height and width, channels, filters, stride */
#define TOPOLOGY_GEMM_COLUMNS  4 /* name, M, N, K */
#define TOPOLOGY_MAX_DIMENSION (1 << 24)
#define TOPOLOGY_EXTRA_COLUMNS 2 /* columns after these that have a meaning */

enum topology_extra_column {
	TOPOLOGY_EXTRA_UNKNOWN,
	TOPOLOGY_EXTRA_SPARSITY,
	TOPOLOGY_EXTRA_BATCH,
	TOPOLOGY_EXTRA_STRIDE_WIDTH
};

struct topology_table {
	struct npl_csv csv;
	struct npl_err *err;
	bool gemm; /* products, not convolutions */
	/* the meaning of the columns after the known ones, by their names */
	enum topology_extra_column extra_column[TOPOLOGY_EXTRA_COLUMNS];
	bool sparse;        /* a ratio other than 1:1 was ignored */
	char misnamed[200]; /* a warning: a column has another name than its place; empty: none has */
};

/* The values of a row after the known columns; 0: none. */
struct topology_extras {
	int64_t batch, stride_width;
};

/* Sets gemm, behind and misnamed from the first row. Returns NPL_EINPUT, with file and line, when it is not a row of
 * names, or when the first layer is neither a convolution nor a product. */
int topology_read_names(struct topology_table *t);

/* Checks that a row has a field in each column that is needed. This function and the next ones return NPL_EINPUT with
 * the column, without file and line. */
int topology_check_length(struct topology_table *t, const struct npl_csv_row *row);
/* Reads a row's number in a column, 1 to limit. */
int topology_number(struct topology_table *t, const struct npl_csv_row *row, int column, int64_t limit,
		    int64_t *number);
int topology_extras(struct topology_table *t, const struct npl_csv_row *row, struct topology_extras *extras);

/* Returns a field without the white space around it; a row that is too short has empty fields. */
const char *topology_field(const struct npl_csv_row *row, int column, size_t *length);
bool topology_is_blank(const struct npl_csv_row *row);

#endif
