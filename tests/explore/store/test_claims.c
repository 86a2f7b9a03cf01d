/* SPDX-License-Identifier: MIT
 *
 * Promises of claims: no two processes that work have the same chunk; those of a process that ended are free, however
 * it ended; and one of another computer is taken for ended only when it has not been heard of for a minute. */
#include "explore/store/owner.h"
#include "tests/kit/sweep_store.h"

struct claimed {
	int64_t chunk[100], next, held;
	int n;
};

static struct claimed claim(struct sweep_store *store, int64_t first, int64_t end, int64_t step, int wanted,
			    int64_t n_points)
{
	struct claimed c;
	struct npl_err err = {0};
	const struct sweep_claim request = {.first = first, .end = end, .step = step, .wanted = wanted};
	cr_assert_eq(sweep_store_claim(store, &request, n_points, c.chunk, &c.n, &c.next, &c.held, &err), 0, "%s",
		     err.msg);
	return c;
}

static void check_chunks(const struct claimed *c, const int64_t *expected, int n, int64_t next, int64_t held)
{
	cr_assert_eq(c->n, n, "%d chunks", c->n);
	for (int i = 0; i < n; i++)
		cr_assert_eq(c->chunk[i], expected[i]);
	cr_assert_eq(c->next, next);
	cr_assert_eq(c->held, held);
}
#define CHECK_CHUNKS(c, next, held, ...)                                                                               \
	check_chunks(&(c), (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / 8), (next),  \
		     (held))

static void put_chunk(struct sweep_store *store, int64_t chunk, int points)
{
	for (int i = 0; i < points; i++)
		store_put(store, chunk * SWEEP_CHUNK + i, 1);
}

Test(sweep_claims, leave_out_what_is_done)
{
	struct npl_err err = {0};
	char folder[CLI_PATH];
	unsigned bits;
	cli_folder(folder);
	struct sweep_store *store = store_open(cli_path(folder, "r.sqlite"));
	put_chunk(store, 1, SWEEP_CHUNK);
	put_chunk(store, 2, SWEEP_CHUNK - 1);
	put_chunk(store, 9, 3); /* of 75 points the last chunk has 3 */
	store_commit(store);
	struct claimed c = claim(store, 0, 10, 1, 2, 75);
	CHECK_CHUNKS(c, 3, 0, 0, 2);
	c = claim(store, 3, 10, 3, 9, 75);
	CHECK_CHUNKS(c, 12, 0, 3, 6); /* 9 is done */
	c = claim(store, 0, 10, 1, 99, 75);
	CHECK_CHUNKS(c, 10, 4, 4, 5, 7, 8); /* 0, 2, 3 and 6 are claimed */
	cr_assert_eq(sweep_store_done(store, 2, &bits, &err), 0);
	cr_assert_eq(bits, 0x7f);
	cr_assert_eq(sweep_store_done(store, 9, &bits, &err), 0);
	cr_assert_eq(bits, 0x07);
	cr_assert_eq(sweep_store_release(store, 5, &err), 0);
	c = claim(store, 5, 6, 1, 1, 75);
	cr_assert_eq(c.n, 0, "a chunk is given back with the next commit");
	store_commit(store);
	c = claim(store, 5, 6, 1, 1, 75);
	CHECK_CHUNKS(c, 6, 0, 5);
	sweep_store_close(store);
	cli_remove_folder(folder);
}

/* In a child: claims all chunks that are free, says so, and waits until it is ended. */
static pid_t start_holder(const char *path, int64_t end)
{
	int told[2];
	char byte;
	cr_assert_eq(pipe(told), 0);
	const pid_t child = fork();
	if (!child) {
		store_end_with_test();
		const struct sweep_claim all = {.end = end, .step = 1, .wanted = 100};
		int64_t chunk[100], next, held;
		const char *differs;
		struct sweep_store *store;
		struct npl_err err;
		int n;
		if (sweep_store_open(path, store_facts, STORE_FACTS, &differs, &store, &err) ||
		    sweep_store_claim(store, &all, end * SWEEP_CHUNK, chunk, &n, &next, &held, &err))
			_exit(1);
		if (write(told[1], "1", 1) == 1)
			pause();
		_exit(1);
	}
	cr_assert_gt(child, 0);
	cr_assert_eq(read(told[0], &byte, 1), 1);
	close(told[0]);
	close(told[1]);
	return child;
}

Test(sweep_claims, of_a_process_that_ended_are_free)
{
	char folder[CLI_PATH];
	int status;
	cli_folder(folder);
	const char *path = cli_path(folder, "r.sqlite");
	const pid_t holder = start_holder(path, 5);
	struct sweep_store *store = store_open(path);
	struct claimed c = claim(store, 0, 7, 1, 100, 56);
	CHECK_CHUNKS(c, 7, 5, 5, 6);
	kill(holder, SIGKILL);
	/* Also while its parent has not asked how it ended: it is a zombie then. */
	siginfo_t info;
	cr_assert_eq(waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT), 0);
	c = claim(store, 0, 7, 1, 100, 56);
	CHECK_CHUNKS(c, 7, 2, 0, 1, 2, 3, 4);
	waitpid(holder, &status, 0);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM owners"), 1);
	sweep_store_close(store);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM claims"), 0, "who closes gives all back");
	cli_remove_folder(folder);
}

/* A process of another computer, or of another container, cannot be asked for. */
Test(sweep_claims, of_another_computer_are_free_after_a_minute)
{
	char folder[CLI_PATH];
	struct npl_err err = {0};
	cli_folder(folder);
	const char *path = cli_path(folder, "r.sqlite");
	struct sweep_store *store = store_open(path);
	store_sql(path, "INSERT INTO claims VALUES(0, 'elsewhere/pid:[1]/7/99')");
	store_sql(path,
		  "INSERT INTO owners VALUES('elsewhere/pid:[1]/7/99', (julianday('now') - 2440587.5) * 86400 - 50)");
	struct claimed c = claim(store, 0, 2, 1, 1, 16);
	CHECK_CHUNKS(c, 2, 1, 1);
	store_sql(path, "UPDATE owners SET renewed = renewed - 20 WHERE owner LIKE 'elsewhere%'");
	c = claim(store, 0, 2, 1, 1, 16);
	CHECK_CHUNKS(c, 1, 0, 0);
	/* This one has not been heard of for hours, but it can be asked for: it runs. */
	store_sql(path, "UPDATE owners SET renewed = renewed - 9999");
	const struct sweep_claim all = {.end = 2, .step = 1, .wanted = 2};
	cr_assert_eq(sweep_store_claim(store, &all, 16, c.chunk, &c.n, &c.next, &c.held, &err), 0);
	cr_assert(c.n == 0 && c.held == 2);
	sweep_store_close(store);
	cli_remove_folder(folder);
}

/* In a child: claims a chunk at a time and puts its points, until none is left; each point has the process as figure.
 * */
static bool work(const char *path, int64_t chunks)
{
	const char *differs;
	struct sweep_store *store;
	struct npl_err err;
	int64_t chunk[3], next = 0, held, first = 0;
	int n = 1;
	if (sweep_store_open(path, store_facts, STORE_FACTS, &differs, &store, &err))
		return false;
	while (n) {
		const struct sweep_claim some = {.first = first, .end = chunks, .step = 1, .wanted = 3};
		if (sweep_store_claim(store, &some, chunks * SWEEP_CHUNK, chunk, &n, &next, &held, &err))
			return false;
		for (int i = 0; i < n; i++) {
			const struct sweep_outcome outcome = store_outcome(getpid());
			for (int k = 0; k < SWEEP_CHUNK; k++)
				if (sweep_store_put(store, chunk[i] * SWEEP_CHUNK + k, NULL, 0, &outcome, &err))
					return false;
			if (sweep_store_release(store, chunk[i], &err))
				return false;
		}
		if (sweep_store_commit(store, &err))
			return false;
		first = next;
	}
	sweep_store_close(store);
	return true;
}

Test(sweep_claims, share_the_chunks)
{
	enum { PROCESSES = 4, CHUNKS = 60 };
	char folder[CLI_PATH];
	pid_t child[PROCESSES];
	int status;
	cli_folder(folder);
	const char *path = cli_path(folder, "r.sqlite");
	sweep_store_close(store_open(path));
	for (int i = 0; i < PROCESSES; i++)
		if (!(child[i] = fork()))
			_exit(work(path, CHUNKS) ? 0 : 1);
	for (int i = 0; i < PROCESSES; i++) {
		waitpid(child[i], &status, 0);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points"), CHUNKS * SWEEP_CHUNK);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM (SELECT DISTINCT id / 8, seconds FROM points)"), CHUNKS,
		     "the points of a chunk are of one process");
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM claims"), 0);
	cli_remove_folder(folder);
}

Test(sweep_claims, know_processes_by_name)
{
	char name[SWEEP_OWNER_TEXT], again[SWEEP_OWNER_TEXT], of_child[SWEEP_OWNER_TEXT] = "";
	int pipe_of[2], status;
	sweep_owner_of_this(name);
	sweep_owner_of_this(again);
	cr_assert_str_eq(name, again);
	cr_assert_not(sweep_owner_has_ended(name, 1e9));
	cr_assert_eq(pipe(pipe_of), 0);
	const pid_t child = fork();
	if (!child) {
		store_end_with_test();
		sweep_owner_of_this(of_child);
		cr_assert_eq(write(pipe_of[1], of_child, sizeof of_child), (ssize_t)sizeof of_child);
		pause();
	}
	cr_assert_eq(read(pipe_of[0], of_child, sizeof of_child), (ssize_t)sizeof of_child);
	cr_assert_str_neq(of_child, name);
	cr_assert_not(sweep_owner_has_ended(of_child, 1e9));
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	cr_assert(sweep_owner_has_ended(of_child, 0));
	/* Another process that has got the number of one that ended: it began at another time. */
	*strrchr(again, '/') = '\0';
	strcat(again, "/1");
	cr_assert(sweep_owner_has_ended(again, 0));
	cr_assert_not(sweep_owner_has_ended("elsewhere/pid:[1]/1/1", SWEEP_OWNER_SECONDS - 1));
	cr_assert(sweep_owner_has_ended("elsewhere/pid:[1]/1/1", SWEEP_OWNER_SECONDS + 1));
	cr_assert(sweep_owner_has_ended("", SWEEP_OWNER_SECONDS + 1));
}
