/* SPDX-License-Identifier: MIT
 *
 * Einsum equations that are matrix products (einsum.h): the operands are brought to the order (batch, rows, depth) and
 * (batch, depth, columns), multiplied, and the result, (batch, rows, columns), to that of the output. */
#include "einsum.h"

enum role { BATCH, ROWS, COLUMNS, DEPTH, NONE };

static int find_label(const int *labels, int n, int label)
{
	for (int d = 0; d < n; d++)
		if (labels[d] == label)
			return d;
	return -1;
}

static enum role role_of(const struct einsum *e, int label)
{
	bool a = find_label(e->label[0], e->shape[0].rank, label) >= 0,
	     b = find_label(e->label[1], e->shape[1].rank, label) >= 0;
	bool out = find_label(e->out, e->out_rank, label) >= 0;
	if (a && b)
		return out ? BATCH : DEPTH;
	return !out ? NONE : a ? ROWS : COLUMNS;
}

/* Collects the labels of a role in their order in a list. */
static void collect(const struct einsum *e, const int *list, int n, enum role role, int *label, int *count)
{
	for (int d = 0; d < n; d++)
		if (role_of(e, list[d]) == role)
			label[(*count)++] = list[d];
}

static bool is_product(const struct einsum *e, const struct npl_tensor *const *in)
{
	if (e->n != 2 || in[0]->dtype != NPL_F32)
		return false;
	for (int k = 0; k < 2; k++)
		for (int d = 0; d < e->shape[k].rank; d++) {
			int label = e->label[k][d];
			if (role_of(e, label) == NONE || find_label(e->label[k], e->shape[k].rank, label) != d ||
			    e->shape[k].dim[d] != e->size[label])
				return false;
		}
	return true;
}

/* Returns the product of the sizes of all labels of a role. */
static int64_t extent(const struct einsum *e, enum role role)
{
	int64_t product = 1;
	for (int label = 0; label < EINSUM_LABELS; label++)
		if (e->size[label] >= 0 && role_of(e, label) == role)
			product *= e->size[label];
	return product;
}

/* Brings the operand's dimensions into the order of the labels: gives its own data where they are in that order, else a
 * copy that the caller frees. */
static int order_operand(const struct einsum *e, const struct npl_tensor *x, int operand, const int *order,
			 struct npl_tensor *result, struct npl_err *err)
{
	int rank = x->shape.rank;
	int64_t perm[NPL_MAX_RANK];
	bool in_order = true;
	for (int d = 0; d < rank; d++) {
		perm[d] = find_label(e->label[operand], rank, order[d]);
		in_order &= perm[d] == d;
	}
	*result = (struct npl_tensor){.dtype = NPL_F32, .shape = x->shape, .data = x->data};
	if (in_order)
		return 0;
	if (npl_tensor_alloc(result, err))
		return NPL_ENOMEM;
	op_permute(sizeof(float), rank, x->shape.dim, perm, x->data, result->data);
	return 0;
}

static int multiply(const struct einsum *e, const float *a, const float *b, float *y, struct npl_err *err)
{
	int64_t rows = extent(e, ROWS), cols = extent(e, COLUMNS), depth = extent(e, DEPTH), batch = extent(e, BATCH);
	for (int64_t i = 0; i < batch * rows * cols; i++)
		y[i] = 0.0f;
	for (int64_t i = 0; i < batch && rows && cols && depth; i++) {
		struct op_product product = {.rows = rows,
					     .cols = cols,
					     .depth = depth,
					     .a = a + i * rows * depth,
					     .a_stride = depth,
					     .y = y + i * rows * cols,
					     .y_stride = cols};
		struct op_matrix b_labels = {b + i * depth * cols, cols, false};
		if (op_product_matrix(&product, &b_labels, err))
			return NPL_ENOMEM;
	}
	return 0;
}

int einsum_product(const struct einsum *e, const struct npl_tensor *const *in, struct npl_tensor *out, bool *is_done,
		   struct npl_err *err)
{
	int a_labels[NPL_MAX_RANK] = {0}, b_labels[NPL_MAX_RANK] = {0}, result_labels[NPL_MAX_RANK] = {0}, n_a = 0,
	    n_b = 0, n_result = 0;
	struct npl_tensor a = {0}, b = {0}, y = {.dtype = NPL_F32, .shape = {.rank = e->out_rank}, .data = out->data};
	int64_t perm[NPL_MAX_RANK];
	bool in_order = true;
	*is_done = is_product(e, in);
	if (!*is_done)
		return 0;
	const int *a_source = e->label[0], *b_source = e->label[1];
	collect(e, e->out, e->out_rank, BATCH, a_labels, &n_a);
	collect(e, a_source, e->shape[0].rank, ROWS, a_labels, &n_a);
	collect(e, a_source, e->shape[0].rank, DEPTH, a_labels, &n_a);
	collect(e, e->out, e->out_rank, BATCH, b_labels, &n_b);
	collect(e, a_source, e->shape[0].rank, DEPTH, b_labels, &n_b);
	collect(e, b_source, e->shape[1].rank, COLUMNS, b_labels, &n_b);
	collect(e, e->out, e->out_rank, BATCH, result_labels, &n_result);
	collect(e, a_source, e->shape[0].rank, ROWS, result_labels, &n_result);
	collect(e, b_source, e->shape[1].rank, COLUMNS, result_labels, &n_result);
	for (int d = 0; d < n_result; d++) {
		y.shape.dim[d] = e->size[result_labels[d]];
		perm[d] = find_label(result_labels, n_result, e->out[d]);
		in_order &= perm[d] == d;
	}
	int rc = order_operand(e, in[0], 0, a_labels, &a, err);
	if (!rc)
		rc = order_operand(e, in[1], 1, b_labels, &b, err);
	if (!rc && !in_order)
		rc = npl_tensor_alloc(&y, err);
	if (!rc)
		rc = multiply(e, a.data, b.data, y.data, err);
	if (!rc && !in_order)
		op_permute(sizeof(float), n_result, y.shape.dim, perm, y.data, out->data);
	npl_tensor_free(&a);
	npl_tensor_free(&b);
	npl_tensor_free(&y);
	return rc;
}
