/* SPDX-License-Identifier: MIT
 *
 * Statements of SQLite, and what their failures mean to the user of a store (store_impl.h). */
#include "core/base/refuse.h"
#include "store_impl.h"

int store_fail(const struct sweep_store *store, struct npl_err *err)
{
	const int code = sqlite3_errcode(store->db);
	const char *text = sqlite3_errmsg(store->db);
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return npl_no_memory(err);
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
	case SQLITE_ERROR: /* a table or a column is not there */
		return npl_fail(err, NPL_EINPUT, "%s: expected the results of a sweep: %s", store->path, text);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return npl_fail(err, NPL_EOUTPUT, "%s: another program has locked it for %d s", store->path,
				STORE_LOCK_SECONDS);
	default:
		return npl_fail(err, store->writes ? NPL_EOUTPUT : NPL_EINPUT, "%s: %s", store->path, text);
	}
}

int store_execute(const struct sweep_store *store, const char *sql, struct npl_err *err)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

int store_prepare(const struct sweep_store *store, const char *sql, sqlite3_stmt **statement, struct npl_err *err)
{
	return sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) ? store_fail(store, err) : 0;
}

int store_step(const struct sweep_store *store, sqlite3_stmt *statement, struct npl_err *err)
{
	const int rc = sqlite3_step(statement) == SQLITE_DONE ? 0 : store_fail(store, err);
	sqlite3_reset(statement);
	return rc;
}

int store_end(const struct sweep_store *store, int rc, struct npl_err *err)
{
	if (!rc)
		rc = store_execute(store, "COMMIT", err);
	if (rc)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}
