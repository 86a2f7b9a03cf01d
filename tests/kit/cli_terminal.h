/* SPDX-License-Identifier: MIT
 *
 * Runs the program on a pseudo-terminal of any width. */
#ifndef NPULAB_TESTS_KIT_CLI_TERMINAL_H
#define NPULAB_TESTS_KIT_CLI_TERMINAL_H

#include <pty.h>
#include <termios.h>

#include "core/base/printable.h"
#include "tests/kit/cli_run.h"

struct cli_terminal {
	int columns;      /* 0: the terminal does not know */
	bool takes_err;   /* standard error goes to the terminal too, and stands in `out` */
	bool out_is_file; /* standard output goes to a file; only standard error to the terminal */
	const char *folder;
};

/* Reads all that is written to a terminal, until no process has it open. */
static inline char *cli_terminal_read(int master, size_t *bytes)
{
	char *text = NULL, part[4096];
	FILE *stream = open_memstream(&text, bytes);
	cr_assert(stream);
	for (ssize_t n; (n = read(master, part, sizeof part)) > 0;)
		fwrite(part, 1, (size_t)n, stream);
	close(master);
	fclose(stream);
	return text;
}

/* As cli_run_list. What is not written to the terminal stands in `err`. */
static inline struct cli_result cli_run_on_terminal_list(const struct cli_terminal *terminal, const char *const *args)
{
	char program[4096], *argv[CLI_ARGUMENTS + 2] = {0};
	const char *path = getenv("NPULAB_BIN");
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)terminal->columns};
	struct termios raw = {0};
	struct cli_result r = {0};
	FILE *other = tmpfile();
	int master, slave, n = 0, status;
	cr_assert(other && realpath(path && *path ? path : "build/npulab", program));
	cfmakeraw(&raw); /* no carriage return before a newline */
	cr_assert_eq(openpty(&master, &slave, NULL, &raw, &size), 0);
	argv[n++] = program;
	for (; args[n - 1]; n++)
		argv[n] = cli_expand(args[n - 1], terminal->folder);
	fflush(NULL);
	const pid_t child = fork();
	cr_assert(child >= 0);
	if (child == 0)
		cli_start(program, argv, &(struct cli_run_options){0}, terminal->out_is_file ? fileno(other) : slave,
			  terminal->out_is_file || terminal->takes_err ? slave : fileno(other));
	close(slave);
	r.out = cli_terminal_read(master, &r.out_bytes);
	cr_assert_eq(waitpid(child, &status, 0), child);
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	r.err = cli_take(other, &r.err_bytes);
	while (--n > 0)
		free(argv[n]);
	return r;
}

#define cli_run_on_terminal(terminal, ...)                                                                             \
	cli_run_on_terminal_list((terminal), (const char *const[]){__VA_ARGS__, NULL})

/* The columns of the widest line. */
static inline int cli_widest_line(const char *text)
{
	int widest = 0;
	while (*text) {
		const size_t bytes = strcspn(text, "\n");
		char *line = strndup(text, bytes);
		const int width = npl_text_width(line);
		widest = width > widest ? width : widest;
		free(line);
		text += bytes + (text[bytes] == '\n');
	}
	return widest;
}

/* How often a text stands in another. */
static inline int cli_count_text(const char *text, const char *wanted)
{
	int n = 0;
	for (const char *at = text; (at = strstr(at, wanted)); at += strlen(wanted))
		n++;
	return n;
}

#endif
