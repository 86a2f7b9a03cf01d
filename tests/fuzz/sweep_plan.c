/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on plans of sweeps: any bytes are read as a plan file and checked. Either they are refused with one line
 * that blames the input, or every axis has its values, the method gives points within the levels, and expressions can
 * be computed. Settings without lists are read by the other harness, tests/fuzz/yaml.c.
 *
 * The file is a memfd, opened by its name below /proc like any other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "explore/methods/method.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Reads the plan; returns whether it is one. Checking opens machines, which may be files that the input names. */
static bool read_plan(const char *path, struct sweep_plan *plan)
{
	struct sweep_entry *entry;
	struct npl_err err = {0};
	int n;
	int rc = sweep_plan_entries(path, plan, &entry, &n, &err);
	if (!rc)
		rc = sweep_plan_read(entry, n, plan, &err);
	if (!rc)
		rc = sweep_plan_check(plan, &err);
	require(!rc || (err.code == rc && *err.msg && !strchr(err.msg, '\n')));
	require(!rc || rc == NPL_EINPUT || rc == NPL_EUSAGE || rc == NPL_EDEVICE);
	return !rc;
}

static void check_axes(const struct sweep_space *space)
{
	for (int a = 0; a < space->n_axes; a++) {
		const struct sweep_axis *axis = &space->axis[a];
		require(axis->n_levels > 0 && axis->n_levels <= 1 << 20 && axis->n_keys > 0);
		for (int i = 0; i < axis->n_levels * axis->n_keys; i++)
			require(axis->value[i] != NULL);
	}
	require(sweep_space_points(space) >= 1);
}

static void check_points(const struct sweep_plan *plan)
{
	struct npl_err err = {0};
	int64_t points;
	int level[SWEEP_AXES], reduced[SWEEP_AXES];
	if (sweep_method_points(plan, &points, &err)) {
		require(*err.msg);
		return;
	}
	require(points >= 1 && points <= SWEEP_MOST_POINTS);
	for (int64_t i = 0; i < 5; i++) {
		sweep_method_point(plan, points, i * (points - 1) / 4, level);
		memcpy(reduced, level, sizeof reduced);
		for (int a = 0; a < plan->space.n_axes; a++)
			require(level[a] >= 0 && level[a] < plan->space.axis[a].n_levels);
		sweep_space_reduce(&plan->space, reduced);
		require(!memcmp(reduced, level, (size_t)plan->space.n_axes * sizeof *level));
	}
}

/* Computes expressions of operands that are not known, and of numbers and texts: the sanitizers watch. */
static void check_formulas(const struct sweep_formulas *list)
{
	struct sweep_operand operand[SWEEP_EXPRESSION_NAMES];
	for (int i = 0; i < list->n; i++)
		for (int known = 0; known < 2; known++) {
			for (int k = 0; k < SWEEP_EXPRESSION_NAMES; k++)
				operand[k] = (struct sweep_operand){known ? (double)k : NAN,
								    known && k % 2 ? "text" : NULL};
			sweep_expression_value(&list->formula[i].expression, operand);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct sweep_plan *plan = calloc(1, sizeof *plan);
	const int fd = memfd_create("plan", 0);
	require(plan && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (read_plan(path, plan)) {
		check_axes(&plan->space);
		check_points(plan);
		check_formulas(&plan->derived);
		check_formulas(&plan->constraints);
		check_formulas(&plan->objectives);
	}
	sweep_plan_free(plan);
	free(plan);
	close(fd);
	return 0;
}
