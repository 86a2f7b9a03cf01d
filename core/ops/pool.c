/* SPDX-License-Identifier: MIT
 *
 * Pooling over one to three spatial dimensions: functions that all poolings share, and AveragePool, LpPool and their
 * global forms. Sums are in double, so a float result is rounded once. LpPool is the p-th root of the sum of the p-th
 * powers of the absolute values inside the input. */
#include "pool.h"

#include <math.h>
#include <string.h>

#include "core/base/arith.h"

int op_pool_shape(struct npl_window *window, const struct npl_tensor *x, struct npl_tensor *out, struct npl_err *err)
{
	int64_t output[NPL_VOLUME];
	if (op_window_complete(window, &x->shape, NULL, output, err))
		return NPL_EINPUT;
	for (int d = 0; d < NPL_VOLUME; d++) {
		int64_t extent = npl_window_extent(window, d);
		if (window->pad_begin[d] >= extent || window->pad_end[d] >= extent)
			return npl_fail(err, NPL_EINPUT,
					"pads of %lld and %lld must be smaller than the %lld positions a "
					"pooling window spans",
					(long long)window->pad_begin[d], (long long)window->pad_end[d],
					(long long)extent);
	}
	out->dtype = x->dtype;
	out->shape = op_window_shape(window, x->shape.dim[0], x->shape.dim[1], output);
	return op_output_fits(&out->shape, 1, err);
}

int op_pool_attrs(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err)
{
	if (op_window_attrs(list, window, err) || op_attr_flag(list, "ceil_mode", false, &window->ceil_mode, err))
		return NPL_EINPUT;
	if (!window->kernel[NPL_SPATIAL - 1])
		return npl_fail(err, NPL_EINPUT, "the attribute kernel_shape is missing or zero");
	return 0;
}

void op_pool_global(struct npl_window *window, const struct npl_shape *x)
{
	*window = (struct npl_window){.stride = {1, 1, 1}, .dilation = {1, 1, 1}};
	int rank = x->rank - 2;
	for (int i = 0; i < rank && rank <= NPL_VOLUME; i++)
		window->kernel[npl_window_index(rank, i)] = x->dim[2 + i];
}

struct op_reach op_pool_reach(const struct npl_window *window, int d, int64_t output, int64_t low, int64_t high)
{
	int64_t step = window->dilation[d];
	int64_t first = output * window->stride[d] - window->pad_begin[d];
	int64_t end = first + npl_window_extent(window, d);
	if (first < low)
		first += (low - first + step - 1) / step * step;
	if (end > high)
		end = high;
	return (struct op_reach){first, end, first < end ? (end - first + step - 1) / step : 0};
}

void op_pool_each(op_pool_kernel *kernel, const struct npl_window *window, const struct npl_tensor *x,
		  struct npl_tensor *y)
{
	enum { CACHE_BYTES = 32768 };
	const struct npl_window volume = op_window_volume(window);
	struct npl_image from = npl_image_of(&x->shape), to = npl_image_of(&y->shape);
	size_t element = npl_dtype_size(x->dtype);
	size_t x_bytes = (size_t)op_volume(from.size) * element, y_bytes = (size_t)op_volume(to.size) * element;
	int64_t planes = from.images * from.channels, at_once = 1 + (int64_t)(CACHE_BYTES / (x_bytes + y_bytes + 1));
	for (int64_t i = 0; i < planes; i += at_once)
		kernel(&volume, from.size, to.size, planes - i < at_once ? planes - i : at_once,
		       (const char *)x->data + (size_t)i * x_bytes, (char *)y->data + (size_t)i * y_bytes);
}

/* How the values of a window become a result. */
struct reduction {
	const struct npl_window *window;
	int64_t power;                             /* LpPool: p; 0: an average */
	int64_t in[NPL_VOLUME], out[NPL_VOLUME];   /* sizes */
	int64_t low[NPL_VOLUME], high[NPL_VOLUME]; /* bounds of the positions that an average's divisor counts */
};

static double finish(const struct reduction *r, double sum, int64_t n_values)
{
	switch (r->power) {
	case 0:
		return n_values ? sum / (double)n_values : 0;
	case 1:
		return sum;
	case 2:
		return sqrt(sum);
	default:
		return op_pow(sum, 1.0 / (double)r->power);
	}
}

/* Returns the columns of windows that are inside the input for at least one of n results from `first` on. */
static struct op_reach columns_inside(const struct reduction *r, int64_t first, int64_t n)
{
	const struct npl_window *w = r->window;
	const int64_t step = w->dilation[1], input_start = w->pad_begin[1] - first * w->stride[1];
	const int64_t first_start = input_start - (n - 1) * w->stride[1], last_end = input_start + r->in[1];
	const int64_t begin = first_start > 0 ? npl_div_up_i64(first_start, step) : 0,
		      end = last_end > 0 ? npl_div_up_i64(last_end, step) : 0;
	return (struct op_reach){begin, end < w->kernel[1] ? end : w->kernel[1], 0};
}

/* Returns, of n results from `first` on, those whose windows have column k inside the input: `first` is the column of
 * the first such result, `end` its index among the n, `count` their number. */
static struct op_reach inside(const struct reduction *r, int64_t k, int64_t first, int64_t n)
{
	const struct npl_window *w = r->window;
	const int64_t stride = w->stride[1], at = k * w->dilation[1] - w->pad_begin[1] + first * stride;
	const int64_t skipped = at < 0 ? (-at + stride - 1) / stride : 0, room = r->in[1] - at;
	const int64_t end = room > 0 ? npl_div_up_i64(room, stride) : 0;
	return (struct op_reach){at + skipped * stride, skipped, (end < n ? end : n) - skipped};
}

/* Finds the depths and rows that the windows of a line of results reach; returns how many of those positions an average
 * counts. */
static int64_t reach_of_line(const struct reduction *r, int64_t line, struct op_reach at[NPL_VOLUME])
{
	const int64_t z = line / r->out[0], row = line % r->out[0];
	at[NPL_DEPTH] = op_pool_reach(r->window, NPL_DEPTH, z, 0, r->in[NPL_DEPTH]);
	at[0] = op_pool_reach(r->window, 0, row, 0, r->in[0]);
	return op_pool_reach(r->window, NPL_DEPTH, z, r->low[NPL_DEPTH], r->high[NPL_DEPTH]).count *
	       op_pool_reach(r->window, 0, row, r->low[0], r->high[0]).count;
}

#define LINE 256 /* results whose sums are computed at a time */

/* Adds the terms of one position of the windows of n results to their sums. */
#define ADD(step_, term_)                                                                                              \
	for (int64_t i = 0; i < n; i++) {                                                                              \
		const double v = (double)x[i * (step_)];                                                               \
		sum[i] += (term_);                                                                                     \
	}
#define ADD_STEPS(term_)                                                                                               \
	if (step == 1)                                                                                                 \
		ADD(1, term_)                                                                                          \
	else if (step == 2)                                                                                            \
		ADD(2, term_)                                                                                          \
	else                                                                                                           \
		ADD(step, term_)

/* Defines the functions that compute results `first` to `first` + n - 1 of a line of one channel, for each type. Their
 * windows reach as far in the other dimensions as `at` says. A window's values are added in their order. */
#define DEFINE_REDUCE(type)                                                                                            \
	static void add_##type(int64_t power, const type *x, int64_t step, int64_t n, double *sum)                     \
	{                                                                                                              \
		if (power == 0) {                                                                                      \
			ADD_STEPS(v)                                                                                   \
		} else if (power == 1) {                                                                               \
			ADD(step, fabs(v))                                                                             \
		} else if (power == 2) {                                                                               \
			ADD(step, v *v)                                                                                \
		} else {                                                                                               \
			ADD(step, op_pow(fabs(v), (double)power))                                                      \
		}                                                                                                      \
	}                                                                                                              \
	static void reduce_line_##type(const struct reduction *r, const struct op_reach at[NPL_VOLUME], int64_t first, \
				       int64_t n, const type *x, double *sum)                                          \
	{                                                                                                              \
		const struct npl_window *w = r->window;                                                                \
		const struct op_reach column = columns_inside(r, first, n);                                            \
		memset(sum, 0, (size_t)n * sizeof *sum);                                                               \
		for (int64_t z = at[NPL_DEPTH].first; z < at[NPL_DEPTH].end; z += w->dilation[NPL_DEPTH])              \
			for (int64_t row = at[0].first; row < at[0].end; row += w->dilation[0])                        \
				for (int64_t k = column.first; k < column.end; k++) {                                  \
					const struct op_reach in = inside(r, k, first, n);                             \
					if (in.count > 0)                                                              \
						add_##type(r->power, x + op_row(r->in, z, row) + in.first,             \
							   w->stride[1], in.count, sum + in.end);                      \
				}                                                                                      \
	}                                                                                                              \
	static void reduce_##type(const struct reduction *r, const type *x, type *y)                                   \
	{                                                                                                              \
		double sum[LINE];                                                                                      \
		int64_t columns[LINE];                                                                                 \
		for (int64_t first = 0; first < r->out[1]; first += LINE) {                                            \
			const int64_t n = r->out[1] - first < LINE ? r->out[1] - first : LINE;                         \
			for (int64_t i = 0; i < n; i++)                                                                \
				columns[i] = op_pool_reach(r->window, 1, first + i, r->low[1], r->high[1]).count;      \
			for (int64_t line = 0; line < r->out[NPL_DEPTH] * r->out[0]; line++) {                         \
				struct op_reach at[NPL_VOLUME];                                                        \
				const int64_t n_values = reach_of_line(r, line, at);                                   \
				reduce_line_##type(r, at, first, n, x, sum);                                           \
				for (int64_t i = 0; i < n; i++)                                                        \
					y[line * r->out[1] + first + i] = (type)finish(r, sum[i],                      \
										       n_values * columns[i]);         \
			}                                                                                              \
		}                                                                                                      \
	}
DEFINE_REDUCE(float)
DEFINE_REDUCE(double)

static void reduce_all(const struct npl_window *window, int64_t power, const struct npl_tensor *x, struct npl_tensor *y)
{
	const struct npl_window volume = op_window_volume(window);
	struct npl_image from = npl_image_of(&x->shape), to = npl_image_of(&y->shape);
	struct reduction r = {.window = &volume, .power = power};
	for (int d = 0; d < NPL_VOLUME; d++) {
		r.in[d] = from.size[d];
		r.out[d] = to.size[d];
		r.low[d] = volume.count_include_pad ? -volume.pad_begin[d] : 0;
		r.high[d] = from.size[d] + (volume.count_include_pad ? volume.pad_end[d] : 0);
	}
	int64_t step = op_volume(r.in), width = op_volume(r.out);
	for (int64_t c = 0; c < from.images * from.channels; c++)
		if (x->dtype == NPL_F64)
			reduce_double(&r, (const double *)x->data + c * step, (double *)y->data + c * width);
		else
			reduce_float(&r, (const float *)x->data + c * step, (float *)y->data + c * width);
}

/* Gives the shape of average and Lp pooling. It refuses inputs other than float32 and float64, and makes the window of
 * a global pooling all of the image. */
static int reduction_shape(bool global, struct npl_window *window, const struct npl_tensor *const *in, int n_in,
			   struct npl_tensor *out, struct npl_err *err)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (in[0]->dtype != NPL_F32 && in[0]->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected float32 or float64",
				npl_dtype_name(in[0]->dtype));
	if (global)
		op_pool_global(window, &in[0]->shape);
	return op_pool_shape(window, in[0], out, err);
}

OP_ATTRS(op_averagepool_attrs)
{
	if (out->op == NPL_OP_GLOBALAVERAGEPOOL)
		return 0;
	if (op_pool_attrs(list, &out->pool.window, err))
		return NPL_EINPUT;
	return op_attr_flag(list, "count_include_pad", false, &out->pool.window.count_include_pad, err);
}

OP_SHAPE(op_averagepool_shape)
{
	return reduction_shape(attrs->op == NPL_OP_GLOBALAVERAGEPOOL, &attrs->pool.window, in, n_in, out, err);
}

OP_RUN(op_averagepool_run)
{
	reduce_all(&attrs->pool.window, 0, in[0], out);
	return 0;
}

OP_ATTRS(op_lppool_attrs)
{
	if (op_attr_int(list, "p", 2, &out->pool.p, err))
		return NPL_EINPUT;
	if (out->pool.p < 1 || out->pool.p > INT32_MAX)
		return npl_fail(err, NPL_EINPUT, "attribute p must be 1..%d, got %lld", INT32_MAX,
				(long long)out->pool.p);
	return out->op == NPL_OP_GLOBALLPPOOL ? 0 : op_pool_attrs(list, &out->pool.window, err);
}

OP_SHAPE(op_lppool_shape)
{
	return reduction_shape(attrs->op == NPL_OP_GLOBALLPPOOL, &attrs->pool.window, in, n_in, out, err);
}

OP_RUN(op_lppool_run)
{
	reduce_all(&attrs->pool.window, attrs->pool.p, in[0], out);
	return 0;
}
