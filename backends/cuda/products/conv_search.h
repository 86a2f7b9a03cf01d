/* SPDX-License-Identifier: MIT
 *
 * The choices of cuDNN's algorithms that a device has measured: one for all convolutions with the same parameters.
 */
#ifndef NPULAB_BACKENDS_CUDA_PRODUCTS_CONV_SEARCH_H
#define NPULAB_BACKENDS_CUDA_PRODUCTS_CONV_SEARCH_H

#include "backends/cuda/load/dnn_api.h"

/* All parameters on which a convolution's time depends, in cuDNN's terms. All members are int, so that bytes can be
 * compared. */
struct cu_dnn_case {
	int type, layout, math, groups, has_bias, activation;
	int x[5], w[5], y[5];
	int pad[3], stride[3], dilation[3];
};

struct cu_dnn_choice {
	struct cu_dnn_case key;
	struct cu_dnn_found found;
	bool own_epilogue; /* as in struct cu_dnn_layer */
};
struct cu_dnn_choices {
	struct cu_dnn_choice *choice;
	int64_t count, capacity;
};
void cu_dnn_choices_free(struct cu_dnn_choices *choices);

#endif
