/* SPDX-License-Identifier: MIT
 *
 * Where the values of machines and memories come from (enum npl_source): every value that ships is told, fitted are
 * those that the scripts fit and no others, what a user changes is the user's, and a file that leaves out what was
 * fitted is told so. */
#include <criterion/criterion.h>
#include <glob.h>

#include "npulab/device.h"
#include "npulab/memory.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/page.h"

enum { MAX_FITTED = 32 };

/* "machines/tpu_v1.yaml issue.sync_cycles" of each parameter that a script fits. */
struct fitted {
	char text[MAX_FITTED][120];
	int n, found;
};

/* The quoted words of PARAMETERS = {...}: files and what is fitted in each. */
static void read_script(struct fitted *fitted, const char *path)
{
	size_t bytes;
	char *script = cli_read(path, &bytes), file[60] = "";
	const char *at = strstr(script, "\nPARAMETERS = {");
	cr_assert(at, "%s does not say what it fits", path);
	const char *end = strstr(at, "\n}");
	while ((at = strchr(at, '"')) && at < end) {
		const size_t length = strcspn(++at, "\"");
		if (memmem(at, length, ".yaml", 5)) {
			snprintf(file, sizeof file, "%.*s", (int)length, at);
		} else {
			cr_assert(*file && fitted->n < MAX_FITTED);
			snprintf(fitted->text[fitted->n++], sizeof *fitted->text, "%s %.*s", file, (int)length, at);
		}
		at += length + 1;
	}
	free(script);
}

static void check_values(struct fitted *fitted, const char *file, const struct npl_param_value *value, int n)
{
	for (int i = 0; i < n; i++) {
		char text[120];
		bool fits = false;
		snprintf(text, sizeof text, "%s %s", file, value[i].key);
		for (int f = 0; f < fitted->n; f++)
			fits = fits || !strcmp(fitted->text[f], text);
		cr_expect_neq(value[i].source, NPL_SOURCE_OWN, "%s: the value has no tag", text);
		cr_expect_eq(value[i].source == NPL_SOURCE_FITTED, fits, "%s: %s", text,
			     npl_source_name(value[i].source));
		fitted->found += fits;
	}
}

Test(sources, every_shipped_value_has_one_and_scripts_fit_what_is_fitted)
{
	struct npl_arena arena = {0};
	struct fitted fitted = {0};
	struct npl_err err;
	const char *const *names;
	const struct npl_param_value *value;
	char file[200];
	glob_t scripts;
	int n, n_values;
	cr_assert_eq(glob("scripts/fit_*.py", 0, NULL, &scripts), 0);
	for (size_t i = 0; i < scripts.gl_pathc; i++)
		read_script(&fitted, scripts.gl_pathv[i]);
	globfree(&scripts);
	cr_assert_geq(fitted.n, 6);
	cr_assert_eq(npl_device_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_device *device;
		if (npl_device_open(names[i], NULL, &device, &err))
			continue;
		snprintf(file, sizeof file, "machines/%s.yaml", names[i]);
		value = npl_device_settings(device, &n_values);
		check_values(&fitted, file, value, n_values);
		npl_device_notes(device, &n_values);
		cr_expect_eq(n_values, 0, "%s: a machine that ships leaves nothing out", names[i]);
		npl_device_close(device);
	}
	cr_assert_eq(npl_memory_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_memory *memory;
		cr_assert_eq(npl_memory_open(names[i], NULL, &memory, &err), 0, "%s", err.msg);
		snprintf(file, sizeof file, "memories/%s.yaml", names[i]);
		cr_assert_eq(npl_memory_settings(memory, &arena, &value, &n_values), 0);
		check_values(&fitted, file, value, n_values);
		npl_memory_close(memory);
	}
	cr_expect_eq(fitted.found, fitted.n, "a script fits what no file has");
	npl_arena_free(&arena);
}

static enum npl_source source_of(const struct npl_device *device, const char *key)
{
	int n;
	const struct npl_param_value *value = npl_device_settings(device, &n);
	for (int i = 0; i < n; i++)
		if (!strcmp(value[i].key, key))
			return value[i].source;
	cr_assert_fail("there is no %s", key);
	return NPL_SOURCES;
}

static struct npl_device *open_with(const char *name, const char *set)
{
	struct npl_device *device = NULL;
	struct npl_err err;
	const struct npl_device_options options = {.set = &set, .n_sets = set != NULL};
	cr_assert_eq(npl_device_open(name, &options, &device, &err), 0, "%s", err.msg);
	return device;
}

static void expect(struct npl_device *device, const char *key, enum npl_source source)
{
	cr_expect_eq(source_of(device, key), source, "%s is %s", key, npl_source_name(source_of(device, key)));
}

/* A value that is set to what it was stays what it was. */
/* A reader who meets a source in the table or in the JSON finds it on the page and in the schema. */
Test(sources, the_page_and_the_schema_have_each)
{
	char *page = page_section("docs/machine-files.md", "## Where a value comes from"), text[40];
	char *schema = cli_read("schemas/npulab.devices-1.json", NULL);
	int rows = -2; /* without the heading and the line below it */
	for (const char *row = strstr(page, "\n|"); row; row = strstr(row + 1, "\n|"))
		rows++;
	for (enum npl_source source = 0; source < NPL_SOURCES; source++) {
		snprintf(text, sizeof text, "\n| %s |", npl_source_name(source));
		cr_expect(strstr(page, text), "docs/machine-files.md has no row '%s'", text + 1);
		snprintf(text, sizeof text, "\"%s\"", npl_source_name(source));
		cr_expect(strstr(schema, text), "schemas/npulab.devices-1.json does not have %s", text);
	}
	cr_expect_eq(rows, NPL_SOURCES, "docs/machine-files.md has sources that there are not");
	free(page);
	free(schema);
}

Test(sources, values_that_are_set_have_the_user_as_source)
{
	struct npl_device *device = open_with("tpu_v1", "issue.sync_cycles=100");
	expect(device, "issue.sync_cycles", NPL_SOURCE_OWN);
	expect(device, "activate.latency_cycles", NPL_SOURCE_FITTED);
	expect(device, "array.rows", NPL_SOURCE_PUBLISHED);
	expect(device, "energy.table", NPL_SOURCE_MODELLED);
	expect(device, "technology.node_nm", NPL_SOURCE_PUBLISHED);
	expect(device, "host_link.width_bits", NPL_SOURCE_DEFAULT);
	npl_device_close(device);
	device = open_with("tpu_v1", "unified_buffer.bytes=24 MiB");
	expect(device, "unified_buffer.bytes", NPL_SOURCE_PUBLISHED);
	npl_device_close(device);
	device = open_with("cpu", "tdp_watts=77");
	expect(device, "tdp_watts", NPL_SOURCE_OWN);
	npl_device_close(device);
}

/* A dump that is edited keeps the sources of what is as shipped; so do copies of a shipped file, and what is dumped of
 * either. Tags in a file of the user's own say nothing. */
Test(sources, edited_values_have_the_user_as_source)
{
	char folder[CLI_PATH], path[CLI_PATH + 20];
	struct npl_device *plain = open_with("tpu_v1", NULL), *edited, *again;
	const char *yaml = npl_device_yaml(plain), *name = strstr(yaml, "name: tpu_v1\n"),
		   *rows = strstr(yaml, "  rows: 256");
	cli_folder(folder);
	snprintf(path, sizeof path, "%s/mine.yaml", folder);
	FILE *file = fopen(path, "we");
	cr_assert(file && name == yaml && rows);
	fprintf(file, "name: mine\n%.*s  rows: 128%s", (int)(rows - name - 13), name + 13, rows + 11);
	cr_assert_eq(fclose(file), 0);
	edited = open_with(path, NULL);
	expect(edited, "array.rows", NPL_SOURCE_OWN);
	expect(edited, "array.columns", NPL_SOURCE_PUBLISHED);
	expect(edited, "issue.sync_cycles", NPL_SOURCE_FITTED);
	expect(edited, "host_link.width_bits", NPL_SOURCE_DEFAULT);
	cli_write_text(folder, "again.yaml", npl_device_yaml(edited));
	again = open_with(cli_path(folder, "again.yaml"), NULL);
	cr_assert_str_eq(npl_device_yaml(again), npl_device_yaml(edited));
	npl_device_close(again);
	npl_device_close(edited);
	npl_device_close(plain);
	cli_write_text(folder, "tags.yaml", "driver: systolic\narray: !published\n  rows: 64\n  columns: !fitted 32\n");
	edited = open_with(cli_path(folder, "tags.yaml"), NULL);
	expect(edited, "array.rows", NPL_SOURCE_OWN);
	expect(edited, "array.columns", NPL_SOURCE_OWN);
	expect(edited, "clock_hz", NPL_SOURCE_DEFAULT);
	npl_device_close(edited);
	cli_remove_folder(folder);
}

Test(sources, a_copied_memory_tells_them_too)
{
	char folder[CLI_PATH];
	struct npl_memory *memory;
	struct npl_err err;
	cli_folder(folder);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "dram", "--yaml", "--preset", "hbm2", "--channels",
				      "4");
	cr_assert(strstr(r.out, "channels: 4  # own; ") && strstr(r.out, "CL: 14  # published; ") &&
			  strstr(r.out, "copied_from: hbm2\n"),
		  "%s", r.out);
	cli_write_text(folder, "m.yaml", r.out);
	cr_assert_eq(npl_memory_open(cli_path(folder, "m.yaml"), NULL, &memory, &err), 0, "%s", err.msg);
	struct npl_arena arena = {0};
	cr_assert_str_eq(npl_memory_yaml(memory, &arena), r.out);
	npl_arena_free(&arena);
	npl_memory_close(memory);
	cli_free(&r);
	cli_remove_folder(folder);
}

Test(sources, unknown_tags_are_refused)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"driver: systolic\nclock_hz: !fited 5000\n",
		 "m.yaml:2: there is no tag '!fited'; the nearest is 'fitted'"},
		{"driver: systolic\narray: !x\n  rows: 5\n", "m.yaml:2: there is no tag '!x'"},
		{"--- !wrong\ndriver: systolic\n", "m.yaml:1: there is no tag '!wrong'"},
	};
	char folder[CLI_PATH];
	struct npl_device *device;
	struct npl_err err;
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cli_write_text(folder, "m.yaml", cases[i].text);
		cr_assert_eq(npl_device_open(cli_path(folder, "m.yaml"), NULL, &device, &err), NPL_EINPUT);
		cr_assert(strstr(err.msg, cases[i].expected), "%s", err.msg);
	}
	cli_write_text(folder, "m.yaml", "driver: systolic\narray: !!map\n  rows: !!int 8\n");
	cr_assert_eq(npl_device_open(cli_path(folder, "m.yaml"), NULL, &device, &err), 0, "%s", err.msg);
	npl_device_close(device);
	cli_remove_folder(folder);
}

/* A file that names its driver by the former key is read as before, and told of the new one; both keys are one too
 * many. */
Test(sources, the_former_key_of_the_driver)
{
	char folder[CLI_PATH], path[CLI_PATH + 20];
	cli_folder(folder);
	snprintf(path, sizeof path, "%s/m.yaml", folder);
	cli_write_text(folder, "m.yaml", "model: diannao\nmemory: {preset: ideal}\ndma: {request_cycles: 0}\n");
	json_t *json = cli_json(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8",
				"--devices", path, "--json", "-");
	json_t *notes = cli_at(json, "devices.0.notes");
	cr_assert_eq(json_array_size(notes), 1);
	cr_assert(strstr(json_string_value(json_array_get(notes, 0)), "m.yaml: `model:` is called `driver:` now"), "%s",
		  json_string_value(json_array_get(notes, 0)));
	json_decref(json);
	cli_write_text(folder, "m.yaml", "model: diannao\ndriver: diannao\n");
	struct npl_device *device;
	struct npl_err err = {0};
	cr_assert_eq(npl_device_open(path, &(struct npl_device_options){0}, &device, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "m.yaml:2: ") && strstr(err.msg, "driver"), "%s", err.msg);
	cli_remove_folder(folder);
}

/* An older file that relied on defaults that were another machine's is told once, everywhere, and how to have them
 * back; one that gives them, and a machine that ships, is not. */
Test(sources, values_no_longer_inherited_get_a_note)
{
	static const struct {
		const char *name, *text, *left_out, *with;
	} cases[] = {
		{"old", "driver: systolic\narray:\n  rows: 16\n  columns: 16\n",
		 "its file leaves out activate.latency_cycles (now 0, formerly 550), issue.sync_cycles (now 0, "
		 "formerly 2000), host_link.latency_seconds (now 0, formerly 6e-6): the former defaults were fitted "
		 "to the TPU v1",
		 "activate.latency_cycles=550 issue.sync_cycles=2000 host_link.latency_seconds=6e-6"},
		{"older", "driver: diannao\n",
		 "its file leaves out memory.preset (now ideal, formerly diannao-250gbps), dma.request_cycles (now 0, "
		 "formerly 13): the former defaults were fitted to DianNao",
		 "memory.preset=diannao-250gbps dma.request_cycles=13"},
	};
	char folder[CLI_PATH], path[CLI_PATH + 20], set[3][80];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(path, sizeof path, "%s/%s.yaml", folder, cases[i].name);
		cli_write_text(folder, strrchr(path, '/') + 1, cases[i].text);
		json_t *json = cli_json(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8",
					"--devices", path, "--json", "-");
		json_t *notes = cli_at(json, "devices.0.notes");
		cr_assert_eq(json_array_size(notes), 1);
		cr_assert(strstr(json_string_value(json_array_get(notes, 0)), cases[i].left_out), "%s",
			  json_string_value(json_array_get(notes, 0)));
		json_decref(json);
		static const char *const jobs[] = {"layer gemm -m 8 -n 8 -k 8 --devices", "roofline --devices",
						   "devices"};
		for (size_t job = 0; job < sizeof jobs / sizeof *jobs; job++) {
			const char *words[12] = {0};
			char text[80];
			int n = 0;
			snprintf(text, sizeof text, "%s", jobs[job]);
			for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
				words[n++] = word;
			words[n] = path;
			struct cli_result r = cli_run_list(&(struct cli_run_options){0}, words);
			cr_assert(!r.status && cli_says(r.out, cases[i].left_out), "%s: %s%s", jobs[job], r.out, r.err);
			cli_free(&r);
		}
		/* given, they are no default, and there is nothing to tell */
		struct npl_device_options options = {.set = (const char *const[]){set[0], set[1], set[2]}};
		char given[200];
		snprintf(given, sizeof given, "%s", cases[i].with);
		for (char *save, *word = strtok_r(given, " ", &save); word; word = strtok_r(NULL, " ", &save))
			snprintf(set[options.n_sets++], sizeof *set, "%s", word);
		struct npl_device *device;
		struct npl_err err;
		int n;
		cr_assert_eq(npl_device_open(path, &options, &device, &err), 0, "%s", err.msg);
		npl_device_notes(device, &n);
		cr_assert_eq(n, 0);
		npl_device_close(device);
	}
	cli_remove_folder(folder);
}

Test(sources, the_table_of_a_machine_has_them)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1", "--set", "array.rows=128");
	cr_assert(cli_says(r.out, "array.rows 128 cells own") && cli_says(r.out, "array.columns 256 cells published") &&
			  cli_says(r.out, "issue.sync_cycles 2000 cycles fitted"),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	json_t *json = cli_json(&(struct cli_run_options){0}, "devices", "systolic_16x16", "--json", "-");
	size_t i;
	json_t *parameter;
	bool clock = false;
	json_array_foreach (cli_at(json, "devices.0.parameters"), i, parameter) {
		cli_check_keys(parameter, "key:s unit:S source:s", "parameter");
		clock = clock || (!strcmp(cli_text(cli_at(parameter, "key")), "clock_hz") &&
				  json_integer_value(cli_at(parameter, "value")) == 700000000 &&
				  !strcmp(cli_text(cli_at(parameter, "source")), "assumed"));
	}
	cr_assert(clock);
	json_decref(json);
	r = cli_run(&(struct cli_run_options){0}, "devices");
	cr_assert(cli_says(r.out, "npulab dram --list"), "where the memories are");
	cli_free(&r);
}

/* Another size with the energies and fitted figures of the shipped one is told; what has no size is not, nor a file
 * whose figures are all its own. */
Test(sources, figures_of_another_size_get_a_note)
{
	static const struct {
		const char *device, *expected; /* NULL: nothing */
	} cases[] = {
		{"tpu_v1@array.rows=128",
		 "with its own array.rows it keeps the calibration of energies, and the fitted "
		 "activate.latency_cycles, issue.sync_cycles, host_link.latency_seconds of tpu_v1"},
		{"tpu_v1@clock_hz=1GHz", "with its own clock_hz it keeps"},
		{"diannao@nfu.tn=32",
		 "with its own nfu.tn it keeps the calibration of energies, and the fitted dma.request_cycles of "
		 "diannao"},
		{"tpu_v1@precision=8x16", NULL},
		{"tpu_v1@array.rows=256", NULL},
		{"tpu_v1", NULL},
		{"gpu_a100@cores=54", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices",
					      cases[i].device, "--timing-only");
		cr_assert_eq(r.status, 0, "%s", r.err);
		cr_assert(cases[i].expected ? cli_says(r.out, cases[i].expected) : !cli_says(r.out, "it keeps"),
			  "%s: %s", cases[i].device, r.out);
		cli_free(&r);
	}
}

/* A parameter that the others leave without effect is told where the user set it, and marked in the machine's table. */
Test(sources, settings_without_effect_get_a_note)
{
	static const struct {
		const char *device, *set, *expected; /* expected: NULL: nothing */
	} cases[] = {
		{"tpu_v1", "weight_memory.channels=2",
		 "weight_memory.channels has no effect while weight_memory.preset is fixed"},
		{"tpu_v1", "energy.weight_memory.standby=apart",
		 "energy.weight_memory.standby has no effect while weight_memory.preset is fixed"},
		{"tpu_v1", "weight_memory.bytes_per_second=40e9", NULL},
		{"tpu_v1", "host_link.lanes=8", NULL},
		{"tpu_v1", "host_link.width_bits=8", "host_link.width_bits has no effect while host_link.kind is pcie"},
		{"tpu_v1", "energy.static.origin=absent", NULL},
		{"@/mine.yaml", "clock_hz=1GHz",
		 "weight_memory.bytes_per_second has no effect while weight_memory.preset is ddr3-2133; "
		 "energy.static.watts has no effect while energy.static.origin is absent"},
		{"@/mine.yaml", "weight_memory.preset=fixed", "energy.static.watts has no effect"},
		{"cpu_haswell_e5_2699v3", "host_link.lanes=8",
		 "host_link.lanes has no effect while host_link.name is empty"},
		{"gpu_a100", "host_link.lanes=8", NULL},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "mine.yaml",
		       "name: mine\ndriver: systolic\nactivate: {latency_cycles: 0}\nissue: {sync_cycles: 0}\n"
		       "host_link: {latency_seconds: 1us, clock_hz: 1000000000}\nenergy: {static: {watts: 3}}\n"
		       "weight_memory: {preset: ddr3-2133, bytes_per_second: 40e9}\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "devices", cases[i].device,
					      "--set", cases[i].set);
		cr_assert_eq(r.status, 0, "%s", r.err);
		cr_assert(cases[i].expected ? cli_says(r.out, cases[i].expected) : !cli_says(r.out, "has no effect"),
			  "%s %s: %s", cases[i].device, cases[i].set, r.out);
		cli_free(&r);
	}
	struct cli_result table = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1");
	cr_assert(cli_says(table.out, "weight_memory.channels 2 channels published, no effect"), "%s", table.out);
	cr_assert(cli_says(table.out, "host_link.lanes 16 lanes published host_link.clock_hz"), "%s", table.out);
	cli_free(&table);
	struct cli_result report = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--timing-only",
					   "--devices", "tpu_v1@weight_memory.channels=1");
	cr_assert(cli_says(report.out, "weight_memory.channels has no effect while"), "%s", report.out);
	cli_free(&report);
	cli_remove_folder(folder);
}

/* A copy that was cut off has fewer parameters than the machine that it was copied from. */
Test(sources, values_missing_from_a_copy_get_a_note)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct cli_result yaml = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1", "--yaml");
	cli_write_text(folder, "whole.yaml", yaml.out);
	char *end = strstr(yaml.out, "technology:\n");
	cr_assert(end, "%s", yaml.out);
	*end = '\0';
	cli_write_text(folder, "cut.yaml", yaml.out);
	struct cli_result cut = cli_run(&(struct cli_run_options){.folder = folder}, "devices", "@/cut.yaml"),
			  whole = cli_run(&(struct cli_run_options){.folder = folder}, "devices", "@/whole.yaml");
	cr_assert(cli_says(cut.out, "its file is copied from tpu_v1 and leaves out technology.node_nm, energy.table, "
				    "energy.weight_memory.pj, energy.weight_memory.origin and 1 more: these have the "
				    "driver's defaults, not the values of tpu_v1"),
		  "%s", cut.out);
	cr_assert(!cli_says(whole.out, "leaves out"), "%s", whole.out);
	cli_free(&yaml);
	cli_free(&cut);
	cli_free(&whole);
	cli_remove_folder(folder);
}
