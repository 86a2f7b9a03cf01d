/* SPDX-License-Identifier: MIT
 *
 * Steps of random networks (follow_net.h) that move elements: views, joining, cutting, repeating, picking,
 * scattering. */
#include "follow_net.h"

#include <string.h>

#define LIST(name_, list_, n_) ((struct npl_attr){.name = (name_), .type = NPL_ATTR_INTS, .ints = (list_), .n = (n_)})
#define PICK(net, names)       names[follow_draw(net, 0, (int64_t)(sizeof names / sizeof *names) - 1)]

static int one_value(struct net *net, int64_t value)
{
	return follow_integers(net, 1, &value);
}

static int number(struct net *net, enum npl_dtype dtype, const void *value)
{
	return follow_constant(net, dtype, (struct npl_shape){.rank = 0}, value);
}

/* x with two neighbouring dimensions as one. */
static void join(struct net *net, const struct drawn *d)
{
	int64_t list[NPL_MAX_RANK];
	int n = 0;
	if (d->axis == d->r - 1)
		return;
	for (int k = 0; k < d->r; k++) {
		list[n++] = k == d->axis ? d->s.dim[k] * d->s.dim[k + 1] : d->s.dim[k];
		k += k == d->axis;
	}
	follow_node_of(net, "Reshape", NPL_IN(d->x, follow_integers(net, n, list)), NPL_NO_ATTRS);
}

/* x with one dimension as two. */
static void part(struct net *net, const struct drawn *d)
{
	const int64_t size = follow_draw(net, 2, 4);
	int64_t list[NPL_MAX_RANK + 1];
	int n = 0;
	if (d->r == NPL_MAX_RANK || d->s.dim[d->axis] % size)
		return;
	for (int k = 0; k < d->r; k++) {
		list[n++] = k == d->axis ? size : d->s.dim[k];
		if (k == d->axis)
			list[n++] = d->s.dim[k] / size;
	}
	follow_node_of(net, "Reshape", NPL_IN(d->x, follow_integers(net, n, list)), NPL_NO_ATTRS);
}

static void flatten(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "Flatten", NPL_IN(d->x), NPL_ATTRS(NPL_INT("axis", d->axis)));
}

static void unsqueeze(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "Unsqueeze", NPL_IN(d->x, one_value(net, d->axis)), NPL_NO_ATTRS);
}

/* Takes away a dimension of 1 that x has, or gets before. */
static void squeeze(struct net *net, const struct drawn *d)
{
	int x = d->x;
	if (d->s.dim[d->axis] != 1)
		x = follow_node_of(net, "Unsqueeze", NPL_IN(x, one_value(net, d->axis)), NPL_NO_ATTRS);
	follow_node_of(net, "Squeeze", NPL_IN(x, one_value(net, d->axis)), NPL_NO_ATTRS);
}

static void copy(struct net *net, const struct drawn *d)
{
	static const char *const ops[] = {"Identity", "Dropout"};
	follow_node_of(net, PICK(net, ops), NPL_IN(d->x), NPL_NO_ATTRS);
}

static void cast(struct net *net, const struct drawn *d)
{
	static const enum npl_dtype types[] = {NPL_F16, NPL_F64, NPL_I32, NPL_U8, NPL_BOOL};
	if (follow_draw(net, 0, 2))
		follow_cast(net, d->x, PICK(net, types));
	else
		follow_node_of(net, "CastLike", NPL_IN(d->x, one_value(net, 0)), NPL_NO_ATTRS);
}

static void transpose(struct net *net, const struct drawn *d)
{
	int64_t perm[NPL_MAX_RANK];
	for (int k = 0; k < d->r; k++)
		perm[k] = k;
	perm[d->axis] = d->other;
	perm[d->other] = d->axis;
	follow_node_of(net, "Transpose", NPL_IN(d->x), NPL_ATTRS(LIST("perm", perm, d->r)));
}

static void concat(struct net *net, const struct drawn *d)
{
	struct npl_shape shape = d->s;
	shape.dim[d->axis] = follow_draw(net, 1, 2);
	const int second = follow_draw(net, 0, 1) ? d->y : follow_floats(net, shape);
	follow_node_of(net, "Concat", NPL_IN(d->x, second), NPL_ATTRS(NPL_INT("axis", d->axis)));
}

static void split(struct net *net, const struct drawn *d)
{
	const int64_t first = follow_draw(net, 1, d->s.dim[d->axis]), parts[] = {first, d->s.dim[d->axis] - first};
	if (follow_draw(net, 0, 1))
		follow_outputs_of(net, "Split", NPL_IN(d->x, follow_integers(net, 2, parts)),
				  NPL_ATTRS(NPL_INT("axis", d->axis)), 2);
	else
		follow_outputs_of(net, "Split", NPL_IN(d->x), NPL_ATTRS(NPL_INT("axis", d->axis)),
				  (int)follow_draw(net, 1, 3));
}

static void slice(struct net *net, const struct drawn *d)
{
	const int64_t first = follow_draw(net, 0, d->s.dim[d->axis] - 1),
		      end = follow_draw(net, 0, 1) ? INT64_MAX : follow_draw(net, first, d->s.dim[d->axis]);
	const bool forward = follow_draw(net, 0, 3) > 0;
	follow_node_of(net, "Slice",
		       NPL_IN(d->x, one_value(net, forward ? first : end), one_value(net, forward ? end : first),
			      one_value(net, d->axis), one_value(net, forward ? 1 : -1)),
		       NPL_NO_ATTRS);
}

static void pad(struct net *net, const struct drawn *d)
{
	int64_t list[2 * NPL_MAX_RANK] = {0};
	list[d->axis] = follow_draw(net, 0, 1);
	list[d->r + d->other] = follow_draw(net, 0, 1);
	follow_node_of(net, "Pad", NPL_IN(d->x, follow_integers(net, 2 * d->r, list)), NPL_NO_ATTRS);
}

static void resize(struct net *net, const struct drawn *d)
{
	float zoom[NPL_MAX_RANK];
	for (int k = 0; k < d->r; k++)
		zoom[k] = k == d->axis ? 2 : 1;
	const int scales = follow_constant(net, NPL_F32, npl_shape_of(1, d->r), zoom);
	if (net->graph->opset < 10)
		follow_node_of(net, "Upsample", NPL_IN(d->x, scales), NPL_NO_ATTRS);
	else
		follow_node_of(net, "Resize", NPL_IN(d->x, -1, scales), NPL_NO_ATTRS);
}

static void center_crop_pad(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "CenterCropPad", NPL_IN(d->x, one_value(net, follow_draw(net, 1, 4))),
		       NPL_ATTRS(NPL_INTS("axes", d->axis)));
}

static void tile(struct net *net, const struct drawn *d)
{
	int64_t list[NPL_MAX_RANK];
	for (int k = 0; k < d->r; k++)
		list[k] = k == d->axis ? 2 : 1;
	follow_node_of(net, "Tile", NPL_IN(d->x, follow_integers(net, d->r, list)), NPL_NO_ATTRS);
}

/* To its own shape, or with one more dimension before all. */
static void expand(struct net *net, const struct drawn *d)
{
	int64_t list[NPL_MAX_RANK + 1] = {2};
	if (d->r == NPL_MAX_RANK)
		return;
	for (int k = 0; k < d->r; k++)
		list[k + 1] = k == d->axis ? 1 : d->s.dim[k];
	const int more = (int)follow_draw(net, 0, 1);
	follow_node_of(net, "Expand", NPL_IN(d->x, follow_integers(net, d->r + more, list + !more)), NPL_NO_ATTRS);
}

/* Two rows of three elements that each sample has, as the turning of a grid. */
static void affine_grid(struct net *net, const struct drawn *d)
{
	if (d->r != 3)
		return;
	const int rows = follow_node_of(net, "Gather", NPL_IN(d->x, follow_indices(net, npl_shape_of(1, 2), 0, 0)),
					NPL_ATTRS(NPL_INT("axis", 1)));
	const int theta = follow_node_of(net, "Gather", NPL_IN(rows, follow_indices(net, npl_shape_of(1, 3), 0, 0)),
					 NPL_ATTRS(NPL_INT("axis", 2)));
	const int64_t size[] = {d->s.dim[0], 1, follow_draw(net, 1, 2), 2};
	follow_node_of(net, "AffineGrid", NPL_IN(theta, follow_integers(net, 4, size)), NPL_NO_ATTRS);
}

static void trilu(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "Trilu", NPL_IN(d->x), NPL_NO_ATTRS);
}

/* Rows of x, or rows of a table that each sample names. */
static void gather(struct net *net, const struct drawn *d)
{
	if (follow_draw(net, 0, 1))
		follow_node_of(net, "Gather",
			       NPL_IN(d->x, follow_indices(net, npl_shape_of(1, 2), 0, d->s.dim[d->axis] - 1)),
			       NPL_ATTRS(NPL_INT("axis", d->axis)));
	else
		follow_node_of(net, "Gather",
			       NPL_IN(follow_floats(net, npl_shape_of(2, 3, 3)), follow_picks(net, d->x, 2)),
			       NPL_ATTRS(NPL_INT("axis", d->other % 2)));
}

/* Indices of the same shape: constant, or each sample's own, into x or a table. */
static void gather_elements(struct net *net, const struct drawn *d)
{
	struct npl_shape shape = d->s;
	shape.dim[d->axis] = 2;
	const int64_t maximum = d->s.dim[d->axis] - 1;
	const int64_t sources = follow_draw(net, 0, 2);
	const int data = sources == 2 ? follow_floats(net, d->s) : d->x;
	const int indices = sources ? follow_picks(net, d->x, maximum) : follow_indices(net, shape, 0, maximum);
	follow_node_of(net, "GatherElements", NPL_IN(data, indices), NPL_ATTRS(NPL_INT("axis", d->axis)));
}

/* The last dimension of the indices names elements of a table, or of what the sample itself has. */
static void gather_nd(struct net *net, const struct drawn *d)
{
	const int64_t batch_dims = follow_draw(net, 0, d->r - 1);
	if (follow_draw(net, 0, 1)) {
		int64_t minimum = d->s.dim[0];
		for (int k = 1; k < d->r; k++)
			minimum = d->s.dim[k] < minimum ? d->s.dim[k] : minimum;
		follow_node_of(net, "GatherND", NPL_IN(d->x, follow_picks(net, d->y, minimum - 1)),
			       NPL_ATTRS(NPL_INT("batch_dims", batch_dims)));
		return;
	}
	struct npl_shape table = npl_shape_of(4, 3, 3, 3, 3);
	for (int k = 0; k < batch_dims && k < d->r && k < 4; k++)
		table.dim[k] = d->s.dim[k];
	follow_node_of(net, "GatherND", NPL_IN(follow_floats(net, table), follow_picks(net, d->x, 2)),
		       NPL_ATTRS(NPL_INT("batch_dims", batch_dims)));
}

static void compress(struct net *net, const struct drawn *d)
{
	const int condition = follow_bytes(net, NPL_BOOL, npl_shape_of(1, d->s.dim[d->axis]));
	if (follow_draw(net, 0, 5))
		follow_node_of(net, "Compress", NPL_IN(d->x, condition), NPL_ATTRS(NPL_INT("axis", d->axis)));
	else
		follow_node_of(net, "Compress", NPL_IN(d->x, condition), NPL_NO_ATTRS);
}

/* Data, indices and updates: each constant or with samples. */
static void scatter_elements(struct net *net, const struct drawn *d)
{
	const int64_t maximum = d->s.dim[d->axis] - 1, sources = follow_draw(net, 1, 7);
	struct npl_shape shape = d->s;
	if (follow_draw(net, 0, 3) == 0)
		shape.dim[d->other] = 1;
	const int data = sources & 1 ? d->x : follow_floats(net, d->s),
		  indices = sources & 2 ? follow_picks(net, d->x, maximum) : follow_indices(net, shape, 0, maximum),
		  updates = sources & 4 ? d->x : follow_floats(net, shape);
	follow_node_of(net, net->graph->opset < 11 ? "Scatter" : "ScatterElements", NPL_IN(data, indices, updates),
		       NPL_ATTRS(NPL_INT("axis", d->axis)));
}

/* Rows of dimension 0 of x, or of a table, become others. */
static void scatter_nd(struct net *net, const struct drawn *d)
{
	struct npl_shape rows = d->s, table = d->s;
	if (follow_draw(net, 0, 1)) { /* the samples become the updates of a larger table */
		table.dim[0] += 1;
		const int indices = follow_indices(net, npl_shape_of(2, d->s.dim[0], 1), 0, d->s.dim[0]);
		follow_node_of(net, "ScatterND", NPL_IN(follow_floats(net, table), indices, d->x), NPL_NO_ATTRS);
		return;
	}
	rows.dim[0] = 1;
	follow_node_of(net, "ScatterND",
		       NPL_IN(d->x, follow_indices(net, npl_shape_of(2, 1, 1), 0, d->s.dim[0] - 1),
			      follow_draw(net, 0, 1) ? follow_floats(net, rows) : d->y),
		       NPL_NO_ATTRS);
}

/* A sample's rows after its own: x turned so that the samples lie last. */
static void scatter_nd_inside(struct net *net, const struct drawn *d)
{
	int64_t perm[NPL_MAX_RANK];
	struct npl_shape turned = d->s;
	for (int k = 0; k < d->r; k++) {
		perm[k] = d->r - 1 - k;
		turned.dim[k] = d->s.dim[d->r - 1 - k];
	}
	const int x = follow_node_of(net, "Transpose", NPL_IN(d->x), NPL_ATTRS(LIST("perm", perm, d->r)));
	const int indices = follow_indices(net, npl_shape_of(2, turned.dim[0], 1), 0, turned.dim[0] - 1);
	const int64_t sources = follow_draw(net, 1, 3);
	follow_node_of(net, "ScatterND",
		       NPL_IN(sources & 1 ? x : follow_floats(net, turned), indices,
			      sources & 2 ? x : follow_floats(net, turned)),
		       NPL_NO_ATTRS);
}

static void one_hot(struct net *net, const struct drawn *d)
{
	const float values[] = {-1, 2};
	follow_node_of(net, "OneHot",
		       NPL_IN(follow_picks(net, d->x, 2), number(net, NPL_I64, &(int64_t){3}),
			      follow_constant(net, NPL_F32, npl_shape_of(1, 2), values)),
		       NPL_ATTRS(NPL_INT("axis", d->axis)));
}

/* Lengths are constant, or each sample's own. */
static void reverse_sequence(struct net *net, const struct drawn *d)
{
	if (d->r < 2 || d->axis > 1)
		return;
	const int64_t maximum = d->s.dim[d->axis], n = d->s.dim[1 - d->axis];
	int lengths = follow_indices(net, npl_shape_of(1, n), 1, maximum);
	if (follow_draw(net, 0, 1) && d->t.rank > 0) {
		const int64_t rest[] = {d->t.dim[0], -1};
		const int rows = follow_node_of(net, "Reshape", NPL_IN(d->y, follow_integers(net, 2, rest)),
						NPL_NO_ATTRS);
		const int first = follow_node_of(net, "Gather", NPL_IN(rows, number(net, NPL_I64, &(int64_t){0})),
						 NPL_ATTRS(NPL_INT("axis", 1)));
		lengths = follow_picks(net, first, maximum);
	}
	follow_node_of(net, "ReverseSequence", NPL_IN(d->x, lengths),
		       NPL_ATTRS(NPL_INT("time_axis", d->axis), NPL_INT("batch_axis", 1 - d->axis)));
}

static void cumsum(struct net *net, const struct drawn *d)
{
	follow_node_of(net, "CumSum", NPL_IN(d->x, number(net, NPL_I64, &d->axis)), NPL_NO_ATTRS);
}

follow_step *const follow_moving_steps[] = {
	join,
	join,
	part,
	flatten,
	unsqueeze,
	squeeze,
	copy,
	cast,
	transpose,
	transpose,
	concat,
	concat,
	split,
	slice,
	pad,
	resize,
	center_crop_pad,
	tile,
	expand,
	affine_grid,
	trilu,
	gather,
	gather_elements,
	gather_nd,
	compress,
	scatter_elements,
	scatter_nd,
	scatter_nd_inside,
	one_hot,
	reverse_sequence,
	cumsum,
};
const int follow_n_moving_steps = sizeof follow_moving_steps / sizeof *follow_moving_steps;
