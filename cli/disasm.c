/* SPDX-License-Identifier: MIT
 *
 * npulab disasm: disassembles the binary of a machine's program into text that assembles to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "npulab/program.h"

static int disassemble(const char *path, const char *machine, const struct cli_common *common, struct npl_err *err)
{
	struct npl_device *device = NULL;
	struct npl_program *program = NULL;
	char *text = NULL;
	int rc = machine ? cli_open_machine(machine, common, &device, err) : 0;
	if (!rc)
		rc = npl_program_load(path, device, &program, err);
	if (!rc)
		rc = npl_program_text(program, &text, err);
	if (!rc)
		rc = cli_write(common->output, text, strlen(text), err);
	free(text);
	npl_program_free(program);
	npl_device_close(device);
	return rc;
}

static int disasm_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {.output = "-"};
	const char *path = NULL, *machine = NULL;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"o", CLI_OUTPUT, &common.output, 0, 0, "F.s", "the text (default: standard output)"},
		{"machine", CLI_TEXT, &machine, 0, 0, "M",
		 "whose instructions they are, where the file does not say so"},
		CLI_THREADS_OPTION(&common.threads),
		{0}};
	if (cli_parse(&cli_disasm, options, argc, argv, &path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!path)
		return npl_fail(err, NPL_EUSAGE, "disasm: which program? usage: npulab disasm %s",
				cli_disasm.arguments);
	return disassemble(path, machine, &common, err);
}

const struct cli_command cli_disasm = {"disasm", "F.bin [-o F.s]", "a machine's program from binary to text",
				       disasm_main};
