/* SPDX-License-Identifier: MIT
 *
 * Verdicts of traces as JUnit's XML, which GitLab, Jenkins and most other servers read. */
#include <math.h>
#include <stdlib.h>

#include "reports/format/markup.h"
#include "trace_verdict.h"

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	npl_xml_put_attribute(out, value);
	fputs("\"", out);
}

static void put_counts(FILE *out, const struct npl_trace_verdict *verdict, int n)
{
	double seconds = 0;
	for (int i = 0; i < n; i++)
		seconds += isnan(verdict[i].wall_seconds) ? 0 : verdict[i].wall_seconds;
	fprintf(out, " name=\"npulab trace\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"0\" time=\"%.3f\">\n",
		n, npl_trace_count(verdict, n, NPL_TRACE_MOVED), npl_trace_count(verdict, n, NPL_TRACE_NOT_COMPARED),
		seconds);
}

/* Returns the text of npl_report_trace_diff, to be freed; NULL: nothing moved, or out of memory. */
static char *diff_text(const struct npl_trace_verdict *verdict)
{
	char *text = NULL;
	size_t bytes = 0;
	if (verdict->code || !verdict->diff.moved)
		return NULL;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	const int rc = npl_report_trace_diff(out, verdict->path, verdict->other, &verdict->diff);
	if (!fclose(out) && !rc)
		return text;
	free(text);
	return NULL;
}

static void put_case(FILE *out, const struct npl_trace_verdict *verdict)
{
	const enum npl_trace_state state = npl_trace_state_of(verdict);
	char sentence[1024];
	char *text = diff_text(verdict);
	const char *element = state == NPL_TRACE_MOVED          ? "failure"
			      : state == NPL_TRACE_NOT_COMPARED ? "error"
			      : state == NPL_TRACE_WITHIN       ? "system-out"
								: NULL;
	fputs("    <testcase classname=\"npulab.trace\"", out);
	put_attribute(out, "name", verdict->path);
	put_attribute(out, "file", verdict->path);
	fprintf(out, " time=\"%.3f\"", isnan(verdict->wall_seconds) ? 0 : verdict->wall_seconds);
	if (!element) {
		fputs("/>\n", out);
		return;
	}
	npl_trace_sentence(verdict, sentence, sizeof sentence);
	fprintf(out, ">\n      <%s", element);
	if (state != NPL_TRACE_WITHIN) {
		put_attribute(out, "type", npl_trace_verdict_name(verdict));
		put_attribute(out, "message", sentence);
	}
	fputs(">", out);
	npl_xml_put(out, text ? text : sentence);
	fprintf(out, "</%s>\n    </testcase>\n", element);
	free(text);
}

void npl_trace_junit(FILE *out, const struct npl_trace_verdict *verdict, int n)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	put_counts(out, verdict, n);
	fputs("  <testsuite", out);
	put_counts(out, verdict, n);
	for (int i = 0; i < n; i++)
		put_case(out, &verdict[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
}
