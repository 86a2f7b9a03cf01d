/* SPDX-License-Identifier: MIT
 *
 * ConvTranspose with a thread for each result: it sums over the input positions and taps that meet at the result, and
 * over the channels of the group. Sums are float32, whatever type the tensors are stored in. S is the type of weights
 * and bias. */
#include "common.cuh"

KERNEL(convtranspose, cu_convtranspose_args)
{
	const position count = (position)a.count;
	const long long plane = a.window.in[0] * a.window.in[1] * a.window.in[2],
			taps = (long long)a.window.kernel[0] * a.window.kernel[1] * a.window.kernel[2];
	for (position i = THREAD; i < count; i += THREADS) {
		const position line = divide(i, a.window.out[1]), slice = divide(line, a.window.out[0]),
			       volume = divide(slice, a.window.out[2]), image = divide(volume, a.filters),
			       m = volume - image * (position)a.filters.by, group = divide(m, a.group_filters);
		const long long at[3] = {line - slice * (position)a.window.out[0].by,
					 i - line * (position)a.window.out[1].by,
					 slice - volume * (position)a.window.out[2].by};
		const STORE(X) *x = INPUT(X, a.x) + ((long long)image * a.channels + group * a.group_channels) * plane;
		const STORE(S) *w = INPUT(S, a.w) + ((long long)group * a.group_channels * a.group_filters.by + m -
						     group * (position)a.group_filters.by) *
							    taps;
		float sum = a.bias ? LOAD(S, INPUT(S, a.bias)[m]) : 0;
		for (int tap = 0; tap < taps; tap++) {
			const int place[3] = {tap / a.window.kernel[1] % a.window.kernel[0], tap % a.window.kernel[1],
					      tap / a.window.kernel[1] / a.window.kernel[0]};
			long long from[3];
			int meets = 1;
			for (int d = 0; d < 3; d++) {
				const long long t = at[d] + a.window.begin[d] -
						    (long long)place[d] * a.window.dilation[d];
				from[d] = t / a.window.stride[d];
				meets &= t >= 0 && t % a.window.stride[d] == 0 && from[d] < a.window.in[d];
			}
			if (!meets)
				continue;
			const long long there = (from[2] * a.window.in[0] + from[0]) * a.window.in[1] + from[1];
			for (long long c = 0; c < a.group_channels; c++)
				sum += LOAD(X, x[c * plane + there]) * LOAD(S, w[c * a.group_filters.by * taps + tap]);
		}
		TENSOR(Y, a.z)[i] = KEEP(Y, FUSED(sum));
	}
}
