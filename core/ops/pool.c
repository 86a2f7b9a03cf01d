/* SPDX-License-Identifier: MIT
 *
 * Pooling over one to three spatial dimensions: what all of it shares, and AveragePool, LpPool and their global forms.
 * Sums are in double, so a float result is a rounding away from exact. LpPool is the p-th root of the sum of the p-th
 * powers of the absolute values inside the input. */
#include "pool.h"

#include <math.h>

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

/* What becomes of the values of a window. */
struct reduction {
	const struct npl_window *window;
	int64_t power;                             /* LpPool: p; 0: an average */
	int64_t in[NPL_VOLUME], out[NPL_VOLUME];   /* sizes */
	int64_t low[NPL_VOLUME], high[NPL_VOLUME]; /* bounds of what an average's divisor counts */
};

static double term(const struct reduction *r, double x)
{
	switch (r->power) {
	case 0:
		return x;
	case 1:
		return fabs(x);
	case 2:
		return x * x;
	default:
		return op_pow(fabs(x), (double)r->power);
	}
}

static double finish(const struct reduction *r, double sum, int64_t counted)
{
	switch (r->power) {
	case 0:
		return counted ? sum / (double)counted : 0;
	case 1:
		return sum;
	case 2:
		return sqrt(sum);
	default:
		return op_pow(sum, 1.0 / (double)r->power);
	}
}

/* One channel, for each type. */
#define DEFINE_REDUCE(type)                                                                                            \
	static type reduce_window_##type(const struct reduction *r, const struct op_reach at[NPL_VOLUME],              \
					 int64_t counted, const type *x)                                               \
	{                                                                                                              \
		const int64_t *step = r->window->dilation;                                                             \
		double sum = 0;                                                                                        \
		for (int64_t z = at[NPL_DEPTH].first; z < at[NPL_DEPTH].end; z += step[NPL_DEPTH])                     \
			for (int64_t row = at[0].first; row < at[0].end; row += step[0])                               \
				for (int64_t column = at[1].first; column < at[1].end; column += step[1])              \
					sum += term(r, (double)x[op_row(r->in, z, row) + column]);                     \
		return (type)finish(r, sum, counted);                                                                  \
	}                                                                                                              \
	static void reduce_##type(const struct reduction *r, const type *x, type *y)                                   \
	{                                                                                                              \
		const struct npl_window *w = r->window;                                                                \
		struct op_reach at[NPL_VOLUME];                                                                        \
		int64_t counted[NPL_VOLUME];                                                                           \
		for (int64_t o = 0; o < op_volume(r->out); o++) {                                                      \
			const int64_t position[NPL_VOLUME] = {o / r->out[1] % r->out[0], o % r->out[1],                \
							      o / r->out[1] / r->out[0]};                              \
			for (int d = 0; d < NPL_VOLUME; d++) {                                                         \
				if (d != 1 && position[1])                                                             \
					continue; /* the same along a row */                                           \
				at[d] = op_pool_reach(w, d, position[d], 0, r->in[d]);                                 \
				counted[d] = op_pool_reach(w, d, position[d], r->low[d], r->high[d]).count;            \
			}                                                                                              \
			y[o] = reduce_window_##type(r, at, op_volume(counted), x);                                     \
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

/* Float input, and for a global pooling its window. */
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

int op_averagepool_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	if (out->op == NPL_OP_GLOBALAVERAGEPOOL)
		return 0;
	if (op_pool_attrs(list, &out->window, err))
		return NPL_EINPUT;
	return op_attr_flag(list, "count_include_pad", false, &out->window.count_include_pad, err);
}

int op_averagepool_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
			 int n_out, struct npl_err *err)
{
	(void)n_out;
	return reduction_shape(attrs->op == NPL_OP_GLOBALAVERAGEPOOL, &attrs->window, in, n_in, out, err);
}

int op_averagepool_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		       struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	reduce_all(&attrs->window, 0, in[0], out);
	return 0;
}

int op_lppool_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	if (op_attr_int(list, "p", 2, &out->p, err))
		return NPL_EINPUT;
	if (out->p < 1 || out->p > INT32_MAX)
		return npl_fail(err, NPL_EINPUT, "attribute p must be 1..%d, got %lld", INT32_MAX, (long long)out->p);
	return out->op == NPL_OP_GLOBALLPPOOL ? 0 : op_pool_attrs(list, &out->window, err);
}

int op_lppool_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		    int n_out, struct npl_err *err)
{
	(void)n_out;
	return reduction_shape(attrs->op == NPL_OP_GLOBALLPPOOL, &attrs->window, in, n_in, out, err);
}

int op_lppool_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		  int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	reduce_all(&attrs->window, attrs->p, in[0], out);
	return 0;
}
