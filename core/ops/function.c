/* SPDX-License-Identifier: MIT
 *
 * Sigmoid and Tanh, in double and rounded once, without libm: the same bits everywhere. */
#include "ops.h"

static int function_shape(const struct npl_tensor *const *in, int n_in, struct npl_tensor *out, struct npl_err *err)
{
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	out->dtype = NPL_F32;
	out->shape = in[0]->shape;
	return 0;
}

static void function_run(double (*f)(double), const struct npl_tensor *in, struct npl_tensor *out)
{
	const float *x = in->data;
	float *y = out->data;
	int64_t count = npl_tensor_count(out);
	for (int64_t i = 0; i < count; i++)
		y[i] = (float)f((double)x[i]);
}

int op_sigmoid_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)out;
	(void)err;
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

int op_sigmoid_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		     int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_out;
	return function_shape(in, n_in, out, err);
}

int op_sigmoid_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		   int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_in;
	(void)n_out;
	(void)err;
	function_run(op_logistic, in[0], out);
	return 0;
}

int op_tanh_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)out;
	(void)err;
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

int op_tanh_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		  int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_out;
	return function_shape(in, n_in, out, err);
}

int op_tanh_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_in;
	(void)n_out;
	(void)err;
	function_run(op_tanh, in[0], out);
	return 0;
}
