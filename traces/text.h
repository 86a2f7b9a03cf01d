/* SPDX-License-Identifier: MIT
 *
 * Words of the lines of a trace. A word that is empty, or has a blank, a quote, a backslash, '=' or a control
 * character, is written in quotes, with \" for a quote, \\ for a backslash and \x1b for a character. */
#ifndef NPULAB_TRACES_TEXT_H
#define NPULAB_TRACES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

/* A line that is being made. It has room for TRACE_LINE bytes; what does not fit makes `full` true. */
struct trace_line {
	size_t n;
	bool full;
	char text[TRACE_LINE];
};

void trace_line_begin(struct trace_line *line, const char *kind); /* a word without quotes */
void trace_line_word(struct trace_line *line, const char *word);
void trace_line_number(struct trace_line *line, uint64_t number);
/* Writes " key=": a value follows. A blank in a key is written as '_'. */
void trace_line_key(struct trace_line *line, const char *key);
/* Write values, without a blank before. A real is written with as few digits as tell it from all others. */
void trace_line_put_number(struct trace_line *line, uint64_t number);
void trace_line_put_real(struct trace_line *line, double real);
void trace_line_put_checksum(struct trace_line *line, uint64_t checksum);       /* 16 digits */
void trace_line_put_short_checksum(struct trace_line *line, uint64_t checksum); /* 8 digits: its lower half */
void trace_line_put_word(struct trace_line *line, const char *word);
/* Ends the line and writes it. If it did not fit, trace_out_finish fails. */
void trace_line_end(struct trace_line *line, struct trace_out *out);

/* Says whether a text is a whole number without a sign, of at most so many digits. */
bool trace_is_number(const char *text, size_t digits);
/* Reads a count. Returns false, with 0, for what is no whole number below 10^18. */
bool trace_read_count(const char *word, uint64_t *count);

/* Splits a line into words, in place: quotes and escapes are removed. Of a word `key=value` word[i] is the key, and
 * value[i] is not NULL. Returns the number of words; -1: a quote does not end, an escape is none, or there are more
 * than `most` words; *problem says which. */
int trace_split(char *line, char **word, char **value, int most, const char **problem);

#endif
