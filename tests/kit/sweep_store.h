/* SPDX-License-Identifier: MIT
 *
 * Stores of results in tests: outcomes with figures that follow from a number, and what a store has of them. */
#ifndef NPULAB_TESTS_KIT_SWEEP_STORE_H
#define NPULAB_TESTS_KIT_SWEEP_STORE_H

#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/prctl.h>

#include "cli_run.h"
#include "explore/store/store.h"

static const struct sweep_fact store_facts[] = {{"format", "npulab.sweep/1"}, {"axes", "[1,2]"}, {"shard", ""}};
#define STORE_FACTS 3

static inline struct sweep_store *store_open(const char *path)
{
	struct sweep_store *store;
	const char *differs;
	struct npl_err err = {0};
	cr_assert_eq(sweep_store_open(path, store_facts, STORE_FACTS, &differs, &store, &err), 0, "%s", err.msg);
	return store;
}

/* A done point, with a figure that says which it is. */
static inline struct sweep_outcome store_outcome(double seconds)
{
	struct sweep_outcome outcome = {.status = SWEEP_DONE, .feasible = true};
	for (int m = 0; m < SWEEP_METRICS; m++)
		outcome.metrics.value[m] = NAN;
	outcome.metrics.value[SWEEP_METRIC_seconds] = seconds;
	return outcome;
}

static inline void store_put(struct sweep_store *store, int64_t id, double seconds)
{
	const struct sweep_outcome outcome = store_outcome(seconds);
	const struct sweep_parameter parameter = {"array.rows", "128"};
	struct npl_err err = {0};
	cr_assert_eq(sweep_store_put(store, id, &parameter, 1, &outcome, &err), 0, "%s", err.msg);
}

static inline void store_commit(struct sweep_store *store)
{
	struct npl_err err = {0};
	cr_assert_eq(sweep_store_commit(store, &err), 0, "%s", err.msg);
}

/* Runs a statement in a database of its own connection; returns the number of its first result, -1: it has none. */
static inline int64_t store_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *statement;
	int64_t number = -1;
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
	const int step = sqlite3_step(statement);
	cr_assert(step == SQLITE_ROW || step == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(db));
	if (step == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return number;
}

/* Writes a value of a row, a double to the bit. */
static inline void store_print(FILE *out, sqlite3_stmt *statement, int column)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		fputs("|-", out);
		break;
	case SQLITE_FLOAT:
		fprintf(out, "|%a", sqlite3_column_double(statement, column));
		break;
	default:
		fprintf(out, "|%s", (const char *)sqlite3_column_text(statement, column));
	}
}

/* All rows of a table in the order of its key, a line each, to be freed; *n: how many there are. */
static inline char *store_rows(const char *path, const char *table, int64_t *n)
{
	char sql[100], *text = NULL;
	size_t bytes;
	sqlite3 *db;
	sqlite3_stmt *statement;
	FILE *out = open_memstream(&text, &bytes);
	int step;
	*n = 0;
	snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2", table);
	cr_assert(out);
	cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK, "%s", path);
	sqlite3_busy_timeout(db, 5000);
	cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int c = 0; c < sqlite3_column_count(statement); c++)
			store_print(out, statement, c);
		putc('\n', out);
		++*n;
	}
	cr_assert_eq(step, SQLITE_DONE, "%s", sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	sqlite3_close(db);
	fclose(out);
	return text;
}

/* Two databases have the same rows in a table, and so many. */
static inline void store_check_same(const char *path, const char *expected_path, const char *table, int64_t n)
{
	int64_t rows, expected_rows;
	char *text = store_rows(path, table, &rows), *expected = store_rows(expected_path, table, &expected_rows);
	cr_assert(rows == expected_rows && rows == n, "%s: %d rows, expected %d", table, (int)rows, (int)expected_rows);
	cr_assert_eq(strcmp(text, expected), 0, "%s: other rows", table);
	free(text);
	free(expected);
}

/* In a child that waits: it ends with the test, however that ends. */
static inline void store_end_with_test(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Runs a function in a child, which must end well. A database that is open may not be taken through the fork. */
#define STORE_IN_CHILD(call)                                                                                           \
	do {                                                                                                           \
		int status_;                                                                                           \
		fflush(NULL);                                                                                          \
		const pid_t child_ = fork();                                                                           \
		if (!child_)                                                                                           \
			_exit((call) ? 0 : 1);                                                                         \
		cr_assert(child_ > 0 && waitpid(child_, &status_, 0) == child_);                                       \
		cr_assert(WIFEXITED(status_) && WEXITSTATUS(status_) == 0, #call);                                     \
	} while (0)

#endif
