/* SPDX-License-Identifier: MIT
 *
 * Counts the work of an operator on a processor (processor_model.h): its operations of each class, and the bytes that
 * move. The numbers of each operator are in its row of ops.def. Products of matrices are counted apart, as
 * multiply-accumulates. */
#include "processor_model.h"

#include "core/activation.h"

/* The steps of the functions, as in the Cephes library: those of range reduction, of a polynomial and of putting
 * together. exp has 3 + 6 + 3, log 4 + 9 + 3, sine and its like 4 + 6 + 2, and the arc functions 3 + 6 + 3 beside a
 * division or root. erf is by Abramowitz and Stegun 7.1.26: 2 steps for its argument, 5 of Horner's scheme, the exp of
 * a square, and 4 for sign and rest, beside a division. */
enum { EXP = 12, LOG = 16, POW = LOG + EXP, ERF = 2 + 5 + 1 + EXP + 4, SINE = 12, ARC = 12 };

struct cost {
	double result[NPL_CLASSES]; /* for each result: simple, divide, function, reduce, scatter */
	double input;               /* values put together for each value read */
};

/* The last column of ops.def. */
static const struct cost costs[NPL_OPS] = {
#define EACH(...)       .result = {__VA_ARGS__}
#define READ(read)      .input = read
#define BOTH(read, ...) .result = {__VA_ARGS__}, .input = read

#define NPL_OP(id, onnx_name, versions, min_in, max_in, outputs, prefix, family, flags, cost) [NPL_OP_##id] = {cost},
#include "npulab/ops.def"
#undef NPL_OP
#undef EACH
#undef READ
#undef BOTH
};

static double count_of(const struct npl_tensor *tensor)
{
	return tensor ? (double)npl_tensor_count(tensor) : 0;
}

static double area(const struct npl_window *window)
{
	double n = 1;
	for (int i = 0; i < window->rank || i < NPL_SPATIAL; i++)
		n *= window->kernel[i] > 0 ? (double)window->kernel[i] : 1;
	return n;
}

/* Returns the cost of a power. With a known exponent it is products, a division or a root. */
static struct cost power(const struct npl_tensor *exponent, struct cost general_cost)
{
	if (!exponent || npl_tensor_count(exponent) != 1 || !exponent->data)
		return general_cost;
	const double e = npl_tensor_real(exponent, 0);
	if (e == 1 || e == 2)
		return (struct cost){{1}, 0};
	if (e == 3)
		return (struct cost){{2}, 0};
	if (e == 0.5 || e == -1)
		return (struct cost){{0, 1}, 0};
	if (e == -0.5)
		return (struct cost){{0, 2}, 0};
	return general_cost;
}

/* Says whether values that are side by side in the result came from scattered addresses. */
static bool scatters(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *x)
{
	const int rank = x ? x->shape.rank : 0;
	if (op == NPL_OP_TRANSPOSE) { /* the last dimension that is more than 1 moves */
		const struct npl_transpose_attrs *transpose = &attrs->transpose;
		int last = rank - 1, from = rank - 1;
		while (last > 0 && x->shape.dim[last] == 1)
			last--;
		for (; from > 0 && from < transpose->rank && x->shape.dim[transpose->perm[from]] == 1; from--)
			;
		return rank && (from < transpose->rank ? transpose->perm[from] : 0) != last;
	}
	if (op == NPL_OP_SLICE)
		return rank && attrs->slice.step[rank - 1] != 1;
	if (op == NPL_OP_GATHER) { /* it gathers along the last dimension */
		const int64_t named = attrs->gather.axis, axis = named < 0 ? named + rank : named;
		return axis == rank - 1;
	}
	return false;
}

/* Says whether the operator is a product whose inputs after the first are the layer's own. */
static bool takes_weights(enum npl_op op)
{
	return npl_op_defs[op].flags & (NPL_OP_IS_GEMM | NPL_OP_HAS_MACS) && op != NPL_OP_MATMUL &&
	       op != NPL_OP_ATTENTION && op != NPL_OP_EINSUM;
}

static struct cost cost_of(enum npl_op op, const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in)
{
	struct cost cost = costs[op];
	switch (op) {
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
		cost = (struct cost){{[NPL_REDUCE] = area(&attrs->pool.window)}, 0};
		break;
	case NPL_OP_LPPOOL:
		cost = (struct cost){{area(&attrs->pool.window), 1, 0, area(&attrs->pool.window)}, 0};
		break;
	case NPL_OP_SUM:
	case NPL_OP_MEAN:
	case NPL_OP_MAX:
	case NPL_OP_MIN:
		cost.result[NPL_SIMPLE] = n_in > 2 ? n_in - 1 : 1;
		break;
	case NPL_OP_LRN: /* a power of -3/4, the usual one, is two roots, a product and a division */
		if (attrs->lrn.beta == 0.75f)
			cost = (struct cost){{5, 3}, 0};
		cost.result[NPL_SIMPLE] += (double)attrs->lrn.size;
		break;
	case NPL_OP_POW:
		cost = power(n_in > 1 ? in[1] : NULL, cost);
		break;
	case NPL_OP_RESIZE:
	case NPL_OP_UPSAMPLE: /* each result is made of so many weighted values of the input */
		cost.result[NPL_SCATTERED_ACCESS] = attrs->resize.neighbours > 1 ? (double)attrs->resize.neighbours : 1;
		cost.result[NPL_SIMPLE] = attrs->resize.neighbours > 1 ? (double)attrs->resize.neighbours : 0;
		break;
	case NPL_OP_TOPK:
		cost.input = attrs->topk.comparisons > 1 ? (double)attrs->topk.comparisons : 1;
		break;
	default:
		if (scatters(op, attrs, n_in ? in[0] : NULL))
			cost = (struct cost){{[NPL_SCATTERED_ACCESS] = 1}, 0};
	}
	return cost;
}

/* Adds the part of Attention that is no product: the Softmax of its scores, each of which is a product of two rows. */
static void add_scores(struct npl_processor_counts *counts, const struct npl_attrs *attrs, const struct npl_tensor *q)
{
	const int rank = q ? q->shape.rank : 0;
	double row = rank ? (double)q->shape.dim[rank - 1] : 1;
	if (rank == 3 && attrs->attention.q_heads > 0)
		row /= (double)attrs->attention.q_heads;
	const double scores = row > 0 ? (double)counts->macs / (2 * row) : 0;
	counts->operations[NPL_SIMPLE] += 3 * scores;
	counts->operations[NPL_REDUCE] += 2 * scores;
	counts->operations[NPL_FUNCTION] += EXP * scores;
}

struct npl_processor_counts npl_processor_count(enum npl_op op, const struct npl_attrs *attrs,
						const struct npl_tensor *const *in, int n_in,
						const struct npl_tensor *out, int n_out, uint64_t macs)
{
	struct npl_processor_counts counts = {.macs = macs};
	const struct cost cost = cost_of(op, attrs, in, n_in);
	double input_elements = 0, output_elements = 0;
	for (int k = 0; k < n_out; k++) {
		output_elements += count_of(&out[k]);
		counts.bytes += npl_tensor_bytes(&out[k]);
	}
	const uint64_t results = counts.bytes;
	for (int k = 0; k < n_in; k++) {
		const uint64_t input_bytes = in[k] ? npl_tensor_bytes(in[k]) : 0;
		input_elements += count_of(in[k]);
		*(k > 0 && takes_weights(op) ? &counts.weight_bytes : &counts.bytes) +=
			k == 0 && (npl_op_defs[op].flags & NPL_OP_READS_PART) && input_bytes > results ? results
												       : input_bytes;
	}
	for (int c = 0; c < NPL_CLASSES; c++)
		counts.operations[c] = cost.result[c] * output_elements;
	counts.operations[NPL_REDUCE] += cost.input * input_elements;
	if (op == NPL_OP_ATTENTION)
		add_scores(&counts, attrs, n_in ? in[0] : NULL);
	return counts;
}

void npl_processor_add_activation(struct npl_processor_counts *counts, enum npl_activation activation,
				  const struct npl_tensor *out)
{
	const struct cost *cost = &costs[npl_activation_op(activation)];
	for (int c = 0; c < NPL_CLASSES; c++)
		counts->operations[c] += cost->result[c] * count_of(out);
}

struct npl_processor_counts npl_processor_conversion(const struct npl_tensor *from, const struct npl_tensor *to)
{
	return (struct npl_processor_counts){.operations = {count_of(to)},
					     .bytes = npl_tensor_bytes(from) + npl_tensor_bytes(to)};
}
