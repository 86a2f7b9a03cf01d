/* SPDX-License-Identifier: MIT
 *
 * Promises of the values of an axis: which texts a list or a range stands for, that random ranges have the values that
 * exact arithmetic of whole numbers gives, and what is refused. */
#include "explore/space/values.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

/* The values with blanks between them, or the message of a refusal behind "!". To be freed. */
static char *read_values(const char *list)
{
	struct npl_arena arena = {0};
	struct sweep_values values;
	struct npl_err err = {0};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	cr_assert(out);
	const int rc = sweep_values_read(list, &arena, &values, &err);
	if (rc) {
		cr_assert_eq(rc, NPL_EUSAGE, "%s: %d", list, rc);
		fprintf(out, "!%s", err.msg);
	}
	for (int i = 0; !rc && i < values.n; i++)
		fprintf(out, "%s%s", i ? " " : "", values.text[i]);
	fclose(out);
	npl_arena_free(&arena);
	return text;
}

static const struct {
	const char *list, *values;
} lists[] = {
	{"64", "64"},
	{"64,128 ,  256", "64 128 256"},
	{"64\n128\n256..258", "64 128 256 257 258"},
	{"fixed, hbm2", "fixed hbm2"},
	{"../machines/a.yaml", "../machines/a.yaml"},
	{"1..8", "1 2 3 4 5 6 7 8"},
	{"5..5", "5"},
	{"-2..2", "-2 -1 0 1 2"},
	{"-4..-1+2", "-4 -2"},
	{"100..200+25", "100 125 150 175 200"},
	{"100..199+25", "100 125 150 175"},
	{"64..512*2", "64 128 256 512"},
	{"64..511*2", "64 128 256"},
	{"3..100*3", "3 9 27 81"},
	{"4..32*2 MiB", "4 MiB 8 MiB 16 MiB 32 MiB"},
	{"1..4*2Ki", "1Ki 2Ki 4Ki"},
	{"400e6..600e6+100e6", "400000000 500000000 600000000"},
	{"0.5..2*2", "0.5 1 2"},
	{"10..100*1.5", "10 15 22.5 33.75 50.625 75.9375"},
	/* the sum of the doubles 0.1, 0.1 and 0.1 is more than the double 0.3 */
	{"0.1..0.3+0.1", "0.1 0.2 0.3"},
	{"0..1+0.1", "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"},
	{"1e-9..3e-9+1e-9", "1e-09 2e-09 3e-09"},
	{"-0.3..0.3+0.1", "-0.3 -0.2 -0.1 0 0.1 0.2 0.3"},
	{"-1e-7..1e-7+1e-8", "-1e-07 -9e-08 -8e-08 -7e-08 -6e-08 -5e-08 -4e-08 -3e-08 -2e-08 -1e-08 0 1e-08 2e-08 "
			     "3e-08 4e-08 5e-08 6e-08 7e-08 8e-08 9e-08 1e-07"},
	{"0.7..0.9+0.05", "0.7 0.75 0.8 0.85 0.9"},
	/* what belongs to the end is far less than a step, also where numbers are large */
	{"4000000000..4000000003", "4000000000 4000000001 4000000002 4000000003"},
	{"9007199254740989..9007199254740990", "9007199254740989 9007199254740990"},
	{"1..1.0000000001+0.00000000005", "1 1.00000000005 1.0000000001"},
	{"1e15..1.000000000000001e15+1", "1000000000000000 1000000000000001"},
	{"64:4, 128:8", "64:4 128:8"},
};

Test(sweep_values, are_those_that_a_list_stands_for)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		char *text = read_values(lists[i].list);
		cr_expect_str_eq(text, lists[i].values, "%s: %s", lists[i].list, text);
		free(text);
	}
}

static const struct {
	const char *list, *message;
} refusals[] = {
	{"", "found an empty one"},
	{"1,,2", "found an empty one"},
	{"1,2,", "found an empty one"},
	{" , ", "found an empty one"},
	{"8..1", "'8..1': a range goes upwards"},
	{"1..8+0", "expected a step above 0"},
	{"1..8+-1", "expected a step above 0"},
	{"1..8*1", "expected a first value above 0 and a factor above 1"},
	{"1..8*0.5", "a factor above 1"},
	{"0..8*2", "a first value above 0"},
	{"-8..8*2", "a first value above 0"},
	{"1..8*", "expected a range such as"},
	{"1..", "expected a range such as"},
	{"1..x", "expected a range such as"},
	{"1..8+2+3", "expected a range such as"},
	{"1..8*2*2", "expected a range such as"},
	{"1..8**2", "expected a range such as"},
	{"1..2..3", "expected a range such as"},
	{"1..inf", "expected a range such as"},
	{"1..1e999", "expected a range such as"},
	{"1..8*nan", "expected a range such as"},
	{"64,128,64", "the value '64' stands twice"},
	{"64..256*2,128", "the value '128' stands twice"},
	{"a,b,a", "the value 'a' stands twice"},
	{"1..1048577", "more than 1048576 values"},
	{"1..1e300*1.0000001", "more than 1048576 values"},
	/* the step is less than the distance of the doubles there: no value comes to the end */
	{"1e300..1.1e300+1", "more than 1048576 values"},
};

Test(sweep_values, refuses_what_is_no_list)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		char *text = read_values(refusals[i].list);
		cr_expect(*text == '!' && strstr(text, refusals[i].message), "%s: %s", refusals[i].list, text);
		free(text);
	}
}

Test(sweep_values, has_room_for_as_many_as_it_says)
{
	struct npl_arena arena = {0};
	struct sweep_values values;
	struct npl_err err = {0};
	cr_assert_eq(sweep_values_read("1..1048575, x", &arena, &values, &err), 0, "%s", err.msg);
	cr_assert_eq(values.n, SWEEP_MAX_LEVELS);
	cr_assert_str_eq(values.text[1048574], "1048575");
	cr_assert_str_eq(values.text[1048575], "x");
	cr_assert_eq(sweep_values_read("1..1048575, x, y", &arena, &values, &err), NPL_EUSAGE);
	npl_arena_free(&arena);
}

/* Writes a number of so many units of 10^-digits. */
static void write_decimal(int64_t units, int digits, char text[40])
{
	int64_t scale = 1;
	for (int i = 0; i < digits; i++)
		scale *= 10;
	snprintf(text, 40, "%s%lld.%0*lld", units < 0 ? "-" : "", (long long)(llabs(units) / scale), digits,
		 (long long)(llabs(units) % scale));
	if (!digits)
		text[strcspn(text, ".")] = '\0';
}

/* Random ranges in units of a power of ten: the values are those of whole numbers of these units, in the same digits
 * but for zeros at the end. */
Test(sweep_values, are_those_of_exact_arithmetic)
{
	uint64_t rng = 20240613;
	for (int round = 0; round < TEST_TIMES(20000); round++) {
		const int digits = (int)test_range(&rng, 0, 4);
		const int64_t step = test_range(&rng, 1, 300), first = test_range(&rng, -100000, 100000);
		const int n = (int)test_range(&rng, 1, 40);
		const int64_t last = first + step * (n - 1) + test_range(&rng, 0, step - 1);
		char text[3][40], list[130];
		write_decimal(first, digits, text[0]);
		write_decimal(last, digits, text[1]);
		write_decimal(step, digits, text[2]);
		snprintf(list, sizeof list, "%s..%s+%s", text[0], text[1], text[2]);
		struct npl_arena arena = {0};
		struct sweep_values values;
		struct npl_err err = {0};
		cr_assert_eq(sweep_values_read(list, &arena, &values, &err), 0, "%s: %s", list, err.msg);
		cr_assert_eq(values.n, n, "%s: %d values, expected %d (seed 20240613)", list, values.n, n);
		for (int i = 0; i < n; i++) {
			char expected[40];
			write_decimal(first + step * i, digits, expected);
			cr_assert_eq(strtod(values.text[i], NULL), strtod(expected, NULL), "%s: value %d is %s", list,
				     i, values.text[i]);
			cr_assert_leq(strlen(values.text[i]), strlen(expected), "%s: value %d is %s", list, i,
				      values.text[i]);
		}
		npl_arena_free(&arena);
	}
}
