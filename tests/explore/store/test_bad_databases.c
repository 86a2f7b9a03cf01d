/* SPDX-License-Identifier: MIT
 *
 * Promises of a store whose file is no database of a sweep, is damaged, cannot be written, or is locked: one message
 * that names the file, the code of whose fault it is, the same bytes as before and no file beside it. */
#include "core/computer/clock.h"
#include "tests/kit/sweep_store.h"

/* What opening said. */
struct opened {
	int rc;
	struct npl_err err;
};

static struct opened open_to_write(const char *path)
{
	struct opened o = {0};
	struct sweep_store *store;
	const char *differs;
	o.rc = sweep_store_open(path, store_facts, STORE_FACTS, &differs, &store, &o.err);
	cr_assert_eq(!o.rc, !!store);
	sweep_store_close(store);
	return o;
}

static int count_row(void *context, const struct sweep_row *row, struct npl_err *err)
{
	(void)row, (void)err;
	++*(int *)context;
	return 0;
}

/* Opens a file to read it, and reads all that it has. */
static struct opened open_to_read(const char *path)
{
	struct opened o = {0};
	struct sweep_store *store;
	struct sweep_counts counts;
	int n = 0;
	o.rc = sweep_store_read(path, &store, &o.err);
	cr_assert_eq(!o.rc, !!store);
	if (!o.rc)
		o.rc = sweep_store_count(store, &counts, &o.err);
	if (!o.rc)
		o.rc = sweep_store_each(store, 0, INT64_MAX, count_row, &n, &o.err);
	sweep_store_close(store);
	return o;
}

static void check_message(const struct opened *o, int rc, const char *path, const char *says)
{
	cr_assert_eq(o->rc, rc, "%s: %d: %s", path, o->rc, o->err.msg);
	cr_assert_eq(o->err.code, rc);
	cr_assert(!strncmp(o->err.msg, path, strlen(path)) && o->err.msg[strlen(path)] == ':', "%s", o->err.msg);
	cr_assert(strstr(o->err.msg, says), "expected '%s' in: %s", says, o->err.msg);
	cr_assert_not(strchr(o->err.msg, '\n'), "%s", o->err.msg);
}

/* Opens a file in both ways, which must be refused so and leave it as it is, alone in its folder. */
static void check_refused(const char *folder, const char *name, const char *says)
{
	const char *path = cli_path(folder, name);
	size_t bytes, again;
	char *before = cli_read(path, &bytes);
	const struct opened writing = open_to_write(path), reading = open_to_read(path);
	check_message(&writing, NPL_EINPUT, path, says);
	check_message(&reading, NPL_EINPUT, path, says);
	char *after = cli_read(path, &again);
	cr_assert(again == bytes && !memcmp(before, after, bytes), "%s has changed", name);
	cr_assert_eq(cli_count_files(folder), 1, "%s: files beside it", name);
	free(before);
	free(after);
}

/* A database of a sweep with some hundred points. */
static char *write_results(const char *folder, const char *name, size_t *bytes)
{
	const char *path = cli_path(folder, name);
	struct sweep_store *store = store_open(path);
	for (int64_t id = 0; id < 400; id++)
		store_put(store, id, (double)id);
	sweep_store_close(store);
	return cli_read(path, bytes);
}

Test(sweep_bad_databases, of_something_else_are_refused)
{
	static const struct {
		const char *name, *text;
	} files[] = {{"short.txt", "a line\n"},
		     {"page.html",
		      "<!doctype html><html><head><title>x</title></head><body>A page of some length, which is "
		      "longer than the head of a database, that takes a hundred bytes.</body></html>\n"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		cli_write_text(folder, files[i].name, files[i].text);
		check_refused(folder, files[i].name, "expected the results of a sweep");
		cr_assert_eq(unlink(cli_path(folder, files[i].name)), 0);
	}
	store_sql(cli_path(folder, "other.db"), "CREATE TABLE points(x)");
	check_refused(folder, "other.db", "this database is of something else");
	store_sql(cli_path(folder, "other.db"), "PRAGMA application_id = 1234");
	check_refused(folder, "other.db", "this database is of something else");
	store_sql(cli_path(folder, "other.db"), "PRAGMA application_id = 1852861538"); /* "nplb" */
	store_sql(cli_path(folder, "other.db"), "PRAGMA user_version = 2");
	check_refused(folder, "other.db", "its layout is 2, expected 1: another version of npulab made it");
	cli_remove_folder(folder);
}

/* The tables are those of a sweep as far as the head says, but a column or a table is missing, or a status is unknown.
 * */
Test(sweep_bad_databases, with_other_tables_are_refused)
{
	static const char *const harm[] = {"ALTER TABLE points DROP COLUMN seconds", "DROP TABLE points",
					   "UPDATE points SET status = 'dome' WHERE id = 7"};
	for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
		char folder[CLI_PATH];
		size_t bytes;
		cli_folder(folder);
		free(write_results(folder, "r.sqlite", &bytes));
		const char *path = cli_path(folder, "r.sqlite");
		store_sql(path, harm[i]);
		const struct opened reading = open_to_read(path);
		check_message(&reading, NPL_EINPUT, path, i < 2 ? "expected the results of a sweep" : "point 7");
		cli_remove_folder(folder);
	}
}

/* A damaged file is refused, or has a harm that no reader meets. Never is a reader misled into a fault of its own. */
static int try_damaged(const char *folder, const char *data, size_t bytes)
{
	const char *path = cli_path(folder, "d.sqlite");
	size_t again;
	cli_write(folder, "d.sqlite", data, bytes);
	const struct opened reading = open_to_read(path);
	if (reading.rc)
		check_message(&reading, NPL_EINPUT, path, "");
	char *after = cli_read(path, &again);
	cr_assert(again == bytes && !memcmp(data, after, bytes), "reading has changed the file");
	free(after);
	const struct opened writing = open_to_write(path);
	cr_assert(!writing.rc || writing.rc == NPL_EINPUT || writing.rc == NPL_EOUTPUT);
	if (writing.rc) {
		check_message(&writing, writing.rc, path, "");
		after = cli_read(path, &again);
		cr_assert(again == bytes && !memcmp(data, after, bytes), "a refused file has changed: %s",
			  writing.err.msg);
		free(after);
	}
	for (int i = 0; i < 3; i++)
		unlink(cli_path(folder, ((const char *const[]){"d.sqlite", "d.sqlite-wal", "d.sqlite-shm"})[i]));
	return reading.rc;
}

Test(sweep_bad_databases, that_are_cut_are_refused)
{
	char folder[CLI_PATH];
	size_t bytes;
	int refused = 0;
	cli_folder(folder);
	char *data = write_results(folder, "r.sqlite", &bytes);
	for (size_t cut = 1; cut < bytes; cut += bytes / 29)
		refused += try_damaged(folder, data, cut) != 0;
	cr_assert_geq(refused, 28, "%d cut files were refused", refused);
	free(data);
	cli_remove_folder(folder);
}

Test(sweep_bad_databases, that_are_damaged_do_no_harm)
{
	char folder[CLI_PATH];
	uint64_t rng = 17;
	size_t bytes;
	int refused = 0;
	cli_folder(folder);
	char *data = write_results(folder, "r.sqlite", &bytes), *harmed = malloc(bytes);
	cr_assert(harmed);
	for (int i = 0; i < 60; i++) {
		memcpy(harmed, data, bytes);
		/* the head, the head of a page, or anything */
		for (int64_t n = test_range(&rng, 1, 20); n > 0; n--) {
			const int64_t page = test_range(&rng, 0, (int64_t)bytes / 4096 - 1) * 4096;
			const int64_t place = i % 3 == 0   ? test_range(&rng, 0, 99)
					      : i % 3 == 1 ? page + test_range(&rng, 0, 50)
							   : test_range(&rng, 0, (int64_t)bytes - 1);
			harmed[place] = (char)test_range(&rng, 0, 255);
		}
		refused += try_damaged(folder, harmed, bytes) != 0;
	}
	cr_assert_geq(refused, 10, "%d damaged files were refused", refused);
	free(data);
	free(harmed);
	cli_remove_folder(folder);
}

Test(sweep_bad_databases, that_are_no_files_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct opened o = open_to_read(cli_path(folder, "missing.sqlite"));
	check_message(&o, NPL_EINPUT, cli_path(folder, "missing.sqlite"), "No such file");
	o = open_to_write(cli_path(folder, "missing/r.sqlite"));
	check_message(&o, NPL_EOUTPUT, cli_path(folder, "missing/r.sqlite"), "");
	o = open_to_read(folder);
	check_message(&o, NPL_EINPUT, folder, "this is a folder");
	o = open_to_write(folder);
	check_message(&o, NPL_EOUTPUT, folder, "this is a folder");
	cr_assert_eq(cli_count_files(folder), 0);
	cli_remove_folder(folder);
}

/* In a child that is not root, for whom there are no limits. */
static bool cannot_write(const char *path, const char *new_path)
{
	if (!geteuid() && seteuid(65534))
		return false;
	const struct opened writing = open_to_write(path), making = open_to_write(new_path),
			    reading = open_to_read(path);
	return writing.rc == NPL_EOUTPUT && strstr(writing.err.msg, path) && making.rc == NPL_EOUTPUT && !reading.rc;
}

/* Results that are finished can be read where nobody can write, as on a medium that is read-only. */
Test(sweep_bad_databases, that_cannot_be_written_can_be_read)
{
	char folder[CLI_PATH];
	size_t bytes, again;
	cli_folder(folder);
	char *before = write_results(folder, "r.sqlite", &bytes);
	const char *path = cli_path(folder, "r.sqlite"), *new_path = cli_path(folder, "n.sqlite");
	cr_assert(!chmod(path, 0444) && !chmod(folder, 0555));
	STORE_IN_CHILD(cannot_write(path, new_path));
	cr_assert_eq(cli_count_files(folder), 1);
	char *after = cli_read(path, &again);
	cr_assert(again == bytes && !memcmp(before, after, bytes));
	cr_assert_eq(chmod(folder, 0755), 0);
	free(before);
	free(after);
	cli_remove_folder(folder);
}

/* Another program holds the file for a moment: who opens it waits. */
Test(sweep_bad_databases, that_are_locked_are_waited_for)
{
	char folder[CLI_PATH], byte;
	size_t bytes;
	int status, told[2];
	cli_folder(folder);
	free(write_results(folder, "r.sqlite", &bytes));
	const char *path = cli_path(folder, "r.sqlite");
	cr_assert_eq(pipe(told), 0);
	const pid_t child = fork();
	if (!child) {
		sqlite3 *db;
		const bool held = !sqlite3_open(path, &db) && !sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) &&
				  write(told[1], "1", 1) == 1;
		usleep(300000);
		_exit(!held || sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
	}
	cr_assert_eq(read(told[0], &byte, 1), 1);
	const double begun = npl_clock_seconds();
	cr_assert_eq(open_to_write(path).rc, 0);
	cr_assert_gt(npl_clock_seconds() - begun, 0.2, "it did not wait");
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert_eq(open_to_read(path).rc, 0);
	cli_remove_folder(folder);
}
