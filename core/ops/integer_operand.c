/* SPDX-License-Identifier: MIT
 *
 * Operands, sums and results of the integer products (integer_operand.h). */
#include "integer_operand.h"

#include <math.h>

#include "core/base/dtype.h"
#include "elements.h"

const struct npl_integer_inputs *npl_integer_inputs_of(enum npl_op op)
{
	static const struct npl_integer_inputs raw = {0, -1, 2, 1, -1, 3, -1, -1, -1},
					       matmul = {0, 1, 2, 3, 4, 5, 6, 7, -1},
					       conv = {0, 1, 2, 3, 4, 5, 6, 7, 8};
	switch (op) {
	case NPL_OP_QLINEARCONV:
		return &conv;
	case NPL_OP_QLINEARMATMUL:
		return &matmul;
	case NPL_OP_CONVINTEGER:
	case NPL_OP_MATMULINTEGER:
		return &raw;
	default:
		return NULL;
	}
}

const struct npl_tensor *op_integer_input(const struct npl_tensor *const *in, int n_in, int k)
{
	return k >= 0 && k < n_in ? in[k] : NULL;
}

static int check_operand(const struct npl_tensor *x, const char *operand_name, struct npl_err *err)
{
	if (npl_is_byte(x->dtype))
		return 0;
	return npl_fail(err, NPL_EINPUT, "%s is %s, expected uint8 or int8", operand_name, npl_dtype_name(x->dtype));
}

static int check_parameter(const struct npl_tensor *p, enum npl_dtype dtype, int64_t parts, const char *operand_name,
			   struct npl_err *err)
{
	if (!p)
		return 0;
	int64_t count = npl_tensor_count(p);
	if (p->dtype != dtype)
		return npl_fail(err, NPL_EINPUT, "%s is %s, expected %s", operand_name, npl_dtype_name(p->dtype),
				npl_dtype_name(dtype));
	if (p->shape.rank > 1 || (count != 1 && count != parts))
		return npl_fail(err, NPL_EINPUT, "%s is %s, expected a scalar or %lld values", operand_name,
				OP_TEXT(&p->shape), (long long)parts);
	return 0;
}

int op_integer_check(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, int64_t a_parts,
		     int64_t b_parts, struct npl_err *err)
{
	const struct npl_integer_inputs *integer_inputs = npl_integer_inputs_of(attrs->op);
	const struct npl_tensor *a = in[integer_inputs->a], *b = in[integer_inputs->b],
				*y_zero = op_integer_input(in, n_in, integer_inputs->y_zero);
	if (check_operand(a, "the first operand", err) || check_operand(b, "the second operand", err) ||
	    (y_zero && check_operand(y_zero, "the output's zero point", err)))
		return NPL_EINPUT;
	const struct {
		int input;
		enum npl_dtype dtype;
		int64_t parts;
		const char *operand_name;
	} parameter[] = {{integer_inputs->a_scale, NPL_F32, a_parts, "the first operand's scale"},
			 {integer_inputs->a_zero, a->dtype, a_parts, "the first operand's zero point"},
			 {integer_inputs->b_scale, NPL_F32, b_parts, "the second operand's scale"},
			 {integer_inputs->b_zero, b->dtype, b_parts, "the second operand's zero point"},
			 {integer_inputs->y_scale, NPL_F32, 1, "the output's scale"},
			 {integer_inputs->y_zero, y_zero ? y_zero->dtype : NPL_U8, 1, "the output's zero point"},
			 {integer_inputs->bias, NPL_I32, b_parts, "the bias"}};
	for (size_t i = 0; i < sizeof parameter / sizeof *parameter; i++)
		if (check_parameter(op_integer_input(in, n_in, parameter[i].input), parameter[i].dtype,
				    parameter[i].parts, parameter[i].operand_name, err))
			return NPL_EINPUT;
	return 0;
}

static int64_t element(const struct npl_tensor *p, int64_t i)
{
	return npl_tensor_count(p) == 1 ? 0 : i;
}

int32_t op_integer_zero(const struct npl_tensor *zero, int64_t i)
{
	return zero ? (int32_t)op_whole(zero, element(zero, i)) : 0;
}

float op_integer_scale(const struct npl_tensor *scale, int64_t i)
{
	return scale ? ((const float *)scale->data)[element(scale, i)] : 1.0f;
}

int32_t op_integer_dot(const int16_t *a, const int16_t *b, int64_t n)
{
	uint32_t sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += (uint32_t)(a[i] * b[i]);
	return (int32_t)sum;
}

void op_integer_store(struct npl_tensor *out, int64_t i, int32_t sum, float scale, int32_t y_zero)
{
	if (out->dtype == NPL_I32) {
		((int32_t *)out->data)[i] = sum;
		return;
	}
	const float low = (float)npl_dtype_min(out->dtype), high = (float)npl_dtype_max(out->dtype);
	float y = rintf((float)sum * scale) + (float)y_zero;
	y = y > low ? y < high ? y : high : low;
	if (out->dtype == NPL_U8)
		((uint8_t *)out->data)[i] = (uint8_t)y;
	else
		((int8_t *)out->data)[i] = (int8_t)y;
}
