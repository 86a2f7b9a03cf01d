/* SPDX-License-Identifier: MIT
 *
 * Einsum: the sum over products of elements of the operands whose indices carry the same letters. A product of two
 * float matrices, or a stack of them, goes to the matrix product and has its sums in float; every other equation is
 * computed by plain loops over all letters, floats in double and integers modulo 2^64. */
#include "einsum.h"
#include "elements.h"

OP_ATTRS(op_einsum_attrs)
{
	if (op_attr_string(list, "equation", NULL, &out->einsum.equation, err))
		return NPL_EINPUT;
	return out->einsum.equation ? 0 : npl_fail(err, NPL_EINPUT, "the attribute equation is missing");
}

/* Returns the multiply-accumulates per element of the output; negative when they are too many to count. */
static int64_t macs_per_element(const struct einsum *e)
{
	int64_t macs = e->n > 1 ? e->n - 1 : 0;
	for (int k = 0; k < e->n_sums; k++)
		if (__builtin_mul_overflow(macs, e->size[e->sum[k]], &macs))
			return -1;
	return macs;
}

OP_SHAPE(op_einsum_shape)
{
	struct einsum e;
	int required = n_in > 1 ? n_in : 1;
	if (op_inputs(in, n_in, required, NPL_DTYPES, err) || op_inputs(in, n_in, required, in[0]->dtype, err))
		return NPL_EINPUT;
	if (!op_is_number(in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "inputs are %s, expected numbers", npl_dtype_name(in[0]->dtype));
	if (einsum_parse(attrs->einsum.equation, in, n_in, &e, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = (struct npl_shape){.rank = e.out_rank};
	for (int d = 0; d < e.out_rank; d++)
		out->shape.dim[d] = e.size[e.out[d]];
	int64_t macs = macs_per_element(&e);
	return macs < 0 ? npl_fail(err, NPL_EINPUT, "the equation '%s' is too much work to count",
				   attrs->einsum.equation)
			: op_output_fits(&out->shape, macs, err);
}

OP_MACS(op_einsum_macs)
{
	struct einsum e;
	struct npl_err err;
	if (einsum_parse(attrs->einsum.equation, in, n_in, &e, &err))
		return 0;
	return (uint64_t)npl_tensor_count(out) * (uint64_t)macs_per_element(&e);
}

/* All labels that are summed over, with the step of each operand; sizes of 1 and of 0 included. */
struct sums {
	int n, operands;
	int64_t size[EINSUM_LABELS];
	int64_t step[EINSUM_LABELS][EINSUM_OPERANDS];
};

static void advance_all(int64_t *at, const int64_t *step, int operands, int64_t count)
{
	for (int k = 0; k < operands; k++)
		at[k] += count * step[k];
}

/* Returns the sum of the products of one output element, whose operands begin at `at`; `at` is restored at the end. */
#define DEFINE_SUM(type, wide)                                                                                         \
	static type sum_##type(const struct sums *s, const struct npl_tensor *const *in, int64_t *at)                  \
	{                                                                                                              \
		int64_t index[EINSUM_LABELS] = {0};                                                                    \
		wide sum = 0;                                                                                          \
		for (int d = 0; d < s->n; d++)                                                                         \
			if (!s->size[d])                                                                               \
				return 0;                                                                              \
		for (int d = 0; d >= 0;) {                                                                             \
			wide product = 1;                                                                              \
			for (int k = 0; k < s->operands; k++)                                                          \
				product *= (wide)((const type *)in[k]->data)[at[k]];                                   \
			sum += product;                                                                                \
			for (d = s->n - 1; d >= 0; d--) {                                                              \
				advance_all(at, s->step[d], s->operands, 1);                                           \
				if (++index[d] < s->size[d])                                                           \
					break;                                                                         \
				advance_all(at, s->step[d], s->operands, -s->size[d]);                                 \
				index[d] = 0;                                                                          \
			}                                                                                              \
		}                                                                                                      \
		return (type)sum;                                                                                      \
	}
#define DEFINE_INTEGER_SUM(dtype, type) DEFINE_SUM(type, uint64_t)
DEFINE_SUM(float, double)
DEFINE_SUM(double, double)
OP_EACH_INTEGER(DEFINE_INTEGER_SUM)

static void sum_all(const struct einsum *e, const struct npl_tensor *const *in, struct npl_tensor *out)
{
#define SUM(dtype, type)                                                                                               \
	case dtype:                                                                                                    \
		((type *)out->data)[i] = sum_##type(&s, in, at);                                                       \
		break;
	struct sums s = {.n = e->n_sums, .operands = e->n};
	int64_t step[NPL_MAX_RANK][EINSUM_OPERANDS] = {{0}}, position[NPL_MAX_RANK] = {0}, at[EINSUM_OPERANDS] = {0};
	int64_t count = npl_tensor_count(out);
	for (int k = 0; k < e->n; k++) {
		for (int d = 0; d < s.n; d++)
			s.step[d][k] = einsum_stride(e, k, e->sum[d]);
		for (int d = 0; d < e->out_rank; d++)
			step[d][k] = einsum_stride(e, k, e->out[d]);
	}
	for (int d = 0; d < s.n; d++)
		s.size[d] = e->size[e->sum[d]];
	for (int64_t i = 0; i < count; i++) {
		switch (out->dtype) {
			OP_EACH_NUMBER(SUM)
		default:
			break;
		}
		for (int d = e->out_rank - 1; d >= 0; d--) {
			advance_all(at, step[d], e->n, 1);
			if (++position[d] < out->shape.dim[d])
				break;
			advance_all(at, step[d], e->n, -out->shape.dim[d]);
			position[d] = 0;
		}
	}
}

OP_RUN(op_einsum_run)
{
	struct einsum e;
	bool is_done;
	if (einsum_parse(attrs->einsum.equation, in, n_in, &e, err))
		return NPL_EINTERNAL;
	int rc = einsum_product(&e, in, out, &is_done, err);
	if (!rc && !is_done)
		sum_all(&e, in, out);
	return rc;
}
