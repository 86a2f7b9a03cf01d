/* SPDX-License-Identifier: MIT
 *
 * TopK: the k greatest (from opset 11 on, or least) elements along an axis, in order, and their indices. Of equal
 * elements the one with the lower index comes first; NaN is greater than every number. k is an attribute before opset
 * 10, a constant input from then on. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "elements.h"
#include "ops.h"

OP_ATTRS(op_topk_attrs)
{
	bool sorted; /* without it any order is allowed, so the sorted one is used */
	out->topk.largest = true;
	out->topk.k = -1;
	if (op_attr_int(list, "axis", -1, &out->topk.axis, err))
		return NPL_EINPUT;
	if (op_before(out, 10))
		return op_attr_int(list, "k", -1, &out->topk.k, err);
	if (op_before(out, 11))
		return 0;
	return op_attr_flag(list, "largest", true, &out->topk.largest, err) ||
			       op_attr_flag(list, "sorted", true, &sorted, err)
		       ? NPL_EINPUT
		       : 0;
}

OP_SHAPE(op_topk_shape)
{
	bool input = !op_before(attrs, 10);
	if (op_inputs(in, n_in, input ? 2 : 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "the input is %s, expected numbers", npl_dtype_name(in[0]->dtype));
	if (input && (in[1]->dtype != NPL_I64 || op_input_scalar(in[1], "k", err)))
		return in[1]->dtype == NPL_I64
			       ? NPL_EINPUT
			       : npl_fail(err, NPL_EINPUT, "k is %s, expected int64", npl_dtype_name(in[1]->dtype));
	if (input)
		attrs->topk.k = op_whole(in[1], 0);
	struct npl_shape y = in[0]->shape;
	if (op_axis(&attrs->topk.axis, y.rank, y.rank - 1, err))
		return NPL_EINPUT;
	if (attrs->topk.k < 0 || attrs->topk.k > y.dim[attrs->topk.axis])
		return npl_fail(err, NPL_EINPUT, "k is %lld, axis %lld of %s has %lld elements",
				(long long)attrs->topk.k, (long long)attrs->topk.axis, OP_TEXT(&y),
				(long long)y.dim[attrs->topk.axis]);
	attrs->topk.comparisons = 1; /* the logarithm of the number of elements */
	for (int64_t n = y.dim[attrs->topk.axis]; n > 1; n /= 2)
		attrs->topk.comparisons++;
	y.dim[attrs->topk.axis] = attrs->topk.k;
	for (int k = 0; k < n_out; k++) {
		out[k].dtype = k ? NPL_I64 : in[0]->dtype;
		out[k].shape = y;
	}
	return 0;
}

struct entry {
	uint64_t key; /* orders as the elements do: greater first */
	int64_t index;
};

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Returns a number that orders as the element does among those of its type. */
static uint64_t key_of(const struct npl_tensor *x, int64_t i)
{
	const uint64_t top = (uint64_t)1 << 63;
	if (x->dtype == NPL_U64)
		return ((const uint64_t *)x->data)[i];
	if (npl_is_integer(x->dtype))
		return (uint64_t)op_whole(x, i) ^ top;
	double v = npl_tensor_real(x, i);
	uint64_t bits;
	if (v != v)
		return UINT64_MAX;
	v += 0.0; /* -0 and 0 are equal */
	memcpy(&bits, &v, sizeof bits);
	return bits & top ? ~bits : bits | top;
}

OP_RUN(op_topk_run)
{
	const struct npl_shape *x = &in[0]->shape;
	int64_t n = x->dim[attrs->topk.axis], k = attrs->topk.k;
	int64_t inner = op_count(x->dim + attrs->topk.axis + 1, x->rank - 1 - (int)attrs->topk.axis);
	int64_t lines = n ? npl_shape_count(x) / n : 0;
	size_t element = npl_dtype_size(in[0]->dtype);
	struct entry *entry = calloc((size_t)n + 1, sizeof *entry);
	if (!entry)
		return npl_fail(err, NPL_ENOMEM, "out of memory to sort %lld elements", (long long)n);
	for (int64_t line = 0; line < lines && k; line++) {
		int64_t from = line / inner * n * inner + line % inner, to = line / inner * k * inner + line % inner;
		for (int64_t i = 0; i < n; i++) {
			uint64_t key = key_of(in[0], from + i * inner);
			entry[i] = (struct entry){attrs->topk.largest ? key : ~key, i};
		}
		qsort(entry, (size_t)n, sizeof *entry, compare);
		for (int64_t i = 0; i < k; i++) {
			memcpy((char *)out[0].data + (size_t)(to + i * inner) * element,
			       (const char *)in[0]->data + (size_t)(from + entry[i].index * inner) * element, element);
			if (n_out > 1)
				((int64_t *)out[1].data)[to + i * inner] = entry[i].index;
		}
	}
	free(entry);
	return 0;
}
