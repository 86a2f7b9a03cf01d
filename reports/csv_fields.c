/* SPDX-License-Identifier: MIT
 *
 * Fields of CSV files (csv_fields.h). */
#include "csv_fields.h"

#include <math.h>
#include <string.h>

#include "core/files/settings.h"

void npl_csv_put_text(FILE *out, const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void npl_csv_put_double(FILE *out, double value)
{
	char text[40];
	if (isfinite(value))
		fputs(npl_double_text(value, text, sizeof text), out);
}
