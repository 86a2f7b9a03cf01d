/* SPDX-License-Identifier: MIT
 *
 * Add, Mul and Sum with broadcasting, on every numeric type (integers wrap: shape computations that constant folding
 * removes are int64). Before opset 7, Add and Mul broadcast only with the attribute broadcast=1, and then b's
 * dimensions stand at a's from `axis` on; Sum broadcasts from opset 8. */
#include <string.h>

#include "elements.h"
#include "ops.h"

/* y[i] = a[i] OP b[i], each operand advancing by its stride, 0 or 1. */
#define DEFINE_LOOP(name, type, wide, OP)                                                                              \
	static void name(int64_t n, const void *left, int64_t a_step, const void *right, int64_t b_step, void *result) \
	{                                                                                                              \
		const type *a = left, *b = right;                                                                      \
		type *y = result;                                                                                      \
		if (a_step && b_step)                                                                                  \
			for (int64_t i = 0; i < n; i++)                                                                \
				y[i] = (type)((wide)a[i] OP(wide) b[i]);                                               \
		else                                                                                                   \
			for (int64_t i = 0; i < n; i++)                                                                \
				y[i] = (type)((wide)a[i * a_step] OP(wide) b[i * b_step]);                             \
	}
/* Integers are added and multiplied modulo 2^64, then cut to their width: signed overflow wraps. */
#define DEFINE_LOOPS(name, OP)                                                                                         \
	DEFINE_LOOP(name##_float, float, float, OP)                                                                    \
	DEFINE_LOOP(name##_double, double, double, OP)                                                                 \
	DEFINE_LOOP(name##_int8_t, int8_t, uint64_t, OP)                                                               \
	DEFINE_LOOP(name##_uint8_t, uint8_t, uint64_t, OP)                                                             \
	DEFINE_LOOP(name##_int16_t, int16_t, uint64_t, OP)                                                             \
	DEFINE_LOOP(name##_uint16_t, uint16_t, uint64_t, OP)                                                           \
	DEFINE_LOOP(name##_int32_t, int32_t, uint64_t, OP)                                                             \
	DEFINE_LOOP(name##_uint32_t, uint32_t, uint64_t, OP)                                                           \
	DEFINE_LOOP(name##_int64_t, int64_t, uint64_t, OP)                                                             \
	DEFINE_LOOP(name##_uint64_t, uint64_t, uint64_t, OP)
DEFINE_LOOPS(add, +)
DEFINE_LOOPS(mul, *)

struct loops {
	void (*of[NPL_DTYPES])(int64_t n, const void *a, int64_t a_step, const void *b, int64_t b_step, void *y);
};
#define ADD(dtype, type) [dtype] = add_##type,
#define MUL(dtype, type) [dtype] = mul_##type,
static const struct loops add_loops = {{OP_EACH_NUMBER(ADD)}};
static const struct loops mul_loops = {{OP_EACH_NUMBER(MUL)}};

/* out = a OP b, both broadcast to out's shape; a may be out itself. */
static void apply(const struct loops *loops, const struct npl_shape *a_shape, const void *a,
		  const struct npl_shape *b_shape, const void *b, const struct npl_tensor *out)
{
	struct op_walk walk;
	op_walk_init(&walk, &out->shape, a_shape, b_shape);
	int64_t index[NPL_MAX_RANK] = {0}, a_at = 0, b_at = 0, last = walk.rank - 1;
	int64_t element = (int64_t)npl_dtype_size(out->dtype);
	char *y = out->data;
	if (npl_tensor_count(out) == 0)
		return;
	do {
		loops->of[out->dtype](walk.dim[last], (const char *)a + a_at * element, walk.a[last],
				      (const char *)b + b_at * element, walk.b[last], y);
		y += walk.dim[last] * element;
	} while (op_walk_next(&walk, 1, index, &a_at, &b_at));
}

static int check_types(const struct npl_tensor *const *in, int n_in, int required, struct npl_err *err)
{
	if (op_inputs(in, n_in, required, NPL_DTYPES, err) || op_inputs(in, n_in, required, in[0]->dtype, err))
		return NPL_EINPUT;
	if (!add_loops.of[in[0]->dtype])
		return npl_fail(err, NPL_EINPUT, "inputs are %s, expected numbers", npl_dtype_name(in[0]->dtype));
	return 0;
}

static int binary_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	out->axis = -1;
	out->legacy_broadcast = false;
	if (!op_before(out, 7))
		return 0;
	op_attr_accept(list, "consumed_inputs"); /* a hint for running in place, gone with opset 6 */
	if (op_attr_flag(list, "broadcast", false, &out->legacy_broadcast, err))
		return NPL_EINPUT;
	return op_attr_int(list, "axis", -1, &out->axis, err);
}

/* b as it broadcasts: before opset 7 its dimensions are put at a's from axis on (-1: the last ones meet). */
static struct npl_shape right_shape(const struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b)
{
	if (!attrs->legacy_broadcast || attrs->axis < 0 || b->rank >= a->rank)
		return *b;
	struct npl_shape placed = {.rank = a->rank};
	for (int i = 0; i < a->rank; i++) {
		int64_t from = i - attrs->axis;
		placed.dim[i] = from >= 0 && from < b->rank ? b->dim[from] : 1;
	}
	return placed;
}

static int legacy_shape(const struct npl_attrs *attrs, const struct npl_shape *a, const struct npl_shape *b,
			struct npl_err *err)
{
	if (!attrs->legacy_broadcast && !npl_shape_equal(a, b))
		return npl_fail(err, NPL_EINPUT, "the shapes %s and %s differ and the attribute broadcast is not set",
				OP_TEXT(a), OP_TEXT(b));
	if (attrs->axis < -1 || attrs->axis > a->rank - b->rank)
		return npl_fail(err, NPL_EINPUT, "axis %lld does not place %s within %s", (long long)attrs->axis,
				OP_TEXT(b), OP_TEXT(a));
	struct npl_shape placed = right_shape(attrs, a, b), joint;
	if (op_broadcast_shape(a, &placed, &joint, err))
		return NPL_EINPUT;
	if (!npl_shape_equal(a, &joint))
		return npl_fail(err, NPL_EINPUT, "%s does not broadcast to %s", OP_TEXT(b), OP_TEXT(a));
	return 0;
}

static int binary_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
			struct npl_err *err)
{
	if (check_types(in, n_in, 2, err))
		return NPL_EINPUT;
	const struct npl_shape *a = &in[0]->shape, *b = &in[1]->shape;
	out->dtype = in[0]->dtype;
	if (!op_before(attrs, 7))
		return op_broadcast_shape(a, b, &out->shape, err);
	if (legacy_shape(attrs, a, b, err))
		return NPL_EINPUT;
	if (attrs->axis < 0)
		attrs->axis = a->rank - b->rank;
	out->shape = *a;
	return 0;
}

static void binary_run(const struct loops *loops, const struct npl_attrs *attrs, const struct npl_tensor *const *in,
		       struct npl_tensor *out)
{
	struct npl_shape b = right_shape(attrs, &in[0]->shape, &in[1]->shape);
	apply(loops, &in[0]->shape, in[0]->data, &b, in[1]->data, out);
}

int op_add_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	return binary_attrs(list, out, err);
}

int op_add_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		 int n_out, struct npl_err *err)
{
	(void)n_out;
	return binary_shape(attrs, in, n_in, out, err);
}

int op_add_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
	       int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	binary_run(&add_loops, attrs, in, out);
	return 0;
}

int op_mul_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	return binary_attrs(list, out, err);
}

int op_mul_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		 int n_out, struct npl_err *err)
{
	(void)n_out;
	return binary_shape(attrs, in, n_in, out, err);
}

int op_mul_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
	       int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	binary_run(&mul_loops, attrs, in, out);
	return 0;
}

int op_sum_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	(void)out;
	(void)err;
	op_attr_accept(list, "consumed_inputs");
	return 0;
}

int op_sum_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		 int n_out, struct npl_err *err)
{
	(void)n_out;
	if (check_types(in, n_in, n_in > 1 ? n_in : 1, err))
		return NPL_EINPUT;
	struct npl_shape joint = in[0]->shape;
	for (int i = 1; i < n_in; i++) {
		if (op_before(attrs, 8) && !npl_shape_equal(&joint, &in[i]->shape))
			return npl_fail(err, NPL_EINPUT,
					"the shapes %s and %s differ, and Sum broadcasts only from opset 8",
					OP_TEXT(&joint), OP_TEXT(&in[i]->shape));
		struct npl_shape so_far = joint;
		if (op_broadcast_shape(&so_far, &in[i]->shape, &joint, err))
			return NPL_EINPUT;
	}
	out->dtype = in[0]->dtype;
	out->shape = joint;
	return 0;
}

int op_sum_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
	       int n_out, struct npl_err *err)
{
	(void)attrs;
	(void)n_out;
	(void)err;
	if (n_in == 1)
		return op_copy_bytes(in[0], out);
	apply(&add_loops, &in[0]->shape, in[0]->data, &in[1]->shape, in[1]->data, out);
	for (int i = 2; i < n_in; i++)
		apply(&add_loops, &out->shape, out->data, &in[i]->shape, in[i]->data, out);
	return 0;
}
