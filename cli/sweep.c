/* SPDX-License-Identifier: MIT
 *
 * npulab sweep: runs a network on many machines, and keeps what comes of them. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/files/words.h"
#include "explore/ask.h"
#include "explore/front_report.h"
#include "explore/methods/method.h"
#include "explore/sweep.h"
#include "npulab/thread.h"
#include "reports/format/table.h"
#include "sweep_files.h"
#include "sweep_plan.h"
#include "sweep_results.h"
#include "terminal.h"

static volatile sig_atomic_t interrupted; /* the signal's number; 0: there was none */

static void on_interrupt(int number)
{
	interrupted = number;
}

/* Notes the first interrupt, after which the sweep ends with what is done. The second ends the program. */
static void catch_interrupts(void)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	struct sigaction hangup;
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN) /* nohup has it ignored */
		sigaction(SIGHUP, &action, NULL);
}

/* Ends the program by the signal that interrupted it, so that who started it sees that. */
static void end_interrupted(void)
{
	if (!interrupted)
		return;
	fflush(NULL);
	signal(interrupted, SIG_DFL);
	raise(interrupted);
}

struct arguments {
	struct cli_sweep_options plan;
	const char *output, *shard;
	int64_t threads;
	bool dry_run, estimate, quiet;
};

/* Writes a number of seconds as a reader takes it in. */
static const char *time_text(double seconds, char *text, size_t bytes)
{
	if (seconds < 100)
		npl_si_text(seconds, "s", text, bytes);
	else if (seconds < 7200)
		snprintf(text, bytes, "%.0f min", seconds / 60);
	else if (seconds < 172800)
		snprintf(text, bytes, "%.1f h", seconds / 3600);
	else
		snprintf(text, bytes, "%.1f days", seconds / 86400);
	return text;
}

#define TRIED         12  /* points at most that a dry run tries */
#define TRIED_SECONDS 3.0 /* after which it tries no more */

/* Runs some points that are spread over the sweep, and tells how long all of them would take. */
static void estimate(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, int64_t all_points,
		     int64_t points, int workers)
{
	const double started = npl_clock_seconds();
	const int64_t tries = all_points < TRIED ? all_points : TRIED;
	char each[40], all[40];
	int n = 0, failed = 0;
	struct sweep_outcome outcome;
	for (; n < tries && npl_clock_seconds() - started < TRIED_SECONDS; n++) {
		int level[SWEEP_AXES];
		struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
		sweep_method_point(plan, all_points, all_points * (2 * n + 1) / (2 * tries), level);
		const struct sweep_request request = {.n = sweep_parameters_of(plan, level, parameter),
						      .parameter = parameter};
		sweep_evaluate(evaluator, &request, &outcome);
		failed += outcome.status == SWEEP_FAILED;
		if (outcome.status == SWEEP_FAILED && failed == 1)
			printf("a point that was tried fails: %s\n", outcome.reason);
	}
	const double seconds = (npl_clock_seconds() - started) / n;
	printf("%s a point (%d tried), %s in all on %d processors\n", time_text(seconds, each, sizeof each), n,
	       time_text(seconds * (double)points / workers, all, sizeof all), workers);
}

/* Prints the axes, the number of points, and how long some of them took. */
static int dry_run(const struct sweep_plan *plan, const struct sweep_options *options, struct npl_err *err)
{
	struct sweep_evaluator *evaluator;
	int64_t points = 0, all_points = 0;
	if (plan->method == SWEEP_ASKED)
		return npl_fail(err, NPL_EUSAGE, "--dry-run: another program chooses the points");
	if (sweep_count_points(plan, (struct sweep_shard){1, 1}, &all_points, err) ||
	    sweep_count_points(plan, options->shard, &points, err) || sweep_evaluator_open(plan, &evaluator, err))
		return err->code;
	for (int a = 0; a < plan->space.n_axes; a++) {
		const struct sweep_axis *axis = &plan->space.axis[a];
		const int n = axis->n_levels;
		if (n < 2)
			continue;
		const char *first = axis->value[0], *last = sweep_axis_value(axis, n - 1, 0);
		printf("%-40s %7d values: %s%s%s\n", axis->key[0], n, first, n > 2 ? " ... " : ", ", last);
	}
	printf("%lld points of method %s", (long long)points, sweep_method_name[plan->method]);
	printf(plan->method == SWEEP_GRID ? "\n" : ", of %.4g on the grid\n", sweep_space_points(&plan->space));
	if (all_points)
		estimate(plan, evaluator, all_points, points, options->workers);
	sweep_evaluator_close(evaluator);
	return 0;
}

/* Prints which constraint keeps the first point out that ran or was excluded. */
static void print_why_none(const struct sweep_results *results)
{
	int64_t r = 0, same = 0;
	while (r < results->n && !results->result[r].reason)
		r++;
	for (int64_t k = r; k < results->n; k++)
		same += results->result[k].reason && !strcmp(results->result[k].reason, results->result[r].reason);
	if (r < results->n)
		printf("%lld points do not meet the constraint %s\n", (long long)same, results->result[r].reason);
}

/* Prints how many points there are, and why the first that failed did. */
static void print_counts(const struct sweep_results *results, const struct sweep_summary *summary, bool is_kept)
{
	int64_t of_status[SWEEP_STATUSES] = {0}, feasible = 0;
	const char *reason = NULL;
	char seconds[40], rate[40];
	for (int64_t r = 0; r < results->n; r++) {
		const struct sweep_result *result = &results->result[r];
		of_status[result->status]++;
		feasible += result->feasible;
		if (result->status == SWEEP_FAILED && !reason)
			reason = result->reason;
	}
	printf("%lld of %lld points: %lld done (%lld meet the constraints), %lld excluded, %lld failed\n",
	       (long long)results->n, (long long)summary->points, (long long)of_status[SWEEP_DONE], (long long)feasible,
	       (long long)of_status[SWEEP_EXCLUDED], (long long)of_status[SWEEP_FAILED]);
	if (summary->was_interrupted)
		printf("%s\n", is_kept ? "it was interrupted: the same command goes on"
				       : "it was interrupted, and its points are not kept: -o keeps them");
	if (summary->ran)
		printf("%lld run now in %s, %s a point\n", (long long)summary->ran,
		       time_text(summary->seconds, seconds, sizeof seconds),
		       npl_si_text(summary->seconds / (double)summary->ran, "s", rate, sizeof rate));
	if (reason)
		printf("the first that failed: %s\n", reason);
	if (!feasible && of_status[SWEEP_FAILED] < results->n)
		print_why_none(results);
}

/* Hints at figures that compare batches, where batches are varied and what is compared is a whole batch. */
static void hint_at_batches(const struct sweep_results *results, const struct cli_measures *objectives)
{
	bool has_batch = false, is_whole = false;
	for (int k = 0; k < results->n_keys; k++)
		has_batch = has_batch || !strcmp(results->key[k], SWEEP_BATCH);
	for (int i = 0; i < objectives->n; i++)
		is_whole = is_whole || !strcmp(objectives->measure[i].expression.text, "seconds") ||
			   !strcmp(objectives->measure[i].expression.text, "energy_j");
	if (has_batch && is_whole)
		npl_table_text("seconds and energy_j are those of a batch, so that the smallest batch is best; "
			       "samples_per_second and energy_per_sample_j compare batches",
			       stdout);
}

static int report(struct sweep_store *store, const struct sweep_summary *summary, const struct arguments *a,
		  struct npl_err *err)
{
	static const struct cli_list no_constraints;
	struct sweep_results results = {0};
	struct cli_measures objectives = {0};
	struct sweep_front front = {0};
	int rc = cli_results_read(store, &no_constraints, &results, err);
	if (!rc)
		print_counts(&results, summary, a->output != NULL);
	if (!rc)
		rc = cli_objectives_of(store, &results, &objectives, err);
	if (!rc)
		rc = cli_front_of(&results, &objectives, &front, err);
	if (!rc)
		rc = cli_table_printed(sweep_front_table(stdout, &results, &front, false), 0, err);
	if (!rc)
		hint_at_batches(&results, &objectives);
	if (!rc && a->estimate)
		rc = cli_print_estimates(store, &no_constraints, &results, &front, err);
	sweep_front_free(&front);
	sweep_results_free(&results);
	return rc;
}

/* Fails where every point has failed: what is wrong is the plan then. */
static int check_some_ran(struct sweep_store *store, struct npl_err *err)
{
	struct sweep_counts counts;
	if (sweep_store_count(store, &counts, err))
		return err->code;
	return counts.of_status[SWEEP_FAILED] && !counts.of_status[SWEEP_DONE] && !counts.of_status[SWEEP_EXCLUDED]
		       ? npl_fail(err, NPL_EINPUT, "sweep: none of the points could run")
		       : 0;
}

static int run(struct sweep_plan *plan, const struct arguments *arguments, struct sweep_options *options,
	       struct npl_err *err)
{
	static const struct sweep_threads threads = {cli_waiting_pause, cli_waiting_continue};
	struct sweep_evaluator *evaluator = NULL;
	struct sweep_store *store = NULL;
	struct sweep_summary summary = {0};
	options->threads = &threads;
	options->interrupted = &interrupted;
	int rc = sweep_evaluator_open(plan, &evaluator, err);
	if (!rc)
		rc = sweep_open_store(plan, arguments->output, options->shard, &store, err);
	if (!rc) {
		catch_interrupts();
		rc = sweep_run(plan, evaluator, store, options, &summary, err);
	}
	cli_waiting_end();
	if (!rc && !arguments->quiet)
		rc = report(store, &summary, arguments, err);
	if (!rc && summary.points)
		rc = check_some_ran(store, err);
	sweep_store_close(store);
	sweep_evaluator_close(evaluator);
	end_interrupted();
	return rc;
}

/* Runs the points that another program asks for on standard input. */
static int answer(struct sweep_plan *plan, const struct arguments *arguments, struct sweep_options *options,
		  struct npl_err *err)
{
	struct sweep_evaluator *evaluator = NULL;
	struct sweep_store *store = NULL;
	options->interrupted = &interrupted;
	cli_waiting_end(); /* the other program is the one that waits */
	int rc = sweep_evaluator_open(plan, &evaluator, err);
	if (!rc && arguments->output)
		rc = sweep_open_store(plan, arguments->output, options->shard, &store, err);
	if (!rc) {
		catch_interrupts();
		rc = sweep_answer(plan, evaluator, STDIN_FILENO, STDOUT_FILENO, store, options, err);
	}
	sweep_store_close(store);
	sweep_evaluator_close(evaluator);
	end_interrupted();
	return rc;
}

/* Runs the points that another process of the cluster gives. */
static int serve(const struct sweep_plan *plan, struct npl_err *err)
{
	struct sweep_evaluator *evaluator = NULL;
	cli_waiting_end();
	const int rc = sweep_evaluator_open(plan, &evaluator, err);
	sweep_cluster->serve(evaluator, rc ? err : NULL);
	sweep_evaluator_close(evaluator);
	return rc;
}

static int run_plan(const char *word, const struct arguments *a, struct npl_err *err)
{
	struct sweep_plan *plan = calloc(1, sizeof *plan); /* too large for a stack */
	struct sweep_options options = {.workers = a->threads ? (int)a->threads : npl_processors()};
	if (!plan)
		return npl_no_memory(err);
	npl_threads_allow(1); /* a process with threads cannot be forked; the processors are busy with points */
	int rc = cli_sweep_shard(a->shard, &options.shard, err);
	if (!rc && cli_is_stdout(a->output))
		rc = npl_fail(err, NPL_EUSAGE, "-o -: the results are a database, expected a file");
	if (!rc)
		rc = cli_sweep_plan(word, &a->plan, plan, err);
	if (!rc && plan->method == SWEEP_ASKED && options.shard.of > 1)
		rc = npl_fail(err, NPL_EUSAGE, "--shard: another program chooses the points");
	if (sweep_cluster && sweep_cluster->rank)
		rc = rc || a->dry_run ? rc : serve(plan, err);
	else if (!rc && a->dry_run)
		rc = dry_run(plan, &options, err);
	else if (!rc)
		rc = plan->method == SWEEP_ASKED ? answer(plan, a, &options, err) : run(plan, a, &options, err);
	sweep_plan_free(plan);
	free(plan);
	return rc;
}

/* Says whether a word names what is done without a plan. */
static bool is_about_files(const char *word)
{
	static const char *const words[] = {"status", "merge", "export", "figures"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}

/* Runs a plan, or does what the first word says with databases. */
static int run_words(const char *const *word, int n, const struct arguments *a, struct npl_err *err)
{
	const bool is_helper = sweep_cluster && sweep_cluster->rank;
	if (is_helper && n && is_about_files(word[0]))
		return 0;
	if (n && !strcmp(word[0], "status"))
		return n == 2 ? cli_sweep_status(word[1], err)
			      : npl_fail(err, NPL_EUSAGE,
					 "sweep status: expected the results of one sweep, a FILE.sqlite");
	if (n && !strcmp(word[0], "export"))
		return n == 2 ? cli_sweep_export(word[1], err)
			      : npl_fail(err, NPL_EUSAGE,
					 "sweep export: expected the results of one sweep, a FILE.sqlite");
	if (n == 1 && !strcmp(word[0], "figures"))
		return cli_sweep_figures(err);
	if (n && !strcmp(word[0], "merge"))
		return cli_sweep_merge(a->output, word + 1, n - 1, err);
	if (n != 1)
		return npl_fail(err, NPL_EUSAGE, "sweep: expected a plan or a model; usage: npulab sweep %s",
				cli_sweep.arguments);
	return run_plan(word[0], a, err);
}

static int sweep_main(int argc, char **argv, struct npl_err *err)
{
	struct arguments a = {0};
	const char **words = calloc((size_t)argc + 1, sizeof *words);
	const struct cli_option options[] = {
		{"o", CLI_TEXT, &a.output, 0, 0, "FILE.sqlite",
		 "where the results go, and from where a sweep goes on that was ended; default: only the table"},
		{"device", CLI_TEXT, &a.plan.device, 0, 0, "A,B,...", "machines or machine files"},
		{"batch", CLI_TEXT, &a.plan.batch, 0, 0, "VALUES", "samples per batch, as 1..64*2"},
		{"vary", CLI_LIST_OF_TEXT, &a.plan.vary, 0, 0, "KEY=VALUES",
		 "an axis: a parameter, or several that move together (K=K=VALUES), and its values: 1,2,5 or 64..512*2 "
		 "or 100..200+25"},
		{"set", CLI_LIST_OF_TEXT, &a.plan.set, 0, 0, "KEY=VALUE", "a parameter that all points have"},
		{"constraint", CLI_LIST_OF_TEXT, &a.plan.constraint, 0, 0, "EXPRESSION",
		 "what a point must meet, as 'area_mm2 < 400 and power_w <= 75'"},
		{"minimise", CLI_TEXT, &a.plan.minimise, 0, 0, "A,B,...", "objectives, as time,energy"},
		{"maximise", CLI_TEXT, &a.plan.maximise, 0, 0, "A,B,...", "objectives, as samples_per_second"},
		{"method", CLI_TEXT, &a.plan.method, 0, 0, "NAME",
		 "grid (default), random, sobol, latin-hypercube, evolution or narrowing (docs/exploring.md)"},
		{"points", CLI_TEXT, &a.plan.points, 0, 0, "N",
		 "how many points the method chooses; -: another program asks for points in lines of JSON"},
		{"seed", CLI_TEXT, &a.plan.seed, 0, 0, "N", "of the method and of random samples (default 1)"},
		{"values", CLI_FLAG, &a.plan.values, 0, 0, NULL, "run with values: error and accuracy are known then"},
		{"layers", CLI_FLAG, &a.plan.layers, 0, 0, NULL, "keep the rows of the layers too"},
		{"input", CLI_LIST_OF_TEXT, &a.plan.input, 0, 0, "[NAME=]FILE", "samples (.npy, .pb), for --values"},
		{"labels", CLI_TEXT, &a.plan.labels, 0, 0, "FILE", "the samples' classes (.npy)"},
		CLI_DIM_OPTION(&a.plan.dim),
		{"engine", CLI_TEXT, &a.plan.engine, 0, 0, "fast|rtl", "of the simulated machines (default fast)"},
		{"host", CLI_TEXT, &a.plan.host, 0, 0, "FILE|NAME", "the modelled host (default host)"},
		{"shard", CLI_TEXT, &a.shard, 0, 0, "I/N", "only part I of N, into a database of its own"},
		CLI_ESTIMATE_OPTION(&a.estimate),
		{"dry-run", CLI_FLAG, &a.dry_run, 0, 0, NULL, "count the points and estimate the time"},
		{"threads", CLI_INT, &a.threads, 1, 1024, "N",
		 "points at work at the same time; default: as many as there are processors"},
		{"quiet", CLI_FLAG, &a.quiet, 0, 0, NULL, "no table, no progress"},
		{0}};
	int n_words = 0, rc = words ? 0 : npl_no_memory(err);
	bool help_printed = false;
	if (!rc)
		rc = cli_parse(&cli_sweep, options, argc, argv, words, argc, &n_words, &help_printed, err);
	if (!rc && !help_printed)
		rc = run_words(words, n_words, &a, err);
	free(words);
	return rc;
}

const struct cli_command cli_sweep = {
	"sweep",
	"PLAN.yaml | MODEL --device A,B,... [--vary KEY=VALUES]... | status FILE | merge -o OUT FILE... | "
	"export FILE | figures",
	"a network on many machines: the best of them", sweep_main};
