/* SPDX-License-Identifier: MIT
 *
 * Promises: Slice takes the elements that ONNX's rule names, whatever the starts, ends, axes and steps and in both forms of
 * the operator; Split's parts joined again are the whole; both for every type. */
#include "ops_support.h"

#define SEED 0x5eed3001u

static struct npl_shape random_shape(uint64_t *seed, int least_rank, int most_rank, int64_t least)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, least_rank, most_rank)};
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = test_range(seed, least, 6);
	return shape;
}

/* Positions taken of a dimension, by walking. */
static int walk(int64_t start, int64_t end, int64_t step, int64_t size, int64_t *position)
{
	int n = 0;
	start = start < 0 ? start + size : start;
	end = end < 0 ? end + size : end;
	if (step > 0)
		for (int64_t p = start < 0 ? 0 : start; p < end && p < size; p += step)
			position[n++] = p;
	else
		for (int64_t p = start >= size ? size - 1 : start; p > end && p >= 0; p += step)
			position[n++] = p;
	return n;
}

struct slices {
	int n;
	int64_t start[5], end[5], axis[5], step[5];
	int64_t position[5][8]; /* by dimension */
	int taken[5];
};

static void draw_slices(uint64_t *seed, const struct npl_shape *shape, bool steps, struct slices *s)
{
	int64_t order[5] = {0, 1, 2, 3, 4};
	s->n = (int)test_range(seed, shape->rank ? 1 : 0, shape->rank);
	for (int d = 0; d < shape->rank; d++)
		s->taken[d] = walk(0, shape->dim[d], 1, shape->dim[d], s->position[d]);
	for (int i = 0; i < s->n; i++) {
		int pick = (int)test_range(seed, i, shape->rank - 1);
		int64_t axis = order[pick], size = shape->dim[axis];
		order[pick] = order[i];
		s->axis[i] = test_range(seed, 0, 1) ? axis : axis - shape->rank;
		s->step[i] = steps ? test_range(seed, 0, 1) ? test_range(seed, 1, 3) : -test_range(seed, 1, 3) : 1;
		s->start[i] = test_range(seed, -size - 2, size + 2);
		s->end[i] = test_range(seed, -size - 2, size + 2);
		if (test_range(seed, 0, 5) == 0) /* as exporters write "to the end" */
			s->end[i] = s->step[i] > 0 ? INT64_MAX : -1000000;
		s->taken[axis] = walk(s->start[i], s->end[i], s->step[i], size, s->position[axis]);
	}
}

static void check_slice(const struct npl_tensor *x, const struct npl_tensor *out, const struct slices *s, int number)
{
	size_t element = npl_dtype_size(x->dtype);
	cr_assert(out->dtype == x->dtype && out->shape.rank == x->shape.rank);
	for (int d = 0; d < x->shape.rank; d++)
		cr_assert_eq(out->shape.dim[d], s->taken[d], "case %d: dimension %d has %d, expected %d, seed %u",
			     number, d, (int)out->shape.dim[d], s->taken[d], SEED);
	for (int64_t e = 0; e < npl_tensor_count(out); e++) {
		int64_t index[NPL_MAX_RANK], at = 0;
		test_unravel(&out->shape, e, index);
		for (int d = 0; d < x->shape.rank; d++)
			at = at * x->shape.dim[d] + s->position[d][index[d]];
		cr_assert_arr_eq((const char *)out->data + (size_t)e * element,
				 (const char *)x->data + (size_t)at * element, element, "case %d, element %d, seed %u",
				 number, (int)e, SEED);
	}
}

/* A list as a constant input: int64, or int32 when narrow. */
static struct npl_tensor list_tensor(const int64_t *values, int n, bool narrow, int32_t *room)
{
	for (int i = 0; i < n; i++)
		room[i] = (int32_t)(values[i] > INT32_MAX ? INT32_MAX : values[i]);
	return (struct npl_tensor){.dtype = narrow ? NPL_I32 : NPL_I64,
				   .shape = npl_shape_of(1, n),
				   .data = narrow ? (void *)room : (void *)values};
}

Test(ops_slice, slices)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I8, NPL_I16, NPL_I32, NPL_I64, NPL_BOOL};
	uint64_t seed = SEED;
	for (int i = 0; i < 2000; i++) {
		struct npl_tensor x = test_random_tensor(&seed, types[i % 7], random_shape(&seed, 0, 5, 0));
		struct slices s = {0};
		bool old = i & 1, narrow = test_range(&seed, 0, 1);
		draw_slices(&seed, &x.shape, !old, &s);
		struct npl_attr attr[] = {{.name = "starts", .type = NPL_ATTR_INTS, .ints = s.start, .n = s.n},
					  {.name = "ends", .type = NPL_ATTR_INTS, .ints = s.end, .n = s.n},
					  {.name = "axes", .type = NPL_ATTR_INTS, .ints = s.axis, .n = s.n}};
		struct npl_attr_list list = {attr, old ? 3 : 0};
		struct npl_attrs attrs = {.opset = old ? 9 : 13};
		struct npl_err err = {0};
		int32_t room[4][5];
		struct npl_tensor lists[] = {
			list_tensor(s.start, s.n, narrow, room[0]), list_tensor(s.end, s.n, narrow, room[1]),
			list_tensor(s.axis, s.n, narrow, room[2]), list_tensor(s.step, s.n, narrow, room[3])};
		const struct npl_tensor *in[] = {&x, &lists[0], &lists[1], &lists[2], &lists[3]};
		cr_assert_eq(npl_op_attrs(NPL_OP_SLICE, &list, &attrs, &err), 0, "%s", err.msg);
		struct npl_tensor out = test_run(NPL_OP_SLICE, &attrs, in, old ? 1 : 5);
		check_slice(&x, &out, &s, i);
		test_release(&out);
		npl_tensor_free(&x);
	}
}

/* Steps and ends at the ends of int64 neither overflow nor read outside. */
Test(ops_slice, extremes)
{
	const int64_t extreme[] = {INT64_MIN, INT64_MIN + 1, -5, -1, 0, 1, 4, INT64_MAX - 1, INT64_MAX};
	float data[4] = {1, 2, 3, 4};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4), .data = data};
	for (int i = 0; i < 9 * 9 * 9; i++) {
		int64_t start = extreme[i % 9], end = extreme[i / 9 % 9], step = extreme[i / 81], at = 0;
		struct npl_tensor lists[] = {{.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &start},
					     {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &end},
					     {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &at},
					     {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &step}};
		const struct npl_tensor *in[] = {&x, &lists[0], &lists[1], &lists[2], &lists[3]};
		struct npl_attrs attrs = {.opset = 13};
		struct npl_tensor out;
		struct npl_err err = {0};
		if (!step) {
			cr_assert_eq(npl_op_shape(NPL_OP_SLICE, &attrs, in, 5, &out, 1, &err), NPL_EINPUT);
			cr_assert(strstr(err.msg, "the step along axis 0 is 0"), "%s", err.msg);
			continue;
		}
		out = test_run(NPL_OP_SLICE, &attrs, in, 5);
		cr_assert(out.shape.dim[0] >= 0 && out.shape.dim[0] <= 4);
		for (int64_t e = 0; e < out.shape.dim[0]; e++) {
			float got = ((float *)out.data)[e];
			cr_assert(got >= 1 && got <= 4);
		}
		test_release(&out);
	}
}

Test(ops_slice, splits)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I8, NPL_I16, NPL_I32, NPL_I64, NPL_BOOL};
	uint64_t seed = SEED;
	for (int i = 0; i < 1000; i++) {
		int n = (int)test_range(&seed, 1, 6), axis;
		bool equal = test_range(&seed, 0, 1), old = test_range(&seed, 0, 1);
		struct npl_shape shape = random_shape(&seed, 1, 4, 1);
		int64_t size[NPL_MAX_OUTPUTS] = {0}, whole = 0;
		axis = (int)test_range(&seed, 0, shape.rank - 1);
		for (int k = 0; k < n; k++)
			whole += size[k] = equal && k ? size[0] : test_range(&seed, 0, 4);
		shape.dim[axis] = whole;
		struct npl_tensor x = test_random_tensor(&seed, types[i % 7], shape), out[NPL_MAX_OUTPUTS] = {{0}};
		struct npl_tensor sizes = {.dtype = NPL_I64, .shape = npl_shape_of(1, n), .data = size}, joined;
		struct npl_attr attr[] = {{.name = "axis", .type = NPL_ATTR_INT, .i = axis - shape.rank},
					  {.name = "split", .type = NPL_ATTR_INTS, .ints = size, .n = n}};
		struct npl_attr_list list = {attr, old && !equal ? 2 : 1};
		struct npl_attrs attrs = {.opset = old ? 11 : 13}, joining = {.opset = 13, .axis = axis};
		const struct npl_op_def *def = &npl_op_defs[NPL_OP_SPLIT];
		const struct npl_tensor *in[] = {&x, &sizes}, *parts[NPL_MAX_OUTPUTS];
		struct npl_err err = {0};
		int n_in = old || equal ? 1 : 2;
		cr_assert_eq(def->attrs(&list, &attrs, &err), 0, "%s", err.msg);
		cr_assert_eq(def->shape(&attrs, in, n_in, out, n, &err), 0, "case %d: %s", i, err.msg);
		for (int k = 0; k < n; k++) {
			cr_assert_eq(out[k].shape.dim[axis], size[k], "case %d, part %d", i, k);
			cr_assert_eq(npl_tensor_alloc(&out[k], &err), 0);
			parts[k] = &out[k];
		}
		cr_assert_eq(def->run(&attrs, in, n_in, out, n, &err), 0);
		joined = test_run(NPL_OP_CONCAT, &joining, parts, n);
		cr_assert(npl_shape_equal(&joined.shape, &x.shape));
		cr_assert_arr_eq(joined.data, x.data, npl_tensor_bytes(&x), "case %d, seed %u", i, SEED);
		test_release(&joined);
		for (int k = 0; k < n; k++)
			npl_tensor_free(&out[k]);
		npl_tensor_free(&x);
	}
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 7)}, out[3];
	const struct npl_tensor *in[] = {&x};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(NPL_OP_SPLIT, &attrs, in, 1, out, 3, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "7 along axis 0 do not divide by 3 outputs"), "%s", err.msg);
}
