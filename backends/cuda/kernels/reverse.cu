/* SPDX-License-Identifier: MIT
 *
 * ReverseSequence: reverses the first `length` steps of each sequence of the batch. x is (steps, batch, inner), or
 * (batch, steps, inner) with batch_first. An invalid length sets the fault word and is replaced by the nearest valid
 * one. */
#include "common.cuh"

KERNEL(reverse, cu_sequence_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const position line = divide(i, a.inner), first = divide(line, a.middle);
		const long long second = line - first * (position)a.middle.by;
		const long long step = a.batch_first ? second : (long long)first,
				sample = a.batch_first ? (long long)first : second;
		long long length = INPUT(i64, a.extra)[sample];
		if ((length < 0 || length > a.steps) && a.fault)
			*TENSOR(i32, a.fault) = CU_FAULT_LENGTH;
		length = length < 0 ? 0 : length > a.steps ? a.steps : length;
		const long long from = step < length ? length - 1 - step : step;
		const long long there = a.batch_first ? sample * a.steps + from : from * a.middle.by + sample;
		TENSOR(UNIT, a.z)[i] = INPUT(UNIT, a.x)[there * a.inner.by + (i - line * (position)a.inner.by)];
	}
}
