/* SPDX-License-Identifier: MIT
 *
 * For tests of what is built and installed: commands of a shell, and the build under test. */
#ifndef NPULAB_TESTS_KIT_SHELL_H
#define NPULAB_TESTS_KIT_SHELL_H

#include <stdarg.h>

#include "cli_run.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZERS "-fsanitize=address,undefined -fno-sanitize-recover=all"
#else
#define SANITIZERS ""
#endif

/* Runs a shell command and returns what it printed, to be freed; it must succeed. */
static inline char *shell(const char *format, ...)
{
	char *command = NULL, *out = NULL;
	size_t bytes = 0;
	char block[4096];
	va_list list;
	va_start(list, format);
	cr_assert(vasprintf(&command, format, list) > 0);
	va_end(list);
	FILE *pipe = popen(command, "r"), *text = open_memstream(&out, &bytes);
	cr_assert(pipe && text, "%s", command);
	for (size_t n; (n = fread(block, 1, sizeof block, pipe)) > 0;)
		fwrite(block, 1, n, text);
	fclose(text);
	cr_assert_eq(pclose(pipe), 0, "%s\n%s", command, out);
	free(command);
	return out;
}

/* The folder of the program under test: its library is beside it. */
static inline void build_folder(char path[CLI_PATH])
{
	const char *program = getenv("NPULAB_BIN");
	snprintf(path, CLI_PATH, "%s", program && *program ? program : "build/npulab");
	char *slash = strrchr(path, '/');
	cr_assert(slash);
	*slash = '\0';
}

/* The flavour that it was built in: "release", "asan". */
static inline void build_flavour(char *flavour, size_t n)
{
	char build[CLI_PATH];
	build_folder(build);
	const char *slash = strrchr(build, '/');
	snprintf(flavour, n, "%s", slash && strcmp(slash, "/build") ? slash + 1 : "release");
}

#endif
