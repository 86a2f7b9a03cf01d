/* SPDX-License-Identifier: MIT
 *
 * Conv and Gemm on 8-bit tensors (core/int8/layer.h): what layers share, and Gemm. */
#include "layer_impl.h"

#include "core/base/arith.h"
#include "core/base/refuse.h"

#include <math.h>
#include <stdlib.h>

#define GEMM_ACC 524288 /* sums waiting to be finished: 2 MiB, so that packing the operands again is a small part */

static bool is_byte(const struct npl_tensor *t)
{
	return t->dtype == NPL_U8 || t->dtype == NPL_I8;
}

static bool zero_in_range(const struct npl_tensor *t)
{
	return t->quant.zero_point >= npl_int8_min(t->dtype) && t->quant.zero_point <= npl_int8_max(t->dtype);
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
	const struct npl_window *window = &layer->attrs->window;
	int64_t groups = layer->attrs->groups;
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

bool npl_int8_layer_ok(const struct npl_layer *layer, char *why, size_t n)
{
	if ((layer->op != NPL_OP_CONV && layer->op != NPL_OP_GEMM) || layer->n_in < 2 || !layer->in[0] || !layer->in[1])
		return npl_refuse(why, n, "not a Conv or Gemm with weights");
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *y = layer->out;
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	if (!is_byte(x) || !is_byte(w) || (!is_byte(y) && y->dtype != NPL_I32))
		return npl_refuse(why, n, "the operands are not 8-bit integers, or the results not of 8 or 32 bits");
	if (!shapes_fit(layer))
		return npl_refuse(why, n, "not a Conv of one or two dimensions or a Gemm of rank 2, or an empty one");
	if (!zero_in_range(x) || !zero_in_range(w) || (is_byte(y) && !zero_in_range(y)))
		return npl_refuse(why, n, "a zero point lies outside its 8-bit type");
	if (layer->fused > NPL_ACT_RELU6 || (layer->fused == NPL_ACT_RELU6 && !is_byte(y)))
		return npl_refuse(why, n, "in the same pass 8-bit results go through Relu or Relu6, sums through Relu");
	if (bias && (bias->dtype != NPL_I32 || npl_tensor_count(bias) != w->shape.dim[0]))
		return npl_refuse(why, n, "the bias is not one 32-bit integer per output channel");
	return true;
}

/* Blocks small enough for their sums to wait in a cache, and enough of them for all workers. */
static int gemm_open(struct npl_int8_work *work, struct npl_err *err)
{
	(void)err;
	int64_t rows = work->pixels, columns = work->filters;
	for (;;) {
		int64_t tasks = npl_div_up_i64(work->pixels, rows) * npl_div_up_i64(work->filters, columns);
		bool too_few = work->n_workers > 1 && tasks < 2 * work->n_workers;
		if (!too_few && (!work->scale || rows * columns <= GEMM_ACC))
			break;
		if (rows >= columns && rows > 64)
			rows = (rows + 15) / 16 * 8; /* half, in whole panels */
		else if (columns > 96)
			columns = (columns + 191) / 192 * 96;
		else
			break;
	}
	work->pixels_at_once = rows;
	work->filters_at_once = columns;
	work->acc_elements = work->scale ? rows * columns : 0;
	work->product_bytes = npl_int8_workspace(rows, columns, work->k, work->order.k_block);
	return 0;
}

static int one_step(const struct npl_int8_work *work)
{
	(void)work;
	return 1;
}

static int64_t gemm_tasks(const struct npl_int8_work *work, int step)
{
	(void)step;
	return work->filter_blocks * work->pixel_blocks;
}

static int gemm_run(struct npl_int8_work *work, int step, int64_t task, struct npl_int8_worker *worker,
		    struct npl_err *err)
{
	(void)step;
	const struct npl_tensor *x = work->layer->in[0], *w = work->layer->in[1];
	int64_t row = task / work->filter_blocks * work->pixels_at_once,
		column = task % work->filter_blocks * work->filters_at_once, k = work->k;
	struct npl_int8_product product = {
		.m = work->pixels - row < work->pixels_at_once ? work->pixels - row : work->pixels_at_once,
		.n = work->filters - column < work->filters_at_once ? work->filters - column : work->filters_at_once,
		.k = k,
		.a = npl_int8_matrix_of(x, (const uint8_t *)x->data + row * k, k, 1),
		.b = npl_int8_matrix_of(w, (const uint8_t *)w->data + column * k, k, 1),
		.k_segment = work->order.k_segment,
		.k_block = work->order.k_block,
		.workspace = worker->product,
		.workspace_bytes = work->product_bytes,
	};
	product.c = work->scale ? worker->acc : (int32_t *)work->out.data + row * work->filters + column;
	product.c_stride = work->scale ? product.n : work->filters;
	int rc = npl_int8_gemm(&product, &worker->counts.overflows, err);
	for (int64_t i = 0; !rc && i < product.m; i++)
		npl_int8_finish_row(work, product.c + i * product.c_stride, product.n, column, 1,
				    (row + i) * work->filters + column, &worker->counts);
	return rc;
}

const struct npl_int8_way npl_int8_gemm_way = {
	.open = gemm_open,
	.steps = one_step,
	.tasks = gemm_tasks,
	.run = gemm_run,
};

/* 0 is fine: a channel of weights around 1e-28 beside another of 1e20 comes to nothing, each result the zero point. */
static bool usable_scale(float scale)
{
	return isfinite(scale) && scale >= 0;
}

static int set_scales(struct npl_int8_work *work, struct npl_err *err)
{
	const struct npl_quant *x = &work->layer->in[0]->quant, *w = &work->layer->in[1]->quant, *y = &work->out.quant;
	int64_t channels = work->layer->in[1]->shape.dim[0];
	work->scale = malloc((size_t)channels * sizeof *work->scale);
	if (!work->scale)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld scales", (long long)channels);
	for (int64_t i = 0; i < channels; i++) {
		float w_scale = w->channel_scale ? w->channel_scale[i] : w->scale;
		work->scale[i] = npl_int8_scale(x->scale, w_scale, y->scale);
		if (!usable_scale(x->scale) || !usable_scale(w_scale) || !usable_scale(y->scale) ||
		    !usable_scale(work->scale[i]))
			return npl_fail(err, NPL_EINPUT,
					"output channel %lld is scaled by %g * %g / %g = %g (input, weight, output), "
					"expected finite numbers from 0",
					(long long)i, (double)x->scale, (double)w_scale, (double)y->scale,
					(double)work->scale[i]);
	}
	return 0;
}

static void set_sizes(struct npl_int8_work *work)
{
	const struct npl_shape *w = &work->layer->in[1]->shape;
	work->images = work->groups = work->taps = 1;
	work->filters = w->dim[0];
	work->channels = w->dim[1];
	work->pixels = work->out.shape.dim[0];
	if (work->layer->op == NPL_OP_CONV) {
		const struct npl_window *window = &work->layer->attrs->window;
		work->in_image = npl_image_of(&work->layer->in[0]->shape);
		work->out_image = npl_image_of(&work->out.shape);
		work->images = work->out_image.images;
		work->groups = work->layer->attrs->groups;
		work->filters /= work->groups;
		work->taps = window->kernel[0] * window->kernel[1];
		work->pixels = work->out_image.size[0] * work->out_image.size[1];
	}
	work->k = work->channels * work->taps;
}

/* Whether the machine's order must be followed: only where a sum of products could wrap. */
static bool must_count(const struct npl_int8_work *work, const struct npl_int8_order *order)
{
	const struct npl_int8_product bound = {.k = work->k,
					       .a = npl_int8_matrix_of(work->layer->in[0], NULL, 1, 1),
					       .b = npl_int8_matrix_of(work->layer->in[1], NULL, 1, 1)};
	return order && npl_int8_may_wrap(&bound);
}

void npl_int8_memory_free(struct npl_int8_memory *memory)
{
	free(memory->base);
	*memory = (struct npl_int8_memory){0};
}

/* Memory for the workers and for what the way has claimed; for its weights too, unless these have their own. */
static int take_memory(struct npl_int8_work *work, struct npl_int8_memory *memory, struct npl_err *err)
{
	const size_t before = work->claimed, workers = (size_t)work->n_workers;
	size_t acc = npl_int8_claim(work, work->acc_elements * (int64_t)sizeof(int32_t)),
	       gathered = npl_int8_claim(work, work->gathered_bytes),
	       product = npl_int8_claim(work, work->product_bytes), each = work->claimed - before,
	       weights = before + workers * each, bytes = weights + (work->prepared ? 0 : work->weights_claimed);
	work->claimed = before;
	if (memory->bytes < bytes) {
		npl_int8_memory_free(memory);
		memory->base = aligned_alloc(64, bytes);
		memory->bytes = memory->base ? bytes : 0;
	}
	if (!memory->base && bytes)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes", bytes);
	work->base = memory->base;
	if (!work->prepared)
		work->weights_base = work->base + weights;
	for (size_t i = 0; i < workers; i++) {
		work->worker[i].acc = (int32_t *)(void *)(work->base + acc + i * each);
		work->worker[i].gathered = work->base + gathered + i * each;
		work->worker[i].product = work->base + product + i * each;
	}
	return 0;
}

/* Everything but memory. */
static int open_work(const struct npl_layer *layer, const struct npl_tensor *out, const struct npl_int8_order *order,
		     int workers, bool prepared, struct npl_int8_work **made, struct npl_err *err)
{
	struct npl_int8_work *work = calloc(1, sizeof *work);
	*made = work;
	if (!work)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	work->layer = layer;
	work->out = *out;
	work->out.owned = false;
	work->n_workers = workers;
	work->prepared = prepared;
	work->worker = calloc((size_t)workers, sizeof *work->worker);
	if (!work->worker)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	set_sizes(work);
	if (must_count(work, order))
		work->order = *order;
	work->way = layer->op == NPL_OP_GEMM    ? &npl_int8_gemm_way
		    : npl_int8_windows_ok(work) ? &npl_int8_windows_way
						: &npl_int8_patches_way;
	int rc = out->dtype == NPL_I32 ? 0 : set_scales(work, err);
	if (!rc)
		rc = work->way->open(work, err);
	work->filter_blocks = rc ? 0 : npl_div_up_i64(work->filters, work->filters_at_once);
	work->pixel_blocks = rc ? 0 : npl_div_up_i64(work->pixels, work->pixels_at_once);
	return rc;
}

static int place(struct npl_int8_work *work, struct npl_int8_memory *memory, struct npl_err *err)
{
	const struct npl_tensor *bias = work->layer->n_in > 2 ? work->layer->in[2] : NULL;
	work->bias = bias ? bias->data : NULL;
	if (take_memory(work, memory, err))
		return err->code;
	if (work->way->place)
		work->way->place(work);
	return 0;
}

int npl_int8_work_open(const struct npl_layer *layer, const struct npl_tensor *out, const struct npl_int8_order *order,
		       int workers, struct npl_int8_memory *memory, struct npl_int8_work **made, struct npl_err *err)
{
	struct npl_int8_work *work;
	int rc = open_work(layer, out, order, workers, false, &work, err);
	if (!rc)
		rc = place(work, memory, err);
	if (rc) {
		npl_int8_work_close(work, NULL, NULL);
		work = NULL;
	}
	*made = work;
	return rc;
}

int npl_int8_work_prepare(const struct npl_layer *layer, int workers, struct npl_int8_work **made, struct npl_err *err)
{
	struct npl_int8_memory memory = {0};
	struct npl_int8_work *work;
	int rc = open_work(layer, layer->out, NULL, workers, true, &work, err);
	bool gains = !rc && work->way->prepares && work->weights_claimed;
	if (gains) {
		work->weights_base = aligned_alloc(64, work->weights_claimed);
		if (!work->weights_base)
			rc = npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes of weights", work->weights_claimed);
	}
	if (gains && !rc)
		rc = place(work, &memory, err);
	for (int64_t task = 0, n = gains && !rc ? work->way->tasks(work, 0) : 0; task < n && !rc; task++)
		rc = work->way->run(work, 0, task, &work->worker[0], err);
	npl_int8_memory_free(&memory);
	if (rc || !gains) {
		npl_int8_work_close(work, NULL, NULL);
		work = NULL;
	}
	*made = work;
	return rc;
}

int npl_int8_work_begin(struct npl_int8_work *work, const struct npl_layer *layer, const struct npl_tensor *out,
			struct npl_int8_memory *memory, struct npl_err *err)
{
	work->layer = layer;
	work->out = *out;
	work->out.owned = false;
	for (int i = 0; i < work->n_workers; i++)
		work->worker[i] = (struct npl_int8_worker){0};
	return place(work, memory, err);
}

int npl_int8_work_steps(const struct npl_int8_work *work)
{
	return work->way->steps(work);
}

int64_t npl_int8_work_tasks(const struct npl_int8_work *work, int step)
{
	return step == 0 && work->prepared ? 0 : work->way->tasks(work, step);
}

void npl_int8_work_run(struct npl_int8_work *work, int step, int64_t task, int worker)
{
	struct npl_int8_worker *self = &work->worker[worker];
	if (!self->err.code && work->way->run(work, step, task, self, &self->err) && !self->err.code)
		self->err.code = NPL_EINTERNAL;
}

int npl_int8_work_end(struct npl_int8_work *work, struct npl_int8_counts *counts, struct npl_err *err)
{
	int rc = 0;
	for (int i = 0; work->worker && i < work->n_workers; i++) {
		struct npl_int8_worker *worker = &work->worker[i];
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

int npl_int8_work_close(struct npl_int8_work *work, struct npl_int8_counts *counts, struct npl_err *err)
{
	if (!work)
		return 0;
	int rc = npl_int8_work_end(work, counts, err);
	if (work->way && work->way->close)
		work->way->close(work);
	if (work->prepared)
		free(work->weights_base);
	free(work->worker);
	free(work->scale);
	free(work);
	return rc;
}

int npl_int8_run_layer(const struct npl_layer *layer, const struct npl_int8_order *order,
		       struct npl_int8_memory *memory, struct npl_int8_counts *counts, struct npl_err *err)
{
	struct npl_int8_work *work;
	int rc = npl_int8_work_open(layer, layer->out, order, 1, memory, &work, err);
	if (rc)
		return rc;
	for (int step = 0; step < npl_int8_work_steps(work); step++)
		for (int64_t task = 0; task < npl_int8_work_tasks(work, step); task++)
			npl_int8_work_run(work, step, task, 0);
	return npl_int8_work_close(work, counts, err);
}
