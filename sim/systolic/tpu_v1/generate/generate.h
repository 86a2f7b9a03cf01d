/* SPDX-License-Identifier: MIT
 *
 * From layers to a program of docs/tpu-isa.md with its weight image. A layer group becomes one program; a tensor is
 * known by its address: an input that is an earlier layer's `out` is the same tensor and stays in the unified buffer,
 * any other is given and is there when the program starts.
 *
 *     struct tpu_generated g;
 *     if (tpu_generate(&config, &group, &g, &err)) ...
 *     struct tpu_memory memory = {.buffer = ..., .weights = g.weights, .weight_bytes = g.weight_bytes, .host = ...,
 *                                 .host_bytes = g.host_bytes};
 *     tpu_load_tensor(&g, &config, x, x, &memory, &err);          each of g.location that is given
 *     struct tpu_execution execution = {.config = &config, .program = &g.program, .memory = memory};
 *     tpu_run_fast(&execution, &outcome, &err);
 *     tpu_read_tensor(&g, &config, y, y, &memory, &err);          each that is wanted
 *     tpu_generated_free(&g);
 *
 * What it decides:
 *   Groups   Conv or Gemm with what follows it and nobody else reads, in the order of activate: Add or Mul, then Relu,
 *            Sigmoid or Tanh, then pooling where whole images fit in a block of accumulators. No value changes by it.
 *   Tiles    K runs over blocks of channels, then taps: as many taps as fit side by side where channels are few (US
 *            Patent 9,697,463). Groups of a convolution stand side by side, block-diagonally, as many as give the
 *            fewest passes.
 *   Order    N outermost, then rows, K innermost: sums wait in the accumulators. Rows are cut into equal blocks of at
 *            most half the accumulators, so that Activate reads one while the array fills another; or of more, when
 *            that saves more weight traffic than the waiting costs. Weights of a single K tile are read once for all
 *            rows.
 *   Weights  read_weights go ahead of their use by as many instructions as the queue of the unit takes, across blocks,
 *            layers and sync.
 *   sync     only where the unified buffer or host memory demands one.
 *   Buffer   allocations live from the step that writes first to the last that reads, first fit. When they do not fit,
 *            the batch is run in parts, the last layers in fewer of them; then given and wanted tensors come and go
 *            through host memory a part at a time; then the largest tensors live there and layers run in strips of rows
 *            with halo, of columns, and at worst of one position and one row of channels. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_GENERATE_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_GENERATE_H

#include "npulab/layer_group.h"
#include "sim/systolic/tpu_v1/isa/isa.h"
#include "sim/systolic/tpu_v1/tpu.h"

/* Channels first .. first + channels - 1 of a tensor: in the unified buffer, vector v (image, row, column) of plane p
 * begins at lane (v mod row_pixels) * pixel_lanes + lane of row `row` + p * plane_rows + v / row_pixels; in host memory
 * at byte host_address + p * plane_bytes + v * pixel_bytes. Planes are bytes of an element, low ones first. */
struct tpu_extent {
	int64_t first, channels;
	bool in_host;
	int64_t row, plane_rows, pixel_lanes, row_pixels, lane;
	int64_t host_address, plane_bytes, pixel_bytes;
};

/* Where a tensor lies: given, wanted, or there for a while between the layer that makes it and those that read it. */
struct tpu_location {
	const struct npl_tensor *tensor; /* as the layers name it */
	bool given, wanted;
	int64_t complete_after; /* instruction at whose end all of it is there; -1: given, or it never is as a whole */
	int64_t images, channels, height, width; /* as it is kept; a flattened tensor has those it had before */
	int planes;
	int n_extents;
	const struct tpu_extent *extent;
};

/* Instructions first..last of the program are a layer's, where of_layer says so: parts of a batch and prefetched
 * weights lie between those of others. A layer that shares an activate with another has none of its own: first >
 * last. */
struct tpu_generated_layer {
	int64_t first, last;
	/* the layer whose instructions do it: itself, or the first of those that share; -1: it only names data */
	int pass;
	/* the layer whose instructions read its inputs: another than pass where a layer takes several groups */
	int first_pass;
};

struct tpu_generated {
	struct sim_program program;
	int32_t *of_layer; /* of each instruction; -1: of none */
	struct tpu_generated_layer *layer;
	int n_layers;
	uint8_t *weights; /* NULL in timing_only */
	size_t weight_bytes;
	struct tpu_location *location;
	const struct tpu_location **by_tensor; /* the locations, in the order of their tensors' addresses */
	int n_locations;
	struct tpu_extent *extents; /* of all locations */
	int64_t peak_rows;          /* of the unified buffer that hold something at the same time, at most */
	int64_t parts;              /* that the batch is run in */
	size_t host_bytes;          /* of host memory that the program uses */
	/* Bytes that cross the link because something does not fit, not because of inputs_over_link or
	 * outputs_over_link. */
	uint64_t host_bytes_for_size;
};

/* Whether the machine can run the layer, size aside. The reason when not in why. */
bool tpu_generate_supports(const struct tpu_config *config, const struct npl_layer *layer, char *why, size_t n);

/* The program of a layer group, whose members `constant` and `node` it does not read. With timing_only it makes no
 * weight image, and data of weights and biases may be NULL. With n_wanted 0, wanted are the outputs that no layer of
 * the group reads. NPL_EDEVICE: a layer is not supported, or one tile of it does not fit, naming the layer; NPL_EINPUT:
 * a scale that is no finite number from 0; NPL_ENOMEM. Unless it returns 0 there is nothing to free. */
int tpu_generate(const struct tpu_config *config, const struct npl_layer_group *group, struct tpu_generated *generated,
		 struct npl_err *err);
void tpu_generated_free(struct tpu_generated *generated); /* accepts a zeroed one */

/* NULL: it lies nowhere, but passes from step to step of the activation unit. */
const struct tpu_location *tpu_location_of(const struct tpu_generated *generated, const struct npl_tensor *tensor);
/* Moves all elements between `data`, a tensor of the same type and shape, and the memories. NPL_EINTERNAL: no such
 * place. */
int tpu_load_tensor(const struct tpu_generated *generated, const struct tpu_config *config,
		    const struct npl_tensor *tensor, const struct npl_tensor *data, const struct tpu_memory *memory,
		    struct npl_err *err);
int tpu_read_tensor(const struct tpu_generated *generated, const struct tpu_config *config,
		    const struct npl_tensor *tensor, struct npl_tensor *data, const struct tpu_memory *memory,
		    struct npl_err *err);

#endif
