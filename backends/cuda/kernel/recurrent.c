/* SPDX-License-Identifier: MIT
 *
 * Runs the steps of RNN, GRU and LSTM on the GPU, after the products that products/recurrent.c makes. */
#include "job.h"

static const char *const function_names[] = {
	[NPL_CELL_SIGMOID] = "sigmoid",
	[NPL_CELL_TANH] = "tanh",
	[NPL_CELL_RELU] = "relu",
	[NPL_CELL_AFFINE] = "affine",
	[NPL_CELL_LEAKY_RELU] = "leaky_relu",
	[NPL_CELL_THRESHOLDED_RELU] = "thresholded_relu",
	[NPL_CELL_SCALED_TANH] = "scaled_tanh",
	[NPL_CELL_HARD_SIGMOID] = "hard_sigmoid",
	[NPL_CELL_ELU] = "elu",
	[NPL_CELL_SOFTSIGN] = "softsign",
	[NPL_CELL_SOFTPLUS] = "softplus",
};
_Static_assert(sizeof function_names / sizeof *function_names == NPL_CELL_FUNCTIONS, "each function has a name");

/* Adds macros for the first n functions f, g and h of each direction, and sets their constants. */
static void add_functions(const struct cu_cells *cells, int n, struct cu_macros *macros, struct cu_recurrent_args *args)
{
	for (int d = 0; d < cells->directions; d++)
		for (int k = 0; k < n; k++) {
			const struct npl_cell_activation *a = &cells->attrs->activation[d][k];
			cu_macro(macros, "%c%d=cell_%s", "FGH"[k], d, function_names[a->function]);
			args->alpha[d][k] = a->alpha;
			args->beta[d][k] = a->beta;
		}
}

static int launch(const struct cu_job *job, const char *name, const struct cu_cells *cells, int functions,
		  const char *macro, int64_t step)
{
	const struct npl_recurrent_attrs *attrs = cells->attrs;
	const int64_t own_gates = cells->gates - (cells->candidates != 0);
	struct cu_macros macros = {""};
	struct cu_recurrent_args args = {.inputs = cells->inputs,
					 .states = cells->states,
					 .candidates = cells->candidates,
					 .bias = cells->bias,
					 .peepholes = cells->peepholes,
					 .lengths = cells->lengths,
					 .fault = cu_fault_of(job),
					 .h = cells->h,
					 .c = cells->c,
					 .reset = cells->reset,
					 .y = cells->y,
					 .count = cells->directions * cells->batch * cells->hidden,
					 .step = step,
					 .steps = cells->steps,
					 .state_row = own_gates * cells->hidden,
					 .hidden = cu_divisor_of(cells->hidden),
					 .batch = cu_divisor_of(cells->batch),
					 .directions = (int)cells->directions,
					 .batch_first = attrs->batch_first,
					 .backwards = attrs->direction == NPL_REVERSE,
					 .clip = attrs->clip};
	cu_macro(&macros, "S=%s", cu_type_name(cells->dtype));
	add_functions(cells, functions, &macros, &args);
	if (attrs->clips)
		cu_macro(&macros, "CLIPS=1");
	if (macro)
		cu_macro(&macros, "%s", macro);
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, name, &macros, &args, args.count);
}

int cu_kernel_cells(struct cu_kernels *kernels, const struct cu_cells *cells, int64_t step, void *stream,
		    struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	if (cells->op == NPL_OP_LSTM)
		return launch(&job, "recurrent_lstm", cells, 3, cells->attrs->input_forget ? "INPUT_FORGET=1" : NULL,
			      step);
	if (cells->op == NPL_OP_GRU)
		return launch(&job, "recurrent_gru", cells, 2, cells->candidates ? NULL : "RESET_LAST=1", step);
	return launch(&job, "recurrent_rnn", cells, 1, NULL, step);
}

int cu_kernel_reset(struct cu_kernels *kernels, const struct cu_cells *cells, int64_t step, void *stream,
		    struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	return launch(&job, "recurrent_gru_reset", cells, 1, NULL, step);
}
