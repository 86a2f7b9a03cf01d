/* SPDX-License-Identifier: MIT
 *
 * Reshape: the same values in another shape, from a constant input (opset 5 on) or an attribute (before). 0 keeps the
 * input's dimension unless allowzero is set, one -1 takes what is left. */
#include <stdio.h>

#include "core/base/message.h"
#include "ops.h"

OP_ATTRS(op_reshape_attrs)
{
	if (!op_before(out, 5))
		return op_attr_flag(list, "allowzero", false, &out->reshape.allow_zero, err);
	op_attr_accept(list, "consumed_inputs");
	if (op_attr_ints(list, "shape", NPL_MAX_RANK, out->reshape.shape, &out->reshape.rank, err))
		return NPL_EINPUT;
	return out->reshape.rank < 0 ? npl_fail(err, NPL_EINPUT, "the attribute shape is missing") : 0;
}

/* Writes the list that was asked for as a message shows it, "[0, -1]". Returns buf. */
static const char *list_text(const int64_t *list, int n, char *buf, size_t size)
{
	snprintf(buf, size, "[");
	for (int i = 0; i < n; i++)
		npl_append(buf, size, "", i ? ", %lld" : "%lld", (long long)list[i]);
	npl_append(buf, size, "", "]");
	return buf;
}

OP_SHAPE(op_reshape_shape)
{
	char text[256];
	if (op_inputs(in, n_in, op_before(attrs, 5) ? 1 : 2, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!op_before(attrs, 5) && op_input_dims(in[1], "shape", attrs->reshape.shape, &attrs->reshape.rank, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	struct npl_shape y = {.rank = attrs->reshape.rank};
	list_text(attrs->reshape.shape, attrs->reshape.rank, text, sizeof text);
	int inferred = -1;
	bool zero = false;
	for (int i = 0; i < y.rank; i++) {
		y.dim[i] = attrs->reshape.shape[i];
		if (y.dim[i] == 0 && !attrs->reshape.allow_zero) {
			if (i >= x->rank)
				return npl_fail(err, NPL_EINPUT,
						"%s keeps dimension %d of the input %s, which has none", text, i,
						OP_TEXT(x));
			y.dim[i] = x->dim[i];
		}
		zero |= attrs->reshape.shape[i] == 0;
		if (y.dim[i] < -1 || (y.dim[i] == -1 && inferred >= 0))
			return npl_fail(err, NPL_EINPUT,
					"%s is not a shape: at most one -1, no other negative dimension", text);
		if (y.dim[i] == -1) {
			inferred = i;
			y.dim[i] = 1;
		}
	}
	if (inferred >= 0 && zero && attrs->reshape.allow_zero)
		return npl_fail(err, NPL_EINPUT, "%s has a 0 and a -1, which allowzero=1 forbids", text);
	int64_t count = npl_shape_count(&y), input_count = npl_shape_count(x);
	if (inferred >= 0 && count > 0 && input_count % count == 0) {
		y.dim[inferred] = input_count / count;
		count = input_count;
	}
	if (count != input_count || (inferred >= 0 && count == 0 && y.dim[inferred] == 1))
		return npl_fail(err, NPL_EINPUT, "the input %s does not reshape to %s", OP_TEXT(x), text);
	out->dtype = in[0]->dtype;
	out->shape = y;
	return 0;
}

OP_RUN(op_reshape_run)
{
	return op_copy_bytes(in[0], out);
}
