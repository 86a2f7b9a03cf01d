/* SPDX-License-Identifier: MIT
 *
 * One step of an RNN, GRU or LSTM, as ONNX defines them. Products are in float, everything behind them in double, and the
 * states are rounded to float. The clip bounds the argument of every activation, that of a cell state's too. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "recurrent.h"

/* By enum npl_cell_function: the name, how many constants, and their values by default. */
static const struct {
	const char *name;
	int constants;
	float alpha, beta;
} functions[NPL_CELL_FUNCTIONS] = {
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

int op_cell_functions(enum npl_op op, enum npl_cell_function function[RECURRENT_MOST_FUNCTIONS])
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

double op_cell_activate(const struct npl_cell_activation *activation, double x)
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

/* Activation `which` (0 f, 1 g, 2 h) of an argument, clipped. */
static double activate(const struct recurrent_run *run, int which, double x)
{
	double clip = (double)run->options->clip;
	if (run->options->clips)
		x = x < -clip ? -clip : x > clip ? clip : x;
	return op_cell_activate(&run->activation[which], x);
}

/* to(batch, cols) += from(batch, hidden) times columns first..first+cols of the recurrence. */
static int add_product(const struct recurrent_run *run, const float *from, int64_t first, int64_t cols, float *to,
		       int64_t to_stride, struct npl_err *err)
{
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
	for (int64_t i = 0; i < run->hidden; i++)
		h[i] = (float)activate(run, 0, (double)sums[i]);
}

static void finish_lstm(const struct recurrent_run *run, const float *sums, float *h, float *c)
{
	int64_t n = run->hidden;
	const float *peepholes = run->peepholes;
	for (int64_t i = 0; i < n; i++) {
		double in = (double)sums[i], out = (double)sums[n + i], forget = (double)sums[2 * n + i];
		double before = (double)c[i];
		if (peepholes) {
			in += (double)peepholes[i] * before;
			forget += (double)peepholes[2 * n + i] * before;
		}
		in = activate(run, 0, in);
		forget = run->options->input_forget ? 1 - in : activate(run, 0, forget);
		double cell = forget * before + in * activate(run, 1, (double)sums[3 * n + i]);
		if (peepholes)
			out += (double)peepholes[n + i] * cell;
		c[i] = (float)cell;
		h[i] = (float)(activate(run, 0, out) * activate(run, 2, cell));
	}
}

/* h becomes (1 - z) * candidate + z * h. */
static void finish_gru(const struct recurrent_run *run, const float *sums, float *h)
{
	int64_t n = run->hidden;
	for (int64_t i = 0; i < n; i++) {
		double z = activate(run, 0, (double)sums[i]);
		h[i] = (float)((1 - z) * activate(run, 1, (double)sums[2 * n + i]) + z * (double)h[i]);
	}
}

/* The sums of a GRU's hidden gate, which the reset gate reaches before or after the product. */
static int reset_gru(struct recurrent_run *run, struct npl_err *err)
{
	int64_t n = run->hidden, columns = run->gates * n;
	bool after = run->options->linear_before_reset;
	for (int64_t b = 0; b < run->batch && after; b++)
		for (int64_t i = 0; i < n; i++)
			run->aside[b * n + i] = run->recurrent_bias ? run->recurrent_bias[i] : 0.0f;
	if (after && add_product(run, run->h, 2 * n, n, run->aside, n, err))
		return NPL_ENOMEM;
	for (int64_t b = 0; b < run->batch; b++) {
		float *sums = run->sums + b * columns, *aside = run->aside + b * n;
		for (int64_t i = 0; i < n; i++) {
			double reset = activate(run, 0, (double)sums[n + i]);
			if (after)
				sums[2 * n + i] = (float)((double)sums[2 * n + i] + reset * (double)aside[i]);
			else
				aside[i] = (float)(reset * (double)run->h[b * n + i]);
		}
	}
	return after ? 0 : add_product(run, run->aside, 2 * n, n, run->sums + 2 * n, columns, err);
}

int op_cell_step(struct recurrent_run *run, struct npl_err *err)
{
	int64_t n = run->hidden, columns = run->gates * n;
	bool gru = run->op == NPL_OP_GRU;
	if (add_product(run, run->h, 0, gru ? 2 * n : columns, run->sums, columns, err) || (gru && reset_gru(run, err)))
		return NPL_ENOMEM;
	for (int64_t b = 0; b < run->batch; b++) {
		const float *sums = run->sums + b * columns;
		if (!run->runs[b])
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
