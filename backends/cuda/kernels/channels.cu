/* SPDX-License-Identifier: MIT
 *
 * BatchNormalization of inference: y = (x - mean) * (scale / sqrt(variance + epsilon)) + bias, per channel. S is the
 * type of the four vectors. */
#include "common.cuh"

KERNEL(channels, cu_channels_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position row = divide(i, a.plane);
		const position c = row - divide(row, a.channels) * (position)a.channels.by;
		const float factor = LOAD(S, INPUT(S, a.scale)[c]) /
				     sqrtf(LOAD(S, INPUT(S, a.variance)[c]) + a.epsilon);
		const float y = (LOAD(X, INPUT(X, a.x)[i]) - LOAD(S, INPUT(S, a.mean)[c])) * factor +
				LOAD(S, INPUT(S, a.bias)[c]);
		TENSOR(Y, a.z)[i] = KEEP(Y, FUSED(y));
	}
}
