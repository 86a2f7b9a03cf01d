/* SPDX-License-Identifier: MIT
 *
 * RotaryEmbedding: pairs of elements of each head are turned by the angle of their position, whose cosine and sine are
 * given. x is (batch, sequence, heads * size) with the attribute num_heads, or (batch, heads, sequence, size). A pair
 * is (i, i + half) of the first rotary_embedding_dim elements, or (2i, 2i + 1) when interleaved; the elements after
 * stay. The caches are (positions, half) with position_ids, (batch, sequence, half) without. (Su et al., "RoFormer",
 * 2021.) */
#include "cast.h"
#include "ops.h"

enum { COSINE = 1, SINE, POSITIONS };

OP_ATTRS(op_rotary_attrs)
{
	if (op_attr_flag(list, "interleaved", false, &out->rotary.interleaved, err) ||
	    op_attr_int(list, "num_heads", 0, &out->rotary.heads, err) ||
	    op_attr_int(list, "rotary_embedding_dim", 0, &out->rotary.turned, err))
		return NPL_EINPUT;
	if (out->rotary.heads < 0 || out->rotary.turned < 0)
		return npl_fail(err, NPL_EINPUT, "attributes num_heads and rotary_embedding_dim must not be negative");
	return 0;
}

/* The sizes of x as (batch, sequence, heads, size), and its strides. */
struct layout {
	int64_t batch, sequence, heads, size, sequence_stride, head_stride;
};

static struct layout layout_of(const struct npl_attrs *attrs, const struct npl_shape *x)
{
	struct layout l = {.batch = x->dim[0]};
	if (x->rank == 4) {
		l.heads = x->dim[1];
		l.sequence = x->dim[2];
		l.size = x->dim[3];
		l.sequence_stride = l.size;
		l.head_stride = l.sequence * l.size;
	} else {
		l.heads = attrs->rotary.heads;
		l.sequence = x->dim[1];
		l.size = x->dim[2] / l.heads;
		l.sequence_stride = x->dim[2];
		l.head_stride = l.size;
	}
	return l;
}

static int check_caches(const struct npl_tensor *const *in, const struct npl_tensor *ids, const struct layout *l,
			int64_t half, struct npl_err *err)
{
	for (int i = COSINE; i <= SINE; i++) {
		const struct npl_shape *cache = &in[i]->shape;
		bool fits = ids ? cache->rank == 2
				: cache->rank == 3 && cache->dim[0] == l->batch && cache->dim[1] == l->sequence;
		if (!fits || cache->dim[cache->rank - 1] != half)
			return npl_fail(err, NPL_EINPUT, "the cache of %s is %s, expected %s%lld",
					i == COSINE ? "cosines" : "sines", OP_TEXT(cache),
					ids ? "positions x " : "batch x sequence x ", (long long)half);
	}
	if (!npl_shape_equal(&in[COSINE]->shape, &in[SINE]->shape))
		return npl_fail(err, NPL_EINPUT, "the caches are %s and %s, expected the same",
				OP_TEXT(&in[COSINE]->shape), OP_TEXT(&in[SINE]->shape));
	if (ids && (ids->dtype != NPL_I64 || ids->shape.rank != 2 || ids->shape.dim[0] != l->batch ||
		    ids->shape.dim[1] != l->sequence))
		return npl_fail(err, NPL_EINPUT, "position_ids are %s %s, expected int64 %lldx%lld",
				npl_dtype_name(ids->dtype), OP_TEXT(&ids->shape), (long long)l->batch,
				(long long)l->sequence);
	return 0;
}

OP_SHAPE(op_rotary_shape)
{
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err) || op_inputs(in, 3, 3, in[0]->dtype, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (in[0]->dtype != NPL_F32 && in[0]->dtype != NPL_F64)
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected floats", npl_dtype_name(in[0]->dtype));
	if (x->rank != 4 && (x->rank != 3 || attrs->rotary.heads < 1 || x->dim[2] % attrs->rotary.heads))
		return npl_fail(
			err, NPL_EINPUT,
			"the input %s must have 4 dimensions, or 3 with an attribute num_heads that divides the last",
			OP_TEXT(x));
	const struct layout l = layout_of(attrs, x);
	if (!attrs->rotary.turned)
		attrs->rotary.turned = l.size;
	if (attrs->rotary.turned > l.size || attrs->rotary.turned % 2)
		return npl_fail(err, NPL_EINPUT, "%lld elements of a head of %lld cannot be turned in pairs",
				(long long)attrs->rotary.turned, (long long)l.size);
	if (check_caches(in, n_in > POSITIONS ? in[POSITIONS] : NULL, &l, attrs->rotary.turned / 2, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = *x;
	return 0;
}

/* Turns one head at one position. angle is the index of the position's sines and cosines in the caches. */
static void turn(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int64_t index, int64_t size,
		 int64_t angle, const struct npl_tensor *out)
{
	const int64_t half = attrs->rotary.turned / 2;
	for (int64_t i = 0; i < half; i++) {
		const int64_t a = index + (attrs->rotary.interleaved ? 2 * i : i),
			      b = attrs->rotary.interleaved ? a + 1 : a + half;
		const double cosine = npl_tensor_real(in[COSINE], angle + i),
			     sine = npl_tensor_real(in[SINE], angle + i);
		const double x = npl_tensor_real(in[0], a), y = npl_tensor_real(in[0], b);
		op_store_real(out, a, cosine * x - sine * y);
		op_store_real(out, b, sine * x + cosine * y);
	}
	for (int64_t i = attrs->rotary.turned; i < size; i++)
		op_store_real(out, index + i, npl_tensor_real(in[0], index + i));
}

OP_RUN(op_rotary_run)
{
	const struct layout l = layout_of(attrs, &in[0]->shape);
	const struct npl_tensor *ids = n_in > POSITIONS ? in[POSITIONS] : NULL;
	const int64_t half = attrs->rotary.turned / 2;
	for (int64_t i = 0; i < l.batch * l.sequence; i++) {
		int64_t position = i;
		if (ids) {
			position = ((const int64_t *)ids->data)[i];
			if (!op_inside(position, in[COSINE]->shape.dim[0]))
				return npl_fail(err, NPL_EINPUT, "position %lld is outside of the caches of %lld",
						(long long)position, (long long)in[COSINE]->shape.dim[0]);
		}
		const int64_t row = i / l.sequence * l.heads * l.sequence * l.size + i % l.sequence * l.sequence_stride;
		for (int64_t head = 0; head < l.heads; head++)
			turn(attrs, in, row + head * l.head_stride, l.size, position * half, out);
	}
	return 0;
}
