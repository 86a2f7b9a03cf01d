/* SPDX-License-Identifier: MIT
 *
 * Escapes of other programs' languages (markup.h). */
#include "markup.h"

#include <string.h>

#include "core/base/printable.h"

/* How the printable ASCII character at `at` of a text is written; false: as it is. */
typedef bool put_character(FILE *out, const char *text, const char *at);

static void put(FILE *out, const char *text, put_character *put_one, const char *newline)
{
	for (const char *c = text; *c;) {
		const size_t length = npl_utf8_length(c);
		const uint32_t code = npl_utf8_code(c);
		if (*c == '\n')
			fputs(newline, out);
		else if (!length || !npl_is_printable(code) || code == 0xfffe || code == 0xffff) /* none of XML's */
			fputs("?", out);
		else if (length > 1 || !put_one(out, text, c))
			fwrite(c, 1, length, out);
		c += length ? length : 1;
	}
}

static bool put_xml(FILE *out, const char *text, const char *at)
{
	(void)text;
	static const char special[] = "<>&\"'";
	static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
	const char *found = strchr(special, *at);
	if (found)
		fputs(names[found - special], out);
	return found;
}

void npl_xml_put(FILE *out, const char *text)
{
	put(out, text, put_xml, "\n");
}

void npl_xml_put_attribute(FILE *out, const char *text)
{
	put(out, text, put_xml, "&#10;");
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A character reference is never a delimiter of Markdown, and what stands in `<code>` mentions nobody. An underscore
 * within a word is no delimiter either. */
static bool put_reference(FILE *out, const char *text, const char *at)
{
	const bool within_word = *at == '_' && at > text && is_word(at[-1]) && is_word(at[1]);
	const bool as_it_is = within_word || is_word(*at) || strchr(" -+%,./=", *at);
	if (!as_it_is)
		fprintf(out, "&#%d;", *at);
	return !as_it_is;
}

void npl_markdown_put_code(FILE *out, const char *text)
{
	fputs("<code>", out);
	put(out, text, put_reference, " ");
	fputs("</code>", out);
}

/* Parentheses follow no bracket here, because brackets are references; a "~" before a number, as figures of models
 * have it, ends nothing. A ":" before a blank begins neither the name of an emoji nor the rest of an address. */
static bool put_markdown(FILE *out, const char *text, const char *at)
{
	const bool before_number = *at == '~' && at[1] >= '0' && at[1] <= '9' && (at == text || strchr(" (", at[-1]));
	const bool ends_word = *at == ':' && (at[1] == ' ' || !at[1]);
	return before_number || ends_word || strchr("();?", *at) ? false : put_reference(out, text, at);
}

void npl_markdown_put(FILE *out, const char *text)
{
	put(out, text, put_markdown, " ");
}

static bool put_latex(FILE *out, const char *text, const char *at)
{
	static const char special[] = "\\{}$&#%_~^<>|\"";
	static const char *const commands[] = {"\\textbackslash{}",
					       "\\{",
					       "\\}",
					       "\\$",
					       "\\&",
					       "\\#",
					       "\\%",
					       "\\_",
					       "\\textasciitilde{}",
					       "\\textasciicircum{}",
					       "\\textless{}",
					       "\\textgreater{}",
					       "\\textbar{}",
					       "''"};
	(void)text;
	const char *found = strchr(special, *at);
	if (found)
		fputs(commands[found - special], out);
	return found;
}

void npl_latex_put(FILE *out, const char *text)
{
	put(out, text, put_latex, " ");
}

/* The escapes that GitHub's runner takes back: actions/toolkit, packages/core/src/command.ts. */
static bool put_message(FILE *out, const char *text, const char *at)
{
	(void)text;
	if (*at == '%')
		fputs("%25", out);
	return *at == '%';
}

static bool put_property(FILE *out, const char *text, const char *at)
{
	const bool is_special = *at == ':' || *at == ',';
	if (is_special)
		fputs(*at == ':' ? "%3A" : "%2C", out);
	return is_special || put_message(out, text, at);
}

void npl_github_put_message(FILE *out, const char *text)
{
	put(out, text, put_message, "%0A");
}

void npl_github_put_property(FILE *out, const char *text)
{
	put(out, text, put_property, "%0A");
}
