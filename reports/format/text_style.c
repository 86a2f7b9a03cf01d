/* SPDX-License-Identifier: MIT
 *
 * The style of texts for a person (text_style.h). */
#include "text_style.h"

#include <stdatomic.h>

static atomic_int set_columns;
static atomic_bool has_colours;

void npl_text_style_set(struct npl_text_style style)
{
	atomic_store(&set_columns, style.columns);
	atomic_store(&has_colours, style.has_colours);
}

struct npl_text_style npl_text_style_get(void)
{
	return (struct npl_text_style){.columns = atomic_load(&set_columns), .has_colours = atomic_load(&has_colours)};
}

int npl_text_columns(void)
{
	const int columns = atomic_load(&set_columns);
	return columns ? columns : NPL_TEXT_COLUMNS;
}

bool npl_text_must_fit(void)
{
	return atomic_load(&set_columns) != 0;
}

const char *npl_tone_on(enum npl_tone tone)
{
	static const char *const sequence[] = {
		[NPL_TONE_NONE] = "",
		[NPL_TONE_HEADING] = "\033[1m",
		[NPL_TONE_GOOD] = "\033[32m",
		[NPL_TONE_BAD] = "\033[1;31m",
	};
	return atomic_load(&has_colours) ? sequence[tone] : "";
}

const char *npl_tone_off(enum npl_tone tone)
{
	return tone != NPL_TONE_NONE && atomic_load(&has_colours) ? "\033[0m" : "";
}
