/* SPDX-License-Identifier: MIT
 *
 * A conformance run as a person reads it: every case, then the counts and what is missing. */
#include <string.h>

#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/format/table.h"

/* Styles a case's status. */
static enum npl_tone tone_of(const char *status)
{
	return !strcmp(status, npl_case_status_name(NPL_CASE_PASSED))   ? NPL_TONE_GOOD
	       : !strcmp(status, npl_case_status_name(NPL_CASE_FAILED)) ? NPL_TONE_BAD
									: NPL_TONE_NONE;
}

static int print_cases(FILE *out, const struct npl_conformance *c)
{
	static const char *const header[] = {"CASE", "STATUS", "REASON"};
	struct npl_table table;
	npl_table_open(&table, "lll", header);
	table.tone_of = tone_of;
	table.verdicts = 1;
	for (int i = 0; i < c->n_cases; i++) {
		const struct npl_case *item = &c->cases[i];
		const char *cells[] = {item->name, npl_case_status_name(item->status), item->reason};
		npl_table_row(&table, cells);
	}
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

static int print_missing(FILE *out, const struct npl_conformance *c)
{
	static const char *const header[] = {"MISSING OPERATOR", "CASES", "MISS NO OTHER"};
	struct npl_table table;
	npl_table_open(&table, "lrr", header);
	for (int i = 0; i < c->n_missing; i++) {
		char cases[24], opens[24];
		snprintf(cases, sizeof cases, "%d", c->missing[i].cases);
		snprintf(opens, sizeof opens, "%d", c->missing[i].only_missing);
		const char *cells[] = {c->missing[i].name, cases, opens};
		npl_table_row(&table, cells);
	}
	fputc('\n', out);
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

int npl_conformance_table(FILE *out, const struct npl_conformance *c)
{
	int rc = print_cases(out, c);
	if (rc)
		return rc;
	fprintf(out, "\n%d case%s on %s: %d passed, %d failed, %d unsupported\n", c->n_cases, npl_plural(c->n_cases),
		c->device ? c->device : "reference", c->count[NPL_CASE_PASSED], c->count[NPL_CASE_FAILED],
		c->count[NPL_CASE_UNSUPPORTED]);
	return c->n_missing ? print_missing(out, c) : 0;
}
