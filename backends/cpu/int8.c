/* SPDX-License-Identifier: MIT
 *
 * The cpu device in 8 bits (--set cpu.precision=int8). Conv, Gemm and MatMul of two tensors (int8_matmul.c) run on
 * core's exact integer kernels with the pool's threads, or on oneDNN's where they are exact and faster; convolutions of
 * a layer group try oneDNN first (int8_conv.c). Pooling, Relu, Clip, Concat, and Add and Mul of two tensors run on
 * integers by the rule of the simulated machines. Operators that only pick values run on bytes, functions of one tensor
 * by a table (int8_table.c). All other operators, and values that 8 bits cannot hold, stay in float32, as in the usual
 * runtimes.
 *
 * A layer group brings the weights of convolutions into the kernels' form when it is opened. A single layer's weights
 * are only lent, so they are brought into that form on each run, which is measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/float_layer.h"
#include "core/int8/layer.h"
#include "core/integer.h"
#include "core/op_functions.h"
#include "cpu.h"

#define THREADING_MACS  4000000 /* MACs that are worth a second thread: some 10 us of one */
#define THREADING_BYTES 65536   /* bytes of a pooling that are worth a second thread */
#define MAX_WINDOW      8388608 /* most bytes of a window whose average is computed */

void cpu_int8_describe(const struct cpu_state *cpu, char *text, size_t n)
{
	const char *library = npl_int8_library(NULL);
	snprintf(text, n, "%s kernels%s%s, %d thread%s, %s", npl_int8_kernel_name(0),
		 library ? " and " : " without oneDNN", library ? library : "", cpu->threads, npl_plural(cpu->threads),
		 cpu_level_name(cpu_vectors_detect().level));
}

/* Says whether each result is an integer of the input or an average over a window. ReduceMean is excluded, because
 * means over a whole tensor differ by less than a step of the input. */
static bool keeps_integers(const struct npl_layer *layer)
{
	return layer->op != NPL_OP_REDUCEMEAN && (npl_op_defs[layer->op].flags & NPL_OP_KEEPS_RANGE) &&
	       npl_tensor_quant_equal(layer->in[0], layer->out);
}

static bool is_reduction(enum npl_op op)
{
	return npl_op_share_kernel(op, NPL_OP_REDUCESUM);
}

static bool is_quantised(const struct npl_tensor *t)
{
	return t && npl_is_byte(t->dtype) && t->quant.scale > 0 && !t->quant.channel_scale &&
	       t->quant.zero_point >= npl_dtype_min(t->dtype) && t->quant.zero_point <= npl_dtype_max(t->dtype);
}

bool cpu_int8_is_product(const struct npl_layer *layer)
{
	return npl_layer_has_weights(layer) && layer->n_in > 1 && npl_is_byte(layer->in[0]->dtype) &&
	       npl_is_byte(layer->in[1]->dtype);
}

/* Says whether the layer multiplies two quantised tensors that are not empty. */
static bool is_matmul(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_MATMUL && layer->n_in == 2 && is_quantised(layer->in[0]) &&
	       is_quantised(layer->in[1]) && is_quantised(layer->out) && npl_tensor_count(layer->in[0]) > 0 &&
	       npl_tensor_count(layer->in[1]) > 0;
}

/* Says whether an operator has no integer rule and results that 255 even steps cannot represent: they are infinite or
 * NaN if an operand rounds to 0, and span too many orders of magnitude. */
static bool is_unbounded(enum npl_op op)
{
	return op == NPL_OP_DIV || op == NPL_OP_POW || op == NPL_OP_RECIPROCAL || op == NPL_OP_SQRT ||
	       op == NPL_OP_LOG || op == NPL_OP_EXP;
}

/* Says whether the layer is of a further operator with an integer rule, in a form that the rule has. */
static bool has_rule(const struct npl_layer *layer)
{
	char reason[200];
	bool has_rule_op = layer->op == NPL_OP_ADD || layer->op == NPL_OP_MUL || layer->op == NPL_OP_CONCAT ||
			   (layer->op == NPL_OP_CLIP && layer->attrs && layer->attrs->clip.known);
	return has_rule_op && npl_integer_layer_ok(layer, reason, sizeof reason);
}

bool cpu_int8_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const bool sums = npl_layer_has_weights(layer) || layer->op == NPL_OP_MATMUL || layer->op == NPL_OP_ADD ||
			  layer->op == NPL_OP_MUL;
	const struct npl_window *window = npl_op_window(layer->op, layer->attrs);
	if (layer->activation > (sums ? NPL_ACT_RELU6 : NPL_ACT_RELU))
		return npl_refuse(
			reason, reason_bytes,
			"in integers no other activation than Relu and, of sums, Relu6 is applied on the way");
	if (layer->op == NPL_OP_LRN)
		return npl_refuse(reason, reason_bytes, "its powers of sums of squares take float32");
	if (cpu_is_recurrent(layer))
		return npl_refuse(reason, reason_bytes, "its states are floats");
	if (is_unbounded(layer->op))
		return npl_refuse(reason, reason_bytes, "its results span more than 8 bits hold");
	if (layer->n_further)
		return npl_refuse(reason, reason_bytes,
				  "in 8 bits it gives its first result alone, and others are read");
	if (window && cpu_is_pool(layer->op) && window->kernel[0] * window->kernel[1] > MAX_WINDOW)
		return npl_refuse(reason, reason_bytes, "a window's sum may be more than 32 bits hold");
	if (npl_layer_has_weights(layer))
		return npl_int8_layer_ok(layer, reason, reason_bytes);
	/* The operator reads lists (axes, sizes) from inputs; Slice and reductions have them in their
	 * attributes. */
	const bool reads_lists = (npl_op_defs[layer->op].flags & NPL_OP_NEEDS_VALUES) &&
				 (layer->n_in > 1 || (layer->op != NPL_OP_SLICE && !is_reduction(layer->op)));
	if (reads_lists || layer->n_in < 1 || !layer->in[0])
		return npl_refuse(reason, reason_bytes, "its result is no function of 8-bit numbers");
	if (window && window->rank > NPL_SPATIAL)
		return npl_refuse(reason, reason_bytes, "in integers its windows are of one or two dimensions");
	if (!is_quantised(layer->out))
		return npl_refuse(reason, reason_bytes, "its output is not an 8-bit tensor with a scale");
	for (int i = 0; i < layer->n_in; i++)
		if (layer->in[i] && !is_quantised(layer->in[i]))
			return npl_refuse(reason, reason_bytes, "an input is not an 8-bit tensor with a scale");
	if (!keeps_integers(layer) && !has_rule(layer) && !is_matmul(layer) && !cpu_int8_has_table(layer))
		return npl_integer_layer_ok(layer, reason, reason_bytes)
			       ? npl_refuse(reason, reason_bytes, "its operands have no form for integers")
			       : false;
	for (int i = 0; i < layer->n_in; i++) {
		const struct npl_tensor *in = layer->in[i];
		/* The scale 1 with the zero point 0 marks a constant that was not calibrated: its range is unknown. */
		if (in && layer->n_in > 1 && !(in->quant.scale < 1) && !(in->quant.scale > 1) && !in->quant.zero_point)
			return npl_refuse(reason, reason_bytes,
					  "the range of an operand is not known, so 8 bits cannot hold it");
	}
	return true;
}

/* What the tasks of a step share. */
struct cpu_int8_step {
	struct npl_int8_job *job;
	int number;
};

static void run_task(void *context, int64_t task, int worker)
{
	struct cpu_int8_step *step = context;
	npl_int8_job_run(step->job, step->number, task, worker);
}

/* Runs the steps of a job and returns the seconds. A small product runs on one thread: it is done before another has
 * woken up. */
static double run_steps(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_int8_job *job)
{
	struct cpu_int8_step step = {.job = job};
	double begin = npl_clock_seconds();
	for (step.number = 0; step.number < npl_int8_job_steps(job); step.number++) {
		const int64_t tasks = npl_int8_job_tasks(job, step.number);
		if (layer->macs >= THREADING_MACS)
			npl_pool_run(cpu->pool, tasks, run_task, &step);
		for (int64_t task = 0; task < tasks && layer->macs < THREADING_MACS; task++)
			run_task(&step, task, 0);
	}
	return npl_clock_seconds() - begin;
}

static int run_product(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out,
		       struct npl_result *result, struct npl_err *err)
{
	struct npl_int8_counts counts = {0};
	struct npl_int8_job *job;
	int rc = npl_int8_job_open(layer, out, NULL, cpu->threads, &cpu->int8_memory, &job, err);
	if (rc)
		return rc;
	result->seconds = run_steps(cpu, layer, job);
	rc = npl_int8_job_close(job, &counts, err);
	result->saturations = counts.saturations;
	return rc ? rc : npl_int8_count_wrapped(layer, &result->overflows, err);
}

int cpu_int8_run_prepared(struct cpu_state *cpu, struct npl_int8_job *job, const struct npl_layer *layer,
			  struct npl_result *result, struct npl_err *err)
{
	struct npl_int8_counts counts = {0};
	int rc = npl_int8_job_begin(job, layer, layer->out, &cpu->int8_memory, err);
	if (rc)
		return rc;
	result->seconds = run_steps(cpu, layer, job);
	rc = npl_int8_job_end(job, &counts, err);
	result->saturations = counts.saturations;
	return rc ? rc : npl_int8_count_wrapped(layer, &result->overflows, err);
}

/* The planes of a pooling, which are independent of each other. */
struct planes {
	const struct npl_layer *layer;
	struct npl_tensor *out;
	int64_t count, tasks;
	struct npl_err *failed; /* per worker */
};

static struct npl_tensor planes_of(const struct npl_tensor *t, int64_t n_planes, int64_t first, int64_t count)
{
	struct npl_tensor planes = *t;
	planes.owned = false;
	planes.shape.dim[0] = count;
	planes.shape.dim[1] = 1;
	planes.data = (uint8_t *)t->data + npl_tensor_count(t) / n_planes * first;
	return planes;
}

static void run_planes(void *context, int64_t task, int worker)
{
	const struct planes *p = context;
	const int64_t first = p->count / p->tasks * task,
		      end = task + 1 == p->tasks ? p->count : p->count / p->tasks * (task + 1);
	struct npl_tensor x = planes_of(p->layer->in[0], p->count, first, end - first),
			  y = planes_of(p->out, p->count, first, end - first);
	struct npl_layer part = *p->layer;
	part.in[0] = &x;
	part.out = &y;
	npl_int8_run_unary(&part, &y, &p->failed[worker]);
}

static int run_integers(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out, double *seconds,
			struct npl_err *err)
{
	const struct npl_shape *x = &layer->in[0]->shape;
	struct planes p = {.layer = layer, .out = out, .count = x->rank > 1 ? x->dim[0] * x->dim[1] : 0};
	int rc = 0;
	p.tasks = p.count < 4 * (int64_t)cpu->threads ? p.count : 4 * (int64_t)cpu->threads;
	if (cpu->threads > 1 && cpu_is_pool(layer->op) && p.tasks > 1 &&
	    npl_tensor_count(layer->in[0]) >= THREADING_BYTES) {
		p.failed = calloc((size_t)cpu->threads, sizeof *p.failed);
		if (!p.failed)
			return npl_no_memory(err);
	}
	double begin = npl_clock_seconds();
	if (p.failed)
		npl_pool_run(cpu->pool, p.tasks, run_planes, &p);
	else
		rc = npl_int8_run_unary(layer, out, err);
	*seconds = npl_clock_seconds() - begin;
	for (int t = 0; t < cpu->threads && p.failed && !rc; t++)
		if (p.failed[t].code)
			rc = npl_fail_as(err, &p.failed[t]);
	free(p.failed);
	return rc;
}

static bool is_pair(const struct npl_layer *layer)
{
	return (layer->op == NPL_OP_ADD || layer->op == NPL_OP_MUL) && !layer->attrs->binary.legacy_broadcast;
}

static int run_rule(const struct npl_layer *layer, struct npl_tensor *out, struct npl_result *result,
		    struct npl_err *err)
{
	struct npl_integer_counts counts = {0};
	double begin = npl_clock_seconds();
	int rc = npl_run_integer(layer, out, &counts, err);
	result->seconds = npl_clock_seconds() - begin;
	result->saturations = counts.saturations;
	return rc;
}

int cpu_int8_run(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_tensor *out,
		 struct npl_result *result, struct npl_err *err)
{
	if (npl_layer_has_weights(layer))
		return run_product(cpu, layer, out, result, err);
	if (is_matmul(layer)) {
		int rc = cpu_int8_matmul(cpu, layer, out, result, err);
		return rc ? rc : npl_int8_count_wrapped(layer, &result->overflows, err);
	}
	if (keeps_integers(layer))
		return run_integers(cpu, layer, out, &result->seconds, err);
	if (has_rule(layer) && !(layer->op == NPL_OP_CLIP && cpu_int8_has_table(layer)))
		return is_pair(layer) ? cpu_int8_pair(cpu, layer, out, result, err) : run_rule(layer, out, result, err);
	return cpu_int8_table(cpu, layer, out, result, err);
}
