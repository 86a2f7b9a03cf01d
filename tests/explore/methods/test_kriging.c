/* SPDX-License-Identifier: MIT
 *
 * Promises of estimates (kriging.h): a point that is known has its figure; products and sums of what axes do alone are
 * found from a few points of many; the error is that of leaving each point out, as computed by leaving it out; figures
 * below 0 and of either sign are estimated as well; and what is refused. */
#include "explore/methods/kriging.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"
#include "tests/kit/sweep_plan.h"

#define AXES                                                                                                           \
	"model: digits\ndevice: tpu_v1\nvary: {array.rows: 64..512+32, array.columns: 64..512+32, clock_hz: "          \
	"400e6..1200e6+100e6, weight_memory.preset: [fixed, ideal, hbm2]}\n"
enum { ROWS = SWEEP_FIRST_VARIED, COLUMNS, CLOCK, PRESET, ALL_AXES };

typedef double figure(const int *level);

/* What machines' times look like: a part that each axis divides, and one that only the memory decides. */
static double product(const int *level)
{
	const double memory[] = {1, 0.1, 0.3};
	return 1e-3 *
	       (1 +
		ceil(2048.0 / (64 + 32 * level[ROWS])) * ceil(512.0 / (64 + 32 * level[COLUMNS])) / (4 + level[CLOCK]) +
		5 * memory[level[PRESET]]);
}

static double negative(const int *level)
{
	return -product(level);
}

static double of_both_signs(const int *level)
{
	return product(level) - 4e-3;
}

static double constant(const int *level)
{
	(void)level;
	return 7;
}

/* n points at random with their figures. */
struct known {
	int64_t n;
	int *level;
	double *value;
};

static struct known draw(const struct sweep_plan *plan, int n, figure *f, uint64_t seed)
{
	struct known known = {n, calloc((size_t)(n * ALL_AXES), sizeof(int)), calloc((size_t)n, sizeof(double))};
	uint64_t rng = seed;
	cr_assert(known.level && known.value);
	for (int i = 0; i < n; i++) {
		int *level = known.level + i * ALL_AXES;
		for (int a = SWEEP_FIRST_VARIED; a < ALL_AXES; a++)
			level[a] = (int)test_range(&rng, 0, plan->space.axis[a].n_levels - 1);
		known.value[i] = f(level);
	}
	return known;
}

static void release(struct known *known)
{
	free(known->level);
	free(known->value);
}

static struct sweep_kriging *estimate(const struct sweep_plan *plan, const struct known *known)
{
	struct sweep_kriging *kriging;
	struct npl_err err = {0};
	cr_assert_eq(sweep_kriging_open(&plan->space, known->n, known->level, known->value, &kriging, &err), 0, "%s",
		     err.msg);
	return kriging;
}

/* The share of points that were not known whose estimate is within a share of the figure. */
static double within(const struct sweep_plan *plan, struct sweep_kriging *kriging, figure *f, double share)
{
	struct known others = draw(plan, 1000, f, 99);
	int n = 0;
	for (int64_t i = 0; i < others.n; i++)
		n += fabs(sweep_kriging_at(kriging, others.level + i * ALL_AXES) - others.value[i]) <=
		     share * fabs(others.value[i]);
	release(&others);
	return n / 1000.0;
}

Test(sweep_kriging, finds_what_axes_do)
{
	struct sweep_plan *plan = plan_of(AXES "minimise: seconds\n");
	/* 200 of 6,075 points. */
	struct known known = draw(plan, 200, product, 5), below = draw(plan, 200, negative, 5);
	struct sweep_kriging *kriging = estimate(plan, &known), *of_negative = estimate(plan, &below);
	cr_expect_gt(within(plan, kriging, product, 0.05), 0.8, "%g", within(plan, kriging, product, 0.05));
	cr_expect_gt(within(plan, kriging, product, 0.2), 0.98);
	cr_expect_float_eq(within(plan, kriging, product, 0.05), within(plan, of_negative, negative, 0.05), 1e-9);
	sweep_kriging_close(kriging);
	sweep_kriging_close(of_negative);
	release(&known);
	release(&below);
	plan_free(plan);
}

Test(sweep_kriging, gives_known_points_their_figure)
{
	static figure *const figures[] = {product, negative, of_both_signs, constant};
	struct sweep_plan *plan = plan_of(AXES "minimise: seconds\n");
	for (int f = 0; f < 4; f++)
		for (int n = SWEEP_KRIGING_LEAST; n < 200; n += 61) {
			struct known known = draw(plan, n, figures[f], (uint64_t)n);
			struct sweep_kriging *kriging = estimate(plan, &known);
			int near = 0;
			for (int64_t i = 0; i < known.n; i++)
				near += fabs(sweep_kriging_at(kriging, known.level + i * ALL_AXES) - known.value[i]) <
					0.02 * fabs(known.value[i]) + 1e-4;
			cr_expect_geq(near, n * 9 / 10, "figure %d: %d of %d", f, near, n);
			sweep_kriging_close(kriging);
			release(&known);
		}
	plan_free(plan);
}

/* The order in which points are asked for does not matter, though products are kept from the one before. */
Test(sweep_kriging, keeps_nothing_of_the_point_before)
{
	struct sweep_plan *plan = plan_of(AXES "minimise: seconds\n");
	struct known known = draw(plan, 60, product, 3), asked = draw(plan, 300, product, 4);
	struct sweep_kriging *once = estimate(plan, &known);
	for (int64_t i = 0; i < asked.n; i++) {
		struct sweep_kriging *anew = i % 10 ? NULL : estimate(plan, &known);
		const double value = sweep_kriging_at(once, asked.level + i * ALL_AXES);
		cr_assert(!anew || value == sweep_kriging_at(anew, asked.level + i * ALL_AXES));
		sweep_kriging_close(anew);
	}
	sweep_kriging_close(once);
	release(&known);
	release(&asked);
	plan_free(plan);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* The weights and ranges may be others when a point is left out, so that the errors are near each other, not equal. */
Test(sweep_kriging, says_how_far_it_is_off)
{
	enum { N = 120 };
	struct sweep_plan *plan = plan_of(AXES "minimise: seconds\n");
	struct known known = draw(plan, N, product, 11), others = draw(plan, N, product, 11);
	struct sweep_kriging *kriging = estimate(plan, &known);
	struct sweep_kriging_error error;
	struct npl_err err = {0};
	double off[N];
	cr_assert_eq(sweep_kriging_error(kriging, SWEEP_MODEL_AXIS, 1, &error, &err), 0);
	for (int i = 0; i < N; i++) {
		memcpy(others.level, known.level, sizeof(int) * N * ALL_AXES);
		memcpy(others.value, known.value, sizeof(double) * N);
		memcpy(others.level + i * ALL_AXES, known.level + (N - 1) * ALL_AXES, sizeof(int) * ALL_AXES);
		others.value[i] = known.value[N - 1];
		others.n = N - 1;
		struct sweep_kriging *without = estimate(plan, &others);
		off[i] = fabs(sweep_kriging_at(without, known.level + i * ALL_AXES) / known.value[i] - 1);
		sweep_kriging_close(without);
	}
	qsort(off, N, sizeof *off, by_size);
	cr_assert_eq(error.n, N);
	cr_expect(error.median <= error.ninth && error.ninth <= error.worst);
	cr_expect_float_eq(error.median, off[N / 2], 0.5 * off[N / 2] + 1e-3, "%g %g", error.median, off[N / 2]);
	cr_expect_float_eq(error.ninth, off[N * 9 / 10], 0.5 * off[N * 9 / 10] + 1e-3, "%g %g", error.ninth,
			   off[N * 9 / 10]);
	sweep_kriging_close(kriging);
	release(&known);
	release(&others);
	plan_free(plan);
}

Test(sweep_kriging, wants_some_points)
{
	struct sweep_plan *plan = plan_of(AXES "minimise: seconds\n");
	struct known known = draw(plan, SWEEP_KRIGING_LEAST - 1, product, 1);
	struct sweep_kriging *kriging;
	struct npl_err err = {0};
	cr_assert_eq(sweep_kriging_open(&plan->space, known.n, known.level, known.value, &kriging, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "expected at least 8"), "%s", err.msg);
	cr_assert_null(kriging);
	release(&known);
	plan_free(plan);
}

/* The same point twice, and more points than are taken. */
Test(sweep_kriging, takes_many_points)
{
	struct sweep_plan *plan = plan_of(AXES "minimise: seconds\n");
	struct known known = draw(plan, 3 * SWEEP_KRIGING_POINTS, product, 2);
	for (int64_t i = 0; i < known.n / 2; i++) {
		memcpy(known.level + (2 * i + 1) * ALL_AXES, known.level + 2 * i * ALL_AXES, sizeof(int) * ALL_AXES);
		known.value[2 * i + 1] = known.value[2 * i];
	}
	struct sweep_kriging *kriging = estimate(plan, &known);
	cr_expect_gt(within(plan, kriging, product, 0.05), 0.9);
	sweep_kriging_close(kriging);
	release(&known);
	plan_free(plan);
}
