/* SPDX-License-Identifier: MIT
 *
 * What the keys of a trace mean (traces/judge.h). What the program promises: each key that a recorder writes is listed
 * with what moved where it differs, or is a counter or a class of cycles of a machine that ran. A key that nobody
 * listed would count as a counter in silence, and values that moved would be reported as counts. */
#include "npulab/driver.h"
#include "sim/common/isa.h"
#include "tests/kit/cli_run.h"
#include "traces/judge.h"
#include "traces/text.h"

enum { WORDS = 256, DEVICES = 3 };

static const char *const devices[DEVICES] = {"tpu_v1", "diannao", "gpu_a100"};

static bool is_of_a_machine(struct npl_device *const *device, const char *key)
{
	for (int d = 0; d < DEVICES; d++) {
		const struct npl_device_info *info = npl_device_get_info(device[d]);
		for (size_t i = 0; i < info->n_counters; i++)
			if (!strcmp(info->counter_def[i].name, key))
				return true;
	}
	for (const struct npl_driver *const *d = npl_drivers; *d; d++)
		for (int i = 0; (*d)->isa && i < (*d)->isa->n_time_classes; i++)
			if (!strcmp((*d)->isa->time_class[i].name, key))
				return true;
	return false;
}

/* Returns how many keys the events of a trace have. */
static int check_keys(struct npl_device *const *device, const char *path)
{
	char *text = cli_read(path, NULL), *rest = strstr(text, "\nevents follow\n"), *word[WORDS], *value[WORDS];
	int keys = 0;
	cr_assert(rest);
	rest += strlen("\nevents follow\n");
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		const char *problem;
		const int n = trace_split(line, word, value, WORDS, &problem);
		cr_assert_gt(n, 0, "%s", problem);
		for (int i = 1; i < n; i++) {
			if (!value[i])
				continue;
			keys++;
			cr_expect(trace_key_is_listed(word[i]) || is_of_a_machine(device, word[i]),
				  "listed_keys in traces/judge.c lacks %s of a line `%s`", word[i], word[0]);
		}
	}
	free(text);
	return keys;
}

Test(trace_judge, every_recorded_key_is_listed)
{
	static const char *const runs[][12] = {
		{"lenet5", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "1", "--accuracy"},
		{"lenet5", "--device", "gpu_a100", "--batch", "1", "--timing-only"},
		{"layer", "gemm", "-m", "4", "-n", "20", "-k", "30", "--device", "cpu"},
		{"examples/programs/classifier.s", NULL}};
	struct npl_device *device[DEVICES];
	char folder[CLI_PATH];
	struct npl_err err;
	cli_folder(folder);
	for (int d = 0; d < DEVICES; d++)
		cr_assert_eq(npl_device_open(devices[d], NULL, &device[d], &err), 0, "%s", err.msg);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		const char *args[CLI_ARGUMENTS] = {"trace", "record", "-o", "@/a.trace"};
		memcpy(args + 4, runs[i], sizeof runs[i]);
		struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, args);
		cr_assert_eq(r.status, 0, "%s", r.err);
		cli_free(&r);
		cr_expect_gt(check_keys(device, cli_path(folder, "a.trace")), 1, "run %zu", i);
	}
	for (int d = 0; d < DEVICES; d++)
		npl_device_close(device[d]);
	cli_remove_folder(folder);
}

Test(trace_judge, keys_say_what_moved)
{
	static const struct {
		const char *key;
		unsigned moved;
	} cases[] = {{"cycles", NPL_TRACE_MOVED_TIMES},       {"cycles:stall", NPL_TRACE_MOVED_TIMES},
		     {"ps:memory", NPL_TRACE_MOVED_TIMES},    {"joules:array:x", NPL_TRACE_MOVED_ENERGY},
		     {"overflows", NPL_TRACE_MOVED_VALUES},   {"saturations", NPL_TRACE_MOVED_VALUES},
		     {"macs", NPL_TRACE_MOVED_COUNTS},        {"fields", NPL_TRACE_MOVED_PROGRAM},
		     {"useful_macs", NPL_TRACE_MOVED_COUNTS}, {"summary", NPL_TRACE_MOVED_COUNTS}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(trace_moved_by(cases[i].key), cases[i].moved, "%s", cases[i].key);
	cr_expect(!trace_key_is_listed("useful_macs") && !trace_key_is_listed("cycles_") && !trace_key_is_listed(""));
}
