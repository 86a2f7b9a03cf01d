/* SPDX-License-Identifier: MIT
 *
 * Resize and Upsample: the nearest element, or the weighted sum of 2 (TAPS=2, linear) or 4 (TAPS=4, cubic) neighbours
 * in each dimension. Positions are double, because they decide which element is nearest. `transform` and `nearest` are
 * the numbers of enum npl_resize_transform and enum npl_resize_nearest. */
#include "common.cuh"

DEVICE double place(const struct cu_resize_args *a, int d, position i)
{
	const double x = (double)i, scale = a->scale[d], length = a->length[d], most = (double)(a->size[d] - 1);
	const int one = length <= 1 && length >= 1;
	switch (a->transform) {
	case 1: /* asymmetric */
		return x / scale;
	case 2: /* align_corners */
		return one ? 0.0 : x * most / (length - 1);
	case 3: /* pytorch_half_pixel */
		return length > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
	case 4: /* tf_half_pixel_for_nn */
		return (x + 0.5) / scale;
	case 5: /* tf_crop_and_resize */
		return one ? 0.5 * (a->from[d] + a->to[d]) * most
			   : a->from[d] * most + x * (a->to[d] - a->from[d]) * most / (length - 1);
	default:
		return (x + 0.5) / scale - 0.5;
	}
}

DEVICE int outside(const struct cu_resize_args *a, double x, long long size)
{
	return a->transform == 5 && (x < 0 || x > (double)(size - 1));
}

DEVICE long long within(double x, long long size)
{
	return !(x > 0) ? 0 : x > (double)(size - 1) ? size - 1 : (long long)x;
}

#ifdef NEAREST
DEVICE long long nearest_of(const struct cu_resize_args *a, int d, double x)
{
	const int up = a->nearest == 3 || (a->nearest == 4 && a->scale[d] < 1);
	return within(a->nearest == 0   ? ceil(x - 0.5)
		      : a->nearest == 1 ? floor(x + 0.5)
		      : up              ? ceil(x)
					: floor(x),
		      a->size[d]);
}

KERNEL(resize, cu_resize_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		position rest = i;
		long long from = 0;
		for (int d = a.rank - 1; d >= 0; d--) {
			const position before = divide(rest, a.dim[d]), at = rest - before * (position)a.dim[d].by;
			const double x = a.stays[d] ? 0 : place(&a, d, at);
			if (from >= 0 && !a.stays[d] && outside(&a, x, a.size[d]))
				from = -1;
			if (from >= 0)
				from += (a.stays[d] ? (long long)at : nearest_of(&a, d, x)) * a.step[d];
			rest = before;
		}
		TENSOR(X, a.z)[i] = from < 0 ? KEEP(X, (VALUE(X))a.outside) : INPUT(X, a.x)[from];
	}
}
#else
DEVICE double keys(double c, double x) /* Returns Keys' cubic weight at distance x. */
{
	x = fabs(x);
	return x <= 1 ? ((c + 2) * x - (c + 3)) * x * x + 1 : ((c * x - 5 * c) * x + 8 * c) * x - 4 * c;
}

/* Finds the neighbours of a position and their weights. */
DEVICE void weigh(const struct cu_resize_args *a, int d, double x, long long *at, float *weight)
{
	const long long size = a->size[d];
	double sum = 0, w[TAPS];
	x = x < -4 ? -4 : x > (double)size + 4 ? (double)size + 4 : x;
	const double below = floor(x);
	for (int k = 0; k < TAPS; k++) {
		const double p = below + (TAPS == 2 ? k : k - 1);
		w[k] = TAPS == 2 ? 1 - fabs(x - p) : keys(a->cubic, x - p);
		if (a->exclude_outside && (p < 0 || p > (double)(size - 1)))
			w[k] = 0;
		at[k] = within(p, size) * a->step[d];
		sum += w[k];
	}
	for (int k = 0; k < TAPS; k++)
		weight[k] = (float)(a->exclude_outside && sum != 0 ? w[k] / sum : w[k]);
}

KERNEL(resize, cu_resize_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		position rest = i;
		long long at[8][TAPS], base = 0;
		float weight[8][TAPS];
		int weighed = 0, choices = 1, missing = 0;
		for (int d = a.rank - 1; d >= 0; d--) {
			const position before = divide(rest, a.dim[d]), p = rest - before * (position)a.dim[d].by;
			rest = before;
			if (a.stays[d]) {
				base += (long long)p * a.step[d];
				continue;
			}
			const double x = place(&a, d, p);
			missing |= outside(&a, x, a.size[d]);
			weigh(&a, d, x, at[weighed], weight[weighed]);
			weighed++;
			choices *= TAPS;
		}
		float sum = 0;
		/* The digits of c to the base TAPS are the taps of all dimensions. */
		for (int c = 0; c < choices; c++) {
			long long from = base;
			float share = 1;
			for (int d = 0, digits = c; d < weighed; d++, digits /= TAPS) {
				from += at[d][digits % TAPS];
				share *= weight[d][digits % TAPS];
			}
			if (share != 0)
				sum += share * LOAD(X, INPUT(X, a.x)[from]);
		}
		TENSOR(X, a.z)[i] = KEEP(X, missing ? a.outside : sum);
	}
}
#endif
