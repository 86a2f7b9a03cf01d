/* SPDX-License-Identifier: MIT
 *
 * Reports of verdicts, and the tolerance (trace_report.h). */
#include "trace_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The keys of --tolerance, and the unit of each. */
struct tolerance_key {
	const char *name, *unit;
	double *value;
	double per_unit; /* the value of one unit */
	bool is_given;
};

/* Reads one KEY=NUMBER and its unit. Returns the text after it; NULL: it is none, or the key has come before. */
static const char *read_key(const char *text, struct tolerance_key *key)
{
	const size_t name = strlen(key->name), unit = strlen(key->unit);
	char *end;
	if (strncmp(text, key->name, name) != 0 || text[name] != '=' || key->is_given)
		return NULL;
	const char *figure = text + name + 1;
	const double number = strtod(figure, &end);
	/* strtod also reads blanks, signs, hexadecimal figures and words. */
	const bool is_decimal = end > figure && strspn(figure, "0123456789.e-") >= (size_t)(end - figure);
	if (!is_decimal || *figure == '-' || !(number >= 0 && number <= 100) || strncmp(end, key->unit, unit) != 0)
		return NULL;
	key->is_given = true;
	*key->value = number * key->per_unit;
	return end + unit;
}

int cli_trace_tolerance(const char *text, struct npl_trace_tolerance *tolerance, struct npl_err *err)
{
	*tolerance = (struct npl_trace_tolerance){0};
	struct tolerance_key keys[] = {{"cycles", "%", &tolerance->cycles, 0.01, false},
				       {"energy", "%", &tolerance->energy, 0.01, false},
				       {"values", "dB", &tolerance->values_db, 1, false}};
	for (const char *at = text; at && *at;) {
		const char *end = NULL;
		for (size_t k = 0; k < sizeof keys / sizeof *keys && !end; k++)
			end = read_key(at, &keys[k]);
		if (!end || (*end && (*end != ',' || !end[1])))
			return npl_fail(err, NPL_EUSAGE,
					"--tolerance %s: expected percentages of cycles or of energy, or dB of values, "
					"each once and from 0 to 100: cycles=0.5%%,energy=1%%,values=1dB",
					text);
		at = end + (*end == ',');
	}
	return 0;
}

static int on_stdout(const struct cli_trace_reports *reports)
{
	return cli_is_stdout(reports->json) + cli_is_stdout(reports->junit) + cli_is_stdout(reports->markdown);
}

int cli_trace_check_reports(const struct cli_trace_reports *reports, struct npl_err *err)
{
	return on_stdout(reports) + reports->github > 1
		       ? npl_fail(err, NPL_EUSAGE,
				  "only one of --json -, --junit -, --markdown - and --github can have standard output")
		       : 0;
}

bool cli_trace_reports_on_stdout(const struct cli_trace_reports *reports)
{
	return on_stdout(reports);
}

/* What the writers of reports get. */
struct verdicts {
	const struct npl_trace_verdict *verdict;
	int n;
	const struct npl_trace_tolerance *tolerance;
};

static void write_json(FILE *out, const void *data)
{
	const struct verdicts *v = data;
	npl_trace_json(out, v->verdict, v->n, v->tolerance);
}

static void write_junit(FILE *out, const void *data)
{
	const struct verdicts *v = data;
	npl_trace_junit(out, v->verdict, v->n);
}

static void write_markdown(FILE *out, const void *data)
{
	const struct verdicts *v = data;
	npl_trace_markdown(out, v->verdict, v->n);
}

static void write_annotations(FILE *out, const void *data)
{
	const struct verdicts *v = data;
	npl_trace_annotations(out, v->verdict, v->n);
}

int cli_trace_write_reports(const struct cli_trace_reports *reports, const struct npl_trace_verdict *verdict, int n,
			    const struct npl_trace_tolerance *tolerance, struct npl_err *err)
{
	const struct verdicts verdicts = {verdict, n, tolerance};
	const struct cli_report report[] = {{reports->json, write_json, &verdicts},
					    {reports->junit, write_junit, &verdicts},
					    {reports->markdown, write_markdown, &verdicts},
					    {reports->github ? "-" : NULL, write_annotations, &verdicts}};
	return cli_write_reports(report, sizeof report / sizeof *report, err);
}

/* The word that ends the silence. Nobody can put it into the name of a layer beforehand. */
static const char *token(void)
{
	static char text[40];
	unsigned long long drawn[2];
	if (!*text && getrandom(drawn, sizeof drawn, 0) == sizeof drawn)
		snprintf(text, sizeof text, "%016llx%016llx", drawn[0], drawn[1]);
	return text;
}

void cli_trace_stop_commands(const struct cli_trace_reports *reports)
{
	if (reports->github)
		printf("::stop-commands::%s\n", token());
}

void cli_trace_resume_commands(const struct cli_trace_reports *reports)
{
	if (reports->github)
		printf("::%s::\n", token());
}
