/* SPDX-License-Identifier: MIT
 *
 * Words of a text (core/files/words.h). */
#include "words.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t npl_byte_order_mark(const char *text, size_t n)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t bytes = sizeof mark - 1;
	return n >= bytes && !memcmp(text, mark, bytes) ? bytes : 0;
}

void npl_words_open(struct npl_words *words, const char *source, const char *text, size_t n, struct npl_err *err)
{
	*words = (struct npl_words){.source = source, .comments = "#", .marks = "", .err = err};
	words->next = words->end = text + npl_byte_order_mark(text, n); /* before the first line */
	words->text_end = text + n;
	if (n >= INT32_MAX)
		npl_words_fail(words, npl_fail(err, NPL_EINPUT, "%s: %zu bytes, expected less than 2^31", source, n));
}

int npl_words_fail(struct npl_words *words, int code)
{
	words->next = words->end = words->text_end;
	words->word[0] = '\0';
	return words->rc = code;
}

int npl_words_complain(struct npl_words *words, const char *format, ...)
{
	if (words->rc)
		return words->rc;
	char message[400];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	return npl_words_fail(words,
			      npl_fail(words->err, NPL_EINPUT, "%s:%d: %s", words->source, words->line, message));
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_one_of(char c, const char *characters)
{
	return c && strchr(characters, c);
}

/* Returns the text after the blanks, within the line. */
static const char *skip_blanks(const struct npl_words *words)
{
	const char *cursor = words->next;
	while (cursor < words->end && is_blank(*cursor))
		cursor++;
	return cursor;
}

int npl_words_next(struct npl_words *words)
{
	const char *first = words->next = skip_blanks(words);
	if (words->next < words->end && is_one_of(*words->next, words->marks))
		words->next++;
	else
		while (words->next < words->end && !is_blank(*words->next) && !is_one_of(*words->next, words->marks))
			words->next++;
	size_t length = (size_t)(words->next - first);
	if (length > NPL_LONGEST_WORD)
		return npl_words_complain(words, "a word of %zu characters, expected at most %d: '%.20s...'", length,
					  NPL_LONGEST_WORD, first);
	memcpy(words->word, first, length);
	words->word[length] = '\0';
	return words->rc;
}

bool npl_words_follows(const struct npl_words *words, char mark)
{
	const char *cursor = skip_blanks(words);
	return cursor < words->end && *cursor == mark;
}

bool npl_words_at_end(const struct npl_words *words)
{
	return skip_blanks(words) == words->end;
}

/* Goes to the next line; false: there is none. */
static bool next_line(struct npl_words *words)
{
	if (words->line) { /* skips the newline of the line before; the first line has none before it */
		const char *newline = memchr(words->end, '\n', (size_t)(words->text_end - words->end));
		words->next = newline ? newline + 1 : words->text_end;
	}
	if (words->next == words->text_end)
		return false;
	words->line++;
	for (words->end = words->next;
	     words->end < words->text_end && *words->end != '\n' && !is_one_of(*words->end, words->comments);)
		words->end++;
	return true;
}

bool npl_words_line(struct npl_words *words)
{
	do {
		if (words->rc || !next_line(words))
			return false;
		if (memchr(words->next, '\0', (size_t)(words->end - words->next)))
			npl_words_complain(words, "a NUL byte, expected text");
	} while (!npl_words_next(words) && !*words->word);
	return !words->rc;
}

int npl_words_end(struct npl_words *words)
{
	if (npl_words_next(words) || !*words->word)
		return words->rc;
	return npl_words_complain(words, "'%s' is one too many, expected the end of the line", words->word);
}

const char *npl_next_word(const char **text, size_t *length)
{
	const char *word = *text;
	*length = strcspn(word, " ");
	*text = word + *length + (word[*length] == ' ');
	return *word ? word : NULL;
}

int npl_word_index(const char *list, const char *word)
{
	size_t length;
	int index = 0;
	for (const char *next; (next = npl_next_word(&list, &length)); index++)
		if (length == strlen(word) && !strncmp(next, word, length))
			return index;
	return -1;
}

bool npl_parse_count(const char *word, int64_t *value)
{
	return *word && !word[strspn(word, "0123456789")] && npl_parse_integer(word, value);
}

bool npl_parse_bytes(const char *word, int64_t *value)
{
	static const char powers[] = "KMGT";
	char digits[24];
	const size_t n = strspn(word, "0123456789");
	const char *unit = word + n, *power = *unit ? strchr(powers, *unit) : NULL;
	if (n >= sizeof digits || (*unit && (!power || strcmp(unit + 1, unit[1] == 'i' ? "i" : ""))))
		return false;
	memcpy(digits, word, n);
	digits[n] = '\0';
	if (!npl_parse_count(digits, value))
		return false;
	for (long exponent = power ? power - powers + 1 : 0; exponent > 0; exponent--)
		if (__builtin_mul_overflow(*value, unit[1] == 'i' ? 1024 : 1000, value))
			return false;
	return true;
}

bool npl_parse_integer(const char *word, int64_t *value)
{
	char *end;
	bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	const char *digits = hex ? word + 2 : word + (*word == '-');
	if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return false;
	errno = 0;
	long long number = strtoll(word, &end, hex ? 16 : 10);
	*value = number;
	return !errno && !*end;
}

bool npl_parse_number(const char *word, double *value)
{
	char *end;
	/* strtod takes blanks, hexadecimal digits, "inf" and "nan" as well. */
	if (!*word || word[strspn(word, "+-.0123456789eE")])
		return false;
	*value = strtod(word, &end);
	return !*end && isfinite(*value);
}
