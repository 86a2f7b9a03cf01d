/* SPDX-License-Identifier: MIT
 *
 * Softmax (exp(x - max) over its sum), LogSoftmax (its logarithm) and Hardmax (1 at the first greatest, 0 elsewhere),
 * in double. From opset 13 along one axis (default the last); before, over all dimensions from the axis on (default 1)
 * taken together, as if the tensor were a matrix. */
#include <math.h>

#include "exact_many.h"
#include "ops.h"

OP_ATTRS(op_softmax_attrs)
{
	return op_attr_int(list, "axis", op_before(out, 13) ? 1 : -1, &out->along.axis, err);
}

OP_SHAPE(op_softmax_shape)
{
	bool wide = n_in > 0 && in[0] && in[0]->dtype == NPL_F64;
	if (op_inputs(in, n_in, 1, wide ? NPL_F64 : NPL_F32, err))
		return NPL_EINPUT;
	int rank = in[0]->shape.rank;
	/* As a matrix, an axis after the last dimension still has a meaning: rows of one element. */
	if (op_axis(&attrs->along.axis, rank, op_before(attrs, 13) ? rank : rank - 1, err))
		return NPL_EINPUT;
	out->dtype = in[0]->dtype;
	out->shape = in[0]->shape;
	return 0;
}

enum {
	/* the vectors that are taken together, so that a sum, which keeps its order, does not wait for itself */
	VECTORS = 8,
	PIECE = 64 /* values of each that are taken at a time: all stay in the first cache */
};

/* Where the values of a group of vectors are: value k of vector v at k * stride + v * step. */
struct group {
	int64_t n, stride, step;
	int vectors;
};

/* Writes 1 at the first greatest value, or the last NaN, and 0 elsewhere. */
#define DEFINE_HARDMAX(type)                                                                                           \
	static void hardmax_##type(const struct group *g, const type *x, type *y)                                      \
	{                                                                                                              \
		for (int v = 0; v < g->vectors; v++, x += g->step, y += g->step) {                                     \
			type most = -INFINITY;                                                                         \
			int64_t first = 0;                                                                             \
			for (int64_t k = 0; k < g->n; k++)                                                             \
				if (x[k * g->stride] > most || x[k * g->stride] != x[k * g->stride]) {                 \
					most = x[k * g->stride];                                                       \
					first = k;                                                                     \
				}                                                                                      \
			for (int64_t k = 0; k < g->n; k++)                                                             \
				y[k * g->stride] = k == first;                                                         \
		}                                                                                                      \
	}
DEFINE_HARDMAX(float)
DEFINE_HARDMAX(double)

/* Returns the greatest of n neighbouring values; a NaN where there is one. */
#define DEFINE_MAX(type)                                                                                               \
	static type greatest_##type(int64_t n, const type *x)                                                          \
	{                                                                                                              \
		enum { LANES = 16 };                                                                                   \
		type lane[LANES], most = -INFINITY;                                                                    \
		int unordered = 0;                                                                                     \
		int64_t k = 0;                                                                                         \
		for (int l = 0; l < LANES; l++)                                                                        \
			lane[l] = most;                                                                                \
		for (; k + LANES <= n; k += LANES)                                                                     \
			for (int l = 0; l < LANES; l++) {                                                              \
				lane[l] = x[k + l] > lane[l] ? x[k + l] : lane[l];                                     \
				unordered |= x[k + l] != x[k + l];                                                     \
			}                                                                                              \
		for (; k < n; k++) {                                                                                   \
			most = x[k] > most ? x[k] : most;                                                              \
			unordered |= x[k] != x[k];                                                                     \
		}                                                                                                      \
		for (int l = 0; l < LANES; l++)                                                                        \
			most = lane[l] > most ? lane[l] : most;                                                        \
		return unordered ? (type)NAN : most;                                                                   \
	}
DEFINE_MAX(float)
DEFINE_MAX(double)

/* Defines softmax_TYPE, which computes the vectors of a group. With `along` each vector's values lie side by side, else
 * the vectors do. The exponentials of each vector are summed in their order. */
#define DEFINE_GROUP(type)                                                                                             \
	static inline __attribute__((always_inline)) void softmax_##type(                                              \
		const struct group *g, bool along, int vectors, bool logarithm, const type *x, type *y)                \
	{                                                                                                              \
		double piece[VECTORS * PIECE], most[VECTORS], sum[VECTORS] = {0};                                      \
		for (int v = 0; v < vectors; v++)                                                                      \
			most[v] = (double)(along ? greatest_##type(g->n, x + v * g->step) : (type)-INFINITY);          \
		for (int64_t k = 0; k < g->n && !along; k++)                                                           \
			for (int v = 0; v < vectors; v++) {                                                            \
				const double value = (double)x[k * g->stride + v];                                     \
				most[v] = value > most[v] || value != value ? value : most[v];                         \
			}                                                                                              \
		for (int64_t from = 0; from < g->n; from += PIECE) {                                                   \
			const int m = g->n - from < PIECE ? (int)(g->n - from) : PIECE;                                \
			const type *xs = x + from * (along ? 1 : g->stride);                                           \
			type *ys = y + from * (along ? 1 : g->stride);                                                 \
			for (int v = 0; v < vectors && along; v++)                                                     \
				for (int k = 0; k < m; k++)                                                            \
					piece[v * PIECE + k] = (double)xs[v * g->step + k] - most[v];                  \
			for (int k = 0; k < m && !along; k++)                                                          \
				for (int v = 0; v < vectors; v++)                                                      \
					piece[k * vectors + v] = (double)xs[k * g->stride + v] - most[v];              \
			for (int v = 0; v < vectors && along; v++)                                                     \
				op_exact_many(OP_MANY_EXP, piece + v * PIECE, piece + v * PIECE, m);                   \
			if (!along)                                                                                    \
				op_exact_many(OP_MANY_EXP, piece, piece, (int64_t)m *vectors);                         \
			for (int k = 0; k < m; k++)                                                                    \
				for (int v = 0; v < vectors; v++)                                                      \
					sum[v] += piece[along ? v * PIECE + k : k * vectors + v];                      \
			for (int v = 0; v < vectors && along && !logarithm; v++)                                       \
				for (int k = 0; k < m; k++)                                                            \
					ys[v * g->step + k] = (type)piece[v * PIECE + k];                              \
			for (int k = 0; k < m && !along && !logarithm; k++)                                            \
				for (int v = 0; v < vectors; v++)                                                      \
					ys[k * g->stride + v] = (type)piece[k * vectors + v];                          \
		}                                                                                                      \
		for (int v = 0; v < vectors && logarithm; v++)                                                         \
			sum[v] = op_log(sum[v]);                                                                       \
		const int64_t outer = along ? vectors : g->n, inner = along ? g->n : vectors,                          \
			      step = along ? g->step : g->stride;                                                      \
		for (int64_t a = 0; a < outer; a++)                                                                    \
			for (int64_t b = 0; b < inner; b++) {                                                          \
				const int64_t v = along ? a : b, i = a * step + b;                                     \
				y[i] = (type)(logarithm ? (double)x[i] - most[v] - sum[v] : (double)y[i] / sum[v]);    \
			}                                                                                              \
	}                                                                                                              \
	static void group_##type(enum npl_op op, const struct group *g, const type *x, type *y)                        \
	{                                                                                                              \
		const bool logarithm = op == NPL_OP_LOGSOFTMAX;                                                        \
		if (op == NPL_OP_HARDMAX)                                                                              \
			hardmax_##type(g, x, y);                                                                       \
		else if (g->stride == 1 && g->vectors == VECTORS)                                                      \
			softmax_##type(g, true, VECTORS, logarithm, x, y);                                             \
		else if (g->stride == 1)                                                                               \
			softmax_##type(g, true, g->vectors, logarithm, x, y);                                          \
		else if (g->vectors == VECTORS)                                                                        \
			softmax_##type(g, false, VECTORS, logarithm, x, y);                                            \
		else                                                                                                   \
			softmax_##type(g, false, g->vectors, logarithm, x, y);                                         \
	}
DEFINE_GROUP(float)
DEFINE_GROUP(double)

OP_RUN(op_softmax_run)
{
	const struct npl_shape *shape = &in[0]->shape;
	int axis = (int)attrs->along.axis;
	bool matrix = op_before(attrs, 13);
	int64_t outer = op_count(shape->dim, axis);
	int64_t n = matrix ? op_count(shape->dim + axis, shape->rank - axis) : shape->dim[axis];
	int64_t inner = matrix ? 1 : op_count(shape->dim + axis + 1, shape->rank - axis - 1);
	/* Vectors along the last dimension lie one after the other, others side by side. */
	struct group g = {.n = n, .stride = inner, .step = inner == 1 ? n : 1};
	const int64_t blocks = inner == 1 ? 1 : outer, n_vectors = inner == 1 ? outer : inner;
	for (int64_t b = 0; b < blocks; b++)
		for (int64_t v = 0; v < n_vectors; v += VECTORS) {
			const int64_t index = b * n * inner + v * g.step;
			g.vectors = n_vectors - v < VECTORS ? (int)(n_vectors - v) : VECTORS;
			if (out->dtype == NPL_F32)
				group_float(attrs->op, &g, (const float *)in[0]->data + index,
					    (float *)out->data + index);
			else
				group_double(attrs->op, &g, (const double *)in[0]->data + index,
					     (double *)out->data + index);
		}
	return 0;
}
