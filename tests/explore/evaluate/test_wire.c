/* SPDX-License-Identifier: MIT
 *
 * Promises of lines about points: what is written is read back to the bit, whatever its texts and figures; a number is
 * written as one where JSON has it so; and what is no such line is refused. */
#include "explore/evaluate/wire.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/support.h"

static const char *const texts[] = {"128",  "-1",   "0",          "1e-3",    "2.50",          "-0.0",  "007",
				    "0x10", "1.",   ".5",         "+1",      "8 MiB",         "",      "hbm2",
				    "true", "null", "it's \"8\"", "a\nb\tc", "r\xc3\xa9seau", "1e999", "Infinity",
				    "NaN",  "1e"};
#define N_TEXTS ((int)(sizeof texts / sizeof *texts))

/* Writes a request, and reads the line again. */
static char *write_request(const struct sweep_request *request)
{
	char *line = NULL;
	size_t bytes;
	FILE *out = open_memstream(&line, &bytes);
	cr_assert(out);
	sweep_write_request(out, request);
	fclose(out);
	cr_assert(bytes == strlen(line) && strchr(line, '\n') == line + bytes - 1, "one line: %s", line);
	return line;
}

/* A value may come back in other letters where both are the same number of JSON. */
static bool is_same_value(const char *read, const char *written)
{
	char *end;
	if (!strcmp(read, written))
		return true;
	const double a = strtod(read, &end);
	return *read && !*end && a == strtod(written, &end) && !*end;
}

Test(sweep_wire, carries_requests)
{
	uint64_t rng = 8;
	for (int round = 0; round < TEST_TIMES(2000); round++) {
		struct sweep_parameter parameter[20];
		char key[20][20];
		struct sweep_request request = {.id = test_range(&rng, 0, 3) ? test_range(&rng, 0, INT64_C(1) << 52)
									     : -1,
						.n = (int)test_range(&rng, 0, 20),
						.parameter = parameter},
				     again;
		for (int i = 0; i < request.n; i++) {
			snprintf(key[i], sizeof key[i], "a.%d\"\xc3\xa4", i);
			parameter[i] = (struct sweep_parameter){key[i], texts[test_range(&rng, 0, N_TEXTS - 1)]};
			if (!strcmp(parameter[i].value, "1e999")) /* JSON has no such number */
				parameter[i].value = "1e99";
		}
		char *line = write_request(&request);
		struct npl_arena arena = {0};
		struct npl_err err = {0};
		cr_assert_eq(sweep_read_request(line, strlen(line), &arena, &again, &err), 0, "%s: %s", err.msg, line);
		cr_assert(again.id == request.id && again.n == request.n, "%s", line);
		for (int i = 0; i < request.n; i++) {
			cr_assert_str_eq(again.parameter[i].key, parameter[i].key);
			cr_assert(is_same_value(again.parameter[i].value, parameter[i].value), "%s: %s", line,
				  again.parameter[i].value);
		}
		npl_arena_free(&arena);
		free(line);
	}
}

Test(sweep_wire, writes_numbers_as_such)
{
	static const struct {
		const char *value, *json;
	} cases[] = {{"128", "128"},   {"-1.5e-3", "-1.5e-3"}, {"0", "0"},          {"0.5", "0.5"}, {"007", "\"007\""},
		     {"1.", "\"1.\""}, {".5", "\".5\""},       {"+1", "\"+1\""},    {"-", "\"-\""}, {"1e", "\"1e\""},
		     {"", "\"\""},     {"8 MiB", "\"8 MiB\""}, {"true", "\"true\""}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct sweep_parameter parameter = {"k", cases[i].value};
		const struct sweep_request request = {.id = 7, .n = 1, .parameter = &parameter};
		char expected[100], *line = write_request(&request);
		snprintf(expected, sizeof expected, "{\"id\":7,\"parameters\":{\"k\":%s}}\n", cases[i].json);
		cr_expect_str_eq(line, expected);
		free(line);
	}
}

static double draw_number(uint64_t *rng)
{
	double value;
	do {
		const uint64_t bits = test_rng(rng);
		memcpy(&value, &bits, sizeof value);
	} while (!isfinite(value));
	return test_range(rng, 0, 1) ? value : (double)test_range(rng, 0, 1000000);
}

static struct sweep_outcome draw_outcome(uint64_t *rng, struct sweep_layer layer[5])
{
	struct sweep_outcome outcome = {.status = (enum sweep_status)test_range(rng, 0, SWEEP_STATUSES - 1),
					.feasible = test_range(rng, 0, 1),
					.n_layers = (int)test_range(rng, 0, 5),
					.layer = layer};
	snprintf(outcome.reason, sizeof outcome.reason, "%s", texts[test_range(rng, 0, N_TEXTS - 1)]);
	for (int m = 0; m < SWEEP_METRICS; m++)
		outcome.metrics.value[m] = test_range(rng, 0, 2) ? draw_number(rng) : NAN;
	for (int i = 0; i < outcome.n_layers; i++)
		layer[i] = (struct sweep_layer){.name = texts[test_range(rng, 0, N_TEXTS - 1)],
						.op = "Conv",
						.ran_on = "host",
						.seconds = draw_number(rng),
						.energy_j = test_range(rng, 0, 1) ? draw_number(rng) : NAN,
						.cycles = test_rng(rng) >> 1,
						.macs = test_rng(rng) >> 1};
	return outcome;
}

static bool is_same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

Test(sweep_wire, carries_outcomes)
{
	uint64_t rng = 31;
	for (int round = 0; round < TEST_TIMES(2000); round++) {
		struct sweep_layer layer[5];
		const struct sweep_outcome o = draw_outcome(&rng, layer);
		struct sweep_outcome again;
		char *line = NULL;
		size_t bytes;
		int64_t id;
		FILE *out = open_memstream(&line, &bytes);
		cr_assert(out);
		sweep_write_outcome(out, round, &o);
		fclose(out);
		cr_assert(strchr(line, '\n') == line + bytes - 1, "one line: %s", line);
		struct npl_arena arena = {0};
		struct npl_err err = {0};
		cr_assert_eq(sweep_read_outcome(line, bytes, &arena, &id, &again, &err), 0, "%s: %s", err.msg, line);
		cr_assert(id == round && again.status == o.status && again.feasible == o.feasible);
		cr_assert_str_eq(again.reason, o.reason);
		for (int m = 0; m < SWEEP_METRICS; m++)
			cr_assert(is_same(again.metrics.value[m], o.metrics.value[m]), "%s", line);
		cr_assert_eq(again.n_layers, o.n_layers);
		for (int i = 0; i < o.n_layers; i++) {
			cr_assert_str_eq(again.layer[i].name, layer[i].name);
			cr_assert(is_same(again.layer[i].seconds, layer[i].seconds) &&
				  is_same(again.layer[i].energy_j, layer[i].energy_j) &&
				  again.layer[i].cycles == layer[i].cycles && again.layer[i].macs == layer[i].macs);
		}
		npl_arena_free(&arena);
		free(line);
	}
}

static const struct {
	const char *line, *message;
} refusals[] = {
	{"", "this is no JSON"},
	{"{", "this is no JSON"},
	{"[]", "expected an object of JSON, {...}"},
	{"7", "this is no JSON"},
	{"{} {}", "this is no JSON"},
	{"{}", "expected \"parameters\", an object"},
	{"{\"parameters\":7}", "expected \"parameters\", an object"},
	{"{\"id\":\"7\",\"parameters\":{}}", "id: expected a whole number"},
	{"{\"id\":7.5,\"parameters\":{}}", "id: expected a whole number"},
	{"{\"id\":99999999999999999999,\"parameters\":{}}", "this is no JSON"},
	{"{\"parameters\":{\"a\":null}}", "parameter 'a': expected a number or a text"},
	{"{\"parameters\":{\"a\":[1]}}", "parameter 'a': expected a number or a text"},
	{"{\"parameters\":{\"a\":1,\"a\":2}}", "this is no JSON"},
	{"{\"parameters\":{\"a\":\"x\\u0000y\"}}", "this is no JSON"},
	{"{\"parameters\":{\"a\":\"\xff\"}}", "this is no JSON"},
};

Test(sweep_wire, refuses_what_is_no_request)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct npl_arena arena = {0};
		struct sweep_request request;
		struct npl_err err = {0};
		cr_expect_eq(sweep_read_request(refusals[i].line, strlen(refusals[i].line), &arena, &request, &err),
			     NPL_EINPUT, "%s", refusals[i].line);
		cr_expect(strstr(err.msg, refusals[i].message) && !strchr(err.msg, '\n'), "%s: %s", refusals[i].line,
			  err.msg);
		npl_arena_free(&arena);
	}
}

/* A count that JSON's whole numbers cannot hold would be written, and not be read again. */
Test(sweep_wire, refuses_counts_below_zero)
{
	static const char *const lines[] = {"{\"status\":\"done\",\"layers\":[{\"macs\":-93}]}",
					    "{\"status\":\"done\",\"layers\":[{\"macs\":0},{\"cycles\":-1}]}"};
	for (int i = 0; i < 2; i++) {
		struct npl_arena arena = {0};
		struct sweep_outcome outcome;
		struct npl_err err = {0};
		int64_t id;
		cr_expect_eq(sweep_read_outcome(lines[i], strlen(lines[i]), &arena, &id, &outcome, &err), NPL_EINPUT);
		cr_expect(strstr(err.msg, "expected a whole number from 0 on"), "%s", err.msg);
		npl_arena_free(&arena);
	}
}

/* A request without "id" and with values of each kind. */
Test(sweep_wire, takes_what_other_programs_write)
{
	static const char line[] =
		"  { \"parameters\" : {\"a\": 1.50, \"b\": true, \"c\": \"x\", \"d\": -7}, \"more\": [1] } ";
	struct npl_arena arena = {0};
	struct sweep_request request;
	struct npl_err err = {0};
	cr_assert_eq(sweep_read_request(line, strlen(line), &arena, &request, &err), 0, "%s", err.msg);
	cr_assert(request.id == -1 && request.n == 4);
	static const char *const values[] = {"1.5", "true", "x", "-7"};
	for (int i = 0; i < 4; i++)
		cr_assert_str_eq(request.parameter[i].value, values[i]);
	npl_arena_free(&arena);
}
