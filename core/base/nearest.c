/* SPDX-License-Identifier: MIT
 *
 * The nearest known word to a misspelt one: Levenshtein's edit distance, where replacing a letter by the same letter in
 * the other case costs a quarter of an edit. A shortened word means the name that it begins: "tpu" means "tpu_v1",
 * though "cpu" is fewer edits away. A name whose distance is more than a third of the letters is not near. */
#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/arith.h"
#include "core/base/message.h"

#define LONGEST       128 /* the most letters that are compared; keys and operator names are shorter */
#define MIN_BEGINNING 4   /* the fewest letters of a name that another word may begin with */
#define MAX_LISTED    8   /* the most names that a message lists where none is near */
#define EDIT          4   /* cost of one edit, so that a change of case can cost 1 */

static int replace_cost(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : EDIT;
}

static int distance(const char *a, const char *b)
{
	size_t columns = strnlen(b, LONGEST);
	size_t rows = strnlen(a, LONGEST);
	int cost[LONGEST + 1]; /* the row of the table above, then the current one, from the left */
	for (size_t j = 0; j <= columns; j++)
		cost[j] = EDIT * (int)j;
	for (size_t i = 1; i <= rows; i++) {
		int diagonal = cost[0];
		cost[0] = EDIT * (int)i;
		for (size_t j = 1; j <= columns; j++) {
			int above = cost[j];
			int gap_cost = (int)npl_min_i64(above, cost[j - 1]) + EDIT;
			cost[j] = (int)npl_min_i64(gap_cost, diagonal + replace_cost(a[i - 1], b[j - 1]));
			diagonal = above;
		}
	}
	return cost[columns];
}

static bool is_near(const char *word, const char *candidate, int d)
{
	size_t a = strnlen(word, LONGEST), b = strnlen(candidate, LONGEST), greatest_length = a > b ? a : b;
	if (b >= MIN_BEGINNING && !strncasecmp(word, candidate, b))
		return true; /* the word begins with the candidate, as "concatenate" does with "Concat" */
	return 3 * (size_t)d <= EDIT * greatest_length;
}

const char *npl_nearest(const char *word, const char *const *candidates, int n)
{
	const char *nearest = NULL;
	int least_distance = 0;
	for (int i = 0; i < n; i++) {
		if (!strcmp(word, candidates[i]))
			return candidates[i]; /* the word itself is nearest, also where it begins another candidate */
		int d = distance(word, candidates[i]);
		if (word[0] && word[1] && !strncasecmp(word, candidates[i], strlen(word)))
			d = 0;
		if (!nearest || d < least_distance) {
			nearest = candidates[i];
			least_distance = d;
		}
	}
	return nearest && is_near(word, nearest, least_distance) ? nearest : NULL;
}

const char *npl_nearest_only(const char *word, const char *const *candidates, int n, char *buf, size_t size)
{
	const char *nearest = npl_nearest(word, candidates, n);
	*buf = '\0';
	if (nearest)
		snprintf(buf, size, "; the nearest is '%s'", nearest);
	return buf;
}

const char *npl_nearest_text(const char *word, const char *const *candidates, int n, char *buf, size_t size)
{
	const bool is_near = *npl_nearest_only(word, candidates, n, buf, size);
	for (int i = 0; !is_near && n <= MAX_LISTED && i < n; i++)
		npl_append(buf, size, i == n - 1 ? " or " : ", ", "%s%s", i ? "" : "; expected ", candidates[i]);
	return buf;
}
