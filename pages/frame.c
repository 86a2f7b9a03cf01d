/* SPDX-License-Identifier: MIT
 *
 * How pages begin and end (page.h). */
#include "core/base/message.h"
#include "page.h"

void page_begin_of(struct page_writer *writer, const char *title, char (*name)[PAGE_NAME], int n)
{
	char names[400] = "";
	for (int i = 0; i < n; i++)
		npl_append(names, sizeof names, !i ? "" : i + 1 < n ? ", " : " and ", "%s", name[i]);
	page_begin(writer, n > 1 ? names : title);
}

const char *page_made_by(const json_t *root, char *buf, size_t n)
{
	const json_t *program = json_object_get(root, "npulab");
	*buf = '\0';
	if (json_is_object(program))
		snprintf(buf, n, "%.60s, commit %.60s", page_text(program, "version"), page_text(program, "commit"));
	return buf;
}

void page_end_of(struct page_writer *writer, const struct page_document *document, int n)
{
	char program[160], made_by[200];
	page_made_by(document[n - 1].root, program, sizeof program);
	snprintf(made_by, sizeof made_by, "npulab%s%s", *program ? " " : "", program);
	page_end(writer, made_by);
}
