/* SPDX-License-Identifier: MIT
 *
 * Merging databases (merge.h). */
#include "merge.h"

#include <stdlib.h>
#include <string.h>

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
		/* The layers first: which points are new shows only until these are there. */
		rc = store_execute(out,
				   "INSERT INTO layers SELECT * FROM shard.layers WHERE point NOT IN (SELECT id FROM "
				   "main.points);"
				   "INSERT OR IGNORE INTO main.points SELECT * FROM shard.points",
				   err);
		rc = store_end(out, rc, err);
	}
	sqlite3_exec(out->db, "DETACH shard", NULL, NULL, NULL);
	return rc;
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

int sweep_store_merge(const char *path, const char *const *in, int n, struct sweep_counts *counts, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct sweep_fact fact[MAX_FACTS];
	struct sweep_store *first, *out = NULL;
	const char *differs;
	int n_facts = 0;
	int rc = sweep_store_read(in[0], &first, err);
	if (!rc)
		rc = read_facts(first, &arena, fact, &n_facts, err);
	sweep_store_close(first);
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
	sweep_store_close(out);
	npl_arena_free(&arena);
	return rc;
}
