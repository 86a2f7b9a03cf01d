/* SPDX-License-Identifier: MIT
 *
 * Words of the lines of a trace (text.h). */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct trace_line *line, const char *bytes, size_t n)
{
	if (line->full || n >= sizeof line->text - line->n) {
		line->full = true;
		return;
	}
	memcpy(line->text + line->n, bytes, n);
	line->n += n;
}

static void put_byte(struct trace_line *line, char byte)
{
	put(line, &byte, 1);
}

static bool is_plain(unsigned char c)
{
	return c > ' ' && c != '"' && c != '\\' && c != '=' && c != 0x7f;
}

static bool needs_quotes(const char *word)
{
	const char *at = word;
	while (*at && is_plain((unsigned char)*at))
		at++;
	return *at || at == word;
}

void trace_line_put_word(struct trace_line *line, const char *word)
{
	char code[5];
	if (!needs_quotes(word)) {
		put(line, word, strlen(word));
		return;
	}
	put_byte(line, '"');
	for (const char *at = word; *at; at++) {
		const unsigned char c = (unsigned char)*at;
		if (c == '"' || c == '\\') {
			put_byte(line, '\\');
			put_byte(line, *at);
		} else if (c < ' ' || c == 0x7f) {
			put(line, code, (size_t)snprintf(code, sizeof code, "\\x%02x", c));
		} else {
			put_byte(line, *at);
		}
	}
	put_byte(line, '"');
}

void trace_line_begin(struct trace_line *line, const char *kind)
{
	line->n = 0;
	line->full = false;
	put(line, kind, strlen(kind));
}

void trace_line_word(struct trace_line *line, const char *word)
{
	put_byte(line, ' ');
	trace_line_put_word(line, word);
}

void trace_line_number(struct trace_line *line, uint64_t number)
{
	put_byte(line, ' ');
	trace_line_put_number(line, number);
}

void trace_line_key(struct trace_line *line, const char *key)
{
	put_byte(line, ' ');
	for (; *key; key++)
		put_byte(line, is_plain((unsigned char)*key) ? *key : '_');
	put_byte(line, '=');
}

void trace_line_put_number(struct trace_line *line, uint64_t number)
{
	char digits[20];
	int n = 0;
	do
		digits[sizeof digits - (size_t)++n] = (char)('0' + number % 10);
	while (number /= 10);
	put(line, digits + sizeof digits - n, (size_t)n);
}

void trace_line_put_real(struct trace_line *line, double real)
{
	char digits[40];
	int n = 0;
	for (int precision = 15; precision <= 17; precision++) {
		n = snprintf(digits, sizeof digits, "%.*g", precision, real);
		if (strtod(digits, NULL) == real)
			break;
	}
	put(line, digits, (size_t)n);
}

static void put_digits(struct trace_line *line, uint64_t number, int n)
{
	static const char digit[] = "0123456789abcdef";
	char digits[16];
	for (int i = n - 1; i >= 0; i--, number >>= 4)
		digits[i] = digit[number & 15];
	put(line, digits, (size_t)n);
}

void trace_line_put_checksum(struct trace_line *line, uint64_t checksum)
{
	put_digits(line, checksum, 16);
}

void trace_line_put_short_checksum(struct trace_line *line, uint64_t checksum)
{
	put_digits(line, checksum, 8);
}

void trace_line_end(struct trace_line *line, struct trace_out *out)
{
	if (line->full)
		trace_out_too_long(out);
	line->text[line->n++] = '\n';
	trace_out_put(out, line->text, line->n);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads one word at *at into *to, without its quotes. */
static const char *read_word(char **at, char **to)
{
	if (**at != '"') {
		while (is_plain((unsigned char)**at))
			*(*to)++ = *(*at)++;
		return NULL;
	}
	for ((*at)++; **at && **at != '"'; (*at)++) {
		if (**at != '\\') {
			*(*to)++ = **at;
			continue;
		}
		++*at;
		if (**at == '"' || **at == '\\') {
			*(*to)++ = **at;
		} else if (**at == 'x' && hex_digit((*at)[1]) >= 0 && hex_digit((*at)[2]) >= 0) {
			const int byte = hex_digit((*at)[1]) * 16 + hex_digit((*at)[2]);
			if (!byte)
				return "the escape \\x00 is none";
			*(*to)++ = (char)byte;
			*at += 2;
		} else {
			return "expected \\\", \\\\ or \\x and two digits 0-9, a-f";
		}
	}
	if (!**at)
		return "a quote that does not end";
	(*at)++;
	return NULL;
}

bool trace_is_number(const char *text, size_t digits)
{
	const size_t n = strspn(text, "0123456789");
	return n && n <= digits && !text[n];
}

bool trace_read_count(const char *word, uint64_t *count)
{
	const bool is_count = trace_is_number(word, 18);
	*count = is_count ? strtoull(word, NULL, 10) : 0;
	return is_count;
}

int trace_split(char *line, char **word, char **value, int most, const char **problem)
{
	char *at = line, *to = line;
	int n = 0;
	for (*problem = NULL; *at; n++) {
		if (n == most) {
			*problem = "more words than any line of a trace has";
			return -1;
		}
		word[n] = to;
		value[n] = NULL;
		if ((*problem = read_word(&at, &to)))
			return -1;
		/* What has been read is at least as long as what it stands for: `to` is not beyond `at`. The zero may
		 * overwrite the character there. */
		char end = *at;
		const bool has_value = end == '=';
		*to++ = '\0';
		if (has_value) {
			at++;
			value[n] = to;
			if ((*problem = read_word(&at, &to)))
				return -1;
			end = *at;
			*to++ = '\0';
		}
		if (end && end != ' ')
			*problem = has_value ? "expected a blank after a value"
					     : "a character that stands in quotes only";
		else if (end && !at[1])
			*problem = "a blank at the end";
		if (*problem)
			return -1;
		at += end != '\0';
	}
	return n;
}
