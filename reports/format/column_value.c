/* SPDX-License-Identifier: MIT
 *
 * The values of columns in JSON and in CSV (column_value.h). */
#include "column_value.h"

#include <inttypes.h>
#include <math.h>

#include "csv_fields.h"

void npl_column_value_json(struct npl_json *json, const char *key, const struct npl_column_value *v)
{
	switch (v->kind) {
	case VALUE_REAL:
	case VALUE_RATIO:
		npl_json_double(json, key, v->real);
		break;
	case VALUE_COUNT:
		npl_json_u64(json, key, v->count);
		break;
	case VALUE_INTEGER:
		npl_json_i64(json, key, v->integer);
		break;
	case VALUE_TEXT:
		npl_json_string(json, key, v->text);
		break;
	case VALUE_BOOLEAN:
		npl_json_bool(json, key, v->boolean);
		break;
	default:
		npl_json_null(json, key);
	}
}

void npl_column_value_csv(FILE *out, const struct npl_column_value *v)
{
	if (v->kind == VALUE_RATIO && isinf(v->real))
		fputs(v->real > 0 ? "inf" : "-inf", out);
	else if (v->kind == VALUE_REAL || v->kind == VALUE_RATIO)
		npl_csv_put_double(out, v->real);
	else if (v->kind == VALUE_COUNT)
		fprintf(out, "%" PRIu64, v->count);
	else if (v->kind == VALUE_INTEGER)
		fprintf(out, "%" PRId64, v->integer);
	else if (v->kind == VALUE_TEXT)
		npl_csv_put_text(out, v->text);
}
