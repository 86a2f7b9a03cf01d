/* SPDX-License-Identifier: MIT
 *
 * The tables of sigmoid and tanh. What the program promises: every point is the function, rounded to nearest, as libm's
 * long double gives it; none is so close to the middle between two values that an error of 1e-13 could turn it. */
#include <criterion/criterion.h>
#include <math.h>

#include "sim/systolic/tpu_v1/engine/engine.h"
#include "sim/systolic/tpu_v1/function_table.h"

static long double sigmoid(long double x)
{
	return 1 / (1 + expl(-x));
}

static void expect_points(const struct tpu_function_table *table, long double (*function)(long double),
			  const char *name)
{
	for (int i = 0; i <= 256; i++) {
		long double exact = function((long double)(i - 128) / 16) * 32768, rounded = floorl(exact + 0.5L);
		cr_assert_gt(fabsl(exact - floorl(exact) - 0.5L), 32768 * 1e-13L, "%s, point %d", name, i);
		long expected = rounded > 32767 ? 32767 : (long)rounded;
		cr_assert_eq(table->point[i], expected, "%s, point %d is %d, expected %ld", name, i, table->point[i],
			     expected);
	}
}

Test(tpu_rtl_functions, points_are_those_of_the_functions)
{
	struct tpu_function_table table;
	tpu_sigmoid_points(&table);
	expect_points(&table, sigmoid, "sigmoid");
	cr_assert_eq(table.point[128], 16384);
	tpu_tanh_points(&table);
	expect_points(&table, tanhl, "tanh");
	cr_assert_eq(table.point[128], 0);
}
