/* SPDX-License-Identifier: MIT
 *
 * Parts of messages: lists with separators, and texts that are too long for their room. */
#include <criterion/criterion.h>

#include "core/base/message.h"

Test(message, a_list_has_separators_between_its_words)
{
	char text[32] = "";
	npl_append(text, sizeof text, ", ", "%s", "one");
	cr_assert_str_eq(text, "one");
	npl_append(text, sizeof text, " or ", "%d", 2);
	npl_append(text, sizeof text, "", "%s", "!");
	cr_assert_str_eq(text, "one or 2!");
}

Test(message, what_does_not_fit_is_cut_off)
{
	char text[8] = "1234";
	text[7] = '#';
	npl_append(text, 7, "--", "%s", "567");
	cr_assert_str_eq(text, "1234--");
	npl_append(text, 7, "--", "%s", "567");
	cr_assert_str_eq(text, "1234--");
	cr_assert_eq(text[7], '#');
}
