/* SPDX-License-Identifier: MIT
 *
 * The inside of layer.c: a layer's sizes, and the methods that compute it. Private to this folder.
 */
#ifndef NPULAB_CORE_INT8_LAYER_IMPL_H
#define NPULAB_CORE_INT8_LAYER_IMPL_H

#include "core/ops/window.h"
#include "layer.h"

/* One thread's counts and memory. */
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
	const int32_t *bias; /* a bias per output channel, or NULL */
	float *scale;        /* a scale per output channel; NULL: results are raw */

	/* Conv: one product per image and group, (filters, k) times (k, pixels); k is the channels of a group times the
	 * taps. Gemm: `filters` outputs and `pixels` rows, one image, one group. */
	int64_t images, groups, filters, channels, taps, k, pixels;
	struct npl_image in_image, out_image; /* Conv */

	/* A task of a product does a block of filters by a block of pixels. */
	int64_t filters_at_once, pixels_at_once, filter_blocks, pixel_blocks;
	int64_t acc_elements, gathered_bytes, product_bytes;
	size_t claimed, weights_claimed; /* bytes claimed by npl_int8_claim and npl_int8_claim_weights */
	uint8_t *base, *weights_base;
	bool prepared; /* weights_base is the job's own and keeps the weights brought there once */

	const struct npl_int8_method *method;
	void *method_state; /* the method's own state */
};

/* A method that computes layers. */
struct npl_int8_method {
	/* Chooses block sizes and claims memory. Returns 0 or NPL_ENOMEM. */
	int (*open)(struct npl_int8_job *job, struct npl_err *err);
	/* Initialises the claimed memory before each run; may be NULL. */
	void (*place)(struct npl_int8_job *job);
	bool prepares; /* step 0 brings the weights to weights_base and reads nothing else of the layer's data */
	void (*close)(struct npl_int8_job *job);
	int (*steps)(const struct npl_int8_job *job);
	int64_t (*tasks)(const struct npl_int8_job *job, int step);
	int (*run)(struct npl_int8_job *job, int step, int64_t task, struct npl_int8_worker *worker,
		   struct npl_err *err);
};

extern const struct npl_int8_method
	npl_int8_patches_method; /* Conv: pixels as they are stored, or gathered; any kernel */
extern const struct npl_int8_method npl_int8_windows_method; /* Conv: a kernel reads windows in the image */
/* Says whether npl_int8_windows_method can compute the layer: it needs a kernel of bytes, weights with the zero point 0
 * and nothing to count. */
bool npl_int8_windows_ok(const struct npl_int8_job *job);
/* Says whether a Conv's pixels are the image as it is stored: 1x1, stride 1, no padding. */
bool npl_int8_is_direct(const struct npl_int8_job *job);

/* Claims memory while a method is opened. Returns its distance from job->base, a multiple of 64. The memory is not
 * cleared. */
size_t npl_int8_claim(struct npl_int8_job *job, int64_t bytes);
/* Claims memory at job->weights_base, for data that depends on the weights, types and zero points alone. */
size_t npl_int8_claim_weights(struct npl_int8_job *job, int64_t bytes);

/* Returns a product's operand that is in a tensor's data. */
struct npl_int8_matrix npl_int8_matrix_of(const struct npl_tensor *tensor, const void *data, int64_t stride,
					  int64_t k_stride);

/* Converts `count` sums at acc to results from element `index` of the output on. The first has output channel
 * `channel`; each has its own channel (step 1) or all have that one (step 0). acc may be in the output itself if
 * results are raw. */
void npl_int8_finish_row(const struct npl_int8_job *job, int32_t *acc, int64_t count, int64_t channel, int step,
			 int64_t index, struct npl_int8_counts *counts);

#endif
