/* SPDX-License-Identifier: MIT
 *
 * A layer group on the GPU: what layer_group_plan.c prepares and layer_group.c runs. Time goes in steps: 0 brings the
 * given tensors, layer l is step l + 1, and n + 1 takes the wanted ones away. Weights and constants have memory of
 * their own as long as the layer group is open; all other values share the device's, each for the steps at which it is
 * needed.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_GROUP_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_GROUP_H

#include "cuda.h"
#include "layer.h"

/* A tensor of the layers on the GPU. */
struct cu_tensor {
	const struct npl_tensor *tensor;
	enum npl_dtype stored;
	int root;        /* the one whose memory it names; itself */
	int layer;       /* the first that reads it, or the one that makes it */
	int result;      /* its place in that layer's out; -1: it is given */
	int first, last; /* steps, of roots with all that names them */
	bool read;       /* by a layer on the GPU */
	bool wanted, constant;
	bool channels_last; /* how its elements lie (layout.h) */
	bool needed_plain;  /* while that is decided: by a layer */
	int second_layout_first,
		second_layout_last;  /* steps at which its copy in the other order is there; -1: none is */
	int second_layout_piece;     /* of that copy's memory; -1: none, or a constant's */
	bool has_second_layout;      /* it is there in this run */
	int piece;                   /* of its memory, of roots; -1: none, or a constant's */
	int host_copy_piece;         /* of its copy as the host has it, where that is another type or order; -1: none */
	size_t offset;               /* a constant's: in the layer group's memory; else in the staging memory */
	size_t second_layout_offset; /* a constant's: where its copy in another order lies in the layer group's memory */
	int event;                   /* recorded when it has come or gone */
};

struct cu_layer_group {
	struct cu_device *device;
	struct npl_layer_group request; /* layers are borrowed; wanted and constant are copies */
	bool ready;       /* all below is there; a layer group of times alone is made when it first runs */
	bool filled;      /* the constants are on the GPU */
	bool interleaved; /* the layers of this run have others' work between them */
	int *pass;
	struct cu_layer *layer;
	int n_held;
	struct cu_tensor *held;
	int (*in)[NPL_LAYER_INPUTS];         /* per layer: places in held; -1: not there */
	bool (*read_last)[NPL_LAYER_INPUTS]; /* in which order each is read: channels last */
	int *out;                            /* per layer: that of its first result, the others follow; -1 */
	int n_pieces;
	struct npl_memory_piece *piece;
	int *scratch; /* per layer: piece; -1 */
	size_t values_bytes, staging_bytes, workspace_bytes;
	struct cu_block resident; /* weights, then constants */
	size_t constants_at;
	struct cu_block counters; /* in int8, per layer: values that it saturated, 64 bits */
	uint64_t *saturations;    /* as they came back */
	int n_events;
	int leave; /* the event before the first wanted tensor goes */
	void **event;
	int *begin, *end;       /* per layer: its events */
	struct cu_value *value; /* room for a layer's operands */
};

/* layer_group_plan.c: prepares everything but the constants. */
int cu_layer_group_prepare(struct cu_layer_group *group, struct npl_err *err);
void cu_layer_group_release(struct cu_layer_group *group);

#endif
