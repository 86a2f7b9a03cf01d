/* SPDX-License-Identifier: MIT
 *
 * The sizes of an Attention, from its inputs' shapes: for its kernel and for the nodes that replace it in a graph.
 */
#ifndef NPULAB_CORE_OPS_ATTENTION_H
#define NPULAB_CORE_OPS_ATTENTION_H

#include "ops.h"

enum { OP_MASK, OP_PAST_KEY, OP_PAST_VALUE }; /* indices of op_attention.in */

struct op_attention {
	int64_t batch, q_heads, kv_heads;
	int64_t rows, length, past; /* positions of q, of k, and of the past before k */
	int64_t size, k_size, v_size;
	double scale;
	const struct npl_tensor *in[3]; /* optional inputs, NULL: absent */
};

/* Reads the sizes. Returns NPL_EINPUT when the shapes of the inputs do not fit each other. */
int op_attention_read(const struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		      struct op_attention *a, struct npl_err *err);

#endif
