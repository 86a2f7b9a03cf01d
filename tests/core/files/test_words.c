/* SPDX-License-Identifier: MIT
 *
 * Words of a text: lines, comments, marks, and that the first failure ends the text. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/files/words.h"

static struct npl_words opened(const char *text, struct npl_err *err)
{
	struct npl_words words;
	npl_words_open(&words, "f", text, strlen(text), err);
	words.marks = ",";
	return words;
}

Test(words, lines_have_words_and_marks)
{
	struct npl_err err = {0};
	struct npl_words words = opened("\n# none\n a,b # c\nd", &err);
	cr_assert(npl_words_line(&words) && words.line == 3);
	cr_assert_str_eq(words.word, "a");
	cr_assert(npl_words_follows(&words, ',') && !npl_words_at_end(&words));
	cr_assert(!npl_words_next(&words) && !strcmp(words.word, ","));
	cr_assert(!npl_words_next(&words) && !strcmp(words.word, "b") && npl_words_at_end(&words));
	cr_assert(!npl_words_end(&words) && npl_words_line(&words) && words.line == 4);
	cr_assert(!npl_words_line(&words) && !words.rc);
}

Test(words, the_first_failure_ends_the_text)
{
	struct npl_err err = {0};
	struct npl_words words = opened("a b\nc", &err);
	cr_assert(npl_words_line(&words));
	cr_assert_eq(npl_words_complain(&words, "%s is wrong", words.word), NPL_EINPUT);
	cr_assert_eq(npl_words_complain(&words, "and this"), NPL_EINPUT);
	cr_assert_str_eq(err.msg, "f:1: a is wrong");
	cr_assert(!*words.word && npl_words_at_end(&words) && !npl_words_follows(&words, ','));
	cr_assert(npl_words_next(&words) == NPL_EINPUT && !*words.word && npl_words_end(&words) == NPL_EINPUT);
	cr_assert(!npl_words_line(&words) && words.rc == NPL_EINPUT);
	cr_assert_str_eq(err.msg, "f:1: a is wrong");
}
