/* SPDX-License-Identifier: MIT
 *
 * Code that the kernels of recurrent cells share: a thread's place among directions, samples and steps, the sums of a
 * gate, and ONNX's functions. F0, G0 and H0 are the functions of the first direction, F1, G1 and H1 those of the
 * second; S is the stored type of states, biases and Y. Everything is computed in float32. */
#include "common.cuh"

#ifndef F1
#define F1 F0
#endif
#ifndef G1
#define G1 G0
#endif
#ifndef H1
#define H1 H0
#endif

/* Element `unit` of one sample's state in one direction, at this step. */
struct cell {
	long long direction, sample, unit;
	long long place;  /* the step in its sequence; -1: the sequence has ended */
	long long input;  /* index of its first gate's sum in `inputs` */
	long long states; /* index of its first gate's sum in `states` */
	long long h;      /* the element's index in h */
	long long y;      /* the element's index in Y, which is 0 after the end of a sequence */
};

DEVICE struct cell cell_of(const struct cu_recurrent_args *a, position i)
{
	const position line = divide(i, a->hidden), direction = divide(line, a->batch);
	const long long hidden = a->hidden.by, batch = a->batch.by;
	struct cell c;
	c.direction = direction;
	c.sample = line - direction * (position)batch;
	c.unit = i - line * (position)hidden;
	long long length = a->lengths ? INPUT(i32, a->lengths)[c.sample] : a->steps;
	if ((length < 0 || length > a->steps) && a->fault)
		*TENSOR(i32, a->fault) = CU_FAULT_LENGTH;
	length = length < 0 ? 0 : length > a->steps ? a->steps : length;
	const int backwards = c.direction ? 1 : a->backwards;
	c.place = a->step >= length ? -1 : backwards ? length - 1 - a->step : a->step;
	const long long at = c.place < 0 ? a->step : c.place;
	const long long row = a->batch_first ? c.sample * a->steps + at : at * batch + c.sample;
	c.input = (row * a->directions + c.direction) * GATES * hidden + c.unit;
	c.states = line * a->state_row + c.unit;
	c.h = (a->batch_first ? c.sample * a->directions + c.direction : (long long)line) * hidden + c.unit;
	c.y = (a->batch_first ? row * a->directions + c.direction
			      : (at * a->directions + c.direction) * batch + c.sample) *
		      hidden +
	      c.unit;
	return c;
}

/* Returns the gate's part of X W. */
DEVICE float input_sum(const struct cu_recurrent_args *a, const struct cell *c, int gate)
{
	return a->inputs ? INPUT(f32, a->inputs)[c->input + gate * a->hidden.by] : 0;
}

/* Returns the gate's part of h R. */
DEVICE float state_sum(const struct cu_recurrent_args *a, const struct cell *c, int gate)
{
	return INPUT(f32, a->states)[c->states + gate * a->hidden.by];
}

/* Returns the gate's bias: for each direction B has GATES biases of W and then GATES of R. */
DEVICE float bias_of(const struct cu_recurrent_args *a, const struct cell *c, int gate)
{
	return a->bias ? LOAD(S, INPUT(S, a->bias)[(c->direction * 2 * GATES + gate) * a->hidden.by + c->unit]) : 0;
}

DEVICE float gate_sum(const struct cu_recurrent_args *a, const struct cell *c, int gate)
{
	return bias_of(a, c, gate) + bias_of(a, c, GATES + gate) + input_sum(a, c, gate) + state_sum(a, c, gate);
}

DEVICE float state_of(const struct cu_recurrent_args *a, const struct cell *c)
{
	return LOAD(S, INPUT(S, a->h)[c->h]);
}

/* Writes the new state to h and to Y, for a sequence that goes on. */
DEVICE void keep_state(const struct cu_recurrent_args *a, const struct cell *c, float h)
{
	TENSOR(S, a->h)[c->h] = KEEP(S, h);
	TENSOR(S, a->y)[c->y] = KEEP(S, h);
}

DEVICE void keep_nothing(const struct cu_recurrent_args *a, const struct cell *c)
{
	TENSOR(S, a->y)[c->y] = KEEP(S, 0);
}

#define CELL_FUNCTION(name, expression)                                                                                \
	DEVICE float name(float x, float alpha, float beta)                                                            \
	{                                                                                                              \
		(void)alpha;                                                                                           \
		(void)beta;                                                                                            \
		return expression;                                                                                     \
	}
CELL_FUNCTION(cell_sigmoid, logistic(x))
CELL_FUNCTION(cell_tanh, tanhf(x))
CELL_FUNCTION(cell_relu, x < 0 ? 0 : x)
CELL_FUNCTION(cell_affine, alpha *x + beta)
CELL_FUNCTION(cell_leaky_relu, x < 0 ? alpha * x : x)
CELL_FUNCTION(cell_thresholded_relu, x < alpha ? 0 : x)
CELL_FUNCTION(cell_scaled_tanh, alpha *tanhf(beta *x))
CELL_FUNCTION(cell_elu, x < 0 ? alpha * expm1f(x) : x)
CELL_FUNCTION(cell_softsign, x == INFINITE ? 1 : x == -INFINITE ? -1 : x / (1 + fabsf(x)))
CELL_FUNCTION(cell_softplus, x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)))
DEVICE float cell_hard_sigmoid(float x, float alpha, float beta)
{
	x = alpha * x + beta;
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Returns x within the clip, which bounds the argument of every function. */
DEVICE float clipped(const struct cu_recurrent_args *a, float x)
{
#ifdef CLIPS
	return x < -a->clip ? -a->clip : x > a->clip ? a->clip : x;
#else
	(void)a;
	return x;
#endif
}

#define ACTIVATION(name, number, first, second)                                                                        \
	DEVICE float name(const struct cu_recurrent_args *a, const struct cell *c, float x)                            \
	{                                                                                                              \
		x = clipped(a, x);                                                                                     \
		return c->direction ? second(x, a->alpha[1][number], a->beta[1][number])                               \
				    : first(x, a->alpha[0][number], a->beta[0][number]);                               \
	}
ACTIVATION(function_f, 0, F0, F1)
#ifdef G0
ACTIVATION(function_g, 1, G0, G1)
#endif
#ifdef H0
ACTIVATION(function_h, 2, H0, H1)
#endif
