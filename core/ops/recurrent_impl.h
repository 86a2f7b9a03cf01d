/* SPDX-License-Identifier: MIT
 *
 * The interface between recurrent.c, which goes through directions and steps, and recurrent_cells.c, which does one
 * step of each kind of cell.
 */
#ifndef NPULAB_CORE_OPS_RECURRENT_IMPL_H
#define NPULAB_CORE_OPS_RECURRENT_IMPL_H

#include "ops.h"
#include "recurrent.h"

#define RECURRENT_MAX_FUNCTIONS 3
#define RECURRENT_GATES         4

/* One direction of a network. `gates` is per cell: 1, 3 (z r h) or 4 (i o f c); columns are gates * hidden. */
struct recurrent_run {
	const struct npl_recurrent_attrs *options;
	const struct npl_cell_activation *activation;
	enum npl_op op;
	int64_t batch, hidden, gates;
	const struct npl_multiplier *multiplier; /* NULL: products are op_product's */
	const float *recurrence; /* R transposed: (hidden, columns); with a multiplier as it is: (columns, hidden) */
	const float *recurrent_bias; /* the bias of a GRU's hidden gate, where it does not go into the sums; or NULL */
	const float *peepholes;      /* i o f, hidden each, or NULL */
	const unsigned char *active; /* per sample: this step belongs to it */
	float *sums;                 /* (batch, columns): bias and X * W of the step */
	float *scratch;              /* (batch, hidden): scratch of a GRU */
	double *gate;                /* (RECURRENT_GATES, hidden): scratch for the gates of one sample */
	float *h, *c;                /* states (batch, hidden); those of the samples that run are replaced */
};

/* Gives the functions of a cell without `activations`; returns how many it has. */
int op_cell_functions(enum npl_op op, enum npl_cell_function functions[RECURRENT_MAX_FUNCTIONS]);
int64_t op_cell_gates(enum npl_op op);
/* Finds a function by its ONNX name, upper or lower case, with ONNX's default constants; false: there is none. */
bool op_cell_find(const char *name, struct npl_cell_activation *activation);
/* Returns how many constants a function has: 0, 1 (alpha) or 2. */
int op_cell_constants(enum npl_cell_function function);

int op_cell_step(struct recurrent_run *run, struct npl_err *err);

#endif
