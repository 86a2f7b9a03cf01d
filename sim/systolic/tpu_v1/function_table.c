/* SPDX-License-Identifier: MIT
 *
 * The tables of sigmoid and tanh that the activation units hold (docs/tpu-isa.md): 257 points from -8 to 8 in Q0.15.
 * They are computed with additions, multiplications and divisions of doubles alone, which IEEE 754 defines to the last
 * bit, so that they are the same on every computer. The error is some 1e-15, and no point is closer than that to the
 * middle between two numbers of 15 bits (tests/sim/systolic/tpu_v1/rtl/test_functions.c). */
#include "function_table.h"

/* Returns e^x for |x| <= 16: the Taylor series of x / 1024, whose terms from the ninth on are below 1e-21, squared ten
 * times. */
static double exponential(double x)
{
	double part = x / 1024, term = 1, sum = 0;
	for (int n = 1; n <= 12; n++) {
		term *= part / n;
		sum += term;
	}
	/* (1 + s)^2 - 1 = 2 s + s^2: what is close to 1 is kept as its distance, for the sake of its last digits. */
	for (int i = 0; i < 10; i++)
		sum = 2 * sum + sum * sum;
	return 1 + sum;
}

static int16_t q15(double value)
{
	double scaled = value * 32768 + 0.5;
	int32_t down = (int32_t)scaled;
	down -= scaled < down;
	return (int16_t)(down < INT16_MAX ? down : INT16_MAX);
}

static double x_of(int point)
{
	return (point - 128) / 16.0;
}

void tpu_sigmoid_points(struct tpu_function_table *table)
{
	for (int i = 0; i <= 256; i++)
		table->point[i] = q15(1 / (1 + exponential(-x_of(i))));
}

void tpu_tanh_points(struct tpu_function_table *table)
{
	for (int i = 0; i <= 256; i++)
		table->point[i] = q15(1 - 2 / (exponential(2 * x_of(i)) + 1));
}
