/* SPDX-License-Identifier: MIT
 *
 * Reading the points of a store (store.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "store_impl.h"

static enum sweep_status status_of(const char *name)
{
	int s = 0;
	while (s < SWEEP_STATUSES && (!name || strcmp(name, sweep_status_name[s]) != 0))
		s++;
	return (enum sweep_status)s;
}

int sweep_store_count(struct sweep_store *store, struct sweep_counts *counts, struct npl_err *err)
{
	sqlite3_stmt *statement;
	int step;
	*counts = (struct sweep_counts){0};
	if (store_prepare(store, "SELECT status, count(*), sum(feasible) FROM points GROUP BY status", &statement, err))
		return err->code;
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		const enum sweep_status status = status_of((const char *)sqlite3_column_text(statement, 0));
		if (status == SWEEP_STATUSES)
			continue;
		counts->of_status[status] = sqlite3_column_int64(statement, 1);
		counts->feasible += sqlite3_column_int64(statement, 2);
	}
	const int rc = step == SQLITE_DONE ? 0 : store_fail(store, err);
	sqlite3_finalize(statement);
	return rc;
}

static int take(sqlite3_stmt *s, const struct sweep_store *store, sweep_take_row *take_row, void *context,
		struct npl_err *err)
{
	enum { ID, STATUS, REASON, FEASIBLE, VIOLATION, PARAMETERS, FIRST_METRIC };
	struct sweep_row row = {.id = sqlite3_column_int64(s, ID),
				.status = status_of((const char *)sqlite3_column_text(s, STATUS)),
				.reason = (const char *)sqlite3_column_text(s, REASON),
				.feasible = sqlite3_column_int(s, FEASIBLE),
				.violation = sqlite3_column_double(s, VIOLATION),
				.parameters = (const char *)sqlite3_column_text(s, PARAMETERS)};
	if (row.status == SWEEP_STATUSES || !row.parameters)
		return npl_fail(err, NPL_EINPUT, "%s: point %lld has no status or parameters that npulab knows",
				store->path, (long long)row.id);
	row.feasible = row.feasible && row.status == SWEEP_DONE;
	for (int m = 0; m < SWEEP_METRICS; m++) {
		const int type = sqlite3_column_type(s, FIRST_METRIC + m);
		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			return npl_fail(err, NPL_EINPUT, "%s: point %lld: %s is no number", store->path,
					(long long)row.id, sweep_metric_info[m].name);
		row.metrics.value[m] = type == SQLITE_NULL ? NAN : sqlite3_column_double(s, FIRST_METRIC + m);
	}
	return take_row(context, &row, err) ? npl_prefix(err, "%s: point %lld", store->path, (long long)row.id) : 0;
}

int sweep_store_each(struct sweep_store *store, int64_t first, int64_t end, sweep_take_row *take_row, void *context,
		     struct npl_err *err)
{
	char sql[2000] = "SELECT id, status, reason, feasible, violation, parameters";
	sqlite3_stmt *statement;
	int step = SQLITE_DONE, rc = 0;
	for (int m = 0; m < SWEEP_METRICS; m++)
		npl_append(sql, sizeof sql, ", ", "%s", sweep_metric_info[m].name);
	npl_append(sql, sizeof sql, "", " FROM points WHERE id >= ? AND id < ? ORDER BY id");
	if (store_prepare(store, sql, &statement, err))
		return err->code;
	sqlite3_bind_int64(statement, 1, first);
	sqlite3_bind_int64(statement, 2, end);
	while (!rc && (step = sqlite3_step(statement)) == SQLITE_ROW)
		rc = take(statement, store, take_row, context, err);
	if (!rc && step != SQLITE_DONE)
		rc = store_fail(store, err);
	sqlite3_finalize(statement);
	return rc;
}
