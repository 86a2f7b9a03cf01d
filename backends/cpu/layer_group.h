/* SPDX-License-Identifier: MIT
 *
 * A group of layers that follow each other on the processor (npulab/layer_group.h), prepared once: weights in oneDNN's
 * order, memory for values between layers, and images kept with channels last from one convolution to the next.
 */
#ifndef NPULAB_BACKENDS_CPU_LAYER_GROUP_H
#define NPULAB_BACKENDS_CPU_LAYER_GROUP_H

#include "cpu.h"
#include "dnn.h"
#include "int8_conv.h"

/* A tensor of the layer group, in up to two orders. */
struct cpu_tensor {
	const struct npl_tensor *tensor;
	int layer; /* index of the layer that makes it; -1: it is given */
	int root;  /* index of the location whose CPU_FIRST data a view uses; for every other location its own index */
	bool from_caller, is_output; /* given, an output: the location's CPU_FIRST data belongs to the caller */
	bool has_layout[CPU_LAYOUTS];
	int first[CPU_LAYOUTS], last[CPU_LAYOUTS]; /* the steps between which it is needed in an order */
	size_t offset[CPU_LAYOUTS];                /* bytes from the start of the group's memory */
	void *data[CPU_LAYOUTS];                   /* set while the group runs */
};

enum cpu_step_kind {
	CPU_STEP_DNN,      /* a primitive of oneDNN from in[0] to out[0]; in[1] is added to a convolution's */
	CPU_STEP_CONV8,    /* a convolution of 8-bit tensors from in[0] to out[0] */
	CPU_STEP_ELEMENTS, /* element by element, with tensors in any one order */
	CPU_STEP_JOIN,     /* Concat of channels, all tensors with channels last */
	CPU_STEP_MAXPOOL,  /* MaxPool of floats with channels last */
	CPU_STEP_LAYER,    /* the device's implementation for a single layer */
};

struct cpu_step {
	enum cpu_step_kind kind;
	int layer_index;      /* index of the layer to which its time is added */
	int threads;          /* number of oneDNN's threads */
	enum cpu_layout x, y; /* orders of inputs and of results */
	int n_in, n_out;
	int *in, *out;               /* locations; -1: absent */
	struct cpu_dnn_op *op;       /* CPU_STEP_DNN */
	struct cpu_int8_conv *conv8; /* CPU_STEP_CONV8 */
	struct npl_int8_job *int8;   /* CPU_STEP_LAYER: a product of 8-bit tensors with prepared weights; else NULL */
	struct cpu_widened *widened; /* CPU_STEP_LAYER: a layer of 16-bit floats; else NULL */
	struct npl_layer layer;      /* other kinds: a copy with the tensors below, whose data is set at each run */
	struct npl_tensor *in_tensor, *out_tensor;
};

struct cpu_layer_group {
	struct cpu_state *cpu;
	struct npl_layer_group request;
	bool prepared;
	int threads; /* oneDNN's threads for the layer being planned */
	int n_locations;
	int64_t locations_capacity, steps_capacity;
	struct cpu_tensor *location;
	int n_steps;
	struct cpu_step *step;
	int *pass;
	char *memory;
	size_t memory_bytes;
	struct npl_arena arena; /* holds the steps' lists */
};

int cpu_layer_group_open(void *state, const struct npl_layer_group *request, void **handle,
			 struct npl_layer_group_info *info, struct npl_err *err);
int cpu_layer_group_run(void *state, void *handle, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err);
void cpu_layer_group_close(void *handle); /* accepts NULL */

/* Returns the location that holds the data of a location in an order: its root for CPU_FIRST. */
struct cpu_tensor *cpu_location_of_data(const struct cpu_layer_group *group, int location, enum cpu_layout layout);

/* layer_group_plan.c: plans steps and locations, except the memory. */
int cpu_layer_group_plan(struct cpu_layer_group *group, struct npl_err *err);
/* layer_group_memory.c: places the locations in memory. Locations whose steps do not overlap share memory. */
int cpu_layer_group_memory(struct cpu_layer_group *group, struct npl_err *err);

#endif
