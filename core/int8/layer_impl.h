/* SPDX-License-Identifier: MIT
 *
 * The inside of layer.c: a layer as numbers, and the ways to do it. Private to this folder.
 */
#ifndef NPULAB_CORE_INT8_LAYER_IMPL_H
#define NPULAB_CORE_INT8_LAYER_IMPL_H

#include "core/ops/window.h"
#include "layer.h"

/* One thread's share. */
struct npl_int8_worker {
	struct npl_int8_counts counts;
	struct npl_err err;
	int32_t *acc;      /* job->acc_elements */
	uint8_t *gathered; /* job->gathered_bytes */
	void *product;     /* job->product_bytes: workspace of npl_int8_gemm */
};

struct npl_int8_job {
	const struct npl_layer *layer;
	struct npl_tensor out;       /* a view */
	struct npl_int8_order order; /* k_block 0: nothing to count */
	int n_workers;
	struct npl_int8_worker *worker;
	const int32_t *bias; /* per output channel, or NULL */
	float *scale;        /* per output channel; NULL: raw results */

	/* Conv: one product per image and group, (filters, k) times (k, pixels); k is channels of a group times taps.
	 * Gemm: filters outputs, pixels rows, one image, one group. */
	int64_t images, groups, filters, channels, taps, k, pixels;
	struct npl_image in_image, out_image; /* Conv */

	/* A task of a product does a block of filters by a block of pixels. */
	int64_t filters_at_once, pixels_at_once, filter_blocks, pixel_blocks;
	int64_t acc_elements, gathered_bytes, product_bytes;
	size_t claimed, weights_claimed; /* bytes of memory, see npl_int8_claim */
	uint8_t *base, *weights_base;
	bool prepared; /* weights_base is the job's own and holds what was brought there once */

	const struct npl_int8_method *method;
	void *method_state; /* of the way */
};

/* A way to do layers. */
struct npl_int8_method {
	/* Sizes of blocks and claims of memory; 0 or NPL_ENOMEM. */
	int (*open)(struct npl_int8_job *job, struct npl_err *err);
	/* What needs the memory claimed, before each run; may be NULL. */
	void (*place)(struct npl_int8_job *job);
	bool prepares; /* step 0 brings the weights where they stay, and reads nothing else of the layer's data */
	void (*close)(struct npl_int8_job *job);
	int (*steps)(const struct npl_int8_job *job);
	int64_t (*tasks)(const struct npl_int8_job *job, int step);
	int (*run)(struct npl_int8_job *job, int step, int64_t task, struct npl_int8_worker *worker,
		   struct npl_err *err);
};

extern const struct npl_int8_method npl_int8_gemm_way;    /* one product of the operands as they lie */
extern const struct npl_int8_method npl_int8_patches_way; /* Conv: pixels where they lie, or gathered; any kernel */
extern const struct npl_int8_method npl_int8_windows_way; /* Conv: a kernel reads windows where they lie */
/* Whether the last can do it: it needs a kernel for bytes, weights without a zero point and nothing to count. */
bool npl_int8_windows_ok(const struct npl_int8_job *job);
/* Whether a Conv's pixels are the image as it lies: 1x1, stride 1, no padding. */
bool npl_int8_is_direct(const struct npl_int8_job *job);

/* Claims memory while a way is opened: its distance from job->base, a multiple of 64. Nobody clears it. */
size_t npl_int8_claim(struct npl_int8_job *job, int64_t bytes);
/* The same from job->weights_base: for what depends on the weights, types and zero points alone. */
size_t npl_int8_claim_weights(struct npl_int8_job *job, int64_t bytes);

/* The operand of a product in a tensor's data. */
struct npl_int8_matrix npl_int8_matrix_of(const struct npl_tensor *tensor, const void *data, int64_t stride,
					  int64_t k_stride);

/* Sums become results: `count` from acc to element `at` of the output, of output channel `channel` on: each its own
 * channel (step 1) or all the same (0). acc may lie in the output itself when results are raw. */
void npl_int8_finish_row(const struct npl_int8_job *job, int32_t *acc, int64_t count, int64_t channel, int step,
			 int64_t at, struct npl_int8_counts *counts);

#endif
