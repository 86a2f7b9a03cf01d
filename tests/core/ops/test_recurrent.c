/* SPDX-License-Identifier: MIT
 *
 * Promises: RNN, GRU and LSTM are the equations of ONNX, written here once more for one sample, direction and element
 * at a time in double, whatever the options: directions, layouts, lengths, states, biases, peepholes, activations with
 * their constants, clip, input_forget, linear_before_reset; every output on its own too; MACs are those of both
 * products; what does not fit is refused. */
#include "core/op_functions.h"
#include "tests/kit/ops_support.h"

#include <math.h>

#define SEED 0x5eed5001u
#define MOST 8 /* hidden units */

enum { X, W, R, B, LENS, H0, C0, P, INPUTS };

static const struct {
	const char *name;
	int constants;
	double alpha, beta;
} functions[] = {
	{"Sigmoid", 0, 0, 0},      {"Tanh", 0, 0, 0},
	{"Relu", 0, 0, 0},         {"Affine", 2, 1, 0},
	{"LeakyRelu", 1, 0.01, 0}, {"ThresholdedRelu", 1, 1, 0},
	{"ScaledTanh", 2, 1, 1},   {"HardSigmoid", 2, 0.2, 0.5},
	{"Elu", 1, 1, 0},          {"Softsign", 0, 0, 0},
	{"softplus", 0, 0, 0},
};
#define FUNCTIONS (int)(sizeof functions / sizeof *functions)

struct activation {
	int function;
	double alpha, beta;
};

static double apply(const struct activation *a, double clip, double x)
{
	x = fmin(fmax(x, -clip), clip);
	switch (a->function) {
	case 0:
		return 1 / (1 + exp(-x));
	case 1:
		return tanh(x);
	case 2:
		return fmax(x, 0);
	case 3:
		return a->alpha * x + a->beta;
	case 4:
		return x >= 0 ? x : a->alpha * x;
	case 5:
		return x >= a->alpha ? x : 0;
	case 6:
		return a->alpha * tanh(a->beta * x);
	case 7:
		return fmin(fmax(a->alpha * x + a->beta, 0), 1);
	case 8:
		return x >= 0 ? x : a->alpha * (exp(x) - 1);
	case 9:
		return x / (1 + fabs(x));
	default:
		return x > 40 ? x : log1p(exp(x));
	}
}

/* A network with everything about it; what is absent has no data. */
struct net {
	enum npl_op op;
	int64_t steps, batch, input, hidden, gates, directions;
	int per; /* functions of a direction */
	bool reverse, batch_first, input_forget, linear_before_reset;
	double clip;
	struct activation activation[6];
	struct npl_tensor in[INPUTS];
	const char *names[6];
	float alphas[6], betas[6];
	struct npl_attr attr[10];
	int n_attrs;
};

static void draw_activations(uint64_t *seed, struct net *n)
{
	bool named = test_range(seed, 0, 3), with_constants = test_range(seed, 0, 1);
	int64_t n_alpha = 0, n_beta = 0;
	for (int i = 0; i < n->per * n->directions; i++) {
		int otherwise = n->op == NPL_OP_RNN || i % n->per ? 1 : 0;
		int f = named ? (int)test_range(seed, 0, FUNCTIONS - 1) : otherwise;
		struct activation *a = &n->activation[i];
		*a = (struct activation){f, (double)(float)functions[f].alpha, (double)(float)functions[f].beta};
		n->names[i] = functions[f].name;
		if (with_constants && functions[f].constants > 0)
			a->alpha = (double)(n->alphas[n_alpha++] = (float)test_range(seed, 1, 12) / 10);
		if (with_constants && functions[f].constants > 1)
			a->beta = (double)(n->betas[n_beta++] = (float)test_range(seed, -5, 5) / 10);
	}
	if (named)
		n->attr[n->n_attrs++] = (struct npl_attr){.name = "activations",
							  .type = NPL_ATTR_STRINGS,
							  .strings = n->names,
							  .n = n->per * n->directions};
	if (with_constants) {
		n->attr[n->n_attrs++] = (struct npl_attr){
			.name = "activation_alpha", .type = NPL_ATTR_FLOATS, .floats = n->alphas, .n = n_alpha};
		n->attr[n->n_attrs++] = (struct npl_attr){
			.name = "activation_beta", .type = NPL_ATTR_FLOATS, .floats = n->betas, .n = n_beta};
	}
}

static void draw_inputs(uint64_t *seed, struct net *n)
{
	int64_t columns = n->gates * n->hidden, d = n->directions;
	struct npl_shape state = n->batch_first ? npl_shape_of(3, n->batch, d, n->hidden)
						: npl_shape_of(3, d, n->batch, n->hidden);
	const struct npl_shape shape[INPUTS] = {[X] = n->batch_first ? npl_shape_of(3, n->batch, n->steps, n->input)
								     : npl_shape_of(3, n->steps, n->batch, n->input),
						[W] = npl_shape_of(3, d, columns, n->input),
						[R] = npl_shape_of(3, d, columns, n->hidden),
						[B] = npl_shape_of(2, d, 2 * columns),
						[LENS] = npl_shape_of(1, n->batch),
						[H0] = state,
						[C0] = state,
						[P] = npl_shape_of(2, d, 3 * n->hidden)};
	for (int k = 0; k < INPUTS; k++) {
		if (k > R && (!test_range(seed, 0, 2) || (k >= C0 && n->op != NPL_OP_LSTM)))
			continue;
		n->in[k] = test_random_tensor(seed, k == LENS ? NPL_I32 : NPL_F32, shape[k]);
		for (int64_t i = 0; (k == W || k == R) && i < npl_tensor_count(&n->in[k]); i++)
			((float *)n->in[k].data)[i] /= 4; /* functions without bounds stay sane */
		for (int64_t i = 0; k == LENS && i < n->batch; i++)
			((int32_t *)n->in[k].data)[i] = (int32_t)test_range(seed, 0, n->steps);
	}
}

/* Filled in place: attributes point into it. */
static void draw(uint64_t *seed, enum npl_op op, struct net *n)
{
	static const char *const directions[] = {"forward", "reverse", "bidirectional"};
	int direction = (int)test_range(seed, 0, 2);
	*n = (struct net){.op = op,
			  .steps = test_range(seed, 1, 6),
			  .batch = test_range(seed, 1, 6),
			  .input = test_range(seed, 1, 5),
			  .hidden = test_range(seed, 1, MOST),
			  .gates = op == NPL_OP_RNN   ? 1
				   : op == NPL_OP_GRU ? 3
						      : 4,
			  .directions = direction == 2 ? 2 : 1,
			  .per = op == NPL_OP_RNN   ? 1
				 : op == NPL_OP_GRU ? 2
						    : 3,
			  .reverse = direction == 1,
			  .batch_first = test_range(seed, 0, 1),
			  .input_forget = op == NPL_OP_LSTM && test_range(seed, 0, 1),
			  .linear_before_reset = op == NPL_OP_GRU && test_range(seed, 0, 1),
			  .clip = INFINITY};
	if (direction || test_range(seed, 0, 1))
		n->attr[n->n_attrs++] = ATTR_STRING("direction", directions[direction]);
	n->attr[n->n_attrs++] = ATTR_INT("layout", n->batch_first);
	if (op == NPL_OP_LSTM)
		n->attr[n->n_attrs++] = ATTR_INT("input_forget", n->input_forget);
	if (op == NPL_OP_GRU)
		n->attr[n->n_attrs++] = ATTR_INT("linear_before_reset", n->linear_before_reset);
	if (test_range(seed, 0, 1))
		n->attr[n->n_attrs++] = ATTR_INT("hidden_size", n->hidden);
	if (test_range(seed, 0, 1)) {
		n->clip = 0.5;
		n->attr[n->n_attrs++] = ATTR_FLOAT("clip", 0.5f);
	}
	draw_activations(seed, n);
	draw_inputs(seed, n);
}

static double value(const struct net *n, int k, int64_t i)
{
	return n->in[k].data ? (double)((float *)n->in[k].data)[i] : 0;
}

/* Row `column` of W times x, with both biases where they are added to it. */
static double from_input(const struct net *n, int64_t d, int64_t row, int64_t column, bool both)
{
	int64_t columns = n->gates * n->hidden;
	double sum = value(n, B, d * 2 * columns + column);
	if (both)
		sum += value(n, B, d * 2 * columns + columns + column);
	for (int64_t i = 0; i < n->input; i++)
		sum += value(n, X, row * n->input + i) * value(n, W, (d * columns + column) * n->input + i);
	return sum;
}

static double from_state(const struct net *n, int64_t d, int64_t column, const double *h)
{
	double sum = 0;
	for (int64_t i = 0; i < n->hidden; i++)
		sum += h[i] * value(n, R, (d * n->gates * n->hidden + column) * n->hidden + i);
	return sum;
}

/* One step of one sample: h and c are replaced. */
static void step(const struct net *n, int64_t d, int64_t row, double h[MOST], double c[MOST])
{
	const struct activation *f = &n->activation[d * n->per], *g = f + 1, *last = f + 2;
	int64_t size = n->hidden, columns = n->gates * size, p = d * 3 * size;
	double before[MOST], reset[MOST] = {0};
	memcpy(before, h, sizeof before);
	for (int64_t i = 0; i < size && n->op == NPL_OP_GRU; i++)
		reset[i] = apply(f, n->clip,
				 from_input(n, d, row, size + i, true) + from_state(n, d, size + i, before));
	double held[MOST];
	for (int64_t i = 0; i < size && n->op == NPL_OP_GRU; i++)
		held[i] = reset[i] * before[i];
	for (int64_t i = 0; i < size; i++) {
		double first = from_input(n, d, row, i, true) + from_state(n, d, i, before);
		if (n->op == NPL_OP_RNN) {
			h[i] = apply(f, n->clip, first);
		} else if (n->op == NPL_OP_GRU) {
			double z = apply(f, n->clip, first);
			double bias = value(n, B, d * 2 * columns + columns + 2 * size + i);
			double linear = n->linear_before_reset
						? reset[i] * (from_state(n, d, 2 * size + i, before) + bias)
						: from_state(n, d, 2 * size + i, held) + bias;
			double candidate = apply(g, n->clip, from_input(n, d, row, 2 * size + i, false) + linear);
			h[i] = (1 - z) * candidate + z * before[i];
		} else {
			double gate[4];
			for (int64_t k = 0; k < 4; k++)
				gate[k] = from_input(n, d, row, k * size + i, true) +
					  from_state(n, d, k * size + i, before);
			double in = apply(f, n->clip, gate[0] + value(n, P, p + i) * c[i]);
			double forget = apply(f, n->clip, gate[2] + value(n, P, p + 2 * size + i) * c[i]);
			forget = n->input_forget ? 1 - in : forget;
			c[i] = forget * c[i] + in * apply(g, n->clip, gate[3]);
			double out = apply(f, n->clip, gate[1] + value(n, P, p + size + i) * c[i]);
			h[i] = out * apply(last, n->clip, c[i]);
		}
	}
}

/* The state of a sample and direction in a tensor of states. */
static int64_t state_at(const struct net *n, int64_t d, int64_t b)
{
	return (n->batch_first ? b * n->directions + d : d * n->batch + b) * n->hidden;
}

static void expect(const struct npl_tensor *out, int64_t at, const double *expected, int64_t n, uint64_t seed,
		   const char *subject)
{
	for (int64_t i = 0; i < n; i++)
		cr_assert(fabs((double)((float *)out->data)[at + i] - expected[i]) <= 2e-5 * (1 + fabs(expected[i])),
			  "%s, seed %llu: element %lld is %g, expected %g", subject, (unsigned long long)seed,
			  (long long)(at + i), (double)((float *)out->data)[at + i], expected[i]);
}

static void check_sample(const struct net *n, int64_t d, int64_t b, const struct npl_tensor out[3], uint64_t seed)
{
	double h[MOST] = {0}, c[MOST] = {0}, zero[MOST] = {0};
	int64_t length = n->in[LENS].data ? ((int32_t *)n->in[LENS].data)[b] : n->steps;
	bool backwards = n->reverse || d == 1;
	for (int64_t i = 0; i < n->hidden; i++) {
		h[i] = value(n, H0, state_at(n, d, b) + i);
		c[i] = value(n, C0, state_at(n, d, b) + i);
	}
	for (int64_t s = 0; s < n->steps; s++) {
		int64_t t = s < length && backwards ? length - 1 - s : s;
		int64_t row = n->batch_first ? b * n->steps + t : t * n->batch + b;
		int64_t at = n->batch_first ? (row * n->directions + d) * n->hidden
					    : ((t * n->directions + d) * n->batch + b) * n->hidden;
		if (s < length)
			step(n, d, row, h, c);
		for (int64_t i = 0; i < n->hidden; i++)
			if (!(fabs(h[i]) < 100 && fabs(c[i]) < 100))
				return; /* gates without bounds: rounding has grown with the values */
		expect(&out[0], at, s < length ? h : zero, n->hidden, seed, "Y");
	}
	expect(&out[1], state_at(n, d, b), h, n->hidden, seed, "Y_h");
	if (n->op == NPL_OP_LSTM)
		expect(&out[2], state_at(n, d, b), c, n->hidden, seed, "Y_c");
}

static void check_net(uint64_t *seed, enum npl_op op)
{
	uint64_t start = *seed;
	struct net n;
	draw(seed, op, &n);
	const struct npl_tensor *in[INPUTS];
	for (int k = 0; k < INPUTS; k++)
		in[k] = n.in[k].data ? &n.in[k] : NULL;
	struct npl_attr_list list = {n.attr, n.n_attrs};
	struct npl_attrs attrs = {.opset = 14};
	struct npl_tensor out[3] = {{0}};
	struct npl_err err = {0};
	int n_in = npl_op_defs[op].max_in, n_out = npl_op_defs[op].outputs;
	cr_assert_eq(npl_op_attrs(op, &list, &attrs, &err), 0, "%s", err.msg);
	for (int i = 0; i < n.n_attrs; i++)
		cr_assert(n.attr[i].used, "%s", n.attr[i].name);
	cr_assert_eq(npl_op_shape(op, &attrs, in, n_in, out, n_out, &err), 0, "%s", err.msg);
	for (int k = 0; k < n_out; k++)
		cr_assert_eq(npl_tensor_alloc(&out[k], &err), 0);
	memset(out[0].data, GUARD, npl_tensor_bytes(&out[0]));
	cr_assert_eq(npl_op_run(op, &attrs, in, n_in, out, n_out, &err), 0, "%s", err.msg);
	for (int64_t d = 0; d < n.directions; d++)
		for (int64_t b = 0; b < n.batch; b++)
			check_sample(&n, d, b, out, start);
	cr_assert_eq(npl_op_macs(op, &attrs, in, n_in, out),
		     (uint64_t)(n.directions * n.steps * n.batch * n.gates * n.hidden * (n.input + n.hidden)));
	struct npl_tensor single = test_run(op, &attrs, in, n_in); /* Y by itself, between guards */
	cr_assert_eq(memcmp(single.data, out[0].data, npl_tensor_bytes(&single)), 0);
	test_release(&single);
	void *states = malloc(npl_tensor_bytes(&out[1]) + 1); /* Y_h by itself */
	memcpy(states, out[1].data, npl_tensor_bytes(&out[1]));
	struct npl_tensor some[2] = {out[0], out[1]};
	some[0].data = NULL;
	cr_assert_eq(npl_op_run(op, &attrs, in, n_in, some, 2, &err), 0);
	cr_assert_eq(memcmp(states, out[1].data, npl_tensor_bytes(&out[1])), 0);
	free(states);
	for (int k = 0; k < n_out; k++)
		npl_tensor_free(&out[k]);
	for (int k = 0; k < INPUTS; k++)
		npl_tensor_free(&n.in[k]);
}

Test(ops_recurrent, equal_their_equations)
{
	static const enum npl_op ops[] = {NPL_OP_RNN, NPL_OP_GRU, NPL_OP_LSTM};
	uint64_t seed = SEED;
	for (int i = 0; i < 600; i++)
		check_net(&seed, ops[i % 3]);
}

/* The functions where double loses digits: small negative arguments of Elu, large ones of Softplus. */
Test(ops_recurrent, functions_at_their_ends)
{
	static const struct {
		const char *name;
		float x, expected;
	} cases[] = {{"Elu", -1e-20f, -1e-20f},  {"Elu", -1000, -1},        {"Softplus", -80, 1.8048513e-35f},
		     {"Softplus", 200, 200},     {"Softsign", INFINITY, 1}, {"Softsign", -INFINITY, -1},
		     {"Softplus", -INFINITY, 0}, {"Tanh", 1e30f, 1},        {"Softplus", INFINITY, INFINITY}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		float x = cases[i].x, one = 1, zero = 0;
		struct npl_tensor t[] = {{.dtype = NPL_F32, .shape = npl_shape_of(3, 1, 1, 1), .data = &x},
					 {.dtype = NPL_F32, .shape = npl_shape_of(3, 1, 1, 1), .data = &one},
					 {.dtype = NPL_F32, .shape = npl_shape_of(3, 1, 1, 1), .data = &zero}};
		struct npl_attr attr = {
			.name = "activations", .type = NPL_ATTR_STRINGS, .strings = &cases[i].name, .n = 1};
		struct npl_attr_list list = {&attr, 1};
		struct npl_attrs attrs = {.opset = 14};
		cr_assert_eq(npl_op_attrs(NPL_OP_RNN, &list, &attrs, NULL), 0);
		struct npl_tensor out = test_run(NPL_OP_RNN, &attrs, (const struct npl_tensor *[]){&t[0], &t[1], &t[2]},
						 3);
		float y = *(float *)out.data;
		cr_assert(y == cases[i].expected || fabsf(y / cases[i].expected - 1) < 1e-6f, "%s(%g) is %g",
			  cases[i].name, (double)x, (double)y);
		test_release(&out);
	}
}

Test(ops_recurrent, wrong_nodes_are_refused)
{
	static const char *const sine[] = {"Sine"}, *const two[] = {"Tanh", "Tanh"};
	const struct {
		struct npl_attr attr;
		int opset, input;
		struct npl_shape shape; /* of that input instead */
		const char *expected;
	} cases[] = {
		{ATTR_INT("hidden_size", 4), 14, 0, {0}, "hidden_size says 4 where the input R is 1x3x3"},
		{ATTR_STRING("direction", "sideways"), 14, 0, {0}, "direction is 'sideways'"},
		{{.name = "activations", .type = NPL_ATTR_STRINGS, .strings = sine, .n = 1},
		 14,
		 0,
		 {0},
		 "'Sine' is not supported"},
		{{.name = "activations", .type = NPL_ATTR_STRINGS, .strings = two, .n = 2},
		 14,
		 0,
		 {0},
		 "2 entries, expected 1"},
		{ATTR_FLOAT("clip", 0), 14, 0, {0}, "clip must be positive"},
		{ATTR_STRING("activations", "Tanh"), 14, 0, {0}, "expected a list of strings"},
		{ATTR_INT("layout", 0), 14, X, npl_shape_of(2, 2, 5), "must have three dimensions"},
		{ATTR_INT("layout", 0), 14, W, npl_shape_of(3, 1, 3, 4), "W is float32 1x3x4, expected float32 1x3x5"},
		{ATTR_INT("layout", 0), 14, R, npl_shape_of(3, 2, 3, 3), "R is float32 2x3x3, expected float32 1x3x3"},
		{ATTR_INT("layout", 0), 14, B, npl_shape_of(2, 1, 3), "B is float32 1x3, expected float32 1x6"},
		{ATTR_INT("layout", 0), 14, H0, npl_shape_of(3, 1, 1, 3),
		 "initial_h is float32 1x1x3, expected float32 1x2x3"},
		{ATTR_INT("layout", 0), 14, LENS, npl_shape_of(1, 3), "sequence_lens is float32 3, expected int32 2"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct npl_shape shape[] = {npl_shape_of(3, 4, 2, 5), npl_shape_of(3, 1, 3, 5),
						  npl_shape_of(3, 1, 3, 3)};
		struct npl_tensor t[6] = {{0}}, out = {0};
		const struct npl_tensor *in[6] = {NULL};
		for (int k = 0; k < 6; k++) {
			t[k] = (struct npl_tensor){.dtype = NPL_F32};
			if (k <= R)
				t[k].shape = shape[k];
			if (cases[i].shape.rank && k == cases[i].input)
				t[k].shape = cases[i].shape;
			in[k] = t[k].shape.rank ? &t[k] : NULL;
		}
		struct npl_attr attr = cases[i].attr;
		struct npl_attr_list list = {&attr, 1};
		struct npl_attrs attrs = {.opset = cases[i].opset};
		struct npl_err err = {0};
		int rc = npl_op_attrs(NPL_OP_RNN, &list, &attrs, &err);
		rc = rc ? rc : npl_op_shape(NPL_OP_RNN, &attrs, in, 6, &out, 1, &err);
		cr_assert_eq(rc, NPL_EINPUT, "case %zu was to say: %s", i, cases[i].expected);
		cr_assert(strstr(err.msg, cases[i].expected), "'%s', expected '%s'", err.msg, cases[i].expected);
	}
}

/* A sample has 4 steps. A length that is not among 0 to 4 is refused when the values are there. */
Test(ops_recurrent, lengths_beyond_the_steps_are_refused)
{
	float ones[5] = {1, 1, 1, 1, 1};
	for (int32_t length = -1; length <= 5; length++) {
		struct npl_tensor t[] = {{.dtype = NPL_F32, .shape = npl_shape_of(3, 4, 1, 1), .data = ones},
					 {.dtype = NPL_F32, .shape = npl_shape_of(3, 1, 1, 1), .data = ones},
					 {.dtype = NPL_I32, .shape = npl_shape_of(1, 1), .data = &length}};
		const struct npl_tensor *in[] = {&t[0], &t[1], &t[1], NULL, &t[2]};
		struct npl_attr_list none = {NULL, 0};
		struct npl_attrs attrs = {.opset = 14};
		struct npl_tensor out = {0};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_attrs(NPL_OP_RNN, &none, &attrs, &err), 0);
		cr_assert_eq(npl_op_shape(NPL_OP_RNN, &attrs, in, 5, &out, 1, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_tensor_alloc(&out, &err), 0);
		cr_assert_eq(npl_op_run(NPL_OP_RNN, &attrs, in, 5, &out, 1, &err),
			     length < 0 || length > 4 ? NPL_EINPUT : 0);
		npl_tensor_free(&out);
	}
}
