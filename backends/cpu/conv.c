/* SPDX-License-Identifier: MIT
 *
 * Convolution as im2col and sgemm. The work is cut into blocks of output positions (and of filters, when there are
 * fewer blocks than threads); each thread fills the patches of its block, multiplies them while they are still in
 * its cache, and applies bias and Relu. Several sgemm calls run side by side, each on one thread. A 1x1 kernel of
 * stride 1 without padding multiplies the input as it is stored. */
#include <string.h>

#include "cpu.h"

#include "core/base/arith.h"

/* The most bytes of a block's patches: half of the second-level cache of a recent Xeon. */
#define BLOCK_BYTES   ((int64_t)1 << 20)
#define BLOCK_COLUMNS 384 /* least columns of a block: sgemm packs all weights again for each */

struct plan {
	const struct cpu_conv *conv;
	const struct cpu_state *cpu;
	int64_t group_channels, group_filters;
	int64_t depth, positions;             /* the inner dimension and the columns of one group's product */
	int64_t block_columns, column_blocks; /* columns of a block; number of blocks of positions */
	int64_t block_rows, row_blocks;       /* filters of a block; number of blocks of filters */
	bool in_place;                        /* the input is its own patch matrix */
	size_t workspace_elements;            /* floats of one thread */
};

static bool is_depthwise(const struct cpu_conv *conv)
{
	return conv->groups > 1 && conv->groups == conv->channels;
}

static struct plan make_plan(const struct cpu_state *cpu, const struct cpu_conv *conv)
{
	struct plan plan = {.conv = conv, .cpu = cpu};
	plan.group_channels = conv->channels / conv->groups;
	plan.group_filters = conv->filters / conv->groups;
	plan.depth = plan.group_channels * conv->kernel_h * conv->kernel_w;
	plan.positions = conv->out_h * conv->out_w;
	plan.in_place = conv->kernel_h == 1 && conv->kernel_w == 1 && conv->stride_h == 1 && conv->stride_w == 1 &&
			conv->out_h == conv->height && conv->out_w == conv->width && !conv->pad_top && !conv->pad_left;
	if (!plan.positions || !plan.group_filters)
		return plan;
	int64_t max_columns = plan.positions, products = conv->images * conv->groups;
	/* A block's patches, and its outputs until bias and Relu are applied, stay in the cache. */
	int64_t tallest = !plan.in_place && plan.depth > plan.group_filters ? plan.depth : plan.group_filters;
	if (BLOCK_BYTES / 4 / tallest < max_columns)
		max_columns = npl_clamp_i64(BLOCK_BYTES / 4 / tallest, BLOCK_COLUMNS,
					    max_columns > BLOCK_COLUMNS ? max_columns : BLOCK_COLUMNS);
	/* Enough blocks for every thread to have two, as long as they stay wide. */
	int64_t column_blocks = cpu->threads > 1 ? npl_div_up_i64(2 * cpu->threads, products ? products : 1) : 1;
	int64_t block_columns = npl_div_up_i64(plan.positions, column_blocks);
	plan.block_columns = npl_clamp_i64(
		max_columns < block_columns ? max_columns : npl_clamp_i64(block_columns, BLOCK_COLUMNS, max_columns), 1,
		plan.positions);
	plan.column_blocks = npl_div_up_i64(plan.positions, plan.block_columns);
	plan.block_columns = npl_div_up_i64(plan.positions, plan.column_blocks); /* even blocks */
	/* No images make no products. */
	int64_t row_blocks = products && products * plan.column_blocks < cpu->threads
				     ? npl_div_up_i64(cpu->threads, products * plan.column_blocks)
				     : 1;
	plan.block_rows = npl_div_up_i64(plan.group_filters, npl_clamp_i64(row_blocks, 1, plan.group_filters));
	plan.row_blocks = npl_div_up_i64(plan.group_filters, plan.block_rows);
	plan.workspace_elements = plan.in_place ? 0 : (size_t)((plan.depth * plan.block_columns + 15) / 16 * 16);
	return plan;
}

static void run_block(void *context, int64_t task, int worker)
{
	const struct plan *plan = context;
	const struct cpu_conv *conv = plan->conv;
	int64_t row_block = task % plan->row_blocks, column_block = task / plan->row_blocks % plan->column_blocks;
	int64_t group = task / plan->row_blocks / plan->column_blocks % conv->groups;
	int64_t image = task / plan->row_blocks / plan->column_blocks / conv->groups;
	int64_t first = column_block * plan->block_columns,
		filter = group * plan->group_filters + row_block * plan->block_rows;
	int64_t columns = npl_clamp_i64(plan->positions - first, 0, plan->block_columns);
	int64_t rows = npl_clamp_i64((group + 1) * plan->group_filters - filter, 0, plan->block_rows);
	const float *x = conv->x + (image * conv->channels + group * plan->group_channels) * conv->height * conv->width;
	float *y = conv->y + (image * conv->filters + filter) * plan->positions + first;
	if (!rows || !columns)
		return;
	if (plan->depth) {
		const float *patches = x + first;
		float *workspace = plan->cpu->workspace + (size_t)worker * plan->workspace_elements;
		if (!plan->in_place) {
			cpu_im2col(conv, x, plan->group_channels, first, columns, workspace);
			patches = workspace;
		}
		plan->cpu->blas.sgemm(CPU_ROW_MAJOR, CPU_NO_TRANS, CPU_NO_TRANS, (int)rows, (int)columns,
				      (int)plan->depth, 1, conv->w + filter * plan->depth, (int)plan->depth, patches,
				      (int)(plan->in_place ? plan->positions : columns), 0, y, (int)plan->positions);
	} else {
		for (int64_t i = 0; i < rows; i++)
			memset(y + i * plan->positions, 0, (size_t)columns * sizeof *y);
	}
	cpu_finish(y, rows, columns, plan->positions, conv->bias ? conv->bias + filter : NULL, 1, 0, 1, conv->relu);
}

size_t cpu_conv_workspace(const struct cpu_state *cpu, const struct cpu_conv *conv)
{
	if (is_depthwise(conv))
		return cpu_depthwise_workspace(cpu, conv);
	return make_plan(cpu, conv).workspace_elements * sizeof(float) * (size_t)cpu->threads;
}

void cpu_conv_run(struct cpu_state *cpu, const struct cpu_conv *conv)
{
	if (is_depthwise(conv)) {
		cpu_depthwise_run(cpu, conv);
		return;
	}
	struct plan plan = make_plan(cpu, conv);
	cpu->blas.set_num_threads(1);
	npl_pool_run(cpu->pool, conv->images * conv->groups * plan.column_blocks * plan.row_blocks, run_block, &plan);
	cpu->blas.set_num_threads(cpu->threads);
}

int cpu_conv_shape(const struct npl_layer *layer, float *out, struct cpu_conv *conv, struct npl_err *err)
{
	const struct npl_window *window = &layer->attrs->conv.window;
	const struct npl_tensor *x = layer->in[0], *w = layer->in[1], *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	const struct npl_shape *xs = &x->shape, *ws = &w->shape, *ys = &layer->out->shape;
	bool flat = window->rank == 1;
	if ((window->rank != 1 && window->rank != 2) || xs->rank != window->rank + 2 || ws->rank != xs->rank ||
	    ys->rank != xs->rank)
		return npl_fail(err, NPL_EINTERNAL, "Conv with %d spatial dimensions on tensors of rank %d, %d and %d",
				window->rank, xs->rank, ws->rank, ys->rank);
	*conv = (struct cpu_conv){.x = x->data,
				  .w = w->data,
				  .bias = bias ? bias->data : NULL,
				  .y = out,
				  .relu = layer->activation == NPL_ACT_RELU,
				  .images = xs->dim[0],
				  .channels = xs->dim[1],
				  .height = flat ? 1 : xs->dim[2],
				  .width = xs->dim[xs->rank - 1],
				  .filters = ws->dim[0],
				  .groups = layer->attrs->conv.groups,
				  .kernel_h = flat ? 1 : window->kernel[0],
				  .kernel_w = window->kernel[1],
				  .stride_h = flat ? 1 : window->stride[0],
				  .stride_w = window->stride[1],
				  .dilation_h = flat ? 1 : window->dilation[0],
				  .dilation_w = window->dilation[1],
				  .pad_top = flat ? 0 : window->pad_begin[0],
				  .pad_left = window->pad_begin[1],
				  .out_h = flat ? 1 : ys->dim[2],
				  .out_w = ys->dim[ys->rank - 1]};
	if (conv->groups < 1 || conv->channels % conv->groups || conv->filters % conv->groups || conv->stride_h < 1 ||
	    conv->stride_w < 1 || ws->dim[1] != conv->channels / conv->groups ||
	    ws->dim[ws->rank - 1] != conv->kernel_w || (!flat && ws->dim[2] != conv->kernel_h) ||
	    ys->dim[0] != conv->images || ys->dim[1] != conv->filters ||
	    (bias && npl_tensor_count(bias) != conv->filters))
		return npl_fail(err, NPL_EINTERNAL, "the shapes of Conv do not fit its attributes");
	return 0;
}
