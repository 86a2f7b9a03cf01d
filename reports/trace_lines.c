/* SPDX-License-Identifier: MIT
 *
 * Lines of events for a reader (trace_verdict.h). */
#include <stdio.h>
#include <string.h>

#include "trace_verdict.h"

/* Returns the length of the word that a line begins with. A word in quotes may have blanks. */
static size_t word_at(const char *line)
{
	size_t n = 0;
	bool quoted = false;
	for (; line[n] && (quoted || line[n] != ' '); n++) {
		if (quoted && line[n] == '\\' && line[n + 1])
			n++;
		else if (line[n] == '"')
			quoted = !quoted;
	}
	return n;
}

static bool has_word(const char *line, const char *word, size_t bytes)
{
	while (line && *line) {
		const size_t n = word_at(line);
		if (n == bytes && !memcmp(line, word, n))
			return true;
		line += n + (line[n] == ' ');
	}
	return false;
}

/* A text that grows up to a limit. What does not fit is left out, and marked at its end. */
struct shown {
	char *text;
	size_t n, most;
	bool is_cut;
};

static void show(struct shown *shown, const char *word, size_t bytes)
{
	const size_t blank = shown->n > 0;
	if (shown->is_cut || shown->n + blank + bytes + strlen(" ...") > shown->most) {
		shown->is_cut = true;
		return;
	}
	if (blank)
		shown->text[shown->n++] = ' ';
	memcpy(shown->text + shown->n, word, bytes);
	shown->n += bytes;
}

/* Shows the words that identify the event, and of the others those that the other line (NULL: none) lacks. */
static void show_what_differs(struct shown *shown, const char *line, const char *other)
{
	bool left_out = false;
	for (size_t n; *line; line += n + (line[n] == ' ')) {
		n = word_at(line);
		const bool is_key = memchr(line, '=', n) && *line != '"';
		if (is_key && has_word(other, line, n)) {
			left_out = true;
			continue;
		}
		if (left_out)
			show(shown, "...", 3);
		left_out = false;
		show(shown, line, n);
	}
	if (left_out)
		show(shown, "...", 3);
}

const char *npl_trace_line_text(char *buf, size_t n, const char *line, const char *other)
{
	struct shown shown = {.text = buf, .most = n - 1};
	const size_t bytes = strlen(line);
	if (bytes < n) {
		memcpy(buf, line, bytes + 1);
		return buf;
	}
	show_what_differs(&shown, line, other);
	if (shown.is_cut) {
		memcpy(buf + shown.n, " ...", strlen(" ..."));
		shown.n += strlen(" ...");
	}
	buf[shown.n] = '\0';
	return buf;
}
