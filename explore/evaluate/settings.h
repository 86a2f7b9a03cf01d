/* SPDX-License-Identifier: MIT
 *
 * The settings that a point gives its machine and its host: those of the plan, then those of the point, then those that
 * the plan derives from both. */
#ifndef NPULAB_EXPLORE_EVALUATE_SETTINGS_H
#define NPULAB_EXPLORE_EVALUATE_SETTINGS_H

#include "explore/space/plan.h"
#include "npulab/device.h"
#include "point.h"

#define SWEEP_MAX_SETTINGS (3 * SWEEP_PLAN_LIST + SWEEP_AXES * SWEEP_AXIS_KEYS)

struct sweep_machine_settings {
	int n;
	const char *set[SWEEP_MAX_SETTINGS];   /* "KEY=VALUE" */
	const char *typed[SWEEP_MAX_SETTINGS]; /* the same with "host." before a key of the host, for messages */
};

struct sweep_point_settings {               /* texts live in the arena */
	const char *model, *batch, *device; /* batch "": the model's own */
	const char *label;                  /* of values that move together; NULL: they have none */
	int device_level;                   /* the device's level of the plan's axis; -1: it is none of them */
	struct sweep_machine_settings of_device, of_host;
};

/* Finds the settings of a point. `base` and `host` are the device and the host as their files have them, whose
 * parameters derived ones may use. Call it once without base (NULL) to learn which device it is: derived settings are
 * then left out. Returns NPL_EUSAGE when a derived parameter is no number. */
int sweep_settings_of(const struct sweep_plan *plan, const struct sweep_request *request, const struct npl_device *base,
		      const struct npl_device *host, struct npl_arena *arena, struct sweep_point_settings *settings,
		      struct npl_err *err);

#endif
