/* SPDX-License-Identifier: MIT
 *
 * What the lines of all CSV files share (csv.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "csv.h"
#include "reports/format/csv_fields.h"

void page_csv_begin_names(const struct page_csv *csv)
{
	if (csv->name)
		fputs("result", csv->out);
}

void page_csv_begin(const struct page_csv *csv, int document)
{
	if (csv->name)
		npl_csv_put_text(csv->out, csv->name[document]);
}

void page_csv_comma(const struct page_csv *csv, bool is_first)
{
	if (csv->name || !is_first)
		fputc(',', csv->out);
}

bool page_csv_is_list_of_objects(const json_t *value)
{
	return json_array_size(value) > 0 && json_is_object(json_array_get(value, 0));
}

static void put_list(FILE *out, const json_t *list)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *field = page_csv_is_list_of_objects(list) ? NULL : open_memstream(&text, &bytes);
	for (size_t i = 0; i < json_array_size(list) && field; i++) {
		const json_t *value = json_array_get(list, i);
		fputs(i ? ", " : "", field);
		if (json_is_string(value))
			fputs(json_string_value(value), field);
		else
			page_csv_value(field, value);
	}
	if (field && !fclose(field))
		npl_csv_put_text(out, text);
	free(text);
}

void page_csv_value(FILE *out, const json_t *value)
{
	if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		npl_csv_put_double(out, json_real_value(value));
	else if (json_is_string(value))
		npl_csv_put_text(out, json_string_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "true" : "false", out);
	else if (json_is_array(value))
		put_list(out, value);
}
