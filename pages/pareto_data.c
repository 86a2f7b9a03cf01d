/* SPDX-License-Identifier: MIT
 *
 * All points of a sweep as data within the page (pareto.h). A column has one of these forms:
 *
 *     {"name", ..., "values": [3]}                          the same value in all points
 *     {"name", ..., "values": [1, 2], "codes": "AAEB"}      places among the values, of 1 byte, of more than 256 of 2
 *     {"name", ..., "floats": "AACAPw=="}                   numbers of 4 bytes, NaN where the point has none
 *     {"name", ..., "doubles": "..."}                       numbers of 8 bytes: whole ones that 4 bytes cannot hold
 *
 * Bytes are in base64, the least byte of a number first. A column without any value is left out. A figure of which
 * seven digits are enough takes 5.3 characters a point, a parameter 1.3: a hundred thousand points take some 10 MB. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "pareto.h"
#include "reports/format/json.h"

enum { MOST_CODES = 65536, FEW = 256 };

/* What is known of a column before it is written. */
struct column {
	const char *name, *unit, *kind, *meaning;
	int better; /* -1: less; 1: more; 0: neither */
	const json_t *values;
};

/* The dictionary of a column: values, each once, and where each point's value is among them. */
struct dictionary {
	size_t n;
	double *number;    /* rising, NAN last; NULL: texts */
	const char **text; /* in the order in which points have them; NULL: no value */
	uint16_t *code;
};

/* ---- Base64. */

static void put_base64(struct npl_json *json, const char *key, const void *data, size_t bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = data;
	npl_json_number(json, key, "\"");
	for (size_t i = 0; i < bytes; i += 3) {
		const size_t n = bytes - i < 3 ? bytes - i : 3;
		const unsigned word = (unsigned)from[i] << 16 | (n > 1 ? (unsigned)from[i + 1] << 8 : 0) |
				      (n > 2 ? from[i + 2] : 0);
		const char four[4] = {digits[word >> 18], digits[word >> 12 & 63], n > 1 ? digits[word >> 6 & 63] : '=',
				      n > 2 ? digits[word & 63] : '='};
		fwrite(four, 1, sizeof four, json->out);
	}
	fputc('"', json->out);
}

/* Writes the codes of n points. False: memory is short. */
static bool put_codes(struct npl_json *json, const struct dictionary *dictionary, size_t n)
{
	if (dictionary->n > FEW) {
		put_base64(json, "codes", dictionary->code, n * sizeof *dictionary->code);
		return true;
	}
	unsigned char *bytes = calloc(n + 1, 1);
	for (size_t i = 0; bytes && i < n; i++)
		bytes[i] = (unsigned char)dictionary->code[i];
	if (bytes)
		put_base64(json, "codes", bytes, n);
	free(bytes);
	return bytes;
}

/* ---- Dictionaries. */

static double number_at(const json_t *values, size_t i)
{
	const json_t *value = json_array_get(values, i);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static int compare_numbers(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

static bool is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static size_t find_number(const struct dictionary *dictionary, double value)
{
	const double *found = bsearch(&value, dictionary->number, dictionary->n, sizeof *dictionary->number,
				      compare_numbers);
	return found ? (size_t)(found - dictionary->number) : 0;
}

/* Fills a dictionary of numbers; its n stays 0 where there are too many different ones. False: memory is short. */
static bool number_dictionary(const json_t *values, struct dictionary *dictionary)
{
	const size_t n = json_array_size(values);
	size_t distinct = 0;
	dictionary->number = calloc(n + 1, sizeof *dictionary->number);
	dictionary->code = calloc(n + 1, sizeof *dictionary->code);
	if (!dictionary->number || !dictionary->code)
		return false;
	for (size_t i = 0; i < n; i++)
		dictionary->number[i] = number_at(values, i);
	qsort(dictionary->number, n, sizeof *dictionary->number, compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (!i || !is_same(dictionary->number[i], dictionary->number[distinct - 1]))
			dictionary->number[distinct++] = dictionary->number[i];
	if (distinct > MOST_CODES || (distinct > FEW && distinct > n / 8))
		return true;
	dictionary->n = distinct;
	for (size_t i = 0; i < n && distinct > 1; i++)
		dictionary->code[i] = (uint16_t)find_number(dictionary, number_at(values, i));
	return true;
}

/* Fills a dictionary of texts, at most MOST_CODES; further ones have the last code. False: memory is short. */
static bool text_dictionary(const json_t *values, struct dictionary *dictionary)
{
	const size_t n = json_array_size(values);
	json_t *codes = json_object();
	bool ok = codes;
	dictionary->text = calloc(MOST_CODES, sizeof *dictionary->text);
	dictionary->code = calloc(n + 1, sizeof *dictionary->code);
	ok = ok && dictionary->text && dictionary->code;
	for (size_t i = 0; i < n && ok; i++) {
		char text[600];
		const json_t *value = json_array_get(values, i);
		const char *key = json_is_null(value) ? "" : page_value_text(value, text, sizeof text);
		const json_t *known = json_object_get(codes, key);
		if (!known && dictionary->n < MOST_CODES) {
			ok = !json_object_set_new(codes, key, json_integer((json_int_t)dictionary->n));
			char *copy = *key ? strdup(key) : NULL;
			ok = ok && (copy || !*key);
			dictionary->text[dictionary->n++] = copy;
			known = json_object_get(codes, key);
		}
		dictionary->code[i] = (uint16_t)(known ? json_integer_value(known) : MOST_CODES - 1);
	}
	json_decref(codes);
	return ok;
}

static void free_dictionary(struct dictionary *dictionary)
{
	for (size_t i = 0; dictionary->text && i < dictionary->n; i++)
		free((char *)dictionary->text[i]);
	free(dictionary->number);
	free(dictionary->text);
	free(dictionary->code);
}

static bool put_dictionary(struct npl_json *json, const struct dictionary *dictionary, size_t n)
{
	npl_json_open(json, "values", '[');
	for (size_t i = 0; i < dictionary->n; i++)
		if (dictionary->text)
			npl_json_string(json, NULL, dictionary->text[i]);
		else
			npl_json_double(json, NULL, dictionary->number[i]);
	npl_json_close(json, ']');
	return dictionary->n < 2 || put_codes(json, dictionary, n);
}

/* ---- Columns. */

/* Says whether all values are whole, and one is too great for a number of 4 bytes. */
static bool needs_doubles(const json_t *values)
{
	double most = 0;
	for (size_t i = 0; i < json_array_size(values); i++) {
		const double value = number_at(values, i);
		if (value != floor(value) && !isnan(value))
			return false;
		most = fmax(most, fabs(value));
	}
	return most > 1 << 24;
}

static bool put_floats(struct npl_json *json, const json_t *values)
{
	const size_t n = json_array_size(values);
	float *number = calloc(n + 1, sizeof *number);
	for (size_t i = 0; number && i < n; i++)
		number[i] = (float)number_at(values, i);
	if (number)
		put_base64(json, "floats", number, n * sizeof *number);
	free(number);
	return number;
}

static bool put_doubles(struct npl_json *json, const json_t *values)
{
	const size_t n = json_array_size(values);
	double *number = calloc(n + 1, sizeof *number);
	for (size_t i = 0; number && i < n; i++)
		number[i] = number_at(values, i);
	if (number)
		put_base64(json, "doubles", number, n * sizeof *number);
	free(number);
	return number;
}

static bool is_of_texts(const json_t *values)
{
	for (size_t i = 0; i < json_array_size(values); i++)
		if (json_is_string(json_array_get(values, i)))
			return true;
	return false;
}

static bool has_a_value(const json_t *values)
{
	for (size_t i = 0; i < json_array_size(values); i++)
		if (!json_is_null(json_array_get(values, i)))
			return true;
	return false;
}

/* Writes the values of a column. False: memory is short. */
static bool put_values(struct npl_json *json, const json_t *values)
{
	struct dictionary dictionary = {0};
	const size_t n = json_array_size(values);
	bool ok = is_of_texts(values) ? text_dictionary(values, &dictionary) : number_dictionary(values, &dictionary);
	if (ok && dictionary.n)
		ok = put_dictionary(json, &dictionary, n);
	else if (ok)
		ok = needs_doubles(values) ? put_doubles(json, values) : put_floats(json, values);
	free_dictionary(&dictionary);
	return ok;
}

/* Writes a column, unless no point has a value. */
static bool put_column(struct npl_json *json, const struct column *column)
{
	if (!has_a_value(column->values))
		return true;
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", column->name);
	npl_json_string(json, "unit", column->unit);
	npl_json_string(json, "kind", column->kind);
	npl_json_string(json, "meaning", column->meaning);
	npl_json_i64(json, "better", column->better);
	const bool ok = put_values(json, column->values);
	npl_json_close(json, '}');
	return ok;
}

static const json_t *metric_of(const json_t *root, const char *name)
{
	const json_t *metrics = json_object_get(root, "metrics");
	for (size_t i = 0; i < json_array_size(metrics); i++)
		if (!strcmp(page_text(json_array_get(metrics, i), "name"), name))
			return json_array_get(metrics, i);
	return NULL;
}

/* An objective that is a figure has the figure's column. */
static bool put_objectives(struct npl_json *json, const json_t *root)
{
	const json_t *list = json_object_get(root, "objectives");
	bool ok = true;
	for (size_t i = 0; i < json_array_size(list) && ok; i++) {
		const json_t *one = json_array_get(list, i);
		const bool is_most = !strcmp(page_text(one, "direction"), "maximise");
		if (!metric_of(root, page_text(one, "expression")))
			ok = put_column(json, &(struct column){page_text(one, "expression"), page_text(one, "unit"),
							       "objective", "an objective", is_most ? 1 : -1,
							       json_object_get(one, "values")});
	}
	return ok;
}

static bool put_columns(struct npl_json *json, const json_t *root)
{
	const json_t *parameters = json_object_get(root, "parameters"), *metrics = json_object_get(root, "metrics");
	bool ok = true;
	npl_json_open(json, "columns", '[');
	for (size_t i = 0; i < json_array_size(parameters) && ok; i++) {
		const json_t *one = json_array_get(parameters, i);
		ok = put_column(json, &(struct column){page_text(one, "name"), page_text(one, "unit"), "parameter",
						       json_is_true(json_object_get(one, "derived")) ? "derived" : "",
						       0, json_object_get(one, "values")});
	}
	ok = ok && put_objectives(json, root);
	for (size_t i = 0; i < json_array_size(metrics) && ok; i++) {
		const json_t *one = json_array_get(metrics, i);
		const char *better = page_text(one, "better");
		ok = put_column(json, &(struct column){page_text(one, "name"), page_text(one, "unit"), "figure",
						       page_text(one, "meaning"), (*better == 'm') - (*better == 'l'),
						       json_object_get(one, "values")});
	}
	npl_json_close(json, ']');
	return ok;
}

/* ---- Points. */

/* Bits of a point: 1: it meets the constraints; 2: a constraint excluded it; 4: it failed; 8: it is on the front. */
static bool put_flags(struct npl_json *json, const json_t *root)
{
	const json_t *points = json_object_get(root, "points"), *feasible = json_object_get(points, "feasible"),
		     *status = json_object_get(points, "status");
	const size_t n = json_array_size(status);
	bool *on_front = page_on_front(root);
	unsigned char *flags = calloc(n + 1, 1);
	for (size_t i = 0; flags && on_front && i < n; i++) {
		const char *word = json_string_value(json_array_get(status, i));
		flags[i] = (unsigned char)((json_is_true(json_array_get(feasible, i)) ? 1 : 0) |
					   (!strcmp(word, "excluded") ? 2 : 0) | (!strcmp(word, "failed") ? 4 : 0) |
					   (on_front[i] ? 8 : 0));
	}
	const bool ok = flags && on_front;
	if (ok)
		put_base64(json, "flags", flags, n);
	free(flags);
	free(on_front);
	return ok;
}

/* Ids are left out where they are the numbers from 0 on. */
static bool put_ids(struct npl_json *json, const json_t *ids)
{
	const size_t n = json_array_size(ids);
	if (!n || json_integer_value(json_array_get(ids, n - 1)) == (json_int_t)n - 1)
		return true;
	return put_doubles(json, ids);
}

/* Returns the place of the knee; -1: there is none. */
static int64_t knee_of(const json_t *root)
{
	const json_t *front = json_object_get(root, "front");
	for (size_t k = 0; k < json_array_size(front) && json_array_size(front) > 2; k++)
		if (json_is_true(json_object_get(json_array_get(front, k), "knee")))
			return page_place_of(root, json_array_get(front, k));
	return -1;
}

static void put_head(struct npl_json *json, const json_t *root)
{
	const json_t *sweep = json_object_get(root, "sweep"), *objectives = json_object_get(root, "objectives");
	char *text = json_dumps(sweep, JSON_COMPACT);
	npl_json_number(json, "sweep", text ? text : "null");
	free(text);
	npl_json_open(json, "objectives", '[');
	for (size_t i = 0; i < json_array_size(objectives); i++) {
		const json_t *one = json_array_get(objectives, i);
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "name", page_text(one, "expression"));
		npl_json_bool(json, "maximise", !strcmp(page_text(one, "direction"), "maximise"));
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

static bool put_data(struct npl_json *json, const json_t *root)
{
	const json_t *points = json_object_get(root, "points");
	npl_json_open(json, NULL, '{');
	npl_json_u64(json, "n", json_array_size(json_object_get(points, "id")));
	npl_json_i64(json, "knee", knee_of(root));
	put_head(json, root);
	bool ok = put_columns(json, root) && put_flags(json, root);
	npl_json_open(json, "ids", '{');
	ok = ok && put_ids(json, json_object_get(points, "id"));
	npl_json_close(json, '}');
	npl_json_open(json, "reasons", '{');
	if (has_a_value(json_object_get(points, "reason")))
		ok = ok && put_values(json, json_object_get(points, "reason"));
	npl_json_close(json, '}');
	npl_json_close(json, '}');
	return ok;
}

int page_put_points_data(struct page_writer *writer, const json_t *root, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	if (!writer->format->data)
		return 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_no_memory(err);
	struct npl_json json = {.out = out};
	const bool ok = put_data(&json, root);
	if (fclose(out) || !ok) {
		free(text);
		return npl_no_memory(err);
	}
	page_data(writer, "points", text);
	free(text);
	return 0;
}
