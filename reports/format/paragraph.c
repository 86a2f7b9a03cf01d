/* SPDX-License-Identifier: MIT
 *
 * Texts in lines (paragraph.h). */
#include "paragraph.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "text_style.h"

/* Returns the bytes of the next word, or of the part of it that fits in a line; *columns is their width. */
static int word_bytes(const char *text, int width, int *columns)
{
	int bytes = 0;
	*columns = 0;
	while (text[bytes] && text[bytes] != ' ') {
		const int character_width = npl_character_width(npl_utf8_code(text + bytes));
		if (bytes && *columns + character_width > width)
			break;
		*columns += character_width;
		bytes += (int)npl_utf8_length(text + bytes);
	}
	return bytes;
}

/* The bytes of a text that are styled. */
struct range {
	const char *begin, *end;
	enum npl_tone tone;
};

/* Prints the bytes of a word, and styles those that are in the range. */
static void put_word(FILE *out, const char *word, int bytes, const struct range *range)
{
	for (const char *at = word, *end = word + bytes; at < end;) {
		const bool is_toned = at >= range->begin && at < range->end;
		const char *limit = is_toned ? range->end : at < range->begin ? range->begin : end;
		const int n = (int)((limit < end ? limit : end) - at);
		fputs(npl_tone_on(is_toned ? range->tone : NPL_TONE_NONE), out);
		fprintf(out, "%.*s", n, at);
		fputs(npl_tone_off(is_toned ? range->tone : NPL_TONE_NONE), out);
		at += n;
	}
}

static void put_words(FILE *out, const char *text, int indent, int width, const struct range *range)
{
	int at = 0;
	while (*text) {
		int columns, word = word_bytes(text, width, &columns);
		if (at > 0 && at + 1 + columns > width) {
			fprintf(out, "\n%*s", indent, "");
			at = 0;
		}
		fputs(at ? " " : "", out);
		put_word(out, text, word, range);
		at += columns + (at > 0);
		text += word;
		text += strspn(text, " ");
	}
}

void npl_put_paragraph(FILE *out, const char *text, int indent, int width)
{
	put_words(out, text, indent, width, &(struct range){text, text, NPL_TONE_NONE});
}

/* Returns the texts as one printable text, allocated, and sets the range of the text `toned`; NULL: out of memory. */
static char *join(const char *const *text, int toned, struct range *range)
{
	size_t bytes = 1;
	for (int i = 0; text[i]; i++)
		bytes += strlen(text[i]);
	char *joined = calloc(bytes, 1), *end = joined;
	for (int i = 0; joined && text[i]; i++) {
		char *begin = end;
		memcpy(begin, text[i], strlen(text[i]) + 1);
		end = begin + strlen(npl_make_printable(begin));
		if (i == toned)
			*range = (struct range){begin, end, range->tone};
	}
	return joined;
}

void npl_put_toned_line(FILE *out, const char *const *text, int toned, enum npl_tone tone)
{
	enum { INDENT = 2 };
	struct range range = {.tone = tone};
	char *line = npl_text_must_fit() ? join(text, toned, &range) : NULL;
	if (line && npl_text_width(line) > npl_text_columns())
		put_words(out, line, INDENT, npl_text_columns() - INDENT, &range);
	else
		for (int i = 0; text[i]; i++) {
			fputs(npl_tone_on(i == toned ? tone : NPL_TONE_NONE), out);
			npl_put_printable(out, text[i]);
			fputs(npl_tone_off(i == toned ? tone : NPL_TONE_NONE), out);
		}
	fputc('\n', out);
	free(line);
}

void npl_put_line(FILE *out, const char *const *text)
{
	npl_put_toned_line(out, text, -1, NPL_TONE_NONE);
}
