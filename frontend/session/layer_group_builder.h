/* SPDX-License-Identifier: MIT
 *
 * How a layer group is built (layer_group.h): layer_group.c chooses its nodes and finds which of their results are read
 * elsewhere; layer_group_builder.c makes the nodes' layers and tensors. */
#ifndef NPULAB_FRONTEND_SESSION_LAYER_GROUP_BUILDER_H
#define NPULAB_FRONTEND_SESSION_LAYER_GROUP_BUILDER_H

#include "layer_group.h"

struct npl_layer_group_builder {
	struct npl_session *s;
	struct npl_layer_group_plan group;
	struct npl_step_tensors *tensors; /* per layer: its result, weight and bias */
	/* per value: the tensor that the layer group's layers make; NULL: they do not make it */
	struct npl_tensor **made;
	/* Per value that is no view: its tensor in the other number format, whether the layer group makes the value or
	 * is given it. NULL: no layer needs that format. */
	struct npl_tensor **converted;
	const struct npl_tensor **output, **resident, **constant;
	int n_resident, n_constant;
	int *last_port; /* per value: 1 plus the last of group.in that gives it; 0: none does */
	/* per entry of group.in: 1 plus the entry before it that gives the same value; 0: none does */
	int *port_before;
	struct npl_arena *arena; /* holds all that the layer group keeps */
};

/* Returns how many inputs of the step are values for its device: 1 in the canonical form, whose other inputs are weight
 * and bias. */
int npl_layer_group_data_inputs(const struct npl_step *step);
/* Says whether the device converts values between floats and integers within layer groups; false in a session that runs
 * layer by layer. */
bool npl_layer_group_converts(const struct npl_session *s, int device);
/* Says whether the device's layer groups may hold layers that only give a tensor another shape. True for a real GPU,
 * whose link is far slower than its memory, so that such a layer costs nothing; a simulated machine's layer group ends
 * where a shape changes. */
bool npl_layer_group_has_views(const struct npl_session *s, int device);

/* npl_layer_group_add_step adds the layers of node i, which its device runs; npl_layer_group_add_split adds a Slice for
 * each result of a Split that is read. Both return 0 or err->code. */
int npl_layer_group_add_step(struct npl_layer_group_builder *b, int i, struct npl_err *err);
int npl_layer_group_add_split(struct npl_layer_group_builder *b, int i, struct npl_err *err);
/* Adds node i, a view. Its result is the tensor of its input or, where the shape changes, that of a layer that names
 * the same data in another shape. In a group that converts, the result of the model's QuantizeLinear is the integers.
 * Any other view of a value that the group does not make adds nothing. Returns 0 or err->code. */
int npl_layer_group_add_view(struct npl_layer_group_builder *b, int i, struct npl_err *err);
/* Returns value v, which the layer group makes, in this format: as it is made or, at the cost of node i, converted. The
 * tensor may have the shape of another view of the value. */
struct npl_tensor *npl_layer_group_in_format(struct npl_layer_group_builder *b, int i, int v, enum npl_format format);
int npl_layer_group_no_room(struct npl_err *err);

#endif
