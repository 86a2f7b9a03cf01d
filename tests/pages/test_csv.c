/* SPDX-License-Identifier: MIT
 *
 * Promises of CSV from saved results: comparisons and rooflines give the bytes that their commands' --csv gives; every
 * line has as many fields as the first, whatever the names are. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/kit/saved_pages.h"

static void expect_same(const char *folder, const char *const *command)
{
	const char *args[CLI_ARGUMENTS] = {0};
	const struct cli_run_options options = {.enter = folder};
	int n = 0;
	for (; command[n]; n++)
		args[n] = command[n];
	static const char *const outputs[] = {"--json", "a.json", "--csv", "at_once.csv", "--quiet"};
	memcpy(args + n, outputs, sizeof outputs);
	cli_expect_list(&options, 0, args);
	cli_expect(&options, 0, "report", "a.json", "--csv", "saved.csv");
	char *at_once = cli_read(cli_path(folder, "at_once.csv"), NULL),
	     *saved = cli_read(cli_path(folder, "saved.csv"), NULL);
	cr_expect_str_eq(saved, at_once, "%s %s %s %s", command[0], command[1], command[2], command[3]);
	free(at_once);
	free(saved);
}

Test(page_csv, is_that_of_the_command)
{
	static const char *const commands[][14] = {
		{"compare", "lenet5", "--devices", "tpu_v1,diannao,systolic_16x16,gpu_k80,null"},
		{"compare", "lenet5", "--devices", "tpu_v1,diannao", "--timing-only"},
		{"compare", "digits", "--devices", "tpu_v1@array.rows=128@activity=counted,reference,cpu", "--set",
		 "cpu.precision=int8"},
		{"compare", "lstm0", "--devices", "tpu_v1,gpu_a100", "--timing-only"},
		{"run", "digits", "--place", "Conv*=tpu_v1,Gemm=diannao,*=cpu"},
		{"run", "digits", "--place", "Conv*=tpu_v1,*=host"},
		{"run", "digits", "--place", "*=tpu_v1,Gemm=diannao", "--timing-only"},
		{"layer", "gemm", "-m", "20", "-n", "30", "-k", "40", "--devices", "tpu_v1,cpu,reference"},
		{"layer", "pool", "--input", "1x8x8x8", "--kernel", "2", "--stride", "2", "--devices",
		 "tpu_v1,diannao"},
		{"roofline", "lenet5", "--devices", "tpu_v1,diannao,gpu_k80"},
		{"roofline", "lenet5", "--devices", "tpu_v1", "--set", "tpu_v1.weight_memory.preset=ideal"},
		{"roofline", "--devices", "tpu_v1,diannao"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		expect_same(folder, commands[i]);
	cli_remove_folder(folder);
}

/* Python's reader of CSV counts the fields; it prints how many lines and fields there are, and the first line. */
static void expect_shape(const char *folder, const char *shape)
{
	char *printed = shell("cd '%s' && /usr/bin/python3 -c '\n"
			      "import csv\n"
			      "text = open(\"page.csv\", newline=\"\").read()\n"
			      "assert text.endswith(\"\\r\\n\")\n"
			      "rows = list(csv.reader(open(\"page.csv\", newline=\"\"), strict=True))\n"
			      "assert len({len(row) for row in rows}) == 1, {len(row) for row in rows}\n"
			      "assert len(set(rows[0])) == len(rows[0])\n"
			      "print(len(rows) - 1, rows[0][0], rows[0][1], rows[1][0])'",
			      folder);
	cr_expect_str_eq(printed, shape);
	free(printed);
}

Test(page_csv, has_a_line_for_each_object_of_the_first_list)
{
	static const struct {
		const char *command[10], *shape;
	} cases[] = {{{"dram", "--pattern", "copy", "-n", "100"}, "1 schema npulab.version npulab.dram/1\n"},
		     {{"energy", "tpu_v1"}, NULL},
		     {{"inspect", "lenet5"}, "12 index name 0\n"},
		     {{"conformance", "/usr/share/libonnx-testdata/data/node/test_relu"}, "1 name status test_relu\n"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		saved_document(folder, cases[i].command, "a.json");
		saved_pages(folder, "a.json", NULL);
		if (cases[i].shape)
			expect_shape(folder, cases[i].shape);
	}
	saved_document(folder, (const char *const[]){"dram", "--pattern", "copy", "-n", "100", NULL}, "a.json");
	saved_document(folder,
		       (const char *const[]){"dram", "--pattern", "copy", "-n", "100", "--preset", "ideal", NULL},
		       "b.json");
	saved_pages(folder, "a.json", "b.json");
	expect_shape(folder, "2 result schema a\n");
	cli_remove_folder(folder);
}

/* Comparisons of several documents have the counters of all their machines. */
Test(page_csv, several_documents_are_told_apart)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	saved_document(folder, (const char *const[]){"compare", "lenet5", "--devices", "tpu_v1", "--timing-only", NULL},
		       "a.json");
	saved_document(folder,
		       (const char *const[]){"compare", "lenet5", "--devices", "diannao", "--timing-only", NULL},
		       "b.json");
	free(shell("/usr/bin/python3 tests/pages/check_pages.py --hostile '%s/b.json' '%s/h.json'", folder, folder));
	saved_pages(folder, "a.json", "b.json");
	expect_shape(folder, "24 result model a\n");
	saved_pages(folder, "a.json", "h.json");
	expect_shape(folder, "24 result model a\n");
	char *csv = cli_read(cli_path(folder, "page.csv"), NULL);
	cr_expect(strstr(csv, ",array_active,") && strstr(csv, ",nfu_active,"));
	free(csv);
	cli_remove_folder(folder);
}
