/* SPDX-License-Identifier: MIT
 *
 * Attention: y = softmax(scale q k' + mask) v for each head. q, k and v are (batch, heads, length, size), or (batch,
 * length, heads * size) with the attributes q_num_heads and kv_num_heads; several heads of q may share one of k and v.
 * past_key and past_value, (batch, heads, length, size), stand before k and v. A mask of bools says which positions
 * take part, one of floats is added; with is_causal position i of q sees those up to i of k, all of the past included.
 * The order is that of ONNX's errata for opset 23: scale, softcap, mask, softmax, so that a cap lets nothing through a
 * mask; qk_matmul_output_mode 0 gives the scores before the softcap, 1 before the mask, 2 before the softmax, 3 after
 * it.
 *
 * In a graph the operator is replaced by products and a Softmax (frontend/graph/compose_attention.c), which devices
 * run. This kernel, in double, computes the operator by itself. */
#include <math.h>
#include <stdlib.h>

#include "cast.h"
#include "ops.h"

enum { OP_MASK, OP_PAST_KEY, OP_PAST_VALUE }; /* indices of attention.in */

/* The sizes of an Attention, from the shapes of its inputs. */
struct attention {
	int64_t batch, q_heads, kv_heads;
	int64_t rows, length, past; /* positions of q, of k, and of the past before k */
	int64_t size, k_size, v_size;
	double scale;
	const struct npl_tensor *in[3]; /* optional inputs, NULL: absent */
};

OP_ATTRS(op_attention_attrs)
{
	struct npl_attention_attrs *a = &out->attention;
	if (op_attr_flag(list, "is_causal", false, &a->causal, err) ||
	    op_attr_int(list, "q_num_heads", 0, &a->q_heads, err) ||
	    op_attr_int(list, "kv_num_heads", 0, &a->kv_heads, err) ||
	    op_attr_int(list, "qk_matmul_output_mode", 0, &a->score_stage, err) ||
	    op_attr_float(list, "scale", 0, &a->scale, err) || op_attr_float(list, "softcap", 0, &a->softcap, err) ||
	    op_attr_type(list, "softmax_precision", &a->softmax_type, err))
		return NPL_EINPUT;
	if (a->softcap < 0 || a->scale < 0)
		return npl_fail(err, NPL_EINPUT, "attributes softcap and scale must not be negative");
	if (a->score_stage < 0 || a->score_stage > 3)
		return npl_fail(err, NPL_EINPUT, "attribute qk_matmul_output_mode is %lld, expected 0 to 3",
				(long long)a->score_stage);
	return 0;
}

/* Reads heads, length and size of one of q, k and v. */
static int read_heads(const struct npl_shape *x, const char *tensor_name, int64_t heads, int64_t *n, int64_t *length,
		      int64_t *size, struct npl_err *err)
{
	if (x->rank == 4) {
		*n = x->dim[1];
		*length = x->dim[2];
		*size = x->dim[3];
		return 0;
	}
	if (heads < 1 || x->dim[2] % heads)
		return npl_fail(err, NPL_EINPUT, "%s is %s, whose last dimension is not a multiple of %lld heads",
				tensor_name, OP_TEXT(x), (long long)heads);
	*n = heads;
	*length = x->dim[1];
	*size = x->dim[2] / heads;
	return 0;
}

static int past_shape(const struct attention *a, const struct npl_tensor *past, const char *tensor_name, int64_t size,
		      int64_t *length, struct npl_err *err)
{
	const struct npl_shape *x = &past->shape;
	if (x->rank != 4 || x->dim[0] != a->batch || x->dim[1] != a->kv_heads || x->dim[3] != size)
		return npl_fail(err, NPL_EINPUT, "%s is %s, expected %lldx%lldxNx%lld", tensor_name, OP_TEXT(x),
				(long long)a->batch, (long long)a->kv_heads, (long long)size);
	*length = x->dim[2];
	return 0;
}

/* Checks the mask, which must broadcast to batch x heads x rows x all positions. */
static int check_mask(const struct attention *a, const struct npl_tensor *mask, enum npl_dtype dtype,
		      struct npl_err *err)
{
	struct npl_shape scores = npl_shape_of(4, a->batch, a->q_heads, a->rows, a->past + a->length), broadcast;
	if (mask->dtype != NPL_BOOL && mask->dtype != dtype)
		return npl_fail(err, NPL_EINPUT, "the mask is %s, expected bool or %s", npl_dtype_name(mask->dtype),
				npl_dtype_name(dtype));
	if (op_broadcast_shape(&mask->shape, &scores, &broadcast, NULL) || !npl_shape_equal(&broadcast, &scores))
		return npl_fail(err, NPL_EINPUT, "the mask %s does not broadcast to %s", OP_TEXT(&mask->shape),
				OP_TEXT(&scores));
	return 0;
}

/* Reads the sizes. Returns NPL_EINPUT when the shapes of the inputs do not fit each other. */
static int read_sizes(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct attention *a,
		      struct npl_err *err)
{
	const struct npl_shape *q = &in[0]->shape, *k = &in[1]->shape, *v = &in[2]->shape;
	int64_t v_heads = 0, v_length = 0, value_length = 0;
	*a = (struct attention){.batch = q->dim[0]};
	for (int i = 0; i < 3; i++)
		a->in[i] = n_in > 3 + i ? in[3 + i] : NULL;
	if ((q->rank != 3 && q->rank != 4) || k->rank != q->rank || v->rank != q->rank)
		return npl_fail(err, NPL_EINPUT, "q, k and v are %s, %s and %s, expected 3 or 4 dimensions each",
				OP_TEXT(q), OP_TEXT(k), OP_TEXT(v));
	if (q->rank == 3 && (attrs->attention.q_heads < 1 || attrs->attention.kv_heads < 1))
		return npl_fail(err, NPL_EINPUT,
				"inputs of 3 dimensions need the attributes q_num_heads and kv_num_heads");
	if (read_heads(q, "q", attrs->attention.q_heads, &a->q_heads, &a->rows, &a->size, err) ||
	    read_heads(k, "k", attrs->attention.kv_heads, &a->kv_heads, &a->length, &a->k_size, err) ||
	    read_heads(v, "v", attrs->attention.kv_heads, &v_heads, &v_length, &a->v_size, err))
		return NPL_EINPUT;
	if (k->dim[0] != a->batch || v->dim[0] != a->batch || v_heads != a->kv_heads || v_length != a->length ||
	    a->k_size != a->size || a->kv_heads < 1 || a->q_heads % a->kv_heads)
		return npl_fail(err, NPL_EINPUT, "q %s, k %s and v %s do not fit each other", OP_TEXT(q), OP_TEXT(k),
				OP_TEXT(v));
	if (!a->in[OP_PAST_KEY] != !a->in[OP_PAST_VALUE])
		return npl_fail(err, NPL_EINPUT, "past_key and past_value must be given together");
	if (a->in[OP_PAST_KEY] && (past_shape(a, a->in[OP_PAST_KEY], "past_key", a->size, &a->past, err) ||
				   past_shape(a, a->in[OP_PAST_VALUE], "past_value", a->v_size, &value_length, err)))
		return NPL_EINPUT;
	if (value_length != a->past)
		return npl_fail(err, NPL_EINPUT, "past_key and past_value are of different lengths");
	a->scale = attrs->attention.scale > 0 ? (double)attrs->attention.scale : 1 / sqrt((double)a->size);
	return a->in[OP_MASK] ? check_mask(a, a->in[OP_MASK], in[0]->dtype, err) : 0;
}

OP_SHAPE(op_attention_shape)
{
	struct attention a;
	if (op_inputs(in, n_in, 3, NPL_DTYPES, err))
		return NPL_EINPUT;
	for (int k = 0; k < n_in; k++) {
		if (k == 3 || (k > 3 && !in[k]))
			continue;
		if (in[k]->dtype != in[0]->dtype || (in[k]->dtype != NPL_F32 && in[k]->dtype != NPL_F64))
			return npl_fail(err, NPL_EINPUT, "input %d is %s, expected floats of one type", k,
					npl_dtype_name(in[k]->dtype));
	}
	if (read_sizes(attrs, in, n_in, &a, err))
		return NPL_EINPUT;
	attrs->attention.q_heads = a.q_heads;
	attrs->attention.kv_heads = a.kv_heads;
	attrs->attention.scale = (float)a.scale;
	const int64_t all = a.past + a.length;
	const struct npl_shape shapes[] = {
		in[0]->shape.rank == 4 ? npl_shape_of(4, a.batch, a.q_heads, a.rows, a.v_size)
				       : npl_shape_of(3, a.batch, a.rows, a.q_heads * a.v_size),
		npl_shape_of(4, a.batch, a.kv_heads, all, a.size), npl_shape_of(4, a.batch, a.kv_heads, all, a.v_size),
		npl_shape_of(4, a.batch, a.q_heads, a.rows, all)};
	for (int k = 0; k < n_out; k++) {
		out[k].dtype = in[0]->dtype;
		out[k].shape = shapes[k];
	}
	return op_output_fits(&shapes[3], a.size + a.v_size, err);
}

OP_MACS(op_attention_macs)
{
	struct attention a;
	if (read_sizes(attrs, in, n_in, &a, NULL))
		return 0;
	return (uint64_t)(a.batch * a.q_heads * a.rows * (a.past + a.length)) * (uint64_t)(a.size + a.v_size);
}

/* Returns element e of position i of head h of k or v; the past comes first. */
static double key_at(const struct attention *a, const struct npl_tensor *x, const struct npl_tensor *past, int64_t b,
		     int64_t h, int64_t i, int64_t e, int64_t size)
{
	if (i < a->past)
		return npl_tensor_real(past, ((b * a->kv_heads + h) * a->past + i) * size + e);
	i -= a->past;
	return npl_tensor_real(x, x->shape.rank == 4 ? ((b * a->kv_heads + h) * a->length + i) * size + e
						     : ((b * a->length + i) * a->kv_heads + h) * size + e);
}

/* Returns the number that the masks add to a score: 0, the mask's number, or -infinity. */
static double mask_term(const struct attention *a, bool causal, int64_t b, int64_t h, int64_t row, int64_t i)
{
	const struct npl_tensor *mask = a->in[OP_MASK];
	if (causal && i > row + a->past)
		return -INFINITY;
	if (!mask)
		return 0;
	const int64_t query[4] = {b, h, row, i};
	int64_t stride[NPL_MAX_RANK], index = 0;
	op_strides(&mask->shape, stride);
	for (int d = 0; d < mask->shape.rank; d++)
		index += mask->shape.dim[d] == 1 ? 0 : query[4 - mask->shape.rank + d] * stride[d];
	if (mask->dtype == NPL_BOOL)
		return ((const uint8_t *)mask->data)[index] ? 0 : -INFINITY;
	return npl_tensor_real(mask, index);
}

/* Computes one row of scores in the four stages that qk_matmul_output_mode names; `score` ends as the weights of v. */
static void weigh_scores(const struct npl_attention_attrs *options, const struct attention *a, const double *scores,
			 int64_t b, int64_t h, int64_t row, double *score, const struct npl_tensor *score_output)
{
	const int64_t all = a->past + a->length, first = ((b * a->q_heads + h) * a->rows + row) * all;
	double greatest = -INFINITY, sum = 0;
	for (int64_t i = 0; i < all; i++) {
		score[i] = scores[i];
		if (score_output && options->score_stage == 0)
			op_store_real(score_output, first + i, score[i]);
		if (options->softcap > 0)
			score[i] = (double)options->softcap * op_tanh(score[i] / (double)options->softcap);
		if (score_output && options->score_stage == 1)
			op_store_real(score_output, first + i, score[i]);
		score[i] += mask_term(a, options->causal, b, h, row, i);
		if (score_output && options->score_stage == 2)
			op_store_real(score_output, first + i, score[i]);
		greatest = score[i] > greatest ? score[i] : greatest;
	}
	for (int64_t i = 0; i < all; i++) {
		score[i] = op_exp(score[i] - greatest);
		sum += score[i];
	}
	for (int64_t i = 0; i < all; i++) {
		score[i] /= sum;
		if (score_output && options->score_stage == 3)
			op_store_real(score_output, first + i, score[i]);
	}
}

static void store_present(const struct attention *a, const struct npl_tensor *x, const struct npl_tensor *past,
			  int64_t size, const struct npl_tensor *out)
{
	const int64_t all = a->past + a->length;
	for (int64_t n = 0; out->data && n < a->batch * a->kv_heads * all; n++)
		for (int64_t e = 0; e < size; e++)
			op_store_real(
				out, n * size + e,
				key_at(a, x, past, n / all / a->kv_heads, n / all % a->kv_heads, n % all, e, size));
}

OP_RUN(op_attention_run)
{
	struct attention a;
	if (read_sizes(attrs, in, n_in, &a, err))
		return err ? err->code : NPL_EINPUT;
	const int64_t all = a.past + a.length, group = a.q_heads / a.kv_heads;
	const bool is_rank_3 = in[0]->shape.rank == 3;
	double *raw = calloc((size_t)all + 1, 2 * sizeof *raw), *score = raw ? raw + all : NULL;
	if (!raw)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld scores", (long long)all);
	for (int64_t n = 0; n < a.batch * a.q_heads * a.rows; n++) {
		const int64_t row = n % a.rows, h = n / a.rows % a.q_heads, b = n / a.rows / a.q_heads;
		const int64_t query = is_rank_3 ? (b * a.rows + row) * a.q_heads + h : n;
		for (int64_t i = 0; i < all; i++) {
			raw[i] = 0;
			for (int64_t e = 0; e < a.size; e++)
				raw[i] += npl_tensor_real(in[0], query * a.size + e) *
					  key_at(&a, in[1], a.in[OP_PAST_KEY], b, h / group, i, e, a.size);
			raw[i] *= a.scale;
		}
		weigh_scores(&attrs->attention, &a, raw, b, h, row, score, n_out > 3 && out[3].data ? &out[3] : NULL);
		for (int64_t e = 0; e < a.v_size && out[0].data; e++) {
			double sum = 0;
			for (int64_t i = 0; i < all; i++)
				sum += score[i] * key_at(&a, in[2], a.in[OP_PAST_VALUE], b, h / group, i, e, a.v_size);
			op_store_real(&out[0], query * a.v_size + e, sum);
		}
	}
	free(raw);
	if (n_out > 1)
		store_present(&a, in[1], a.in[OP_PAST_KEY], a.size, &out[1]);
	if (n_out > 2)
		store_present(&a, in[2], a.in[OP_PAST_VALUE], a.v_size, &out[2]);
	return 0;
}
