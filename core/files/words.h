/* SPDX-License-Identifier: MIT
 *
 * The words of a program's text, line by line, for assemblers. Takes any bytes: nothing is copied but words of bounded
 * length.
 *
 *     struct npl_words words;
 *     npl_words_open(&words, source, text, n, err);
 *     while (npl_words_line(&words))
 *         take(words.word) ... npl_words_next(&words) ...
 *     return words.rc;
 *
 * The first failure ends the text: every later word is empty, no line follows, and later complaints are dropped. So a
 * caller may go on, and look at rc at the end.
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
	const char *source; /* names the text in messages */
	/* the characters that begin a comment, which ends with the line; "#" unless the caller changes them */
	const char *comments;
	const char *marks;               /* characters that are a word each; "" when opened */
	int line;                        /* the line's number, from 1 on */
	char word[NPL_LONGEST_WORD + 1]; /* empty: the end of the line */
	int rc;                          /* 0, or the code of the first failure */
	struct npl_err *err;
	const char *next, *end, *text_end; /* end: of the line, without its comment; text_end: of the text */
};

/* Opens a text, which is borrowed. Fails with NPL_EINPUT when it is too long. */
void npl_words_open(struct npl_words *words, const char *source, const char *text, size_t n, struct npl_err *err);
/* Goes to the next line that has words, and to its first word. Returns false at the end, and after a failure. */
bool npl_words_line(struct npl_words *words);
/* Says whether this mark is the next word of the line. */
bool npl_words_follows(const struct npl_words *words, char mark);
bool npl_words_at_end(const struct npl_words *words); /* says whether no word of the line is left */

/* All of these return rc. */
/* Goes to the next word of the line. Fails with NPL_EINPUT when it is too long. */
int npl_words_next(struct npl_words *words);
/* Fails with NPL_EINPUT unless the line ends here. */
int npl_words_end(struct npl_words *words);
/* Fails with NPL_EINPUT and the message "SOURCE:LINE: ...". */
int npl_words_complain(struct npl_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fails with this code, whose message is in words->err. */
int npl_words_fail(struct npl_words *words, int code);

/* Returns the bytes of a UTF-8 byte order mark text the beginning of a text, which some editors write: 3, or 0 where
 * there is none. */
size_t npl_byte_order_mark(const char *text, size_t n);

/* Lists of words with a blank between them, "one two". *text points to the rest of the list, and moves past the word;
 * returns the word, of *length bytes, or NULL at the end. */
const char *npl_next_word(const char **text, size_t *length);
/* Returns the index of a word in such a list; -1: the list does not have it. */
int npl_word_index(const char *list, const char *word);

/* Parses a word that consists of decimal digits alone: no sign, no blank. */
bool npl_parse_count(const char *word, int64_t *value);
/* Parses a number of bytes: digits, then K, M, G or T for thousands, millions..., Ki, Mi, Gi or Ti for powers of 1024,
 * or nothing. */
bool npl_parse_bytes(const char *word, int64_t *value);
/* Parses a whole word as an integer: decimal with or without a sign, or 0x and hexadecimal. */
bool npl_parse_integer(const char *word, int64_t *value);
/* Parses a whole word as a finite decimal number: sign, fraction and exponent are optional. */
bool npl_parse_number(const char *word, double *value);

#ifdef __cplusplus
}
#endif

#endif
