/* SPDX-License-Identifier: MIT
 *
 * Layer groups of a session (npulab/layer_group.h): steps of a plan that follow each other on one device and go to it
 * together. Values that pass between these steps stay on the device; only values that are read outside the group come
 * back to the session. */
#ifndef NPULAB_FRONTEND_SESSION_LAYER_GROUP_H
#define NPULAB_FRONTEND_SESSION_LAYER_GROUP_H

#include "value_store.h"

/* A value that enters a layer group or leaves it. */
struct npl_layer_group_port {
	int value, node;           /* node: the one that reads the value first, or makes it */
	struct npl_tensor *tensor; /* stands for the value in the group's layers */
	enum npl_format format;    /* number format of the value in the value store */
	bool converted;            /* a conversion, not the layer of the node, makes an output */
	bool moved;                /* the layer group itself moves the value over the link, within its cycles */
	uint64_t bytes_outside;    /* the bytes of a moved value that cross the link before or after the cycles */
};

struct npl_layer_group_plan {
	int first, last; /* the first and the last node of the group */
	int device;
	bool converts; /* the device converts values between floats and integers within the layer group */
	int n; /* layers: those of nodes that the device runs, those that give data another shape, and conversions */
	struct npl_layer *layer;
	const struct npl_layer **list;
	int *node;         /* per layer: its node */
	int *value;        /* per layer: the value that it makes; -1: it is a conversion */
	const char **note; /* per layer: in which other layer's pass it is done; NULL: in its own */
	int n_in, n_out;
	struct npl_layer_group_port *in, *out;
	struct npl_layer_group_handle *opened;
};

/* Finds the layer groups of the plan, opens each on its device and fills s->group and s->n_layer_groups. Returns 0 or
 * err->code. */
int npl_layer_groups_open(struct npl_session *s, struct npl_err *err);
void npl_layer_groups_close(struct npl_session *s);

/* layer_group_run.c: runs the layer group's nodes and fills their rows run->layer[first..last], which
 * npl_session_planned_rows has begun. Adds the wall-clock time of the device's run to *wall. Returns 0 or err->code. */
int npl_layer_group_run(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
			double *wall, struct npl_err *err);

#endif
