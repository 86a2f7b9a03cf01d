/* SPDX-License-Identifier: MIT
 *
 * BatchNormalization: y = (x - mean) * (scale / sqrt(variance + epsilon)) + bias, per channel (dimension 1; a
 * one-dimensional input is one channel), or per element of a sample with the spatial=0 of models before opset 9.
 * training_mode=1, from opset 14, takes mean and variance from the batch itself, and gives the running ones. Not
 * supported: training before opset 14, which has up to five outputs (the importer drops those without readers). */
#include <math.h>

#include "ops.h"

enum { SCALE = 1, BIAS, MEAN, VARIANCE, INPUTS };

OP_ATTRS(op_batchnorm_attrs)
{
	bool spatial;
	op_attr_accept(list, "consumed_inputs");
	if (op_before(out, 7))
		op_attr_accept(list, "is_test"); /* a node with one output is inference whatever this attribute says */
	if (op_attr_float(list, "epsilon", 1e-5f, &out->norm.epsilon, err) ||
	    op_attr_float(list, "momentum", 0.9f, &out->norm.momentum, err) ||
	    op_attr_flag(list, "spatial", true, &spatial, err) ||
	    (!op_before(out, 14) && op_attr_flag(list, "training_mode", false, &out->norm.training, err)))
		return NPL_EINPUT;
	if (!spatial && !op_before(out, 9))
		return npl_fail(err, NPL_EINPUT, "spatial=0, statistics per element, ended with opset 9");
	out->norm.per_element = !spatial;
	return 0;
}

/* The vectors with statistics of their own: `images` times `channels` vectors of `plane` elements. */
struct layout {
	int64_t images, channels, plane;
};

static struct layout layout_of(const struct npl_attrs *attrs, const struct npl_shape *x)
{
	if (x->rank == 1)
		return (struct layout){1, 1, x->dim[0]};
	if (attrs->norm.per_element)
		return (struct layout){x->dim[0], op_count(x->dim + 1, x->rank - 1), 1};
	return (struct layout){x->dim[0], x->dim[1], op_count(x->dim + 2, x->rank - 2)};
}

/* Says whether a parameter is one vector or, one element per element, has the shape of a sample. */
static bool parameter_fits(const struct npl_attrs *attrs, const struct npl_shape *x, const struct npl_shape *parameter)
{
	bool sample = attrs->norm.per_element && parameter->rank == x->rank - 1;
	for (int d = 0; d < parameter->rank && sample; d++)
		sample = parameter->dim[d] == x->dim[d + 1];
	return sample || (parameter->rank == 1 && parameter->dim[0] == layout_of(attrs, x).channels);
}

OP_SHAPE(op_batchnorm_shape)
{
	static const char *const names[] = {"input", "scale", "bias", "mean", "variance"};
	if (op_inputs(in, n_in, INPUTS, NPL_F32, err))
		return NPL_EINPUT;
	if (n_out > 1 && !attrs->norm.training)
		return npl_fail(err, NPL_EINPUT,
				"more than one output asks for training, which is supported from opset 14 on, with "
				"training_mode=1");
	if (n_out > 3)
		return npl_fail(err, NPL_EINPUT, "it has %d outputs, since opset 14 there are 3", n_out);
	const struct npl_shape *x = &in[0]->shape;
	if (!x->rank)
		return npl_fail(err, NPL_EINPUT, "the input must not be a scalar");
	for (int i = SCALE; i < INPUTS; i++)
		if (!parameter_fits(attrs, x, &in[i]->shape))
			return npl_fail(err, NPL_EINPUT, "the %s is %s, expected %lld values for the input %s",
					names[i], OP_TEXT(&in[i]->shape), (long long)layout_of(attrs, x).channels,
					OP_TEXT(x));
	for (int k = 0; k < n_out; k++) {
		out[k].dtype = NPL_F32;
		out[k].shape = k ? in[MEAN]->shape : *x;
	}
	return 0;
}

/* Computes mean and population variance of a channel over the batch. */
static void statistics(const struct layout *l, const float *x, int64_t channel, double *mean, double *variance)
{
	double sum = 0, squares = 0, count = (double)l->images * (double)l->plane;
	for (int64_t i = 0; i < l->images; i++)
		for (int64_t p = 0; p < l->plane; p++)
			sum += (double)x[(i * l->channels + channel) * l->plane + p];
	*mean = count > 0 ? sum / count : 0;
	for (int64_t i = 0; i < l->images; i++)
		for (int64_t p = 0; p < l->plane; p++) {
			double difference = (double)x[(i * l->channels + channel) * l->plane + p] - *mean;
			squares += difference * difference;
		}
	*variance = count > 0 ? squares / count : 0;
}

static float running(const struct npl_attrs *attrs, float running_value, double batch_value)
{
	return (float)((double)running_value * (double)attrs->norm.momentum +
		       batch_value * (1 - (double)attrs->norm.momentum));
}

OP_RUN(op_batchnorm_run)
{
	const struct layout l = layout_of(attrs, &in[0]->shape);
	const float *x = in[0]->data, *scale = in[SCALE]->data, *bias = in[BIAS]->data;
	for (int64_t c = 0; c < l.channels; c++) {
		float running_value[] = {((const float *)in[MEAN]->data)[c], ((const float *)in[VARIANCE]->data)[c]};
		double mean = (double)running_value[0], variance = (double)running_value[1];
		if (attrs->norm.training)
			statistics(&l, x, c, &mean, &variance);
		float factor = (float)((double)scale[c] / sqrt(variance + (double)attrs->norm.epsilon));
		float shift = bias[c], centre = (float)mean;
		for (int64_t i = 0; i < l.images; i++) {
			const float *from = x + (i * l.channels + c) * l.plane;
			float *to = (float *)out[0].data + (i * l.channels + c) * l.plane;
			for (int64_t p = 0; p < l.plane; p++)
				to[p] = (from[p] - centre) * factor + shift;
		}
		if (n_out > 1 && out[1].data)
			((float *)out[1].data)[c] = running(attrs, running_value[0], mean);
		if (n_out > 2 && out[2].data)
			((float *)out[2].data)[c] = running(attrs, running_value[1], variance);
	}
	return 0;
}
