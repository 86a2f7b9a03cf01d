/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM on the cuda device over a fake CUDA: in every form that ONNX gives them (direction, layout,
 * lengths, states, peepholes, functions, clip, the order of a GRU's reset) what the reference kernels say, within the
 * digits of the precision; a product and a kernel for each step; in networks nothing of them is the host's. */
#include <math.h>

#include "core/base/half.h"
#include "core/op_functions.h"
#include "npulab/driver.h"
#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/recurrent_net.h"

extern const struct npl_driver npl_driver_cuda;

static struct cu_config config = {.patch_mib = 64};

TestSuite(cuda_recurrent, .init = cuda_fake_open, .fini = cuda_fake_close);

static struct cu_device *open_gpu(enum cu_precision precision)
{
	return cuda_fake_gpu(&config, precision);
}

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P, INPUTS };
enum { MAX_OUT = 3 };

struct sizes {
	int64_t steps, batch, input, hidden;
};

/* A layer with its tensors: `expected` has the reference's results, `actual` the GPU's. */
struct recurrent {
	struct npl_attrs attrs;
	struct npl_tensor in[INPUTS], expected[MAX_OUT], actual[MAX_OUT];
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
	npl_tensor_free(&c->in[LENGTHS]); /* it may have others */
	c->in[LENGTHS] = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, s->batch)};
	cr_assert_eq(npl_tensor_alloc(&c->in[LENGTHS], &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < s->batch; i++)
		((int32_t *)c->in[LENGTHS].data)[i] = (int32_t)test_range(rng, 0, s->steps);
	c->layer.in[LENGTHS] = &c->in[LENGTHS];
	c->layer.n_in = LENGTHS >= c->layer.n_in ? LENGTHS + 1 : c->layer.n_in;
}

/* The operator's inputs except its optional ones. What a row of R sums to is no more than 1, so that what a state is
 * off does not grow by the product from step to step. */
static void add_inputs(struct recurrent *c, enum npl_op op, const struct sizes *s, uint64_t *rng)
{
	const struct npl_recurrent_attrs *how = &c->attrs.recurrent;
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
	const struct npl_recurrent_attrs *how = &c->attrs.recurrent;
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
	struct npl_cell_activation a = {.function = (enum npl_cell_function)test_range(rng, 0, NPL_CELL_FUNCTIONS - 1),
					.alpha = (float)test_range(rng, 1, 10) / 10,
					.beta = (float)test_range(rng, 1, 10) / 10};
	if (a.function == NPL_CELL_THRESHOLDED_RELU)
		a.alpha = 0;
	return a;
}

static void choose_form(struct npl_recurrent_attrs *how, enum npl_op op, uint64_t *rng)
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
			how->activation[d][k] = !plain                       ? random_function(rng)
						: k == 0 && op != NPL_OP_RNN ? sigmoid
									     : tangent;
}

static void make_outputs(struct recurrent *c, int n_out)
{
	struct npl_err err;
	c->n_out = n_out;
	cr_assert_eq(npl_op_shape(c->attrs.op, &c->attrs, c->layer.in, c->layer.n_in, c->expected, n_out, &err), 0,
		     "%s", err.msg);
	for (int k = 0; k < n_out; k++) {
		c->actual[k] = c->expected[k];
		cr_assert_eq(npl_tensor_alloc(&c->expected[k], &err), 0, "%s", err.msg);
		cr_assert_eq(npl_tensor_alloc(&c->actual[k], &err), 0, "%s", err.msg);
		memset(c->actual[k].data, 0x77, npl_tensor_bytes(&c->actual[k]));
	}
	c->layer.out = c->actual;
	c->layer.n_further = n_out - 1;
	c->layer.macs = npl_op_macs(c->attrs.op, &c->attrs, c->layer.in, c->layer.n_in, c->actual);
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
		npl_tensor_free(&c->expected[k]);
		npl_tensor_free(&c->actual[k]);
	}
}

static int run_on(struct cu_device *device, struct recurrent *c, struct npl_result *result, struct npl_err *err)
{
	char reason[200];
	*result = (struct npl_result){0};
	cr_assert(npl_driver_cuda.supports(device, &c->layer, reason, sizeof reason), "%s", reason);
	return npl_driver_cuda.run(device, &c->layer, result, err);
}

static void run_both(struct cu_device *device, struct recurrent *c, const char *subject)
{
	struct npl_err err = {0};
	struct npl_result result;
	cr_assert_eq(npl_op_run(c->attrs.op, &c->attrs, c->layer.in, c->layer.n_in, c->expected, c->n_out, &err), 0,
		     "%s: %s", subject, err.msg);
	cr_assert_eq(run_on(device, c, &result, &err), 0, "%s: %s", subject, err.msg);
	cr_assert_eq(cu_fake.violations, 0, "%s: %s", subject, cu_fake.violation);
	cr_assert_eq(result.macs, c->layer.macs);
}

/* The greatest difference, as a share of the greatest value of a result or of 1. */
static double worst_of(const struct recurrent *c)
{
	double worst = 0;
	for (int k = 0; k < c->n_out; k++) {
		const float *expected = c->expected[k].data, *actual = c->actual[k].data;
		double maximum = 1, error = 0;
		for (int64_t i = 0; i < npl_tensor_count(&c->expected[k]); i++) {
			maximum = fmax(maximum, fabs((double)expected[i]));
			cr_assert(isfinite(actual[i]), "result %d, element %lld is %g, expected %g", k, (long long)i,
				  (double)actual[i], (double)expected[i]);
			error = fmax(error, fabs((double)actual[i] - (double)expected[i]));
		}
		worst = fmax(worst, error / maximum);
	}
	return worst;
}

static void make_random(struct recurrent *c, enum npl_op op, uint64_t *rng)
{
	*c = (struct recurrent){0};
	const struct sizes s = {test_range(rng, 1, 5), test_range(rng, 1, 5), test_range(rng, 1, 12),
				test_range(rng, 1, 12)};
	choose_form(&c->attrs.recurrent, op, rng);
	add_inputs(c, op, &s, rng);
	add_optional(c, op, &s, rng);
	make_outputs(c, (int)test_range(rng, 1, op == NPL_OP_LSTM ? 3 : 2));
}

static void check_precision(enum cu_precision precision, double limit)
{
	static const enum npl_op ops[] = {NPL_OP_LSTM, NPL_OP_GRU, NPL_OP_RNN};
	struct cu_device *device = open_gpu(precision);
	double worst = 0;
	for (uint64_t round = 0; round < 120; round++) {
		uint64_t rng = 0x5eed0a00 + round;
		char subject[80];
		struct recurrent c;
		make_random(&c, ops[round % 3], &rng);
		snprintf(subject, sizeof subject, "%s, round %d", npl_op_defs[ops[round % 3]].name, (int)round);
		round_inputs(&c, precision);
		run_both(device, &c, subject);
		worst = fmax(worst, worst_of(&c));
		cr_assert_lt(worst_of(&c), limit, "%s: %g", subject, worst_of(&c));
		free_recurrent(&c);
	}
	cr_assert_gt(worst, limit / 64, "%g: what was asked for is not what was computed in", worst);
	cu_close(device);
}

/* Four times what a value of 1 loses when it is stored, or multiplied in TF32; in float32, whose functions are a few
 * steps off themselves, eight. Sums are about 1, and through five steps errors do not grow by the products. */
Test(cuda_recurrent, every_form_equals_the_reference_in_float32)
{
	check_precision(CU_F32, 4 * 0x1p-22);
}

Test(cuda_recurrent, every_form_is_near_the_reference_in_tf32)
{
	check_precision(CU_TF32, 4 * 0x1p-11);
}

Test(cuda_recurrent, every_form_is_near_the_reference_in_float16)
{
	check_precision(CU_F16, 4 * 0x1p-11);
}

Test(cuda_recurrent, every_form_is_near_the_reference_in_bfloat16)
{
	check_precision(CU_BF16, 4 * 0x1p-8);
}

/* An int8 device has no integers for them: float32, to the last of its digits. Kernels as for tensors of 2^31
 * elements. */
Test(cuda_recurrent, int8_devices_compute_them_in_float32)
{
	struct cu_device *device = open_gpu(CU_INT8);
	cu_kernels_widen(device->kernels);
	for (uint64_t round = 0; round < 12; round++) {
		uint64_t rng = 0x5eed0b00 + round;
		struct recurrent c;
		make_random(&c, round % 3 ? NPL_OP_LSTM : NPL_OP_GRU, &rng);
		run_both(device, &c, "int8");
		cr_assert_lt(worst_of(&c), 4 * 0x1p-22, "round %d: %g", (int)round, worst_of(&c));
		free_recurrent(&c);
	}
	cu_close(device);
}

/* Numbers of few binary digits and functions that keep them so: no sum rounds, whatever its order, and each result is
 * the reference's to the bit. A threshold that values reach makes a jump. */
Test(cuda_recurrent, without_rounding_results_are_equal)
{
	static const struct npl_cell_activation functions[] = {{NPL_CELL_RELU, 0, 0},
							       {NPL_CELL_AFFINE, 0.5f, 0.25f},
							       {NPL_CELL_LEAKY_RELU, 0.25f, 0},
							       {NPL_CELL_THRESHOLDED_RELU, 0.5f, 0},
							       {NPL_CELL_HARD_SIGMOID, 0.25f, 0.5f}};
	enum { N = sizeof functions / sizeof *functions };
	struct cu_device *device = open_gpu(CU_F32);
	for (uint64_t round = 0; round < 60; round++) {
		uint64_t rng = 0x5eed0c00 + round;
		const struct sizes s = {3, test_range(&rng, 1, 3), test_range(&rng, 1, 4), test_range(&rng, 1, 4)};
		const enum npl_op op = round % 2 ? NPL_OP_RNN : NPL_OP_GRU;
		struct recurrent c = {0};
		choose_form(&c.attrs.recurrent, op, &rng);
		c.attrs.recurrent.clip = 0.75f;
		for (int d = 0; d < 2; d++)
			for (int k = 0; k < 3; k++)
				c.attrs.recurrent.activation[d][k] = functions[test_range(&rng, 0, N - 1)];
		add_inputs(&c, op, &s, &rng);
		add_optional(&c, op, &s, &rng);
		for (int k = 0; k < c.layer.n_in; k++)
			for (int64_t i = 0; c.layer.in[k] && k != LENGTHS && i < npl_tensor_count(&c.in[k]); i++)
				((float *)c.in[k].data)[i] = (float)test_range(&rng, -2, 2) / 2;
		if (op == NPL_OP_GRU) /* which multiplies three values a step: one step */
			add_lengths(&c, &(struct sizes){1, s.batch, s.input, s.hidden}, &rng);
		make_outputs(&c, 2);
		run_both(device, &c, "exact");
		for (int k = 0; k < 2; k++)
			for (int64_t i = 0; i < npl_tensor_count(&c.expected[k]); i++) {
				const float expected = ((float *)c.expected[k].data)[i],
					    actual = ((float *)c.actual[k].data)[i];
				cr_assert(expected >= actual && expected <= actual,
					  "round %d, result %d, element %lld: %g, expected %g", (int)round, k,
					  (long long)i, (double)actual, (double)expected);
			}
		free_recurrent(&c);
	}
	cu_close(device);
}

/* Of both directions together: one product for all inputs, then one and a kernel for each step, two of each for a GRU
 * that resets before it multiplies. */
Test(cuda_recurrent, a_step_takes_few_launches)
{
	static const struct {
		enum npl_op op;
		bool reset_last;
		long a_step;
	} cases[] = {{NPL_OP_RNN, false, 1}, {NPL_OP_LSTM, false, 1}, {NPL_OP_GRU, true, 1}, {NPL_OP_GRU, false, 2}};
	const struct sizes s = {7, 3, 5, 6};
	struct cu_device *device = open_gpu(CU_F32);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t rng = 0x5eed0d00 + i;
		struct recurrent c = {0};
		c.attrs.recurrent = (struct npl_recurrent_attrs){
			.direction = NPL_BIDIRECTIONAL,
			.linear_before_reset = cases[i].reset_last,
			.activation = {{{NPL_CELL_SIGMOID, 0, 0}, {NPL_CELL_TANH, 0, 0}, {NPL_CELL_TANH, 0, 0}},
				       {{NPL_CELL_SIGMOID, 0, 0}, {NPL_CELL_TANH, 0, 0}, {NPL_CELL_TANH, 0, 0}}}};
		add_inputs(&c, cases[i].op, &s, &rng);
		make_outputs(&c, 2);
		cu_fake.launches = cu_fake.products = 0;
		run_both(device, &c, npl_op_defs[cases[i].op].name);
		cr_assert_eq(cu_fake.products, 1 + cases[i].a_step * s.steps, "%ld products", cu_fake.products);
		cr_assert_eq(cu_fake.launches, cases[i].a_step * s.steps, "%ld launches", cu_fake.launches);
		free_recurrent(&c);
	}
	cu_close(device);
}

/* No inputs: states alone go on. No steps: the last states are the first ones. No samples or no cells: nothing. */
Test(cuda_recurrent, sizes_may_be_zero)
{
	static const struct sizes all[] = {{3, 2, 0, 4}, {0, 2, 3, 4}, {3, 0, 2, 4}, {2, 2, 3, 0}};
	static const enum cu_precision precisions[] = {CU_F32, CU_F16};
	for (size_t i = 0; i < 2 * sizeof all / sizeof *all; i++) {
		struct cu_device *device = open_gpu(precisions[i % 2]);
		for (uint64_t round = 0; round < 6; round++) {
			uint64_t rng = 0x5eed0e00 + round;
			struct recurrent c = {0};
			choose_form(&c.attrs.recurrent, NPL_OP_LSTM, &rng);
			add_inputs(&c, NPL_OP_LSTM, &all[i / 2], &rng);
			add_optional(&c, NPL_OP_LSTM, &all[i / 2], &rng);
			make_outputs(&c, 3);
			round_inputs(&c, precisions[i % 2]);
			run_both(device, &c, "zero");
			cr_assert_lt(worst_of(&c), 4 * 0x1p-11, "%zu, round %d: %g", i, (int)round, worst_of(&c));
			free_recurrent(&c);
		}
		cu_close(device);
	}
}

/* The layer's activation is on Y; the states stay as they are. */
Test(cuda_recurrent, an_activation_follows_y)
{
	struct cu_device *device = open_gpu(CU_F32);
	uint64_t rng = 0x5eed0f00;
	const struct sizes s = {4, 3, 5, 6};
	struct recurrent c = {.layer.activation = NPL_ACT_RELU};
	c.attrs.recurrent.activation[0][0].function = NPL_CELL_TANH;
	add_inputs(&c, NPL_OP_RNN, &s, &rng);
	make_outputs(&c, 2);
	run_both(device, &c, "Relu");
	for (int64_t i = 0; i < npl_tensor_count(&c.expected[0]); i++)
		((float *)c.expected[0].data)[i] = fmaxf(((float *)c.expected[0].data)[i], 0);
	cr_assert_lt(worst_of(&c), 4 * 0x1p-22, "%g", worst_of(&c));
	free_recurrent(&c);
	cu_close(device);
}

/* Lengths that no sequence has are an error, and the device goes on. */
Test(cuda_recurrent, impossible_lengths_are_refused)
{
	static const int32_t wrong[] = {-1, 6, INT32_MIN, INT32_MAX};
	struct cu_device *device = open_gpu(CU_F32);
	uint64_t rng = 0x5eed1000;
	const struct sizes s = {5, 3, 4, 4};
	struct recurrent c = {0};
	choose_form(&c.attrs.recurrent, NPL_OP_GRU, &rng);
	add_inputs(&c, NPL_OP_GRU, &s, &rng);
	add_lengths(&c, &s, &rng);
	make_outputs(&c, 2);
	int32_t *length = &((int32_t *)c.in[LENGTHS].data)[1], right = *length;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct npl_err err = {0};
		struct npl_result result;
		*length = wrong[i];
		cr_assert_eq(run_on(device, &c, &result, &err), NPL_EINPUT, "%d", (int)wrong[i]);
		cr_assert(strstr(err.msg, "sequence_lens holds a length that is negative or more than all steps"), "%s",
			  err.msg);
		*length = right;
		run_both(device, &c, "afterwards");
		cr_assert_lt(worst_of(&c), 4 * 0x1p-22);
	}
	free_recurrent(&c);
	cu_close(device);
}

/* An LSTM and a GRU in a row, between products; in int8 those have 8 bits. What crosses the link is what goes in and
 * what comes out. */
Test(cuda_recurrent, networks_of_them_stay_on_the_gpu)
{
	static const struct {
		const char *set;
		double limit;
	} cases[] = {{"precision=f32", 1e-5},
		     {"precision=tf32", 4e-3},
		     {"precision=f16", 4e-3},
		     {"precision=bf16", 4e-2},
		     {"precision=int8", 0.1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (uint64_t round = 0; round < 4; round++) {
			uint64_t rng = 0x5eed1100 + round;
			struct onnx_writer graph = recurrent_graph(&rng);
			struct net net = make_net(&graph, &rng);
			struct npl_device *cuda = open_device_set("cuda", 1, (const char *[]){cases[i].set});
			struct outcome o = run_net(&net, &cuda, 1, NULL, false);
			cr_assert_lt(error_of(&net, o.out), cases[i].limit, "%s: %g", cases[i].set,
				     error_of(&net, o.out));
			check_totals(&o.run, cases[i].set);
			cr_assert_eq(o.run.link_bytes, (5 * 3 * 6 + 2 * 3 * 4 + 3 * 3) * 4, "%s: %llu", cases[i].set,
				     (unsigned long long)o.run.link_bytes);
			for (int l = 0; l < o.run.n_layers; l++)
				cr_assert(o.run.layer[l].role != NPL_RAN || !strcmp(o.run.layer[l].ran_on, "cuda"),
					  "%s: %s", cases[i].set, net.graph->node[l].name);
			free_outcome(&net, &o);
			npl_device_close(cuda);
			free_net(&net);
		}
}
