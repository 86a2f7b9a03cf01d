/* SPDX-License-Identifier: MIT
 *
 * A layer group being put together (layer_group.h): layer_group.c says of which nodes, and which of their results are
 * read elsewhere; layer_group_builder.c makes layers and tensors of them. */
#ifndef NPULAB_FRONTEND_SESSION_LAYER_GROUP_BUILDER_H
#define NPULAB_FRONTEND_SESSION_LAYER_GROUP_BUILDER_H

#include "layer_group.h"

struct npl_layer_group_builder {
	struct npl_session *s;
	struct npl_layer_group_plan group;
	struct npl_step_tensors *tensors; /* per layer */
	struct npl_tensor **made;         /* per value: as the layer group's layers make it; NULL: they do not */
	/* For each value that is no view, made or given: the value in the other format. NULL: nobody needs it. */
	struct npl_tensor **converted;
	const struct npl_tensor **wanted, **resident, **constant;
	int n_resident, n_constant;
	int *last_port;          /* per value: the last port by which it is given, plus 1; 0: there is none */
	int *port_before;        /* per port: the port before it that gives the value too, plus 1; 0: there is none */
	struct npl_arena *arena; /* of all that the layer group keeps */
};

/* Inputs of the node that its device sees as values. */
int npl_layer_group_data_inputs(const struct npl_step *step);
/* Whether the device brings values from one format to the other within its layer groups. */
bool npl_layer_group_converts(const struct npl_session *s, int device);
/* On a real GPU, whose link is far slower than its memory, a layer that names a tensor in another shape costs nothing;
 * a simulated machine's layer group ends there. */
bool npl_layer_group_has_views(const struct npl_session *s, int device);

/* The layers of node i, which its device runs. */
int npl_layer_group_add_step(struct npl_layer_group_builder *b, int i, struct npl_err *err);
int npl_layer_group_add_split(struct npl_layer_group_builder *b, int i, struct npl_err *err);
/* A view of what the layer group makes: the same tensor, or a layer that names its data in another shape. */
int npl_layer_group_add_view(struct npl_layer_group_builder *b, int i, struct npl_err *err);
/* Value v, which the layer group makes, in this format: as it is made or, at the cost of node i, converted; perhaps in
 * the shape that a view gives it. */
struct npl_tensor *npl_layer_group_in_format(struct npl_layer_group_builder *b, int i, int v, enum npl_format format);
int npl_layer_group_no_room(struct npl_err *err);

#endif
