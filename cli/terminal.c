/* SPDX-License-Identifier: MIT
 *
 * Terminals (terminal.h). */
#include "terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/files/words.h"
#include "reports/format/text_style.h"

#define WIDTH_VARIABLE "NPULAB_COLUMNS"

static int asked_columns; /* by WIDTH_VARIABLE; 0: it is not set */

int cli_terminal_columns(int descriptor)
{
	struct winsize size = {0};
	return ioctl(descriptor, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

/* Returns the number in an environment variable; 0: it has none. */
static int64_t number_of(const char *variable)
{
	const char *text = getenv(variable);
	int64_t number;
	return text && npl_parse_count(text, &number) ? number : 0;
}

/* Returns the width of lines on a terminal. Like other programs, this one believes COLUMNS before the terminal. */
static int width_on_terminal(int descriptor)
{
	int64_t columns = number_of("COLUMNS");
	if (columns < 1)
		columns = cli_terminal_columns(descriptor);
	return columns < NPL_TEXT_COLUMNS_MIN   ? NPL_TEXT_COLUMNS_MIN
	       : columns > NPL_TEXT_COLUMNS_MAX ? NPL_TEXT_COLUMNS_MAX
						: (int)columns;
}

static bool is_set(const char *variable)
{
	const char *text = getenv(variable);
	return text && *text;
}

/* Says whether text on a terminal may be in colour: https://no-color.org. */
static bool may_colour(void)
{
	const char *term = getenv("TERM");
	return !is_set("NO_COLOR") && term && *term && strcmp(term, "dumb") != 0;
}

void cli_terminal_lay_out_for(FILE *stream)
{
	const int descriptor = fileno(stream);
	const bool on_terminal = isatty(descriptor);
	npl_text_style_set((struct npl_text_style){.columns = asked_columns ? asked_columns
							      : on_terminal ? width_on_terminal(descriptor)
									    : 0,
						   .has_colours = on_terminal && may_colour()});
}

void cli_put_error(const char *message)
{
	const struct npl_text_style style = npl_text_style_get();
	cli_terminal_lay_out_for(stderr);
	fprintf(stderr, "%snpulab:%s %s\n", npl_tone_on(NPL_TONE_BAD), npl_tone_off(NPL_TONE_BAD), message);
	npl_text_style_set(style);
}

int cli_terminal_open(struct npl_err *err)
{
	const char *text = getenv(WIDTH_VARIABLE);
	const int64_t columns = number_of(WIDTH_VARIABLE);
	if (text && *text && (columns < NPL_TEXT_COLUMNS_MIN || columns > NPL_TEXT_COLUMNS_MAX))
		return npl_fail(err, NPL_EUSAGE, WIDTH_VARIABLE "=%s: expected a whole number of columns from %d to %d",
				text, NPL_TEXT_COLUMNS_MIN, NPL_TEXT_COLUMNS_MAX);
	asked_columns = (int)columns;
	cli_terminal_lay_out_for(stdout);
	return 0;
}
