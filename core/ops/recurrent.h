/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM with the caller's matrix product. The products are all of a recurrent layer except its gates, and a
 * processor's library computes them faster than the reference kernels.
 */
#ifndef NPULAB_CORE_OPS_RECURRENT_H
#define NPULAB_CORE_OPS_RECURRENT_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_multiplier {
	/* Computes y(rows,cols) += a(rows,depth) * transposed b(cols,depth). Rows of y are y_stride elements apart; a
	 * and b have no gaps. */
	void (*add)(void *context, int64_t rows, int64_t cols, int64_t depth, const float *a, const float *b, float *y,
		    int64_t y_stride);
	void *context;
};

/* Runs one of these three operators as npl_op_run does. The multiplier computes the sums; gates and states are rounded
 * as in the reference kernels. */
int npl_recurrent_run(const struct npl_multiplier *multiplier, const struct npl_attrs *attrs,
		      const struct npl_tensor *const *in, int n_in, struct npl_tensor *out, int n_out,
		      struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
