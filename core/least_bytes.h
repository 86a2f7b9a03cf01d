/* SPDX-License-Identifier: MIT
 *
 * The least bytes that layers must move through a machine's memories, whatever the machine does: each element that a
 * layer reads or writes, once. Core counts them from the tensors alone. The driver whose bytes are checked contributes
 * only npl_device_info.crosses and, for values that stay inside the machine, npl_layer_group_info.
 */
#ifndef NPULAB_CORE_LEAST_BYTES_H
#define NPULAB_CORE_LEAST_BYTES_H

#include "npulab/device.h"

/* Bytes of one layer, by memory. */
struct npl_least_bytes {
	uint64_t bytes[NPL_MEM_LEVELS];
};

/* Returns the least bytes of a layer that runs by itself: its inputs come from a memory, and its results go to one. */
struct npl_least_bytes npl_least_bytes_of(const struct npl_device_info *info, const struct npl_layer *layer);
/* Sets least[group->n] to the least bytes of each layer of a group. Results that layers of one pass hand to each other
 * stay inside the machine and are not counted, unless another pass reads them or they are outputs. Returns 0 or
 * NPL_ENOMEM. */
int npl_least_bytes_of_group(const struct npl_device_info *info, const struct npl_layer_group *group,
			     const struct npl_layer_group_info *group_info, struct npl_least_bytes *least,
			     struct npl_err *err);

#endif
