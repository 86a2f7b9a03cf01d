/* SPDX-License-Identifier: MIT
 *
 * libFuzzer on the lines of JSON about points: any bytes are read as a request, as an outcome and as parameters. Either
 * they are refused with one line that blames the input, or what was read, written out and read again, is the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/evaluate/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer reports an abort as a crash, with the input. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_message(int rc, const struct npl_err *err)
{
	require(rc == 0 || rc == NPL_EINPUT);
	require(!rc || (err->code == rc && *err->msg && !strchr(err->msg, '\n')));
}

/* Two values are the same text, or the same number. */
static bool is_same_value(const char *a, const char *b)
{
	char *end_a, *end_b;
	const double x = strtod(a, &end_a), y = strtod(b, &end_b);
	return !strcmp(a, b) || (*a && *b && !*end_a && !*end_b && x == y);
}

static void check_same(const struct sweep_parameter *a, int n_a, const struct sweep_parameter *b, int n_b)
{
	require(n_a == n_b);
	for (int i = 0; i < n_a; i++)
		require(!strcmp(a[i].key, b[i].key) && is_same_value(a[i].value, b[i].value));
}

/* Says whether all numbers of a request can be read again: JSON has no number that a double cannot hold. */
static bool is_readable(const struct sweep_request *request)
{
	for (int i = 0; i < request->n; i++)
		if (isinf(strtod(request->parameter[i].value, NULL)) || strlen(request->parameter[i].value) > 15)
			return false;
	return true;
}

static void check_request(const char *line, size_t size)
{
	struct npl_arena arena = {0};
	struct sweep_request request, again;
	struct npl_err err = {0};
	const int rc = sweep_read_request(line, size, &arena, &request, &err);
	check_message(rc, &err);
	if (!rc && is_readable(&request)) {
		char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);
		require(out != NULL);
		sweep_write_request(out, &request);
		require(!fclose(out) && text[bytes - 1] == '\n' && strchr(text, '\n') == text + bytes - 1);
		require(!sweep_read_request(text, bytes, &arena, &again, &err) && again.id == request.id);
		check_same(request.parameter, request.n, again.parameter, again.n);
		free(text);
	}
	npl_arena_free(&arena);
}

static bool is_same_number(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

static void check_outcome(const char *line, size_t size)
{
	struct npl_arena arena = {0};
	struct sweep_outcome outcome, again;
	struct npl_err err = {0};
	int64_t id, id_again;
	const int rc = sweep_read_outcome(line, size, &arena, &id, &outcome, &err);
	check_message(rc, &err);
	if (!rc) {
		char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);
		require(out != NULL);
		sweep_write_outcome(out, id, &outcome);
		require(!fclose(out) && text[bytes - 1] == '\n' && strchr(text, '\n') == text + bytes - 1);
		require(!sweep_read_outcome(text, bytes, &arena, &id_again, &again, &err) && id == id_again);
		require(again.status == outcome.status && again.feasible == outcome.feasible &&
			again.n_layers == outcome.n_layers);
		for (int m = 0; m < SWEEP_METRICS; m++)
			require(is_same_number(again.metrics.value[m], outcome.metrics.value[m]));
		free(text);
	}
	npl_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npl_arena arena = {0};
	const struct sweep_parameter *parameter;
	struct npl_err err = {0};
	int n;
	char *text = malloc(size + 1);
	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	check_request(text, size);
	check_outcome(text, size);
	check_message(sweep_read_parameters(text, &arena, &parameter, &n, &err), &err);
	npl_arena_free(&arena);
	free(text);
	return 0;
}
