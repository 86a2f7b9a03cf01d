/* SPDX-License-Identifier: MIT
 *
 * Promises of a sweep that ends before its time, and goes on: killed at any moment, interrupted, on a full disk, with
 * workers that are killed, or shared by several processes. In the end the database has the rows of a sweep that nothing
 * disturbed, each once. */
#include <ctype.h>
#include <math.h>
#include <time.h>

#include "core/computer/clock.h"
#include "tests/kit/sweep_store.h"

#define LAYERS 12 /* of the network */

/* A plan with 8 points for each value of its batch, and 12 rows of layers for each of them that runs. */
static void write_plan(const char *folder, int batches)
{
	char text[400];
	snprintf(text, sizeof text,
		 "model: digits\ndevice: tpu_v1\nbatch: 1..%d\nlayers: true\n"
		 "vary: {array.rows: 16..128*2, clock_hz: '5e8,7e8'}\n",
		 batches);
	cli_write_text(folder, "plan.yaml", text);
}
#define POINTS_OF(batches) (8 * (batches))

/* A sweep that runs. */
struct started {
	pid_t process;
	FILE *out, *err;
};

static struct started start(const char *folder, const char *const *args, const struct cli_run_options *options)
{
	char program[4096], *argv[CLI_ARGUMENTS + 2] = {0};
	const char *named = getenv("NPULAB_BIN");
	struct started s = {.out = tmpfile(), .err = tmpfile()};
	cr_assert(s.out && s.err && realpath(named && *named ? named : "build/npulab", program));
	argv[0] = program;
	for (int n = 0; args[n]; n++)
		argv[n + 1] = cli_expand(args[n], folder);
	fflush(NULL);
	s.process = fork();
	cr_assert(s.process >= 0);
	if (!s.process)
		cli_start(program, argv, options, fileno(s.out), fileno(s.err));
	for (int n = 1; argv[n]; n++)
		free(argv[n]);
	return s;
}
#define START(folder, ...)                                                                                             \
	start((folder), (const char *const[]){"sweep", "@/plan.yaml", __VA_ARGS__, NULL}, &(struct cli_run_options){0})

static struct cli_result finish(struct started *s)
{
	struct cli_result r;
	int status;
	cr_assert_eq(waitpid(s->process, &status, 0), s->process);
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	r.out = cli_take(s->out, &r.out_bytes);
	r.err = cli_take(s->err, &r.err_bytes);
	return r;
}

static void wait_seconds(double seconds)
{
	nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)}, NULL);
}

/* Whether the two databases of the folder are the same. */
static void check_same(const char *folder, int batches)
{
	const char *path = cli_path(folder, "r.sqlite"), *undisturbed = cli_path(folder, "u.sqlite");
	store_check_same(path, undisturbed, "points", POINTS_OF(batches));
	store_check_same(path, undisturbed, "layers", (int64_t)LAYERS * POINTS_OF(batches));
	store_check_same(path, undisturbed, "sweep", store_sql(path, "SELECT count(*) FROM sweep"));
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM claims") + store_sql(path, "SELECT count(*) FROM owners"),
		     0);
}

static bool is_late(int turn)
{
	return turn % 6 == 2;
}

/* Random moments: while it starts, before its first commit, and now and then around later ones, which a slow computer
 * reaches later. */
static double draw_moment(uint64_t *rng, int turn, double slowness)
{
	const double share = (double)test_range(rng, 0, 1000) / 1000;
	return turn % 3 == 0 ? 0.08 * share : is_late(turn) ? slowness * (0.5 + 0.2 * share) : 0.3 * share;
}

/* The points that a database has; 0: it is not made yet. */
static int64_t points_kept(const char *folder)
{
	sqlite3 *db;
	sqlite3_stmt *statement = NULL;
	int64_t n = 0;
	if (!sqlite3_open_v2(cli_path(folder, "r.sqlite"), &db, SQLITE_OPEN_READWRITE, NULL) &&
	    !sqlite3_prepare_v2(db, "SELECT count(*) FROM points", -1, &statement, NULL) &&
	    sqlite3_step(statement) == SQLITE_ROW)
		n = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return n;
}

/* More turns by hand: NPULAB_SWEEP_KILLS=50. */
Test(sweep_ends, goes_on_however_it_was_ended)
{
	enum { BATCHES = TEST_SANITIZED ? 200 : 1000 }; /* long enough to be ended ten times */
	const char *asked = getenv("NPULAB_SWEEP_KILLS");
	const int turns = asked ? atoi(asked) : 13;
	const uint64_t seed = asked ? (uint64_t)time(NULL) : 41;
	uint64_t rng = seed;
	int killed = 0;
	double slowness = 1;
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, BATCHES);
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o", "@/u.sqlite",
		   "--quiet");
	for (int turn = 0; turn < turns || (!points_kept(folder) && turn < 60); turn++) {
		struct started s = START(folder, "-o", "@/r.sqlite", "--quiet");
		const int number = turn == 4 ? SIGINT : turn == 7 ? SIGTERM : SIGKILL;
		wait_seconds(draw_moment(&rng, turn, slowness));
		kill(s.process, number);
		struct cli_result r = finish(&s);
		cr_assert(r.status == -number || r.status >= 0, "seed %llu: %d, %s", (unsigned long long)seed, r.status,
			  r.err);
		killed += r.status == -SIGKILL;
		slowness *= is_late(turn) && !points_kept(folder) ? 1.5 : 1;
		cli_free(&r);
	}
	cr_assert(asked || killed >= 10, "the sweep was over before it was killed ten times: %d", killed);
	const int64_t before = points_kept(folder);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "sweep", "@/plan.yaml", "-o",
				      "@/r.sqlite");
	cr_assert_eq(r.status, 0, "%s", r.err);
	char expected[100];
	snprintf(expected, sizeof expected, "\n%lld run now in ", (long long)(POINTS_OF(BATCHES) - before));
	cr_assert(before == POINTS_OF(BATCHES) || strstr(r.out, expected), "%s: %s", expected, r.out);
	cr_assert_gt(before, 0, "nothing was kept over %d ends", turns);
	cli_free(&r);
	check_same(folder, BATCHES);
	cli_remove_folder(folder);
}

/* A child of a process; 0: it has none. */
static pid_t child_of(pid_t parent)
{
	char path[64];
	int child = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
	FILE *file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%d", &child) != 1)
			child = 0;
		fclose(file);
	}
	return child;
}

/* The number before a text in what was printed. */
static int number_before(const char *printed, const char *text)
{
	const char *at = strstr(printed, text);
	cr_assert(at, "no '%s' in: %s", text, printed);
	while (at > printed && isdigit((unsigned char)at[-1]))
		at--;
	return atoi(at);
}

/* The first interrupt ends the sweep with what is done, in the table as in the database. Who started it sees the
 * signal. */
Test(sweep_ends, an_interrupt_keeps_what_is_done)
{
	enum { BATCHES = 2000 };
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, BATCHES);
	struct started s = START(folder, "-o", "@/r.sqlite");
	while (!child_of(s.process)) /* it has no workers yet */
		wait_seconds(0.01);
	wait_seconds(0.4);
	const double begun = npl_clock_seconds();
	kill(s.process, SIGINT);
	struct cli_result r = finish(&s);
	cr_assert_lt(npl_clock_seconds() - begun, 20, "it did not end");
	cr_assert_eq(r.status, -SIGINT, "%d: %s", r.status, r.err);
	const int done = number_before(r.out, " of 16000 points");
	cr_assert(done > 0 && done < POINTS_OF(BATCHES), "%s", r.out);
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), done);
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM claims"), 0);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Several processes work on one file: each runs a part, and none waits for what another has done. */
Test(sweep_ends, several_processes_share_a_file)
{
	enum { BATCHES = TEST_SANITIZED ? 60 : 400, PROCESSES = 3 };
	char folder[CLI_PATH];
	struct started s[PROCESSES];
	int ran = 0, at_work = 0;
	cli_folder(folder);
	write_plan(folder, BATCHES);
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o", "@/u.sqlite",
		   "--quiet");
	for (int i = 0; i < PROCESSES; i++)
		s[i] = START(folder, "-o", "@/r.sqlite", "--threads", "1");
	for (int i = 0; i < PROCESSES; i++) {
		struct cli_result r = finish(&s[i]);
		cr_assert_eq(r.status, 0, "%s", r.err);
		char counted[60];
		snprintf(counted, sizeof counted, " of %d points: %d done", (int)POINTS_OF(BATCHES),
			 (int)POINTS_OF(BATCHES));
		cr_assert_eq(number_before(r.out, counted), POINTS_OF(BATCHES));
		const int n = strstr(r.out, " run now") ? number_before(r.out, " run now") : 0;
		ran += n;
		at_work += n > 0;
		cli_free(&r);
	}
	cr_assert_eq(ran, POINTS_OF(BATCHES), "%d points were run", ran);
	cr_assert_geq(at_work, 2, "one did it all");
	check_same(folder, BATCHES);
	cli_remove_folder(folder);
}

/* A process that is killed beside another leaves its points to that one. */
Test(sweep_ends, another_process_takes_what_a_killed_one_left)
{
	enum { BATCHES = TEST_SANITIZED ? 60 : 240 };
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, BATCHES);
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o", "@/u.sqlite",
		   "--quiet");
	struct started first = START(folder, "-o", "@/r.sqlite", "--threads", "1"),
		       second = START(folder, "-o", "@/r.sqlite", "--threads", "1");
	wait_seconds(0.3);
	kill(first.process, SIGKILL);
	struct cli_result r = finish(&first), other = finish(&second);
	cr_assert_eq(r.status, -SIGKILL);
	cr_assert_eq(other.status, 0, "%s", other.err);
	check_same(folder, BATCHES);
	cli_free(&r);
	cli_free(&other);
	cli_remove_folder(folder);
}

/* A worker that is killed costs at most the point that it was at, which says so; the sweep goes on. */
Test(sweep_ends, goes_on_without_a_worker)
{
	enum { BATCHES = 90, KILLS = 4 };
	char folder[CLI_PATH];
	int killed = 0;
	cli_folder(folder);
	write_plan(folder, BATCHES);
	struct started s = START(folder, "-o", "@/r.sqlite", "--threads", "2");
	for (siginfo_t ended = {0}; killed < KILLS && !ended.si_pid;) {
		wait_seconds(0.08);
		const pid_t worker = child_of(s.process);
		killed += worker && !kill(worker, SIGKILL);
		cr_assert_eq(waitid(P_PID, (id_t)s.process, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
	}
	struct cli_result r = finish(&s);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert_gt(killed, 0);
	const char *path = cli_path(folder, "r.sqlite");
	const int64_t failed = store_sql(path, "SELECT count(*) FROM points WHERE status = 'failed' AND reason = "
					       "'the process that ran it was ended by the signal 9 (Killed)'");
	cr_assert(failed <= killed, "%d of %d killed", (int)failed, killed);
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points WHERE status = 'done'") + failed, POINTS_OF(BATCHES));
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A full disk ends the sweep with its message; what was kept is there, and it goes on when there is room. */
Test(sweep_ends, goes_on_after_a_full_disk)
{
	enum { BATCHES = 60 };
	static const size_t sizes[] = {20000, 70000, 200000};
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, BATCHES);
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o", "@/u.sqlite",
		   "--quiet");
	for (int i = 0; i < 3; i++) {
		const struct cli_run_options small = {.folder = folder, .largest_file = sizes[i]};
		struct cli_result r = cli_run(&small, "sweep", "@/plan.yaml", "-o", "@/r.sqlite", "--quiet");
		cli_check_refusal(&r, 5, "/r.sqlite: ", "a full disk");
		cli_free(&r);
	}
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o", "@/r.sqlite",
		   "--quiet");
	check_same(folder, BATCHES);
	cli_remove_folder(folder);
}

/* Where standard output cannot be written the results are kept all the same. */
Test(sweep_ends, keeps_results_that_cannot_be_printed)
{
	enum { BATCHES = 3 };
	char folder[CLI_PATH];
	cli_folder(folder);
	write_plan(folder, BATCHES);
	const struct cli_run_options full = {.folder = folder, .stdout_to = "/dev/full"};
	struct cli_result r = cli_run(&full, "sweep", "@/plan.yaml", "-o", "@/r.sqlite");
	cli_check_refusal(&r, 5, "standard output could not be written", "/dev/full");
	cli_free(&r);
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), POINTS_OF(BATCHES));
	cli_remove_folder(folder);
}

/* The parts of a sweep have the rows of the whole between them. */
Test(sweep_ends, shards_are_the_whole)
{
	enum { BATCHES = 7 };
	char folder[CLI_PATH];
	char name[20];
	cli_folder(folder);
	write_plan(folder, BATCHES);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/u.sqlite", "--quiet");
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/1.sqlite", "--quiet", "--shard", "1/3");
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/2.sqlite", "--quiet", "--shard", "2/3");
	cli_expect(&here, 0, "sweep", "@/plan.yaml", "-o", "@/3.sqlite", "--quiet", "--shard", "3/3");
	int64_t n[4];
	char *rows[4], *whole = store_rows(cli_path(folder, "u.sqlite"), "points", &n[3]);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%d.sqlite", i + 1);
		rows[i] = store_rows(cli_path(folder, name), "points", &n[i]);
	}
	cr_assert_eq(n[0] + n[1] + n[2], n[3]);
	cr_assert(n[0] == 24 && n[1] == 16 && n[2] == 16);
	for (int i = 0; i < 3; i++) {
		for (char *line = strtok(rows[i], "\n"); line; line = strtok(NULL, "\n"))
			cr_assert(strstr(whole, line), "another row: %s", line);
		free(rows[i]);
	}
	free(whole);
	cli_check_refusals(folder,
			   (const struct cli_refusal[]){
				   {3,
				    "1.sqlite: it has the results of a sweep with other shard",
				    {"sweep", "@/plan.yaml", "-o", "@/1.sqlite", "--shard", "2/3", NULL}},
				   {2, "--shard 0/3: expected I/N", {"sweep", "@/plan.yaml", "--shard", "0/3", NULL}},
				   {2, "--shard 4/3: expected I/N", {"sweep", "@/plan.yaml", "--shard", "4/3", NULL}}},
			   3);
	cli_remove_folder(folder);
}
