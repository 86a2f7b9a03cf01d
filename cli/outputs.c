/* SPDX-License-Identifier: MIT
 *
 * Where reports go (common.h): files, standard output, or both. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "core/base/printable.h"
#include "core/files/file.h"
#include "npulab/tensor_file.h"
#include "waiting.h"

bool cli_is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Prints a text. A terminal gets its lines without anything that would control the terminal; a file or a pipe gets
 * every byte. */
static void show_lines(const char *text, size_t bytes)
{
	for (const char *cursor = text, *end = text + bytes; cursor < end;) {
		const size_t line = strcspn(cursor, "\t\r\n");
		char *copy = strndup(cursor, line);
		fputs(copy ? npl_make_printable(copy) : "?", stdout);
		free(copy);
		cursor += line;
		if (cursor < end)
			putchar(*cursor++);
	}
}

int cli_write(const char *path, const void *data, size_t bytes, struct npl_err *err)
{
	if (!cli_is_stdout(path)) {
		cli_waiting_resume();
		const int rc = npl_file_write(path, &(struct npl_file_piece){.data = data, .bytes = bytes}, 1, err);
		cli_waiting_end();
		return rc;
	}
	if (isatty(STDOUT_FILENO) && bytes && !memchr(data, '\0', bytes))
		show_lines(data, bytes);
	else
		fwrite(data, 1, bytes, stdout); /* main checks the stream's state */
	return 0;
}

int cli_write_tensor(const char *path, const struct npl_tensor *tensor, struct npl_err *err)
{
	cli_waiting_resume();
	const int rc = npl_tensor_save_npy(path, tensor, err);
	cli_waiting_end();
	return rc;
}

int cli_write_text(const char *path, void (*writer)(FILE *out, const void *data), const void *data, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	writer(out, data);
	int rc = fclose(out) ? npl_fail(err, NPL_ENOMEM, "%s: out of memory", path) : cli_write(path, text, bytes, err);
	free(text);
	return rc;
}

int cli_also_failed(int rc, const struct npl_err *failure, struct npl_err *err)
{
	if (!rc) {
		*err = *failure;
	} else {
		const struct npl_err first = *err;
		npl_fail(err, first.code, "%s; %s", first.msg, failure->msg);
	}
	return err->code;
}

int cli_table_printed(int printed, int rc, struct npl_err *err)
{
	struct npl_err failure;
	if (!printed)
		return rc;
	npl_fail(&failure, printed, "out of memory for a table");
	return cli_also_failed(rc, &failure, err);
}

int cli_check_stdout(const struct cli_destination *output, int n, struct npl_err *err)
{
	const char *first = NULL;
	for (int i = 0; i < n; i++) {
		if (!cli_is_stdout(output[i].path))
			continue;
		if (first)
			return npl_fail(err, NPL_EUSAGE, "%s - and %s - cannot both have standard output", first,
					output[i].option);
		first = output[i].option;
	}
	return 0;
}

int cli_check_reports(const struct cli_common *common, struct npl_err *err)
{
	const struct cli_destination outputs[] = {{"--json", common->json},
						  {"--csv", common->csv},
						  {"--html", common->html},
						  {"--timeline", common->timeline}};
	if (cli_check_stdout(outputs, sizeof outputs / sizeof *outputs, err))
		return err->code;
	if (cli_is_stdout(common->output))
		return npl_fail(err, NPL_EUSAGE, "--output -: an array goes to a file, not to standard output");
	return 0;
}

int cli_write_reports(const struct cli_report *report, int n, struct npl_err *err)
{
	struct npl_err failure;
	int rc = 0;
	for (int to_stdout = 0; to_stdout < 2; to_stdout++)
		for (int i = 0; i < n; i++)
			if (report[i].path && cli_is_stdout(report[i].path) == to_stdout &&
			    cli_write_text(report[i].path, report[i].writer, report[i].data, &failure))
				rc = cli_also_failed(rc, &failure, err);
	return rc;
}

int cli_missing(const struct npl_unavailables *unavailable, struct npl_err *err)
{
	char count_of_others[40] = "";
	if (!unavailable->n)
		return 0;
	if (unavailable->n > 1)
		snprintf(count_of_others, sizeof count_of_others, "; and %d more", unavailable->n - 1);
	return npl_fail(err, NPL_EDEVICE, "%s is not available here: %s%s", unavailable->device[0].instance,
			unavailable->device[0].reason, count_of_others);
}
