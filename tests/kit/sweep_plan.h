/* SPDX-License-Identifier: MIT
 *
 * Plans of sweeps from texts, for tests.
 *
 *     struct sweep_plan *plan = plan_of("model: digits\ndevice: tpu_v1\nvary: {array.rows: 64..256*2}\n");
 *     ...
 *     plan_free(plan);
 */
#ifndef NPULAB_TESTS_KIT_SWEEP_PLAN_H
#define NPULAB_TESTS_KIT_SWEEP_PLAN_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "explore/space/plan.h"

/* A file with this text that has no name of its own: *fd is to be closed. */
static inline void plan_file(const char *text, char path[40], int *fd)
{
	*fd = memfd_create("plan", 0);
	cr_assert(*fd >= 0 && write(*fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, 40, "/proc/self/fd/%d", *fd);
}

/* Reads a plan from a YAML text, and checks it if asked. */
static inline int plan_read(const char *text, bool checked, struct sweep_plan *plan, struct npl_err *err)
{
	char path[40];
	struct sweep_entry *entry;
	int fd, n;
	plan_file(text, path, &fd);
	int rc = sweep_plan_entries(path, plan, &entry, &n, err);
	close(fd);
	if (!rc)
		rc = sweep_plan_read(entry, n, plan, err);
	return rc || !checked ? rc : sweep_plan_check(plan, err);
}

/* A plan that must be right; too large for a stack. */
static inline struct sweep_plan *plan_of(const char *text)
{
	struct sweep_plan *plan = calloc(1, sizeof *plan);
	struct npl_err err = {0};
	cr_assert(plan);
	cr_assert_eq(plan_read(text, true, plan, &err), 0, "%s\n%s", err.msg, text);
	return plan;
}

static inline void plan_free(struct sweep_plan *plan)
{
	sweep_plan_free(plan);
	free(plan);
}

#endif
