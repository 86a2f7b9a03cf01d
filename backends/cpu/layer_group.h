/* SPDX-License-Identifier: MIT
 *
 * Layers that follow each other on the processor (npulab/layer_group.h), prepared once: weights in oneDNN's order,
 * memory for what passes between them, and images kept with channels last from one convolution to the next.
 */
#ifndef NPULAB_BACKENDS_CPU_LAYER_GROUP_H
#define NPULAB_BACKENDS_CPU_LAYER_GROUP_H

#include "cpu.h"
#include "dnn.h"
#include "int8_conv.h"

/* A tensor of the layer group, in up to two orders. */
struct cpu_location {
	const struct npl_tensor *tensor;
	int layer;          /* that makes it; -1: given */
	int root;           /* of a view: the location whose data it is in the order CPU_FIRST; else itself */
	bool given, wanted; /* its data in the order CPU_FIRST is the caller's */
	bool has[CPU_LAYOUTS];
	int first[CPU_LAYOUTS], last[CPU_LAYOUTS]; /* steps between which it is needed in an order */
	size_t offset[CPU_LAYOUTS];                /* in the layer group's memory */
	void *data[CPU_LAYOUTS];                   /* while it runs */
};

enum cpu_step_kind {
	CPU_STEP_DNN,      /* a primitive of oneDNN from in[0] to out[0]; in[1] is added to a convolution's */
	CPU_STEP_CONV8,    /* a convolution of 8-bit tensors from in[0] to out[0] */
	CPU_STEP_ELEMENTS, /* element by element, whatever the order is */
	CPU_STEP_JOIN,     /* Concat of channels that are last */
	CPU_STEP_MAXPOOL,  /* maxima of floats, whose channels are last */
	CPU_STEP_LAYER,    /* the device's way for a layer alone */
};

struct cpu_step {
	enum cpu_step_kind kind;
	int layer_index;      /* whose time it is */
	int threads;          /* of oneDNN's */
	enum cpu_layout x, y; /* in which inputs and results lie */
	int n_in, n_out;
	int *in, *out;               /* locations; -1: absent */
	struct cpu_dnn_op *op;       /* CPU_STEP_DNN */
	struct cpu_int8_conv *conv8; /* CPU_STEP_CONV8 */
	struct npl_int8_job *int8;   /* CPU_STEP_LAYER: a product of 8-bit tensors whose weights are ready; NULL */
	struct cpu_widened *widened; /* CPU_STEP_LAYER: of 16-bit floats; NULL */
	struct npl_layer layer;      /* the others: over these tensors, whose data is set when it runs */
	struct npl_tensor *in_tensor, *out_tensor;
};

struct cpu_layer_group {
	struct cpu_state *cpu;
	struct npl_layer_group request;
	bool prepared;
	int threads; /* of the layer that is planned */
	int n_locations;
	int64_t locations_capacity, steps_capacity;
	struct cpu_location *location;
	int n_steps;
	struct cpu_step *step;
	int *pass;
	char *memory;
	size_t memory_bytes;
	struct npl_arena arena; /* lists of the steps */
};

int cpu_layer_group_open(void *state, const struct npl_layer_group *asked, void **opened,
			 struct npl_layer_group_info *info, struct npl_err *err);
int cpu_layer_group_run(void *state, void *opened, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err);
void cpu_layer_group_close(void *opened); /* accepts NULL */

/* Who holds the data of a location in an order. */
struct cpu_location *cpu_location_of_data(const struct cpu_layer_group *group, int location, enum cpu_layout layout);

/* layer_group_plan.c: the steps and the locations, except the memory. */
int cpu_layer_group_plan(struct cpu_layer_group *group, struct npl_err *err);
/* layer_group_memory.c: where each location lies; locations whose steps do not overlap share memory. */
int cpu_layer_group_memory(struct cpu_layer_group *group, struct npl_err *err);

#endif
