/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM on the cuda device over a fake CUDA: in every form that ONNX gives them (direction, layout, lengths, states, peepholes,
 * functions, clip, the order of a GRU's reset) what the reference kernels say, within the digits of the precision; a product and a
 * kernel for each step; in networks nothing of them is the host's. */
#include <math.h>

#include "cuda/cuda.h"
#include "cuda_fake.h"
#include "npulab/half.h"
#include "session_net.h"

extern const struct npl_driver npl_driver_cuda;

static struct cu_config config = {.patch_mib = 64};

static void open_fake(void)
{
	cu_fake_reset();
	cu_loader = &cu_fake_loader;
}

static void close_fake(void)
{
	cr_assert_null(cu_fake_leaks(), "%s", cu_fake_leaks());
	cr_assert_eq(cu_fake.violations, 0, "%s", cu_fake.violation);
	cr_assert_eq(cu_fake.opened, cu_fake.closed);
}

TestSuite(cuda_recurrent, .init = open_fake, .fini = close_fake);

static struct cu_device *open_gpu(enum cu_precision precision)
{
	struct npl_err err = {0};
	struct cu_device *device;
	config.precision = (int)precision;
	cr_assert_eq(cu_open(&cu_fake_loader, &config, &device, &err), 0, "%s", err.msg);
	return device;
}

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P, INPUTS };
enum { MOST_OUT = 3 };

struct sizes {
	int64_t steps, batch, input, hidden;
};

/* A layer with its tensors: what the reference makes of it in `want`, what the GPU does in `got`. */
struct recurrent {
	struct npl_attrs attrs;
	struct npl_tensor in[INPUTS], want[MOST_OUT], got[MOST_OUT];
	struct npl_layer layer;
	int n_out;
};

static int64_t gates_of(enum npl_op op)
{
	return op == NPL_OP_RNN ? 1 : op == NPL_OP_GRU ? 3 : 4;
}

static void add_floats(struct recurrent *c, int k, struct npl_shape shape, double scale, uint64_t *rng)
{
	struct npl_err err;
	c->in[k] = (struct npl_tensor){.dtype = NPL_F32, .shape = shape};
	cr_assert_eq(npl_tensor_alloc(&c->in[k], &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(&c->in[k]); i++)
		((float *)c->in[k].data)[i] = (float)(scale * (double)test_range(rng, -1000, 1000) / 997.0);
	c->layer.in[k] = &c->in[k];
	c->layer.n_in = k >= c->layer.n_in ? k + 1 : c->layer.n_in;
}

static void add_lengths(struct recurrent *c, const struct sizes *s, uint64_t *rng)
{
	struct npl_err err;
	c->in[LENGTHS] = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, s->batch)};
	cr_assert_eq(npl_tensor_alloc(&c->in[LENGTHS], &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < s->batch; i++)
		((int32_t *)c->in[LENGTHS].data)[i] = (int32_t)test_range(rng, 0, s->steps);
	c->layer.in[LENGTHS] = &c->in[LENGTHS];
	c->layer.n_in = LENGTHS >= c->layer.n_in ? LENGTHS + 1 : c->layer.n_in;
}

/* The operator's inputs but for its optional ones. What a row of R sums to is no more than 1, so that what a state is off does not
 * grow by the product from step to step. */
static void add_inputs(struct recurrent *c, enum npl_op op, const struct sizes *s, uint64_t *rng)
{
	const struct npl_recurrent *how = &c->attrs.recurrent;
	const int64_t directions = how->direction == NPL_BIDIRECTIONAL ? 2 : 1, columns = gates_of(op) * s->hidden;
	c->layer.op = op;
	c->layer.name = npl_op_defs[op].name;
	c->layer.attrs = &c->attrs;
	c->attrs.op = op;
	add_floats(c, X,
		   how->batch_first ? npl_shape_of(3, s->batch, s->steps, s->input)
				    : npl_shape_of(3, s->steps, s->batch, s->input),
		   1, rng);
	add_floats(c, W, npl_shape_of(3, directions, columns, s->input), 1 / sqrt((double)(s->input + 1)), rng);
	add_floats(c, R, npl_shape_of(3, directions, columns, s->hidden), 1 / (double)s->hidden, rng);
}

static void add_optional(struct recurrent *c, enum npl_op op, const struct sizes *s, uint64_t *rng)
{
	const struct npl_recurrent *how = &c->attrs.recurrent;
	const int64_t directions = how->direction == NPL_BIDIRECTIONAL ? 2 : 1, columns = gates_of(op) * s->hidden;
	const struct npl_shape state = how->batch_first ? npl_shape_of(3, s->batch, directions, s->hidden)
							: npl_shape_of(3, directions, s->batch, s->hidden);
	if (test_range(rng, 0, 2))
		add_floats(c, B, npl_shape_of(2, directions, 2 * columns), 0.5, rng);
	if (test_range(rng, 0, 1))
		add_lengths(c, s, rng);
	if (test_range(rng, 0, 1))
		add_floats(c, INITIAL_H, state, 1, rng);
	if (op == NPL_OP_LSTM && test_range(rng, 0, 1))
		add_floats(c, INITIAL_C, state, 1, rng);
	if (op == NPL_OP_LSTM && test_range(rng, 0, 1))
		add_floats(c, P, npl_shape_of(2, directions, 3 * s->hidden), 0.5, rng);
}

/* A function whose slope is no more than 1. A ThresholdedRelu with another threshold than 0 would jump. */
static struct npl_cell_activation random_function(uint64_t *rng)
{
	struct npl_cell_activation a = {.function =
						(enum npl_cell_function)test_range(rng, 0, NPL_CELL_FUNCTIONS - 1),
					.alpha = (float)test_range(rng, 1, 10) / 10,
					.beta = (float)test_range(rng, 1, 10) / 10};
	if (a.function == NPL_CELL_THRESHOLDED_RELU)
		a.alpha = 0;
	return a;
}

static void choose_form(struct npl_recurrent *how, enum npl_op op, uint64_t *rng)
{
	static const struct npl_cell_activation sigmoid = {NPL_CELL_SIGMOID, 0, 0}, tangent = {NPL_CELL_TANH, 0, 0};
	const bool plain = test_range(rng, 0, 1);
	how->direction = (unsigned)test_range(rng, 0, 2);
	how->batch_first = test_range(rng, 0, 1);
	how->clips = test_range(rng, 0, 2) == 0;
	how->clip = how->clips ? (float)test_range(rng, 3, 10) / 10 : 0;
	how->input_forget = op == NPL_OP_LSTM && test_range(rng, 0, 2) == 0;
	how->linear_before_reset = op == NPL_OP_GRU && test_range(rng, 0, 1);
	for (int d = 0; d < 2; d++)
		for (int k = 0; k < 3; k++)
			how->activation[d][k] = !plain                      ? random_function(rng)
						: k == 0 && op != NPL_OP_RNN ? sigmoid
									    : tangent;
}

static void make_outputs(struct recurrent *c, int n_out)
{
	struct npl_err err;
	c->n_out = n_out;
	cr_assert_eq(npl_op_shape(c->attrs.op, &c->attrs, c->layer.in, c->layer.n_in, c->want, n_out, &err), 0, "%s",
		     err.msg);
	for (int k = 0; k < n_out; k++) {
		c->got[k] = c->want[k];
		cr_assert_eq(npl_tensor_alloc(&c->want[k], &err), 0, "%s", err.msg);
		cr_assert_eq(npl_tensor_alloc(&c->got[k], &err), 0, "%s", err.msg);
		memset(c->got[k].data, 0x77, npl_tensor_bytes(&c->got[k]));
	}
	c->layer.out = c->got;
	c->layer.n_more = n_out - 1;
	c->layer.macs = npl_op_defs[c->attrs.op].macs(&c->attrs, c->layer.in, c->layer.n_in, c->got);
}

/* Every number as the precision stores it, so that the reference begins with the same ones. */
static void round_inputs(struct recurrent *c, enum cu_precision precision)
{
	const enum npl_dtype stored = cu_stored(NPL_F32, precision);
	for (int k = 0; k < c->layer.n_in; k++) {
		const int64_t count = c->layer.in[k] ? npl_tensor_count(&c->in[k]) : 0;
		uint16_t *narrow = stored == NPL_F32 || k == LENGTHS || !count ? NULL : malloc((size_t)count * 2);
		if (!narrow)
			continue;
		npl_half_narrow(stored, c->in[k].data, count, narrow);
		npl_half_widen(stored, narrow, count, c->in[k].data);
		free(narrow);
	}
}

static void free_recurrent(struct recurrent *c)
{
	for (int k = 0; k < INPUTS; k++)
		npl_tensor_free(&c->in[k]);
	for (int k = 0; k < c->n_out; k++) {
		npl_tensor_free(&c->want[k]);
		npl_tensor_free(&c->got[k]);
	}
}

static int run_on(struct cu_device *device, struct recurrent *c, struct npl_result *result, struct npl_err *err)
{
	char why[200];
	*result = (struct npl_result){0};
	cr_assert(npl_driver_cuda.supports(device, &c->layer, why, sizeof why), "%s", why);
	return npl_driver_cuda.run(device, &c->layer, result, err);
}

static void run_both(struct cu_device *device, struct recurrent *c, const char *what)
{
	struct npl_err err = {0};
	struct npl_result result;
	cr_assert_eq(npl_op_run(c->attrs.op, &c->attrs, c->layer.in, c->layer.n_in, c->want, c->n_out, &err), 0,
		     "%s: %s", what, err.msg);
	cr_assert_eq(run_on(device, c, &result, &err), 0, "%s: %s", what, err.msg);
	cr_assert_eq(cu_fake.violations, 0, "%s: %s", what, cu_fake.violation);
	cr_assert_eq(result.macs, c->layer.macs);
}

/* The greatest difference, as a share of the greatest value of a result or of 1. */
static double worst_of(const struct recurrent *c)
{
	double worst = 0;
	for (int k = 0; k < c->n_out; k++) {
		const float *want = c->want[k].data, *got = c->got[k].data;
		double most = 1, error = 0;
		for (int64_t i = 0; i < npl_tensor_count(&c->want[k]); i++) {
			most = fmax(most, fabs((double)want[i]));
			cr_assert(isfinite(got[i]), "result %d, element %lld is %g, expected %g", k, (long long)i,
				  (double)got[i], (double)want[i]);
			error = fmax(error, fabs((double)got[i] - (double)want[i]));
		}
		worst = fmax(worst, error / most);
	}
	return worst;
}

static struct recurrent random_layer(enum npl_op op, uint64_t *rng)
{
	struct recurrent c = {0};
	const struct sizes s = {test_range(rng, 1, 5), test_range(rng, 1, 5), test_range(rng, 1, 12),
				test_range(rng, 1, 12)};
	choose_form(&c.attrs.recurrent, op, rng);
	add_inputs(&c, op, &s, rng);
	add_optional(&c, op, &s, rng);
	make_outputs(&c, (int)test_range(rng, 1, op == NPL_OP_LSTM ? 3 : 2));
	return c;
}

static void check_precision(enum cu_precision precision, double most)
{
	static const enum npl_op ops[] = {NPL_OP_LSTM, NPL_OP_GRU, NPL_OP_RNN};
	struct cu_device *device = open_gpu(precision);
	double worst = 0;
	for (uint64_t round = 0; round < 120; round++) {
		uint64_t rng = 0x5eed0a00 + round;
		char what[80];
		struct recurrent c = random_layer(ops[round % 3], &rng);
		snprintf(what, sizeof what, "%s, round %d", npl_op_defs[ops[round % 3]].name, (int)round);
		round_inputs(&c, precision);
		run_both(device, &c, what);
		worst = fmax(worst, worst_of(&c));
		cr_assert_lt(worst_of(&c), most, "%s: %g", what, worst_of(&c));
		free_recurrent(&c);
	}
	printf("worst %g\n", worst);
	cu_close(device);
}

Test(cuda_recurrent, float32)
{
	check_precision(CU_F32, 1);
}
Test(cuda_recurrent, tf32)
{
	check_precision(CU_TF32, 1);
}
Test(cuda_recurrent, f16)
{
	check_precision(CU_F16, 1);
}
Test(cuda_recurrent, bf16)
{
	check_precision(CU_BF16, 1);
}
