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
 *     struct tpu_engine_input engine_input = {.config = &config, .program = &g.program, .memory = memory};
 *     tpu_run_fast(&engine_input, &outcome, &err);
 *     tpu_read_tensor(&g, &config, y, y, &memory, &err);          each output of the group
 *     tpu_generated_free(&g);
 *
 *   Groups   Conv or Gemm with the layers after it whose input nothing else reads, in the order of activate: Add or
 *            Mul, then Relu, Sigmoid or Tanh, then pooling where whole images fit in a block of accumulators. Grouping
 *            changes no result.
 *   Tiles    K runs over blocks of channels, then taps. Where channels are few, as many taps as fit stand side by side
 *            (US Patent 9,697,463). Groups of a convolution stand side by side, block-diagonally, as many as give the
 *            fewest passes.
 *   Order    N is outermost, then rows, and K is innermost: sums wait in the accumulators. Rows are cut into equal
 *            blocks of at most half the accumulators, so that Activate reads one block while the array fills another.
 *            Blocks are larger where that saves more weight traffic than the waiting costs. Weights of a single K tile
 *            are read once for all rows.
 *   Weights  read_weights go ahead of their use by as many instructions as the queue of the unit takes, across blocks,
 *            layers and sync.
 *   sync     is emitted only where the unified buffer or host memory needs one.
 *   Buffer   Allocations live from the first instruction that writes them to the last that reads them, and are placed
 *            first fit. When they do not fit, the batch is run in parts, with fewer parts for the last layers. When
 *            that is not enough, given tensors and outputs pass through host memory a part at a time. As the last
 *            resort the largest tensors live in host memory, and layers run in strips of rows with halo, of columns,
 *            and at worst of one position and one row of channels. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_GENERATE_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_GENERATE_GENERATE_H

#include "npulab/layer_group.h"
#include "sim/systolic/tpu_v1/isa/isa.h"
#include "sim/systolic/tpu_v1/tpu.h"

/* Channels first .. first + channels - 1 of a tensor. In the unified buffer, vector v (image, row, column) of plane p
 * begins in row `row` + p * plane_rows + v / row_pixels, at lane (v mod row_pixels) * pixel_lanes + lane. In host
 * memory it begins at byte host_address + p * plane_bytes + v * pixel_bytes. Planes are the bytes of an element, low
 * ones first. */
struct tpu_extent {
	int64_t first, channels;
	bool in_host;
	int64_t row, plane_rows, pixel_lanes, row_pixels, lane;
	int64_t host_address, plane_bytes, pixel_bytes;
};

/* Where a tensor is kept: one that is given or an output, or one that the buffer holds between the layer that makes it
 * and those that read it. */
struct tpu_location {
	const struct npl_tensor *tensor; /* the tensor by which the layers name it */
	bool is_input, is_output;
	/* Index of the instruction at whose end the whole tensor is there; -1: it is given, or its parts are never
	 * there together. */
	int64_t complete_after;
	/* The image as it is kept. A flattened tensor has the image that it had before. */
	int64_t images, channels, height, width;
	int planes;
	int n_extents;
	const struct tpu_extent *extent;
};

/* The instructions of a layer are those from first to last for which of_layer names the layer; instructions for other
 * layers' parts of a batch and prefetched weights stand among them. A layer that shares an activate with another has no
 * instructions of its own: first > last. */
struct tpu_generated_layer {
	int64_t first, last;
	/* The layer whose instructions do this layer: itself, or the first of those that share; -1: the layer is a
	 * view. */
	int pass;
	/* The layer whose instructions read its inputs. It differs from `pass` where a layer takes several groups. */
	int first_pass;
};

struct tpu_generated {
	struct sim_program program;
	int32_t *of_layer; /* the layer of each instruction; -1: none */
	struct tpu_generated_layer *layer;
	int n_layers;
	uint8_t *weights; /* NULL in timing_only */
	size_t weight_bytes;
	struct tpu_location *location;
	const struct tpu_location **by_tensor; /* the locations, in the order of their tensors' addresses */
	int n_locations;
	struct tpu_extent *extents; /* the extents of all locations */
	int64_t peak_rows;          /* the most rows of the unified buffer that hold something at the same time */
	int64_t parts;              /* the most parts in which a group does the batch */
	size_t host_bytes;          /* the bytes of host memory that the program uses */
	/* Bytes that cross the link because something does not fit, not because of inputs_over_link or
	 * outputs_over_link. */
	uint64_t host_bytes_for_size;
};

/* Says whether the machine can run the layer, size aside. When it cannot, `reason` says why. */
bool tpu_generate_supports(const struct tpu_config *config, const struct npl_layer *layer, char *reason,
			   size_t reason_bytes);

/* Says with 0 that tpu_generate makes a program of the layer group, which has timing_only, unless memory runs out;
 * otherwise fails as that does. It takes a small part of the time. */
int tpu_generate_fits(const struct tpu_config *config, const struct npl_layer_group *group, struct npl_err *err);

/* Generates the program of a layer group. It does not read the group's members `constant` and `node`. With timing_only
 * it makes no weight image, and data of weights and biases may be NULL. With n_outputs 0 the outputs of the
 * group are the results that no layer of it reads. Returns 0, NPL_ENOMEM, NPL_EDEVICE where a layer, which the message
 * names, is not supported or one tile of it does not fit, or where no layer makes or reads an output, or NPL_EINPUT
 * where a scale, or the ratio of the scales of a layer, is not a finite number from 0 on. Unless it returns 0 there is
 * nothing to free. */
int tpu_generate(const struct tpu_config *config, const struct npl_layer_group *group, struct tpu_generated *generated,
		 struct npl_err *err);
void tpu_generated_free(struct tpu_generated *generated); /* accepts a zeroed one */

/* Returns where the tensor is kept; NULL: nowhere, as it only passes from step to step of the activation unit. */
const struct tpu_location *tpu_location_of(const struct tpu_generated *generated, const struct npl_tensor *tensor);
/* These move all elements between `data`, a tensor of the same type and shape, and the memories. NPL_EINTERNAL: the
 * tensor has no location. */
int tpu_load_tensor(const struct tpu_generated *generated, const struct tpu_config *config,
		    const struct npl_tensor *tensor, const struct npl_tensor *data, const struct tpu_memory *memory,
		    struct npl_err *err);
int tpu_read_tensor(const struct tpu_generated *generated, const struct tpu_config *config,
		    const struct npl_tensor *tensor, struct npl_tensor *data, const struct tpu_memory *memory,
		    struct npl_err *err);

#endif
