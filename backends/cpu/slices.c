/* SPDX-License-Identifier: MIT
 *
 * Operators whose tensors can be cut along a first dimension into independent slices, in parallel: each slice is run by
 * the operator's own kernel on a smaller tensor, so the bits are those of the whole. */
#include <stdatomic.h>

#include "core/computer/clock.h"
#include "core/float_layer.h"
#include "core/op_functions.h"
#include "core/ops/reduce.h"
#include "cpu.h"

/* The shapes in which the operator's tensors can be cut into any number of slices in dimension `dim`. */
struct slicing {
	int dim;
	int64_t slices;
	struct npl_shape in, out;
	bool parameters; /* inputs 1 and 2 have one value for each slice */
	struct npl_attrs attrs;
};

static bool is_one(double x)
{
	return x <= 1 && x >= 1;
}

/* Slices a Softmax as (rows before the axis, vector, elements after it). */
static void slice_softmax(const struct npl_layer *layer, struct slicing *s)
{
	const struct npl_shape *shape = &layer->in[0]->shape;
	const int axis = (int)layer->attrs->along.axis, rank = shape->rank;
	const bool matrix = layer->attrs->opset > 0 &&
			    layer->attrs->opset < 13; /* all from the axis on is one vector */
	int64_t size[3] = {1, 1, 1};
	for (int d = 0; d < rank; d++)
		size[d < axis ? 0 : d == axis || matrix ? 1 : 2] *= shape->dim[d];
	s->in = s->out = npl_shape_of(3, size[0], size[1], size[2]);
	s->slices = size[0];
	s->attrs.along.axis = 1;
	s->attrs.opset = 13;
}

/* Slices a Resize that keeps images and channels as (1, channels of all images, ...). */
static void slice_planes(const struct npl_layer *layer, struct slicing *s)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	const struct npl_resize_attrs *r = &layer->attrs->resize;
	bool planes = x->rank >= 3;
	for (int d = 0; d < 2 && planes; d++)
		planes = x->dim[d] == y->dim[d] && is_one(r->scale[d]) && is_one(1 + r->from[d]) && is_one(r->to[d]);
	if (!planes)
		return;
	s->in = *x;
	s->out = *y;
	s->dim = 1;
	s->slices = x->dim[0] * x->dim[1];
	s->in.dim[0] = s->out.dim[0] = 1;
}

/* Slices a pooling, which makes each plane from one of x, as (1, channels of all images, ...). */
static void slice_images(const struct npl_layer *layer, struct slicing *s)
{
	s->in = layer->in[0]->shape;
	s->out = layer->out->shape;
	s->dim = 1;
	s->slices = s->in.dim[0] * s->in.dim[1];
	s->in.dim[0] = s->out.dim[0] = 1;
}

/* Returns the first dimension that is more than 1, or the last. */
static int first_long(const struct npl_shape *shape)
{
	int d = 0;
	while (d < shape->rank - 1 && shape->dim[d] == 1)
		d++;
	return d;
}

/* Cuts along the first dimension that is more than 1, unless it is reduced or, if reduced dimensions are dropped, one
 * before it is. */
static void slice_outer(const struct npl_layer *layer, unsigned reduced, bool same_rank, struct slicing *s)
{
	const struct npl_shape *x = &layer->in[0]->shape;
	const int dim = first_long(x);
	if (!x->rank || reduced & 1u << dim || (!same_rank && reduced & ((1u << dim) - 1)))
		return;
	s->in = *x;
	s->out = layer->out->shape;
	s->dim = dim;
	s->slices = x->dim[dim];
}

/* Slices a normalisation of rows. Scale and bias must have no dimension before the axis. */
static void slice_rows(const struct npl_layer *layer, struct slicing *s)
{
	const struct npl_shape *x = &layer->in[0]->shape;
	const int axis = (int)layer->attrs->norm.axis;
	for (int i = 1; i < layer->n_in; i++)
		if (layer->in[i] && layer->in[i]->shape.rank > x->rank - axis)
			return;
	slice_outer(layer, ~0u << axis, true, s);
}

/* Slices an instance normalisation into samples, or one sample into channels with their scales and biases. */
static void slice_instances(const struct npl_layer *layer, struct slicing *s)
{
	s->in = s->out = layer->in[0]->shape;
	s->dim = s->in.dim[0] > 1 ? 0 : 1;
	s->slices = s->in.dim[s->dim];
	s->parameters = s->dim == 1;
}

static struct slicing slicing_of(const struct npl_layer *layer)
{
	struct slicing s = {0};
	const struct npl_tensor *in = layer->n_in > 0 ? layer->in[0] : NULL;
	if (!in || layer->n_further || layer->activation || !npl_tensor_count(in) || !npl_tensor_count(layer->out) ||
	    (in->dtype != layer->out->dtype && !npl_op_share_kernel(layer->op, NPL_OP_ARGMAX)))
		return s;
	s.attrs = *layer->attrs;
	if (npl_op_share_kernel(layer->op, NPL_OP_SOFTMAX))
		slice_softmax(layer, &s);
	else if (layer->op == NPL_OP_RESIZE || layer->op == NPL_OP_UPSAMPLE)
		slice_planes(layer, &s);
	else if (npl_op_share_kernel(layer->op, NPL_OP_REDUCESUM))
		slice_outer(layer, op_reduced(layer->attrs, in->shape.rank), layer->attrs->reduce.keep_dims, &s);
	else if (npl_op_share_kernel(layer->op, NPL_OP_ARGMAX))
		slice_outer(layer, 1u << layer->attrs->arg.axis, layer->attrs->arg.keep_dims, &s);
	else if (layer->op == NPL_OP_INSTANCENORMALIZATION)
		slice_instances(layer, &s);
	else if (layer->op == NPL_OP_LAYERNORMALIZATION || layer->op == NPL_OP_RMSNORMALIZATION)
		slice_rows(layer, &s);
	else if (cpu_maxpool_knows(layer) || layer->op == NPL_OP_AVERAGEPOOL)
		slice_images(layer, &s);
	return s;
}

bool cpu_is_sliced(const struct npl_layer *layer)
{
	return slicing_of(layer).slices > 1;
}

struct slice_job {
	const struct npl_layer *layer;
	const struct npl_tensor *out;
	struct slicing slicing;
	int64_t tasks;
	atomic_bool failed;
	struct npl_err err; /* the error of the first task that failed */
};

static struct npl_tensor slices_of(const struct npl_tensor *tensor, const struct npl_shape *shape,
				   const struct slicing *s, int64_t first, int64_t count)
{
	struct npl_tensor slices = *tensor;
	slices.shape = *shape;
	slices.shape.dim[s->dim] = count;
	slices.data = (char *)tensor->data + npl_tensor_bytes(tensor) / (size_t)s->slices * (size_t)first;
	slices.owned = false;
	return slices;
}

static void run_task(void *context, int64_t i, int worker)
{
	struct slice_job *job = context;
	const struct slicing *s = &job->slicing;
	const int64_t first = s->slices * i / job->tasks, end = s->slices * (i + 1) / job->tasks;
	struct npl_tensor in = slices_of(job->layer->in[0], &s->in, s, first, end - first),
			  out = slices_of(job->out, &s->out, s, first, end - first);
	struct npl_tensor parameter[2];
	struct npl_layer part = *job->layer;
	struct npl_err err = {0};
	double seconds;
	(void)worker;
	part.in[0] = &in;
	for (int p = 1; s->parameters && p < 3; p++) {
		const struct npl_shape shape = npl_shape_of(1, s->slices);
		parameter[p - 1] = slices_of(part.in[p], &shape, &(struct slicing){.slices = s->slices}, first,
					     end - first);
		part.in[p] = &parameter[p - 1];
	}
	part.out = &out;
	part.attrs = &s->attrs;
	if (npl_run_reference(&part, &out, &seconds, &err) && !atomic_exchange(&job->failed, true))
		job->err = err;
}

int cpu_slices_run(struct cpu_state *cpu, const struct npl_layer *layer, const struct npl_tensor *out, double *seconds,
		   struct npl_err *err)
{
	struct slice_job job = {.layer = layer, .out = out, .slicing = slicing_of(layer)};
	const int64_t in_count = npl_tensor_count(layer->in[0]), out_count = npl_tensor_count(out),
		      elements = in_count > out_count ? in_count : out_count,
		      max_tasks = CPU_TASKS_OF_THREAD * (int64_t)cpu->threads;
	job.tasks = cpu->threads == 1 ? 1 : elements / CPU_TASK_ELEMENTS;
	job.tasks = job.tasks > max_tasks ? max_tasks : job.tasks;
	job.tasks = job.tasks > job.slicing.slices ? job.slicing.slices : job.tasks < 1 ? 1 : job.tasks;
	double begin = npl_clock_seconds();
	npl_pool_run(cpu->pool, job.tasks, run_task, &job);
	*seconds = npl_clock_seconds() - begin;
	return job.err.code ? npl_fail_as(err, &job.err) : 0;
}
