/* SPDX-License-Identifier: MIT
 *
 * Pooling over one to three spatial dimensions, a thread to each result. GREATEST: maxima, which pass NaN on and ignore padding,
 * LOWEST being the least value of the type, and with INDICES where they stand; else AVERAGE, or POWER: the p-th root of the sum of
 * p-th powers. With INTEGER x is quantised: averages are of x - zero point, rounded half to even. */
#include "common.cuh"

struct reach {
	long long first; /* position of the first tap, also outside */
	int begin, end;  /* taps inside */
	long long counted;
};

DEVICE struct reach reach_of(const struct cu_pool_args *a, int d, long long output)
{
	struct reach r;
	const long long step = a->dilation[d], left = a->in[d] - (r.first = output * a->stride[d] - a->pad[d]);
	const long long end = left <= 0 ? 0 : (left + step - 1) / step;
	const long long past = (left + a->counted_end[d] + step - 1) / step;
	r.begin = r.first < 0 ? (int)((-r.first + step - 1) / step) : 0;
	r.end = end < a->kernel[d] ? (int)end : a->kernel[d];
	r.counted = (past < a->kernel[d] ? past : a->kernel[d]) - (a->counts_padding ? 0 : r.begin);
	return r;
}

#ifdef INTEGER
DEVICE long long half_even(long long sum, long long count)
{
	const long long down = sum / count - (sum % count < 0), rest = sum - down * count;
	return down + (2 * rest > count || (2 * rest == count && (down & 1)));
}
typedef long long value;
#else
typedef float value;
#endif

KERNEL(pool, cu_pool_args)
{
	const position count = (position)a.count;
	const long long volume = a.in[0] * a.in[1] * a.in[2];
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.out[1]), slice = divide(row, a.out[0]),
			       plane = divide(slice, a.out[2]);
		const struct reach x = reach_of(&a, 1, i - row * (position)a.out[1].by),
				   y = reach_of(&a, 0, row - slice * (position)a.out[0].by),
				   z = reach_of(&a, 2, slice - plane * (position)a.out[2].by);
		const STORE(X) *from = INPUT(X, a.x) + (long long)plane * volume;
#ifdef GREATEST
		value result = LOWEST;
#ifdef INDICES
		long long found = -1;
#endif
#else
		value result = 0;
#endif
		for (int k = z.begin; k < z.end; k++)
			for (int l = y.begin; l < y.end; l++)
				for (int m = x.begin; m < x.end; m++) {
					const long long at = ((z.first + k * a.dilation[2]) * a.in[0] + y.first +
							      l * a.dilation[0]) *
								     a.in[1] +
							     x.first + m * a.dilation[1];
					const value v = LOAD(X, from[at]);
#if defined(GREATEST)
#ifdef INDICES
					found = found < 0 || v > result || v != v ? at : found;
#endif
					result = v > result || v != v ? v : result;
#elif defined(POWER)
					result += POWER == 1 ? fabsf(v) : POWER == 2 ? v * v : powf(fabsf(v), a.power);
#elif defined(INTEGER)
					result += v - a.zero_point;
#else
					result += v;
#endif
				}
#if defined(POWER)
		result = POWER == 1 ? result : POWER == 2 ? sqrtf(result) : powf(result, 1 / a.power);
#elif defined(AVERAGE)
		const long long counted = x.counted * y.counted * z.counted;
#ifdef INTEGER
		result = (counted > 0 ? half_even(result, counted) : 0) + a.zero_point;
#else
		result = counted > 0 ? result / (float)counted : 0;
#endif
#endif
#ifdef INTEGER
		result = a.fused_relu && result < a.zero_point ? a.zero_point : result;
#endif
		TENSOR(Y, a.z)[i] = KEEP(Y, (VALUE(Y))FUSED(result));
#ifdef INDICES
		if (found >= 0 && a.column_major)
			found = found / a.in[1] / a.in[0] +
				a.in[2] * (found / a.in[1] % a.in[0] + a.in[0] * (found % a.in[1]));
		TENSOR(i64, a.indices)[i] = found < 0 ? -1 : (long long)plane * volume + found;
#endif
	}
}
