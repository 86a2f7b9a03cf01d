/* SPDX-License-Identifier: MIT
 *
 * The machine of docs/first-machine.md promises: its driver, one line in the list and its machine file, in a copy of
 * the tree, are all that a new kind of machine takes. The commands that show machines show it, its figures are those of
 * its formulas, and it passes the tests of every device without a line of its own. */
#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"

static json_t *json_of(const char *folder, const char *command)
{
	char *printed = shell("cd %s/tree && %s \"$(cat ../program)\" %s --json - --quiet 2>&1", folder, cli_runner(),
			      command);
	json_t *json = cli_parse_json(printed);
	free(printed);
	return json;
}

static void check_commands(const char *folder)
{
	/* 8x16 weights and 4x16 inputs, 32 sums of 4 bytes: at 4 bytes a cycle they take less than the 512 products. */
	json_t *layer = json_of(folder, "layer gemm -m 4 -n 8 -k 16 --devices onemac");
	cr_assert_eq(cli_integer(cli_at(layer, "devices.0.totals.cycles")), 512);
	json_decref(layer);
	json_t *starved = json_of(
		folder, "layer gemm -m 4 -n 8 -k 16 --devices onemac --set onemac.multiplier.macs_per_cycle=512");
	cr_assert_eq(cli_integer(cli_at(starved, "devices.0.totals.cycles")), (8 * 16 + 4 * 16 + 4 * 4 * 8) / 4);
	json_decref(starved);
	json_t *compared = json_of(folder, "compare digits --devices tpu_v1,onemac");
	json_t *onemac = cli_device(compared, "onemac");
	cr_assert_eq(cli_integer(cli_at(onemac, "totals.cycles")), 3 * 120 * (256 * 64 + 64 * 10));
	cr_assert_gt(json_number_value(cli_at(onemac, "accuracy.top1_accuracy")), 0.99);
	json_decref(compared);
	char *printed = shell("cd %s/tree && for command in 'devices onemac' 'inspect digits --devices onemac' "
			      "'roofline mlp0 --devices onemac'; do %s \"$(cat ../program)\" $command || exit 1; done",
			      folder, cli_runner());
	cr_assert(strstr(printed, "multiplier.macs_per_cycle") && strstr(printed, "products"), "%s", printed);
	free(printed);
}

Test(first_machine, takes_three_places)
{
	char folder[CLI_PATH], flavour[20];
	if (system("make --version > /dev/null 2>&1")) /* NOLINT(cert-env33-c) */
		cr_skip_test("make is not installed");
	cli_folder(folder);
	build_flavour(flavour, sizeof flavour);
	char *lines = shell("grep -c '' examples/first_machine/onemac.c");
	cr_assert_lt(atoi(lines), 90, "%s lines", lines);
	free(lines);
	free(shell("scripts/first-machine.sh %s/tree %s 2>&1", folder, flavour));
	const char *below = strcmp(flavour, "release") ? flavour : ".";
	free(shell("echo build/%s/npulab > %s/program", below, folder));
	check_commands(folder);
	/* The tests of every device, on the devices that need no file and this one. */
	free(shell("cd %s && mkdir -p only/machines && cp tree/machines/onemac.yaml only/machines/ && ln -s "
		   "../tree/memories only/memories",
		   folder));
	free(shell("gcc " SANITIZERS
		   " -o %s/every_device build/%s/tests/core/test_every_device.o %s/tree/build/%s/objects.a "
		   "-lcriterion -ljansson -l:libyaml.a -l:libmd.a -l:libz.a -l:libzstd.a -lm -ldl 2>&1",
		   folder, flavour, folder, flavour));
	char *tested = shell("env -u BXFI_MAP NPULAB_DATA=%s/only %s %s/every_device --verbose 2>&1", folder,
			     cli_runner(), folder);
	cr_assert(strstr(tested, "onemac: ") && strstr(tested, "Failing: 0"), "%s", tested);
	free(tested);
	cli_remove_folder(folder);
}
