/* SPDX-License-Identifier: MIT
 *
 * Databases of sweeps (sweep_files.h). */
#include "sweep_files.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/refuse.h"
#include "core/files/words.h"
#include "explore/evaluate/wire.h"
#include "explore/store/merge.h"
#include "explore/store/store.h"
#include "reports/format/table.h"
#include "waiting.h"

int cli_sweep_shard(const char *text, struct sweep_shard *shard, struct npl_err *err)
{
	int64_t index = 0, of = 0;
	char first[20];
	const char *slash = text ? strchr(text, '/') : NULL;
	*shard = (struct sweep_shard){1, 1};
	if (!text)
		return 0;
	snprintf(first, sizeof first, "%.*s", slash ? (int)(slash - text) : 0, text);
	if (!slash || !npl_parse_count(first, &index) || !npl_parse_count(slash + 1, &of) || index < 1 || index > of ||
	    of > 1000000)
		return npl_fail(err, NPL_EUSAGE, "--shard %s: expected I/N, as 1/8 to 8/8", text);
	*shard = (struct sweep_shard){(int)index, (int)of};
	return 0;
}

/* Prints the points there are, of those that there will be. */
static void print_counts(const struct sweep_counts *counts, int64_t points)
{
	int64_t n = 0;
	for (int s = 0; s < SWEEP_STATUSES; s++)
		n += counts->of_status[s];
	printf("%lld", (long long)n);
	if (points > 0)
		printf(" of %lld points (%.1f %%)", (long long)points, 100 * (double)n / (double)points);
	else
		printf(" points");
	printf(": %lld done (%lld meet the constraints), %lld excluded, %lld failed\n",
	       (long long)counts->of_status[SWEEP_DONE], (long long)counts->feasible,
	       (long long)counts->of_status[SWEEP_EXCLUDED], (long long)counts->of_status[SWEEP_FAILED]);
}

/* Returns how many points the sweep of a database, or its shard, has; 0: another program chooses them. */
static int64_t points_of(struct sweep_store *store)
{
	struct npl_arena arena = {0};
	struct sweep_shard shard;
	struct npl_err ignored;
	const char *text = sweep_store_fact(store, "method", &arena), *part = sweep_store_fact(store, "shard", &arena);
	json_t *method = text ? json_loads(text, 0, NULL) : NULL;
	int64_t points = json_integer_value(json_object_get(method, "points"));
	if (part && *part && !cli_sweep_shard(part, &shard, &ignored))
		points = sweep_shard_points(points, shard);
	json_decref(method);
	npl_arena_free(&arena);
	return points;
}

int cli_sweep_status(const char *path, struct npl_err *err)
{
	struct sweep_store *store;
	struct sweep_counts counts;
	struct sweep_activity activity = {0};
	struct npl_arena arena = {0};
	int rc = sweep_store_read(path, &store, err);
	if (!rc)
		rc = sweep_store_count(store, &counts, err);
	if (!rc)
		rc = sweep_store_activity(store, &activity, err);
	if (!rc) {
		const char *shard = sweep_store_fact(store, "shard", &arena);
		cli_waiting_end();
		print_counts(&counts, points_of(store));
		if (shard && *shard)
			printf("this is shard %s\n", shard);
		printf("%d processes work on it, at most %lld points are claimed\n", activity.processes,
		       (long long)activity.claimed_points);
	}
	npl_arena_free(&arena);
	sweep_store_close(store);
	return rc;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

int cli_sweep_merge(const char *out, const char *const *in, int n, struct npl_err *err)
{
	struct sweep_counts counts;
	struct sweep_store *store;
	if (!out)
		return npl_fail(err, NPL_EUSAGE, "sweep merge: expected -o FILE.sqlite for what comes out");
	if (n < 1)
		return npl_fail(err, NPL_EUSAGE, "sweep merge: expected the databases of shards");
	for (int i = 0; i < n; i++)
		if (is_same_file(in[i], out))
			return npl_fail(err, NPL_EUSAGE, "sweep merge: %s is also what comes out", out);
	int rc = sweep_store_merge(out, in, n, &counts, err);
	if (!rc)
		rc = sweep_store_read(out, &store, err);
	if (!rc) {
		cli_waiting_end();
		print_counts(&counts, points_of(store));
		sweep_store_close(store);
	}
	return rc;
}

/* Prints a row as a line. */
static int print_row(void *context, const struct sweep_row *row, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct sweep_request request = {.id = row->id};
	struct sweep_outcome outcome = {
		.status = row->status, .feasible = row->feasible, .violation = row->violation, .metrics = row->metrics};
	(void)context;
	const int rc = sweep_read_parameters(row->parameters, &arena, &request.parameter, &request.n, err);
	snprintf(outcome.reason, sizeof outcome.reason, "%s", row->reason ? row->reason : "");
	if (!rc)
		sweep_write_point(stdout, &request, &outcome);
	npl_arena_free(&arena);
	return rc;
}

int cli_sweep_export(const char *path, struct npl_err *err)
{
	struct sweep_store *store;
	int rc = sweep_store_read(path, &store, err);
	cli_waiting_end();
	if (!rc)
		rc = sweep_store_each(store, INT64_MIN, INT64_MAX, print_row, NULL, err);
	sweep_store_close(store);
	return rc;
}

int cli_sweep_figures(struct npl_err *err)
{
	struct npl_table table;
	cli_waiting_end();
	npl_table_open(&table, "wwwl", (const char *const[]){"FIGURE", "SHORT", "UNIT", "MEANING"});
	for (int m = 0; m < SWEEP_METRICS; m++)
		npl_table_row(&table, (const char *const[]){sweep_metric_info[m].name,
							    sweep_metric_short_name((enum sweep_metric)m),
							    sweep_metric_info[m].unit, sweep_metric_info[m].meaning});
	npl_table_print(&table, stdout);
	return npl_table_close(&table) ? npl_no_memory(err) : 0;
}
