/* SPDX-License-Identifier: MIT
 *
 * Devices of one comparison: one that is not here has a row with the reason while all others are reported, and one
 * machine may be there more than once with settings of its own. */
#include "tests/kit/cli_json.h"

/* Says whether a GPU answers on this computer; no device is then missing. */
static bool has_gpu(void)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "1", "-n", "1", "-k", "1",
				      "--devices", "cuda");
	const bool found = r.status == 0;
	cli_free(&r);
	return found;
}

static json_t *entry(json_t *root, size_t i)
{
	json_t *device = json_array_get(cli_at(root, "devices"), i);
	cr_assert(device, "entry %zu", i);
	return device;
}

/* The JSON of a run that ends with exit status 4 and one line about cuda. */
static json_t *missing(const char *const *args)
{
	struct cli_result r = cli_run_list(&(struct cli_run_options){0}, args);
	cr_assert_eq(r.status, 4, "%s: %d, %s", args[0], r.status, r.err);
	cli_drop_waiting(r.err, &r.err_bytes);
	cr_assert(!strncmp(r.err, "npulab: cuda is not available here: ", 36), "%s", r.err);
	cr_assert_eq(strchr(r.err, '\n') - r.err + 1, (long)strlen(r.err), "%s", r.err);
	json_t *root = json_loads(r.out, 0, NULL);
	cr_assert(root, "%s", r.out);
	cli_free(&r);
	return root;
}

Test(instances, a_missing_device_is_a_row)
{
	static const char *const commands[][9] = {
		{"compare", "digits", "--devices", "diannao,cuda,tpu_v1", "--timing-only", "--json", "-"},
		{"roofline", "--devices", "diannao,cuda,tpu_v1", "--json", "-"},
		{"roofline", "digits", "--devices", "diannao,cuda,tpu_v1", "--json", "-"},
	};
	if (has_gpu())
		cr_skip_test("there is a GPU");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		json_t *root = missing(commands[i]), *gone = entry(root, 1);
		cr_assert_eq(json_array_size(cli_at(root, "devices")), 3);
		cr_assert_str_eq(cli_text(cli_at(gone, "name")), "cuda");
		cr_assert_str_eq(cli_text(cli_at(gone, "instance")), "cuda");
		cr_assert_gt(strlen(cli_text(cli_at(gone, "unavailable"))), 10);
		cr_assert(strncmp(cli_text(cli_at(gone, "unavailable")), "cuda", 4), "the name is said once");
		/* The others are as ever, and have the keys that are null here. */
		const char *key;
		json_t *value;
		json_object_foreach (gone, key, value) {
			cr_assert(json_is_null(value) || !strcmp(key, "name") || !strcmp(key, "instance") ||
					  !strcmp(key, "unavailable"),
				  "%s", key);
			cr_assert(json_object_get(entry(root, 0), key), "%s of diannao", key);
		}
		json_object_foreach (entry(root, 0), key, value)
			cr_assert(json_object_get(gone, key), "%s of cuda", key);
		cr_assert_str_eq(cli_text(cli_at(entry(root, 0), "name")), "diannao");
		cr_assert_str_eq(cli_text(cli_at(entry(root, 2), "name")), "tpu_v1");
		cr_assert(json_is_null(cli_at(entry(root, 2), "unavailable")));
		json_decref(root);
	}
}

/* A table in the order asked for, the reason in its notes; what is worse than a missing device decides the exit
 * status. */
Test(instances, a_missing_device_and_the_rest)
{
	char folder[CLI_PATH];
	if (has_gpu())
		cr_skip_test("there is a GPU");
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "layer", "gemm", "-m", "4", "-n", "4", "-k", "4", "--devices",
				      "tpu_v1,cuda,diannao", "--csv", "@/layers.csv", "--timing-only");
	cr_assert_eq(r.status, 4, "%s", r.err);
	const char *tpu = strstr(r.out, "\ntpu_v1 "), *cuda = strstr(r.out, "\ncuda "),
		   *diannao = strstr(r.out, "\ndiannao ");
	cr_assert(tpu && tpu < cuda && cuda < diannao, "%s", r.out);
	cr_assert(!strncmp(strpbrk(cuda, " ") + strspn(strpbrk(cuda, " "), " "), "unavailable ", 12), "%s", r.out);
	cr_assert(strstr(cuda + 1, "\ncuda "), "no reason in the notes: %s", r.out);
	cli_free(&r);
	size_t bytes;
	char *csv = cli_read(cli_path(folder, "layers.csv"), &bytes);
	cr_assert(strstr(csv, "tpu_v1") && !strstr(csv, "cuda"), "%s", csv);
	free(csv);
	/* So is the machine of a file. */
	cli_write_text(folder, "mine.yaml", "driver: cuda\nname: mine\n");
	r = cli_run(&options, "layer", "gemm", "-m", "4", "-n", "4", "-k", "4", "--devices", "tpu_v1,@/mine.yaml",
		    "--timing-only");
	cr_assert_eq(r.status, 4, "%s", r.err);
	cr_assert(strstr(r.out, "mine.yaml") && cli_says(r.out, "unavailable"), "%s", r.out);
	cli_free(&r);
	const struct cli_refusal cases[] = {
		{4, "cuda: no driver", {"compare", "digits", "--devices", "cuda"}},
		{4, "cuda: no driver", {"run", "digits", "--device", "cuda"}},
		{4, "cuda: no driver", {"run", "digits", "--place", "Conv=cuda,*=tpu_v1"}},
		{2, "there is no device 'cudda'", {"compare", "digits", "--devices", "cudda,tpu_v1"}},
		{2, "cuda", {"compare", "digits", "--devices", "cuda,tpu_v1", "--set", "cuda.no_such=1"}},
		{2, "vega.x", {"compare", "digits", "--devices", "cuda,tpu_v1", "--set", "vega.x=1"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

static long long cycles(json_t *device)
{
	return cli_integer(cli_at(device, "totals.cycles"));
}

/* Settings after '@' are of one entry alone and go before those of --set, which hold for all of a name. */
Test(instances, settings_of_one_entry_change_no_other)
{
	const struct cli_run_options options = {0};
	json_t *both = cli_json(&options, "compare", "digits", "--devices",
				"tpu_v1,tpu_v1@array.rows=128@array.columns=64", "--timing-only", "--json", "-");
	json_t *single = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--set",
				  "tpu_v1.array.rows=128", "--set", "tpu_v1.array.columns=64", "--timing-only",
				  "--json", "-");
	json_t *mixed = cli_json(&options, "compare", "digits", "--devices", "tpu_v1@array.rows=128,tpu_v1", "--set",
				 "tpu_v1.array.rows=32", "--set", "tpu_v1.array.columns=64", "--timing-only", "--json",
				 "-");
	cr_assert_eq(cycles(entry(both, 1)), cycles(entry(single, 0)));
	cr_assert_eq(cycles(entry(mixed, 0)), cycles(entry(single, 0)));
	cr_assert_neq(cycles(entry(both, 0)), cycles(entry(both, 1)));
	cr_assert_neq(cycles(entry(mixed, 0)), cycles(entry(mixed, 1)));
	for (int i = 0; i < 2; i++)
		cr_assert_str_eq(cli_text(cli_at(entry(both, (size_t)i), "name")), "tpu_v1");
	cr_assert_str_eq(cli_text(cli_at(entry(both, 0), "instance")), "tpu_v1");
	cr_assert_str_eq(cli_text(cli_at(entry(both, 1), "instance")), "tpu_v1@array.rows=128@array.columns=64");
	cr_assert_eq(cli_integer(json_object_get(cli_at(entry(mixed, 1), "settings"), "array.rows")), 32);
	json_decref(both);
	json_decref(single);
	json_decref(mixed);
}

/* Machine files take settings too, also where a '@' is in their path; the entry is called by the machine's name. */
Test(instances, settings_of_a_machine_file)
{
	char folder[CLI_PATH], devices[3 * CLI_PATH];
	size_t bytes;
	cli_folder(folder);
	char *text = cli_read("machines/systolic_16x16.yaml", &bytes);
	cli_write(folder, "a@b.yaml", text, bytes);
	free(text);
	snprintf(devices, sizeof devices, "%s/a@b.yaml,%s/a@b.yaml@array.rows=8", folder, folder);
	json_t *root = cli_json(&(struct cli_run_options){0}, "compare", "digits", "--devices", devices,
				"--timing-only", "--json", "-");
	cr_assert_str_eq(cli_text(cli_at(entry(root, 0), "instance")), "systolic_16x16");
	cr_assert_str_eq(cli_text(cli_at(entry(root, 1), "instance")), "systolic_16x16@array.rows=8");
	cr_assert_gt(cycles(entry(root, 1)), cycles(entry(root, 0)));
	json_decref(root);
	cli_remove_folder(folder);
}

/* The cell of PEAK USED in a layer's row of --layers: the sixth, two spaces or more apart from its neighbours. */
static void peak_used(const char *table, const char *layer, char cell[32])
{
	char row[200], *at, *tail = row;
	snprintf(row, sizeof row, "\n%s ", layer);
	at = strstr(table, "   SHARE "); /* of the table of layers alone */
	at = at ? strstr(at, row) : NULL;
	cr_assert(at, "no row of %s: %s", layer, table);
	snprintf(row, sizeof row, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
	for (int i = 0; i < 5; i++) {
		tail = strstr(tail, "  ");
		cr_assert(tail, "%s", row);
		tail += strspn(tail, " ");
	}
	snprintf(cell, 32, "%.*s", (int)(strstr(tail, "  ") - tail), tail);
}

/* Two entries of one machine in a placement are told apart, and each layer's use is of the peak of its own entry. */
Test(instances, entries_of_a_placement_are_told_apart)
{
	static const char narrow[] = "tpu_v1@array.rows=128@array.columns=64", *const of_layer[] = {"conv1", narrow,
												    "fc1",   "tpu_v1",
												    "relu1", "host"};
	const struct cli_run_options options = {0};
	char place[100], both_use[32], alone_use[32];
	snprintf(place, sizeof place, "Conv*=%s,Gemm=tpu_v1,*=host", narrow);
	json_t *root = cli_json(&options, "run", "digits", "--place", place, "--timing-only", "--json", "-");
	json_t *placed = entry(root, 0);
	for (size_t i = 0; i < 2; i++) {
		const char *expected = i ? "tpu_v1" : narrow;
		json_t *used = json_array_get(cli_at(placed, "devices"), i),
		       *link = json_array_get(cli_at(placed, "links"), i);
		cr_assert_str_eq(cli_text(json_object_get(used, "name")), "tpu_v1");
		cr_assert_str_eq(cli_text(json_object_get(used, "instance")), expected);
		cr_assert_str_eq(cli_text(json_object_get(link, "device")), expected);
	}
	for (size_t i = 0; i < 6; i += 2) {
		size_t n_found = 0, k;
		json_t *row;
		json_array_foreach (cli_at(placed, "layers"), k, row) {
			if (strcmp(cli_text(json_object_get(row, "name")), of_layer[i]) != 0)
				continue;
			cr_assert_str_eq(cli_text(json_object_get(row, "ran_on")), of_layer[i + 1]);
			n_found++;
		}
		cr_assert_eq(n_found, 1, "%s", of_layer[i]);
	}
	json_decref(root);
	struct cli_result both = cli_run(&options, "run", "digits", "--place", place, "--timing-only", "--layers"),
			  single = cli_run(&options, "run", "digits", "--place", "Gemm=tpu_v1,*=host", "--timing-only",
					   "--layers");
	peak_used(both.out, "fc1", both_use);
	peak_used(single.out, "fc1", alone_use);
	cr_assert_str_eq(both_use, alone_use);
	cli_free(&both);
	cli_free(&single);
}

Test(instances, wrong_instances_are_refused)
{
	static const struct {
		int status;
		const char *devices, *expected;
	} cases[] = {
		{2, "tpu_v1@", "tpu_v1@: expected NAME@KEY=VALUE"},
		{2, "tpu_v1@array.rows", "expected NAME@KEY=VALUE"},
		{2, "tpu_v1@=3", "a setting without a key"},
		{2, "tpu_v1@array.rows=8@=3", "a setting without a key"},
		{2, "@array.rows=8", "no device before '@'"},
		{2, "tpu_v1@no_such=1", "no_such"},
		{2, "tpu_v1@array.rows=", "array.rows"},
		{2, "tpu_v1@array.rows=8@", "array.rows"},
		{2, "tpu_v1@array.rows=8,tpu_v1@array.rows=8", "is given twice"},
		{2, "tpu_v1@array.rows=8@clock_hz=1GHz@array.rows=4", "array.rows is given twice, as '8' and as '4'"},
		{2, "tpu@array.rows=8", "there is no device 'tpu'"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices",
					      cases[i].devices);
		cli_check_refusal(&r, cases[i].status, cases[i].expected, cases[i].devices);
		cli_free(&r);
	}
}

/* A value for all devices of a name has no effect where each of them sets the key itself. */
Test(instances, a_setting_that_each_instance_overrides_is_refused)
{
	static const char *const refused[] = {
		"compare",       "digits", "--devices", "tpu_v1@array.rows=8", "--set", "tpu_v1.array.rows=16",
		"--timing-only", NULL};
	static const char *const in_force[] = {"compare",
					       "digits",
					       "--devices",
					       "tpu_v1@array.rows=8,tpu_v1",
					       "--set",
					       "tpu_v1.array.rows=16",
					       "--timing-only",
					       "--quiet",
					       "--json",
					       "-",
					       NULL};
	struct cli_result r = cli_run_list(&(struct cli_run_options){0}, refused);
	cli_check_refusal(&r, 2,
			  "--set tpu_v1.array.rows=16 has no effect: each device of this name has its own value of the "
			  "key",
			  "overridden");
	cli_free(&r);
	r = cli_run_list(&(struct cli_run_options){0}, in_force);
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *root = json_loads(r.out, 0, NULL);
	for (int d = 0; d < 2; d++) {
		const json_t *rows = json_object_get(cli_at(entry(root, (size_t)d), "settings"), "array.rows");
		cr_assert_eq(json_integer_value(rows), d ? 16 : 8);
	}
	json_decref(root);
	cli_free(&r);
}

Test(instances, the_output_of_a_layer_is_never_another_devices)
{
	char folder[CLI_PATH];
	if (has_gpu())
		cr_skip_test("there is a GPU");
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "layer", "gemm", "-m", "3", "-n", "3", "-k", "3", "--devices",
				      "tpu_v1,cuda", "--output", "@/y.npy", "--quiet");
	cr_assert_eq(r.status, 4, "%s", r.err);
	cr_assert_neq(access(cli_path(folder, "y.npy"), F_OK), 0);
	cli_free(&r);
	r = cli_run(&options, "layer", "gemm", "-m", "3", "-n", "3", "-k", "3", "--devices", "cuda,tpu_v1", "--output",
		    "@/y.npy", "--quiet");
	cr_assert_eq(r.status, 4, "%s", r.err);
	cr_assert_eq(access(cli_path(folder, "y.npy"), F_OK), 0);
	cli_free(&r);
	cli_remove_folder(folder);
}
