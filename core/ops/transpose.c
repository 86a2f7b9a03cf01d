/* SPDX-License-Identifier: MIT
 *
 * Transpose: dimension i of the output is dimension perm[i] of the input (default: all reversed). Any type. */
#include <string.h>

#include "ops.h"

int op_transpose_attrs(struct npl_attr_list *list, struct npl_attrs *out, struct npl_err *err)
{
	if (op_attr_ints(list, "perm", NPL_MAX_RANK, out->list, &out->n_list, err))
		return NPL_EINPUT;
	if (out->n_list < 0)
		out->n_list = 0;
	return 0;
}

int op_transpose_shape(struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in, struct npl_tensor *out,
		       int n_out, struct npl_err *err)
{
	(void)n_out;
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (!attrs->n_list)
		for (attrs->n_list = 0; attrs->n_list < x->rank; attrs->n_list++)
			attrs->list[attrs->n_list] = x->rank - 1 - attrs->n_list;
	unsigned seen = 0;
	for (int i = 0; i < attrs->n_list; i++)
		if (attrs->list[i] >= 0 && attrs->list[i] < x->rank)
			seen |= 1u << attrs->list[i];
	if (attrs->n_list != x->rank || seen != (1u << x->rank) - 1)
		return npl_fail(err, NPL_EINPUT, "perm must be an order of the %d dimensions of the input %s", x->rank,
				OP_TEXT(x));
	out->dtype = in[0]->dtype;
	out->shape.rank = x->rank;
	for (int i = 0; i < x->rank; i++)
		out->shape.dim[i] = x->dim[attrs->list[i]];
	return 0;
}

/* Copies n elements that lie `stride` elements apart. */
static void gather(size_t element, int64_t n, const void *from, int64_t stride, void *to)
{
#define GATHER(type)                                                                                                   \
	for (int64_t i = 0; i < n; i++)                                                                                \
	((type *)to)[i] = ((const type *)from)[i * stride]
	switch (element) {
	case 1:
		GATHER(uint8_t);
		break;
	case 2:
		GATHER(uint16_t);
		break;
	case 4:
		GATHER(uint32_t);
		break;
	default:
		GATHER(uint64_t);
		break;
	}
#undef GATHER
}

void op_permute(size_t element, int rank, const int64_t *dim, const int64_t *perm, const void *x, void *y)
{
	struct op_walk walk = {.rank = rank ? rank : 1, .dim = {1}};
	for (int i = 0; i < rank; i++) {
		walk.dim[i] = dim[perm[i]];
		walk.a[i] = op_count(dim + perm[i] + 1, rank - 1 - (int)perm[i]);
	}
	if (!op_count(dim, rank))
		return;
	int64_t index[NPL_MAX_RANK] = {0}, from = 0, unused = 0;
	int last = walk.rank - 1;
	char *to = y;
	do {
		gather(element, walk.dim[last], (const char *)x + (size_t)from * element, walk.a[last], to);
		to += (size_t)walk.dim[last] * element;
	} while (op_walk_next(&walk, 1, index, &from, &unused));
}

int op_transpose_run(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		     struct npl_tensor *out, int n_out, struct npl_err *err)
{
	(void)n_in;
	(void)n_out;
	(void)err;
	op_permute(npl_dtype_size(out->dtype), in[0]->shape.rank, in[0]->shape.dim, attrs->list, in[0]->data,
		   out->data);
	return 0;
}
