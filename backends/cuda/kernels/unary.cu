/* SPDX-License-Identifier: MIT
 *
 * z = FUNCTION(x), element by element, N at a time: X and Y are the types of x and y; N elements of the wider type are
 * 16 bytes if both addresses are aligned. With FLOATS x is computed as a float, else as an integer of its own type. */
#include "common.cuh"

typedef VALUE(X) value;
#define FUNCTION_OF(name, expression)                                                                                  \
	DEVICE value name(value x, const struct cu_unary_args *p)                                                      \
	{                                                                                                              \
		(void)p;                                                                                               \
		return (value)(expression);                                                                            \
	}

#ifdef FLOATS
DEVICE float unit(float v)
{
	return v < 0 ? 0 : v > 1 ? 1 : v;
}
FUNCTION_OF(relu, x < 0 ? 0 : x)
FUNCTION_OF(sigmoid, logistic(x))
FUNCTION_OF(hyperbolic_tangent, tanhf(x))
FUNCTION_OF(leaky_relu, x < 0 ? x * p->alpha : x)
FUNCTION_OF(elu, x < 0 ? p->alpha * expm1f(x) : x)
FUNCTION_OF(selu, p->beta *(x < 0 ? p->alpha * expm1f(x) : x))
FUNCTION_OF(celu, x != x ? x : fmaxf(0, x) + fminf(0, p->alpha *expm1f(x / p->alpha)))
FUNCTION_OF(hard_sigmoid, unit(x * p->alpha + p->beta))
FUNCTION_OF(hard_swish, x *unit(x / 6 + 0.5f))
FUNCTION_OF(softplus, x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)))
FUNCTION_OF(softsign, x / (1 + (x < 0 ? -x : x)))
FUNCTION_OF(thresholded_relu, x > p->alpha ? x : 0)
FUNCTION_OF(shrink, x<-p->alpha ? x + p->bias : x> p->alpha ? x - p->bias : 0)
FUNCTION_OF(error_function, erff(x))
FUNCTION_OF(square_root, sqrtf(x))
FUNCTION_OF(exponential, expf(x))
FUNCTION_OF(logarithm, logf(x))
FUNCTION_OF(reciprocal, 1 / x)
FUNCTION_OF(sine, sinf(x))
FUNCTION_OF(cosine, cosf(x))
FUNCTION_OF(tangent, tanf(x))
FUNCTION_OF(arcsine, asinf(x))
FUNCTION_OF(arccosine, acosf(x))
FUNCTION_OF(arctangent, atanf(x))
FUNCTION_OF(hyperbolic_sine, sinhf(x))
FUNCTION_OF(hyperbolic_cosine, coshf(x))
FUNCTION_OF(area_sine, asinhf(x))
FUNCTION_OF(area_cosine, acoshf(x))
FUNCTION_OF(area_tangent, atanhf(x))
FUNCTION_OF(round_down, floorf(x))
FUNCTION_OF(round_up, ceilf(x))
FUNCTION_OF(round_even, rintf(x))
FUNCTION_OF(absolute, fabsf(x))
FUNCTION_OF(negated, -x)
FUNCTION_OF(sign, x > 0 ? 1 : x < 0 ? -1 : x)
FUNCTION_OF(is_nan, x != x)
FUNCTION_OF(is_infinite, (p->alpha != 0 && x == INFINITE) || (p->beta != 0 && x == -INFINITE))
DEVICE float clip(float x, const struct cu_unary_args *p)
{
	const float low = p->low_at ? LOAD(X, *INPUT(X, p->low_at)) : p->low,
		    high = p->high_at ? LOAD(X, *INPUT(X, p->high_at)) : p->high;
	x = x < low ? low : x;
	return x > high ? high : x;
}
#else
FUNCTION_OF(relu, x < 0 ? 0 : x)
FUNCTION_OF(absolute, x < 0 ? 0 - (unsigned long long)x : (unsigned long long)x) /* the least number stays as it is */
FUNCTION_OF(negated, 0 - (unsigned long long)x)
FUNCTION_OF(sign, (x > 0) - (x < 0))
FUNCTION_OF(inverse, x == 0)
DEVICE value clip(value x, const struct cu_unary_args *p)
{
	if (p->low_at && x < *INPUT(X, p->low_at))
		x = *INPUT(X, p->low_at);
	if (p->high_at && x > *INPUT(X, p->high_at))
		x = *INPUT(X, p->high_at);
	return x;
}
#endif

PACK(pack_x, X);
PACK(pack_y, Y);

#define OF(x) KEEP(Y, (VALUE(Y))FUSED(FUNCTION(LOAD(X, x), &a)))

KERNEL(unary, cu_unary_args)
{
	const struct pack_x *from = (const struct pack_x *)a.x;
	struct pack_y *to = (struct pack_y *)a.y;
	const position count = (position)a.count, packs = count / N;
	for (position i = THREAD; i < packs; i += THREADS) {
		const struct pack_x x = from[i];
		struct pack_y y;
		for (int k = 0; k < N; k++)
			y.element[k] = OF(x.element[k]);
		to[i] = y;
	}
	for (position i = packs * N + THREAD; i < count; i += THREADS)
		TENSOR(Y, a.y)[i] = OF(INPUT(X, a.x)[i]);
}
