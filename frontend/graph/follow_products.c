/* SPDX-License-Identifier: MIT
 *
 * Follows samples through sums of products: matrices, einsum, recurrent networks (follow.h). */
#include "follow_rules.h"

#include <string.h>

/* One operand of a product: its dimensions before the last two are the stack's. A vector is a row (left) or a column
 * (right). */
struct factor {
	int k, rank, row, column; /* row and column: its dimensions, -1 of a vector's missing one */
	bool has_samples;
	struct spread spread;
};

static bool factor_of(const struct rule_context *at, int k, bool left, struct factor *m)
{
	const int rank = shape_of(at, k)->rank;
	*m = (struct factor){.k = k, .rank = rank, .row = rank - 2, .column = rank - 1};
	if (rank == 1 && left)
		m->row = -1;
	if (rank == 1 && !left) {
		m->row = 0;
		m->column = -1;
	}
	m->has_samples = has_samples(at, k);
	return !m->has_samples || samples_of(at, k, &m->spread);
}

/* Follows samples through MatMul and its integer forms. a and b are inputs ka and kb. */
bool follow_product(const struct rule_context *at, int ka, int kb)
{
	struct factor a, b;
	struct spread out, there;
	if (!factor_of(at, ka, true, &a) || !factor_of(at, kb, false, &b))
		return false;
	const struct factor *m = a.has_samples ? &a : &b, *o = a.has_samples ? &b : &a;
	const bool left = m == &a, in_stack = m->rank > 2 && m->spread.axis < m->rank - 2;
	out = m->spread;
	/* The samples lie in the matrix itself. As rows of a or columns of b they stay apart; in the dimension that is
	 * summed over they mix. */
	if (!in_stack) {
		if (m->spread.axis == (left ? a.column : b.row) || o->has_samples)
			return false;
		out.axis = out_shape(at)->rank - 1 - (left && b.rank > 1);
		return is_steady(at, o->k) && place_all(at, &out);
	}
	/* The dimensions of the other operand's stack. Stacks are aligned at their ends. */
	const int stack = o->rank > 2 ? o->rank - 2 : 0;
	there = m->spread;
	there.axis = m->spread.axis - (m->rank - 2) + stack;
	if (o->has_samples ? !same(&o->spread, &there) || o->spread.axis >= stack : false)
		return false;
	if (!o->has_samples && (there.axis >= 0 && stack ? !is_uniform(at, o->k, &there) : !is_steady(at, o->k)))
		return false;
	const int deep = m->rank > o->rank ? m->rank : o->rank; /* the result's stack is the deeper one's */
	out.axis = m->spread.axis + deep - m->rank;
	return place_all(at, &out);
}

bool follow_gemm(const struct rule_context *at)
{
	const struct npl_gemm_attrs *gemm = &at->node->attrs.gemm;
	const bool left = has_samples(at, 0);
	struct spread x, c;
	if (left == has_samples(at, 1) || !samples_of(at, left ? 0 : 1, &x) || !is_steady(at, left ? 1 : 0))
		return false; /* the bias alone may have samples: too rare for a rule */
	if (x.axis != (left ? gemm->trans_a : !gemm->trans_b))
		return false;
	x.axis = !left;
	if (value_of(at, 2) >= 0) {
		struct spread there = x;
		there.axis -= 2 - shape_of(at, 2)->rank;
		if (has_samples(at, 2) ? !samples_of(at, 2, &c) || !same(&c, &there) : !is_uniform(at, 2, &there))
			return false;
	}
	return place_all(at, &x);
}

bool follow_integer_product(const struct rule_context *at, int ka, int kb)
{
	const bool linear = at->node->op == NPL_OP_QLINEARMATMUL;
	const int scales[] = {linear ? 1 : 2, 2, linear ? 4 : 3, linear ? 5 : 3};
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
		const int v = value_of(at, scales[i]);
		const bool of_samples = has_samples(at, i < 2 ? ka : kb);
		if (!is_steady(at, scales[i]) ||
		    (v >= 0 && of_samples && npl_shape_count(&at->f->graph->value[v].shape) != 1))
			return false;
	}
	return (!linear || (is_steady(at, 6) && is_steady(at, 7))) && follow_product(at, ka, kb);
}

/* Follows samples through RNN, GRU and LSTM, with X (steps, batch, size), lengths (batch) and states (directions,
 * batch, size). With batch_first X and the states begin with the batch. */
bool follow_recurrent(const struct rule_context *at)
{
	enum { X, W, R, B, LENGTHS, FIRST_STATE, LAST_STATE, PEEPHOLES };
	const bool first = at->node->attrs.recurrent.batch_first;
	struct spread x, own;
	for (int k = W; k <= PEEPHOLES; k++)
		if ((k <= B || k == PEEPHOLES) && !is_steady(at, k))
			return false;
	if (!samples_of(at, X, &x))
		return false;
	if (x.axis != !first) {
		if (x.axis == first)
			*at->reason = "goes through the samples step by step";
		return false;
	}
	for (int k = LENGTHS; k <= LAST_STATE; k++) {
		struct spread there = x;
		there.axis = k == LENGTHS ? 0 : !first;
		if (has_samples(at, k) ? !samples_of(at, k, &own) || !same(&own, &there) : !is_uniform(at, k, &there))
			return false;
	}
	for (int k = 0; k < at->node->n_out; k++) { /* Y (steps, directions, batch, size), then the states */
		struct spread there = x;
		there.axis = first ? 0 : k ? 1 : 2;
		if (at->node->out[k] >= 0 && !follow_set_spread(at->f, at->node->out[k], &there))
			return false;
	}
	return true;
}

/* Returns the dimension that has a label in a term of the equation; -1: none has it; -2: several have it. */
static int dimension_of(const char *term, size_t length, char label)
{
	int d = 0, found = -1;
	for (size_t i = 0; i < length; i++) {
		if (term[i] == ' ')
			continue;
		if (term[i] == label)
			found = found == -1 ? d : -2;
		d++;
	}
	return found;
}

static char label_at(const char *term, size_t length, int dimension)
{
	for (size_t i = 0; i < length; i++)
		if (term[i] != ' ' && dimension-- == 0)
			return term[i];
	return '\0';
}

/* Follows samples through Einsum. The samples' label must be in the result and in every operand that has samples. */
bool follow_einsum(const struct rule_context *at)
{
	const char *equation = at->node->attrs.einsum.equation, *arrow = equation ? strstr(equation, "->") : NULL;
	struct spread joint = {.axis = -1};
	char label = '\0';
	if (!arrow || strstr(equation, "..."))
		return false;
	/* The first pass finds the label, the second one what each operand has of it. */
	for (int pass = 0; pass < 2; pass++) {
		const char *term = equation;
		for (int k = 0; k < at->node->n_in; k++) {
			const size_t length = strcspn(term, ",-");
			struct spread own;
			if (has_samples(at, k)) {
				if (!samples_of(at, k, &own))
					return false;
				if (!label)
					label = label_at(term, length, own.axis);
				const int d = dimension_of(term, length, label);
				if (d != own.axis ||
				    (joint.axis >= 0 && (own.outer != joint.outer || own.inner != joint.inner)))
					return false;
				joint = own;
			} else if (pass) {
				own = joint;
				own.axis = dimension_of(term, length, label);
				if (own.axis == -2 || !is_uniform(at, k, &own))
					return false;
			}
			term += length + (term[length] == ',');
		}
	}
	joint.axis = dimension_of(arrow + 2, strlen(arrow + 2), label);
	return joint.axis >= 0 && place_all(at, &joint);
}
