/* SPDX-License-Identifier: MIT
 *
 * Promises of expressions: random ones, written with no more brackets than the strengths of the operators ask for, have
 * the value of an evaluator of the test's own; what an unknown figure leaves open; texts, suffixes, refusals, and texts
 * that are very long or deep. */
#include "explore/space/expression.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

/* What the names of these tests mean. */
static const struct {
	const char *name;
	struct sweep_operand operand;
} names[] = {{"x", {3, NULL}},           {"array.rows", {256, "256"}}, {"y_2", {-0.5, NULL}}, {"zero", {0, NULL}},
	     {"unknown", {NAN, NULL}},   {"preset", {NAN, "hbm2"}},    {"orbit", {2, NULL}},  {"nothing", {7, NULL}},
	     {"not_known", {NAN, NULL}}, {"_a.b.c", {1e300, "1e300"}}};
#define N_NAMES ((int)(sizeof names / sizeof *names))

static double value_of(const char *text)
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
	const double value = sweep_expression_value(&e, operand);
	npl_arena_free(&arena);
	return value;
}

static bool is_same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

static const struct {
	const char *text;
	double value;
} examples[] = {
	{"1 + 2 * 3", 7},
	{"(1 + 2) * 3", 9},
	{"10 - 4 - 3", 3},
	{"100 / 10 / 5", 2},
	{"2 ^ 3 ^ 2", 512},
	{"-2 ^ 2", -4},
	{"2 ^ -1", 0.5},
	{"2 ^ -3 ^ 2", 1.0 / 512},
	{"--3", 3},
	{"2 * -3", -6},
	{"not 1 == 2", 1},
	{"not not 5", 1},
	{"not 1 and 0", 0},
	{"1 or 0 and 0", 1},
	{"1 + 1 < 3 and 2 * 2 >= 4", 1},
	{" \t x\n+\r1 ", 4},
	{"1.5e3", 1500},
	{"1e-2", 0.01},
	{".5", 0.5},
	{"64K", 64e3},
	{"64Ki", 65536},
	{"1.5M", 1.5e6},
	{"2Mi", 2097152},
	{"3G + 1Gi", 3e9 + 1073741824.0},
	{"1T", 1e12},
	{"1Ti", 1099511627776.0},
	{"16 * array.rows", 4096},
	{"_a.b.c", 1e300},
	{"orbit or nothing", 1},
	{"orbit - nothing", -5},
	{"abs(-2) + ceil(1.2) + floor(1.8) + log2(8) + round(2.5) + sqrt(16)", 2 + 2 + 1 + 3 + 3 + 4},
	{"max(1, x, 2) - min(4, 2, 8)", 1},
	{"max((1), min(5, 4))", 4},
	{"preset == 'hbm2'", 1},
	{"preset == \"hbm2\"", 1},
	{"preset != 'hbm2'", 0},
	{"preset == 'ddr3'", 0},
	{"preset != 'ddr3'", 1},
	{"'a,b' == 'a,b'", 1},
	{"'it\"s' == \"it's\"", 0},
	{"'' == ''", 1},
	{"array.rows == 256", 1},
	{"array.rows == '256'", 1},
	{"array.rows == '256.0'", 0},
	{"array.rows != 'hbm2'", 1},
	{"preset == 5", 0},
	{"preset != 5", 1},
	{"preset < 5 or preset > 5", 0},
	{"1 / 0 > 1e300", 1},
};

Test(sweep_expression, has_the_value_that_its_rules_give)
{
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		cr_expect_eq(value_of(examples[i].text), examples[i].value, "%s: %g", examples[i].text,
			     value_of(examples[i].text));
}

/* What depends on an unknown figure is unknown. So neither a constraint nor its opposite is met by one. */
Test(sweep_expression, leaves_open_what_is_not_known)
{
	static const char *const open[] = {"unknown",           "unknown + 1",        "unknown ^ 0",
					   "1 ^ unknown",       "max(unknown, 5)",    "min(5, unknown)",
					   "-unknown",          "sqrt(-1)",           "unknown < 5",
					   "unknown >= 5",      "unknown == unknown", "unknown != 5",
					   "unknown == 'hbm2'", "unknown != 'hbm2'",  "not unknown",
					   "not (unknown < 5)", "unknown < 5 and 1",  "1 and unknown < 5",
					   "unknown or 0",      "0 or not unknown",   "unknown and not_known"};
	static const char *const met[] = {"unknown or 1", "1 or unknown < 5", "not (unknown and 0)", "x or unknown"};
	static const char *const broken[] = {"unknown and 0", "0 and unknown > 3", "not (1 or unknown)"};
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		cr_expect(isnan(value_of(open[i])), "%s: %g", open[i], value_of(open[i]));
	for (size_t i = 0; i < sizeof met / sizeof *met; i++)
		cr_expect_eq(value_of(met[i]), 1, "%s: %g", met[i], value_of(met[i]));
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		cr_expect_eq(value_of(broken[i]), 0, "%s: %g", broken[i], value_of(broken[i]));
}

/* An expression as a tree: what the generator draws, the printer writes and the evaluator computes. */
struct tree {
	enum {
		T_OR,
		T_AND,
		T_NOT,
		T_LT,
		T_LE,
		T_GT,
		T_GE,
		T_EQ,
		T_NE,
		T_ADD,
		T_SUB,
		T_MUL,
		T_DIV,
		T_NEG,
		T_POW,
		T_MAX,
		T_FLOOR,
		T_NUMBER,
		T_TEXT,
		T_NAME,
	} kind;
	int index; /* of the name, or the value of the number */
	struct tree *a, *b;
};
static const char *const symbols[] = {"or", "and", "not", "<", "<=", ">", ">=", "==", "!=", "+",
				      "-",  "*",   "/",   "-", "^",  "",  "",   "",   "",   ""};
/* The strength of what a kind makes, from 0; operands that are weaker need brackets. */
static const int strengths[] = {0, 1, 2, 3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8, 8, 8, 8};

static struct tree *draw(uint64_t *rng, int depth)
{
	struct tree *t = calloc(1, sizeof *t);
	cr_assert(t);
	t->kind = depth ? (int)test_range(rng, 0, T_NAME) : (int)test_range(rng, T_NUMBER, T_NAME);
	t->index = t->kind == T_NAME ? (int)test_range(rng, 0, N_NAMES - 1) : (int)test_range(rng, 0, 9);
	if (t->kind < T_NUMBER)
		t->a = draw(rng, depth - 1);
	if (t->kind < T_NUMBER && t->kind != T_NOT && t->kind != T_NEG && t->kind != T_FLOOR)
		t->b = draw(rng, depth - 1);
	return t;
}

static void drop(struct tree *t)
{
	if (!t)
		return;
	drop(t->a);
	drop(t->b);
	free(t);
}

static void print(FILE *out, const struct tree *t, uint64_t *rng);

/* Writes an operand with the brackets that it needs, and now and then with those that it does not. */
static void print_operand(FILE *out, const struct tree *t, int least, uint64_t *rng)
{
	const bool bracketed = strengths[t->kind] < least || test_range(rng, 0, 9) == 0;
	fputs(bracketed ? "(" : "", out);
	print(out, t, rng);
	fputs(bracketed ? ")" : "", out);
}

static void print_two(FILE *out, const struct tree *t, uint64_t *rng)
{
	const int own = strengths[t->kind];
	const bool compares = t->kind >= T_LT && t->kind <= T_NE, is_power = t->kind == T_POW;
	print_operand(out, t->a, is_power ? 8 : compares ? own + 1 : own, rng);
	fprintf(out, t->kind <= T_AND || test_range(rng, 0, 1) ? " %s " : "%s", symbols[t->kind]);
	print_operand(out, t->b, is_power ? 6 : own + 1, rng);
}

static void print(FILE *out, const struct tree *t, uint64_t *rng)
{
	static const char *const texts[] = {"'hbm2'", "\"fixed\""};
	if (t->kind == T_NUMBER)
		fprintf(out, "%d%s", t->index, t->index == 7 ? "Ki" : t->index == 8 ? ".25" : "");
	else if (t->kind == T_TEXT)
		fputs(texts[t->index % 2], out);
	else if (t->kind == T_NAME)
		fputs(names[t->index].name, out);
	else if (t->kind == T_MAX || t->kind == T_FLOOR) {
		fputs(t->b ? "max(" : "floor(", out);
		print(out, t->a, rng);
		fputs(t->b ? ", " : "", out);
		if (t->b)
			print(out, t->b, rng);
		fputs(")", out);
	} else if (t->b)
		print_two(out, t, rng);
	else {
		fprintf(out, t->kind == T_NOT ? "not " : "-");
		print_operand(out, t->a, strengths[t->kind], rng);
	}
}

static struct sweep_operand evaluate(const struct tree *t);

/* 1: true, 0: false, -1: not known. */
static int truth(struct sweep_operand o)
{
	return isnan(o.number) ? -1 : o.number != 0;
}

static double compare_trees(const struct tree *t)
{
	const struct sweep_operand a = evaluate(t->a), b = evaluate(t->b);
	const bool a_is_text = a.text && isnan(a.number), b_is_text = b.text && isnan(b.number);
	if ((!a.text && isnan(a.number)) || (!b.text && isnan(b.number)))
		return NAN;
	if (a_is_text || b_is_text) {
		const bool same = a.text && b.text && !strcmp(a.text, b.text);
		return t->kind == T_EQ ? same : t->kind == T_NE ? !same : 0;
	}
	const int order = (a.number > b.number) - (a.number < b.number);
	const bool holds[] = {order<0, order <= 0, order> 0, order >= 0, order == 0, order != 0};
	return holds[t->kind - T_LT];
}

static double conclude(const struct tree *t)
{
	const int a = truth(evaluate(t->a)), b = t->b ? truth(evaluate(t->b)) : 0;
	if (t->kind == T_NOT)
		return a < 0 ? NAN : (double)!a;
	if (t->kind == T_OR)
		return a == 1 || b == 1 ? 1 : a < 0 || b < 0 ? NAN : 0;
	return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? NAN : 1;
}

static double compute(const struct tree *t)
{
	const double a = evaluate(t->a).number, b = t->b ? evaluate(t->b).number : 0;
	if (isnan(a) || isnan(b))
		return NAN;
	switch ((int)t->kind) {
	case T_ADD:
		return a + b;
	case T_SUB:
		return a - b;
	case T_MUL:
		return a * b;
	case T_DIV:
		return a / b;
	case T_POW:
		return pow(a, b);
	case T_MAX:
		return a > b ? a : b;
	case T_FLOOR:
		return floor(a);
	default:
		return -a;
	}
}

static struct sweep_operand evaluate(const struct tree *t)
{
	if (t->kind == T_NAME)
		return names[t->index].operand;
	if (t->kind == T_TEXT)
		return (struct sweep_operand){NAN, t->index % 2 ? "fixed" : "hbm2"};
	if (t->kind == T_NUMBER)
		return (struct sweep_operand){t->index == 7 ? 7168 : t->index == 8 ? 8.25 : t->index, NULL};
	if (t->kind <= T_NOT)
		return (struct sweep_operand){conclude(t), NULL};
	return (struct sweep_operand){t->kind <= T_NE ? compare_trees(t) : compute(t), NULL};
}

Test(sweep_expression, is_what_another_evaluator_makes_of_random_ones)
{
	uint64_t rng = 71;
	int known = 0;
	for (int round = 0; round < TEST_TIMES(50000); round++) {
		struct tree *tree = draw(&rng, (int)test_range(&rng, 1, 5));
		char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);
		cr_assert(out);
		print(out, tree, &rng);
		fclose(out);
		const double expected = evaluate(tree).number, value = value_of(text);
		cr_assert(is_same(value, expected), "round %d of seed 71: %s: %.17g, expected %.17g", round, text,
			  value, expected);
		known += !isnan(expected);
		free(text);
		drop(tree);
	}
	cr_assert_gt(known, TEST_TIMES(50000) / 4, "most of the random expressions say nothing");
}

static const struct {
	const char *text, *message;
} refusals[] = {
	{"", "expected a number, a name or '(', found the end"},
	{"1 +", "found the end"},
	{"1 2", "expected an operator or the end, found '2'"},
	{"(1", "expected ')', found the end"},
	{"1)", "expected an operator or the end, found ')'"},
	{"* 2", "found '* 2'"},
	{"1 < 2 < 3", "found '< 3'"},
	{"1 == 2 != 3", "found '!= 3'"},
	{"a = 1", "found '= 1'"},
	{"1 && 2", "found '&& 2'"},
	{"+1", "found '+1'"},
	{"1 + not 2", "found '2'"},
	{"2x", "expected an operator after the number, found 'x'"},
	{"2k", "found 'k'"},
	{"2Kib", "found 'b'"},
	{"2KiB", "found 'B'"},
	{"1e", "found 'e'"},
	{"0x", "found 'x'"},
	{"1.2.3", "found '.3'"},
	{"1e999", "a number that is not too large"},
	{"1e300T * 1", "a number that is not too large"},
	{"'abc", "a quote at the end of the text"},
	{"max(1)", "',' and another argument"},
	{"abs(1, 2)", "')' after the arguments"},
	{"abs()", "found ')'"},
	{"maxi(1, 2)", "there is no function 'maxi'; the nearest is 'max'"},
	{"x (1)", "there is no function 'x'"},
	{"1; 2", "found '; 2'"},
	{"\x01", "expected a number"},
	{"\xc3\xa4 + 1", "expected a number"},
};

Test(sweep_expression, refuses_what_is_none)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct npl_arena arena = {0};
		struct sweep_expression e;
		struct npl_err err = {0};
		cr_expect_eq(sweep_expression_parse(refusals[i].text, &arena, &e, &err), NPL_EUSAGE, "%s",
			     refusals[i].text);
		cr_expect(strstr(err.msg, refusals[i].message), "%s: %s", refusals[i].text, err.msg);
		cr_expect_not(strchr(err.msg, '\n'), "%s", err.msg);
		npl_arena_free(&arena);
	}
}

/* A text that repeats `part` n times between `before` and `behind`, to be freed. */
static char *repeat(const char *before, const char *part, int n, const char *behind)
{
	const size_t bytes = strlen(part);
	char *text = malloc(strlen(before) + (size_t)n * bytes + strlen(behind) + 1);
	cr_assert(text);
	char *end = stpcpy(text, before);
	for (int i = 0; i < n; i++, end += bytes)
		memcpy(end, part, bytes);
	strcpy(end, behind);
	return text;
}

/* Whether a text of many parts is taken; a refusal says one of two things, and nothing overflows. */
static bool is_taken(const char *before, const char *part, int n, const char *behind)
{
	char *text = repeat(before, part, n, behind);
	struct npl_arena arena = {0};
	struct sweep_expression e;
	struct npl_err err = {0};
	const int rc = sweep_expression_parse(text, &arena, &e, &err);
	cr_assert(!rc || strstr(err.msg, "expected an expression of at most 1000 parts") ||
			  strstr(err.msg, "expected fewer brackets and signs within each other"),
		  "%s", err.msg);
	cr_assert_eq(rc, rc ? NPL_EUSAGE : 0);
	if (!rc && !e.n_names)
		cr_assert_not(isnan(sweep_expression_value(&e, NULL)));
	npl_arena_free(&arena);
	free(text);
	return !rc;
}

Test(sweep_expression, has_limits_of_length_and_depth)
{
	cr_assert(is_taken("1", "+1", 499, ""));
	cr_assert_not(is_taken("1", "+1", 500, ""));
	cr_assert_not(is_taken("1", "+1", 1000000, ""));
	cr_assert(is_taken("", "(", 99,
			   "1"
			   ")))))))))))))))))))))))))))))))))"
			   ")))))))))))))))))))))))))))))))))"
			   ")))))))))))))))))))))))))))))))))"));
	cr_assert_not(is_taken("", "(", 1000000, ""));
	cr_assert(is_taken("", "-", 99, "1"));
	cr_assert_not(is_taken("", "-", 100, "1"));
	cr_assert_not(is_taken("", "not ", 1000000, "1"));
	cr_assert_not(is_taken("2", "^2", 1000000, ""));
	cr_assert_not(is_taken("", "abs(", 1000000, ""));
	cr_assert_not(is_taken("max(1", ", 1", 1000000, ")"));
}

Test(sweep_expression, has_a_limit_of_names)
{
	for (int n = SWEEP_EXPRESSION_NAMES; n <= SWEEP_EXPRESSION_NAMES + 1; n++) {
		char text[400] = "a0";
		struct npl_arena arena = {0};
		struct sweep_expression e;
		struct npl_err err = {0};
		for (int i = 1; i < 2 * n; i++)
			snprintf(text + strlen(text), sizeof text - strlen(text), "+a%d", i % n);
		const int rc = sweep_expression_parse(text, &arena, &e, &err);
		cr_assert_eq(rc, n == SWEEP_EXPRESSION_NAMES ? 0 : NPL_EUSAGE);
		if (rc)
			cr_assert(strstr(err.msg, "expected at most 32 different names"), "%s", err.msg);
		else
			cr_assert_eq(e.n_names, n, "each name stands once");
		npl_arena_free(&arena);
	}
}

Test(sweep_expression, is_cut_off_a_list)
{
	static const struct {
		const char *list, *parts[4];
	} lists[] = {{"a,b", {"a", "b"}},
		     {" a , max(b, c) ", {"a", "max(b, c)"}},
		     {"a\nb, c", {"a", "b", "c"}},
		     {"device == 'a,(b' , c", {"device == 'a,(b'", "c"}},
		     {"x == \"it's, so\",y", {"x == \"it's, so\"", "y"}},
		     {"", {""}},
		     {"a,", {"a", ""}}};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct npl_arena arena = {0};
		const char *rest = lists[i].list;
		for (int k = 0; k < 4 && lists[i].parts[k]; k++) {
			cr_assert(rest, "%s: %d parts", lists[i].list, k);
			cr_assert_str_eq(sweep_expression_cut(&rest, &arena), lists[i].parts[k]);
		}
		cr_assert_null(rest, "%s: more than it has", lists[i].list);
		npl_arena_free(&arena);
	}
}
