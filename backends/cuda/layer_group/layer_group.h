/* SPDX-License-Identifier: MIT
 *
 * A layer group on the GPU, which layer_group_plan.c prepares and layer_group.c runs. A run has numbered steps: step 0
 * copies the given tensors to the GPU, step l + 1 runs layer l, and step n + 1 copies the outputs to the host.
 * Weights and constants have memory of their own while the layer group is open; all other values share the device's
 * memory, each for the steps in which it is needed.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_GROUP_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_LAYER_GROUP_H

#include "cuda.h"
#include "layer.h"

/* A tensor of the layers on the GPU. */
struct cu_tensor {
	const struct npl_tensor *host; /* the tensor as the session has it */
	enum npl_dtype dtype;
	int root;        /* index of the held tensor whose memory this one uses; its own index if it is no view */
	int layer;       /* index of the layer that makes the tensor, or of the first that reads a given one */
	int result;      /* index in `out` of the layer that makes it; -1: it is given */
	int first, last; /* the steps between which it is needed; a root's cover its views */
	bool read;       /* a layer reads it on the GPU */
	bool is_output, constant;
	bool channels_last; /* the tensor's elements are ordered with channels last (layout.h) */
	bool needed_plain;  /* used by layout.c alone: a layer needs it in ONNX's order */
	/* the steps between which the tensor's copy in the other order exists; -1: there is no copy */
	int second_layout_first, second_layout_last;
	int second_layout_piece; /* index in `piece` of the copy's memory; -1: none, or it is a constant */
	bool has_second_layout;  /* the copy in the other order has been made in this run */
	int piece;               /* index in `piece` of a root's memory; -1: none, or it is a constant */
	/* index in `piece` of the tensor's copy in the host's type and order; -1: it has these itself */
	int host_copy_piece;
	/* where the bytes of a constant begin within the constants, those of any other within the staging memory */
	size_t offset;
	/* where the bytes of a constant's copy in the other order begin within the constants */
	size_t second_layout_offset;
	/* index of the event that is recorded after the tensor's transfer; -1: it is not transferred */
	int event;
};

/* The work of all layers as one CUDA graph (replay.h), with the addresses of the shared memory that it uses. */
struct cu_replay {
	bool capturing; /* calls in the stream become nodes of the graph instead of work */
	bool refused;   /* a library cannot be captured: the layers are launched one by one in every run */
	void *executable;
	uint64_t values_address, workspace_address;
};

struct cu_layer_group {
	struct cu_device *device;
	/* The request's layers are borrowed. Its lists `output` and `constant` are copies. */
	struct npl_layer_group request;
	bool ready;       /* everything below is prepared; a group that is only timed is prepared at its first run */
	bool filled;      /* the constants are on the GPU */
	bool interleaved; /* in this run results are fetched for an observer between layers */
	int *pass;
	struct cu_layer *layer;
	int n_tensors;
	struct cu_tensor *tensor;
	int (*in)[NPL_LAYER_INPUTS];         /* per layer and input: index in `tensor`; -1: it has no entry */
	bool (*read_last)[NPL_LAYER_INPUTS]; /* per layer and input: the layer reads it with channels last */
	/* per layer: index in `tensor` of its first result; its other results follow */
	int *out;
	int n_pieces;
	struct npl_memory_piece *piece;
	int *scratch; /* per layer: index in `piece` of its scratch memory; -1: none */
	size_t values_bytes, staging_bytes, workspace_bytes;
	struct cu_block resident; /* the GPU's memory for the weights and, after them, the constants */
	size_t constants_at;
	struct cu_block counters; /* in int8 a 64-bit count per layer of values that saturated; else none */
	uint64_t *saturations;    /* per layer: these counts, copied to the host */
	int n_events;
	int first_to_host_event; /* index of the event before the first transfer to the host */
	void **event;
	int *begin, *end;       /* per layer: indices of the events before and after it */
	struct cu_value *value; /* the operands of the layer that is being run */
	bool has_run;           /* a run has succeeded, so every kernel is compiled and every library is warm */
	struct cu_replay replay;
};

/* layer_group_plan.c: prepares everything except the constants' data. */
int cu_layer_group_prepare(struct cu_layer_group *group, struct npl_err *err);
void cu_layer_group_release(struct cu_layer_group *group);

#endif
