/* SPDX-License-Identifier: MIT
 *
 * Convolution without gathering pixels, for the kernels of bytes (kernels.h). The image is copied once into planes
 * whose elements are the four bytes of four channels, with its padding; then, for one tap, the pixels of neighbouring
 * outputs are neighbours in memory, and a kernel reads them there:
 *
 *     output (oh, ow) is column oh * pitch + ow, tap (kh, kw) adds kh * pitch + kw     (stride and dilation 1)
 *
 * so that a tile of 48 columns may extend over the ends of rows; the columns between rows (pitch - width for each) are
 * computed and dropped. A stride above 1 cuts the image into phases, one plane for each remainder of row and column by
 * the stride, and within a phase the stride is 1. Weights are reordered to (four channels, tap, channel) once per
 * layer.
 *
 * An image that needs no windows (1x1, stride 1, no padding) is packed into panels instead: all channels of one tile's
 * columns follow each other, so that a tile reads one stretch of memory. 14x14 pixels of 1024 channels take 0.65 of the
 * time with them.
 *
 * The zero point of the image is handled as in gemm.c; that of the weights must be 0. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "interleave.h"
#include "kernels.h"
#include "layer_impl.h"

enum {
	ACC_ELEMENTS = 262144, /* sums of a task: 1 MiB */
	MIN_COLUMNS = 192,
	/* groups of a block of k: the part that one tile of columns reads stays in the first-level cache */
	K_GROUPS = 256,
	ROWS_AT_ONCE = 96, /* filters whose weights for such a block stay in the second-level cache */
	SLACK = 64,        /* elements after the last plane, which a tile may read and drop */
	MAX_STRIDE = 4096,
	STEP_MACS = 1 << 25,     /* MACs of a step that are worth waiting for all workers: about 0.1 ms of one */
	STEP_ELEMENTS = 1 << 22, /* the most elements of a step's images: 16 MiB */
};

/* The phases along one dimension: the remainders of the taps by the stride. */
struct phases {
	int64_t size;    /* positions of a phase that outputs reach */
	int64_t n_used;  /* phases that some tap reads */
	int64_t *number; /* the phase of each remainder, from 1 on; 0: no tap has the remainder */
};

struct windows {
	const struct npl_int8_kernel *kernel;
	bool panels_of_columns;
	struct phases phase[NPL_SPATIAL];
	/* fours of channels, elements of a phase's plane, elements of all planes of a group */
	int64_t quads, plane, unit;
	int64_t k_groups;                                              /* groups of k: quads times taps */
	int64_t columns, column_blocks, columns_at_once, filter_pitch; /* lead: sums from filter to filter */
	int64_t panels;                                                /* panels of a group's filters */
	int64_t images_at_once;                                        /* images of a step */
	int32_t *group_offset;                                         /* place in a unit of each group of k */
	uint8_t *image, *weights;
	int32_t *start; /* per filter, in whole panels: the value from which its sums start */
	size_t group_offset_at, image_at, weights_at, start_at; /* offsets in memory */
};

static const int32_t zeros[NPL_INT8_MAX_WIDTH];

/* Says whether a unit's sizes fit in 32 bits and the stride is valid. */
static bool unit_fits(const struct npl_int8_job *job)
{
	const struct npl_window *w = &job->layer->attrs->conv.window;
	double elements = (double)npl_div_up_i64(job->channels, 4);
	for (int d = 0; d < NPL_SPATIAL; d++) {
		if (w->stride[d] > MAX_STRIDE)
			return false;
		int64_t reach = (w->kernel[d] - 1) * w->dilation[d] / w->stride[d];
		elements *= (double)npl_min_i64(w->stride[d], w->kernel[d]) * (double)(job->out_image.size[d] + reach);
	}
	return elements < INT32_MAX / 2;
}

bool npl_int8_windows_ok(const struct npl_int8_job *job)
{
	const struct npl_tensor *w = job->layer->in[1];
	/* The weights' zero point is 0 when they are taken as signed bytes. */
	bool zero = w->quant.zero_point == (w->dtype == NPL_U8 ? 128 : 0);
	/* The patches are the image as it is stored. npl_int8_gemm then packs the weights on each run but the image
	 * only in part. */
	bool direct = npl_int8_is_direct(job) && !job->prepared;
	return npl_int8_kernel(0)->value_bytes == 1 && zero && !job->order.k_block && !direct && unit_fits(job);
}

static int make_phases(const struct npl_window *window, int d, int64_t outputs, struct phases *p, struct npl_err *err)
{
	int64_t stride = window->stride[d];
	p->number = calloc((size_t)stride, sizeof *p->number);
	if (!p->number)
		return npl_no_memory(err);
	for (int64_t k = 0; k < window->kernel[d]; k++) {
		int64_t *number = &p->number[k * window->dilation[d] % stride];
		*number = *number ? *number : ++p->n_used;
	}
	p->size = outputs + (window->kernel[d] - 1) * window->dilation[d] / stride;
	return 0;
}

/* Finds the place of each group of k in a unit. */
static void locate(const struct npl_int8_job *job, struct windows *windows)
{
	const struct npl_window *w = &job->layer->attrs->conv.window;
	const struct phases *rows = &windows->phase[0], *columns = &windows->phase[1];
	int32_t *next_offset = windows->group_offset;
	for (int64_t quad = 0; quad < windows->quads && windows->panels_of_columns; quad++)
		*next_offset++ = (int32_t)(quad * windows->kernel->columns);
	for (int64_t quad = 0; quad < windows->quads && !windows->panels_of_columns; quad++)
		for (int64_t kh = 0; kh < w->kernel[0]; kh++)
			for (int64_t kw = 0; kw < w->kernel[1]; kw++) {
				int64_t y = kh * w->dilation[0], x = kw * w->dilation[1];
				int64_t phase = (rows->number[y % w->stride[0]] - 1) * columns->n_used +
						columns->number[x % w->stride[1]] - 1;
				*next_offset++ = (int32_t)((quad * rows->n_used * columns->n_used + phase) *
								   windows->plane +
							   y / w->stride[0] * columns->size + x / w->stride[1]);
			}
}

/* Chooses blocks of columns whose sums stay in the second-level cache and, for several workers, enough tasks in a step:
 * images, and if these are few, blocks of filters. */
static void choose_blocks(struct npl_int8_job *job, struct windows *windows)
{
	int64_t width = windows->kernel->columns, rows = windows->kernel->rows, filters = windows->panels * rows;
	int64_t columns = ACC_ELEMENTS / filters / width * width;
	columns = npl_min_i64(columns < MIN_COLUMNS ? MIN_COLUMNS : columns,
			      npl_div_up_i64(windows->columns, width) * width);
	windows->columns_at_once = columns;
	windows->filter_pitch = columns + width; /* the last tile may start late and be narrow */
	windows->column_blocks = npl_div_up_i64(windows->columns, columns);
	windows->images_at_once = 1;
	if (job->n_workers > 1) {
		double macs = (double)(job->groups * job->filters * job->k) * (double)job->pixels;
		double elements = (double)(job->groups * windows->unit),
		       enough_images = STEP_MACS / macs * job->n_workers;
		int64_t tasks = job->groups * windows->column_blocks, least_tasks = 4 * job->n_workers;
		double images = enough_images > (double)npl_div_up_i64(least_tasks, tasks)
					? enough_images
					: (double)npl_div_up_i64(least_tasks, tasks);
		images = images * elements > STEP_ELEMENTS ? STEP_ELEMENTS / elements : images;
		windows->images_at_once = images < 1 ? 1 : images > (double)job->images ? job->images : (int64_t)images;
		tasks *= windows->images_at_once;
		while (tasks * npl_div_up_i64(job->filters, filters) < least_tasks / 2 && filters > 2 * rows)
			filters = npl_div_up_i64(filters, 2 * rows) * rows;
	}
	job->filters_at_once = filters;
	job->pixels_at_once = job->pixels;
	job->acc_elements = windows->filter_pitch * filters;
}

static void claim(struct npl_int8_job *job, struct windows *windows)
{
	int64_t filters = job->groups * windows->panels * windows->kernel->rows;
	windows->image_at = npl_int8_claim(job, (windows->images_at_once * job->groups * windows->unit + SLACK) * 4);
	windows->group_offset_at = npl_int8_claim_weights(job,
							  windows->k_groups * (int64_t)sizeof *windows->group_offset);
	windows->weights_at = npl_int8_claim_weights(job, filters * windows->k_groups * 4);
	windows->start_at = npl_int8_claim_weights(job, filters * (int64_t)sizeof *windows->start);
}

static void windows_place(struct npl_int8_job *job)
{
	struct windows *windows = job->method_state;
	windows->group_offset = (int32_t *)(void *)(job->weights_base + windows->group_offset_at);
	windows->image = job->base + windows->image_at;
	windows->weights = job->weights_base + windows->weights_at;
	windows->start = (int32_t *)(void *)(job->weights_base + windows->start_at);
	memset(windows->image + (size_t)(windows->images_at_once * job->groups * windows->unit) * 4, 0,
	       (size_t)SLACK * 4);
	locate(job, windows);
}

static int windows_open(struct npl_int8_job *job, struct npl_err *err)
{
	const struct npl_window *window = &job->layer->attrs->conv.window;
	struct windows *windows = job->method_state = calloc(1, sizeof *windows);
	if (!windows)
		return npl_no_memory(err);
	windows->kernel = npl_int8_kernel(0);
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (make_phases(window, d, job->out_image.size[d], &windows->phase[d], err))
			return NPL_ENOMEM;
	windows->quads = npl_div_up_i64(job->channels, 4);
	windows->plane = windows->phase[0].size * windows->phase[1].size;
	windows->panels_of_columns = npl_int8_is_direct(job);
	if (windows->panels_of_columns) /* whole panels */
		windows->plane = npl_div_up_i64(job->pixels, windows->kernel->columns) * windows->kernel->columns;
	windows->unit = windows->quads * windows->phase[0].n_used * windows->phase[1].n_used * windows->plane;
	windows->k_groups = windows->quads * job->taps;
	windows->columns = (job->out_image.size[0] - 1) * windows->phase[1].size + job->out_image.size[1];
	windows->panels = npl_div_up_i64(job->filters, windows->kernel->rows);
	choose_blocks(job, windows);
	/* Room for one row of the image, or one panel's weights, before they are reordered. */
	int64_t row = job->in_image.size[1] * 4,
		panel = npl_int8_reorder_pitch(windows->k_groups) * windows->kernel->rows;
	job->gathered_bytes = row > panel ? row : panel;
	claim(job, windows);
	return 0;
}

static void windows_close(struct npl_int8_job *job)
{
	struct windows *windows = job->method_state;
	if (!windows)
		return;
	for (int d = 0; d < NPL_SPATIAL; d++)
		free(windows->phase[d].number);
	free(windows);
}

/* Returns the number of steps. Step 0 packs the weights; then two steps in turn pack some images and multiply. */
static int windows_steps(const struct npl_int8_job *job)
{
	return (int)(1 + 2 * npl_div_up_i64(job->images, ((const struct windows *)job->method_state)->images_at_once));
}

/* Returns the number of units (a group of an image each) of a step, and the first of them. */
static int64_t units_of(const struct npl_int8_job *job, int step, int64_t *first)
{
	int64_t at_once = ((const struct windows *)job->method_state)->images_at_once, image = (step - 1) / 2 * at_once;
	*first = image * job->groups;
	return npl_min_i64(at_once, job->images - image) * job->groups;
}

static int64_t windows_tasks(const struct npl_int8_job *job, int step)
{
	const struct windows *windows = job->method_state;
	int64_t first;
	if (step == 0)
		return job->groups * windows->panels;
	return units_of(job, step, &first) * (step % 2 ? windows->quads : windows->column_blocks * job->filter_blocks);
}

/* Packs one panel of a group's weights. */
static void pack_weights(const struct npl_int8_job *job, int64_t task, uint8_t *scratch)
{
	const struct windows *windows = job->method_state;
	const struct npl_tensor *x = job->layer->in[0], *w = job->layer->in[1];
	int rows = windows->kernel->rows;
	int64_t first = task % windows->panels * rows, group = task / windows->panels, k = 4 * windows->k_groups;
	int64_t count = npl_min_i64(job->filters - first, rows), pitch = npl_int8_reorder_pitch(windows->k_groups);
	int32_t zero = x->quant.zero_point + (x->dtype == NPL_I8 ? 128 : 0), *start = windows->start + task * rows;
	const struct npl_int8_weights from = {.data = w->data,
					      .bytes = job->groups * job->filters * job->k,
					      .channels = job->channels,
					      .taps = job->taps,
					      .flip = w->dtype == NPL_U8 ? 0x80 : 0};
	struct npl_int8_matrix ordered = {scratch, NPL_I8, 0, pitch, 1};
	if (job->taps == 1) {
		ordered = npl_int8_matrix_of(w, from.data + (group * job->filters + first) * job->k, job->k, 1);
		k = job->k;
	}
	for (int64_t i = 0; i < count && job->taps > 1; i++)
		npl_int8_reorder(&from, group * job->filters + first + i, scratch + i * pitch);
	const struct npl_int8_block block = {&ordered, NPL_I8, 0, count, 0, k, rows};
	npl_int8_pack(windows->kernel, &block, windows->weights + task * rows * windows->k_groups * 4, start);
	for (int64_t i = 0; i < rows; i++)
		start[i] = i < count ? (int32_t) - ((uint32_t)zero * (uint32_t)start[i]) : 0;
}

/* Copies one row of four channels into the planes of its phases. */
static void copy_row(const struct npl_int8_job *job, const struct npl_int8_rows *rows, int64_t y, uint8_t *planes,
		     uint8_t *scratch)
{
	const struct windows *windows = job->method_state;
	const struct npl_window *w = &job->layer->attrs->conv.window;
	const struct phases *py = &windows->phase[0], *px = &windows->phase[1];
	int64_t padded_y = y + w->pad_begin[0], phase = py->number[padded_y % w->stride[0]] - 1,
		row = padded_y / w->stride[0];
	int64_t width = job->in_image.size[1], stride = w->stride[1], pad = w->pad_begin[1];
	if (phase < 0 || row >= py->size)
		return;
	uint8_t *to = planes + (phase * px->n_used * windows->plane + row * px->size) * 4;
	if (stride == 1) {
		npl_int8_interleave(rows, npl_min_i64(width, px->size - pad), to + 4 * pad);
		return;
	}
	npl_int8_interleave(rows, width, scratch);
	for (int64_t remainder = 0; remainder < stride; remainder++) {
		if (!px->number[remainder])
			continue;
		/* Column c of the phase is column c * stride + remainder - pad of the image. */
		int64_t first = pad > remainder ? npl_div_up_i64(pad - remainder, stride) : 0;
		int64_t end = width + pad > remainder ? npl_div_up_i64(width + pad - remainder, stride) : 0;
		uint8_t *line = to + (px->number[remainder] - 1) * windows->plane * 4;
		for (int64_t c = first; c < npl_min_i64(end, px->size); c++)
			memcpy(line + 4 * c, scratch + 4 * (c * stride + remainder - pad), 4);
	}
}

/* Packs four channels of a group of one image into its panels. */
static void copy_columns(const struct npl_int8_job *job, int64_t first, int64_t task)
{
	const struct windows *windows = job->method_state;
	const struct npl_tensor *x = job->layer->in[0];
	const int64_t unit = first + task / windows->quads, quad = task % windows->quads,
		      width = windows->kernel->columns;
	const uint8_t *from = (const uint8_t *)x->data + (unit * job->channels + quad * 4) * job->pixels;
	uint8_t *to = windows->image + (size_t)(task / windows->quads * windows->unit + quad * width) * 4;
	struct npl_int8_rows rows = {.flip = x->dtype == NPL_I8 ? 0x80 : 0,
				     .n = (int)npl_min_i64(job->channels - quad * 4, 4)};
	for (int64_t column = 0; column < job->pixels; column += width, to += windows->quads * width * 4) {
		for (int c = 0; c < rows.n; c++)
			rows.row[c] = from + c * job->pixels + column;
		npl_int8_interleave(&rows, npl_min_i64(job->pixels - column, width), to);
	}
}

/* Copies four channels of a group of one image into planes; `first` is the first unit of the step. */
static void copy_image(const struct npl_int8_job *job, int64_t first, int64_t task, uint8_t *scratch)
{
	const struct windows *windows = job->method_state;
	const struct npl_tensor *x = job->layer->in[0];
	int64_t unit = first + task / windows->quads, channel = task % windows->quads * 4,
		width = job->in_image.size[1];
	int64_t planes = windows->unit / windows->quads, n_channels = npl_min_i64(job->channels - channel, 4);
	int64_t source_plane = job->in_image.size[0] * width;
	const uint8_t *from = (const uint8_t *)x->data + (unit * job->channels + channel) * source_plane;
	uint8_t *to = windows->image + (size_t)(task * planes) * 4, flip = x->dtype == NPL_I8 ? 0x80 : 0, pad[4] = {0};
	if (windows->panels_of_columns) {
		copy_columns(job, first, task);
		return;
	}
	memset(pad, (uint8_t)x->quant.zero_point ^ flip, (size_t)n_channels);
	for (int64_t i = 0; i < planes; i++)
		memcpy(to + 4 * i, pad, 4);
	for (int64_t y = 0; y < job->in_image.size[0]; y++) {
		struct npl_int8_rows rows = {.flip = flip, .n = (int)n_channels};
		for (int c = 0; c < n_channels; c++)
			rows.row[c] = from + c * source_plane + y * width;
		copy_row(job, &rows, y, to, scratch);
	}
}

/* Returns the columns of the next tile. Four thirds of a tile are done in two equal parts, because narrow tiles have
 * fewer sums in progress. A kernel that writes whole tiles would add to columns of the second part twice. */
static int64_t next_columns(const struct npl_int8_kernel *kernel, int64_t columns_left)
{
	int64_t width = kernel->columns;
	return kernel->narrow && columns_left > width && columns_left <= width / 3 * 4
		       ? width / 3 * 2
		       : npl_min_i64(columns_left, width);
}

/* Multiplies a block of filters by a block of columns, from `column` on, of the unit at `image`; the sums go to acc. */
static void multiply(const struct npl_int8_job *job, int64_t group, int64_t filter, int64_t filters,
		     const uint8_t *image, int64_t column, int64_t columns, int32_t *acc)
{
	const struct windows *windows = job->method_state;
	int rows = windows->kernel->rows;
	int64_t panel_bytes = windows->k_groups * rows * 4, width;
	const uint8_t *weights = windows->weights + (group * windows->panels + filter / rows) * panel_bytes;
	const int32_t *start = windows->start + group * windows->panels * rows + filter;
	for (int64_t k = 0; k < windows->k_groups; k += K_GROUPS)
		for (int64_t i0 = 0; i0 < filters; i0 += ROWS_AT_ONCE)
			for (int64_t j = 0; j < columns; j += width) {
				width = windows->panels_of_columns ? npl_min_i64(windows->kernel->columns, columns - j)
								   : next_columns(windows->kernel, columns - j);
				const uint8_t *tile_at = image +
							 4 * (column + j) *
								 (windows->panels_of_columns ? windows->quads : 1);
				for (int64_t i = i0; i < npl_min_i64(filters, i0 + ROWS_AT_ONCE); i += rows) {
					const struct npl_int8_tile tile = {
						.groups = npl_min_i64(windows->k_groups - k, K_GROUPS),
						.a = weights + i / rows * panel_bytes + k * rows * 4,
						.b = tile_at,
						.b_at = windows->group_offset + k,
						.row_start = k ? zeros : start + i,
						.column_start = zeros,
						.rows = (int)npl_min_i64(filters - i, rows),
						.columns = (int)width,
						.add = k > 0,
						.c = acc + i * windows->filter_pitch + j,
						.c_stride = windows->filter_pitch,
					};
					windows->kernel->run(&tile);
				}
			}
}

/* Drops the columns between the rows of outputs; returns how many are left, and the pixel that the first is. */
static int64_t drop_row_gaps(const struct npl_int8_job *job, int32_t *sums, int64_t column, int64_t columns,
			     int64_t *first)
{
	int64_t pitch = ((const struct windows *)job->method_state)->phase[1].size, width = job->out_image.size[1];
	int64_t row = column / pitch, row_offset = column % pitch; /* columns of this row before the block */
	int64_t n_kept = 0;
	*first = row * width + npl_min_i64(row_offset, width);
	for (int64_t index = -row_offset; index < columns; index += pitch) {
		int64_t low = index < 0 ? 0 : index, high = npl_min_i64(index + width, columns);
		if (high <= low)
			continue;
		if (n_kept != low)
			memmove(sums + n_kept, sums + low, (size_t)(high - low) * sizeof *sums);
		n_kept += high - low;
	}
	return n_kept;
}

static int windows_run(struct npl_int8_job *job, int step, int64_t task, struct npl_int8_worker *worker,
		       struct npl_err *err)
{
	(void)err;
	const struct windows *windows = job->method_state;
	int64_t first_unit, first_pixel;
	if (step == 0) {
		pack_weights(job, task, worker->gathered);
		return 0;
	}
	units_of(job, step, &first_unit);
	if (step % 2) {
		copy_image(job, first_unit, task, worker->gathered);
		return 0;
	}
	int64_t column = task % windows->column_blocks * windows->columns_at_once,
		filter = task / windows->column_blocks % job->filter_blocks * job->filters_at_once,
		slot = task / windows->column_blocks / job->filter_blocks, unit = first_unit + slot;
	int64_t columns = npl_min_i64(windows->columns - column, windows->columns_at_once),
		filters = npl_min_i64(job->filters - filter, job->filters_at_once), group = unit % job->groups;
	multiply(job, group, filter, filters, windows->image + (size_t)(slot * windows->unit) * 4, column, columns,
		 worker->acc);
	for (int64_t i = 0; i < filters; i++) {
		int32_t *sums = worker->acc + i * windows->filter_pitch;
		int64_t count = drop_row_gaps(job, sums, column, columns, &first_pixel);
		npl_int8_finish_row(job, sums, count, group * job->filters + filter + i, 0,
				    (unit * job->filters + filter + i) * job->pixels + first_pixel, &worker->counts);
	}
	return 0;
}

const struct npl_int8_method npl_int8_windows_method = {
	.prepares = true,
	.open = windows_open,
	.place = windows_place,
	.close = windows_close,
	.steps = windows_steps,
	.tasks = windows_tasks,
	.run = windows_run,
};
