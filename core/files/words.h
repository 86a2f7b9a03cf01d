/* SPDX-License-Identifier: MIT
 *
 * The words of a program's text, line by line, for assemblers. Takes any bytes: nothing is copied but words of bounded
 * length.
 *
 *     struct npl_words words;
 *     int rc = npl_words_open(&words, source, text, n, err);
 *     while (!rc && npl_words_line(&words, &rc))
 *         rc = take(words.word) ... npl_words_next(&words) ...
 */
#ifndef NPULAB_CORE_FILES_WORDS_H
#define NPULAB_CORE_FILES_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_LONGEST_WORD 100

struct npl_words {
	const char *source;              /* names the text in messages */
	const char *comments;            /* characters that begin one, up to the end of the line; "#" when opened */
	const char *marks;               /* characters that are a word each; "" when opened */
	int line;                        /* from 1 on */
	char word[NPL_LONGEST_WORD + 1]; /* empty: the end of the line */
	struct npl_err *err;
	const char *at, *end, *text_end; /* of the line, without its comment; of the text */
};

/* The text is borrowed. NPL_EINPUT: it is too long. */
int npl_words_open(struct npl_words *words, const char *source, const char *text, size_t n, struct npl_err *err);
/* Goes on to the next line that has words, and to its first word. False at the end, or with *rc NPL_EINPUT. */
bool npl_words_line(struct npl_words *words, int *rc);
/* The next word of the line. NPL_EINPUT: it is too long. */
int npl_words_next(struct npl_words *words);
/* Whether this mark is the next word of the line. */
bool npl_words_follows(const struct npl_words *words, char mark);
bool npl_words_at_end(const struct npl_words *words); /* whether no word of the line is left */
/* The line must end here. */
int npl_words_end(struct npl_words *words);
/* NPL_EINPUT "SOURCE:LINE: ...". */
int npl_words_complain(const struct npl_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lists of words with a blank between them, "one two". *at is where the next word begins and moves after it; returns
 * the word, of *length bytes, or NULL at the end. */
const char *npl_next_word(const char **at, size_t *length);
/* The index of a word in such a list; -1: it is none of it. */
int npl_word_index(const char *list, const char *word);

/* All of a word as a number of decimal digits alone: no sign, no blank. */
bool npl_parse_count(const char *word, int64_t *value);
/* A number of bytes: digits, then K, M, G or T for thousands, millions..., Ki, Mi, Gi or Ti for powers of 1024, or
 * nothing. */
bool npl_parse_bytes(const char *word, int64_t *value);
/* All of a word as a number: decimal with a sign or not, or 0x and hexadecimal. */
bool npl_parse_integer(const char *word, int64_t *value);
/* All of a word as a finite decimal number: a sign or not, a fraction or not, an exponent or not. */
bool npl_parse_number(const char *word, double *value);

#ifdef __cplusplus
}
#endif

#endif
