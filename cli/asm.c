/* SPDX-License-Identifier: MIT
 *
 * npulab asm: assembles the text of a machine's program into its binary, and checks it against the machine when one is
 * named. npulab disasm: disassembles the binary into text that assembles to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "npulab/program.h"

struct conversion {
	struct cli_common common;
	const char *path, *machine;
	bool to_text;
};

static int convert(const struct conversion *c, struct npl_err *err)
{
	struct npl_device *device = NULL;
	struct npl_program *program = NULL;
	uint8_t *bytes = NULL;
	char *text = NULL;
	size_t n = 0;
	int rc = c->machine ? cli_open_machine(c->machine, &c->common, &device, err) : 0;
	if (!rc)
		rc = npl_program_load(c->path, device, &program, err);
	if (!rc && device && !c->to_text)
		rc = npl_program_check(program, device, err);
	if (!rc)
		rc = c->to_text ? npl_program_text(program, &text, err) : npl_program_binary(program, &bytes, &n, err);
	if (!rc)
		rc = cli_write(c->common.output, c->to_text ? (void *)text : bytes, c->to_text ? strlen(text) : n, err);
	free(bytes);
	free(text);
	npl_program_free(program);
	npl_device_close(device);
	return rc;
}

static int asm_main(int argc, char **argv, struct npl_err *err)
{
	struct conversion c = {0};
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"o", CLI_OUTPUT, &c.common.output, 0, 0, "F.bin", "the binary; - for standard output"},
		{"machine", CLI_TEXT, &c.machine, 0, 0, "M",
		 "whose program it is where it does not say so; checks that it can run there"},
		{"set", CLI_SETTINGS, &c.common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of the machine"},
		CLI_THREADS_OPTION(&c.common.threads),
		{0}};
	if (cli_parse(&cli_asm, options, argc, argv, &c.path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!c.path || !c.common.output)
		return npl_fail(err, NPL_EUSAGE, "asm: expected a program and -o; usage: npulab asm %s",
				cli_asm.arguments);
	if (c.common.set.n && !c.machine)
		return npl_fail(err, NPL_EUSAGE, "asm: --set goes with --machine");
	return convert(&c, err);
}

static int disasm_main(int argc, char **argv, struct npl_err *err)
{
	struct conversion c = {.common = {.output = "-"}, .to_text = true};
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"o", CLI_OUTPUT, &c.common.output, 0, 0, "F.s", "the text (default: standard output)"},
		{"machine", CLI_TEXT, &c.machine, 0, 0, "M",
		 "whose instructions they are, where the file does not say so"},
		CLI_THREADS_OPTION(&c.common.threads),
		{0}};
	if (cli_parse(&cli_disasm, options, argc, argv, &c.path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!c.path)
		return npl_fail(err, NPL_EUSAGE, "disasm: which program? usage: npulab disasm %s",
				cli_disasm.arguments);
	return convert(&c, err);
}

const struct cli_command cli_asm = {"asm", "F.s -o F.bin [--machine M]", "a machine's program from text to binary",
				    asm_main};
const struct cli_command cli_disasm = {"disasm", "F.bin [-o F.s]", "a machine's program from binary to text",
				       disasm_main};
