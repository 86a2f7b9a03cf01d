/* SPDX-License-Identifier: MIT
 *
 * A validation as JSON, schema npulab.validate/1: fractions as fractions, null for what is not known, with the reason
 * where the model's figure is not known. */
#include <math.h>

#include "npulab/report.h"
#include "reports/format/json.h"
#include "validate_cells.h"

static void put_row(struct npl_json *json, const struct npl_validation_row *row)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "machine", row->machine);
	npl_json_string(json, "case", row->case_name);
	npl_json_string(json, "metric", row->metric);
	npl_json_double(json, "published", row->published);
	npl_json_double(json, "model", row->model);
	npl_json_double(json, "difference", row->model - row->published);
	npl_json_double(json, "relative_difference", npl_validation_relative(row));
	npl_json_double(json, "tolerance", row->tolerance);
	npl_json_bool(json, "at_most", row->at_most);
	npl_json_bool(json, "fitted", row->fitted);
	npl_json_string(json, "verdict", npl_verdict_name(npl_validation_verdict(row)));
	npl_json_text(json, "reference", row->reference);
	npl_json_text(json, "source", row->source);
	npl_json_text(json, "unit", row->unit);
	npl_json_text(json, "note", row->note);
	npl_json_text(json, "reason", isnan(row->model) ? row->reason : "");
	npl_json_close(json, '}');
}

void npl_validation_json(FILE *out, const struct npl_validation *v, bool all)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.validate/1");
	npl_json_build(&json);
	npl_json_open(&json, "rows", '[');
	for (int i = 0; i < v->n; i++)
		if (npl_validation_shown(&v->row[i], all))
			put_row(&json, &v->row[i]);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
