/* SPDX-License-Identifier: MIT
 *
 * The inside of a store of results (store.h). */
#ifndef NPULAB_EXPLORE_STORE_STORE_IMPL_H
#define NPULAB_EXPLORE_STORE_STORE_IMPL_H

#include <sqlite3.h>

#include "owner.h"
#include "store.h"

/* A point that has been put and not committed. */
struct store_pending {
	int64_t id;
	char *parameters; /* JSON, owned */
	struct sweep_outcome outcome;
	struct npl_arena arena; /* of the layers */
};

struct sweep_store {
	sqlite3 *db;
	char *path; /* for messages */
	char owner[SWEEP_OWNER_TEXT];
	struct store_pending *pending;
	int64_t n_pending, capacity;
	int64_t *released; /* chunks to be given back with the next commit */
	int64_t n_released, released_capacity;
	bool writes;
	sqlite3_stmt *insert_point, *insert_layer; /* prepared when first needed */
};

/* A transaction takes milliseconds: who waits longer for another program's waits for one that is stuck. */
#define STORE_LOCK_SECONDS 30

/* Says whether a fact of this key decides whether two sweeps are the same. */
bool store_fact_decides(const char *key);

/* Fails with what SQLite says of the last call. */
int store_fail(const struct sweep_store *store, struct npl_err *err);
/* Runs statements without results. */
int store_execute(const struct sweep_store *store, const char *sql, struct npl_err *err);
int store_prepare(const struct sweep_store *store, const char *sql, sqlite3_stmt **statement, struct npl_err *err);
/* Runs a prepared statement without results, and resets it. */
int store_step(const struct sweep_store *store, sqlite3_stmt *statement, struct npl_err *err);
/* Ends a transaction: commits it if rc is 0, else rolls it back. Returns rc, or the failure of the commit. */
int store_end(const struct sweep_store *store, int rc, struct npl_err *err);

/* claims.c: deletes the claims of the chunks that were given back, within the transaction of a commit. */
int store_release(struct sweep_store *store, struct npl_err *err);
/* Frees the claims of processes that have ended. */
int store_free_ended(struct sweep_store *store, struct npl_err *err);
/* Gives back all that this process has claimed. */
int store_leave(struct sweep_store *store, struct npl_err *err);

#endif
