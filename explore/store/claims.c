/* SPDX-License-Identifier: MIT
 *
 * Which process runs which points of a sweep (store.h). */
#include <stdio.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "store_impl.h"

/* Seconds since the year 1970, as SQLite counts them. */
#define NOW "((julianday('now') - 2440587.5) * 86400)"

int sweep_store_renew(struct sweep_store *store, struct npl_err *err)
{
	sqlite3_stmt *statement;
	if (!*store->owner)
		return 0; /* a store in memory has no other process */
	if (store_prepare(store, "INSERT OR REPLACE INTO owners VALUES(?, " NOW ")", &statement, err))
		return err->code;
	sqlite3_bind_text(statement, 1, store->owner, -1, SQLITE_STATIC);
	const int rc = store_step(store, statement, err);
	sqlite3_finalize(statement);
	return rc;
}

/* Frees the claims of a process. */
static int free_claims_of(struct sweep_store *store, const char *owner, struct npl_err *err)
{
	static const char *const statements[] = {"DELETE FROM claims WHERE owner = ?",
						 "DELETE FROM owners WHERE owner = ?"};
	int rc = 0;
	for (int i = 0; i < 2 && !rc; i++) {
		sqlite3_stmt *statement;
		if (store_prepare(store, statements[i], &statement, err))
			return err->code;
		sqlite3_bind_text(statement, 1, owner, -1, SQLITE_STATIC);
		rc = store_step(store, statement, err);
		sqlite3_finalize(statement);
	}
	return rc;
}

int store_free_ended(struct sweep_store *store, struct npl_err *err)
{
	sqlite3_stmt *owners;
	int step = SQLITE_DONE, rc = 0;
	if (store_prepare(store, "SELECT owner, " NOW " - renewed FROM owners", &owners, err))
		return err->code;
	while (!rc && (step = sqlite3_step(owners)) == SQLITE_ROW) {
		char owner[SWEEP_OWNER_TEXT];
		const char *name = (const char *)sqlite3_column_text(owners, 0);
		snprintf(owner, sizeof owner, "%s", name ? name : "");
		if (strcmp(owner, store->owner) != 0 && sweep_owner_has_ended(owner, sqlite3_column_double(owners, 1)))
			rc = free_claims_of(store, owner, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = store_fail(store, err);
	sqlite3_finalize(owners);
	/* Nobody renews a claim whose owner is not known. */
	return rc ? rc : store_execute(store, "DELETE FROM claims WHERE owner NOT IN (SELECT owner FROM owners)", err);
}

int sweep_store_activity(struct sweep_store *store, struct sweep_activity *activity, struct npl_err *err)
{
	sqlite3_stmt *owners;
	int step;
	*activity = (struct sweep_activity){0};
	if (store_prepare(store,
			  "SELECT owner, " NOW " - renewed, (SELECT count(*) FROM claims c WHERE c.owner = o.owner) "
			  "FROM owners o",
			  &owners, err))
		return err->code;
	while ((step = sqlite3_step(owners)) == SQLITE_ROW) {
		const char *owner = (const char *)sqlite3_column_text(owners, 0);
		if (!owner || sweep_owner_has_ended(owner, sqlite3_column_double(owners, 1)))
			continue;
		activity->processes++;
		activity->claimed_points += SWEEP_CHUNK * sqlite3_column_int64(owners, 2);
	}
	const int rc = step == SQLITE_DONE ? 0 : store_fail(store, err);
	sqlite3_finalize(owners);
	return rc;
}

int store_leave(struct sweep_store *store, struct npl_err *err)
{
	return free_claims_of(store, store->owner, err);
}

/* Says which points of a chunk are there, by a prepared statement. */
static int find_done(struct sweep_store *store, sqlite3_stmt *statement, int64_t chunk, unsigned *bits,
		     struct npl_err *err)
{
	int step;
	*bits = 0;
	sqlite3_bind_int64(statement, 1, chunk * SWEEP_CHUNK);
	sqlite3_bind_int64(statement, 2, (chunk + 1) * SWEEP_CHUNK);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW)
		*bits |= 1u << (sqlite3_column_int64(statement, 0) - chunk * SWEEP_CHUNK);
	const int rc = step == SQLITE_DONE ? 0 : store_fail(store, err);
	sqlite3_reset(statement);
	return rc;
}
#define SELECT_IDS "SELECT id FROM points WHERE id >= ? AND id < ?"

int sweep_store_done(struct sweep_store *store, int64_t chunk, unsigned *bits, struct npl_err *err)
{
	sqlite3_stmt *statement;
	if (store_prepare(store, SELECT_IDS, &statement, err))
		return err->code;
	const int rc = find_done(store, statement, chunk, bits, err);
	sqlite3_finalize(statement);
	return rc;
}

unsigned sweep_chunk_bits(int64_t chunk, int64_t n_points)
{
	const int64_t rest = n_points - chunk * SWEEP_CHUNK;
	return (1u << (rest < SWEEP_CHUNK ? rest : SWEEP_CHUNK)) - 1;
}

static int claim_chunks(struct sweep_store *store, const struct sweep_claim *claim, int64_t n_points, int64_t *chunk,
			int *n, int64_t *next, int64_t *held, struct npl_err *err)
{
	sqlite3_stmt *ids = NULL, *insert = NULL;
	int rc = store_prepare(store, SELECT_IDS, &ids, err);
	if (!rc)
		rc = store_prepare(store, "INSERT OR IGNORE INTO claims VALUES(?, ?)", &insert, err);
	for (*next = claim->first; *next < claim->end && *n < claim->wanted && !rc; *next += claim->step) {
		unsigned bits;
		rc = find_done(store, ids, *next, &bits, err);
		if (rc || bits == sweep_chunk_bits(*next, n_points))
			continue;
		sqlite3_bind_int64(insert, 1, *next);
		sqlite3_bind_text(insert, 2, store->owner, -1, SQLITE_STATIC);
		rc = store_step(store, insert, err);
		if (!rc && sqlite3_changes(store->db))
			chunk[(*n)++] = *next;
		else
			++*held;
	}
	sqlite3_finalize(ids);
	sqlite3_finalize(insert);
	return rc;
}

int sweep_store_claim(struct sweep_store *store, const struct sweep_claim *claim, int64_t n_points, int64_t *chunk,
		      int *n, int64_t *next, int64_t *held, struct npl_err *err)
{
	*n = 0;
	*held = 0;
	if (store_execute(store, "BEGIN IMMEDIATE", err))
		return err->code;
	int rc = sweep_store_renew(store, err);
	if (!rc)
		rc = store_free_ended(store, err);
	if (!rc)
		rc = claim_chunks(store, claim, n_points, chunk, n, next, held, err);
	return store_end(store, rc, err);
}

int sweep_store_release(struct sweep_store *store, int64_t chunk, struct npl_err *err)
{
	int64_t *grown = npl_grow(store->released, store->n_released, &store->released_capacity, sizeof *grown);
	if (!grown)
		return npl_no_memory(err);
	store->released = grown;
	grown[store->n_released++] = chunk;
	return 0;
}

int store_release(struct sweep_store *store, struct npl_err *err)
{
	sqlite3_stmt *statement;
	int rc = store_prepare(store, "DELETE FROM claims WHERE chunk = ? AND owner = ?", &statement, err);
	if (rc)
		return rc;
	for (int64_t i = 0; i < store->n_released && !rc; i++) {
		sqlite3_bind_int64(statement, 1, store->released[i]);
		sqlite3_bind_text(statement, 2, store->owner, -1, SQLITE_STATIC);
		rc = store_step(store, statement, err);
	}
	sqlite3_finalize(statement);
	return rc;
}
