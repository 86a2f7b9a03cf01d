/* SPDX-License-Identifier: MIT
 *
 * Functions that the pooling operators share: their window, and the walk over images and channels.
 */
#ifndef NPULAB_CORE_OPS_POOL_H
#define NPULAB_CORE_OPS_POOL_H

#include "ops.h"

/* Reads the window, whose kernel_shape is required, and ceil_mode. */
int op_pool_attrs(struct npl_attr_list *list, struct npl_window *window, struct npl_err *err);
/* Completes the window; the output has x's type. */
int op_pool_shape(struct npl_window *window, const struct npl_tensor *x, struct npl_tensor *out, struct npl_err *err);
/* Makes the window of a global pooling: all of x's positions. */
void op_pool_global(struct npl_window *window, const struct npl_shape *x);

/* Positions of one window between two bounds along one dimension: first, first + dilation, ... below end. */
struct op_reach {
	int64_t first, end, count;
};
struct op_reach op_pool_reach(const struct npl_window *window, int d, int64_t output, int64_t low, int64_t high);

/* Runs the kernel over all images and channels, as many at a time as stay in a first-level cache together; the
 * window that it sees has a depth. */
typedef void op_pool_kernel(const struct npl_window *window, const int64_t in[NPL_VOLUME],
			    const int64_t out[NPL_VOLUME], int64_t planes, const void *from, void *to);
void op_pool_each(op_pool_kernel *kernel, const struct npl_window *window, const struct npl_tensor *x,
		  struct npl_tensor *y);

#endif
