/* SPDX-License-Identifier: MIT
 *
 * How many operations of the modelled host an operator is, where it is not one for each of its results. An operation is one
 * vector instruction over the eight lanes of which machines/host.yaml counts one a cycle. What is not in the table is one
 * operation per result: arithmetic as Add and Relu, and copies. */
#include <string.h>

#include "host.h"

/* Of single precision on Haswell. A division or square root keeps the divider busy for 14 cycles (VDIVPS, VSQRTPS of 256 bits: Fog,
 * "Instruction tables"). The functions are range reduction, a polynomial and putting together, as in the Cephes library:
 * exp 3 + 6 + 3; log 4 + 9 + 3; erf by Abramowitz and Stegun 7.1.26: a division and 2 for its argument, 5 of Horner's scheme, the
 * exp of a square, 4 for sign and rest. */
enum { DIVIDE = 14, EXP = 12, LOG = 16, POW = LOG + 1 + EXP, ERF = DIVIDE + 2 + 5 + 1 + EXP + 4 };
enum { SIGMOID = EXP + 2 + DIVIDE, TANH = EXP + 3 + DIVIDE };

/* ONNX names: some are of operators that come with other versions of the importer. */
static const struct {
	const char *op;
	int per_result, per_input;
	const char *why;
} work[] = {
	{"Abs", 1, 0, "a mask"},
	{"ArgMax", 0, 2, "a comparison and a choice of the index"},
	{"BatchNormalization", 2, 0, "scale and shift, folded per channel"},
	{"Clip", 2, 0, "two limits"},
	{"Div", DIVIDE, 0, "a division"},
	{"Elu", EXP + 4, 0, "exp, less one, times alpha, comparison, choice"},
	{"Erf", ERF, 0, "erf"},
	{"Exp", EXP, 0, "exp"},
	{"Gelu", ERF + 4, 0, "erf, its argument, plus one, times x, halved"},
	{"GroupNormalization", 7, 0, "mean, difference, variance (2), scale (2), shift"},
	{"GlobalAveragePool", 0, 1, "an addition for each input"},
	{"GRU", 2 * SIGMOID + TANH + 6, 0, "two gates, the candidate, their sums; products count as MACs"},
	{"HardSigmoid", 3, 0, "scale and shift, two limits"},
	{"HardSwish", 4, 0, "HardSigmoid, times x"},
	{"InstanceNormalization", 7, 0, "mean, difference, variance (2), scale (2), shift"},
	{"LayerNormalization", 7, 0, "mean, difference, variance (2), scale (2), shift"},
	{"LeakyRelu", 2, 0, "a product and a choice"},
	{"Log", LOG, 0, "log"},
	{"LogSoftmax", EXP + 4, 0, "maximum, difference, exp, sum, difference; a log for each row is not counted"},
	{"LRN", 1 + 2 + POW + 1, 0,
	 "square, scale and shift of the sum, its power, product; the window is added below"},
	{"LSTM", 3 * SIGMOID + 2 * TANH + 4, 0, "three gates, candidate and cell, their sums; products count as MACs"},
	{"Mish", EXP + LOG + 4 + TANH + 1, 0, "Softplus, Tanh of it, times x"},
	{"Pow", POW, 0, "log, product, exp"},
	{"PRelu", 2, 0, "a product and a choice"},
	{"Reciprocal", DIVIDE, 0, "a division"},
	{"ReduceMax", 0, 1, "a comparison for each input"},
	{"ReduceMean", 0, 1, "an addition for each input"},
	{"ReduceMin", 0, 1, "a comparison for each input"},
	{"ReduceSum", 0, 1, "an addition for each input"},
	{"RMSNormalization", 4, 0, "square, sum, scale (2)"},
	{"RotaryEmbedding", 3, 0, "two products and their sum"},
	{"Selu", EXP + 5, 0, "Elu, scaled"},
	{"Sigmoid", SIGMOID, 0, "sign, exp, plus one, division"},
	{"Softmax", EXP + 4, 0, "maximum, difference, exp, sum, product; a division for each row is not counted"},
	{"Softplus", EXP + LOG + 4, 0, "exp of -|x|, plus one, log, maximum, sum"},
	{"Sqrt", DIVIDE, 0, "a square root"},
	{"Tanh", TANH, 0, "doubled, exp, plus and minus one, division"},
};

static double area(const struct npl_window *window)
{
	double n = 1;
	for (int i = 0; i < NPL_SPATIAL; i++)
		n *= (double)window->kernel[i];
	return n;
}

double npl_host_operations(enum npl_op op, const struct npl_attrs *attrs, int n_in, int64_t taken, int64_t made)
{
	const char *name = npl_op_defs[op].name;
	double in = (double)taken, out = (double)made;
	if (!strcmp(name, "MaxPool") || !strcmp(name, "AveragePool")) /* one for each place of the window */
		return out * area(&attrs->window);
	if (!strcmp(name, "Sum") || !strcmp(name, "Mean") || !strcmp(name, "Max") || !strcmp(name, "Min"))
		return out * (n_in > 2 ? n_in - 1 : 1);
	for (size_t i = 0; i < sizeof work / sizeof *work; i++)
		if (!strcmp(work[i].op, name))
			return out * (work[i].per_result + (op == NPL_OP_LRN ? (double)attrs->size : 0)) +
			       in * work[i].per_input;
	return out;
}
