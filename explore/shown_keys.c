/* SPDX-License-Identifier: MIT
 *
 * Parameters of a table (shown_keys.h). */
#include "shown_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/words.h"

/* Says whether the points have several values of a parameter. */
static bool differs(const struct sweep_results *results, const int64_t *index, int64_t n, const char *key)
{
	const char *first = n ? sweep_result_parameter(&results->result[index[0]], key) : NULL;
	for (int64_t i = 1; i < n; i++) {
		const char *value = sweep_result_parameter(&results->result[index[i]], key);
		if (!value != !first || (value && strcmp(value, first) != 0))
			return true;
	}
	return false;
}

void sweep_choose_keys(const struct sweep_results *results, const int64_t *index, int64_t n, int room,
		       struct sweep_shown_keys *shown)
{
	*shown = (struct sweep_shown_keys){0};
	for (int k = 0; k < results->n_keys; k++) {
		if (!differs(results, index, n, results->key[k]))
			continue;
		if (shown->n < room && shown->n < NPL_TABLE_COLUMNS)
			shown->key[shown->n++] = results->key[k];
		else
			shown->left_out++;
	}
}

/* Returns what a value is among those of all points: " (its greatest)", " (its least)", or "". */
static const char *end_of(const struct sweep_results *results, const char *key, const char *value)
{
	double number, low = INFINITY, high = -INFINITY;
	if (!npl_parse_number(value, &number))
		return "";
	for (int64_t r = 0; r < results->n; r++) {
		const char *other = sweep_result_parameter(&results->result[r], key);
		double x;
		if (!other || !npl_parse_number(other, &x))
			continue;
		low = fmin(low, x);
		high = fmax(high, x);
	}
	return !(high > low) ? "" : number >= high ? " (its greatest)" : number <= low ? " (its least)" : "";
}

int sweep_print_alike(FILE *out, const struct sweep_results *results, const int64_t *index, int64_t n,
		      const struct sweep_shown_keys *shown)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *line = n ? open_memstream(&text, &bytes) : NULL;
	int listed = 0;
	if (!n)
		return 0;
	if (!line)
		return NPL_ENOMEM;
	for (int k = 0; k < results->n_keys; k++) {
		const char *key = results->key[k], *value = sweep_result_parameter(&results->result[index[0]], key);
		if (!value || differs(results, index, n, key))
			continue;
		fprintf(line, "%s%s=%s%s",
			listed++ ? ", "
			: n > 1  ? "all of these have "
				 : "it has ",
			key, value, end_of(results, key, value));
	}
	if (fclose(line)) {
		free(text);
		return NPL_ENOMEM;
	}
	if (listed)
		npl_table_text(text, out);
	free(text);
	if (shown->left_out)
		fprintf(out, "%d parameters have no column here (--json has them)\n", shown->left_out);
	return 0;
}
