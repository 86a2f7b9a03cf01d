/* SPDX-License-Identifier: MIT
 *
 * The least bytes that layers must move through a machine's memories, whatever the machine does: each element that a
 * layer reads or writes, once. Core counts them from the tensors alone, so that the driver whose bytes are checked has
 * no say in it but npl_device_info.crosses, and npl_layer_group_info of what stays inside the machine.
 */
#ifndef NPULAB_CORE_LEAST_BYTES_H
#define NPULAB_CORE_LEAST_BYTES_H

#include "npulab/device.h"

/* Bytes of one layer, by memory. */
struct npl_least_bytes {
	uint64_t bytes[NPL_MEM_LEVELS];
};

/* The least bytes of a layer that runs by itself: its inputs come from a memory, and its results go to one. */
struct npl_least_bytes npl_least_bytes_of(const struct npl_device_info *info, const struct npl_layer *layer);
/* Of each layer of a group, least[group->n]. Layers of one pass hand results to each other inside the machine: these
 * are not counted, unless another pass reads them or they are wanted. 0 or NPL_ENOMEM. */
int npl_least_bytes_of_group(const struct npl_device_info *info, const struct npl_layer_group *group,
			     const struct npl_layer_group_info *how, struct npl_least_bytes *least,
			     struct npl_err *err);

#endif
