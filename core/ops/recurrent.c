/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM over whole sequences: X * W of all steps is one matrix product, H * R follows step by step
 * (recurrent_cells.c). A sample that is shorter than the longest stops at its length: its states do not change any
 * more, its Y is zero from there on, and the backward direction begins at its own end. MACs are those of the two
 * products over all steps. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "recurrent_impl.h"

enum { X, W, R, B, SEQUENCE_LENS, INITIAL_H, INITIAL_C, P, INPUTS };

static int directions_of(const struct npl_recurrent_attrs *r)
{
	return r->direction == NPL_BIDIRECTIONAL ? 2 : 1;
}

/* Takes the next constant off a list, if there is one left. */
static void take(const struct npl_attr *list, int64_t *index, float *constant)
{
	if (list && *index < list->n)
		*constant = list->floats[(*index)++];
}

/* Reads the functions of all directions. The lists give constants, one after the other, to the functions that have
 * any. */
static int read_activations(struct npl_attr_list *list, enum npl_op op, struct npl_recurrent_attrs *r,
			    struct npl_err *err)
{
	enum npl_cell_function fallback[RECURRENT_MAX_FUNCTIONS];
	int n_functions = op_cell_functions(op, fallback), n = n_functions * directions_of(r);
	static const char *const defaults[] = {[NPL_CELL_SIGMOID] = "Sigmoid", [NPL_CELL_TANH] = "Tanh"};
	struct npl_attr *names, *alpha, *beta;
	int64_t alphas = 0, betas = 0;
	if (op_attr_find(list, "activations", NPL_ATTR_STRINGS, &names, err) ||
	    op_attr_find(list, "activation_alpha", NPL_ATTR_FLOATS, &alpha, err) ||
	    op_attr_find(list, "activation_beta", NPL_ATTR_FLOATS, &beta, err))
		return NPL_EINPUT;
	if (names && names->n != n)
		return npl_fail(err, NPL_EINPUT, "attribute activations has %lld entries, expected %d",
				(long long)names->n, n);
	for (int i = 0; i < n; i++) {
		struct npl_cell_activation *a = &r->activation[i / n_functions][i % n_functions];
		const char *name = names ? names->strings[i] : defaults[fallback[i % n_functions]];
		if (!op_cell_find(name, a))
			return npl_fail(err, NPL_EINPUT, "attribute activations: '%s' is not supported", name);
		if (op_cell_constants(a->function) > 0)
			take(alpha, &alphas, &a->alpha);
		if (op_cell_constants(a->function) > 1)
			take(beta, &betas, &a->beta);
	}
	return 0;
}

static int read_clip(struct npl_attr_list *list, struct npl_recurrent_attrs *r, struct npl_err *err)
{
	struct npl_attr *clip;
	if (op_attr_find(list, "clip", NPL_ATTR_FLOAT, &clip, err))
		return NPL_EINPUT;
	r->clips = clip != NULL;
	r->clip = clip ? clip->f : 0;
	if (clip && !(clip->f > 0))
		return npl_fail(err, NPL_EINPUT, "attribute clip must be positive, got %g", (double)clip->f);
	return 0;
}

OP_ATTRS(op_recurrent_attrs)
{
	static const char *const directions[] = {
		[NPL_FORWARD] = "forward", [NPL_REVERSE] = "reverse", [NPL_BIDIRECTIONAL] = "bidirectional", NULL};
	struct npl_recurrent_attrs *r = &out->recurrent;
	*r = (struct npl_recurrent_attrs){0};
	if (op_before(out, 7))
		op_attr_accept(list, "output_sequence"); /* Y is there where the node names it */
	if (op_attr_choice(list, "direction", directions, NPL_FORWARD, &r->direction, err) ||
	    op_attr_count(list, "hidden_size", &r->hidden, err) || read_clip(list, r, err) ||
	    (!op_before(out, 14) && op_attr_flag(list, "layout", false, &r->batch_first, err)) ||
	    (out->op == NPL_OP_LSTM && op_attr_flag(list, "input_forget", false, &r->input_forget, err)) ||
	    (out->op == NPL_OP_GRU && op_attr_flag(list, "linear_before_reset", false, &r->linear_before_reset, err)))
		return NPL_EINPUT;
	return read_activations(list, out->op, r, err);
}

/* The sizes of a network. */
struct sizes {
	int64_t steps, batch, input, hidden, gates, directions;
};

static struct sizes sizes_of(const struct npl_attrs *attrs, const struct npl_tensor *const *in)
{
	const struct npl_shape *x = &in[X]->shape;
	bool batch_first = attrs->recurrent.batch_first;
	return (struct sizes){.steps = x->dim[batch_first],
			      .batch = x->dim[!batch_first],
			      .input = x->dim[2],
			      .hidden = in[R]->shape.dim[2],
			      .gates = op_cell_gates(attrs->op),
			      .directions = directions_of(&attrs->recurrent)};
}

static struct npl_shape state_shape(const struct npl_attrs *attrs, const struct sizes *s)
{
	return attrs->recurrent.batch_first ? npl_shape_of(3, s->batch, s->directions, s->hidden)
					    : npl_shape_of(3, s->directions, s->batch, s->hidden);
}

static const struct npl_tensor *input_of(const struct npl_tensor *const *in, int n_in, int k)
{
	return k < n_in ? in[k] : NULL;
}

static int check_input(const struct npl_tensor *const *in, int n_in, int k, const struct npl_shape *expected,
		       struct npl_err *err)
{
	static const char *const names[INPUTS] = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};
	const struct npl_tensor *tensor = input_of(in, n_in, k);
	enum npl_dtype dtype = k == SEQUENCE_LENS ? NPL_I32 : NPL_F32;
	if (!tensor)
		return 0;
	if (tensor->dtype != dtype || !npl_shape_equal(&tensor->shape, expected))
		return npl_fail(err, NPL_EINPUT, "the input %s is %s %s, expected %s %s", names[k],
				npl_dtype_name(tensor->dtype), OP_TEXT(&tensor->shape), npl_dtype_name(dtype),
				OP_TEXT(expected));
	return 0;
}

static int check_inputs(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
			const struct sizes *s, struct npl_err *err)
{
	int64_t columns;
	if (__builtin_mul_overflow(s->gates * 2, s->hidden, &columns))
		return npl_fail(err, NPL_EINPUT, "a hidden size of %lld is impossible", (long long)s->hidden);
	columns /= 2;
	const struct npl_shape state = state_shape(attrs, s);
	const struct npl_shape expected[INPUTS] = {[X] = in[X]->shape,
						   [W] = npl_shape_of(3, s->directions, columns, s->input),
						   [R] = npl_shape_of(3, s->directions, columns, s->hidden),
						   [B] = npl_shape_of(2, s->directions, 2 * columns),
						   [SEQUENCE_LENS] = npl_shape_of(1, s->batch),
						   [INITIAL_H] = state,
						   [INITIAL_C] = state,
						   [P] = npl_shape_of(2, s->directions, 3 * s->hidden)};
	for (int k = 0; k < INPUTS; k++)
		if (check_input(in, n_in, k, &expected[k], err))
			return NPL_EINPUT;
	return 0;
}

OP_SHAPE(op_recurrent_shape)
{
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (in[X]->shape.rank != 3 || in[R]->shape.rank != 3)
		return npl_fail(err, NPL_EINPUT, "the inputs X %s and R %s must have three dimensions",
				OP_TEXT(&in[X]->shape), OP_TEXT(&in[R]->shape));
	const struct sizes s = sizes_of(attrs, in);
	if (attrs->recurrent.hidden && attrs->recurrent.hidden != s.hidden)
		return npl_fail(err, NPL_EINPUT, "hidden_size says %lld where the input R is %s",
				(long long)attrs->recurrent.hidden, OP_TEXT(&in[R]->shape));
	if (check_inputs(attrs, in, n_in, &s, err))
		return NPL_EINPUT;
	struct npl_shape all = attrs->recurrent.batch_first ? npl_shape_of(4, s.batch, s.steps, s.directions, s.hidden)
							    : npl_shape_of(4, s.steps, s.directions, s.batch, s.hidden);
	for (int k = 0; k < n_out; k++) {
		out[k].dtype = NPL_F32;
		out[k].shape = k ? state_shape(attrs, &s) : all;
	}
	return op_output_fits(&all, s.gates * (s.input + s.hidden), err);
}

OP_MACS(op_recurrent_macs)
{
	const struct sizes s = sizes_of(attrs, in);
	return (uint64_t)(s.directions * s.steps * s.batch) * (uint64_t)(s.gates * s.hidden) *
	       (uint64_t)(s.input + s.hidden);
}

/* Memory of one run besides its tensors; release() frees it. */
struct buffers {
	float *products;       /* bias and X * W: a row of columns for each of X */
	float *recurrence;     /* R transposed; not with a multiplier */
	float *sums, *scratch; /* the memory of one step */
	double *gate;          /* the gates of one sample */
	float *h, *c;          /* (batch, hidden) */
	unsigned char *runs;   /* per sample: whether the step belongs to it */
};

static void release(struct buffers *b)
{
	free(b->products);
	free(b->recurrence);
	free(b->sums);
	free(b->scratch);
	free(b->gate);
	free(b->h);
	free(b->c);
	free(b->runs);
}

static float *floats(int64_t rows, int64_t columns)
{
	size_t count;
	if (!npl_mul_size((size_t)rows, (size_t)columns, &count))
		return NULL;
	return calloc(count + 1, sizeof(float));
}

static bool acquire(struct buffers *b, const struct sizes *s, bool turned)
{
	int64_t columns = s->gates * s->hidden;
	b->products = floats(s->steps * s->batch, columns);
	b->recurrence = floats(turned ? s->hidden : 1, columns);
	b->sums = floats(s->batch, columns);
	b->scratch = floats(s->batch, s->hidden);
	b->gate = calloc((size_t)s->hidden * RECURRENT_GATES + 1, sizeof *b->gate); /* `recurrence` is larger */
	b->h = floats(s->batch, s->hidden);
	b->c = floats(s->batch, s->hidden);
	b->runs = calloc((size_t)s->batch + 1, 1);
	return b->products && b->recurrence && b->sums && b->scratch && b->gate && b->runs;
}

/* One call of the operator. */
struct call {
	const struct npl_multiplier *multiplier; /* NULL: op_product */
	const struct npl_attrs *attrs;
	const struct npl_tensor *const *in;
	int n_in;
	struct npl_tensor *out;
	int n_out;
	struct sizes s;
	struct buffers b;
};

static float *output_of(const struct call *call, int k)
{
	return k < call->n_out ? call->out[k].data : NULL;
}

static const float *data_of(const struct call *call, int k)
{
	const struct npl_tensor *tensor = input_of(call->in, call->n_in, k);
	return tensor ? tensor->data : NULL;
}

/* Returns the offset of the sample's part in a state tensor. */
static int64_t state_at(const struct call *call, int64_t direction, int64_t sample)
{
	const struct sizes *s = &call->s;
	return (call->attrs->recurrent.batch_first ? sample * s->directions + direction
						   : direction * s->batch + sample) *
	       s->hidden;
}

static void load_state(const struct call *call, int k, int64_t direction, float *state)
{
	const struct sizes *s = &call->s;
	const float *from = data_of(call, k);
	for (int64_t sample = 0; sample < s->batch; sample++, state += s->hidden)
		for (int64_t i = 0; i < s->hidden; i++)
			state[i] = from ? from[state_at(call, direction, sample) + i] : 0.0f;
}

static void store_state(const struct call *call, int k, int64_t direction, const float *state)
{
	const struct sizes *s = &call->s;
	float *to = output_of(call, k);
	for (int64_t sample = 0; sample < s->batch && to; sample++, state += s->hidden)
		memcpy(to + state_at(call, direction, sample), state, (size_t)s->hidden * sizeof *state);
}

/* Computes bias and X * W of all steps. A GRU that is linear before the reset keeps the recurrent bias of its last gate
 * apart. */
static int multiply_inputs(const struct call *call, int64_t direction, struct npl_err *err)
{
	const struct sizes *s = &call->s;
	int64_t rows = s->steps * s->batch, columns = s->gates * s->hidden;
	const float *bias = data_of(call, B);
	if (bias)
		bias += direction * 2 * columns;
	int64_t summed = call->attrs->recurrent.linear_before_reset ? 2 * s->hidden : columns;
	for (int64_t row = 0; row < rows; row++)
		for (int64_t i = 0; i < columns; i++)
			call->b.products[row * columns + i] = bias ? bias[i] + (i < summed ? bias[columns + i] : 0.0f)
								   : 0.0f;
	const float *matrix = data_of(call, W) + direction * columns * s->input;
	if (call->multiplier) {
		call->multiplier->add(call->multiplier->context, rows, columns, s->input, data_of(call, X), matrix,
				      call->b.products, columns);
		return 0;
	}
	struct op_product product = {.rows = rows,
				     .cols = columns,
				     .depth = s->input,
				     .a = data_of(call, X),
				     .a_stride = s->input,
				     .y = call->b.products,
				     .y_stride = columns};
	struct op_matrix weights = {.data = matrix, .stride = s->input, .transposed = true};
	return op_product_matrix(&product, &weights, err);
}

static int64_t length_of(const struct call *call, int64_t sample)
{
	const struct npl_tensor *lengths = input_of(call->in, call->n_in, SEQUENCE_LENS);
	return lengths ? ((const int32_t *)lengths->data)[sample] : call->s.steps;
}

/* Returns the place in its sequence that a sample has reached at step number `step`; -1: its sequence has ended. */
static int64_t place_of(const struct call *call, int64_t sample, int64_t step, bool backwards)
{
	int64_t length = length_of(call, sample);
	return step >= length ? -1 : backwards ? length - 1 - step : step;
}

static int run_step(const struct call *call, struct recurrent_run *run, int64_t direction, int64_t step, bool backwards,
		    struct npl_err *err)
{
	const struct sizes *s = &call->s;
	bool batch_first = call->attrs->recurrent.batch_first;
	int64_t columns = s->gates * s->hidden;
	float *y = output_of(call, 0);
	for (int64_t sample = 0; sample < s->batch; sample++) {
		int64_t index = place_of(call, sample, step, backwards);
		call->b.runs[sample] = index >= 0;
		if (index >= 0)
			memcpy(run->sums + sample * columns,
			       call->b.products +
				       (batch_first ? sample * s->steps + index : index * s->batch + sample) * columns,
			       (size_t)columns * sizeof(float));
	}
	if (op_cell_step(run, err))
		return NPL_ENOMEM;
	for (int64_t sample = 0; sample < s->batch && y; sample++) {
		int64_t index = place_of(call, sample, step, backwards);
		int64_t row = batch_first ? (sample * s->steps + index) * s->directions + direction
					  : (index * s->directions + direction) * s->batch + sample;
		if (index >= 0)
			memcpy(y + row * s->hidden, run->h + sample * s->hidden, (size_t)s->hidden * sizeof *y);
	}
	return 0;
}

static int run_direction(const struct call *call, int64_t direction, struct npl_err *err)
{
	const struct sizes *s = &call->s;
	const struct npl_recurrent_attrs *options = &call->attrs->recurrent;
	int64_t columns = s->gates * s->hidden;
	const float *bias = data_of(call, B), *peepholes = data_of(call, P);
	struct recurrent_run run = {.options = options,
				    .activation = options->activation[direction],
				    .op = call->attrs->op,
				    .batch = s->batch,
				    .hidden = s->hidden,
				    .gates = s->gates,
				    .multiplier = call->multiplier,
				    .recurrence = call->multiplier ? data_of(call, R) + direction * columns * s->hidden
								   : call->b.recurrence,
				    .peepholes = peepholes ? peepholes + direction * 3 * s->hidden : NULL,
				    .active = call->b.runs,
				    .sums = call->b.sums,
				    .scratch = call->b.scratch,
				    .gate = call->b.gate,
				    .h = call->b.h,
				    .c = call->b.c};
	if (bias && run.op == NPL_OP_GRU)
		run.recurrent_bias = bias + direction * 2 * columns + columns + 2 * s->hidden;
	load_state(call, INITIAL_H, direction, run.h);
	load_state(call, INITIAL_C, direction, run.c);
	if (!call->multiplier)
		op_turn_matrix(data_of(call, R) + direction * columns * s->hidden, columns, s->hidden,
			       call->b.recurrence);
	int rc = multiply_inputs(call, direction, err);
	for (int64_t step = 0; step < s->steps && !rc; step++)
		rc = run_step(call, &run, direction, step, direction == 1 || options->direction == NPL_REVERSE, err);
	store_state(call, 1, direction, run.h);
	store_state(call, 2, direction, run.c);
	return rc;
}

OP_RUN(op_recurrent_run)
{
	return npl_recurrent_run(NULL, attrs, in, n_in, out, n_out, err);
}

int npl_recurrent_run(const struct npl_multiplier *multiplier, const struct npl_attrs *attrs,
		      const struct npl_tensor *const *in, int n_in, struct npl_tensor *out, int n_out,
		      struct npl_err *err)
{
	struct call call = {multiplier, attrs, in, n_in, out, n_out, sizes_of(attrs, in), {0}};
	float *y = output_of(&call, 0);
	for (int64_t sample = 0; sample < call.s.batch; sample++)
		if (length_of(&call, sample) < 0 || length_of(&call, sample) > call.s.steps)
			return npl_fail(err, NPL_EINPUT, "sequence_lens says %lld for sample %lld of %lld steps",
					(long long)length_of(&call, sample), (long long)sample,
					(long long)call.s.steps);
	int rc = 0;
	if (!acquire(&call.b, &call.s, !multiplier) || !call.b.h || !call.b.c)
		rc = npl_fail(err, NPL_ENOMEM, "out of memory for a recurrent network");
	if (y)
		memset(y, 0, npl_tensor_bytes(&out[0]));
	for (int64_t direction = 0; direction < call.s.directions && !rc; direction++)
		rc = run_direction(&call, direction, err);
	release(&call.b);
	return rc;
}
