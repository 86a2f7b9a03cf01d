/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab sweep ... --points -`: another program may ask for many points before it reads an answer, and
 * gets one for each, with its id and the figures that a sweep has for the point; lines that are no requests are
 * answered with the reason; and what happens at the end of the input, with very long lines, and where nobody reads. */
#include <poll.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"
#include "tests/kit/sweep_store.h"

/* A sweep that answers. */
struct answering {
	pid_t process;
	int to, from;
	FILE *err;
};

static struct answering start(const char *folder, const char *const *more)
{
	char program[4096], *argv[CLI_ARGUMENTS] = {program, "sweep", "digits", "--device", "tpu_v1", "--points", "-"};
	const char *named = getenv("NPULAB_BIN");
	struct answering a = {.err = tmpfile()};
	int to[2], from[2], n = 7;
	cr_assert(realpath(named && *named ? named : "build/npulab", program) && a.err);
	cr_assert(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	for (; *more; more++)
		argv[n++] = cli_expand(*more, folder);
	fflush(NULL);
	a.process = fork();
	cr_assert(a.process >= 0);
	if (!a.process) {
		alarm(CLI_SECONDS);
		if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0 ||
		    dup2(fileno(a.err), STDERR_FILENO) < 0)
			_exit(126);
		execv(program, argv);
		_exit(127);
	}
	for (int i = 7; i < n; i++)
		free(argv[i]);
	close(to[0]);
	close(from[1]);
	a.to = to[1];
	a.from = from[0];
	signal(SIGPIPE, SIG_IGN);
	return a;
}
#define START(folder, ...) start((folder), (const char *const[]){__VA_ARGS__, NULL})

/* Writes a text, which must be taken within a minute although nothing is read. */
static void put(const struct answering *a, const char *text)
{
	for (size_t left = strlen(text); left;) {
		struct pollfd descriptor = {.fd = a->to, .events = POLLOUT};
		cr_assert_eq(poll(&descriptor, 1, 60000), 1, "the program does not read its input");
		const ssize_t n = write(a->to, text, left < 4096 ? left : 4096);
		cr_assert_gt(n, 0);
		text += n;
		left -= (size_t)n;
	}
}

/* Reads one answer. */
static json_t *get(const struct answering *a)
{
	char line[8192];
	size_t n = 0;
	do {
		cr_assert(n < sizeof line - 1);
		cr_assert_eq(read(a->from, line + n, 1), 1, "no answer");
	} while (line[n++] != '\n');
	line[n] = '\0';
	return cli_parse_json(line);
}

/* Ends the input, and takes the status and what is on standard error. */
static struct cli_result finish(struct answering *a)
{
	struct cli_result r;
	int status;
	close(a->to);
	FILE *from = fdopen(a->from, "r"), *out = open_memstream(&r.out, &r.out_bytes);
	cr_assert(from && out);
	for (int c; (c = fgetc(from)) != EOF;)
		fputc(c, out);
	fclose(from);
	fclose(out);
	cr_assert_eq(waitpid(a->process, &status, 0), a->process);
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	r.err = cli_take(a->err, &r.err_bytes);
	return r;
}

static void check_status(struct answering *a, int status)
{
	struct cli_result r = finish(a);
	cr_assert(r.status == status && !r.err_bytes && !r.out_bytes, "%d: %s%s", r.status, r.err, r.out);
	cli_free(&r);
}

static void check_end(struct answering *a)
{
	check_status(a, 0);
}

/* One question and its answer, and then the next, as a search does. */
Test(sweep_ask, answers_each_question_before_the_next)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options here = {.folder = folder};
	cli_expect(&here, 0, "sweep", "digits", "--device", "tpu_v1", "--vary", "array.rows=16..128*2", "-o",
		   "@/sweep.sqlite", "--quiet");
	struct answering a = START(folder, "--threads", "2");
	for (int i = 3; i >= 0; i--) {
		char line[200];
		snprintf(line, sizeof line, "{\"parameters\":{\"array.rows\":%d}}\n", 16 << i);
		put(&a, line);
		json_t *answer = get(&a);
		cr_assert_eq(cli_integer(cli_at(answer, "id")), 3 - i, "the number of its line");
		cr_assert_str_eq(cli_text(cli_at(answer, "status")), "done");
		cr_assert(json_is_true(cli_at(answer, "feasible")));
		snprintf(line, sizeof line, "SELECT seconds = %.17g AND energy_j = %.17g FROM points WHERE id = %d",
			 cli_number(cli_at(answer, "metrics.seconds")), cli_number(cli_at(answer, "metrics.energy_j")),
			 i);
		cr_assert_eq(store_sql(cli_path(folder, "sweep.sqlite"), line), 1, "%s", line);
		json_decref(answer);
	}
	check_end(&a);
	cli_remove_folder(folder);
}

/* Far more questions than pipes take answers: nobody waits for the other. Each id is answered once, and the points are
 * in the file, in the order in which they ended. */
Test(sweep_ask, takes_many_questions_before_answers_are_read)
{
	enum { QUESTIONS = 3000 };
	char folder[CLI_PATH];
	static int answered[QUESTIONS];
	cli_folder(folder);
	struct answering a = START(folder, "--threads", "3", "-o", "@/r.sqlite");
	for (int i = 0; i < QUESTIONS; i++) {
		char line[200];
		snprintf(line, sizeof line, "{\"id\":%d,\"parameters\":{\"array.rows\":%d,\"host.cores\":%d}}\n",
			 7 + 3 * i, 16 + i % 8, 1 + i / 8);
		put(&a, line);
	}
	for (int i = 0; i < QUESTIONS; i++) {
		json_t *answer = get(&a);
		const long long id = cli_integer(cli_at(answer, "id"));
		cr_assert(id >= 7 && id < 7 + 3 * QUESTIONS && (id - 7) % 3 == 0);
		cr_assert_str_eq(cli_text(cli_at(answer, "status")), "done");
		answered[(id - 7) / 3]++;
		json_decref(answer);
	}
	check_end(&a);
	for (int i = 0; i < QUESTIONS; i++)
		cr_assert_eq(answered[i], 1, "question %d: %d answers", i, answered[i]);
	const char *path = cli_path(folder, "r.sqlite");
	cr_assert_eq(store_sql(path, "SELECT count(*) FROM points WHERE status = 'done'"), QUESTIONS);
	cr_assert_eq(store_sql(path, "SELECT max(id) FROM points"), QUESTIONS - 1);
	cr_assert_eq(store_sql(path, "SELECT count(DISTINCT parameters) FROM points"), QUESTIONS);
	cli_remove_folder(folder);
}

/* A file of points that were asked for goes on, with ids behind those that are there. */
Test(sweep_ask, adds_to_a_file)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int turn = 0; turn < 3; turn++) {
		struct answering a = START(folder, "-o", "@/r.sqlite");
		put(&a, "{\"parameters\":{\"array.rows\":64}}\n{\"parameters\":{\"array.rows\":32}}\n");
		json_decref(get(&a));
		json_decref(get(&a));
		check_end(&a);
		cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) + max(id) FROM points"),
			     2 * (turn + 1) + 2 * turn + 1);
	}
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "sweep", "status", "@/r.sqlite");
	cr_assert(cli_says(r.out, "6 points: 6 done (6 meet the constraints)"), "%s%s", r.out, r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(sweep_ask, answers_what_is_no_request_with_the_reason)
{
	static const struct {
		const char *line;
		int id;
		const char *reason;
	} cases[] = {
		{"hello", 0, "line 1: column 5: this is no JSON"},
		{"[1]", 1, "line 2: expected an object of JSON"},
		{"{\"id\":40}", 40, "line 3: expected \"parameters\""},
		{"{\"id\":41,\"parameters\":{\"array.rows\":[1]}}", 41, "line 4: parameter 'array.rows': expected"},
		{"{\"id\":-4,\"parameters\":{}}", 4, "line 5: id: expected a whole number from 0 on"},
		{"{\"id\":\"a\",\"parameters\":{}}", 5, "line 6: id: expected a whole number"},
		{"{\"id\":42,\"parameters\":{\"array.row\":5}}", 42, "array.row"},
		{"{\"id\":43,\"parameters\":{\"array.rows\":0}}", 43, "array.rows"},
		{"{\"id\":44,\"parameters\":{\"device\":\"diannao\"}}", 44, "device 'diannao'"}};
	struct answering a = START(NULL, "--threads", "1");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		put(&a, cases[i].line);
		put(&a, "\n");
		json_t *answer = get(&a);
		cr_assert_eq(cli_integer(cli_at(answer, "id")), cases[i].id, "%s", cases[i].line);
		cr_assert_str_eq(cli_text(cli_at(answer, "status")), "failed");
		cr_assert(json_is_false(cli_at(answer, "feasible")) && !json_object_size(cli_at(answer, "metrics")));
		cr_assert(strstr(cli_text(cli_at(answer, "reason")), cases[i].reason), "%s: %s", cases[i].line,
			  cli_text(cli_at(answer, "reason")));
		json_decref(answer);
	}
	put(&a, "{\"parameters\":{}}\n");
	json_t *answer = get(&a);
	cr_assert_str_eq(cli_text(cli_at(answer, "status")), "done");
	cr_assert_eq(cli_integer(cli_at(answer, "id")), 9);
	json_decref(answer);
	check_end(&a);
}

/* Lines of blanks ask for nothing, also where they fill a buffer; a last line needs no line break. */
Test(sweep_ask, takes_blank_lines_and_a_last_line_without_its_end)
{
	struct answering a = START(NULL, "--threads", "1");
	char *blanks = malloc(65537);
	cr_assert(blanks);
	memset(blanks, ' ', 65535);
	strcpy(blanks + 65535, "\n");
	put(&a, blanks);
	put(&a, "\n \t\r\n");
	put(&a, blanks);
	put(&a, "{\"parameters\":{}}");
	struct cli_result r = finish(&a);
	cr_assert(!r.status && !r.err_bytes, "%d: %s", r.status, r.err);
	json_t *answer = cli_parse_json(r.out);
	cr_assert_eq(cli_integer(cli_at(answer, "id")), 4);
	json_decref(answer);
	free(blanks);
	cli_free(&r);
}

/* A line with this many bytes, all but a request of them blanks. */
static char *long_line(size_t bytes)
{
	static const char request[] = "{\"id\":5,\"parameters\":{}}";
	char *line = malloc(bytes + 2);
	cr_assert(line);
	memset(line, ' ', bytes);
	memcpy(line, request, sizeof request - 1);
	strcpy(line + bytes, "\n");
	return line;
}

Test(sweep_ask, has_a_limit_for_lines)
{
	char *longest = long_line(1 << 20), *longer = long_line((1 << 20) + 1);
	struct answering a = START(NULL, "--threads", "1");
	put(&a, longest);
	json_t *answer = get(&a);
	cr_assert_eq(cli_integer(cli_at(answer, "id")), 5);
	json_decref(answer);
	put(&a, longer);
	struct cli_result r = finish(&a);
	cli_check_refusal(&r, 3, "points: line 2: expected at most 1048576 bytes", "a line that is too long");
	cli_free(&r);
	/* and one that never ends */
	a = START(NULL, "--threads", "1");
	longest[1 << 20] = ' ';
	for (int i = 0; i < 3; i++)
		if (write(a.to, longest, 1 << 20) < 0)
			break;
	r = finish(&a);
	cli_check_refusal(&r, 3, "points: line 1: expected at most 1048576 bytes", "a line without an end");
	cli_free(&r);
	free(longest);
	free(longer);
}

/* Answers that cannot be written end the sweep. What was run before is in the file. */
Test(sweep_ask, ends_where_nobody_reads)
{
	char folder[CLI_PATH], out[CLI_PATH + 300];
	cli_folder(folder);
	cli_write_text(folder, "ask", "{\"parameters\":{}}\n{\"parameters\":{\"array.rows\":64}}\n");
	const char *named = getenv("NPULAB_BIN");
	snprintf(out, sizeof out, "%s", named && *named ? named : "build/npulab");
	char *said = shell("%s %s sweep digits --device tpu_v1 --points - --threads 1 -o %s/r.sqlite < %s/ask "
			   "2>&1 >/dev/full | cat",
			   cli_runner(), out, folder, folder);
	cr_assert(strstr(said, "npulab: an answer could not be written: No space left on device"), "%s", said);
	free(said);
	cr_assert_geq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), 1);
	struct answering a = START(folder, "--threads", "1");
	close(a.from);
	for (int i = 0; i < 200; i++)
		if (write(a.to, "{\"parameters\":{}}\n", 18) < 0)
			break;
	close(a.to);
	int status;
	cr_assert_eq(waitpid(a.process, &status, 0), a.process);
	cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGPIPE : WEXITSTATUS(status) == 5, "%d", status);
	fclose(a.err);
	cli_remove_folder(folder);
}

/* An interrupt ends it with what is done, in the file too. */
Test(sweep_ask, ends_with_an_interrupt)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct answering a = START(folder, "--threads", "1", "-o", "@/r.sqlite");
	put(&a, "{\"parameters\":{\"array.rows\":64}}\n");
	json_decref(get(&a));
	cr_assert_eq(kill(a.process, SIGINT), 0);
	check_status(&a, -SIGINT);
	cr_assert_eq(store_sql(cli_path(folder, "r.sqlite"), "SELECT count(*) FROM points"), 1);
	cli_remove_folder(folder);
}

/* examples/optimise.py, with few points, finds no worse than the machine that it begins with, and the same again. */
Test(sweep_ask, serves_the_example)
{
	const char *named = getenv("NPULAB_BIN"), *program = named && *named ? named : "build/npulab";
	struct answering a = START(NULL, "--threads", "1");
	check_end(&a);
	char *none = shell("python3 examples/optimise.py %s 0", program),
	     *some = shell("python3 examples/optimise.py %s 40", program),
	     *again = shell("python3 examples/optimise.py %s 40", program), *end;
	const double first = strtod(none, NULL), best = strtod(some, &end);
	cr_assert(!strncmp(end, " J s: {", 7), "%s", some);
	cr_assert(best > 0 && best < first, "%s%s", none, some);
	cr_assert_str_eq(some, again);
	json_t *machine = cli_parse_json(strchr(some, '{'));
	cr_assert_eq(json_object_size(machine), 4);
	json_decref(machine);
	free(none);
	free(some);
	free(again);
}
