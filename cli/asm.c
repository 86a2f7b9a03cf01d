/* SPDX-License-Identifier: MIT
 *
 * npulab asm: assembles the text of a machine's program into its binary, and checks it against the machine when one is
 * named. */
#include <stdlib.h>

#include "common.h"
#include "npulab/program.h"

static int assemble(const char *path, const char *machine, const struct cli_common *common, struct npl_err *err)
{
	struct npl_device *device = NULL;
	struct npl_program *program = NULL;
	uint8_t *bytes = NULL;
	size_t n = 0;
	int rc = machine ? cli_open_machine(machine, common, &device, err) : 0;
	if (!rc)
		rc = npl_program_load(path, device, &program, err);
	if (!rc && device)
		rc = npl_program_check(program, device, err);
	if (!rc)
		rc = npl_program_binary(program, &bytes, &n, err);
	if (!rc)
		rc = cli_write(common->output, bytes, n, err);
	free(bytes);
	npl_program_free(program);
	npl_device_close(device);
	return rc;
}

static int asm_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_common common = {0};
	const char *path = NULL, *machine = NULL;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"o", CLI_OUTPUT, &common.output, 0, 0, "F.bin", "the binary; - for standard output"},
		{"machine", CLI_TEXT, &machine, 0, 0, "M",
		 "whose program it is where it does not say so; checks that it can run there"},
		{"set", CLI_SETTINGS, &common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of the machine"},
		CLI_THREADS_OPTION(&common.threads),
		{0}};
	if (cli_parse(&cli_asm, options, argc, argv, &path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!path || !common.output)
		return npl_fail(err, NPL_EUSAGE, "asm: expected a program and -o; usage: npulab asm %s",
				cli_asm.arguments);
	if (common.set.n && !machine)
		return npl_fail(err, NPL_EUSAGE, "asm: --set goes with --machine");
	return assemble(path, machine, &common, err);
}

const struct cli_command cli_asm = {"asm", "F.s -o F.bin [--machine M]", "a machine's program from text to binary",
				    asm_main};
