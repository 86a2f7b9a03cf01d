/* SPDX-License-Identifier: MIT
 *
 * Texts within XML, Markdown and GitHub's commands (reports/format/markup.h). What the program promises: no text, of
 * whatever bytes, ends its element, begins a tag, mentions somebody or becomes a command. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "reports/format/markup.h"
#include "tests/kit/support.h"

static char *written(void (*put)(FILE *out, const char *text), const char *text)
{
	char *out = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&out, &bytes);
	cr_assert(stream);
	put(stream, text);
	fclose(stream);
	return out;
}

Test(markup, each_language_has_its_escapes)
{
	static const struct {
		void (*put)(FILE *out, const char *text);
		const char *text, *expected;
	} cases[] = {{npl_xml_put, "a<b> & \"c\" 'd'\n|*%", "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;\n|*%"},
		     {npl_xml_put_attribute, "a<b>\n\"c\"\n", "a&lt;b&gt;&#10;&quot;c&quot;&#10;"},
		     {npl_xml_put, "\x01\x1b\xff\xc3\xa9\xef\xbf\xbe]]>", "???\xc3\xa9?]]&gt;"},
		     {npl_markdown_put_code, "a|b", "<code>a&#124;b</code>"},
		     {npl_markdown_put_code, "@all\n`#1`", "<code>&#64;all &#96;&#35;1&#96;</code>"},
		     {npl_markdown_put_code, "</code>", "<code>&#60;/code&#62;</code>"},
		     {npl_markdown_put_code, "a_b.c _d_", "<code>a_b.c &#95;d&#95;</code>"},
		     {npl_github_put_message, "50%\r\n::error::a,b", "50%25?%0A::error::a,b"},
		     {npl_github_put_property, "a:b,c%\n", "a%3Ab%2Cc%25%0A"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *out = written(cases[i].put, cases[i].text);
		cr_expect_str_eq(out, cases[i].expected);
		free(out);
	}
}

/* Random bytes: what must not come out never does. */
Test(markup, no_text_gets_out)
{
	static const char likely[] = "<>&\"'`*_[]()!|#@:,%\n\r\t\\~- ax]";
	uint64_t rng = 11;
	for (int round = 0; round < 3000; round++) {
		char text[80];
		const int n = (int)test_range(&rng, 0, sizeof text - 1);
		for (int i = 0; i < n; i++)
			text[i] = test_range(&rng, 0, 3) ? likely[test_range(&rng, 0, sizeof likely - 2)]
							 : (char)test_range(&rng, 1, 255);
		text[n] = '\0';
		char *xml = written(npl_xml_put, text), *code = written(npl_markdown_put_code, text),
		     *property = written(npl_github_put_property, text);
		cr_assert(!strpbrk(xml, "<>\"'\r\x1b"), "%s", xml);
		for (const char *at = strchr(xml, '&'); at; at = strchr(at + 1, '&'))
			cr_assert(at[1] == 'l' || at[1] == 'g' || at[1] == 'a' || at[1] == 'q', "%s", xml);
		code[strlen(code) - strlen("</code>")] = '\0';
		cr_assert(!strpbrk(code + strlen("<code>"), "<>`*[]()!|@:\\~\n\r\""), "%s", code);
		cr_assert(!strpbrk(property, ":,\n\r"), "%s", property);
		free(xml);
		free(code);
		free(property);
	}
}
