/* SPDX-License-Identifier: MIT
 *
 * Converts a value in steps of the result to an 8- or 16-bit element, by the steps of the integer rule. FINISH is
 * finish_none, _relu, _relu6 or _function (Sigmoid and Tanh by their table). A thread counts the values that it
 * saturates in `hits`; at its end a warp adds the number of its threads to the host's counter. */
#include "common.cuh"

DEVICE float saturated(float v, float low, float high, unsigned *hits)
{
	if (v >= low && v <= high)
		return v;
	++*hits;
	return v > high ? high : low; /* a NaN becomes low */
}

/* Every thread of a one-dimensional block calls it: a warp's threads wait for each other. */
DEVICE void leave_hits(cu_address counter, unsigned hits)
{
	if (!counter)
		return;
#ifdef __CUDACC_RTC__
	for (int lanes = 16; lanes; lanes /= 2)
		hits += __shfl_down_sync(0xffffffffu, hits, lanes);
	if (hits && threadIdx.x % 32 == 0)
		atomicAdd((unsigned long long *)counter, (unsigned long long)hits);
#else
	*(unsigned long long *)counter += hits;
#endif
}

DEVICE int finish_none(const struct cu_finish *f, float v, unsigned *hits)
{
	return (int)saturated(rintf(v) + f->zero, f->low, f->high, hits);
}

DEVICE int finish_relu(const struct cu_finish *f, float v, unsigned *hits)
{
	v = rintf(v) + f->zero;
	return (int)(v < f->zero ? f->zero : saturated(v, f->low, f->high, hits));
}

DEVICE int finish_relu6(const struct cu_finish *f, float v, unsigned *hits)
{
	v = rintf(v) + f->zero;
	return (int)(v < f->zero ? f->zero : v > f->relu6 ? f->relu6 : saturated(v, f->low, f->high, hits));
}

DEVICE int finish_function(const struct cu_finish *f, float v, unsigned *hits)
{
	const int at = (int)saturated(rintf(v), -32768.0f, 32767.0f, hits) + 32768, i = at >> 8, r = at & 255;
	const int sum = f->point[i] * (256 - r) + f->point[i + 1] * r + 128;
	return finish_none(f, (float)(sum >= 0 ? sum / 256 : -((255 - sum) / 256)) * f->function_scale, hits);
}
