/* SPDX-License-Identifier: MIT
 *
 * How text for a person is laid out: how wide its lines may be, and whether words are in bold or in colour. The
 * library's own choice suits files and pipes: plain text of 100 columns. It never changes by itself, so that what is
 * printed there is the same everywhere. A program that prints on a terminal sets the style for the whole process; the
 * library does not look at terminals.
 *
 * Colours repeat what words say. */
#ifndef NPULAB_REPORTS_FORMAT_TEXT_STYLE_H
#define NPULAB_REPORTS_FORMAT_TEXT_STYLE_H

#include <stdbool.h>

#define NPL_TEXT_COLUMNS     100 /* the width where none is set */
#define NPL_TEXT_COLUMNS_MIN 80
#define NPL_TEXT_COLUMNS_MAX 200

struct npl_text_style {
	int columns;      /* from NPL_TEXT_COLUMNS_MIN to NPL_TEXT_COLUMNS_MAX; 0: NPL_TEXT_COLUMNS */
	bool has_colours; /* the terminal understands escape sequences */
};

/* Sets the style of all texts that are printed from now on, by any thread. */
void npl_text_style_set(struct npl_text_style style);
struct npl_text_style npl_text_style_get(void);

/* Returns the columns that a line may have. */
int npl_text_columns(void);
/* Says whether a width was set. Then a table whose columns do not fit beside each other is divided. Otherwise its lines
 * are longer, which a program that reads them prefers. */
bool npl_text_must_fit(void);

/* What a styled text is. */
enum npl_tone { NPL_TONE_NONE, NPL_TONE_HEADING, NPL_TONE_GOOD, NPL_TONE_BAD };
/* Return the escape sequences to print before and after a styled text; "" if the style has no colours. They take no
 * columns: a text's width is known before they are printed around it. */
const char *npl_tone_on(enum npl_tone tone);
const char *npl_tone_off(enum npl_tone tone);

#endif
