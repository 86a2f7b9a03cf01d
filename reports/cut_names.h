/* SPDX-License-Identifier: MIT
 *
 * Names that are too long for their column, cut in the middle: names of layers begin alike and end alike. */
#ifndef NPULAB_REPORTS_CUT_NAMES_H
#define NPULAB_REPORTS_CUT_NAMES_H

/* Replaces each of the n printable texts, allocated with malloc, that is wider than `width` columns (3 at least) by its
 * beginning, "~" and its end. All are cut at the same place, the one nearest to the middle that keeps most of them
 * apart; one that is then still the same as another is cut elsewhere, if that helps. NULLs are left alone; without
 * memory, so are the texts. */
void npl_cut_names(char **text, int n, int width);

#endif
