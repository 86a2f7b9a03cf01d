/* SPDX-License-Identifier: MIT
 *
 * Opening, closing and filling a store of results (store.h). */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/grow.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/files/file.h"
#include "explore/evaluate/wire.h"
#include "store_impl.h"

/* "nplb" in the head of the file says whose database it is. */
#define APPLICATION_ID 0x6e706c62
#define LAYOUT         1 /* of the tables, in the head of the file too */

/* Returns the first number that a statement gives. */
static int first_number(const struct sweep_store *store, const char *sql, int64_t *number, struct npl_err *err)
{
	sqlite3_stmt *statement;
	if (store_prepare(store, sql, &statement, err))
		return err->code;
	const int rc = sqlite3_step(statement) == SQLITE_ROW ? 0 : store_fail(store, err);
	*number = rc ? 0 : sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return rc;
}

static int make_tables(const struct sweep_store *store, struct npl_err *err)
{
	char metrics[2000] = "", layout[100];
	for (int m = 0; m < SWEEP_METRICS; m++) {
		const size_t length = strlen(metrics);
		snprintf(metrics + length, sizeof metrics - length, ", %s %s", sweep_metric_info[m].name,
			 sweep_metric_info[m].is_count ? "INTEGER" : "REAL");
	}
	char *sql = sqlite3_mprintf(
		"CREATE TABLE sweep(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
		"CREATE TABLE metrics(name TEXT PRIMARY KEY, unit TEXT NOT NULL, better INTEGER NOT NULL, "
		"meaning TEXT NOT NULL) WITHOUT ROWID;"
		"CREATE TABLE points(id INTEGER PRIMARY KEY, status TEXT NOT NULL, reason TEXT, "
		"feasible INTEGER NOT NULL, violation REAL NOT NULL, parameters TEXT NOT NULL%s);"
		"CREATE TABLE layers(point INTEGER NOT NULL, layer INTEGER NOT NULL, name TEXT, op TEXT, "
		"ran_on TEXT, seconds REAL, energy_j REAL, cycles INTEGER, macs INTEGER, "
		"PRIMARY KEY(point, layer)) WITHOUT ROWID;"
		"CREATE TABLE claims(chunk INTEGER PRIMARY KEY, owner TEXT NOT NULL);"
		"CREATE TABLE owners(owner TEXT PRIMARY KEY, renewed REAL NOT NULL) WITHOUT ROWID;",
		metrics);
	int rc = sql ? store_execute(store, sql, err) : npl_no_memory(err);
	sqlite3_free(sql);
	snprintf(layout, sizeof layout, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID, LAYOUT);
	return rc ? rc : store_execute(store, layout, err);
}

static int insert_texts(const struct sweep_store *store, sqlite3_stmt *statement, const char *const *text, int n,
			struct npl_err *err)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_text(statement, i + 1, text[i], -1, SQLITE_TRANSIENT);
	return store_step(store, statement, err);
}

/* Fills the tables that say what the sweep and its columns are. */
static int describe(const struct sweep_store *store, const struct sweep_fact *fact, int n_facts, struct npl_err *err)
{
	sqlite3_stmt *facts = NULL, *metrics = NULL;
	int rc = store_prepare(store, "INSERT INTO sweep VALUES(?, ?)", &facts, err);
	for (int i = 0; i < n_facts && !rc; i++)
		rc = insert_texts(store, facts, (const char *const[]){fact[i].key, fact[i].value}, 2, err);
	if (!rc)
		rc = store_prepare(store, "INSERT INTO metrics VALUES(?, ?, CAST(? AS INTEGER), ?)", &metrics, err);
	for (int m = 0; m < SWEEP_METRICS && !rc; m++) {
		const struct sweep_metric_info *info = &sweep_metric_info[m];
		const char *better = info->better < 0 ? "-1" : info->better ? "1" : "0";
		rc = insert_texts(store, metrics, (const char *const[]){info->name, info->unit, better, info->meaning},
				  4, err);
	}
	sqlite3_finalize(facts);
	sqlite3_finalize(metrics);
	return rc;
}

bool store_fact_decides(const char *key)
{
	return strcmp(key, "name") != 0 && strcmp(key, "description") != 0;
}

/* Finds the first fact that the store has otherwise; *differs NULL: there is none. */
static int compare_facts(struct sweep_store *store, const struct sweep_fact *fact, int n_facts, const char **differs,
			 struct npl_err *err)
{
	int64_t n;
	*differs = NULL;
	if (first_number(store, "SELECT count(*) FROM sweep", &n, err)) /* it cannot be read */
		return err->code;
	for (int i = 0; i < n_facts && !*differs; i++) {
		struct npl_arena arena = {0};
		const char *value = sweep_store_fact(store, fact[i].key, &arena);
		if (store_fact_decides(fact[i].key) && (!value || strcmp(value, fact[i].value) != 0))
			*differs = fact[i].key;
		npl_arena_free(&arena);
	}
	return *differs ? npl_fail(err, NPL_EINPUT, "%s: the sweep has another %s", store->path, *differs) : 0;
}

/* Refuses a database that is none of a sweep, or has other tables. */
static int check_head(const struct sweep_store *store, int64_t application, int64_t layout, struct npl_err *err)
{
	if (application != APPLICATION_ID)
		return npl_fail(err, NPL_EINPUT, "%s: this database is of something else, expected results of a sweep",
				store->path);
	if (layout != LAYOUT)
		return npl_fail(err, NPL_EINPUT,
				"%s: its layout is %lld, expected %d: another version of npulab made it", store->path,
				(long long)layout, LAYOUT);
	return 0;
}

/* Makes the tables of a new file, or compares the facts of an old one, and enters this process. Another one may do so
 * at the same time. */
static int begin_sweep(struct sweep_store *store, const struct sweep_fact *fact, int n_facts, const char **differs,
		       struct npl_err *err)
{
	int64_t application = 0, layout = 0, tables = 0;
	if (store_execute(store, "BEGIN IMMEDIATE", err))
		return err->code;
	int rc = first_number(store, "PRAGMA application_id", &application, err);
	if (!rc)
		rc = first_number(store, "PRAGMA user_version", &layout, err);
	if (!rc)
		rc = first_number(store, "SELECT count(*) FROM sqlite_master", &tables, err);
	if (!rc && !tables && !application) {
		rc = make_tables(store, err);
		if (!rc)
			rc = describe(store, fact, n_facts, err);
	} else if (!rc) {
		rc = check_head(store, application, layout, err);
		if (!rc)
			rc = compare_facts(store, fact, n_facts, differs, err);
	}
	if (!rc)
		rc = sweep_store_renew(store, err);
	if (!rc)
		rc = store_free_ended(store, err);
	return store_end(store, rc, err);
}

static int open_file(const char *path, int flags, struct sweep_store **store, struct npl_err *err)
{
	struct sweep_store *s = *store = calloc(1, sizeof *s);
	struct stat status;
	if (!s || !(s->path = strdup(path)))
		return npl_no_memory(err);
	s->writes = flags & SQLITE_OPEN_READWRITE;
	/* SQLite would wait at a FIFO, and keep what has no name in a file of its own. */
	if (!*path || (!stat(path, &status) && !S_ISREG(status.st_mode)))
		return npl_fail(err, s->writes ? NPL_EOUTPUT : NPL_EINPUT, "%s: this is %s, expected a file", path,
				*path ? S_ISDIR(status.st_mode) ? "a folder" : "no regular file" : "no name");
	if (sqlite3_open_v2(path, &s->db, flags, NULL))
		return s->db ? store_fail(s, err) : npl_no_memory(err);
	sqlite3_busy_timeout(s->db, STORE_LOCK_SECONDS * 1000);
	sqlite3_extended_result_codes(s->db, 0);
	return 0;
}

static int open_memory(struct sweep_store **store, struct npl_err *err)
{
	struct sweep_store *s = *store = calloc(1, sizeof *s);
	if (!s || !(s->path = strdup("the sweep")))
		return npl_no_memory(err);
	s->writes = true;
	return sqlite3_open(":memory:", &s->db) ? s->db ? store_fail(s, err) : npl_no_memory(err) : 0;
}

/* Removes the file that a failed beginning leaves, of which nothing was committed. */
static void remove_empty(const char *path)
{
	struct stat status;
	if (!stat(path, &status) && S_ISREG(status.st_mode) && !status.st_size)
		unlink(path);
}

/* Begins a log of writes beside the file: readers and other processes go on while one writes, and what was committed
 * stays after a power loss. SQLite does not wait here itself where another process begins or ends its log. */
static int begin_log(const struct sweep_store *store, struct npl_err *err)
{
	static const struct timespec moment = {.tv_nsec = 10000000};
	int code = SQLITE_BUSY;
	for (int moments = 0; code == SQLITE_BUSY && moments < STORE_LOCK_SECONDS * 100; moments++) {
		if (moments)
			nanosleep(&moment, NULL);
		code = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL,
				    NULL);
	}
	return code ? store_fail(store, err) : 0;
}

int sweep_store_open(const char *path, const struct sweep_fact *fact, int n_facts, const char **differs,
		     struct sweep_store **store, struct npl_err *err)
{
	*differs = NULL;
	const bool is_new = path && access(path, F_OK);
	int rc = path ? open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, store, err)
		      : open_memory(store, err);
	if (!rc && path)
		sweep_owner_of_this((*store)->owner);
	if (!rc)
		rc = begin_sweep(*store, fact, n_facts, differs, err);
	if (!rc)
		rc = begin_log(*store, err);
	if (rc) {
		sweep_store_close(*store);
		*store = NULL;
		if (is_new)
			remove_empty(path);
	}
	return rc;
}

/* Refuses a file that cannot be read, or that this run is going to write. */
static int note_read(const char *path, struct npl_err *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return npl_fail(err, NPL_EINPUT, "%s: %s, expected the results of a sweep", path, strerror(errno));
	const int rc = npl_file_reads(fd, path, err);
	close(fd);
	return rc;
}

int sweep_store_read(const char *path, struct sweep_store **store, struct npl_err *err)
{
	int64_t application = 0, layout = 0;
	*store = NULL;
	int rc = note_read(path, err);
	if (!rc)
		rc = open_file(path, SQLITE_OPEN_READONLY, store, err);
	if (!rc)
		rc = first_number(*store, "PRAGMA application_id", &application, err);
	if (!rc)
		rc = first_number(*store, "PRAGMA user_version", &layout, err);
	if (!rc)
		rc = check_head(*store, application, layout, err);
	if (rc) {
		sweep_store_close(*store);
		*store = NULL;
	}
	return rc;
}

static void drop_pending(struct sweep_store *store)
{
	for (int64_t i = 0; i < store->n_pending; i++) {
		free(store->pending[i].parameters);
		npl_arena_free(&store->pending[i].arena);
	}
	store->n_pending = store->n_released = 0;
}

/* Ends the log of writes beside the file, unless others still use it: who reads a database that has one needs to write
 * into its folder. */
static void leave_one_file(const struct sweep_store *store)
{
	sqlite3_busy_timeout(store->db, 0);
	sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}

void sweep_store_close(struct sweep_store *store)
{
	struct npl_err ignored;
	if (!store)
		return;
	if (store->writes && *store->owner) {
		sweep_store_commit(store, &ignored);
		store_leave(store, &ignored);
	}
	drop_pending(store);
	free(store->pending);
	free(store->released);
	sqlite3_finalize(store->insert_point);
	sqlite3_finalize(store->insert_layer);
	if (store->writes && *store->owner)
		leave_one_file(store);
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}

const char *sweep_store_fact(struct sweep_store *store, const char *key, struct npl_arena *arena)
{
	sqlite3_stmt *statement;
	struct npl_err ignored;
	const char *value = NULL;
	if (store_prepare(store, "SELECT value FROM sweep WHERE key = ?", &statement, &ignored))
		return NULL;
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		value = npl_arena_strdup(arena, (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return value;
}

/* Copies the layers of an outcome, and their texts. */
static int keep_layers(struct store_pending *pending, const struct sweep_outcome *outcome, struct npl_err *err)
{
	struct npl_arena *arena = &pending->arena;
	struct sweep_layer *layer = npl_arena_array(arena, (size_t)outcome->n_layers + 1, sizeof *layer);
	bool ok = layer != NULL;
	for (int i = 0; i < outcome->n_layers && ok; i++) {
		layer[i] = outcome->layer[i];
		layer[i].name = npl_arena_strdup(arena, layer[i].name);
		layer[i].op = npl_arena_strdup(arena, layer[i].op);
		layer[i].ran_on = npl_arena_strdup(arena, layer[i].ran_on);
		ok = layer[i].name && layer[i].op && layer[i].ran_on;
	}
	pending->outcome.layer = layer;
	return ok ? 0 : npl_no_memory(err);
}

int sweep_store_put(struct sweep_store *store, int64_t id, const struct sweep_parameter *parameter, int n,
		    const struct sweep_outcome *outcome, struct npl_err *err)
{
	struct store_pending *grown = npl_grow(store->pending, store->n_pending, &store->capacity,
					       sizeof *store->pending);
	size_t bytes;
	if (!grown)
		return npl_no_memory(err);
	store->pending = grown;
	struct store_pending *pending = &grown[store->n_pending];
	*pending = (struct store_pending){.id = id, .outcome = *outcome};
	FILE *out = open_memstream(&pending->parameters, &bytes);
	if (!out)
		return npl_no_memory(err);
	sweep_write_parameters(out, parameter, n);
	if (fclose(out) || keep_layers(pending, outcome, err)) {
		free(pending->parameters);
		npl_arena_free(&pending->arena);
		return npl_no_memory(err);
	}
	store->n_pending++;
	return 0;
}

int sweep_store_uncommitted(const struct sweep_store *store)
{
	return (int)store->n_pending;
}

static void bind_double(sqlite3_stmt *statement, int column, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(statement, column, value);
	else
		sqlite3_bind_null(statement, column);
}

static int insert_layers(struct sweep_store *store, const struct store_pending *pending, struct npl_err *err)
{
	sqlite3_stmt *s = store->insert_layer;
	const int64_t id = sqlite3_last_insert_rowid(store->db);
	for (int i = 0; i < pending->outcome.n_layers; i++) {
		const struct sweep_layer *layer = &pending->outcome.layer[i];
		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_int(s, 2, i);
		sqlite3_bind_text(s, 3, layer->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 4, layer->op, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 5, layer->ran_on, -1, SQLITE_STATIC);
		bind_double(s, 6, layer->seconds);
		bind_double(s, 7, layer->energy_j);
		sqlite3_bind_int64(s, 8, (int64_t)layer->cycles);
		sqlite3_bind_int64(s, 9, (int64_t)layer->macs);
		if (store_step(store, s, err))
			return err->code;
	}
	return 0;
}

static int insert_point(struct sweep_store *store, const struct store_pending *pending, struct npl_err *err)
{
	const struct sweep_outcome *outcome = &pending->outcome;
	sqlite3_stmt *s = store->insert_point;
	enum { ID = 1, STATUS, REASON, FEASIBLE, VIOLATION, PARAMETERS, FIRST_METRIC };
	if (pending->id < 0)
		sqlite3_bind_null(s, ID);
	else
		sqlite3_bind_int64(s, ID, pending->id);
	sqlite3_bind_text(s, STATUS, sweep_status_name[outcome->status], -1, SQLITE_STATIC);
	if (*outcome->reason)
		sqlite3_bind_text(s, REASON, outcome->reason, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, REASON);
	sqlite3_bind_int(s, FEASIBLE, outcome->feasible);
	sqlite3_bind_double(s, VIOLATION, outcome->violation);
	sqlite3_bind_text(s, PARAMETERS, pending->parameters, -1, SQLITE_STATIC);
	for (int m = 0; m < SWEEP_METRICS; m++) {
		const double value = outcome->metrics.value[m];
		if (sweep_metric_info[m].is_count && rint(value) == value && fabs(value) < 0x1p63)
			sqlite3_bind_int64(s, FIRST_METRIC + m, (int64_t)value);
		else
			bind_double(s, FIRST_METRIC + m, value);
	}
	if (store_step(store, s, err))
		return err->code;
	/* Another process that took this one for ended may have run the point too: the first row stays. */
	return sqlite3_changes(store->db) ? insert_layers(store, pending, err) : 0;
}

static int prepare_inserts(struct sweep_store *store, struct npl_err *err)
{
	/* A point without a number gets the next one that is free. */
	char sql[400] =
		"INSERT OR IGNORE INTO points VALUES(coalesce(?, (SELECT coalesce(max(id) + 1, 0) FROM points)), "
		"?, ?, ?, ?, ?";
	for (int m = 0; m < SWEEP_METRICS; m++)
		npl_append(sql, sizeof sql, ", ", "?");
	npl_append(sql, sizeof sql, "", ")");
	if (store->insert_point)
		return 0;
	if (store_prepare(store, "INSERT INTO layers VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", &store->insert_layer, err))
		return err->code;
	return store_prepare(store, sql, &store->insert_point, err);
}
_Static_assert(SWEEP_METRICS < 80, "the statement that inserts a point has room for so many columns");

int sweep_store_commit(struct sweep_store *store, struct npl_err *err)
{
	if (!store->n_pending && !store->n_released)
		return 0;
	int rc = prepare_inserts(store, err);
	if (!rc)
		rc = store_execute(store, "BEGIN IMMEDIATE", err);
	if (rc)
		return rc;
	for (int64_t i = 0; i < store->n_pending && !rc; i++)
		rc = insert_point(store, &store->pending[i], err);
	if (!rc)
		rc = store_release(store, err);
	if (!rc)
		rc = sweep_store_renew(store, err);
	rc = store_end(store, rc, err);
	if (!rc)
		drop_pending(store);
	return rc;
}
