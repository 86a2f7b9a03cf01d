/* SPDX-License-Identifier: MIT
 *
 * npulab pareto: the points of a sweep that no other beats. */
#include "common.h"
#include "explore/front_report.h"
#include "page.h"
#include "sweep_results.h"

struct arguments {
	const char *results, *objectives, *minimise, *maximise, *json, *html;
	bool all, estimate, quiet;
};

static int write_documents(const struct arguments *a, const struct sweep_front_document *document, struct npl_err *err)
{
	const struct cli_report reports[] = {{a->json, sweep_front_json, document}};
	int rc = cli_write_reports(reports, 1, err);
	if (!rc && a->html)
		rc = cli_write_page(a->html, sweep_front_json, document, err);
	return rc;
}

static int report(const struct arguments *a, const struct cli_list *constraints, struct sweep_store *store,
		  struct sweep_results *results, const struct sweep_front *front, struct npl_err *err)
{
	struct sweep_recorded recorded = {0};
	struct sweep_front_document document = {.results = results, .front = front, .recorded = &recorded};
	int rc = 0;
	if (a->json || a->html) {
		rc = sweep_recorded_read(store, &recorded, err);
		if (!rc)
			rc = sweep_front_derive(&document, err);
		if (!rc)
			rc = write_documents(a, &document, err);
	}
	sweep_front_document_free(&document);
	sweep_recorded_free(&recorded);
	if (a->quiet || cli_is_stdout(a->json) || cli_is_stdout(a->html))
		return rc;
	rc = cli_table_printed(sweep_front_table(stdout, results, front, a->all), rc, err);
	return rc || !a->estimate ? rc : cli_print_estimates(store, constraints, results, front, err);
}

static int pareto_main(int argc, char **argv, struct npl_err *err)
{
	struct arguments a = {0};
	struct cli_list constraints = {0};
	const struct cli_option options[] = {
		{"objectives", CLI_TEXT, &a.objectives, 0, 0, "A,B,...",
		 "figures, each as it is better (default: those of the plan)"},
		{"minimise", CLI_TEXT, &a.minimise, 0, 0, "A,B,...", "figures or expressions of which less is better"},
		{"maximise", CLI_TEXT, &a.maximise, 0, 0, "A,B,...", "figures or expressions of which more is better"},
		CLI_CONSTRAINT_OPTION(&constraints),
		{"all", CLI_FLAG, &a.all, 0, 0, NULL, "all points of the front; otherwise a long one is thinned out"},
		CLI_ESTIMATE_OPTION(&a.estimate),
		CLI_JSON_OPTION(&a.json),
		CLI_HTML_OPTION(&a.html),
		CLI_QUIET_OPTION(&a.quiet, ""),
		{0}};
	struct sweep_results results = {0};
	struct cli_measures objectives = {0};
	struct sweep_front front = {0};
	struct sweep_store *store = NULL;
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_pareto, options, argc, argv, &a.results, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!a.results)
		return npl_fail(err, NPL_EUSAGE, "pareto: which results? usage: npulab pareto %s",
				cli_pareto.arguments);
	if (cli_check_stdout((const struct cli_destination[]){{"--json", a.json}, {"--html", a.html}}, 2, err))
		return err->code;
	int rc = sweep_store_read(a.results, &store, err);
	if (!rc)
		rc = cli_results_read(store, &constraints, &results, err);
	if (!rc)
		rc = cli_measures_add(a.objectives, CLI_AS_BETTER, "pareto", &results, &objectives, err);
	if (!rc)
		rc = cli_measures_add(a.minimise, CLI_LEAST, "pareto", &results, &objectives, err);
	if (!rc)
		rc = cli_measures_add(a.maximise, CLI_MOST, "pareto", &results, &objectives, err);
	if (!rc && !objectives.n)
		rc = cli_objectives_of(store, &results, &objectives, err);
	if (!rc)
		rc = cli_front_of(&results, &objectives, &front, err);
	if (!rc)
		rc = report(&a, &constraints, store, &results, &front, err);
	sweep_front_free(&front);
	sweep_results_free(&results);
	sweep_store_close(store);
	return rc;
}

const struct cli_command cli_pareto = {"pareto", "RESULTS.sqlite [--objectives A,B,...]",
				       "the points of a sweep that no other beats", pareto_main};
