/* SPDX-License-Identifier: MIT
 *
 * The plan of a sweep as its database has it, from which the settings of each point follow, and the command that runs a
 * point again:
 *
 *     npulab compare digits --devices tpu_v1 --set tpu_v1.array.rows=128 --timing-only */
#ifndef NPULAB_EXPLORE_RECORDED_H
#define NPULAB_EXPLORE_RECORDED_H

#include "explore/evaluate/settings.h"
#include "results.h"

struct sweep_recorded { /* zero-initialise before use; texts live in plan.arena */
	/* All of the plan but its name, description and method. */
	struct sweep_plan *plan;
	const char *method;                    /* its name; NULL: not known */
	const char *version, *commit;          /* of the program that began the sweep; NULL: not known */
	struct npl_device **device, *host;     /* for each level of the axis of devices; NULL: cannot be opened here */
	struct sweep_point_settings *settings; /* those of the point that was asked for last */
	struct npl_arena settings_arena;
};

int sweep_recorded_read(struct sweep_store *store, struct sweep_recorded *recorded, struct npl_err *err);
void sweep_recorded_free(struct sweep_recorded *recorded);

/* Finds the settings of a point, into recorded->settings. Returns NPL_EUSAGE where derived parameters cannot be
 * computed. */
int sweep_recorded_settings(struct sweep_recorded *recorded, const struct sweep_result *result, struct npl_err *err);
/* Returns the value of a derived parameter among the settings that were found last; NULL: it has none. */
const char *sweep_recorded_derived(const struct sweep_recorded *recorded, const char *key);

/* Returns the name of a machine of the axis, before the keys of its settings. */
const char *sweep_recorded_machine(const struct sweep_recorded *recorded, int device_level);
/* Returns the unit of a parameter; "": it has none, or is not known here. */
const char *sweep_recorded_unit(const struct sweep_recorded *recorded, const char *key);

/* Gives the options of the command that all points have, n of them: "--timing-only", "--host", "mine.yaml". */
#define SWEEP_RECORDED_OPTIONS (4 * SWEEP_PLAN_LIST + 16)
int sweep_recorded_options(const struct sweep_recorded *recorded, const char *option[SWEEP_RECORDED_OPTIONS], int *n,
			   struct npl_err *err);
/* Returns the command that runs the point whose settings were found last, quoted for a shell; allocated. NULL: out of
 * memory. */
char *sweep_recorded_command(const struct sweep_recorded *recorded);

#endif
