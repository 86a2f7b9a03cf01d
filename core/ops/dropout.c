/* SPDX-License-Identifier: MIT
 *
 * Dropout in inference, or with a ratio of 0: the input unchanged; the optional mask says that every element was kept
 * (bool from opset 10, the input's type before). Not supported: training, which drops at random. */
#include <string.h>

#include "elements.h"
#include "ops.h"

OP_ATTRS(op_dropout_attrs)
{
	op_attr_accept(list, "ratio");
	op_attr_accept(list, "seed");
	op_attr_accept(list, "is_test"); /* opset 6 and before: training models say 0; npulab runs inference */
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

/* Says whether the ratio is known to be 0. */
static bool is_ratio_zero(const struct npl_tensor *ratio)
{
	if (!ratio || !ratio->data || npl_tensor_count(ratio) != 1)
		return false;
	double value = npl_tensor_real(ratio, 0);
	return value >= 0 && value <= 0;
}

OP_SHAPE(op_dropout_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_tensor *training = n_in > 2 ? in[2] : NULL;
	if (training && (training->dtype != NPL_BOOL || npl_tensor_count(training) != 1))
		return npl_fail(err, NPL_EINPUT, "training_mode is %s %s, expected one bool",
				npl_dtype_name(training->dtype), OP_TEXT(&training->shape));
	if (training && (!training->data || *(const unsigned char *)training->data) && !is_ratio_zero(in[1]))
		return npl_fail(err, NPL_EINPUT,
				"training_mode must be constant and false, or the ratio 0: npulab runs inference");
	for (int i = 0; i < n_out; i++) {
		out[i].dtype = i && !op_before(attrs, 10) ? NPL_BOOL : in[0]->dtype;
		out[i].shape = in[0]->shape;
	}
	if (n_out > 1 && out[1].dtype != NPL_BOOL && out[1].dtype != NPL_F32)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected float32 where a mask is asked for",
				npl_dtype_name(in[0]->dtype));
	return 0;
}

OP_RUN(op_dropout_run)
{
	int64_t count = n_out > 1 ? npl_tensor_count(&out[1]) : 0;
	for (int64_t i = 0; i < count; i++) {
		if (out[1].dtype == NPL_F32)
			((float *)out[1].data)[i] = 1.0f;
		else
			((unsigned char *)out[1].data)[i] = 1;
	}
	return op_copy_bytes(in[0], &out[0]);
}
