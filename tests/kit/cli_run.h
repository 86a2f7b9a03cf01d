/* SPDX-License-Identifier: MIT
 *
 * Runs the program as a person would: a child process with arguments, whose standard output, standard error and exit
 * status come back. The program is the one that the environment variable NPULAB_BIN names, build/npulab otherwise. A
 * child that does not end in time is killed and counts as failed. Also a folder of its own for each test's files, whose
 * path stands for every '@' in the arguments. With NPULAB_TEST_RUNNER (tests/test_runner.c) it runs on an emulated
 * processor.
 *
 *     char folder[CLI_PATH];
 *     cli_folder(folder);
 *     struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "@/net.onnx");
 *     cr_assert_eq(r.status, 0, "%s", r.err);
 *     cli_free(&r);
 *     cli_remove_folder(folder);
 */
#ifndef NPULAB_TESTS_KIT_CLI_RUN_H
#define NPULAB_TESTS_KIT_CLI_RUN_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnx_writer.h"
#include "support.h"

#define CLI_PATH      512
#define CLI_SECONDS   300 /* far more than any call takes, also under the sanitizers */
#define CLI_SLOWER    20  /* an emulated processor is at most so many times slower than this one */
#define CLI_ARGUMENTS 40

#define MNIST  "../shared/models/mnist-8"
#define RESNET "../shared/models/light/light_resnet50.onnx"

/* The command that programs are started through, "": none. */
static inline const char *cli_runner(void)
{
	const char *runner = getenv("NPULAB_TEST_RUNNER");
	return runner ? runner : "";
}

/* Says whether a child's address space cannot be limited: a sanitizer takes terabytes of it, and qemu's user mode
 * ignores the limit. */
static inline bool cli_no_limits(void)
{
	return TEST_SANITIZED || *cli_runner();
}

struct cli_run_options {
	const char *folder;    /* what '@' means, or NULL */
	const char *enter;     /* folder to run in; NULL: the current one */
	const char *stdout_to; /* a file for standard output, such as /dev/full; NULL: captured */
	size_t largest_file;   /* bytes a file may get, as on a full disk; 0: no limit */
	size_t address_space;  /* bytes; 0: no limit */
	size_t data;           /* bytes of memory that can be written; 0: no limit */
	size_t stack;          /* bytes; 0: no limit */
	bool waits;            /* keep the lines that say what is being done */
	unsigned seconds;      /* after which it is killed; 0: CLI_SECONDS */
};

struct cli_result {
	int status;      /* exit status; minus the signal's number when one killed it */
	char *out, *err; /* NUL-terminated */
	size_t out_bytes, err_bytes;
};

static inline void cli_folder(char path[CLI_PATH])
{
	const char *base = getenv("TMPDIR");
	snprintf(path, CLI_PATH, "%s/npulab-test-XXXXXX", base && *base ? base : "/tmp");
	cr_assert(mkdtemp(path), "no folder %s", path);
}

static inline int cli_remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static inline void cli_remove_folder(const char *path)
{
	cr_assert_eq(nftw(path, cli_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0, "%s is still there", path);
}

static inline int cli_count_files(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;
	cr_assert(dir, "%s", folder);
	for (struct dirent *entry; (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* folder + "/" + name, in one of a few buffers. */
static inline const char *cli_path(const char *folder, const char *name)
{
	static char path[8][CLI_PATH + 260];
	static int next;
	next = (next + 1) % 8;
	snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
	return path[next];
}

static inline void cli_write(const char *folder, const char *name, const void *data, size_t bytes)
{
	FILE *file = fopen(cli_path(folder, name), "wb");
	cr_assert(file && fwrite(data, 1, bytes, file) == bytes && !fclose(file), "%s/%s", folder, name);
}

static inline void cli_write_text(const char *folder, const char *name, const char *text)
{
	cli_write(folder, name, text, strlen(text));
}

/* A file's bytes with a NUL after them, to be freed. */
static inline char *cli_read(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	size_t have = 0, capacity = 0;
	cr_assert(file, "%s", path);
	do {
		capacity = 2 * capacity + 4096;
		char *grown = realloc(data, capacity + 1);
		cr_assert(grown);
		data = grown;
		have += fread(data + have, 1, capacity - have, file);
	} while (have == capacity);
	fclose(file);
	data[have] = '\0';
	if (bytes)
		*bytes = have;
	return data;
}

/* Writes the graph as a model (opset 13) and empties it. */
static inline void cli_write_model(const char *folder, const char *name, struct onnx_writer *graph)
{
	struct onnx_writer model = onnx_model(graph, 13);
	cli_write(folder, name, model.data, model.bytes);
	onnx_writer_free(&model);
}

/* text with every '@' replaced by the folder, to be freed. */
static inline char *cli_expand(const char *text, const char *folder)
{
	size_t bytes = 0;
	char *out = NULL;
	FILE *stream = open_memstream(&out, &bytes);
	cr_assert(stream);
	for (; *text; text++)
		if (*text == '@' && folder)
			fputs(folder, stream);
		else
			fputc(*text, stream);
	fclose(stream);
	return out;
}

static inline void cli_limit(int resource, size_t bytes)
{
	struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
	if (bytes)
		setrlimit(resource, &limit);
}

/* In the child: never returns. */
static inline void cli_start(const char *program, char *const *argv, const struct cli_run_options *options, int out,
			     int err)
{
	int to = options->stdout_to ? open(options->stdout_to, O_WRONLY) : out;
	int nothing = open("/dev/null", O_RDONLY);
	signal(SIGXFSZ, SIG_IGN); /* a full disk is an error of write(), not a signal */
	const unsigned seconds = options->seconds ? options->seconds : CLI_SECONDS;
	alarm(*cli_runner() ? seconds * CLI_SLOWER : seconds);
	if (dup2(nothing, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 ||
	    (options->enter && chdir(options->enter)))
		_exit(126);
	cli_limit(RLIMIT_FSIZE, options->largest_file);
	cli_limit(RLIMIT_AS, options->address_space);
	cli_limit(RLIMIT_DATA, options->data);
	cli_limit(RLIMIT_STACK, options->stack);
	execve(program, argv, environ); /* the one of tests/test_runner.c */
	_exit(127);
}

static inline char *cli_take(FILE *file, size_t *bytes)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
	char *text = cli_read(path, bytes);
	fclose(file);
	return text;
}

/* Takes out the lines that say what is being done, which come only where somebody waits long enough: with the time at
 * their end. */
static inline void cli_drop_waiting(char *err, size_t *bytes)
{
	char *to = err;
	for (char *at = err; *at;) {
		const size_t line = strcspn(at, "\n"), whole = line + (at[line] == '\n');
		const bool waits = line > 15 && !strncmp(at, "npulab: ", 8) && at[line - 3] == ':' &&
				   strspn(at + line - 2, "0123456789") == 2 && strspn(at + line - 5, "0123456789") == 2;
		if (!waits)
			memmove(to, at, whole);
		to += waits ? 0 : whole;
		at += whole;
	}
	*to = '\0';
	*bytes = strlen(err) < *bytes ? strlen(err) : *bytes;
}

static inline struct cli_result cli_run_list(const struct cli_run_options *options, const char *const *args)
{
	char program[4096], *argv[CLI_ARGUMENTS + 2] = {0};
	struct cli_result r;
	FILE *out = tmpfile(), *err = tmpfile();
	const char *program_path = getenv("NPULAB_BIN");
	int n = 0, status;
	cr_assert(out && err);
	cr_assert(realpath(program_path && *program_path ? program_path : "build/npulab", program),
		  "there is no program %s: build it, or set NPULAB_BIN", program_path ? program_path : "build/npulab");
	argv[n++] = program;
	for (; args[n - 1]; n++) {
		cr_assert(n <= CLI_ARGUMENTS);
		argv[n] = cli_expand(args[n - 1], options->folder);
	}
	fflush(NULL);
	pid_t child = fork();
	cr_assert(child >= 0);
	if (child == 0)
		cli_start(program, argv, options, fileno(out), fileno(err));
	cr_assert_eq(waitpid(child, &status, 0), child);
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	r.out = cli_take(out, &r.out_bytes);
	r.err = cli_take(err, &r.err_bytes);
	if (!options->waits && r.err_bytes == strlen(r.err))
		cli_drop_waiting(r.err, &r.err_bytes);
	while (--n > 0)
		free(argv[n]);
	return r;
}

#define cli_run(options, ...) cli_run_list((options), (const char *const[]){__VA_ARGS__, NULL})

static inline void cli_free(struct cli_result *r)
{
	free(r->out);
	free(r->err);
	*r = (struct cli_result){0};
}

/* Runs the program, which must end with this status. */
static inline void cli_expect_list(const struct cli_run_options *options, int status, const char *const *args)
{
	struct cli_result r = cli_run_list(options, args);
	cr_assert_eq(r.status, status, "%s %s %s: status %d\n%s%s", args[0], args[1], args[2], r.status, r.err, r.out);
	cli_free(&r);
}
#define cli_expect(options, status, ...) cli_expect_list((options), (status), (const char *const[]){__VA_ARGS__, NULL})
/* Records a trace: the arguments are those after "trace record". */
#define cli_record(options, ...) cli_expect((options), 0, "trace", "record", __VA_ARGS__)

/* Whether the text stands in what was printed, wherever a table broke its lines: any white space counts as one space.
 * Where a table wraps depends on what else stands in the cell, as the processor's description. */
static inline bool cli_says(const char *printed, const char *text)
{
	for (; *printed; printed++) {
		const char *at = printed, *tail = text;
		while (*tail && *at) {
			size_t there = strspn(at, " \n"), output = strspn(tail, " \n");
			if (!there != !output || (!there && *at != *tail))
				break;
			at += there ? there : 1;
			tail += output ? output : 1;
		}
		if (!*tail)
			return true;
	}
	return false;
}

/* The promise for every failure: this exit status, one line on standard error that begins with the program's name and
 * says `expected`, and nothing on standard output. */
static inline void cli_check_refusal(const struct cli_result *r, int status, const char *expected, const char *label)
{
	cr_assert_eq(r->status, status, "%s: exit status %d, expected %d; it said: %s", label, r->status, status,
		     r->err);
	cr_assert_eq(r->out_bytes, 0, "%s: printed %s", label, r->out);
	cr_assert(!strncmp(r->err, "npulab: ", 8) && r->err_bytes == strlen(r->err), "%s: %s", label, r->err);
	cr_assert_eq(strchr(r->err, '\n'), r->err + r->err_bytes - 1, "%s: not one line: %s", label, r->err);
	cr_assert(strstr(r->err, expected), "%s: expected '%s' in: %s", label, expected, r->err);
}

/* Cases of the same promise. */
struct cli_refusal {
	int status;
	const char *expected;
	const char *args[20]; /* ends with NULL */
};

/* Runs each case in the folder's files and looks that no file came or went. */
static inline void cli_check_refusals(const char *folder, const struct cli_refusal *cases, size_t n)
{
	int files = cli_count_files(folder);
	for (size_t i = 0; i < n; i++) {
		char subject[400] = "";
		for (int k = 0; cases[i].args[k]; k++)
			snprintf(subject + strlen(subject), sizeof subject - strlen(subject), "%s ", cases[i].args[k]);
		struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, cases[i].args);
		cli_check_refusal(&r, cases[i].status, cases[i].expected, subject);
		cr_assert_eq(cli_count_files(folder), files, "%s: left a file behind", subject);
		cli_free(&r);
	}
}

#define CLI_CHECK(folder, cases) cli_check_refusals((folder), (cases), sizeof(cases) / sizeof *(cases))

/* A file of some size that takes no room: two bytes and a hole. */
static inline void cli_write_sparse(const char *folder, const char *name, off_t bytes)
{
	cli_write_text(folder, name, "\x08\x07");
	cr_assert_eq(truncate(cli_path(folder, name), bytes), 0);
}

#endif
