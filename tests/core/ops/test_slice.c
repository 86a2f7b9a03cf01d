/* SPDX-License-Identifier: MIT
 *
 * Promises: Slice takes the elements that ONNX's rule names, whatever the starts, ends, axes and steps and in both
 * forms of the operator; Split's parts joined again are the whole; both for every type. */
#include "tests/kit/ops_support.h"

#define SEED 0x5eed3001u

static struct npl_shape random_shape(uint64_t *seed, int min_rank, int max_rank, int64_t minimum)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, min_rank, max_rank)};
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = test_range(seed, minimum, 6);
	return shape;
}

__extension__ typedef __int128 wide; /* sums of two 64-bit integers */

/* Positions taken of a dimension, by walking, as ONNX words it: negative starts and ends get the size added; then, with
 * a positive step, both are clamped to [0, size], with a negative one the start to [0, size - 1] and the end to [-1,
 * size - 1]. In 128 bits, where nothing wraps. */
static int walk(int64_t start, int64_t end, int64_t step, int64_t size, int64_t *position)
{
	const wide most = step > 0 ? size : size - 1, least_end = step > 0 ? 0 : -1;
	wide p = start < 0 ? (wide)start + size : start, stop = end < 0 ? (wide)end + size : end;
	int n = 0;
	if (!size)
		return 0;
	p = p < 0 ? 0 : p > most ? most : p;
	stop = stop < least_end ? least_end : stop > most ? most : stop;
	for (; step > 0 ? p < stop : p > stop; p += step)
		position[n++] = (int64_t)p;
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
		if (steps && test_range(seed, 0, 7) == 0) /* past either end at once */
			s->step[i] = test_range(seed, 0, 1) ? INT64_MAX : INT64_MIN;
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

/* A list as a constant input: int64, or int32 when narrow, where a value beyond int32 becomes the nearest one. */
static struct npl_tensor list_tensor(const int64_t *values, int n, bool narrow, int32_t *room)
{
	for (int i = 0; i < n; i++)
		room[i] = (int32_t)(values[i] > INT32_MAX ? INT32_MAX : values[i] < INT32_MIN ? INT32_MIN : values[i]);
	return (struct npl_tensor){.dtype = narrow ? NPL_I32 : NPL_I64,
				   .shape = npl_shape_of(1, n),
				   .data = narrow ? (void *)room : (void *)values};
}

Test(ops_slice, slices_follow_their_definition)
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

/* A line of `size` numbers, cut by starts, ends and steps as attributes (opset 1 to 9, no steps) or inputs. */
static void check_line(int64_t size, int64_t start, int64_t end, int64_t step, int opset, bool narrow)
{
	float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	int64_t position[8], axis = 0;
	int32_t room[4][1];
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, size), .data = data};
	struct npl_attr attr[] = {{.name = "starts", .type = NPL_ATTR_INTS, .ints = &start, .n = 1},
				  {.name = "ends", .type = NPL_ATTR_INTS, .ints = &end, .n = 1}};
	struct npl_attr_list list = {attr, opset < 10 ? 2 : 0};
	struct npl_tensor lists[] = {list_tensor(&start, 1, narrow, room[0]), list_tensor(&end, 1, narrow, room[1]),
				     list_tensor(&axis, 1, narrow, room[2]), list_tensor(&step, 1, narrow, room[3])};
	const struct npl_tensor *in[] = {&x, &lists[0], &lists[1], &lists[2], &lists[3]};
	struct npl_attrs attrs = {.opset = opset};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_attrs(NPL_OP_SLICE, &list, &attrs, &err), 0, "%s", err.msg);
	struct npl_tensor out = test_run(NPL_OP_SLICE, &attrs, in, opset < 10 ? 1 : 5);
	const int n_taken = walk(start, end, step, size, position);
	cr_assert_eq(out.shape.dim[0], n_taken, "%d values from %lld to %lld by %lld, opset %d: %d, expected %d",
		     (int)size, (long long)start, (long long)end, (long long)step, opset, (int)out.shape.dim[0],
		     n_taken);
	for (int e = 0; e < n_taken; e++)
		cr_assert_eq(((float *)out.data)[e], (float)position[e]);
	test_release(&out);
}

static const int opsets[] = {1, 9, 10, 11, 13, 18};

/* Every start, end and step around every small size. */
Test(ops_slice, all_small_slices_follow_the_definition)
{
	for (int64_t size = 0; size <= 5; size++)
		for (int64_t start = -size - 3; start <= size + 3; start++)
			for (int64_t end = -size - 3; end <= size + 3; end++)
				for (int64_t step = -size - 2; step <= size + 2; step++)
					for (int o = 0; o < 6 && step; o++)
						if (step == 1 || opsets[o] >= 10)
							check_line(size, start, end, step, opsets[o], o & 1);
}

/* Starts, ends and steps at the ends of int32 and int64, which exporters write for "to the end". */
Test(ops_slice, slices_may_end_at_the_ends_of_int64)
{
	const int64_t extreme[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, -5,        -1,           0, 1,
				   4,         INT32_MAX,     5,         INT64_MAX, INT64_MAX - 1};
	enum { N = 12, NARROWEST = 2, WIDEST = 10 };
	for (int i = 0; i < N * N * N; i++) {
		const int k[] = {i % N, i / N % N, i / (N * N)};
		const int64_t start = extreme[k[0]], end = extreme[k[1]], step = extreme[k[2]];
		bool fits = true;
		for (int j = 0; j < 3; j++)
			fits &= k[j] >= NARROWEST && k[j] < WIDEST;
		for (int64_t size = 0; size <= 4 && step; size += 2) {
			check_line(size, start, end, step, 13, false);
			if (fits)
				check_line(size, start, end, step, 10, true);
			if (step == 1)
				check_line(size, start, end, step, 9, false);
		}
	}
	int64_t zero = 0, one = 1;
	float data[1] = {0};
	const struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 1), .data = data},
				from = {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &zero},
				to = {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &one},
				*const in[] = {&x, &from, &to, &from, &from};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor out;
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(NPL_OP_SLICE, &attrs, in, 5, &out, 1, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "the step along axis 0 is 0"), "%s", err.msg);
}

Test(ops_slice, splits_follow_their_definition)
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
		struct npl_attrs attrs = {.opset = old ? 11 : 13}, joining = {.opset = 13, .along.axis = axis};
		const struct npl_tensor *in[] = {&x, &sizes}, *parts[NPL_MAX_OUTPUTS];
		struct npl_err err = {0};
		int n_in = old || equal ? 1 : 2;
		cr_assert_eq(npl_op_attrs(NPL_OP_SPLIT, &list, &attrs, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_op_shape(NPL_OP_SPLIT, &attrs, in, n_in, out, n, &err), 0, "case %d: %s", i, err.msg);
		for (int k = 0; k < n; k++) {
			cr_assert_eq(out[k].shape.dim[axis], size[k], "case %d, part %d", i, k);
			cr_assert_eq(npl_tensor_alloc(&out[k], &err), 0);
			parts[k] = &out[k];
		}
		cr_assert_eq(npl_op_run(NPL_OP_SPLIT, &attrs, in, n_in, out, n, &err), 0);
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
