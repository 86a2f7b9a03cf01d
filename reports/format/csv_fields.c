/* SPDX-License-Identifier: MIT
 *
 * Fields of CSV files (csv_fields.h). */
#include "csv_fields.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/files/settings.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for a byte that is not UTF-8, as in the JSON of the same run */

void npl_csv_put_text(FILE *out, const char *text)
{
	if (!text)
		return;
	const bool quoted = strpbrk(text, ",\"\r\n");
	if (quoted)
		fputc('"', out);
	while (*text) {
		const size_t length = npl_utf8_length(text);
		if (*text == '"')
			fputc('"', out);
		fwrite(length ? text : REPLACEMENT, 1, length ? length : sizeof REPLACEMENT - 1, out);
		text += length ? length : 1;
	}
	if (quoted)
		fputc('"', out);
}

void npl_csv_put_double(FILE *out, double value)
{
	char text[40];
	if (isfinite(value))
		fputs(npl_double_text(value, text, sizeof text), out);
}
