/* SPDX-License-Identifier: MIT
 *
 * The operators of two operands with broadcasting: Add, Sub, Mul, Div, Mod, BitShift, the comparisons and the logical
 * ones. Integers are exact and wrap: shape computations that constant folding removes are int64. Before opset 7 they
 * broadcast only with the attribute broadcast=1; b's dimensions then meet a's from `axis` on. */
#include "loops.h"
#include "ops.h"

static const struct {
	const struct op_loops *loops, *variant_loops; /* variant_loops: Mod with fmod=1, BitShift to the left */
	const char *expected_types;
	bool answers; /* the result is bool */
} binary[NPL_OPS] = {
	[NPL_OP_ADD] = {&op_add_loops, NULL, "numbers", false},
	[NPL_OP_SUB] = {&op_sub_loops, NULL, "numbers", false},
	[NPL_OP_MUL] = {&op_mul_loops, NULL, "numbers", false},
	[NPL_OP_DIV] = {&op_div_loops, NULL, "numbers", false},
	[NPL_OP_MOD] = {&op_mod_loops, &op_fmod_loops, "integers, or numbers with fmod=1", false},
	[NPL_OP_BITSHIFT] = {&op_shift_right_loops, &op_shift_left_loops, "unsigned integers", false},
	[NPL_OP_BITWISEAND] = {&op_bits_and_loops, NULL, "integers", false},
	[NPL_OP_BITWISEOR] = {&op_bits_or_loops, NULL, "integers", false},
	[NPL_OP_BITWISEXOR] = {&op_bits_xor_loops, NULL, "integers", false},
	[NPL_OP_EQUAL] = {&op_equal_loops, NULL, "numbers or bool", true},
	[NPL_OP_LESS] = {&op_less_loops, NULL, "numbers", true},
	[NPL_OP_LESSOREQUAL] = {&op_less_equal_loops, NULL, "numbers", true},
	[NPL_OP_GREATER] = {&op_greater_loops, NULL, "numbers", true},
	[NPL_OP_GREATEROREQUAL] = {&op_greater_equal_loops, NULL, "numbers", true},
	[NPL_OP_AND] = {&op_and_loops, NULL, "bool", true},
	[NPL_OP_OR] = {&op_or_loops, NULL, "bool", true},
	[NPL_OP_XOR] = {&op_xor_loops, NULL, "bool", true},
};

void op_apply(const struct op_loops *loops, enum npl_dtype dtype, const struct npl_shape *a_shape, const void *a,
	      const struct npl_shape *b_shape, const void *b, const struct npl_tensor *out)
{
	struct op_walk walk;
	op_walk_init(&walk, &out->shape, a_shape, b_shape);
	int64_t index[NPL_MAX_RANK] = {0}, a_at = 0, b_at = 0, last = walk.rank - 1;
	int64_t element = (int64_t)npl_dtype_size(dtype), result = (int64_t)npl_dtype_size(out->dtype);
	char *y = out->data;
	if (npl_tensor_count(out) == 0)
		return;
	/* The loops let one operand of a line repeat. Where both repeat, since a third operand does not, a line is one
	 * element. */
	const bool lines = walk.a[last] || walk.b[last];
	const int64_t n = lines ? walk.dim[last] : 1;
	do {
		loops->by_dtype[dtype](n, (const char *)a + a_at * element, walk.a[last],
				       (const char *)b + b_at * element, walk.b[last], y);
		y += n * result;
	} while (op_walk_next(&walk, lines, index, &a_at, &b_at));
}

static const struct op_loops *loops_of(const struct npl_attrs *attrs)
{
	bool is_variant = attrs->op == NPL_OP_MOD ? attrs->binary.fmod
						  : attrs->op == NPL_OP_BITSHIFT && attrs->binary.to_left;
	return is_variant ? binary[attrs->op].variant_loops : binary[attrs->op].loops;
}

static int shift_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	static const char *const directions[] = {"RIGHT", "LEFT", NULL};
	struct npl_attr *attr;
	unsigned direction;
	if (op_attr_find(list, "direction", NPL_ATTR_STRING, &attr, err))
		return NPL_EINPUT;
	if (!attr)
		return npl_fail(err, NPL_EINPUT, "the attribute direction is missing");
	if (op_attr_choice(list, "direction", directions, 0, &direction, err))
		return NPL_EINPUT;
	out->binary.to_left = direction;
	return 0;
}

OP_ATTRS(op_binary_attrs)
{
	out->binary.axis = -1;
	if (out->op == NPL_OP_MOD && op_attr_flag(list, "fmod", false, &out->binary.fmod, err))
		return NPL_EINPUT;
	if (out->op == NPL_OP_BITSHIFT && shift_attrs(list, out, err))
		return NPL_EINPUT;
	if (!op_before(out, 7))
		return 0;
	op_attr_accept(list, "consumed_inputs"); /* a hint for running in place, gone with opset 6 */
	if (op_attr_flag(list, "broadcast", false, &out->binary.legacy_broadcast, err))
		return NPL_EINPUT;
	return op_attr_int(list, "axis", -1, &out->binary.axis, err);
}

struct npl_shape op_legacy_operand(const struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b)
{
	if (!attrs->binary.legacy_broadcast || attrs->binary.axis < 0 || b->rank >= a->rank)
		return *b;
	struct npl_shape b_shape = {.rank = a->rank};
	for (int i = 0; i < a->rank; i++) {
		int64_t from = i - attrs->binary.axis;
		b_shape.dim[i] = from >= 0 && from < b->rank ? b->dim[from] : 1;
	}
	return b_shape;
}

int op_broadcast_to(const struct npl_shape *b, const struct npl_shape *b_shape, const struct npl_shape *a,
		    struct npl_err *err)
{
	struct npl_shape common;
	if (op_broadcast_shape(a, b_shape, &common, err))
		return NPL_EINPUT;
	if (!npl_shape_equal(a, &common))
		return npl_fail(err, NPL_EINPUT, "%s does not broadcast to %s", OP_TEXT(b), OP_TEXT(a));
	return 0;
}

static int legacy_shape(struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b,
			struct npl_err *err)
{
	if (!attrs->binary.legacy_broadcast && !npl_shape_equal(a, b))
		return npl_fail(err, NPL_EINPUT, "the shapes %s and %s differ and the attribute broadcast is not set",
				OP_TEXT(a), OP_TEXT(b));
	if (attrs->binary.axis < -1 || attrs->binary.axis > a->rank - b->rank)
		return npl_fail(err, NPL_EINPUT, "axis %lld does not place %s within %s", (long long)attrs->binary.axis,
				OP_TEXT(b), OP_TEXT(a));
	struct npl_shape b_shape = op_legacy_operand(attrs, a, b);
	if (op_broadcast_to(b, &b_shape, a, err))
		return NPL_EINPUT;
	if (attrs->binary.axis < 0)
		attrs->binary.axis = a->rank - b->rank;
	return 0;
}

int op_binary_broadcast(struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b,
			struct npl_shape *out, struct npl_err *err)
{
	if (!op_before(attrs, 7))
		return op_broadcast_shape(a, b, out, err);
	if (legacy_shape(attrs, a, b, err))
		return NPL_EINPUT;
	*out = *a;
	return 0;
}

OP_SHAPE(op_binary_shape)
{
	if (op_inputs(in, n_in, 2, NPL_DTYPES, err) || op_inputs(in, n_in, 2, in[0]->dtype, err))
		return NPL_EINPUT;
	if (!loops_of(attrs)->by_dtype[in[0]->dtype])
		return npl_fail(err, NPL_EINPUT, "inputs are %s, expected %s", npl_dtype_name(in[0]->dtype),
				binary[attrs->op].expected_types);
	out->dtype = binary[attrs->op].answers ? NPL_BOOL : in[0]->dtype;
	return op_binary_broadcast(attrs, &in[0]->shape, &in[1]->shape, &out->shape, err);
}

OP_RUN(op_binary_run)
{
	struct npl_shape b = op_legacy_operand(attrs, &in[0]->shape, &in[1]->shape);
	op_apply(loops_of(attrs), in[0]->dtype, &in[0]->shape, in[0]->data, &b, in[1]->data, out);
	return 0;
}
