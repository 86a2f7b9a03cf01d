/* SPDX-License-Identifier: MIT
 *
 * BatchNormalization in inference: y = (x - mean) * (scale / sqrt(variance + epsilon)) + bias, per channel (dimension
 * 1; a one-dimensional input is one channel). Not here: training mode, and the statistics per element that
 * spatial=0 asked for before opset 9. */
#include <math.h>

#include "ops.h"

int op_batchnorm_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	bool spatial, training;
	op_attr_accept(list, "momentum"); /* training only */
	op_attr_accept(list, "consumed_inputs");
	if (op_before(out, 7))
		op_attr_accept(list, "is_test"); /* a node with one output is inference whatever this says */
	if (op_attr_float(list, "epsilon", 1e-5f, &out->epsilon, err) ||
	    op_attr_flag(list, "spatial", true, &spatial, err) ||
	    op_attr_flag(list, "training_mode", false, &training, err))
		return NPL_EINPUT;
	if (!spatial)
		return npl_fail(err, NPL_EINPUT, "spatial=0, statistics per element, is not supported");
	if (training)
		return npl_fail(err, NPL_EINPUT, "training_mode=1 is not supported: npulab runs inference");
	return 0;
}

int op_batchnorm_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		       int n_out, struct npl_err *err)
{
	static const char *const names[] = {"input", "scale", "bias", "mean", "variance"};
	(void)attrs;
	if (op_inputs(in, n_in, 5, NPL_F32, err))
		return NPL_EINPUT;
	if (n_out > 1)
		return npl_fail(err, NPL_EINPUT, "more than one output asks for training, which is not supported");
	const struct npl_shape *x = &in[0]->shape;
	if (!x->rank)
		return npl_fail(err, NPL_EINPUT, "the input must not be a scalar");
	int64_t channels = x->rank == 1 ? 1 : x->dim[1];
	for (int i = 1; i < 5; i++)
		if (in[i]->shape.rank != 1 || in[i]->shape.dim[0] != channels)
			return npl_fail(err, NPL_EINPUT, "the %s is %s, expected %lld values for the input %s",
					names[i], OP_TEXT(&in[i]->shape), (long long)channels, OP_TEXT(x));
	out->dtype = NPL_F32;
	out->shape = *x;
	return 0;
}

int op_batchnorm_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		     struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	const struct npl_shape *shape = &in[0]->shape;
	int64_t channels = shape->rank == 1 ? 1 : shape->dim[1];
	int64_t images = shape->rank == 1 ? 1 : shape->dim[0];
	int64_t plane = shape->rank == 1 ? shape->dim[0] : op_count(shape->dim + 2, shape->rank - 2);
	const float *x = in[0]->data, *scale = in[1]->data, *bias = in[2]->data, *mean = in[3]->data;
	const float *variance = in[4]->data;
	float *y = out->data;
	for (int64_t i = 0; i < images; i++)
		for (int64_t c = 0; c < channels; c++) {
			float factor = (float)((double)scale[c] / sqrt((double)variance[c] + (double)attrs->epsilon));
			float shift = bias[c], centre = mean[c];
			for (int64_t p = 0; p < plane; p++)
				y[p] = (x[p] - centre) * factor + shift;
			x += plane;
			y += plane;
		}
	return 0;
}
