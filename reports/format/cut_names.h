/* SPDX-License-Identifier: MIT
 *
 * Cuts names that are too long for their column in the middle: names of layers begin alike and end alike. */
#ifndef NPULAB_REPORTS_FORMAT_CUT_NAMES_H
#define NPULAB_REPORTS_FORMAT_CUT_NAMES_H

/* Replaces each of the n printable texts, allocated with malloc, that is wider than `width` columns (3 at least) by its
 * beginning, "…" and its end. All are cut at the same place: the one nearest to the middle that keeps most of them
 * apart. A name that would equal another is cut elsewhere, if that helps. NULLs are not changed; without memory no text
 * is. */
void npl_cut_names(char **text, int n, int width);

#endif
