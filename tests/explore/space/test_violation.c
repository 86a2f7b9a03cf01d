/* SPDX-License-Identifier: MIT
 *
 * Promises of the distance from a constraint (sweep_expression_violation): 0 exactly where the expression is true; of a
 * comparison the difference as a share of the greater side; `and` adds up, `or` takes the least; what has no distance,
 * and what is not known, is 1. Random conditions are compared with an evaluator of the test's own. */
#include "explore/space/expression.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

static const struct {
	const char *name;
	struct sweep_operand operand;
} names[] = {{"x", {3, NULL}}, {"rows", {256, "256"}}, {"unknown", {NAN, NULL}}, {"preset", {NAN, "hbm2"}}};
#define N_NAMES ((int)(sizeof names / sizeof *names))

/* Returns the violation of a text, and its value. */
static double violation_of(const char *text, double *value)
{
	struct npl_arena arena = {0};
	struct sweep_expression e;
	struct npl_err err = {0};
	struct sweep_operand operand[SWEEP_EXPRESSION_NAMES];
	cr_assert_eq(sweep_expression_parse(text, &arena, &e, &err), 0, "%s", err.msg);
	for (int i = 0; i < e.n_names; i++) {
		bool found = false;
		for (int k = 0; k < N_NAMES; k++)
			if (!strcmp(names[k].name, e.name[i])) {
				operand[i] = names[k].operand;
				found = true;
			}
		cr_assert(found, "%s: no name %s", text, e.name[i]);
	}
	const double violation = sweep_expression_violation(&e, operand);
	*value = sweep_expression_value(&e, operand);
	npl_arena_free(&arena);
	return violation;
}

#define LEAST 1e-9 /* of what is not true at all */

Test(sweep_violation, is_how_far_a_condition_is_from_being_true)
{
	static const struct {
		const char *text;
		double violation;
	} cases[] = {{"x < 4", 0},
		     {"x < 2", 1.0 / 3},
		     {"x > 12", 0.75},
		     {"x >= 3", 0},
		     {"x < 3", LEAST},
		     {"x == 4", 0.25},
		     {"x != 3", LEAST},
		     {"0 > 0", 1},
		     {"x <= -3", 1},
		     {"-x > 0", 1},
		     {"rows <= 64", 0.75},
		     {"1 / 0 < 5", 1},
		     {"x < 2 and rows <= 64", 1.0 / 3 + 0.75},
		     {"x < 2 and rows <= 256", 1.0 / 3},
		     {"x < 2 or rows <= 64", 1.0 / 3},
		     {"x < 2 or rows <= 256", 0},
		     {"not x < 4", 1},
		     {"not x > 4", 0},
		     {"x", 0},
		     {"x - 3", 1},
		     {"unknown < 5", 1},
		     {"unknown", 1},
		     {"unknown < 5 or x < 2", 1.0 / 3},
		     {"unknown < 5 and x < 2", 1 + 1.0 / 3},
		     {"unknown < 5 or x < 4", 0},
		     {"preset == 'hbm2'", 0},
		     {"preset == 'ddr3'", 1},
		     {"preset == 'ddr3' or x == 6", 0.5}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double value;
		const double violation = violation_of(cases[i].text, &value);
		cr_assert(fabs(violation - cases[i].violation) < 1e-12, "%s: %.12g, expected %.12g", cases[i].text,
			  violation, cases[i].violation);
	}
}

/* Nearer to a limit is a smaller violation, from far away until it is met. */
Test(sweep_violation, falls_towards_the_limit)
{
	double before = INFINITY, value;
	for (int limit = 1; limit <= 260; limit++) {
		char text[40];
		snprintf(text, sizeof text, "rows < %d", limit);
		const double violation = violation_of(text, &value);
		cr_assert(violation < before || (violation <= 0 && before <= 0), "%s", text);
		cr_assert_eq(violation <= 0, limit > 256);
		before = violation;
	}
}

/* ---- Random conditions. */

/* A condition with its value, NAN where it is not known, and its violation. */
struct condition {
	double value, violation;
};

static double draw_side(uint64_t *rng, FILE *out)
{
	const int64_t number = test_range(rng, -1, 12);
	if (number == -1) {
		fputs("unknown", out);
		return NAN;
	}
	fprintf(out, number == 3 ? "x" : "%d", (int)number);
	return (double)number;
}

static struct condition draw_comparison(uint64_t *rng, FILE *out)
{
	static const char *const operators[] = {"<", "<=", ">", ">=", "==", "!="};
	const int o = (int)test_range(rng, 0, 5);
	const double a = draw_side(rng, out);
	fprintf(out, " %s ", operators[o]);
	const double b = draw_side(rng, out);
	const bool holds = o == 0   ? a < b
			   : o == 1 ? a <= b
			   : o == 2 ? a > b
			   : o == 3 ? a >= b
			   : o == 4 ? a == b
				    : a != b;
	if (isnan(a) || isnan(b))
		return (struct condition){NAN, 1};
	if (holds)
		return (struct condition){1, 0};
	if (a == 0 && b == 0)
		return (struct condition){0, 1};
	return (struct condition){0, a == b ? LEAST : fabs(a - b) / fmax(a, b)};
}

static struct condition draw_condition(uint64_t *rng, int depth, FILE *out)
{
	const int64_t kind = depth ? test_range(rng, 0, 3) : 0;
	if (kind == 0)
		return draw_comparison(rng, out);
	fputs(kind == 1 ? "not (" : "(", out);
	const struct condition a = draw_condition(rng, depth - 1, out);
	if (kind == 1) {
		fputc(')', out);
		return (struct condition){isnan(a.value) ? (double)NAN : (double)(a.value == 0), a.value == 0 ? 0 : 1};
	}
	fputs(kind == 2 ? ") and (" : ") or (", out);
	const struct condition b = draw_condition(rng, depth - 1, out);
	fputc(')', out);
	const bool one_is_true = a.value == 1 || b.value == 1, one_is_false = a.value == 0 || b.value == 0;
	if (kind == 2)
		return (struct condition){one_is_false                       ? 0
					  : isnan(a.value) || isnan(b.value) ? NAN
									     : 1,
					  a.violation + b.violation};
	return (struct condition){one_is_true                        ? 1
				  : isnan(a.value) || isnan(b.value) ? NAN
								     : 0,
				  fmin(a.violation, b.violation)};
}

Test(sweep_violation, of_random_conditions_is_that_of_another_evaluator)
{
	uint64_t rng = 5;
	int open = 0, met = 0;
	for (int i = 0; i < 5000; i++) {
		char *text = NULL;
		size_t bytes;
		double value;
		FILE *out = open_memstream(&text, &bytes);
		cr_assert(out);
		const struct condition expected = draw_condition(&rng, (int)test_range(&rng, 0, 4), out);
		fclose(out);
		const double violation = violation_of(text, &value);
		cr_assert(isnan(value) ? isnan(expected.value) : value == expected.value, "%s: %g, expected %g", text,
			  value, expected.value);
		cr_assert(fabs(violation - expected.violation) < 1e-12, "%s: %.12g, expected %.12g", text, violation,
			  expected.violation);
		cr_assert_eq(violation <= 0, value == 1, "%s", text);
		open += isnan(value);
		met += value == 1;
		free(text);
	}
	cr_assert(open > 200 && met > 1000, "%d not known, %d true", open, met);
}
