/* SPDX-License-Identifier: MIT
 *
 * Merging databases (merge.h). */
#include "merge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "store_impl.h"

#define MAX_FACTS 64

/* Reads all facts of a database but the shard, which is that of the whole. */
static int read_facts(struct sweep_store *store, struct npl_arena *arena, struct sweep_fact *fact, int *n,
		      struct npl_err *err)
{
	sqlite3_stmt *statement;
	int step;
	*n = 0;
	if (store_prepare(store, "SELECT key, value FROM sweep", &statement, err))
		return err->code;
	while ((step = sqlite3_step(statement)) == SQLITE_ROW && *n < MAX_FACTS) {
		const char *key = npl_arena_strdup(arena, (const char *)sqlite3_column_text(statement, 0));
		const char *value = npl_arena_strdup(arena, (const char *)sqlite3_column_text(statement, 1));
		if (!key || !value)
			break;
		fact[(*n)++] = (struct sweep_fact){key, strcmp(key, "shard") != 0 ? value : ""};
	}
	sqlite3_finalize(statement);
	return step == SQLITE_DONE ? 0 : npl_fail(err, NPL_EINPUT, "%s: its facts cannot be read", store->path);
}

/* Checks that a database has the facts of the others. */
static int check_facts(struct sweep_store *store, const struct sweep_fact *fact, int n, struct npl_err *err)
{
	for (int i = 0; i < n; i++) {
		struct npl_arena arena = {0};
		const char *value = sweep_store_fact(store, fact[i].key, &arena);
		const bool same = !store_fact_decides(fact[i].key) ||
				  (value && (!strcmp(value, fact[i].value) || !strcmp(fact[i].key, "shard")));
		npl_arena_free(&arena);
		if (!same)
			return npl_fail(err, NPL_EINPUT,
					"%s: it has the results of a sweep with other %s than those before it",
					store->path, fact[i].key);
	}
	return 0;
}

/* Refuses a row that the file has otherwise than what was merged before, or with a status that there is not. */
static int check_rows(const struct sweep_store *out, struct npl_err *err)
{
	sqlite3_stmt *statement;
	if (store_prepare(out,
			  "SELECT id FROM shard.points WHERE status NOT IN ('done', 'excluded', 'failed') UNION ALL "
			  "SELECT a.id FROM shard.points a JOIN main.points b ON a.id = b.id WHERE a.parameters <> "
			  "b.parameters LIMIT 1",
			  &statement, err))
		return err->code;
	const int step = sqlite3_step(statement);
	const int rc = step == SQLITE_DONE  ? 0
		       : step == SQLITE_ROW ? npl_fail(err, NPL_EINPUT,
						       "point %lld is damaged, or another one than in the files before",
						       (long long)sqlite3_column_int64(statement, 0))
					    : store_fail(out, err);
	sqlite3_finalize(statement);
	return rc;
}

/* Copies rows, column by column: a file whose columns have other names is refused. The layers come first: which points
 * are new shows only until these are there. */
static int copy_rows(const struct sweep_store *out, struct npl_err *err)
{
	char columns[2000] = "id, status, reason, feasible, violation, parameters";
	for (int m = 0; m < SWEEP_METRICS; m++)
		npl_append(columns, sizeof columns, ", ", "%s", sweep_metric_info[m].name);
	char *sql = sqlite3_mprintf("INSERT INTO main.layers SELECT point, layer, name, op, ran_on, seconds, energy_j, "
				    "cycles, macs FROM shard.layers WHERE point NOT IN (SELECT id FROM main.points);"
				    "INSERT OR IGNORE INTO main.points(%s) SELECT %s FROM shard.points",
				    columns, columns);
	const int rc = sql ? store_execute(out, sql, err) : npl_no_memory(err);
	sqlite3_free(sql);
	return rc;
}

/* Copies the points of a file. */
static int copy_points(struct sweep_store *out, const char *path, struct npl_err *err)
{
	sqlite3_stmt *attach;
	int rc = store_prepare(out, "ATTACH ? AS shard", &attach, err);
	if (rc)
		return rc;
	sqlite3_bind_text(attach, 1, path, -1, SQLITE_STATIC);
	rc = store_step(out, attach, err);
	sqlite3_finalize(attach);
	if (rc)
		return rc;
	rc = store_execute(out, "BEGIN IMMEDIATE", err);
	if (!rc) {
		rc = check_rows(out, err);
		if (!rc)
			rc = copy_rows(out, err);
		rc = store_end(out, rc, err);
	}
	sqlite3_exec(out->db, "DETACH shard", NULL, NULL, NULL);
	return rc ? npl_prefix(err, "%s", path) : 0;
}

/* Checks that all databases have the facts of the first. */
static int check_all(const char *const *in, int n, const struct sweep_fact *fact, int n_facts, struct npl_err *err)
{
	for (int i = 1; i < n; i++) {
		struct sweep_store *store;
		int rc = sweep_store_read(in[i], &store, err);
		if (!rc)
			rc = check_facts(store, fact, n_facts, err);
		sweep_store_close(store);
		if (rc)
			return rc;
	}
	return 0;
}

/* Refuses points that another program chose: their numbers are those of one file. */
static int check_numbers(const char *path, const struct sweep_fact *fact, int n, struct npl_err *err)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(fact[i].key, "method") && strstr(fact[i].value, "\"asked\""))
			return npl_fail(
				err, NPL_EINPUT,
				"%s: another program chose its points, whose numbers are those of this file alone",
				path);
	return 0;
}

int sweep_store_merge(const char *path, const char *const *in, int n, struct sweep_counts *counts, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct sweep_fact fact[MAX_FACTS];
	struct sweep_store *first, *out = NULL;
	const char *differs;
	const bool is_new = access(path, F_OK);
	int n_facts = 0;
	int rc = sweep_store_read(in[0], &first, err);
	if (!rc)
		rc = read_facts(first, &arena, fact, &n_facts, err);
	sweep_store_close(first);
	if (!rc)
		rc = check_numbers(in[0], fact, n_facts, err);
	if (!rc)
		rc = check_all(in, n, fact, n_facts, err);
	if (!rc && sweep_store_open(path, fact, n_facts, &differs, &out, err))
		rc = differs ? npl_fail(err, NPL_EINPUT, "%s: it has the results of a sweep with other %s than %s",
					path, differs, in[0])
			     : err->code;
	for (int i = 0; i < n && !rc; i++)
		rc = copy_points(out, in[i], err);
	if (!rc)
		rc = sweep_store_count(out, counts, err);
	const bool was_opened = out != NULL;
	sweep_store_close(out);
	if (rc && is_new && was_opened)
		unlink(path);
	npl_arena_free(&arena);
	return rc;
}
