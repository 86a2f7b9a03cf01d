/* SPDX-License-Identifier: MIT
 *
 * Reading of einsum equations (einsum.h): "bij,bjk->bik", "...ij->...ji", "ii". Without "->" the output has the labels
 * that occur once, in alphabetical order, after the dimensions of "...". */
#include <string.h>

#include "core/base/message.h"
#include "einsum.h"

static int label_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

struct term {
	int n; /* entries of `label`: each the number of a letter, or -1 in the place of "..." */
	int label[NPL_MAX_RANK + 1];
	bool dots;
};

/* Reads one term, to a comma, "->" or the end. */
static int read_term(const char *equation, const char **cursor, struct term *term, struct npl_err *err)
{
	const char *c = *cursor;
	*term = (struct term){0};
	for (; *c && *c != ',' && *c != '-'; c++) {
		bool dots = !strncmp(c, "...", 3);
		if (*c == ' ')
			continue;
		if ((!dots && label_of(*c) < 0) || (dots && term->dots))
			return npl_fail(err, NPL_EINPUT, "the equation '%s' makes no sense at '%.10s'", equation, c);
		if (term->n - term->dots + !dots > NPL_MAX_RANK)
			return npl_fail(err, NPL_EINPUT, "a term of the equation '%s' has more than %d letters",
					equation, NPL_MAX_RANK);
		term->label[term->n++] = dots ? -1 : label_of(*c);
		term->dots |= dots;
		c += dots ? 2 : 0;
	}
	*cursor = c;
	return 0;
}

static int set_size(struct einsum *e, int operand, int d, int label, struct npl_err *err)
{
	int64_t dim = e->shape[operand].dim[d], *size = &e->size[label];
	bool diagonal_fits = true;
	for (int k = 0; k < d; k++)
		diagonal_fits &= e->label[operand][k] != label || e->shape[operand].dim[k] == dim;
	if (!diagonal_fits || (*size >= 0 && *size != dim && *size != 1 && dim != 1))
		return npl_fail(err, NPL_EINPUT, "dimension %d of operand %d is %lld, its label has %lld elsewhere", d,
				operand, (long long)dim, (long long)*size);
	if (*size < 0 || *size == 1)
		*size = dim;
	e->label[operand][d] = label;
	return 0;
}

/* Gives every dimension of the operand its label. */
static int place_operand(struct einsum *e, int operand, const struct term *term, struct npl_err *err)
{
	const struct npl_shape *shape = &e->shape[operand];
	int dotted = shape->rank - (term->n - term->dots), d = 0;
	if (dotted < 0 || (dotted > 0 && !term->dots))
		return npl_fail(err, NPL_EINPUT, "operand %d is %s, its term has %d letter%s", operand, OP_TEXT(shape),
				term->n - term->dots, npl_plural(term->n - term->dots));
	for (int i = 0; i < term->n; i++) {
		if (term->label[i] >= 0) {
			if (set_size(e, operand, d++, term->label[i], err))
				return NPL_EINPUT;
			continue;
		}
		for (int k = dotted; k > 0; k--)
			if (set_size(e, operand, d++, EINSUM_LABELS - k, err))
				return NPL_EINPUT;
	}
	return 0;
}

static int add_output(struct einsum *e, int label, struct npl_err *err)
{
	if (e->out_rank == NPL_MAX_RANK)
		return npl_fail(err, NPL_EINPUT, "the output of the equation has more than %d dimensions",
				NPL_MAX_RANK);
	for (int d = 0; d < e->out_rank; d++)
		if (e->out[d] == label)
			return npl_fail(err, NPL_EINPUT, "a letter stands twice in the output of the equation");
	if (e->size[label] < 0)
		return npl_fail(err, NPL_EINPUT, "a letter of the equation's output is in no operand");
	e->out[e->out_rank++] = label;
	return 0;
}

static int add_dots(struct einsum *e, struct npl_err *err)
{
	for (int label = EINSUM_LETTERS; label < EINSUM_LABELS; label++)
		if (e->size[label] >= 0 && add_output(e, label, err))
			return NPL_EINPUT;
	return 0;
}

static int explicit_output(struct einsum *e, const struct term *term, struct npl_err *err)
{
	for (int i = 0; i < term->n; i++)
		if (term->label[i] < 0 ? add_dots(e, err) : add_output(e, term->label[i], err))
			return NPL_EINPUT;
	return 0;
}

static int implicit_output(struct einsum *e, struct npl_err *err)
{
	if (add_dots(e, err))
		return NPL_EINPUT;
	for (int label = 0; label < EINSUM_LETTERS; label++) {
		int uses = 0;
		for (int k = 0; k < e->n; k++)
			for (int d = 0; d < e->shape[k].rank; d++)
				uses += e->label[k][d] == label;
		if (uses == 1 && add_output(e, label, err))
			return NPL_EINPUT;
	}
	return 0;
}

static void find_sums(struct einsum *e)
{
	for (int label = 0; label < EINSUM_LABELS; label++) {
		bool is_output = e->size[label] < 0;
		for (int d = 0; d < e->out_rank; d++)
			is_output |= e->out[d] == label;
		if (!is_output)
			e->sum[e->n_sums++] = label;
	}
}

int einsum_parse(const char *equation, const struct npl_tensor *const *in, int n_in, struct einsum *e,
		 struct npl_err *err)
{
	const char *cursor = equation;
	struct term term;
	*e = (struct einsum){.n = n_in};
	if (n_in > EINSUM_OPERANDS)
		return npl_fail(err, NPL_EINPUT, "the equation has %d operands, at most %d are supported", n_in,
				EINSUM_OPERANDS);
	memset(e->size, -1, sizeof e->size);
	for (int k = 0; k < n_in; k++) {
		e->shape[k] = in[k]->shape;
		if (read_term(equation, &cursor, &term, err) || place_operand(e, k, &term, err))
			return NPL_EINPUT;
		if ((*cursor == ',') != (k + 1 < n_in))
			return npl_fail(err, NPL_EINPUT, "the equation '%s' is not one of %d operands", equation, n_in);
		cursor += *cursor == ',';
	}
	bool is_explicit = cursor[0] == '-' && cursor[1] == '>';
	cursor += is_explicit ? 2 : 0;
	if (is_explicit && read_term(equation, &cursor, &term, err))
		return NPL_EINPUT;
	if (*cursor)
		return npl_fail(err, NPL_EINPUT, "the equation '%s' makes no sense at '%.10s'", equation, cursor);
	if (is_explicit ? explicit_output(e, &term, err) : implicit_output(e, err))
		return NPL_EINPUT;
	find_sums(e);
	return 0;
}

int64_t einsum_stride(const struct einsum *e, int operand, int label)
{
	const struct npl_shape *shape = &e->shape[operand];
	int64_t stride[NPL_MAX_RANK], sum = 0;
	op_strides(shape, stride);
	for (int d = 0; d < shape->rank; d++)
		if (e->label[operand][d] == label && shape->dim[d] != 1)
			sum += stride[d];
	return sum;
}
