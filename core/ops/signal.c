/* SPDX-License-Identifier: MIT
 *
 * Transforms and windows of signals: DFT, STFT, HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix. Sums are in
 * double, from one table of the cosines and sines of a turn's parts; a transform is its definition, n^2 products, which
 * audio front ends of a few thousand points can afford. The last dimension of a signal is 1 (real) or 2 (complex), that
 * of a result 2. */
#include <math.h>
#include <stdlib.h>

#include "cast.h"
#include "ops.h"

#define TURN 6.283185307179586476925286766559

static int floats_or_refuse(const struct npl_tensor *x, struct npl_err *err)
{
	if (x->dtype == NPL_F32 || x->dtype == NPL_F64)
		return 0;
	return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected floats", npl_dtype_name(x->dtype));
}

/* Reads the value of an optional constant input of one number. */
static int optional_number(const struct npl_tensor *const *in, int n_in, int k, const char *input_name,
			   int64_t fallback, int64_t *value, struct npl_err *err)
{
	*value = fallback;
	if (k >= n_in || !in[k])
		return 0;
	if (op_input_scalar(in[k], input_name, err))
		return NPL_EINPUT;
	*value = (int64_t)npl_tensor_real(in[k], 0);
	return 0;
}

/* Returns cosine and sine of k/n of a turn, k = 0..n-1: 2n doubles, or NULL. */
static double *turn_table(int64_t n, struct npl_err *err)
{
	double *table = calloc((size_t)n + 1, 2 * sizeof *table);
	if (!table)
		npl_fail(err, NPL_ENOMEM, "out of memory for a transform of %lld points", (long long)n);
	for (int64_t k = 0; table && k < n; k++) {
		table[2 * k] = op_cos(TURN * (double)k / (double)n);
		table[2 * k + 1] = op_sin(TURN * (double)k / (double)n);
	}
	return table;
}

/* Computes `bins` frequencies of n complex points. */
static void transform(const double *x, int64_t n, int64_t bins, bool inverse, const double *table, double *y)
{
	for (int64_t k = 0; k < bins; k++) {
		double real = 0, imaginary = 0;
		int64_t index = 0;
		for (int64_t i = 0; i < n; i++) {
			const double c = table[2 * index], s = inverse ? table[2 * index + 1] : -table[2 * index + 1];
			real += x[2 * i] * c - x[2 * i + 1] * s;
			imaginary += x[2 * i] * s + x[2 * i + 1] * c;
			index = index + k < n ? index + k : index + k - n;
		}
		y[2 * k] = inverse ? real / (double)n : real;
		y[2 * k + 1] = inverse ? imaginary / (double)n : imaginary;
	}
}

static int64_t bins_of(const struct npl_attrs *attrs)
{
	return attrs->signal.one_sided ? attrs->signal.length / 2 + 1 : attrs->signal.length;
}

OP_ATTRS(op_dft_attrs)
{
	out->signal.axis = -2;
	if (op_attr_flag(list, "inverse", false, &out->signal.inverse, err) ||
	    op_attr_flag(list, "onesided", false, &out->signal.one_sided, err) ||
	    (op_before(out, 20) && op_attr_int(list, "axis", 1, &out->signal.axis, err)))
		return NPL_EINPUT;
	if (out->signal.inverse && out->signal.one_sided)
		return npl_fail(err, NPL_EINPUT,
				"inverse=1 with onesided=1 is not supported: export the whole spectrum");
	return 0;
}

static int check_signal(const struct npl_shape *x, struct npl_err *err)
{
	if (x->rank < 2 || x->dim[x->rank - 1] < 1 || x->dim[x->rank - 1] > 2)
		return npl_fail(err, NPL_EINPUT, "the last dimension of the input %s must be 1 (real) or 2 (complex)",
				OP_TEXT(x));
	return 0;
}

OP_SHAPE(op_dft_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err) || floats_or_refuse(in[0], err) || check_signal(&in[0]->shape, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (n_in > 2 && in[2] && op_before(attrs, 20))
		return npl_fail(err, NPL_EINPUT, "the axis as an input came with opset 20");
	if (optional_number(in, n_in, 2, "axis", attrs->signal.axis, &attrs->signal.axis, err) ||
	    op_axis(&attrs->signal.axis, x->rank, x->rank - 1, err))
		return NPL_EINPUT;
	if (attrs->signal.axis == x->rank - 1)
		return npl_fail(err, NPL_EINPUT, "the axis must not be the last, which holds real and imaginary parts");
	if (optional_number(in, n_in, 1, "dft_length", x->dim[attrs->signal.axis], &attrs->signal.length, err))
		return NPL_EINPUT;
	if (attrs->signal.length < 1 || attrs->signal.length > (int64_t)1 << 30)
		return npl_fail(err, NPL_EINPUT, "a transform of %lld points, expected 1 to 2^30",
				(long long)attrs->signal.length);
	out->dtype = in[0]->dtype;
	out->shape = *x;
	out->shape.dim[attrs->signal.axis] = bins_of(attrs);
	out->shape.dim[x->rank - 1] = 2;
	return op_output_fits(&out->shape, attrs->signal.length, err);
}

OP_RUN(op_dft_run)
{
	const struct npl_shape *shape = &in[0]->shape;
	const int axis = (int)attrs->signal.axis;
	const int64_t n = attrs->signal.length, bins = bins_of(attrs), present = shape->dim[axis],
		      parts = shape->dim[shape->rank - 1];
	const int64_t inner = op_count(shape->dim + axis + 1, shape->rank - axis - 2);
	double *table = turn_table(n, err), *x = calloc((size_t)n + 1, 2 * sizeof *x);
	double *y = calloc((size_t)bins + 1, 2 * sizeof *y);
	int rc = table && x && y ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for a transform");
	for (int64_t line = 0; !rc && line < op_count(shape->dim, axis) * inner; line++) {
		const int64_t first = line / inner * present * inner + line % inner;
		const int64_t result = line / inner * bins * inner + line % inner;
		for (int64_t i = 0; i < n; i++) {
			const int64_t index = (first + i * inner) * parts;
			x[2 * i] = i < present ? npl_tensor_real(in[0], index) : 0;
			x[2 * i + 1] = i < present && parts > 1 ? npl_tensor_real(in[0], index + 1) : 0;
		}
		transform(x, n, bins, attrs->signal.inverse, table, y);
		for (int64_t k = 0; k < 2 * bins; k++)
			op_store_real(out, (result + k / 2 * inner) * 2 + k % 2, y[k]);
	}
	free(table);
	free(x);
	free(y);
	return rc;
}

enum { STFT_STEP = 1, STFT_WINDOW, STFT_LENGTH };

OP_ATTRS(op_stft_attrs)
{
	return op_attr_flag(list, "onesided", true, &out->signal.one_sided, err);
}

OP_SHAPE(op_stft_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || floats_or_refuse(in[0], err) || check_signal(&in[0]->shape, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	const struct npl_tensor *window = n_in > STFT_WINDOW ? in[STFT_WINDOW] : NULL;
	if (x->rank != 3)
		return npl_fail(err, NPL_EINPUT, "the input %s must be batch x length x 1 or 2", OP_TEXT(x));
	if (window && (window->shape.rank != 1 || window->dtype != in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "the window must be a vector of %s", npl_dtype_name(in[0]->dtype));
	if (optional_number(in, n_in, STFT_STEP, "frame_step", 0, &attrs->signal.frame_step, err) ||
	    optional_number(in, n_in, STFT_LENGTH, "frame_length", window ? window->shape.dim[0] : 0,
			    &attrs->signal.length, err))
		return NPL_EINPUT;
	if (attrs->signal.frame_step < 1 || attrs->signal.length < 1 || attrs->signal.length > x->dim[1] ||
	    (window && window->shape.dim[0] != attrs->signal.length))
		return npl_fail(
			err, NPL_EINPUT,
			"frames of %lld every %lld do not fit the signal %s and the window; frame_length or the "
			"window must be given",
			(long long)attrs->signal.length, (long long)attrs->signal.frame_step, OP_TEXT(x));
	if (attrs->signal.one_sided && x->dim[2] == 2)
		return npl_fail(err, NPL_EINPUT, "onesided=1 needs a real signal");
	out->dtype = in[0]->dtype;
	out->shape = npl_shape_of(4, x->dim[0], (x->dim[1] - attrs->signal.length) / attrs->signal.frame_step + 1,
				  bins_of(attrs), 2);
	return op_output_fits(&out->shape, attrs->signal.length, err);
}

OP_RUN(op_stft_run)
{
	const struct npl_tensor *window = n_in > STFT_WINDOW ? in[STFT_WINDOW] : NULL;
	const int64_t n = attrs->signal.length, bins = bins_of(attrs), frames = out->shape.dim[1];
	const int64_t length = in[0]->shape.dim[1], parts = in[0]->shape.dim[2];
	double *table = turn_table(n, err), *x = calloc((size_t)n + 1, 2 * sizeof *x);
	double *y = calloc((size_t)bins + 1, 2 * sizeof *y);
	int rc = table && x && y ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for a transform");
	for (int64_t frame = 0; !rc && frame < out->shape.dim[0] * frames; frame++) {
		const int64_t first = frame / frames * length + frame % frames * attrs->signal.frame_step;
		for (int64_t i = 0; i < n; i++) {
			const double weight = window ? npl_tensor_real(window, i) : 1;
			x[2 * i] = weight * npl_tensor_real(in[0], (first + i) * parts);
			x[2 * i + 1] = parts > 1 ? weight * npl_tensor_real(in[0], (first + i) * parts + 1) : 0;
		}
		transform(x, n, bins, false, table, y);
		for (int64_t k = 0; k < 2 * bins; k++)
			op_store_real(out, frame * bins * 2 + k, y[k]);
	}
	free(table);
	free(x);
	free(y);
	return rc;
}

OP_ATTRS(op_cosinewindow_attrs)
{
	if (op_attr_flag(list, "periodic", true, &out->signal.periodic, err) ||
	    op_attr_type(list, "output_datatype", &out->signal.dtype, err))
		return NPL_EINPUT;
	if (out->signal.dtype == NPL_DTYPES)
		out->signal.dtype = NPL_F32;
	return 0;
}

OP_SHAPE(op_cosinewindow_shape)
{
	int64_t size;
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err) || optional_number(in, n_in, 0, "size", 0, &size, err))
		return NPL_EINPUT;
	if (size < 0)
		return npl_fail(err, NPL_EINPUT, "a window of %lld elements, expected 0 or more", (long long)size);
	out->dtype = attrs->signal.dtype;
	out->shape = npl_shape_of(1, size);
	return op_output_fits(&out->shape, 1, err);
}

OP_RUN(op_cosinewindow_run)
{
	/* The weights w of a window, w[0] - w[1] cos t + w[2] cos 2t, for Hann, Hamming and Blackman. */
	static const double weights[][3] = {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
	const double *w = weights[attrs->op == NPL_OP_HANNWINDOW ? 0 : attrs->op == NPL_OP_HAMMINGWINDOW ? 1 : 2];
	const int64_t size = npl_tensor_count(out), period = attrs->signal.periodic ? size : size - 1;
	for (int64_t i = 0; i < size; i++) {
		const double angle = period ? TURN * (double)i / (double)period : 0;
		op_store_real(out, i, w[0] - w[1] * op_cos(angle) + w[2] * op_cos(2 * angle));
	}
	return 0;
}

enum { MEL_BINS, MEL_DFT, MEL_RATE, MEL_LOW, MEL_HIGH, MEL_INPUTS };

OP_ATTRS(op_melweight_attrs)
{
	if (op_attr_type(list, "output_datatype", &out->signal.dtype, err))
		return NPL_EINPUT;
	if (out->signal.dtype == NPL_DTYPES)
		out->signal.dtype = NPL_F32;
	return 0;
}

OP_SHAPE(op_melweight_shape)
{
	static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
					    "upper_edge_hertz"};
	double value[MEL_INPUTS];
	if (op_inputs(in, n_in, MEL_INPUTS, NPL_DTYPES, err))
		return NPL_EINPUT;
	for (int k = 0; k < MEL_INPUTS; k++) {
		if (op_input_scalar(in[k], names[k], err))
			return NPL_EINPUT;
		value[k] = npl_tensor_real(in[k], 0);
	}
	if (!(value[MEL_BINS] >= 1 && value[MEL_BINS] <= 1 << 30 && value[MEL_DFT] >= 1 && value[MEL_DFT] <= 1 << 30 &&
	      value[MEL_LOW] >= 0 && value[MEL_HIGH] >= value[MEL_LOW] && 2 * value[MEL_HIGH] <= value[MEL_RATE]))
		return npl_fail(
			err, NPL_EINPUT,
			"%g bands from %g to %g Hz cannot be taken from %g points at %g Hz: the upper edge is at most "
			"half the rate",
			value[MEL_BINS], value[MEL_LOW], value[MEL_HIGH], value[MEL_DFT], value[MEL_RATE]);
	out->dtype = attrs->signal.dtype;
	out->shape = npl_shape_of(2, (int64_t)value[MEL_DFT] / 2 + 1, (int64_t)value[MEL_BINS]);
	return op_output_fits(&out->shape, 1, err);
}

/* Returns the bin of edge k of bands that are spaced evenly in mel, as ONNX's definition has it. */
static int64_t mel_edge(const struct npl_tensor *const *in, int64_t k)
{
	const double log10 = op_log(10), bands = npl_tensor_real(in[MEL_BINS], 0);
	const double low = 2595 * op_log(1 + npl_tensor_real(in[MEL_LOW], 0) / 700) / log10;
	const double high = 2595 * op_log(1 + npl_tensor_real(in[MEL_HIGH], 0) / 700) / log10;
	const double mel = (double)k * ((high - low) / (bands + 2)) + low;
	const double hertz = 700 * (op_power(10, mel / 2595) - 1);
	return (int64_t)floor((npl_tensor_real(in[MEL_DFT], 0) + 1) * hertz / npl_tensor_real(in[MEL_RATE], 0));
}

OP_RUN(op_melweight_run)
{
	const int64_t rows = out->shape.dim[0], bands = out->shape.dim[1];
	for (int64_t i = 0; i < rows * bands; i++)
		op_store_real(out, i, 0);
	for (int64_t i = 0; i < bands; i++) {
		const int64_t low = mel_edge(in, i), centre = mel_edge(in, i + 1), high = mel_edge(in, i + 2);
		for (int64_t j = low; j <= centre && j < rows; j++)
			op_store_real(out, j * bands + i,
				      centre == low ? 1 : (double)(j - low) / (double)(centre - low));
		for (int64_t j = centre; j < high && j < rows; j++)
			op_store_real(out, j * bands + i, (double)(high - j) / (double)(high - centre));
	}
	return 0;
}
