/* SPDX-License-Identifier: MIT
 *
 * Promises: the operators that move elements put every element where ONNX's text says, for every type, random shapes
 * and negative indices; what points outside is refused. Each rule is stated once more here, one element at a time. */
#include "core/base/dtype.h"
#include "tests/kit/elements_support.h"
#include "tests/kit/ops_support.h"

#define SEED 0x5eed5001u

static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I8, NPL_U16, NPL_I32, NPL_I64, NPL_U64, NPL_F16, NPL_BF16};

static struct npl_shape random_shape(uint64_t *seed, int min_rank, int max_rank)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, min_rank, max_rank)};
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] = test_range(seed, 1, 5);
	return shape;
}

static struct npl_tensor random_any(uint64_t *seed, struct npl_shape shape)
{
	return test_random_tensor(seed, types[test_rng(seed) % (sizeof types / sizeof *types)], shape);
}

/* Indices of int32 or int64 in [-size, size). */
static struct npl_tensor random_indices(uint64_t *seed, struct npl_shape shape, int64_t size)
{
	struct npl_tensor tensor = test_tensor(test_rng(seed) & 1 ? NPL_I64 : NPL_I32, shape);
	for (int64_t i = 0; i < npl_tensor_count(&tensor); i++) {
		int64_t index = test_range(seed, -size, size - 1);
		if (tensor.dtype == NPL_I64)
			((int64_t *)tensor.data)[i] = index;
		else
			((int32_t *)tensor.data)[i] = (int32_t)index;
	}
	return tensor;
}

static int64_t index_at(const struct npl_tensor *indices, int64_t i, int64_t size)
{
	int64_t at = test_whole(indices, i);
	return at < 0 ? at + size : at;
}

static void check_same(const struct npl_tensor *out, int64_t i, const struct npl_tensor *x, const int64_t *index,
		       const char *subject, uint64_t seed)
{
	cr_assert_eq(test_bits(out, i), test_bits(x, test_ravel(&x->shape, &x->shape, index)),
		     "%s, seed %llu: element %lld", subject, (unsigned long long)seed, (long long)i);
}

Test(ops_moving, gather_follows_its_definition)
{
	for (uint64_t round = 0; round < 300; round++) {
		uint64_t seed = SEED + round;
		struct npl_tensor x = random_any(&seed, random_shape(&seed, 1, 4));
		int axis = (int)test_range(&seed, 0, x.shape.rank - 1);
		struct npl_tensor indices = random_indices(&seed, random_shape(&seed, 0, 3), x.shape.dim[axis]);
		struct npl_attrs attrs = {.opset = 13, .gather.axis = test_rng(&seed) & 1 ? axis : axis - x.shape.rank};
		const struct npl_tensor *in[] = {&x, &indices};
		struct npl_tensor out = test_run(NPL_OP_GATHER, &attrs, in, 2);
		cr_assert_eq(out.shape.rank, x.shape.rank + indices.shape.rank - 1);
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			int64_t place[NPL_MAX_RANK], from[NPL_MAX_RANK];
			test_unravel(&out.shape, i, place);
			int64_t at = test_ravel(&indices.shape, &indices.shape, place + axis);
			for (int d = 0; d < x.shape.rank; d++)
				if (d != axis)
					from[d] = d < axis ? place[d] : place[d + indices.shape.rank - 1];
			from[axis] = index_at(&indices, at, x.shape.dim[axis]);
			check_same(&out, i, &x, from, "Gather", SEED + round);
		}
		test_release(&out);
		npl_tensor_free(&x);
		npl_tensor_free(&indices);
	}
}

/* GatherElements takes and ScatterElements puts at the same places. */
Test(ops_moving, gather_and_scatter_elements_use_the_same_places)
{
	for (uint64_t round = 0; round < 300; round++) {
		uint64_t seed = SEED + 1000 + round;
		struct npl_tensor x = random_any(&seed, random_shape(&seed, 1, 4));
		int axis = (int)test_range(&seed, 0, x.shape.rank - 1);
		struct npl_shape shape = x.shape;
		for (int d = 0; d < shape.rank; d++)
			shape.dim[d] = test_range(&seed, 1, d == axis ? 7 : shape.dim[d]);
		struct npl_tensor indices = random_indices(&seed, shape, x.shape.dim[axis]);
		struct npl_tensor updates = test_random_tensor(&seed, x.dtype, shape);
		struct npl_attrs gather = {.opset = 13, .gather.axis = axis},
				 scatter = {.opset = 13, .scatter.axis = axis};
		const struct npl_tensor *in[] = {&x, &indices, &updates};
		struct npl_tensor out = test_run(NPL_OP_GATHERELEMENTS, &gather, in, 2);
		struct npl_tensor expected = test_tensor(x.dtype, x.shape);
		memcpy(expected.data, x.data, npl_tensor_bytes(&x));
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			int64_t place[NPL_MAX_RANK];
			test_unravel(&shape, i, place);
			place[axis] = index_at(&indices, i, x.shape.dim[axis]);
			check_same(&out, i, &x, place, "GatherElements", SEED + round);
			test_set_bits(&expected, test_ravel(&x.shape, &x.shape, place), test_bits(&updates, i));
		}
		test_release(&out);
		if (!npl_is_half(x.dtype)) { /* those go through float32, where rubbish NaNs may change */
			out = test_run(test_rng(&seed) & 1 ? NPL_OP_SCATTER : NPL_OP_SCATTERELEMENTS, &scatter, in, 3);
			cr_assert_arr_eq(out.data, expected.data, npl_tensor_bytes(&expected), "seed %d", (int)round);
			test_release(&out);
		}
		npl_tensor_free(&x);
		npl_tensor_free(&indices);
		npl_tensor_free(&updates);
		npl_tensor_free(&expected);
	}
}

/* GatherND and ScatterND (without batch dimensions) at the same places; sums instead of replacement too. */
Test(ops_moving, gather_and_scatter_nd_use_the_same_places)
{
	for (uint64_t round = 0; round < 300; round++) {
		uint64_t seed = SEED + 2000 + round;
		struct npl_tensor x = test_random_tensor(&seed, NPL_I16, random_shape(&seed, 1, 4));
		int batch = (int)test_range(&seed, 0, x.shape.rank - 1);
		int tuple = (int)test_range(&seed, 1, x.shape.rank - batch), more = (int)test_range(&seed, 0, 2);
		struct npl_shape shape = {.rank = batch + more + 1};
		for (int d = 0; d < shape.rank; d++)
			shape.dim[d] = d < batch ? x.shape.dim[d] : d < batch + more ? test_range(&seed, 1, 3) : tuple;
		int64_t minimum = 5;
		for (int d = batch; d < batch + tuple; d++)
			minimum = x.shape.dim[d] < minimum ? x.shape.dim[d] : minimum;
		struct npl_tensor indices = random_indices(&seed, shape, minimum);
		const enum npl_scatter_reduction reduction = (unsigned)test_range(&seed, 0, 2);
		struct npl_attrs gather = {.opset = 16, .gather.batch_dims = batch},
				 scatter = {.opset = 16, .scatter.reduction = reduction};
		const struct npl_tensor *in[] = {&x, &indices, NULL};
		struct npl_tensor out = test_run(NPL_OP_GATHERND, &gather, in, 2),
				  expected = test_tensor(x.dtype, x.shape);
		struct npl_tensor updates = test_random_tensor(&seed, x.dtype, out.shape);
		memcpy(expected.data, x.data, npl_tensor_bytes(&x));
		in[2] = &updates;
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			int64_t place[NPL_MAX_RANK], from[NPL_MAX_RANK], first = 0;
			test_unravel(&out.shape, i, place);
			for (int d = 0; d < shape.rank - 1; d++)
				first = first * shape.dim[d] + place[d];
			for (int d = 0; d < x.shape.rank; d++)
				from[d] = d < batch ? place[d]
					  : d < batch + tuple
						  ? index_at(&indices, first * tuple + d - batch, x.shape.dim[d])
						  : place[shape.rank - 1 + d - batch - tuple];
			check_same(&out, i, &x, from, "GatherND", SEED + round);
			int16_t *y = (int16_t *)expected.data + test_ravel(&x.shape, &x.shape, from);
			int u = ((int16_t *)updates.data)[i];
			*y = (int16_t)(reduction == NPL_SCATTER_REPLACE ? u
				       : reduction == NPL_SCATTER_ADD   ? *y + u
									: *y * u);
		}
		test_release(&out);
		if (!batch) {
			out = test_run(NPL_OP_SCATTERND, &scatter, in, 3);
			cr_assert_arr_eq(out.data, expected.data, npl_tensor_bytes(&expected), "seed %d", (int)round);
			test_release(&out);
		}
		npl_tensor_free(&x);
		npl_tensor_free(&indices);
		npl_tensor_free(&updates);
		npl_tensor_free(&expected);
	}
}

static struct npl_tensor list_of(int64_t *values, int64_t n)
{
	return (struct npl_tensor){.dtype = NPL_I64, .shape = npl_shape_of(1, n), .data = values};
}

/* Where element `at` of a padded dimension comes from, step by step from the edge; -1: the constant. */
static int64_t walk_back(int mode, int64_t at, int64_t n)
{
	int64_t step = 1;
	if (at >= 0 && at < n)
		return at;
	if (mode == 0)
		return -1;
	if (mode == 2 || n == 1)
		return at < 0 ? 0 : n - 1;
	int64_t from = at < 0 ? 0 : n - 1, left = at < 0 ? -at : at - (n - 1);
	for (step = at < 0 ? 1 : -1; left > 0; left--) {
		if (from + step < 0 || from + step >= n)
			step = -step;
		from += step;
	}
	return from;
}

Test(ops_moving, pad_follows_its_definition)
{
	for (uint64_t round = 0; round < 300; round++) {
		uint64_t seed = SEED + 3000 + round;
		struct npl_tensor x = random_any(&seed, random_shape(&seed, 1, 4));
		if (npl_is_half(x.dtype))
			x.dtype = NPL_I16;
		int64_t pads[2 * NPL_MAX_RANK];
		int rank = x.shape.rank;
		for (int d = 0; d < rank; d++) {
			pads[d] = test_range(&seed, x.shape.dim[d] > 2 ? -1 : 0, 7);
			pads[rank + d] = test_range(&seed, x.shape.dim[d] > 2 ? -1 : 0, 7);
		}
		struct npl_tensor list = list_of(pads, 2 * rank),
				  value = test_random_tensor(&seed, x.dtype, (struct npl_shape){0});
		struct npl_attrs attrs = {.opset = 13, .pad.mode = (unsigned)test_range(&seed, 0, 2)};
		const struct npl_tensor *in[] = {&x, &list, &value};
		struct npl_tensor out = test_run(NPL_OP_PAD, &attrs, in, 3);
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			int64_t place[NPL_MAX_RANK];
			bool outside = false;
			test_unravel(&out.shape, i, place);
			for (int d = 0; d < rank; d++) {
				int64_t first = pads[d] < 0 ? -pads[d] : 0;
				int64_t n = x.shape.dim[d] - first + (pads[rank + d] < 0 ? pads[rank + d] : 0);
				place[d] = walk_back(attrs.pad.mode, place[d] - (pads[d] > 0 ? pads[d] : 0), n);
				outside |= place[d] < 0;
				place[d] += first;
			}
			if (outside)
				cr_assert_eq(test_bits(&out, i), test_bits(&value, 0));
			else
				check_same(&out, i, &x, place, "Pad", SEED + 3000 + round);
		}
		test_release(&out);
		npl_tensor_free(&x);
		npl_tensor_free(&value);
	}
}

/* The attributes of opset 2 say what the inputs of opset 11 say. */
Test(ops_moving, pad_reads_the_attributes_of_opset_2)
{
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(1, 2), .data = (float[]){1, 2}};
	struct npl_attr attr[] = {ATTR_INTS("pads", 2, -1), ATTR_FLOAT("value", 0.5f)};
	struct npl_attrs attrs = {.opset = 10};
	cr_assert_eq(npl_op_attrs(NPL_OP_PAD, &(struct npl_attr_list){attr, 2}, &attrs, NULL), 0);
	struct npl_tensor out = test_run(NPL_OP_PAD, &attrs, (const struct npl_tensor *[]){&x}, 1);
	cr_assert_eq(npl_tensor_count(&out), 3);
	cr_assert_arr_eq(out.data, ((float[]){0.5f, 0.5f, 1}), 12);
	test_release(&out);
}

Test(ops_moving, tile_and_expand_repeat_elements)
{
	for (uint64_t round = 0; round < 200; round++) {
		uint64_t seed = SEED + 4000 + round;
		struct npl_tensor x = random_any(&seed, random_shape(&seed, 0, 4));
		int64_t repeats[NPL_MAX_RANK], dims[NPL_MAX_RANK];
		int rank = x.shape.rank, more = (int)test_range(&seed, 0, 2);
		for (int d = 0; d < rank; d++) {
			repeats[d] = test_range(&seed, 0, 3);
			if (test_rng(&seed) & 1)
				x.shape.dim[d] = 1;
		}
		for (int d = 0; d < rank + more; d++)
			dims[d] = d < more || (x.shape.dim[d - more] == 1) ? test_range(&seed, 1, 4)
				  : test_rng(&seed) & 1                    ? 1
									   : x.shape.dim[d - more];
		struct npl_tensor by = list_of(repeats, rank), to = list_of(dims, rank + more);
		struct npl_attrs attrs = {.opset = 13};
		for (int expand = 0; expand < 2; expand++) {
			const struct npl_tensor *in[] = {&x, expand ? &to : &by};
			struct npl_tensor out = test_run(expand ? NPL_OP_EXPAND : NPL_OP_TILE, &attrs, in, 2);
			cr_assert_eq(out.shape.rank, rank + (expand ? more : 0));
			for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
				int64_t place[NPL_MAX_RANK], from[NPL_MAX_RANK];
				test_unravel(&out.shape, i, place);
				for (int d = 0; d < rank; d++)
					from[d] = place[d + out.shape.rank - rank] % x.shape.dim[d];
				check_same(&out, i, &x, from, "Tile, Expand", SEED + 4000 + round);
			}
			test_release(&out);
		}
		npl_tensor_free(&x);
	}
}

/* DepthToSpace by its formula, and SpaceToDepth brings back what mode DCR took apart. */
Test(ops_moving, depth_and_space_undo_each_other)
{
	for (uint64_t round = 0; round < 100; round++) {
		uint64_t seed = SEED + 5000 + round;
		int64_t b = test_range(&seed, 1, 3), n = test_range(&seed, 1, 2), c = test_range(&seed, 1, 3);
		int64_t h = test_range(&seed, 0, 3), w = test_range(&seed, 1, 3);
		struct npl_tensor x = random_any(&seed, npl_shape_of(4, n, c * b * b, h, w));
		for (int crd = 0; crd < 2; crd++) {
			struct npl_attrs attrs = {.opset = 13, .depth_space = {.block = b, .mode = crd}};
			struct npl_tensor out = test_run(NPL_OP_DEPTHTOSPACE, &attrs, (const struct npl_tensor *[]){&x},
							 1);
			for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
				int64_t p[NPL_MAX_RANK];
				test_unravel(&out.shape, i, p);
				int64_t inside = p[2] % b * b + p[3] % b;
				int64_t from[] = {p[0], crd ? p[1] * b * b + inside : inside * c + p[1], p[2] / b,
						  p[3] / b};
				check_same(&out, i, &x, from, "DepthToSpace", SEED + 5000 + round);
			}
			if (!crd) {
				struct npl_tensor restored = test_run(NPL_OP_SPACETODEPTH, &attrs,
								      (const struct npl_tensor *[]){&out}, 1);
				cr_assert(npl_shape_equal(&restored.shape, &x.shape));
				cr_assert(!npl_tensor_bytes(&x) ||
					  !memcmp(restored.data, x.data, npl_tensor_bytes(&x)));
				test_release(&restored);
			}
			test_release(&out);
		}
		npl_tensor_free(&x);
	}
}

Test(ops_moving, triangles_follow_their_definition)
{
	uint64_t seed = SEED + 6000;
	struct npl_tensor x = test_random_tensor(&seed, NPL_U8, npl_shape_of(3, 2, 4, 5));
	const int64_t ks[] = {0, 1, -2, 5, -4, 100, INT64_MIN, INT64_MAX};
	for (size_t c = 0; c < 2 * sizeof ks / sizeof *ks; c++) {
		int64_t k = ks[c / 2];
		struct npl_tensor shift = {.dtype = NPL_I64, .data = &k};
		struct npl_attrs attrs = {.opset = 14, .trilu.upper = c & 1},
				 diagonal = {.opset = 14, .eye_like = {.dtype = NPL_F64, .k = k}};
		struct npl_tensor out = test_run(NPL_OP_TRILU, &attrs, (const struct npl_tensor *[]){&x, &shift}, 2);
		struct npl_tensor matrix = {.dtype = NPL_U8, .shape = npl_shape_of(2, 4, 5)};
		struct npl_tensor eye = test_run(NPL_OP_EYELIKE, &diagonal, (const struct npl_tensor *[]){&matrix}, 1);
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			int64_t right = i % 5 - i / 5 % 4;
			bool kept = attrs.trilu.upper ? right >= k : right <= k;
			cr_assert_eq(((uint8_t *)out.data)[i], kept ? ((uint8_t *)x.data)[i] : 0, "k %lld",
				     (long long)k);
			if (i < 20)
				cr_assert_eq(((double *)eye.data)[i], right == k);
		}
		test_release(&out);
		test_release(&eye);
	}
	npl_tensor_free(&x);
}

Test(ops_moving, one_hot_follows_its_definition)
{
	float indices[] = {1, -1, 3, -5, 2.7f, 4};
	int32_t values[] = {-3, 9}, depth = 4;
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 3), .data = indices};
	struct npl_tensor d = {.dtype = NPL_I32, .data = &depth},
			  v = {.dtype = NPL_I32, .shape = npl_shape_of(1, 2), .data = values};
	for (int opset = 9; opset <= 11; opset += 2)
		for (int64_t axis = -3; axis <= 2; axis++) {
			struct npl_attrs attrs = {.opset = opset, .one_hot.axis = axis};
			struct npl_tensor out = test_run(NPL_OP_ONEHOT, &attrs,
							 (const struct npl_tensor *[]){&x, &d, &v}, 3);
			for (int64_t i = 0; i < 24; i++) {
				int64_t p[NPL_MAX_RANK], a = (axis + 3) % 3, rest[2] = {0}, n = 0;
				test_unravel(&out.shape, i, p);
				for (int k = 0; k < 3; k++)
					if (k != a)
						rest[n++] = p[k];
				int64_t index = (int64_t)indices[rest[0] * 3 + rest[1]];
				bool on = index == p[a] || (opset >= 11 && index + depth == p[a]);
				cr_assert_eq(((int32_t *)out.data)[i], values[on], "opset %d axis %d", opset,
					     (int)axis);
			}
			test_release(&out);
		}
}

Test(ops_moving, compress_and_nonzero_pick_elements)
{
	uint64_t seed = SEED + 7000;
	struct npl_tensor x = test_random_tensor(&seed, NPL_F32, npl_shape_of(2, 3, 4));
	unsigned char holds[] = {0, 1, 1, 0, 1};
	struct npl_tensor condition = {.dtype = NPL_BOOL, .shape = npl_shape_of(1, 3), .data = holds};
	const float *v = x.data;
	struct npl_attrs attrs = {.opset = 11, .along.axis = -2}, none = {.opset = 11};
	struct npl_tensor out = test_run(NPL_OP_COMPRESS, &attrs, (const struct npl_tensor *[]){&x, &condition}, 2);
	cr_assert(out.shape.dim[0] == 2 && out.shape.dim[1] == 4);
	cr_assert_arr_eq(out.data, v + 4, 8 * sizeof *v);
	test_release(&out);
	condition.shape.dim[0] = 5;
	cr_assert_eq(npl_op_attrs(NPL_OP_COMPRESS, &(struct npl_attr_list){0}, &attrs, NULL), 0);
	out = test_run(NPL_OP_COMPRESS, &attrs, (const struct npl_tensor *[]){&x, &condition}, 2);
	cr_assert_eq(out.shape.rank, 1);
	cr_assert_arr_eq(out.data, ((float[]){v[1], v[2], v[4]}), 12);
	test_release(&out);
	int64_t mask[] = {0, 5, 0, -1, 0, 7};
	struct npl_tensor m = {.dtype = NPL_I64, .shape = npl_shape_of(2, 2, 3), .data = mask};
	out = test_run(NPL_OP_NONZERO, &none, (const struct npl_tensor *[]){&m}, 1);
	cr_assert_arr_eq(out.data, ((int64_t[]){0, 1, 1, 1, 0, 2}), 48);
	test_release(&out);
	npl_tensor_free(&x);
}

/* Reversing twice gives the input back; once, the first steps of each sequence are in reverse. */
Test(ops_moving, reversing_twice_gives_the_input_back)
{
	for (uint64_t round = 0; round < 60; round++) {
		uint64_t seed = SEED + 8000 + round;
		struct npl_tensor x = random_any(&seed, random_shape(&seed, 2, 4));
		int time = (int)test_range(&seed, 0, 1);
		int64_t lengths[5], n = x.shape.dim[1 - time];
		for (int64_t b = 0; b < n; b++)
			lengths[b] = test_range(&seed, 0, x.shape.dim[time]);
		struct npl_tensor list = list_of(lengths, n);
		struct npl_attrs attrs = {.opset = 10, .reverse_sequence = {.time_axis = time, .batch_axis = 1 - time}};
		struct npl_tensor out = test_run(NPL_OP_REVERSESEQUENCE, &attrs,
						 (const struct npl_tensor *[]){&x, &list}, 2);
		struct npl_tensor restored = test_run(NPL_OP_REVERSESEQUENCE, &attrs,
						      (const struct npl_tensor *[]){&out, &list}, 2);
		cr_assert_arr_eq(restored.data, x.data, npl_tensor_bytes(&x));
		for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
			int64_t p[NPL_MAX_RANK];
			test_unravel(&x.shape, i, p);
			int64_t length = lengths[p[1 - time]];
			if (p[time] < length)
				p[time] = length - 1 - p[time];
			check_same(&out, i, &x, p, "ReverseSequence", SEED + 8000 + round);
		}
		test_release(&out);
		test_release(&restored);
		npl_tensor_free(&x);
	}
}

/* An index that points outside is found when it is read. */
Test(ops_moving, an_index_outside_is_found)
{
	float data[6] = {0}, room[6];
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 3), .data = data};
	for (int64_t bad = -4; bad <= 3; bad += 7)
		for (int op = NPL_OP_GATHER; op <= NPL_OP_SCATTERND; op++) {
			bool tuples = op == NPL_OP_GATHERND || op == NPL_OP_SCATTERND;
			struct npl_tensor indices = {.dtype = NPL_I64,
						     .shape = npl_shape_of(2, 1, tuples ? 2 : 1),
						     .data = (int64_t[]){tuples ? 1 : bad, bad}};
			struct npl_tensor updates = {.dtype = NPL_F32, .shape = npl_shape_of(2, 1, 1), .data = data};
			updates.shape.rank = tuples ? 1 : 2;
			struct npl_attrs attrs = {.opset = 16};
			if (op == NPL_OP_GATHER || op == NPL_OP_GATHERELEMENTS)
				attrs.gather.axis = 1;
			if (op == NPL_OP_SCATTER || op == NPL_OP_SCATTERELEMENTS)
				attrs.scatter.axis = 1;
			const struct npl_tensor *in[] = {&x, &indices, &updates};
			struct npl_tensor out = {.data = NULL};
			struct npl_err err = {0};
			int n_in = op >= NPL_OP_SCATTER ? 3 : 2;
			cr_assert_eq(npl_op_shape((enum npl_op)op, &attrs, in, n_in, &out, 1, &err), 0, "%s: %s",
				     npl_op_defs[op].name, err.msg);
			out.data = room;
			cr_assert_eq(npl_op_run((enum npl_op)op, &attrs, in, n_in, &out, 1, &err), NPL_EINPUT, "%s",
				     npl_op_defs[op].name);
			cr_assert(strstr(err.msg, "is not within a dimension of 3"), "%s", err.msg);
		}
}
