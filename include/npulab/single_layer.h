/* SPDX-License-Identifier: MIT
 *
 * One layer on several devices (`npulab layer`): its operands are drawn from a seed in each device's own number format,
 * and it runs without a network around it. Operands start in the machine's on-chip input buffer and weights in its
 * weight memory; the result stays on chip. The time that moving operands and result to and from the host would take is
 * reported beside the layer's time, and is in no cycle count. A machine that moves operands in pieces where they do not
 * fit (tpu_v1) counts these transfers in its cycles instead.
 *
 * x, then w, are drawn from npl_random seeded with `seed`: one 64-bit draw for each element, of which the top bits are
 * used. int8: x full-range i8 (u8 with unsigned_x), w full-range i8, scales 1, zero points 0; the result is the raw
 * int32 accumulators unless requantise. Q6.10: full-range i16. float32: npl_random_unit.
 */
#ifndef NPULAB_SINGLE_LAYER_H
#define NPULAB_SINGLE_LAYER_H

#include "npulab/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_layer_spec {
	enum npl_op op;     /* GEMM, CONV, MAXPOOL, AVERAGEPOOL, RELU */
	struct npl_shape x; /* GEMM: (m,k); else (n,c,h,w) */
	int64_t outputs;    /* GEMM: n; CONV: filters */
	/* For a convolution the window and the groups, for a pooling the window, for a Gemm all attributes.
	 * npl_single_layer completes them. */
	struct npl_attrs attrs;
	bool unsigned_x, requantise;
	bool no_accuracy; /* skip the float reference, which takes long for large layers */
	uint64_t seed;
	int64_t zero_percent; /* of the inputs, how many are 0, drawn after all operands */
	/* Is called with check_data when all devices are open and described in the comparison, before any of them runs.
	 * A result other than 0, with its message, ends npl_single_layer. NULL: nothing is checked. */
	int (*check_devices)(void *check_data, const struct npl_comparison *comparison, struct npl_err *err);
	void *check_data;
};

/* Runs the layer and fills a comparison of one-layer reports; its graph lives in the comparison's arena. output, if not
 * NULL, receives the last device's result in its own type. Of options it uses device_names, n_devices, set, n_sets,
 * threads, engine, plan.timing_only and programs. */
int npl_single_layer(const struct npl_layer_spec *spec, const struct npl_compare_options *options,
		     struct npl_comparison *comparison, struct npl_tensor *output, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
