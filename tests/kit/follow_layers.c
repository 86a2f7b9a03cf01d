/* SPDX-License-Identifier: MIT
 *
 * Steps of random networks (follow_net.h) that compute: element by element, along axes, over windows, in products and
 * in cells. */
#include "follow_net.h"

#include <string.h>

#define LIST(name_, list_, n_) ((struct npl_attr){.name = (name_), .type = NPL_ATTR_INTS, .ints = (list_), .n = (n_)})
#define PICK(net, names)       names[follow_draw(net, 0, (int64_t)(sizeof names / sizeof *names) - 1)]

/* An operator of the table whose functions have this prefix. */
static const char *of_prefix(struct net *net, const char *prefix)
{
	static const struct {
		const char *name, *prefix;
	} rows[] = {
#define NPL_OP(id, onnx_name, versions, min_in, max_in, outputs, prefix, family, flags, cost) {onnx_name, #prefix},
#include "npulab/ops.def"
#undef NPL_OP
	};
	const char *match = NULL;
	int64_t n = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].prefix, prefix) && follow_draw(net, 0, n++) == 0)
			match = rows[i].name;
	return match;
}

static int as_drawn(struct net *net, int x)
{
	static const enum npl_dtype types[] = {NPL_BOOL, NPL_I32, NPL_U8, NPL_I64};
	return follow_draw(net, 0, 1) ? x : follow_cast(net, x, PICK(net, types));
}

static void unary(struct net *net, const struct drawn *d)
{
	follow_node_of(net, of_prefix(net, "op_unary"), NPL_IN(as_drawn(net, d->x)), NPL_NO_ATTRS);
}

static void relu(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "Relu", NPL_IN(d->x), NPL_NO_ATTRS);
}

/* A constant that x repeats along one or two dimensions, or that has an element for each of its own. */
static int concat_beside(struct net *net, const struct drawn *d)
{
	struct npl_shape shape = d->s;
	if (follow_draw(net, 0, 1))
		shape.dim[d->axis] = 1;
	shape.dim[d->other] = follow_draw(net, 0, 1) ? 1 : shape.dim[d->other];
	return follow_floats(net, shape);
}

static void binary(struct net *net, const struct drawn *d)
{
	static const char *const prefixes[] = {"op_binary", "op_binary", "op_variadic", "op_prelu", "op_power"};
	static const enum npl_dtype types[] = {NPL_F32, NPL_F32, NPL_BOOL, NPL_I32, NPL_U8};
	const char *op = of_prefix(net, PICK(net, prefixes));
	const enum npl_dtype type = PICK(net, types);
	int a = d->x, b = follow_draw(net, 0, 1) ? d->y : concat_beside(net, d);
	if (type != NPL_F32) {
		a = follow_cast(net, a, type);
		b = b < 0 ? b : follow_cast(net, b, type);
	}
	if (!strcmp(op, "BitShift"))
		follow_node_of(net, op, NPL_IN(a, b), NPL_ATTRS(NPL_STRING("direction", "LEFT")));
	else if (follow_draw(net, 0, 3))
		follow_node_of(net, op, NPL_IN(a, b), NPL_NO_ATTRS);
	else
		follow_node_of(net, op, NPL_IN(b, a), NPL_NO_ATTRS);
}

static void where(struct net *net, const struct drawn *d)
{
	const int last = follow_bytes(net, NPL_BOOL, npl_shape_of(1, d->s.dim[d->r - 1])),
		  condition = follow_draw(net, 0, 1) ? last : follow_cast(net, d->x, NPL_BOOL);
	follow_node_of(net, "Where", NPL_IN(condition, d->x, follow_draw(net, 0, 1) ? d->y : concat_beside(net, d)),
		       NPL_NO_ATTRS);
}

static void clip(struct net *net, const struct drawn *d)
{
	const int low = net->graph->opset < 11 ? -1 : follow_floats(net, (struct npl_shape){.rank = 0});
	if (low < 0)
		follow_node_of(net, "Clip", NPL_IN(d->x), NPL_NO_ATTRS);
	else
		follow_node_of(net, "Clip", NPL_IN(d->x, low), NPL_NO_ATTRS);
}

/* One scale for all. */
static int scale(struct net *net)
{
	const float step = 0.125f;
	return follow_constant(net, NPL_F32, (struct npl_shape){.rank = 0}, &step);
}

static int zero(struct net *net)
{
	const unsigned char point = (unsigned char)follow_draw(net, 0, 200);
	return follow_constant(net, NPL_U8, (struct npl_shape){.rank = 0}, &point);
}

static int bytes_of(struct net *net, int x)
{
	return follow_node_of(net, "QuantizeLinear", NPL_IN(x, scale(net), zero(net)), NPL_NO_ATTRS);
}

/* And back; by one scale, or by one for each index of a dimension. */
static void quantise(struct net *net, const struct drawn *d)
{
	const struct npl_shape list = npl_shape_of(1, d->s.dim[d->axis]);
	float steps[512];
	const bool alike = follow_draw(net, 0, 1), whole = follow_draw(net, 0, 1);
	for (int64_t i = 0; i < list.dim[0]; i++)
		steps[i] = alike ? 0.25f : (float)follow_draw(net, 1, 8) / 8;
	const int s = whole ? scale(net) : follow_constant(net, NPL_F32, list, steps);
	const int z = !whole || follow_draw(net, 0, 1) ? -1 : zero(net);
	const int q = follow_node_of(net, "QuantizeLinear", NPL_IN(d->x, s, z), NPL_ATTRS(NPL_INT("axis", d->axis)));
	follow_node_of(net, "DequantizeLinear", NPL_IN(q, s, z), NPL_ATTRS(NPL_INT("axis", d->axis)));
}

static void reduce(struct net *net, const struct drawn *d)
{
	const char *op = of_prefix(net, "op_reduce");
	const struct npl_attr keep = NPL_INT("keepdims", follow_draw(net, 0, 1));
	if (net->graph->opset >= 18 || (net->graph->opset >= 13 && !strcmp(op, "ReduceSum")))
		follow_node_of(net, op, NPL_IN(d->x, follow_integers(net, 1, &d->axis)), NPL_ATTRS(keep));
	else
		follow_node_of(net, op, NPL_IN(d->x), NPL_ATTRS(keep, NPL_INTS("axes", d->axis)));
}

static void arg(struct net *net, const struct drawn *d)
{
	follow_node_of(net, of_prefix(net, "op_arg"), NPL_IN(d->x),
		       NPL_ATTRS(NPL_INT("axis", d->axis), NPL_INT("keepdims", follow_draw(net, 0, 1))));
}

static void softmax_along(struct net *net, const struct drawn *d)
{
	static const char *const ops[] = {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"};
	follow_node_of(net, PICK(net, ops), NPL_IN(d->x), NPL_ATTRS(NPL_INT("axis", d->axis)));
}

static void topk(struct net *net, const struct drawn *d)
{
	const int64_t k = follow_draw(net, 1, d->s.dim[d->axis]);
	follow_outputs_of(net, "TopK", NPL_IN(d->x, follow_integers(net, 1, &k)), NPL_ATTRS(NPL_INT("axis", d->axis)),
			  2);
}

static void mean_variance(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "MeanVarianceNormalization", NPL_IN(d->x),
		       NPL_ATTRS(NPL_INTS("axes", d->axis, d->axis == d->other ? (d->axis + 1) % d->r : d->other)));
}

/* LayerNormalization and RMSNormalization; the scale is of the dimensions from the axis on, or of all. */
static void layer_normalisation(struct net *net, const struct drawn *d)
{
	struct npl_shape tail = {.rank = d->r - (int)d->axis};
	memcpy(tail.dim, d->s.dim + d->axis, (size_t)tail.rank * sizeof *tail.dim);
	const int by = follow_floats(net, follow_draw(net, 0, 3) ? tail : d->s);
	if (follow_draw(net, 0, 1))
		follow_node_of(net, "RMSNormalization", NPL_IN(d->x, by), NPL_ATTRS(NPL_INT("axis", d->axis)));
	else
		follow_outputs_of(net, "LayerNormalization", NPL_IN(d->x, by), NPL_ATTRS(NPL_INT("axis", d->axis)),
				  (int)follow_draw(net, 1, 3));
}

static void channel_normalisation(struct net *net, const struct drawn *d)
{
	const struct npl_shape channels = npl_shape_of(1, d->r > 1 ? d->s.dim[1] : 1);
	const int a = follow_floats(net, channels), b = follow_floats(net, channels);
	switch (follow_draw(net, 0, 2)) {
	case 0:
		follow_node_of(net, "InstanceNormalization", NPL_IN(d->x, a, b), NPL_NO_ATTRS);
		return;
	case 1:
		follow_node_of(net, "GroupNormalization", NPL_IN(d->x, a, b),
			       NPL_ATTRS(NPL_INT("num_groups", follow_draw(net, 1, 2))));
		return;
	default:
		follow_node_of(net, "BatchNormalization", NPL_IN(d->x, a, b, b, a), NPL_NO_ATTRS);
		return;
	}
}

static void pool(struct net *net, const struct drawn *d)
{
	static const char *const ops[] = {"AveragePool", "MaxPool", "LpPool"};
	int64_t window[NPL_MAX_RANK];
	for (int k = 0; k < d->r - 2; k++)
		window[k] = k == 0 ? follow_draw(net, 1, 2) : 1;
	const char *op = PICK(net, ops);
	if (d->r > 2)
		follow_outputs_of(net, op, NPL_IN(d->x), NPL_ATTRS(LIST("kernel_shape", window, d->r - 2)),
				  !strcmp(op, "MaxPool") && follow_draw(net, 0, 2) == 0 ? 2 : 1);
}

static void whole_pool(struct net *net, const struct drawn *d)
{
	static const char *const ops[] = {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"};
	follow_node_of(net, PICK(net, ops), NPL_IN(d->x), NPL_NO_ATTRS);
}

static void lrn(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "LRN", NPL_IN(d->x), NPL_ATTRS(NPL_INT("size", 3)));
}

/* Filters of the shape (channels, others, 1 to 2 and ones). */
static struct npl_shape filters(struct net *net, const struct drawn *d, int64_t first, int64_t second)
{
	struct npl_shape w = {.rank = d->r, .dim = {first, second}};
	for (int k = 2; k < d->r; k++)
		w.dim[k] = k == 2 ? follow_draw(net, 1, 2) : 1;
	return w;
}

static void conv(struct net *net, const struct drawn *d)
{
	if (d->r < 3)
		return;
	const int64_t channels = d->s.dim[1], made = follow_draw(net, 1, 3);
	const struct npl_shape w = filters(net, d, made, channels);
	switch (follow_draw(net, 0, 3)) {
	case 0:
		follow_node_of(net, "Conv",
			       NPL_IN(d->x, follow_floats(net, w), follow_floats(net, npl_shape_of(1, made))),
			       NPL_NO_ATTRS);
		return;
	case 1:
		follow_node_of(net, "ConvTranspose", NPL_IN(d->x, follow_floats(net, filters(net, d, channels, made))),
			       NPL_NO_ATTRS);
		return;
	case 2:
		follow_node_of(net, "ConvInteger", NPL_IN(bytes_of(net, d->x), follow_bytes(net, NPL_U8, w), zero(net)),
			       NPL_NO_ATTRS);
		return;
	default:
		follow_node_of(net, "QLinearConv",
			       NPL_IN(bytes_of(net, d->x), scale(net), zero(net), follow_bytes(net, NPL_U8, w),
				      scale(net), zero(net), scale(net), zero(net)),
			       NPL_NO_ATTRS);
		return;
	}
}

static void depth_space(struct net *net, const struct drawn *d)
{
	if (follow_draw(net, 0, 1))
		follow_node_of(net, "SpaceToDepth", NPL_IN(d->x),
			       NPL_ATTRS(NPL_INT("blocksize", follow_draw(net, 1, 2))));
	else
		follow_node_of(net, "DepthToSpace", NPL_IN(d->x),
			       NPL_ATTRS(NPL_INT("blocksize", follow_draw(net, 1, 2))));
}

/* Windows of 1 or 2 elements in a row. */
static void col2im(struct net *net, const struct drawn *d)
{
	if (d->r != 3)
		return;
	const int64_t window = follow_draw(net, 1, 2), image = d->s.dim[2] + window - 1;
	follow_node_of(net, "Col2Im", NPL_IN(d->x, follow_integers(net, 1, &image), follow_integers(net, 1, &window)),
		       NPL_NO_ATTRS);
}

/* x as real signals. */
static void transform(struct net *net, const struct drawn *d)
{
	const int64_t last[] = {-1};
	const int signal = net->graph->opset < 13
				   ? -2
				   : follow_node_of(net, "Unsqueeze", NPL_IN(d->x, follow_integers(net, 1, last)),
						    NPL_NO_ATTRS);
	const int step = follow_constant(net, NPL_I64, (struct npl_shape){.rank = 0}, &(int64_t){1});
	if (follow_draw(net, 0, 1))
		follow_node_of(net, "STFT",
			       NPL_IN(signal, step, -1,
				      follow_constant(net, NPL_I64, (struct npl_shape){.rank = 0}, &(int64_t){2})),
			       NPL_NO_ATTRS);
	else if (net->graph->opset < 20)
		follow_node_of(net, "DFT", NPL_IN(signal), NPL_ATTRS(NPL_INT("axis", d->axis)));
	else
		follow_node_of(
			net, "DFT",
			NPL_IN(signal, -1, follow_constant(net, NPL_I64, (struct npl_shape){.rank = 0}, &d->axis)),
			NPL_NO_ATTRS);
}

static void matmul(struct net *net, const struct drawn *d)
{
	const int64_t last = d->s.dim[d->r - 1], n = follow_draw(net, 1, 4);
	switch (follow_draw(net, 0, 3)) {
	case 0:
		follow_node_of(net, "MatMul", NPL_IN(d->x, d->y), NPL_NO_ATTRS);
		return;
	case 1:
		follow_node_of(net, "MatMul", NPL_IN(d->x, follow_floats(net, npl_shape_of(2, last, n))), NPL_NO_ATTRS);
		return;
	case 2:
		follow_node_of(net, "MatMul", NPL_IN(d->x, follow_floats(net, npl_shape_of(3, d->s.dim[0], last, n))),
			       NPL_NO_ATTRS);
		return;
	default:
		follow_node_of(
			net, "MatMul",
			NPL_IN(follow_floats(net, npl_shape_of(2, n, d->r > 1 ? d->s.dim[d->r - 2] : d->s.dim[0])),
			       d->x),
			NPL_NO_ATTRS);
		return;
	}
}

static void integer_matmul(struct net *net, const struct drawn *d)
{
	const int a = bytes_of(net, d->x);
	const int b = follow_draw(net, 0, 1) ? bytes_of(net, d->y)
					     : follow_bytes(net, NPL_U8, npl_shape_of(2, d->s.dim[d->r - 1], 2));
	if (follow_draw(net, 0, 1))
		follow_node_of(net, "MatMulInteger", NPL_IN(a, b, zero(net)), NPL_NO_ATTRS);
	else
		follow_node_of(net, "QLinearMatMul",
			       NPL_IN(a, scale(net), zero(net), b, scale(net), zero(net), scale(net), zero(net)),
			       NPL_NO_ATTRS);
}

static void gemm(struct net *net, const struct drawn *d)
{
	if (d->r != 2)
		return;
	const int64_t turned = follow_draw(net, 0, 1), rows = d->s.dim[turned], k = d->s.dim[1 - turned];
	const int bias = follow_floats(net, npl_shape_of(2, follow_draw(net, 0, 1) ? 1 : rows, 3));
	if (follow_draw(net, 0, 1))
		follow_node_of(net, "Gemm", NPL_IN(d->x, follow_floats(net, npl_shape_of(2, k, 3)), bias),
			       NPL_ATTRS(NPL_INT("transA", turned)));
	else
		follow_node_of(net, "Gemm", NPL_IN(follow_floats(net, npl_shape_of(2, 2, d->s.dim[turned])), d->x),
			       NPL_ATTRS(NPL_INT("transB", turned)));
}

static void einsum(struct net *net, const struct drawn *d)
{
	static const char *const equations[] = {"abc,adc->abd", "abc,dbc->bad", "abc,abd->acd", "abc,abc->ca"};
	follow_node_of(net, "Einsum", NPL_IN(d->x, d->y), NPL_ATTRS(NPL_STRING("equation", PICK(net, equations))));
}

/* RNN, GRU or LSTM with or without a state to begin with and lengths. */
static void recurrent(struct net *net, const struct drawn *d)
{
	static const struct {
		const char *op;
		int64_t gates;
		int outputs;
	} cells[] = {{"RNN", 1, 2}, {"GRU", 3, 2}, {"LSTM", 4, 3}};
	const int cell = (int)follow_draw(net, 0, 2);
	const int64_t hidden = 2, layout = follow_draw(net, 0, 1), gates = cells[cell].gates * hidden;
	if (d->r != 3)
		return;
	const int64_t batch = d->s.dim[layout ? 0 : 1], steps = d->s.dim[layout ? 1 : 0];
	const int w = follow_floats(net, npl_shape_of(3, 1, gates, d->s.dim[2])),
		  r = follow_floats(net, npl_shape_of(3, 1, gates, hidden));
	const struct npl_shape state = layout ? npl_shape_of(3, batch, 1, hidden) : npl_shape_of(3, 1, batch, hidden);
	int lengths = -1;
	if (follow_draw(net, 0, 1)) {
		int32_t length[512];
		const bool alike = follow_draw(net, 0, 1);
		for (int64_t i = 0; i < batch; i++)
			length[i] = (int32_t)(alike ? steps : follow_draw(net, 1, steps));
		lengths = follow_constant(net, NPL_I32, npl_shape_of(1, batch), length);
	}
	const int first = follow_draw(net, 0, 1) ? follow_floats(net, state) : -1;
	const struct npl_attr size = NPL_INT("hidden_size", hidden);
	if (layout)
		follow_outputs_of(net, cells[cell].op, NPL_IN(d->x, w, r, -1, lengths, first),
				  NPL_ATTRS(size, NPL_INT("layout", layout)), cells[cell].outputs);
	else
		follow_outputs_of(net, cells[cell].op, NPL_IN(d->x, w, r, -1, lengths, first), NPL_ATTRS(size),
				  cells[cell].outputs);
}

/* The angles are constant, or each sample's own; with positions, of a table. */
static void rotary(struct net *net, const struct drawn *d)
{
	if (d->r < 3 || d->s.dim[d->r - 1] % 2)
		return;
	const int64_t sequence = d->s.dim[d->r == 4 ? 2 : 1], half = d->s.dim[d->r - 1] / 2;
	const struct npl_attr heads = NPL_INT("num_heads", 1);
	struct npl_shape own = npl_shape_of(3, d->s.dim[0], sequence, half);
	int ids = -1;
	if (follow_draw(net, 0, 1)) {
		own = npl_shape_of(2, 3, half);
		ids = follow_indices(net, npl_shape_of(2, d->s.dim[0], sequence), 0, 2);
	}
	int cosine = follow_floats(net, own), sine = follow_floats(net, own);
	if (ids < 0 && d->t.rank == 3 && follow_draw(net, 0, 1))
		cosine = d->y;
	if (ids >= 0 && d->t.rank == 2 && follow_draw(net, 0, 1))
		ids = follow_picks(net, d->y, 2);
	if (ids < 0)
		follow_node_of(net, "RotaryEmbedding", NPL_IN(d->x, cosine, sine), NPL_ATTRS(heads));
	else
		follow_node_of(net, "RotaryEmbedding", NPL_IN(d->x, cosine, sine, ids), NPL_ATTRS(heads));
}

/* Becomes products, a Softmax and the like. */
static void attention(struct net *net, const struct drawn *d)
{
	if (d->r == 3)
		follow_node_of(net, "Attention", NPL_IN(d->x, d->x, d->t.rank == 3 ? d->y : d->x),
			       NPL_ATTRS(NPL_INT("q_num_heads", 1), NPL_INT("kv_num_heads", 1)));
}

follow_step *const follow_layer_steps[] = {
	unary,
	unary,
	relu,
	binary,
	binary,
	binary,
	binary,
	where,
	clip,
	quantise,
	reduce,
	reduce,
	arg,
	softmax_along,
	softmax_along,
	topk,
	lrn,
	mean_variance,
	pool,
	whole_pool,
	conv,
	conv,
	matmul,
	matmul,
	matmul,
	gemm,
	layer_normalisation,
	einsum,
	recurrent,
	recurrent,
	depth_space,
	col2im,
	rotary,
	transform,
	attention,
	channel_normalisation,
	integer_matmul,
};
const int follow_n_layer_steps = sizeof follow_layer_steps / sizeof *follow_layer_steps;
