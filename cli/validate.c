/* SPDX-License-Identifier: MIT
 *
 * npulab validate: shows published figures beside the model's, with the difference, and which were fitted. */
#include "common.h"
#include "npulab/report.h"
#include "page.h"

struct validation_report { /* the argument of the writer */
	const struct npl_validation *validation;
	bool show_all;
};

static void write_json(FILE *out, const void *data)
{
	const struct validation_report *validation_report = data;
	npl_validation_json(out, validation_report->validation, validation_report->show_all);
}

static int count(const struct npl_validation *validation, enum npl_verdict verdict,
		 const struct npl_validation_row **first)
{
	int n = 0;
	for (int i = 0; i < validation->n; i++)
		if (npl_validation_verdict(&validation->row[i]) == verdict && !n++)
			*first = &validation->row[i];
	return n;
}

/* Checks the figures. A judged figure that the model does not have fails too. */
static int check(const struct npl_validation *validation, struct npl_err *err)
{
	const struct npl_validation_row *out = NULL, *absent = NULL;
	const int outside = count(validation, NPL_OUTSIDE, &out), missing = count(validation, NPL_MISSING, &absent);
	char is_outside[160] = "", is_missing[320] = "";
	if (!outside && !missing)
		return 0;
	if (outside)
		snprintf(is_outside, sizeof is_outside, "%d figure%s outside the tolerance; the first is %s of %s",
			 outside, outside == 1 ? " is" : "s are", out->metric, out->case_name);
	if (missing)
		snprintf(is_missing, sizeof is_missing, "%d judged figure%s missing; the first is %s of %s: %s",
			 missing, missing == 1 ? " is" : "s are", absent->metric, absent->case_name, absent->reason);
	return npl_fail(err, NPL_ECHECK, "%s%s%s", is_outside, outside && missing ? "; " : "", is_missing);
}

static int validate_main(int argc, char **argv, struct npl_err *err)
{
	const char *machine = NULL, *json = NULL, *html = NULL;
	struct cli_list sets = {0};
	int64_t threads = 0, max_memory = 0;
	bool show_all = false, must_hold = false, quiet = false, help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"all", CLI_FLAG, &show_all, 0, 0, NULL, "show the published figures that no model gives, too"},
		{"check", CLI_FLAG, &must_hold, 0, 0, NULL,
		 "exit with 1 when a figure is outside its tolerance or missing"},
		{"set", CLI_SETTINGS, &sets, 0, 0, "DEVICE.KEY=VALUE", "a parameter, to see what it does"},
		CLI_THREADS_OPTION(&threads),
		CLI_MEMORY_OPTION(&max_memory),
		CLI_JSON_OPTION(&json),
		CLI_HTML_OPTION(&html),
		CLI_QUIET_OPTION(&quiet, ""),
		{0}};
	if (cli_parse(&cli_validate, options, argc, argv, &machine, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (cli_check_stdout((const struct cli_destination[]){{"--json", json}, {"--html", html}}, 2, err))
		return err->code;
	struct npl_validate_options validate_options = {.set = sets.item, .n_sets = sets.n};
	struct npl_validation validation;
	int rc = npl_validate(machine, &validate_options, &validation, err);
	cli_waiting_end();
	if (rc)
		return rc;
	if (!quiet && !cli_is_stdout(json) && !cli_is_stdout(html))
		rc = cli_table_printed(npl_validation_table(stdout, &validation, show_all), rc, err);
	struct npl_err failure;
	if (json && cli_write_text(json, write_json, &(struct validation_report){&validation, show_all}, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (html && cli_write_page(html, write_json, &(struct validation_report){&validation, show_all}, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (must_hold && check(&validation, &failure))
		rc = cli_also_failed(rc, &failure, err);
	npl_validation_free(&validation);
	return rc;
}

const struct cli_command cli_validate = {"validate", "[SUBJECT] [--check]",
					 "published figures beside the model's\n"
					 "Subjects: "
#define NPL_VALIDATOR(subject, ...) #subject ", "
#include "validate/validators.def"
#undef NPL_VALIDATOR
					 "or all of them.",
					 validate_main};
