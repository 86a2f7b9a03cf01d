/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan that go to their device together (npulab/layer_group.h): as many as follow each other there. What
 * passes between them stays on the device; only what others read comes back to the session. */
#ifndef NPULAB_FRONTEND_SESSION_LAYER_GROUP_H
#define NPULAB_FRONTEND_SESSION_LAYER_GROUP_H

#include "value_store.h"

/* A value that enters a layer group or leaves it. */
struct npl_layer_group_port {
	int value, node;           /* the node that reads it first, or makes it */
	struct npl_tensor *tensor; /* as the layers name it */
	enum npl_format format;    /* of the value (value_store.h) */
	bool converted;            /* by a layer of its own: not as its node makes it */
	bool moved;                /* by the layer group itself, between the device and the host's memory... */
	uint64_t bytes_outside;    /* ...except this many bytes */
};

struct npl_layer_group_plan {
	int first, last; /* nodes */
	int device;
	bool converts; /* the device brings values from floats to integers and back, within the layer group */
	int n;         /* layers: of the nodes that the device runs, and of views between them that change a shape */
	struct npl_layer *layer;
	const struct npl_layer **list;
	int *node;         /* of each layer */
	int *value;        /* that each makes */
	const char **note; /* of each layer that another does in its pass; NULL */
	int n_in, n_out;
	struct npl_layer_group_port *in, *out;
	struct npl_layer_group_handle *opened;
};

/* Fills s->group from the plan. */
int npl_layer_groups_open(struct npl_session *s, struct npl_err *err);
void npl_layer_groups_close(struct npl_session *s);

/* layer_group_run.c: runs the layer group's nodes for rows run->layer[first..last], which are opened; *wall grows by
 * the device's time. */
int npl_layer_group_run(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
			double *wall, struct npl_err *err);

#endif
