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

static bool factor_of(const struct rule_context *context, int k, bool left, struct factor *m)
{
	const int rank = shape_of(context, k)->rank;
	*m = (struct factor){.k = k, .rank = rank, .row = rank - 2, .column = rank - 1};
	if (rank == 1 && left)
		m->row = -1;
	if (rank == 1 && !left) {
		m->row = 0;
		m->column = -1;
	}
	m->has_samples = has_samples(context, k);
	return !m->has_samples || samples_of(context, k, &m->spread);
}

/* Follows samples through MatMul and its integer forms. a and b are inputs ka and kb. */
bool follow_product(const struct rule_context *context, int ka, int kb)
{
	struct factor a, b;
	struct spread out, other_expected;
	if (!factor_of(context, ka, true, &a) || !factor_of(context, kb, false, &b))
		return false;
	const struct factor *m = a.has_samples ? &a : &b, *o = a.has_samples ? &b : &a;
	const bool left = m == &a, in_stack = m->rank > 2 && m->spread.axis < m->rank - 2;
	out = m->spread;
	/* The samples lie in the matrix itself. As rows of a or columns of b they stay apart; in the dimension that is
	 * summed over they mix. */
	if (!in_stack) {
		if (m->spread.axis == (left ? a.column : b.row) || o->has_samples)
			return false;
		out.axis = out_shape(context)->rank - 1 - (left && b.rank > 1);
		return is_steady(context, o->k) && place_all(context, &out);
	}
	/* The dimensions of the other operand's stack. Stacks are aligned at their ends. */
	const int stack = o->rank > 2 ? o->rank - 2 : 0;
	other_expected = m->spread;
	other_expected.axis = m->spread.axis - (m->rank - 2) + stack;
	if (o->has_samples ? !spreads_equal(&o->spread, &other_expected) || o->spread.axis >= stack : false)
		return false;
	if (!o->has_samples && (other_expected.axis >= 0 && stack ? !is_uniform(context, o->k, &other_expected)
								  : !is_steady(context, o->k)))
		return false;
	const int deep = m->rank > o->rank ? m->rank : o->rank; /* the result's stack is the deeper one's */
	out.axis = m->spread.axis + deep - m->rank;
	return place_all(context, &out);
}

bool follow_gemm(const struct rule_context *context)
{
	const struct npl_gemm_attrs *gemm = &context->node->attrs.gemm;
	const bool left = has_samples(context, 0);
	struct spread x, c;
	if (left == has_samples(context, 1) || !samples_of(context, left ? 0 : 1, &x) ||
	    !is_steady(context, left ? 1 : 0))
		return false; /* the bias alone may have samples: too rare for a rule */
	if (x.axis != (left ? gemm->trans_a : !gemm->trans_b))
		return false;
	x.axis = !left;
	if (value_of(context, 2) >= 0) {
		struct spread bias_expected = x;
		bias_expected.axis -= 2 - shape_of(context, 2)->rank;
		if (has_samples(context, 2) ? !samples_of(context, 2, &c) || !spreads_equal(&c, &bias_expected)
					    : !is_uniform(context, 2, &bias_expected))
			return false;
	}
	return place_all(context, &x);
}

bool follow_integer_product(const struct rule_context *context, int ka, int kb)
{
	const bool linear = context->node->op == NPL_OP_QLINEARMATMUL;
	const int scales[] = {linear ? 1 : 2, 2, linear ? 4 : 3, linear ? 5 : 3};
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
		const int v = value_of(context, scales[i]);
		const bool of_samples = has_samples(context, i < 2 ? ka : kb);
		if (!is_steady(context, scales[i]) ||
		    (v >= 0 && of_samples && npl_shape_count(&context->f->graph->value[v].shape) != 1))
			return false;
	}
	return (!linear || (is_steady(context, 6) && is_steady(context, 7))) && follow_product(context, ka, kb);
}

/* Follows samples through RNN, GRU and LSTM, with X (steps, batch, size), lengths (batch) and states (directions,
 * batch, size). With batch_first X and the states begin with the batch. */
bool follow_recurrent(const struct rule_context *context)
{
	enum { X, W, R, B, LENGTHS, FIRST_STATE, LAST_STATE, PEEPHOLES };
	const bool first = context->node->attrs.recurrent.batch_first;
	struct spread x, spread;
	for (int k = W; k <= PEEPHOLES; k++)
		if ((k <= B || k == PEEPHOLES) && !is_steady(context, k))
			return false;
	if (!samples_of(context, X, &x))
		return false;
	if (x.axis != !first) {
		if (x.axis == first)
			*context->reason = "goes through the samples step by step";
		return false;
	}
	for (int k = LENGTHS; k <= LAST_STATE; k++) {
		struct spread input_expected = x;
		input_expected.axis = k == LENGTHS ? 0 : !first;
		if (has_samples(context, k)
			    ? !samples_of(context, k, &spread) || !spreads_equal(&spread, &input_expected)
			    : !is_uniform(context, k, &input_expected))
			return false;
	}
	for (int k = 0; k < context->node->n_out; k++) { /* Y (steps, directions, batch, size), then the states */
		struct spread output_spread = x;
		output_spread.axis = first ? 0 : k ? 1 : 2;
		if (context->node->out[k] >= 0 && !follow_set_spread(context->f, context->node->out[k], &output_spread))
			return false;
	}
	return true;
}

/* Returns the dimension that has a label in a term of the equation; -1: none has it; -2: several have it. */
static int dimension_of(const char *term, size_t length, char label)
{
	int d = 0, dimension = -1;
	for (size_t i = 0; i < length; i++) {
		if (term[i] == ' ')
			continue;
		if (term[i] == label)
			dimension = dimension == -1 ? d : -2;
		d++;
	}
	return dimension;
}

static char label_at(const char *term, size_t length, int dimension)
{
	for (size_t i = 0; i < length; i++)
		if (term[i] != ' ' && dimension-- == 0)
			return term[i];
	return '\0';
}

/* Follows samples through Einsum. The samples' label must be in the result and in every operand that has samples. */
bool follow_einsum(const struct rule_context *context)
{
	const char *equation = context->node->attrs.einsum.equation, *arrow = equation ? strstr(equation, "->") : NULL;
	struct spread joint = {.axis = -1};
	char label = '\0';
	if (!arrow || strstr(equation, "..."))
		return false;
	/* The first pass finds the label, the second one what each operand has of it. */
	for (int pass = 0; pass < 2; pass++) {
		const char *term = equation;
		for (int k = 0; k < context->node->n_in; k++) {
			const size_t length = strcspn(term, ",-");
			struct spread spread;
			if (has_samples(context, k)) {
				if (!samples_of(context, k, &spread))
					return false;
				if (!label)
					label = label_at(term, length, spread.axis);
				const int d = dimension_of(term, length, label);
				if (d != spread.axis ||
				    (joint.axis >= 0 && (spread.outer != joint.outer || spread.inner != joint.inner)))
					return false;
				joint = spread;
			} else if (pass) {
				spread = joint;
				spread.axis = dimension_of(term, length, label);
				if (spread.axis == -2 || !is_uniform(context, k, &spread))
					return false;
			}
			term += length + (term[length] == ',');
		}
	}
	joint.axis = dimension_of(arrow + 2, strlen(arrow + 2), label);
	return joint.axis >= 0 && place_all(context, &joint);
}
