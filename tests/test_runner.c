/* SPDX-License-Identifier: MIT
 *
 * Tests on another processor than this one. Criterion starts each test as a child, and tests start npulab: both by
 * execve, which is defined here once more, so that the program's own calls and Criterion's come to it. Where the
 * environment variable NPULAB_TEST_RUNNER has a command (scripts/run-tests.sh sets it), programs of the machine's own
 * code are started through it; scripts are not. What a shell starts is not seen here: cli_runner() of cli_run.h goes
 * before such a program's name.
 *
 *     NPULAB_TEST_RUNNER='/usr/bin/qemu-x86_64-static -cpu Nehalem' */
#include "tests/kit/cli_run.h"

#include <cpuid.h>
#include <errno.h>
#include <sys/syscall.h>

#define WORDS 80

static bool is_machine_code(const char *path)
{
	char magic[4] = "";
	int file = open(path, O_RDONLY | O_CLOEXEC);
	bool is = file >= 0 && read(file, magic, sizeof magic) == sizeof magic &&
		  !memcmp(magic,
			  "\x7f"
			  "ELF",
			  sizeof magic);
	if (file >= 0)
		close(file);
	return is;
}

/* Puts the words of the command into words; how many. The text is cut up. */
static int words_of(char *command, const char **words, int limit)
{
	int n = 0;
	char *tail = NULL;
	for (char *word = strtok_r(command, " ", &tail); word && n < limit; word = strtok_r(NULL, " ", &tail))
		words[n++] = word;
	return n;
}

/* In a forked child: no memory is asked for. */
int execve(const char *path, char *const argv[], char *const envp[])
{
	const char *words[WORDS + 4];
	char command[1024];
	int n = snprintf(command, sizeof command, "%s", cli_runner());
	if (!*command || (size_t)n >= sizeof command || !is_machine_code(path))
		return (int)syscall(SYS_execve, path, argv, envp);
	n = words_of(command, words, WORDS / 2);
	words[n++] = "-0"; /* Criterion knows its children by argv[0] */
	words[n++] = argv[0];
	words[n++] = path;
	for (int i = 1; argv[i]; i++) {
		if (n >= WORDS + 3) {
			errno = E2BIG;
			return -1;
		}
		words[n++] = argv[i];
	}
	words[n] = NULL;
	return (int)syscall(SYS_execve, words[0], words, envp);
}

/* What comes after -cpu, up to a comma; "": the runner has no such word. */
static void emulated_name(char name[64])
{
	const char *match = strstr(cli_runner(), "-cpu ");
	snprintf(name, 64, "%.*s", match ? (int)strcspn(match + 5, ", ") : 0, match ? match + 5 : "");
}

/* The emulator's processors have their names in what the instruction cpuid says of them. */
Test(runner, tests_run_on_the_processor_asked_for)
{
	unsigned brand[13] = {0};
	char name[64];
	emulated_name(name);
	if (!*name)
		cr_skip_test("NPULAB_TEST_RUNNER names no processor");
	for (unsigned i = 0; i < 3; i++)
		cr_assert(__get_cpuid(0x80000002u + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2],
				      &brand[4 * i + 3]));
	cr_assert(strstr((const char *)brand, name), "this is '%s', not %s", (const char *)brand, name);
}

Test(runner, npulab_runs_there_too)
{
	char name[64];
	emulated_name(name);
	if (strcmp(name, "Nehalem") && strcmp(name, "Haswell"))
		cr_skip_test("NPULAB_TEST_RUNNER names neither Nehalem nor Haswell");
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "cpu", "--verbose");
	const char *match = strstr(r.out, "instruction set");
	cr_assert(match && !r.status, "%s%s", r.out, r.err);
	match += strlen("instruction set");
	match += strspn(match, " ");
	cr_assert_eq(strncmp(match, "AVX2\n", 5) == 0, !strcmp(name, "Haswell"), "%s", match);
	cr_assert_eq(strncmp(match, "SSE\n", 4) == 0, !strcmp(name, "Nehalem"), "%s", match);
	cli_free(&r);
}
