/* SPDX-License-Identifier: MIT
 *
 * One layer on several devices (`npulab layer`): operands drawn from a seed in each device's own number format, run
 * without a network around it. Operands start in the machine's on-chip input buffer, weights in its weight memory and
 * the result ends on chip; what moving them to and from the host would take is reported beside the time, in no cycle
 * count. On a machine that brings and fetches in pieces what does not fit (tpu_v1), that is in the cycles instead.
 *
 * What is drawn, in this order, from npl_random seeded with `seed`, one 64-bit draw an element, its top bits taken: x,
 * then w. int8: x full-range i8 (u8 with unsigned_x), w full-range i8, scales 1, zero points 0; the result is the raw
 * int32 accumulators unless requantise. Q6.10: full-range i16. float32: npl_random_unit.
 */
#ifndef NPULAB_SINGLE_LAYER_H
#define NPULAB_SINGLE_LAYER_H

#include "npulab/compare.h"
#include "npulab/random.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_layer_spec {
	enum npl_op op;     /* GEMM, CONV, MAXPOOL, AVERAGEPOOL, RELU */
	struct npl_shape x; /* GEMM: (m,k); else (n,c,h,w) */
	int64_t outputs;    /* GEMM: n; CONV: filters */
	/* Of a convolution: the window and the groups. Of a pooling: the window. Of a Gemm: all. npl_single_layer
	 * completes them. */
	struct npl_attrs attrs;
	bool unsigned_x, requantise;
	bool no_accuracy; /* skip the float reference, which takes long for large layers */
	uint64_t seed;
};

/* Draws a tensor's elements from random as described above. */
void npl_draw(struct npl_tensor *tensor, struct npl_random *random);

/* Fills a comparison of one-layer reports; its graph lives in the comparison's arena. output, if not NULL, receives
 * the last device's result in its own type. options: device_names, n_devices, set, n_sets, threads, timing_only. */
int npl_single_layer(const struct npl_layer_spec *spec, const struct npl_compare_options *options,
		     struct npl_comparison *comparison, struct npl_tensor *output, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
