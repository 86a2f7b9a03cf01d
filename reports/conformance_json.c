/* SPDX-License-Identifier: MIT
 *
 * A conformance run as JSON, schema npulab.conformance/1. */
#include "npulab/report.h"
#include "reports/format/json.h"

static void put_case(struct npl_json *json, const struct npl_case *item, bool device)
{
	npl_json_open(json, NULL, '{');
	npl_json_string(json, "name", item->name);
	npl_json_string(json, "status", npl_case_status_name(item->status));
	npl_json_string(json, "reason", item->reason);
	npl_json_open(json, "missing_operators", '[');
	for (int k = 0; k < item->n_missing; k++)
		npl_json_string(json, NULL, item->missing[k]);
	npl_json_close(json, ']');
	npl_json_i64(json, "data_sets", item->data_sets);
	npl_json_i64(json, "nodes", item->nodes);
	if (device)
		npl_json_i64(json, "nodes_on_device", item->nodes_on_device);
	npl_json_string(json, "path", item->path);
	npl_json_close(json, '}');
}

void npl_conformance_json(FILE *out, const struct npl_conformance *c)
{
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.conformance/1");
	npl_json_string(&json, "device", c->device ? c->device : "reference");
	for (int s = 0; s < NPL_CASE_STATUSES; s++)
		npl_json_i64(&json, npl_case_status_name((enum npl_case_status)s), c->count[s]);
	npl_json_open(&json, "missing_operators", '[');
	for (int i = 0; i < c->n_missing; i++) {
		npl_json_open(&json, NULL, '{');
		npl_json_string(&json, "name", c->missing[i].name);
		npl_json_i64(&json, "cases", c->missing[i].cases);
		npl_json_i64(&json, "opens", c->missing[i].only_missing);
		npl_json_close(&json, '}');
	}
	npl_json_close(&json, ']');
	npl_json_open(&json, "cases", '[');
	for (int i = 0; i < c->n_cases; i++)
		put_case(&json, &c->cases[i], c->device != NULL);
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	fputc('\n', out);
}
