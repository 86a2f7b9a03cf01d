/* SPDX-License-Identifier: MIT
 *
 * Promises of npulab-mpi: a sweep on the ranks of an MPI job gives the rows of one process; a job that lost a rank
 * ends, and the next one goes on with the rest; other programs' points and databases are served as by npulab; and what
 * is wrong is said once, by rank 0.
 *
 * Skipped where there is no mpirun or no npulab-mpi beside the program (`make mpi`, `scripts/install-deps.sh mpi`).
 * With NPULAB_MPI_REQUIRED that is a failure. */
#include <time.h>

#include "tests/kit/shell.h"
#include "tests/kit/sweep_store.h"

#define MPIRUN "mpirun -n %d --oversubscribe --allow-run-as-root"

static void skip(const char *why)
{
	const char *required = getenv("NPULAB_MPI_REQUIRED");
	cr_assert(!required || !*required, "%s", why);
	cr_skip_test("%s", why);
}

/* The program for clusters, beside the one under test. */
static void find_program(char program[CLI_PATH + 20])
{
	char folder[CLI_PATH];
	if (cli_no_limits())
		skip("a sanitizer or an emulator would run MPI itself");
	build_folder(folder);
	snprintf(program, CLI_PATH + 20, "%s/npulab-mpi", folder);
	if (access(program, X_OK))
		skip("there is no npulab-mpi (make mpi, scripts/install-deps.sh mpi)");
	if (system("command -v mpirun > /dev/null"))
		skip("there is no mpirun (scripts/install-deps.sh mpi)");
}

/* A job; what it printed, on standard error too, and its exit status when it has ended. */
struct job {
	FILE *pipe;
	char *out;
	int status;
};

static struct job start_job(int ranks, const char *program, const char *folder, const char *args)
{
	char command[3000];
	char *arguments = cli_expand(args, folder);
	const int n = snprintf(command, sizeof command, MPIRUN " %s %s < /dev/null 2>&1", ranks, program, arguments);
	cr_assert(n > 0 && n < (int)sizeof command);
	const struct job job = {.pipe = popen(command, "r")};
	cr_assert(job.pipe);
	free(arguments);
	return job;
}

static void finish_job(struct job *job)
{
	size_t bytes;
	FILE *out = open_memstream(&job->out, &bytes);
	cr_assert(out);
	for (int c; (c = fgetc(job->pipe)) != EOF;)
		fputc(c, out);
	fclose(out);
	const int status = pclose(job->pipe);
	job->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_job(int ranks, const char *program, const char *folder, const char *args, const char *expected)
{
	struct job job = start_job(ranks, program, folder, args);
	finish_job(&job);
	cr_assert(!job.status && strstr(job.out, expected), "%s: status %d, %s", args, job.status, job.out);
	free(job.out);
}

static void check_same(const char *folder, const char *name, int points, int layers)
{
	const char *path = cli_path(folder, name), *alone = cli_path(folder, "alone.sqlite");
	store_check_same(path, alone, "points", points);
	store_check_same(path, alone, "layers", layers);
	store_check_same(path, alone, "sweep", store_sql(alone, "SELECT count(*) FROM sweep"));
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM claims"), 0);
}

Test(cluster, has_the_rows_of_one_process)
{
	static const struct {
		const char *plan;
		int points, layers;
	} cases[] = {
		{"model: digits\ndevice: [tpu_v1, diannao]\nbatch: 1..25\nlayers: true\n"
		 "vary: {tpu_v1.array.rows: [0, 64]}\nconstraint: seconds < 1e-4\n",
		 75, 12 * 50},
		{"model: digits\ndevice: tpu_v1\nbatch: 1..20\nvary: {array.rows: 8..128+8, clock_hz: [5e8, 7e8]}\n"
		 "constraint: area_mm2 < 280\nminimise: [seconds, energy_j]\nmethod: evolution\npoints: 100\n",
		 100, 0}};
	char program[CLI_PATH + 20], folder[CLI_PATH];
	find_program(program);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cli_folder(folder);
		cli_write_text(folder, "plan.yaml", cases[i].plan);
		cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o",
			   "@/alone.sqlite", "--quiet", "--threads", "1");
		expect_job(3, program, folder, "sweep @/plan.yaml -o @/r.sqlite", " run now in ");
		check_same(folder, "r.sqlite", cases[i].points, cases[i].layers);
		/* another number of ranks; and what is complete needs no ranks */
		expect_job(2, program, folder, "sweep @/plan.yaml -o @/2.sqlite --quiet", "");
		check_same(folder, "2.sqlite", cases[i].points, cases[i].layers);
		expect_job(2, program, folder, "sweep @/plan.yaml -o @/alone.sqlite", "Pareto front: ");
		cli_remove_folder(folder);
	}
}

/* ---- Ranks that are lost. */

/* The rank of a process; -1: it is none. */
static int rank_of(pid_t process)
{
	static const char name[] = "OMPI_COMM_WORLD_RANK=";
	char path[64];
	int rank = -1;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
	FILE *file = fopen(path, "r");
	char *variable = NULL;
	size_t capacity = 0;
	while (file && getdelim(&variable, &capacity, '\0', file) > 0)
		if (!strncmp(variable, name, sizeof name - 1))
			rank = atoi(variable + sizeof name - 1);
	free(variable);
	if (file)
		fclose(file);
	return rank;
}

/* The process of a rank below mpirun; 0: it is not there yet. */
static pid_t process_of(pid_t mpirun, int rank)
{
	char path[64];
	int child, found = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)mpirun, (int)mpirun);
	FILE *file = fopen(path, "r");
	while (file && !found && fscanf(file, "%d", &child) == 1)
		found = rank_of(child) == rank ? child : 0;
	if (file)
		fclose(file);
	return found;
}

static int64_t points_kept(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *statement = NULL;
	int64_t n = 0;
	if (!sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) &&
	    !sqlite3_prepare_v2(db, "SELECT count(*) FROM points", -1, &statement, NULL) &&
	    sqlite3_step(statement) == SQLITE_ROW)
		n = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return n;
}

/* Starts a job, and kills one of its ranks when there are more points than before; returns the status of the job. */
static int kill_rank(const char *program, const char *folder, int rank)
{
	const char *path = cli_path(folder, "r.sqlite");
	const int64_t before = points_kept(path);
	char plan[CLI_PATH + 300], results[CLI_PATH + 300];
	int status;
	snprintf(plan, sizeof plan, "%s/plan.yaml", folder);
	snprintf(results, sizeof results, "%s/r.sqlite", folder);
	fflush(NULL);
	const pid_t mpirun = fork();
	cr_assert(mpirun >= 0);
	if (!mpirun) {
		const int null = open("/dev/null", O_RDWR);
		alarm(CLI_SECONDS);
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		execlp("mpirun", "mpirun", "-n", "3", "--oversubscribe", "--allow-run-as-root", program, "sweep", plan,
		       "-o", results, "--quiet", (char *)NULL);
		_exit(127);
	}
	pid_t lost = 0;
	while ((!lost || points_kept(path) == before) && !waitpid(mpirun, &status, WNOHANG)) {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		lost = process_of(mpirun, rank);
	}
	cr_assert(lost && points_kept(path) > before, "the job was over before rank %d could be killed", rank);
	kill(lost, SIGKILL);
	cr_assert_eq(waitpid(mpirun, &status, 0), mpirun);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A worker and then rank 0 itself are killed: the job ends, what was committed is there, and the next jobs run the
 * rest. */
Test(cluster, goes_on_after_a_rank_was_lost)
{
	enum { POINTS = 16 * 240 };
	char program[CLI_PATH + 20], folder[CLI_PATH], expected[60];
	find_program(program);
	cli_folder(folder);
	cli_write_text(folder, "plan.yaml",
		       "model: digits\ndevice: tpu_v1\nbatch: 1..240\n"
		       "vary: {array.rows: 16..128+16, clock_hz: '5e8,7e8'}\n");
	cli_expect(&(struct cli_run_options){.folder = folder}, 0, "sweep", "@/plan.yaml", "-o", "@/alone.sqlite",
		   "--quiet");
	cr_assert_neq(kill_rank(program, folder, 2), 0, "a job that lost a worker ended well");
	cr_assert_neq(kill_rank(program, folder, 0), 0, "a job that lost rank 0 ended well");
	const int64_t kept = points_kept(cli_path(folder, "r.sqlite"));
	cr_assert(kept > 0 && kept < POINTS, "%d points", (int)kept);
	snprintf(expected, sizeof expected, "\n%d run now in ", (int)(POINTS - kept));
	expect_job(3, program, folder, "sweep @/plan.yaml -o @/r.sqlite", expected);
	check_same(folder, "r.sqlite", POINTS, 0);
	cli_remove_folder(folder);
}

/* ---- What rank 0 says. */

static int count_texts(const char *printed, const char *text)
{
	int n = 0;
	for (const char *at = printed; (at = strstr(at, text)); at++)
		n++;
	return n;
}

Test(cluster, says_once_what_is_wrong)
{
	static const struct {
		int ranks, status;
		const char *args, *expected;
	} cases[] = {{3, 3, "sweep @/bad.yaml", "bad.yaml:3: tpu_v1 has no parameter 'array.row'"},
		     {3, 2, "sweep digits --device tpu_v2", "there is no device 'tpu_v2'"},
		     {2, 5, "sweep digits --device tpu_v1 -o @/none/r.sqlite", "/none/r.sqlite"},
		     {2, 3, "sweep status @/none.sqlite", "/none.sqlite"},
		     {2, 2, "compare digits", "npulab-mpi runs sweeps alone"},
		     {1, 2, "sweep digits --device tpu_v1", "npulab-mpi has one rank: expected two or more"}};
	enum { CASES = sizeof cases / sizeof *cases };
	struct job job[CASES];
	char program[CLI_PATH + 20], folder[CLI_PATH];
	find_program(program);
	cli_folder(folder);
	cli_write_text(folder, "bad.yaml", "model: digits\ndevice: tpu_v1\nvary: {array.row: 1..4}\n");
	/* All at once: mpirun takes two seconds to end a job that failed. */
	for (size_t i = 0; i < CASES; i++)
		job[i] = start_job(cases[i].ranks, program, folder, cases[i].args);
	for (size_t i = 0; i < CASES; i++) {
		finish_job(&job[i]);
		cr_assert_eq(job[i].status, cases[i].status, "%s: status %d, %s", cases[i].args, job[i].status,
			     job[i].out);
		cr_assert(strstr(job[i].out, cases[i].expected), "%s: %s", cases[i].args, job[i].out);
		cr_assert_eq(count_texts(job[i].out, "npulab: "), 1, "%s: %s", cases[i].args, job[i].out);
		free(job[i].out);
	}
	cr_assert_eq(cli_count_files(folder), 1);
	cli_remove_folder(folder);
}

/* The other things that a sweep does are done by rank 0, or on all ranks. */
Test(cluster, does_all_that_a_sweep_does)
{
	char program[CLI_PATH + 20], folder[CLI_PATH];
	find_program(program);
	cli_folder(folder);
	expect_job(2, program, folder, "sweep digits --device tpu_v1 --batch 1..9 --shard 1/2 -o @/1.sqlite",
		   "8 of 8 points");
	expect_job(2, program, folder, "sweep status @/1.sqlite", "this is shard 1/2");
	expect_job(2, program, folder, "sweep merge -o @/all.sqlite @/1.sqlite", "8 of 9 points");
	expect_job(3, program, folder, "sweep tpu_batch --dry-run", "40 points of method grid");
	char *out = shell("echo '{\"id\":3,\"parameters\":{\"array.rows\":64}}' | " MPIRUN
			  " %s sweep digits --device tpu_v1 --points - -o %s/asked.sqlite",
			  3, program, folder);
	cr_assert(!strncmp(out, "{\"id\":3,\"status\":\"done\"", 23) && count_texts(out, "\n") == 1, "%s", out);
	cr_assert_eq(store_sql(cli_path(folder, "asked.sqlite"), "SELECT count(*) FROM points"), 1);
	free(out);
	cli_remove_folder(folder);
}
