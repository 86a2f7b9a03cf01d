/* SPDX-License-Identifier: MIT
 *
 * Pooling over one to three spatial dimensions with a thread for each result. GREATEST: maxima, which pass NaN on and
 * ignore padding; LOWEST is the least value of the type, and with INDICES their positions are written. AVERAGE:
 * averages. POWER: the p-th root of the sum of p-th powers. With INTEGER x is quantised, and averages are of x - zero
 * point, rounded half to even; NARROW: 32 bits hold their sums. With CHANNELS_LAST x and z have channels last, and a
 * thread makes N neighbouring results: the channels are a whole number of packs. */
#include "common.cuh"

#ifndef N
#define N 1
#endif
PACK(pack_x, X);
PACK(pack_y, Y);

struct reach {
	long long first; /* position of the first tap, which may be outside */
	int begin, end;  /* taps begin..end-1 are inside */
	long long counted;
};

DEVICE struct reach reach_of(const struct cu_pool_args *a, int d, long long output)
{
	struct reach r;
	const long long step = a->window.dilation[d],
			left = a->window.in[d] - (r.first = output * a->window.stride[d] - a->window.begin[d]);
	const long long end = left <= 0 ? 0 : (left + step - 1) / step;
	const long long past = (left + a->counted_end[d] + step - 1) / step;
	r.begin = r.first < 0 ? (int)((-r.first + step - 1) / step) : 0;
	r.end = end < a->window.kernel[d] ? (int)end : a->window.kernel[d];
	r.counted = (past < a->window.kernel[d] ? past : a->window.kernel[d]) - (a->counts_padding ? 0 : r.begin);
	return r;
}

#ifdef INTEGER
#ifdef NARROW
typedef int value;
#else
typedef long long value;
#endif
DEVICE value half_even(value sum, value count)
{
	const value down = sum / count - (sum % count < 0), rest = sum - down * count;
	return down + (2 * rest > count || (2 * rest == count && (down & 1)));
}
#else
typedef float value;
#endif

/* Combines the result so far with one more element. */
DEVICE value joint(const struct cu_pool_args *a, value sum, value v)
{
	(void)a;
#if defined(GREATEST)
	return v > sum || v != v ? v : sum;
#elif defined(POWER)
	return sum + (POWER == 1 ? fabsf(v) : POWER == 2 ? v * v : powf(fabsf(v), a->power));
#elif defined(INTEGER)
	return sum + v - a->zero_point;
#else
	return sum + v;
#endif
}

/* Makes the result of all elements; an average divides by `counted`. */
DEVICE value finished(const struct cu_pool_args *a, value sum, long long counted)
{
	(void)counted;
#if defined(POWER)
	sum = POWER == 1 ? sum : POWER == 2 ? sqrtf(sum) : powf(sum, 1 / a->power);
#elif defined(AVERAGE) && defined(INTEGER)
	sum = (counted > 0 ? half_even(sum, (value)counted) : 0) + a->zero_point;
#elif defined(AVERAGE)
	sum = counted > 0 ? sum / (float)counted : 0;
#endif
#ifdef INTEGER
	sum = a->fused_relu && sum < a->zero_point ? a->zero_point : sum;
#endif
	(void)a;
	return sum;
}

KERNEL(pool, cu_pool_args)
{
	const position packs = (position)a.count / N;
	const long long volume = a.window.in[0] * a.window.in[1] * a.window.in[2];
	for (position i = THREAD; i < packs; i += THREADS) {
#ifdef CHANNELS_LAST
		const position at_z = divide(i, a.packs), step = (position)a.packs.by;
#else
		const position at_z = i, step = 1;
#endif
		const position row = divide(at_z, a.window.out[1]), slice = divide(row, a.window.out[0]),
			       plane = divide(slice, a.window.out[2]);
		const struct reach x = reach_of(&a, 1, at_z - row * (position)a.window.out[1].by),
				   y = reach_of(&a, 0, row - slice * (position)a.window.out[0].by),
				   z = reach_of(&a, 2, slice - plane * (position)a.window.out[2].by);
		const struct pack_x *from = (const struct pack_x *)a.x + (long long)plane * volume * step +
					    (i - at_z * step);
		struct pack_y result;
		value sum[N];
#ifdef INDICES
		long long found = -1;
#endif
		for (int n = 0; n < N; n++)
#ifdef GREATEST
			sum[n] = LOWEST;
#else
			sum[n] = 0;
#endif
		for (int k = z.begin; k < z.end; k++)
			for (int l = y.begin; l < y.end; l++)
				for (int m = x.begin; m < x.end; m++) {
					const long long at = ((z.first + k * a.window.dilation[2]) * a.window.in[0] +
							      y.first + l * a.window.dilation[0]) *
								     a.window.in[1] +
							     x.first + m * a.window.dilation[1];
					const struct pack_x v = from[at * step];
#ifdef INDICES
					const value only = LOAD(X, v.element[0]);
					found = found < 0 || only > sum[0] || only != only ? at : found;
#endif
					for (int n = 0; n < N; n++)
						sum[n] = joint(&a, sum[n], LOAD(X, v.element[n]));
				}
		for (int n = 0; n < N; n++)
			result.element[n] = KEEP(
				Y, (VALUE(Y))FUSED(finished(&a, sum[n], x.counted * y.counted * z.counted)));
		((struct pack_y *)a.z)[i] = result;
#ifdef INDICES
		if (found >= 0 && a.column_major)
			found = found / a.window.in[1] / a.window.in[0] +
				a.window.in[2] * (found / a.window.in[1] % a.window.in[0] +
						  a.window.in[0] * (found % a.window.in[1]));
		TENSOR(i64, a.indices)[i] = found < 0 ? -1 : (long long)plane * volume + found;
#endif
	}
}
