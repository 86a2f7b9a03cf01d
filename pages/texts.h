/* SPDX-License-Identifier: MIT
 *
 * The files that pages carry, as scripts/embed.sh makes them. */
#ifndef NPULAB_PAGES_TEXTS_H
#define NPULAB_PAGES_TEXTS_H

struct page_embedded {
	const char *name, *text;
};
extern const struct page_embedded page_embedded[]; /* ends with a name NULL */

#endif
