/* SPDX-License-Identifier: MIT
 *
 * The functions of the cuda device that its driver calls: they open, describe and close it, and run layers on it.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_CUDA_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_CUDA_H

#include "backends/cuda/products/device.h"

/* Opens the device with any loader of libraries. */
int cu_open(const struct cu_loader *loader, const struct cu_config *config, struct cu_device **device,
	    struct npl_err *err);
void cu_close(struct cu_device *device); /* accepts NULL */

/* The loader with which every device is opened; tests replace it by a fake. */
extern const struct cu_loader *cu_loader;

/* facts.c: writes the PCI address by which NVML finds the board, "0000:65:00.0". */
void cu_bus_of(const struct cu_device *device, char text[32]);
/* facts.c: functions of struct npl_driver. */
int cu_open_meter(void *state, struct npl_energy_meter *meter, struct npl_err *err);
void cu_assume_power(const void *state, struct npl_assumed_power *power);
int cu_facts(void *state, struct npl_facts *facts, struct npl_err *err);
int cu_measure_memory(void *state, struct npl_memory_rate *rate, struct npl_err *err);

/* layer_group.c: functions of struct npl_driver. */
int cu_layer_group_open(void *state, const struct npl_layer_group *request, void **handle,
			struct npl_layer_group_info *info, struct npl_err *err);
int cu_layer_group_run(void *state, void *handle, const struct npl_layer_group_observer *observer,
		       struct npl_result *results, struct npl_err *err);
void cu_layer_group_close(void *handle); /* accepts NULL */

#endif
