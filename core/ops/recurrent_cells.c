/* SPDX-License-Identifier: MIT
 *
 * One step of an RNN, GRU or LSTM, as ONNX defines them. Products are in float, everything after them in double, and
 * the states are rounded to float. The clip bounds the argument of every activation, that of a cell state's too. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "exact_many.h"
#include "recurrent_impl.h"

/* By enum npl_cell_function: the name, the number of constants, and their defaults. */
static const struct {
	const char *name;
	int constants;
	float alpha, beta;
} functions[] = {
	[NPL_CELL_SIGMOID] = {"Sigmoid", 0, 0, 0},
	[NPL_CELL_TANH] = {"Tanh", 0, 0, 0},
	[NPL_CELL_RELU] = {"Relu", 0, 0, 0},
	[NPL_CELL_AFFINE] = {"Affine", 2, 1, 0},
	[NPL_CELL_LEAKY_RELU] = {"LeakyRelu", 1, 0.01f, 0},
	[NPL_CELL_THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 1, 0},
	[NPL_CELL_SCALED_TANH] = {"ScaledTanh", 2, 1, 1},
	[NPL_CELL_HARD_SIGMOID] = {"HardSigmoid", 2, 0.2f, 0.5f},
	[NPL_CELL_ELU] = {"Elu", 1, 1, 0},
	[NPL_CELL_SOFTSIGN] = {"Softsign", 0, 0, 0},
	[NPL_CELL_SOFTPLUS] = {"Softplus", 0, 0, 0},
};
_Static_assert(sizeof functions / sizeof *functions == NPL_CELL_FUNCTIONS, "each function has a row");

int op_cell_functions(enum npl_op op, enum npl_cell_function function[RECURRENT_MAX_FUNCTIONS])
{
	function[0] = op == NPL_OP_RNN ? NPL_CELL_TANH : NPL_CELL_SIGMOID;
	function[1] = function[2] = NPL_CELL_TANH;
	return op == NPL_OP_RNN ? 1 : op == NPL_OP_GRU ? 2 : 3;
}

int64_t op_cell_gates(enum npl_op op)
{
	return op == NPL_OP_RNN ? 1 : op == NPL_OP_GRU ? 3 : 4;
}

bool op_cell_find(const char *name, struct npl_cell_activation *activation)
{
	for (int f = 0; f < NPL_CELL_FUNCTIONS; f++)
		if (!strcasecmp(functions[f].name, name)) {
			*activation = (struct npl_cell_activation){(enum npl_cell_function)f, functions[f].alpha,
								   functions[f].beta};
			return true;
		}
	return false;
}

int op_cell_constants(enum npl_cell_function function)
{
	return functions[function].constants;
}

static double activate_cell(const struct npl_cell_activation *activation, double x)
{
	double alpha = (double)activation->alpha, beta = (double)activation->beta;
	switch (activation->function) {
	case NPL_CELL_SIGMOID:
		return op_logistic(x);
	case NPL_CELL_TANH:
		return op_tanh(x);
	case NPL_CELL_RELU:
		return x < 0 ? 0 : x;
	case NPL_CELL_AFFINE:
		return alpha * x + beta;
	case NPL_CELL_LEAKY_RELU:
		return x < 0 ? alpha * x : x;
	case NPL_CELL_THRESHOLDED_RELU:
		return x < alpha ? 0 : x;
	case NPL_CELL_SCALED_TANH:
		return alpha * op_tanh(beta * x);
	case NPL_CELL_HARD_SIGMOID:
		x = alpha * x + beta;
		return x < 0 ? 0 : x > 1 ? 1 : x;
	case NPL_CELL_ELU:
		return x < 0 ? alpha * op_expm1(x) : x;
	case NPL_CELL_SOFTSIGN:
		return x == INFINITY ? 1 : x == -INFINITY ? -1 : x / (1 + fabs(x));
	case NPL_CELL_SOFTPLUS:
		return (x > 0 ? x : 0) + (x != x ? x : op_log1p(op_exp(-fabs(x))));
	default:
		return x;
	}
}

/* Returns the activation function of a slot (0 f, 1 g, 2 h) of an argument, clipped. */
static double activate(const struct recurrent_run *run, int slot, double x)
{
	double clip = (double)run->options->clip;
	if (run->options->clips)
		x = x < -clip ? -clip : x > clip ? clip : x;
	return activate_cell(&run->activation[slot], x);
}

/* Does the same to n arguments in place; each result is that of activate_cell, bit for bit. */
static void activate_many(const struct recurrent_run *run, int slot, double *x, int64_t n)
{
	const enum npl_cell_function function = run->activation[slot].function;
	const double clip = (double)run->options->clip;
	if (function != NPL_CELL_SIGMOID && function != NPL_CELL_TANH) {
		for (int64_t i = 0; i < n; i++)
			x[i] = activate(run, slot, x[i]);
		return;
	}
	for (int64_t i = 0; i < n && run->options->clips; i++)
		x[i] = x[i] < -clip ? -clip : x[i] > clip ? clip : x[i];
	op_exact_many(function == NPL_CELL_TANH ? OP_MANY_TANH : OP_MANY_LOGISTIC, x, x, n);
}

/* Adds from(batch, hidden) times columns first to first + cols - 1 of the recurrence to to(batch, cols). */
static int add_product(const struct recurrent_run *run, const float *from, int64_t first, int64_t cols, float *to,
		       int64_t to_stride, struct npl_err *err)
{
	if (run->multiplier) {
		run->multiplier->add(run->multiplier->context, run->batch, cols, run->hidden, from,
				     run->recurrence + first * run->hidden, to, to_stride);
		return 0;
	}
	struct op_product product = {.rows = run->batch,
				     .cols = cols,
				     .depth = run->hidden,
				     .a = from,
				     .a_stride = run->hidden,
				     .y = to,
				     .y_stride = to_stride};
	struct op_matrix matrix = {.data = run->recurrence + first, .stride = run->gates * run->hidden};
	return op_product_matrix(&product, &matrix, err);
}

static void finish_rnn(const struct recurrent_run *run, const float *sums, float *h)
{
	double *x = run->gate;
	for (int64_t i = 0; i < run->hidden; i++)
		x[i] = (double)sums[i];
	activate_many(run, 0, x, run->hidden);
	for (int64_t i = 0; i < run->hidden; i++)
		h[i] = (float)x[i];
}

static void finish_lstm(const struct recurrent_run *run, const float *sums, float *h, float *c)
{
	const int64_t n = run->hidden;
	const float *peepholes = run->peepholes;
	double *in = run->gate, *forget = in + n, *cell = forget + n, *out = cell + n;
	for (int64_t i = 0; i < n; i++) {
		in[i] = (double)sums[i];
		forget[i] = (double)sums[2 * n + i];
		cell[i] = (double)sums[3 * n + i];
		out[i] = (double)sums[n + i];
		if (!peepholes)
			continue;
		in[i] += (double)peepholes[i] * (double)c[i];
		forget[i] += (double)peepholes[2 * n + i] * (double)c[i];
	}
	activate_many(run, 0, in, n);
	activate_many(run, 1, cell, n);
	if (run->options->input_forget)
		for (int64_t i = 0; i < n; i++)
			forget[i] = 1 - in[i];
	else
		activate_many(run, 0, forget, n);
	for (int64_t i = 0; i < n; i++) {
		cell[i] = forget[i] * (double)c[i] + in[i] * cell[i];
		if (peepholes)
			out[i] += (double)peepholes[n + i] * cell[i];
		c[i] = (float)cell[i];
	}
	activate_many(run, 0, out, n);
	activate_many(run, 2, cell, n);
	for (int64_t i = 0; i < n; i++)
		h[i] = (float)(out[i] * cell[i]);
}

/* Replaces h by (1 - z) * candidate + z * h. */
static void finish_gru(const struct recurrent_run *run, const float *sums, float *h)
{
	const int64_t n = run->hidden;
	double *z = run->gate, *candidate = z + n;
	for (int64_t i = 0; i < n; i++) {
		z[i] = (double)sums[i];
		candidate[i] = (double)sums[2 * n + i];
	}
	activate_many(run, 0, z, n);
	activate_many(run, 1, candidate, n);
	for (int64_t i = 0; i < n; i++)
		h[i] = (float)((1 - z[i]) * candidate[i] + z[i] * (double)h[i]);
}

/* Completes the sums of a GRU's hidden gate, which the reset gate multiplies before or after the product. */
static int reset_gru(struct recurrent_run *run, struct npl_err *err)
{
	int64_t n = run->hidden, columns = run->gates * n;
	bool is_after = run->options->linear_before_reset;
	for (int64_t b = 0; b < run->batch && is_after; b++)
		for (int64_t i = 0; i < n; i++)
			run->scratch[b * n + i] = run->recurrent_bias ? run->recurrent_bias[i] : 0.0f;
	if (is_after && add_product(run, run->h, 2 * n, n, run->scratch, n, err))
		return NPL_ENOMEM;
	for (int64_t b = 0; b < run->batch; b++) {
		float *sums = run->sums + b * columns, *hidden_sums = run->scratch + b * n;
		double *reset = run->gate;
		for (int64_t i = 0; i < n; i++)
			reset[i] = (double)sums[n + i];
		activate_many(run, 0, reset, n);
		for (int64_t i = 0; i < n; i++)
			if (is_after)
				sums[2 * n + i] = (float)((double)sums[2 * n + i] + reset[i] * (double)hidden_sums[i]);
			else
				hidden_sums[i] = (float)(reset[i] * (double)run->h[b * n + i]);
	}
	return is_after ? 0 : add_product(run, run->scratch, 2 * n, n, run->sums + 2 * n, columns, err);
}

int op_cell_step(struct recurrent_run *run, struct npl_err *err)
{
	int64_t n = run->hidden, columns = run->gates * n;
	bool gru = run->op == NPL_OP_GRU;
	if (add_product(run, run->h, 0, gru ? 2 * n : columns, run->sums, columns, err) || (gru && reset_gru(run, err)))
		return NPL_ENOMEM;
	for (int64_t b = 0; b < run->batch; b++) {
		const float *sums = run->sums + b * columns;
		if (!run->active[b])
			continue;
		if (gru)
			finish_gru(run, sums, run->h + b * n);
		else if (run->op == NPL_OP_LSTM)
			finish_lstm(run, sums, run->h + b * n, run->c + b * n);
		else
			finish_rnn(run, sums, run->h + b * n);
	}
	return 0;
}
