/* SPDX-License-Identifier: MIT
 *
 * The cost of a regular expression before it is compiled (expression.h). */
#include "expression.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* These limits allow a name of 200 characters counted twice over, and some eighty names of a transformer in one
 * "a|b|c". */
#define MAX_BYTES       4096
#define MAX_DEPTH       50
#define MAX_WRITTEN_OUT 500

/* Characters of an expression with its counted repetitions written out. */
struct size {
	long preceding; /* characters of the open group before its last part */
	long last;      /* characters of the last part, which a "*" or "{2,5}" after it repeats */
};

/* Returns the end of the bracket expression that begins at `c`: the character after its "]", or the end of the text
 * when there is no "]". */
static const char *skip_bracket(const char *c)
{
	c += 1 + (c[1] == '^');
	c += *c == ']';
	while (*c && *c != ']') {
		const char kind = c[0] == '[' && c[1] && strchr(".:=", c[1]) ? c[1] : '\0';
		const char *end = kind ? c + 2 : NULL;
		while (end && *end && !(end[0] == kind && end[1] == ']'))
			end++;
		c = end && *end ? end + 2 : c + 1;
	}
	return c + (*c == ']');
}

/* Returns how often the repetition at `*c` writes its part out, and moves `*c` to the end of the repetition; 0: there
 * is no repetition. */
static long count_repeats(const char **c)
{
	if (**c == '*' || **c == '?' || **c == '+')
		return *(*c)++ == '+' ? 2 : 1; /* "a+" is compiled as "aa*" */
	if (**c != '{')
		return 0;
	char *end;
	const long lowest = isdigit((unsigned char)(*c)[1]) ? strtol(*c + 1, &end, 10) : (end = (char *)*c + 1, 0);
	long highest = lowest;
	if (*end == ',')
		highest = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : (end++, lowest + 1);
	if (*end != '}')
		return 0; /* no count follows: the brace is an ordinary character */
	*c = end + 1;
	return highest > 1 ? highest : 1;
}

const char *expression_too_costly(const char *text)
{
	struct size group[MAX_DEPTH + 1] = {{0, 0}};
	int depth = 0;
	long expanded_size = 0;
	if (strlen(text) > MAX_BYTES)
		return "is longer than 4096 bytes";
	for (const char *c = text; *c;) {
		struct size *size = &group[depth];
		const long n = c > text ? count_repeats(&c) : 0;
		if (n > MAX_WRITTEN_OUT || (expanded_size += size->last * (n > 1 ? n - 1 : 0)) > MAX_WRITTEN_OUT)
			return "repeats more than 500 characters with its {m,n} and + written out";
		if (n > 0) {
			size->last *= n;
			continue;
		}
		if (*c == ')' && depth > 0) {
			const long group_size = size->preceding + size->last;
			group[--depth].last = group_size;
			c++;
			continue;
		}
		size->preceding += size->last;
		size->last = 1;
		if (*c == '(') {
			if (++depth > MAX_DEPTH)
				return "has groups more than 50 deep";
			size->last = 0;
			group[depth] = (struct size){0, 0};
		}
		if (*c == '\\' && isdigit((unsigned char)c[1]))
			return "has a back-reference, which extended regular expressions do not know";
		c = *c == '[' ? skip_bracket(c) : c + 1 + (*c == '\\' && c[1]);
	}
	return NULL;
}
