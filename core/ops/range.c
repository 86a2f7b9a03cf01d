/* SPDX-License-Identifier: MIT
 *
 * Range: start, start + delta, ... before limit; three constant numbers of one type. Floats are made in double and
 * rounded once, so that errors do not add up; integers are exact. */
#include <math.h>

#include "cast.h"
#include "core/base/dtype.h"
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_range_attrs)
{
	return 0;
}

/* Returns the number of elements, at most NPL_MAX_ELEMENTS + 1. */
static int64_t count_reals(double start, double limit, double delta)
{
	double n = ceil((limit - start) / delta);
	const int64_t limit_count = NPL_MAX_ELEMENTS + 1;
	return n > 0 ? n < (double)limit_count ? (int64_t)n : limit_count : 0;
}

static int64_t count_integers(int64_t start, int64_t limit, int64_t delta)
{
	bool is_rising = delta > 0;
	if (is_rising ? start >= limit : start <= limit)
		return 0;
	uint64_t span = is_rising ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
	uint64_t step = is_rising ? (uint64_t)delta : 0 - (uint64_t)delta, n = (span - 1) / step + 1;
	return n > (uint64_t)NPL_MAX_ELEMENTS ? NPL_MAX_ELEMENTS + 1 : (int64_t)n;
}

OP_SHAPE(op_range_shape)
{
	static const char *const names[] = {"start", "limit", "delta"};
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err) || op_inputs(in, n_in, 3, in[0]->dtype, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype) || in[0]->dtype == NPL_U64)
		return npl_fail(err, NPL_EINPUT, "a range of %s is not supported", npl_dtype_name(in[0]->dtype));
	for (int k = 0; k < 3; k++) {
		if (op_input_scalar(in[k], names[k], err))
			return NPL_EINPUT;
		if (!isfinite(npl_tensor_real(in[k], 0)))
			return npl_fail(err, NPL_EINPUT, "the %s is not finite", names[k]);
	}
	if (npl_tensor_real(in[2], 0) == 0.0)
		return npl_fail(err, NPL_EINPUT, "the delta is 0");
	out->dtype = in[0]->dtype;
	out->shape = npl_shape_of(
		1,
		npl_is_integer(in[0]->dtype)
			? count_integers(op_whole(in[0], 0), op_whole(in[1], 0), op_whole(in[2], 0))
			: count_reals(npl_tensor_real(in[0], 0), npl_tensor_real(in[1], 0), npl_tensor_real(in[2], 0)));
	return op_output_fits(&out->shape, 1, err);
}

OP_RUN(op_range_run)
{
#define FILL(dtype, type)                                                                                              \
	case dtype:                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                                        \
			((type *)out->data)[i] = (type)((uint64_t)start + (uint64_t)i * (uint64_t)delta);              \
		return 0;
	int64_t n = npl_tensor_count(out), start = op_whole(in[0], 0), delta = op_whole(in[2], 0);
	switch (out->dtype) {
		OP_EACH_INTEGER(FILL)
	default:
		break;
	}
	for (int64_t i = 0; i < n; i++)
		op_store_real(out, i, npl_tensor_real(in[0], 0) + (double)i * npl_tensor_real(in[2], 0));
	return 0;
}
