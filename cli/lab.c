/* SPDX-License-Identifier: MIT
 *
 * npulab lab: the course labs. labs/lab.py does all of it, in Python, which lecturers can read and change. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"

/* Options that are handed on as they were given. */
struct arguments {
	const char *word[3]; /* the command, the number and the folder */
	const char *student, *salt;
	bool json;
};

/* Fills the arguments of the program in Python; returns how many there are. */
static int hand_on(const struct arguments *a, int n_words, char *program, char **argv)
{
	int n = 0;
	argv[n++] = (char *)"python3";
	argv[n++] = (char *)"-I"; /* nothing of the student's folder is imported */
	argv[n++] = program;
	for (int i = 0; i < n_words; i++)
		argv[n++] = (char *)a->word[i];
	if (!n_words)
		argv[n++] = (char *)"list";
	if (a->json)
		argv[n++] = (char *)"--json";
	const char *const option[] = {"--student", "--salt"}, *const value[] = {a->student, a->salt};
	for (int i = 0; i < 2; i++)
		if (value[i]) {
			argv[n++] = (char *)option[i];
			argv[n++] = (char *)value[i];
		}
	argv[n] = NULL;
	return n;
}

static int check_words(const struct arguments *a, int n_words, struct npl_err *err)
{
	const char *command = n_words ? a->word[0] : "list";
	const bool is_list = !strcmp(command, "list"), is_start = !strcmp(command, "start"),
		   is_check = !strcmp(command, "check");
	if (!is_list && !is_start && !is_check)
		return npl_fail(err, NPL_EUSAGE, "lab: '%s', expected list, start or check", command);
	if (n_words > 1 ? is_list || n_words != 3 : !is_list)
		return npl_fail(err, NPL_EUSAGE, "lab: expected the number of a lab and a folder; usage: npulab lab %s",
				cli_lab.arguments);
	return 0;
}

static int lab_main(int argc, char **argv, struct npl_err *err)
{
	struct arguments a = {0};
	const struct cli_option options[] = {
		{"student", CLI_TEXT, &a.student, 0, 0, "ID", "whose numbers the tasks have: each student gets others"},
		{"salt", CLI_TEXT, &a.salt, 0, 0, "TEXT", "of the course: other numbers for the same student"},
		{"json", CLI_FLAG, &a.json, 0, 0, NULL, "for graders: JSON to standard output"},
		{0}};
	char folder[PATH_MAX], program[PATH_MAX + 20], self[PATH_MAX], *handed_on[12];
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_lab, options, argc, argv, a.word, 3, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (check_words(&a, n_words, err) || npl_data_dir("labs", folder, sizeof folder, err))
		return err->code;
	const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length < 0)
		return npl_fail(err, NPL_EINTERNAL, "lab: /proc/self/exe: %s", strerror(errno));
	self[length] = '\0';
	snprintf(program, sizeof program, "%s/lab.py", folder);
	hand_on(&a, n_words, program, handed_on);
	if (setenv("NPULAB_PROGRAM", self, 1))
		return npl_no_memory(err);
	cli_waiting_end();
	fflush(NULL);
	execvp("python3", handed_on);
	return npl_fail(err, NPL_EDEVICE, "lab: python3 cannot be started: %s (Debian's package python3 has it)",
			strerror(errno));
}

const struct cli_command cli_lab = {"lab", "[list] | start N FOLDER | check N FOLDER",
				    "course labs that check themselves", lab_main};
