/* SPDX-License-Identifier: MIT
 *
 * Promises of the store of results: what is put comes back to the bit; a point that is there stays; others see what is
 * committed and nothing else; a sweep goes on with the same facts alone. */
#include <float.h>

#include "tests/kit/sweep_store.h"

#define POINTS 300

/* Random doubles of all magnitudes, among them those that are hard to write. */
static double draw_number(uint64_t *rng)
{
	static const double hard[] = {0.1,  DBL_MIN, DBL_TRUE_MIN,         DBL_MAX, -DBL_MAX,
				      1e-5, 0x1p53,  0x1.fffffffffffffp62, 0};
	double value;
	if (test_range(rng, 0, 4) == 0)
		return hard[test_range(rng, 0, 8)];
	do {
		const uint64_t bits = test_rng(rng);
		memcpy(&value, &bits, sizeof value);
	} while (!isfinite(value));
	return value;
}

static struct sweep_outcome draw_outcome(uint64_t *rng)
{
	static const char *const reasons[] = {"", "it's \"so\"; DROP TABLE points", "r\xc3\xa9seau", "a\tb\nc"};
	struct sweep_outcome outcome = {.status = (enum sweep_status)test_range(rng, 0, SWEEP_STATUSES - 1),
					.feasible = test_range(rng, 0, 1)};
	outcome.feasible = outcome.feasible && outcome.status == SWEEP_DONE;
	strcpy(outcome.reason, reasons[test_range(rng, 0, 3)]);
	for (int m = 0; m < SWEEP_METRICS; m++) {
		const bool known = test_range(rng, 0, 3) != 0;
		outcome.metrics.value[m] = known ? draw_number(rng) : NAN;
		if (known && sweep_metric_info[m].is_count && test_range(rng, 0, 2))
			outcome.metrics.value[m] = (double)test_range(rng, 0, INT64_C(1) << 47);
	}
	return outcome;
}

struct check {
	uint64_t rng; /* draws the rows again */
	int n;
};

static int check_row(void *context, const struct sweep_row *row, struct npl_err *err)
{
	struct check *check = context;
	const struct sweep_outcome expected = draw_outcome(&check->rng);
	(void)err;
	cr_assert_eq(row->id, 3 * check->n++);
	cr_assert_eq(row->status, expected.status);
	cr_assert_eq(row->feasible, expected.feasible);
	cr_assert(*expected.reason ? row->reason && !strcmp(row->reason, expected.reason) : !row->reason);
	cr_assert_str_eq(row->parameters,
			 "{\"array.rows\":128,\"name\":\"it's \\\"8\\\"\",\"unit\":\"8 MiB\",\"x\":1e-3}");
	for (int m = 0; m < SWEEP_METRICS; m++) {
		const double is = row->metrics.value[m], was = expected.metrics.value[m];
		cr_assert(isnan(was) ? isnan(is) : is == was, "%s: %a, put %a", sweep_metric_info[m].name, is, was);
	}
	return 0;
}

Test(sweep_store, gives_back_what_was_put)
{
	static const struct sweep_parameter parameter[] = {
		{"array.rows", "128"}, {"name", "it's \"8\""}, {"unit", "8 MiB"}, {"x", "1e-3"}};
	char folder[CLI_PATH];
	struct npl_err err = {0};
	struct sweep_counts counts;
	int64_t of_status[SWEEP_STATUSES] = {0}, feasible = 0;
	cli_folder(folder);
	struct sweep_store *store = store_open(cli_path(folder, "r.sqlite"));
	struct check check = {.rng = 99};
	for (int i = 0; i < POINTS; i++) {
		const struct sweep_outcome outcome = draw_outcome(&check.rng);
		cr_assert_eq(sweep_store_put(store, 3 * i, parameter, 4, &outcome, &err), 0);
		of_status[outcome.status]++;
		feasible += outcome.feasible;
		if (i % 97 == 0)
			store_commit(store);
	}
	sweep_store_close(store); /* commits the rest */
	cr_assert_eq(sweep_store_read(cli_path(folder, "r.sqlite"), &store, &err), 0, "%s", err.msg);
	check = (struct check){.rng = 99};
	cr_assert_eq(sweep_store_each(store, 0, INT64_MAX, check_row, &check, &err), 0, "%s", err.msg);
	cr_assert_eq(check.n, POINTS);
	cr_assert_eq(sweep_store_count(store, &counts, &err), 0);
	cr_assert_arr_eq(counts.of_status, of_status, sizeof of_status);
	cr_assert_eq(counts.feasible, feasible);
	sweep_store_close(store);
	cr_assert_eq(cli_count_files(folder), 1, "a closed database is one file");
	cli_remove_folder(folder);
}

static int take_seconds(void *context, const struct sweep_row *row, struct npl_err *err)
{
	double *seconds = context;
	(void)err;
	seconds[row->id] = row->metrics.value[SWEEP_METRIC_seconds];
	return 0;
}

Test(sweep_store, keeps_the_first_of_a_point)
{
	char folder[CLI_PATH];
	struct npl_err err = {0};
	double seconds[3] = {0};
	struct sweep_layer layer = {.name = "conv", .op = "Conv", .ran_on = "tpu_v1", .seconds = 1, .energy_j = NAN};
	struct sweep_outcome with_layers = store_outcome(7);
	with_layers.n_layers = 1;
	with_layers.layer = &layer;
	cli_folder(folder);
	const char *path = cli_path(folder, "r.sqlite");
	struct sweep_store *store = store_open(path);
	store_put(store, 0, 1);
	store_put(store, 0, 2); /* within one transaction */
	cr_assert_eq(sweep_store_put(store, 1, NULL, 0, &with_layers, &err), 0);
	store_commit(store);
	store_put(store, 0, 3);
	layer.name = "other";
	cr_assert_eq(sweep_store_put(store, 1, NULL, 0, &with_layers, &err), 0);
	store_commit(store);
	store_put(store, 2, 4);
	cr_assert_eq(sweep_store_uncommitted(store), 1);
	sweep_store_close(store);
	store = store_open(path);
	store_put(store, 2, 5);
	store_commit(store);
	cr_assert_eq(sweep_store_each(store, 0, INT64_MAX, take_seconds, seconds, &err), 0);
	cr_assert(seconds[0] == 1 && seconds[1] == 7 && seconds[2] == 4);
	sweep_store_close(store);
	cr_assert_eq(
		store_sql(path, "SELECT count(*) FROM layers WHERE point = 1 AND name = 'conv' AND energy_j IS NULL"),
		1);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM layers"), 1);
	cli_remove_folder(folder);
}

static int64_t points_seen(const char *path)
{
	struct sweep_store *store;
	struct sweep_counts counts;
	struct npl_err err = {0};
	cr_assert_eq(sweep_store_read(path, &store, &err), 0, "%s", err.msg);
	cr_assert_eq(sweep_store_count(store, &counts, &err), 0, "%s", err.msg);
	sweep_store_close(store);
	return counts.of_status[SWEEP_DONE];
}

static bool other_puts(const char *path, int64_t from, int64_t to)
{
	const char *differs;
	struct sweep_store *store;
	struct npl_err err;
	bool ok = !sweep_store_open(path, store_facts, STORE_FACTS, &differs, &store, &err);
	for (int64_t id = from; id < to && ok; id++) {
		const struct sweep_outcome outcome = store_outcome((double)id);
		ok = !sweep_store_put(store, id, NULL, 0, &outcome, &err) &&
		     (id % 5 || !sweep_store_commit(store, &err));
	}
	sweep_store_close(store);
	return ok;
}

Test(sweep_store, shows_others_what_is_committed)
{
	char folder[CLI_PATH], byte;
	int to_child[2], from_child[2], status;
	cli_folder(folder);
	const char *path = cli_path(folder, "r.sqlite");
	cr_assert(!pipe(to_child) && !pipe(from_child));
	/* A database that is open may not be taken through a fork: the child opens its own. */
	const pid_t child = fork();
	if (!child) {
		store_end_with_test();
		struct sweep_store *store = store_open(path);
		for (int step = 0; step < 4; step++) {
			if (step == 1)
				store_put(store, 0, 1);
			if (step == 2)
				store_commit(store);
			if (step == 3)
				store_put(store, 1, 1);
			if (write(from_child[1], "1", 1) != 1 || read(to_child[0], &byte, 1) != 1)
				_exit(1);
		}
		sweep_store_close(store);
		_exit(0);
	}
	static const int64_t seen[] = {0, 0, 1, 21};
	for (int step = 0; step < 4; step++) {
		cr_assert_eq(read(from_child[0], &byte, 1), 1);
		cr_assert(step < 3 || other_puts(path, 10, 30), "two write side by side");
		cr_assert_eq(points_seen(path), seen[step], "step %d", step);
		cr_assert_eq(write(to_child[1], "1", 1), 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert_eq(points_seen(path), 22, "closing commits");
	cli_remove_folder(folder);
}

/* Many processes make the same new file at the same time, and fill it. */
Test(sweep_store, is_made_by_one_of_many)
{
	enum { PROCESSES = 8, ROUNDS = 5 };
	for (int round = 0; round < ROUNDS; round++) {
		char folder[CLI_PATH];
		pid_t child[PROCESSES];
		int status;
		cli_folder(folder);
		const char *path = cli_path(folder, "r.sqlite");
		for (int i = 0; i < PROCESSES; i++)
			if (!(child[i] = fork()))
				_exit(other_puts(path, 10 * i, 10 * i + 10) ? 0 : 1);
		for (int i = 0; i < PROCESSES; i++) {
			cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
			cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d", i);
		}
		cr_assert_eq(store_sql(path, "SELECT count(*) FROM points WHERE id = seconds"), 10 * PROCESSES);
		cr_assert_eq(store_sql(path, "SELECT count(*) FROM sweep"), STORE_FACTS);
		cr_assert_eq(store_sql(path, "SELECT count(*) FROM metrics"), SWEEP_METRICS);
		cr_assert_eq(store_sql(path, "SELECT count(*) FROM owners"), 0, "all have left");
		cli_remove_folder(folder);
	}
}

Test(sweep_store, goes_on_with_the_same_facts_alone)
{
	static const struct {
		struct sweep_fact fact[4];
		int n;
		const char *differs;
	} cases[] = {{{{"format", "npulab.sweep/1"}, {"axes", "[1,3]"}, {"shard", ""}}, 3, "axes"},
		     {{{"format", "npulab.sweep/2"}, {"axes", "[1,3]"}, {"shard", ""}}, 3, "format"},
		     {{{"format", "npulab.sweep/1"}, {"axes", "[1,2]"}, {"shard", "1/2"}}, 3, "shard"},
		     {{{"format", "npulab.sweep/1"}, {"new", ""}, {"axes", "[1,3]"}, {"shard", ""}}, 4, "new"}};
	char folder[CLI_PATH];
	struct npl_err err = {0};
	struct npl_arena arena = {0};
	size_t bytes, again;
	cli_folder(folder);
	const char *path = cli_path(folder, "r.sqlite");
	struct sweep_store *store = store_open(path);
	store_put(store, 0, 1);
	sweep_store_close(store);
	char *before = cli_read(path, &bytes);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *differs = NULL;
		cr_assert_eq(sweep_store_open(path, cases[i].fact, cases[i].n, &differs, &store, &err), NPL_EINPUT);
		cr_assert_str_eq(differs, cases[i].differs);
		cr_assert(strstr(err.msg, path) && strstr(err.msg, differs), "%s", err.msg);
		cr_assert_null(store);
		char *after = cli_read(path, &again);
		cr_assert(again == bytes && !memcmp(before, after, bytes), "a refused database has changed");
		free(after);
	}
	cr_assert_eq(cli_count_files(folder), 1);
	store = store_open(path);
	cr_assert_str_eq(sweep_store_fact(store, "axes", &arena), "[1,2]");
	cr_assert_null(sweep_store_fact(store, "axe", &arena));
	sweep_store_close(store);
	free(before);
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}

Test(sweep_store, may_be_in_memory)
{
	struct npl_err err = {0};
	struct sweep_counts counts;
	struct sweep_store *store = store_open(NULL);
	int64_t chunk[4], next, held;
	int n;
	const struct sweep_claim claim = {.end = 3, .step = 1, .wanted = 4};
	cr_assert_eq(sweep_store_claim(store, &claim, 20, chunk, &n, &next, &held, &err), 0, "%s", err.msg);
	cr_assert(n == 3 && !held);
	for (int64_t id = 0; id < 20; id++)
		store_put(store, id, 1);
	store_commit(store);
	cr_assert_eq(sweep_store_count(store, &counts, &err), 0);
	cr_assert_eq(counts.of_status[SWEEP_DONE], 20);
	sweep_store_close(store);
}
