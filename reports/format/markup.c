/* SPDX-License-Identifier: MIT
 *
 * Escapes of other programs' languages (markup.h). */
#include "markup.h"

#include <string.h>

#include "core/base/printable.h"

/* How a printable ASCII character is written; false: as it is. */
typedef bool put_character(FILE *out, char c);

static void put(FILE *out, const char *text, put_character *put_one, const char *newline)
{
	for (const char *c = text; *c;) {
		const size_t length = npl_utf8_length(c);
		const uint32_t code = npl_utf8_code(c);
		if (*c == '\n')
			fputs(newline, out);
		else if (!length || !npl_is_printable(code) || code == 0xfffe || code == 0xffff) /* none of XML's */
			fputs("?", out);
		else if (length > 1 || !put_one(out, *c))
			fwrite(c, 1, length, out);
		c += length ? length : 1;
	}
}

static bool put_xml(FILE *out, char c)
{
	static const char special[] = "<>&\"'";
	static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
	const char *found = strchr(special, c);
	if (found)
		fputs(names[found - special], out);
	return found;
}

void npl_xml_put(FILE *out, const char *text)
{
	put(out, text, put_xml, "\n");
}

/* A character reference is never a delimiter of Markdown, and what stands in `<code>` mentions nobody. */
static bool put_reference(FILE *out, char c)
{
	const bool as_it_is = strchr(" -+%,abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", c);
	if (!as_it_is)
		fprintf(out, "&#%d;", c);
	return !as_it_is;
}

void npl_markdown_put_code(FILE *out, const char *text)
{
	fputs("<code>", out);
	put(out, text, put_reference, " ");
	fputs("</code>", out);
}

/* The escapes that GitHub's runner takes back: actions/toolkit, packages/core/src/command.ts. */
static bool put_message(FILE *out, char c)
{
	if (c == '%')
		fputs("%25", out);
	return c == '%';
}

static bool put_property(FILE *out, char c)
{
	if (c == ':' || c == ',')
		fputs(c == ':' ? "%3A" : "%2C", out);
	return c == ':' || c == ',' || put_message(out, c);
}

void npl_github_put_message(FILE *out, const char *text)
{
	put(out, text, put_message, "%0A");
}

void npl_github_put_property(FILE *out, const char *text)
{
	put(out, text, put_property, "%0A");
}
