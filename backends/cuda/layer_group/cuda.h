/* SPDX-License-Identifier: MIT
 *
 * The cuda device from outside: how it is opened, and what a driver does with it.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_CUDA_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_CUDA_H

#include "backends/cuda/products/device.h"

/* What the driver's open does, over any loader. */
int cu_open(const struct cu_loader *loader, const struct cu_config *config, struct cu_device **device,
	    struct npl_err *err);
void cu_close(struct cu_device *device); /* accepts NULL */

/* What opens the libraries of every device; tests put a fake there. */
extern const struct cu_loader *cu_loader;

/* facts.c: "0000:65:00.0", as NVML knows the board; */
void cu_bus_of(const struct cu_device *device, char text[32]);
/* members of struct npl_driver */
int cu_open_meter(void *state, struct npl_energy_meter *meter, struct npl_err *err);
void cu_assume_power(const void *state, struct npl_assumed_power *power);
int cu_facts(void *state, struct npl_facts *facts, struct npl_err *err);
int cu_measure_memory(void *state, struct npl_memory_rate *rate, struct npl_err *err);

/* layer_group.c */
int cu_layer_group_open(void *state, const struct npl_layer_group *asked, void **opened,
			struct npl_layer_group_info *info, struct npl_err *err);
int cu_layer_group_run(void *state, void *opened, const struct npl_layer_group_observer *observer,
		       struct npl_result *results, struct npl_err *err);
void cu_layer_group_close(void *opened); /* accepts NULL */

#endif
