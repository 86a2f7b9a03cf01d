/* SPDX-License-Identifier: MIT
 *
 * "NAME@KEY=VALUE@KEY=VALUE": a device with settings of its own, as in --devices tpu_v1,tpu_v1@array.rows=128. */
#ifndef NPULAB_FRONTEND_COMPARE_INSTANCE_H
#define NPULAB_FRONTEND_COMPARE_INSTANCE_H

#include "npulab/arena.h"
#include "npulab/error.h"

struct instance {
	const char *device;     /* a name, or the path of a machine file */
	const char *const *set; /* n_sets "KEY=VALUE" */
	int n_sets;
};

/* Cuts the text into the device and its settings, which are copied into the arena. A '@' that is not followed by a key
 * and '=' belongs to the text around it. NPL_EUSAGE: no device, a setting without a key or without '=', or a key with
 * two values. */
int instance_cut(const char *text, struct npl_arena *arena, struct instance *instance, struct npl_err *err);
/* Returns what tells the instance apart: the machine's name followed by the settings of the text. It is in the arena;
 * NULL when memory is short. */
const char *instance_label(const char *machine, const char *text, struct npl_arena *arena);

#endif
