/* SPDX-License-Identifier: MIT
 *
 * Windows: reading their attributes, resolving auto_pad, output sizes. The rules are those of the ONNX operators Conv,
 * MaxPool and AveragePool. A one-dimensional window is a two-dimensional one of height 1, and both have a depth of 1 in
 * kernels over three dimensions. */
#include "window.h"
#include "core/base/arith.h"
#include "core/base/message.h"

#include <string.h>

#include "ops.h"

/* The greatest kernel size, stride, dilation or pad. Sums of products of these stay far below 2^63. */
#define LARGEST INT32_MAX

struct npl_image npl_image_of(const struct npl_shape *shape)
{
	struct npl_image image = {.images = shape->dim[0], .channels = shape->dim[1], .size = {1, 1, 1}};
	int rank = shape->rank - 2;
	for (int i = 0; i < rank && rank <= NPL_VOLUME; i++)
		image.size[npl_window_index(rank, i)] = shape->dim[2 + i];
	return image;
}

int64_t npl_window_extent(const struct npl_window *window, int d)
{
	return (window->kernel[d] - 1) * window->dilation[d] + 1;
}

int64_t npl_window_output(const struct npl_window *window, int d, int64_t input)
{
	int64_t stride = window->stride[d];
	int64_t free_positions = input + window->pad_begin[d] + window->pad_end[d] - npl_window_extent(window, d);
	if (free_positions < 0)
		return 0;
	int64_t output = (free_positions + (window->ceil_mode ? stride - 1 : 0)) / stride + 1;
	bool starts_in_padding = (output - 1) * stride >= input + window->pad_begin[d];
	return window->ceil_mode && starts_in_padding ? output - 1 : output;
}

void npl_window_range(const struct npl_window *window, int d, int64_t tap, int64_t input, int64_t output,
		      int64_t *first, int64_t *end)
{
	int64_t start = tap * window->dilation[d] - window->pad_begin[d]; /* read by output position 0 */
	*first = npl_clamp_i64(npl_div_up_i64(-start, window->stride[d]), 0, output);
	*end = npl_clamp_i64(npl_div_up_i64(input - start, window->stride[d]), *first, output);
}

/* Returns the last position that the tap reads, when it reads one of first <= o < end. */
static int64_t last_read(const struct npl_window *window, int d, int64_t tap, int64_t end)
{
	return (end - 1) * window->stride[d] + tap * window->dilation[d] - window->pad_begin[d];
}

/* The positions of one tap are a stride apart. Taps that are `period` apart read positions on the same grid, each
 * further right than the one before; no other two taps meet. */
int64_t npl_window_touched(const struct npl_window *window, int d, int64_t input, int64_t output)
{
	const int64_t stride = window->stride[d];
	int64_t count = 0, period = 1, first, end;
	while (period < window->kernel[d] && period * window->dilation[d] % stride)
		period++;
	for (int64_t tap = 0; tap < window->kernel[d]; tap++) {
		npl_window_range(window, d, tap, input, output, &first, &end);
		if (first >= end)
			continue;
		const int64_t last = last_read(window, d, tap, end);
		int64_t from = last_read(window, d, tap, first + 1);
		if (tap >= period) {
			npl_window_range(window, d, tap - period, input, output, &first, &end);
			if (first < end)
				from = npl_max_i64(from, last_read(window, d, tap - period, end) + stride);
		}
		count += last >= from ? (last - from) / stride + 1 : 0;
	}
	return count;
}

int op_window_list(struct npl_attr_list *list, const char *name, int *rank, int64_t value[NPL_VOLUME],
		   struct npl_err *err)
{
	int64_t values[NPL_VOLUME];
	int n;
	if (op_attr_ints(list, name, NPL_VOLUME, values, &n, err))
		return NPL_EINPUT;
	if (n < 0)
		return 0;
	if (n == 0 || (*rank && n != *rank))
		return npl_fail(err, NPL_EINPUT, "attribute %s has %d value%s for %d spatial dimension%s", name, n,
				npl_plural(n), *rank, npl_plural(*rank));
	*rank = n;
	for (int i = 0; i < n; i++)
		value[npl_window_index(n, i)] = values[i];
	return 0;
}

static int read_pads(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err)
{
	int64_t values[2 * NPL_VOLUME];
	int n;
	if (op_attr_ints(list, "pads", 2 * NPL_VOLUME, values, &n, err))
		return NPL_EINPUT;
	if (n < 0)
		return 0;
	if (n == 0 || n % 2 || (window->rank && n != 2 * window->rank))
		return npl_fail(err, NPL_EINPUT, "attribute pads has %d value%s for %d spatial dimension%s", n,
				npl_plural(n), window->rank, npl_plural(window->rank));
	window->rank = n / 2;
	for (int i = 0; i < n / 2; i++) {
		window->pad_begin[npl_window_index(n / 2, i)] = values[i];
		window->pad_end[npl_window_index(n / 2, i)] = values[n / 2 + i];
	}
	return 0;
}

static int read_auto_pad(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err)
{
	static const char *const names[] = {[NPL_PAD_NOTSET] = "NOTSET",
					    [NPL_PAD_SAME_UPPER] = "SAME_UPPER",
					    [NPL_PAD_SAME_LOWER] = "SAME_LOWER",
					    [NPL_PAD_VALID] = "VALID"};
	struct npl_attr *attr;
	if (op_attr_find(list, "auto_pad", NPL_ATTR_STRING, &attr, err))
		return NPL_EINPUT;
	window->auto_pad = NPL_PAD_NOTSET;
	for (int i = 0; attr && i < (int)(sizeof names / sizeof *names); i++)
		if (!strcmp(attr->s, names[i])) {
			window->auto_pad = (enum npl_auto_pad)i;
			return 0;
		}
	if (attr)
		return npl_fail(err, NPL_EINPUT,
				"attribute auto_pad is '%s', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
				attr->s);
	return 0;
}

int op_window_attrs(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err)
{
	*window = (struct npl_window){.stride = {1, 1, 1}, .dilation = {1, 1, 1}};
	if (op_window_list(list, "kernel_shape", &window->rank, window->kernel, err) ||
	    op_window_list(list, "strides", &window->rank, window->stride, err) ||
	    op_window_list(list, "dilations", &window->rank, window->dilation, err) || read_pads(list, window, err) ||
	    read_auto_pad(list, window, err))
		return NPL_EINPUT;
	return 0;
}

static int check_numbers(const struct npl_window *window, struct npl_err *err)
{
	for (int d = 0; d < NPL_VOLUME; d++) {
		const struct {
			const char *name;
			int64_t value, least;
		} number[] = {{"kernel size", window->kernel[d], 1},
			      {"stride", window->stride[d], 1},
			      {"dilation", window->dilation[d], 1},
			      {"pad", window->pad_begin[d], 0},
			      {"pad", window->pad_end[d], 0}};
		for (size_t i = 0; i < sizeof number / sizeof *number; i++)
			if (number[i].value < number[i].least || number[i].value > LARGEST)
				return npl_fail(err, NPL_EINPUT, "each %s must be %lld..%d, got %lld", number[i].name,
						(long long)number[i].least, LARGEST, (long long)number[i].value);
	}
	return 0;
}

/* Sets the dimensions beyond the window's rank so that they change nothing. */
static void flatten(struct npl_window *window, int rank)
{
	for (int d = 0; d < NPL_VOLUME; d++) {
		if (d == NPL_DEPTH ? rank == NPL_VOLUME : d >= NPL_SPATIAL - rank)
			continue;
		window->kernel[d] = window->stride[d] = window->dilation[d] = 1;
		window->pad_begin[d] = window->pad_end[d] = 0;
	}
}

struct npl_window op_window_volume(const struct npl_window *window)
{
	struct npl_window volume = *window;
	flatten(&volume, window->rank == NPL_VOLUME ? NPL_VOLUME : NPL_SPATIAL);
	return volume;
}

int op_window_kernel(struct npl_window *window, const struct npl_shape *x, const struct npl_shape *w,
		     struct npl_err *err)
{
	if (x->rank < 3 || x->rank > 2 + NPL_VOLUME)
		return npl_fail(err, NPL_EINPUT,
				"the input %s must be batch x channels x width, with a height or a depth and a height "
				"before it where there are more dimensions",
				OP_TEXT(x));
	int rank = x->rank - 2;
	if (window->rank && window->rank != rank)
		return npl_fail(err, NPL_EINPUT, "the window has %d spatial dimensions, the input %s has %d",
				window->rank, OP_TEXT(x), rank);
	window->rank = rank;
	flatten(window, rank);
	for (int i = 0; w && i < rank; i++) {
		int64_t *kernel = &window->kernel[npl_window_index(rank, i)];
		if (*kernel && *kernel != w->dim[2 + i])
			return npl_fail(err, NPL_EINPUT, "kernel_shape says %lld where the weights %s have %lld",
					(long long)*kernel, OP_TEXT(w), (long long)w->dim[2 + i]);
		*kernel = w->dim[2 + i];
	}
	return check_numbers(window, err);
}

/* Replaces auto_pad by pads. SAME pads so that the output is ceil(input / stride); an odd pixel goes to the end (UPPER)
 * or the beginning. */
static int resolve_auto_pad(struct npl_window *window, const int64_t input[NPL_VOLUME], struct npl_err *err)
{
	for (int d = 0; d < NPL_VOLUME && window->auto_pad != NPL_PAD_NOTSET; d++) {
		int64_t output = npl_div_up_i64(input[d], window->stride[d]);
		int64_t total = (output - 1) * window->stride[d] + npl_window_extent(window, d) - input[d];
		if (total < 0 || window->auto_pad == NPL_PAD_VALID)
			total = 0;
		int64_t begin = window->auto_pad == NPL_PAD_SAME_UPPER ? total / 2 : total - total / 2;
		int64_t end = total - begin;
		if ((window->pad_begin[d] || window->pad_end[d]) &&
		    (window->pad_begin[d] != begin || window->pad_end[d] != end))
			return npl_fail(err, NPL_EINPUT,
					"pads of %lld and %lld contradict auto_pad, which asks for %lld and %lld",
					(long long)window->pad_begin[d], (long long)window->pad_end[d],
					(long long)begin, (long long)end);
		window->pad_begin[d] = begin;
		window->pad_end[d] = end;
	}
	window->auto_pad = NPL_PAD_NOTSET;
	return 0;
}

/* Writes "3x5", or with the depth before it. */
static const char *sizes_text(int rank, const int64_t size[NPL_VOLUME], char text[64])
{
	struct npl_shape shape = {.rank = rank < NPL_VOLUME ? NPL_SPATIAL : NPL_VOLUME};
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = size[npl_window_index(shape.rank, i)];
	return npl_shape_text(&shape, text, 64);
}

int op_window_complete(struct npl_window *window, const struct npl_shape *x, const struct npl_shape *w,
		       int64_t output[NPL_VOLUME], struct npl_err *err)
{
	if (op_window_kernel(window, x, w, err))
		return NPL_EINPUT;
	struct npl_image image = npl_image_of(x);
	if (resolve_auto_pad(window, image.size, err))
		return NPL_EINPUT;
	for (int d = 0; d < NPL_VOLUME; d++) {
		output[d] = image.size[d] ? npl_window_output(window, d, image.size[d]) : 0;
		if (output[d] == 0) {
			int64_t extent[NPL_VOLUME];
			for (int e = 0; e < NPL_VOLUME; e++)
				extent[e] = npl_window_extent(window, e);
			return npl_fail(err, NPL_EINPUT,
					"a window spanning %s does not fit the input %s padded by %s at the beginning "
					"and %s at the end",
					sizes_text(window->rank, extent, (char[64]){0}), OP_TEXT(x),
					sizes_text(window->rank, window->pad_begin, (char[64]){0}),
					sizes_text(window->rank, window->pad_end, (char[64]){0}));
		}
	}
	return 0;
}

struct npl_shape op_window_shape(const struct npl_window *window, int64_t images, int64_t channels,
				 const int64_t output[NPL_VOLUME])
{
	struct npl_shape shape = npl_shape_of(2 + window->rank, images, channels);
	for (int i = 0; i < window->rank; i++)
		shape.dim[2 + i] = output[npl_window_index(window->rank, i)];
	return shape;
}
