/* SPDX-License-Identifier: MIT
 *
 * Conv and Gemm on 8-bit tensors (core/int8/layer.h): functions for all layers, and the method for Gemm. */
#include "layer_impl.h"

#include "core/base/arith.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"

#include <math.h>
#include <stdlib.h>

#define GEMM_ACC 524288 /* sums of a block: 2 MiB, so that packing the operands again takes a small part of the time */

static bool zero_in_range(const struct npl_tensor *t)
{
	return t->quant.zero_point >= npl_dtype_min(t->dtype) && t->quant.zero_point <= npl_dtype_max(t->dtype);
}

static bool window_ok(const struct npl_window *w)
{
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (w->kernel[d] < 1 || w->stride[d] < 1 || w->dilation[d] < 1 || w->pad_begin[d] < 0 ||
		    w->pad_end[d] < 0)
			return false;
	return true;
}

static bool shapes_fit(const struct npl_layer *layer)
{
	const struct npl_shape *x = &layer->in[0]->shape, *w = &layer->in[1]->shape, *y = &layer->out->shape;
	if (npl_shape_count(x) <= 0 || npl_shape_count(w) <= 0 || npl_shape_count(y) <= 0)
		return false;
	if (layer->op == NPL_OP_GEMM)
		return x->rank == 2 && w->rank == 2 && y->rank == 2 && x->dim[1] == w->dim[1] &&
		       y->dim[0] == x->dim[0] && y->dim[1] == w->dim[0];
	const struct npl_window *window = &layer->attrs->conv.window;
	int64_t groups = layer->attrs->conv.groups;
	if ((x->rank != 3 && x->rank != 4) || w->rank != x->rank || y->rank != x->rank || groups < 1 ||
	    !window_ok(window))
		return false;
	struct npl_image in = npl_image_of(x), out = npl_image_of(y), kernel = npl_image_of(w);
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (kernel.size[d] != window->kernel[d] || npl_window_output(window, d, in.size[d]) != out.size[d])
			return false;
	return w->dim[0] % groups == 0 && x->dim[1] == w->dim[1] * groups && y->dim[0] == x->dim[0] &&
	       y->dim[1] == w->dim[0];
}

bool npl_int8_layer_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if ((layer->op != NPL_OP_CONV && layer->op != NPL_OP_GEMM) || layer->n_in < 2 || !layer->in[0] || !layer->in[1])
		return npl_refuse(reason, reason_bytes, "not a Conv or Gemm with weights");
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *y = layer->out;
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	if (!npl_is_byte(x->dtype) || !npl_is_byte(w->dtype) || (!npl_is_byte(y->dtype) && y->dtype != NPL_I32))
		return npl_refuse(reason, reason_bytes,
				  "the operands are not 8-bit integers, or the results not of 8 or 32 bits");
	if (!shapes_fit(layer))
		return npl_refuse(reason, reason_bytes,
				  "not a Conv of one or two dimensions or a Gemm of rank 2, or an empty one");
	if (!zero_in_range(x) || !zero_in_range(w) || (npl_is_byte(y->dtype) && !zero_in_range(y)))
		return npl_refuse(reason, reason_bytes, "a zero point lies outside its 8-bit type");
	if (layer->activation > NPL_ACT_RELU6 || (layer->activation == NPL_ACT_RELU6 && !npl_is_byte(y->dtype)))
		return npl_refuse(reason, reason_bytes,
				  "in the same pass 8-bit results go through Relu or Relu6, sums through Relu");
	if (bias && (bias->dtype != NPL_I32 || npl_tensor_count(bias) != w->shape.dim[0]))
		return npl_refuse(reason, reason_bytes, "the bias is not one 32-bit integer per output channel");
	return true;
}

/* Chooses blocks whose sums fit in a cache, with blocks for all workers. */
static int gemm_open(struct npl_int8_job *job, struct npl_err *err)
{
	(void)err;
	int64_t rows = job->pixels, columns = job->filters;
	for (;;) {
		int64_t tasks = npl_div_up_i64(job->pixels, rows) * npl_div_up_i64(job->filters, columns);
		bool too_few = job->n_workers > 1 && tasks < 2 * job->n_workers;
		if (!too_few && (!job->scale || rows * columns <= GEMM_ACC))
			break;
		if (rows >= columns && rows > 64)
			rows = (rows + 15) / 16 * 8; /* half as many rows, in whole panels */
		else if (columns > 96)
			columns = (columns + 191) / 192 * 96;
		else
			break;
	}
	job->pixels_at_once = rows;
	job->filters_at_once = columns;
	job->acc_elements = job->scale ? rows * columns : 0;
	job->product_bytes = npl_int8_workspace(rows, columns, job->k, job->order.k_block);
	return 0;
}

static int one_step(const struct npl_int8_job *job)
{
	(void)job;
	return 1;
}

static int64_t gemm_tasks(const struct npl_int8_job *job, int step)
{
	(void)step;
	return job->filter_blocks * job->pixel_blocks;
}

static int gemm_run(struct npl_int8_job *job, int step, int64_t task, struct npl_int8_worker *worker,
		    struct npl_err *err)
{
	(void)step;
	const struct npl_tensor *x = job->layer->in[0], *w = job->layer->in[1];
	int64_t row = task / job->filter_blocks * job->pixels_at_once,
		column = task % job->filter_blocks * job->filters_at_once, k = job->k;
	struct npl_int8_product product = {
		.m = job->pixels - row < job->pixels_at_once ? job->pixels - row : job->pixels_at_once,
		.n = job->filters - column < job->filters_at_once ? job->filters - column : job->filters_at_once,
		.k = k,
		.a = npl_int8_matrix_of(x, (const uint8_t *)x->data + row * k, k, 1),
		.b = npl_int8_matrix_of(w, (const uint8_t *)w->data + column * k, k, 1),
		.k_segment = job->order.k_segment,
		.k_block = job->order.k_block,
		.workspace = worker->product,
		.workspace_bytes = job->product_bytes,
	};
	product.c = job->scale ? worker->acc : (int32_t *)job->out.data + row * job->filters + column;
	product.c_stride = job->scale ? product.n : job->filters;
	int rc = npl_int8_gemm(&product, &worker->counts.overflows, err);
	for (int64_t i = 0; !rc && i < product.m; i++)
		npl_int8_finish_row(job, product.c + i * product.c_stride, product.n, column, 1,
				    (row + i) * job->filters + column, &worker->counts);
	return rc;
}

/* One product of the operands as they are stored. */
static const struct npl_int8_method gemm_method = {
	.open = gemm_open,
	.steps = one_step,
	.tasks = gemm_tasks,
	.run = gemm_run,
};

/* Says whether a scale may be used. 0 is allowed: a product of tiny scales may underflow, and all results are then the
 * zero point. */
static bool usable_scale(float scale)
{
	return isfinite(scale) && scale >= 0;
}

static int set_scales(struct npl_int8_job *job, struct npl_err *err)
{
	const struct npl_quant *x = &job->layer->in[0]->quant, *w = &job->layer->in[1]->quant, *y = &job->out.quant;
	int64_t channels = job->layer->in[1]->shape.dim[0];
	job->scale = malloc((size_t)channels * sizeof *job->scale);
	if (!job->scale)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld scales", (long long)channels);
	for (int64_t i = 0; i < channels; i++) {
		float w_scale = w->channel_scale ? w->channel_scale[i] : w->scale;
		job->scale[i] = npl_int8_scale(x->scale, w_scale, y->scale);
		if (!usable_scale(x->scale) || !usable_scale(w_scale) || !usable_scale(y->scale) ||
		    !usable_scale(job->scale[i]))
			return npl_fail(err, NPL_EINPUT,
					"output channel %lld is scaled by %g * %g / %g = %g (input, weight, output), "
					"expected finite numbers from 0",
					(long long)i, (double)x->scale, (double)w_scale, (double)y->scale,
					(double)job->scale[i]);
	}
	return 0;
}

static void set_sizes(struct npl_int8_job *job)
{
	const struct npl_shape *w = &job->layer->in[1]->shape;
	job->images = job->groups = job->taps = 1;
	job->filters = w->dim[0];
	job->channels = w->dim[1];
	job->pixels = job->out.shape.dim[0];
	if (job->layer->op == NPL_OP_CONV) {
		const struct npl_window *window = &job->layer->attrs->conv.window;
		job->in_image = npl_image_of(&job->layer->in[0]->shape);
		job->out_image = npl_image_of(&job->out.shape);
		job->images = job->out_image.images;
		job->groups = job->layer->attrs->conv.groups;
		job->filters /= job->groups;
		job->taps = window->kernel[0] * window->kernel[1];
		job->pixels = job->out_image.size[0] * job->out_image.size[1];
	}
	job->k = job->channels * job->taps;
}

/* Says whether the machine's order must be followed: if additions are to be counted and a sum of products could
 * wrap. */
static bool needs_counting(const struct npl_int8_job *job, const struct npl_int8_order *order)
{
	const struct npl_int8_product bound = {.k = job->k,
					       .a = npl_int8_matrix_of(job->layer->in[0], NULL, 1, 1),
					       .b = npl_int8_matrix_of(job->layer->in[1], NULL, 1, 1)};
	return order && npl_int8_may_wrap(&bound);
}

void npl_int8_memory_free(struct npl_int8_memory *memory)
{
	free(memory->base);
	*memory = (struct npl_int8_memory){0};
}

/* Takes memory for the workers and for what the method has claimed; for its weights too, unless these have their
 * own. */
static int take_memory(struct npl_int8_job *job, struct npl_int8_memory *memory, struct npl_err *err)
{
	const size_t claimed_before = job->claimed, workers = (size_t)job->n_workers;
	size_t acc = npl_int8_claim(job, job->acc_elements * (int64_t)sizeof(int32_t)),
	       gathered = npl_int8_claim(job, job->gathered_bytes), product = npl_int8_claim(job, job->product_bytes),
	       worker_bytes = job->claimed - claimed_before, weights = claimed_before + workers * worker_bytes,
	       bytes = weights + (job->prepared ? 0 : job->weights_claimed);
	job->claimed = claimed_before;
	if (memory->bytes < bytes) {
		npl_int8_memory_free(memory);
		memory->base = aligned_alloc(64, bytes);
		memory->bytes = memory->base ? bytes : 0;
	}
	if (!memory->base && bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes", bytes);
	job->base = memory->base;
	if (!job->prepared)
		job->weights_base = job->base + weights;
	for (size_t i = 0; i < workers; i++) {
		job->worker[i].acc = (int32_t *)(void *)(job->base + acc + i * worker_bytes);
		job->worker[i].gathered = job->base + gathered + i * worker_bytes;
		job->worker[i].product = job->base + product + i * worker_bytes;
	}
	return 0;
}

/* Opens a job, except its memory. */
static int open_without_memory(const struct npl_layer *layer, const struct npl_tensor *out,
			       const struct npl_int8_order *order, int workers, bool prepared,
			       struct npl_int8_job **job_out, struct npl_err *err)
{
	struct npl_int8_job *job = calloc(1, sizeof *job);
	*job_out = job;
	if (!job)
		return npl_no_memory(err);
	job->layer = layer;
	job->out = *out;
	job->out.owned = false;
	job->n_workers = workers;
	job->prepared = prepared;
	job->worker = calloc((size_t)workers, sizeof *job->worker);
	if (!job->worker)
		return npl_no_memory(err);
	set_sizes(job);
	if (needs_counting(job, order))
		job->order = *order;
	job->method = layer->op == NPL_OP_GEMM   ? &gemm_method
		      : npl_int8_windows_ok(job) ? &npl_int8_windows_method
						 : &npl_int8_patches_method;
	int rc = out->dtype == NPL_I32 ? 0 : set_scales(job, err);
	if (!rc)
		rc = job->method->open(job, err);
	job->filter_blocks = rc ? 0 : npl_div_up_i64(job->filters, job->filters_at_once);
	job->pixel_blocks = rc ? 0 : npl_div_up_i64(job->pixels, job->pixels_at_once);
	return rc;
}

static int place(struct npl_int8_job *job, struct npl_int8_memory *memory, struct npl_err *err)
{
	const struct npl_tensor *bias = job->layer->n_in > 2 ? job->layer->in[2] : NULL;
	job->bias = bias ? bias->data : NULL;
	if (take_memory(job, memory, err))
		return err->code;
	if (job->method->place)
		job->method->place(job);
	return 0;
}

int npl_int8_job_open(const struct npl_layer *layer, const struct npl_tensor *out, const struct npl_int8_order *order,
		      int workers, struct npl_int8_memory *memory, struct npl_int8_job **job_out, struct npl_err *err)
{
	struct npl_int8_job *job;
	int rc = open_without_memory(layer, out, order, workers, false, &job, err);
	if (!rc)
		rc = place(job, memory, err);
	if (rc) {
		npl_int8_job_close(job, NULL, NULL);
		job = NULL;
	}
	*job_out = job;
	return rc;
}

int npl_int8_job_prepare(const struct npl_layer *layer, int workers, struct npl_int8_job **job_out, struct npl_err *err)
{
	struct npl_int8_memory memory = {0};
	struct npl_int8_job *job;
	int rc = open_without_memory(layer, layer->out, NULL, workers, true, &job, err);
	bool is_useful = !rc && job->method->prepares && job->weights_claimed;
	if (is_useful) {
		job->weights_base = aligned_alloc(64, job->weights_claimed);
		if (!job->weights_base)
			rc = npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of weights", job->weights_claimed);
	}
	if (is_useful && !rc)
		rc = place(job, &memory, err);
	for (int64_t task = 0, n = is_useful && !rc ? job->method->tasks(job, 0) : 0; task < n && !rc; task++)
		rc = job->method->run(job, 0, task, &job->worker[0], err);
	npl_int8_memory_free(&memory);
	if (rc || !is_useful) {
		npl_int8_job_close(job, NULL, NULL);
		job = NULL;
	}
	*job_out = job;
	return rc;
}

int npl_int8_job_begin(struct npl_int8_job *job, const struct npl_layer *layer, const struct npl_tensor *out,
		       struct npl_int8_memory *memory, struct npl_err *err)
{
	job->layer = layer;
	job->out = *out;
	job->out.owned = false;
	for (int i = 0; i < job->n_workers; i++)
		job->worker[i] = (struct npl_int8_worker){0};
	return place(job, memory, err);
}

int npl_int8_job_steps(const struct npl_int8_job *job)
{
	return job->method->steps(job);
}

int64_t npl_int8_job_tasks(const struct npl_int8_job *job, int step)
{
	return step == 0 && job->prepared ? 0 : job->method->tasks(job, step);
}

void npl_int8_job_run(struct npl_int8_job *job, int step, int64_t task, int worker)
{
	struct npl_int8_worker *self = &job->worker[worker];
	if (!self->err.code && job->method->run(job, step, task, self, &self->err) && !self->err.code)
		self->err.code = NPL_EINTERNAL;
}

int npl_int8_job_end(struct npl_int8_job *job, struct npl_int8_counts *counts, struct npl_err *err)
{
	int rc = 0;
	for (int i = 0; job->worker && i < job->n_workers; i++) {
		struct npl_int8_worker *worker = &job->worker[i];
		if (counts) {
			counts->overflows += worker->counts.overflows;
			counts->saturations += worker->counts.saturations;
		}
		if (worker->err.code && !rc) {
			rc = worker->err.code;
			if (err)
				*err = worker->err;
		}
	}
	return rc;
}

int npl_int8_job_close(struct npl_int8_job *job, struct npl_int8_counts *counts, struct npl_err *err)
{
	if (!job)
		return 0;
	int rc = npl_int8_job_end(job, counts, err);
	if (job->method && job->method->close)
		job->method->close(job);
	if (job->prepared)
		free(job->weights_base);
	free(job->worker);
	free(job->scale);
	free(job);
	return rc;
}
