/* SPDX-License-Identifier: MIT
 *
 * Layers one by one: what their tables and CSV say, and which of them are shown. */
#include "core/base/printable.h"
#include "core/files/words.h"
#include "npulab/device.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"

static const struct cli_run_options plainly = {0};

/* Returns the field of a CSV line in this column, in a static buffer. */
static const char *field(const char *line, const char *header, const char *column)
{
	static char text[400];
	int at = 0;
	for (const char *name = header; strncmp(name, column, strlen(column)) || !strchr(",\r", name[strlen(column)]);
	     at++) {
		name = strchr(name, ',');
		cr_assert(name, "no column %s", column);
		name++;
	}
	for (; at; at--)
		line = strchr(line, ',') + 1;
	snprintf(text, sizeof text, "%.*s", (int)strcspn(line, ",\r"), line);
	return text;
}

static double sum_of(const char *csv, const char *column, const char *device)
{
	double sum = 0;
	for (const char *line = strchr(csv, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
		if (!strcmp(field(line + 1, csv, "device"), device))
			sum += atof(field(line + 1, csv, column));
	return sum;
}

static int lines_of(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

#define MOBILENET "compare", "mobilenet_v2", "--devices", "tpu_v1,diannao", "--timing-only"

/* What is left out is one line of the CSV for each device, so that its columns still sum to the network's. */
Test(layers, csv_of_chosen_layers_sums_to_the_network)
{
	static const char *const columns[] = {"cycles",       "seconds",    "macs",         "energy_j",
					      "memory_bytes", "link_bytes", "array_active", "weight_stall",
					      "weight_shift", "non_matrix", "nfu_active",   "wait_sb"};
	struct cli_result all = cli_run(&plainly, MOBILENET, "--csv", "-"),
			  top = cli_run(&plainly, MOBILENET, "--csv", "-", "--top", "7", "--match", "Conv", "--sort",
					"idle");
	cr_assert(all.status == 0 && top.status == 0, "%s%s", all.err, top.err);
	cr_assert_eq(lines_of(all.out), 1 + 2 * 100);
	cr_assert_eq(lines_of(top.out), 1 + 2 * (7 + 1));
	cr_assert(strstr(top.out, ",93 more layers,"), "%s", top.out);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		for (int d = 0; d < 2; d++) {
			const char *device = d ? "diannao" : "tpu_v1";
			const double whole = sum_of(all.out, columns[i], device),
				     again = sum_of(top.out, columns[i], device);
			cr_assert(cli_near(whole, again, 1e-12) || whole + again <= 0, "%s of %s: %g and %g",
				  columns[i], device, whole, again);
		}
	/* the causes are all cycles */
	cr_assert_eq(sum_of(all.out, "array_active", "tpu_v1") + sum_of(all.out, "weight_stall", "tpu_v1") +
			     sum_of(all.out, "weight_shift", "tpu_v1") + sum_of(all.out, "non_matrix", "tpu_v1"),
		     sum_of(all.out, "cycles", "tpu_v1"));
	cli_free(&all);
	cli_free(&top);
}

/* What none of the causes has is little: waits for the host and the time of syncs have counters of their own. A machine
 * whose syncs take none has none of theirs. */
Test(layers, causes_of_a_tpu_leave_little)
{
	struct npl_device *device;
	struct npl_err err;
	cr_assert_eq(npl_device_open("tpu_v1", NULL, &device, &err), 0, "%s", err.msg);
	const struct npl_device_info *info = npl_device_get_info(device);
	for (int timed = 0; timed < 2; timed++) {
		struct cli_result r = cli_run(&plainly, "run", "digits", "--device", "tpu_v1", "--timing-only", "--set",
					      timed ? "tpu_v1.issue.sync_cycles=2000" : "tpu_v1.issue.sync_cycles=0",
					      "--csv", "-");
		int layers = 0;
		cr_assert_eq(r.status, 0, "%s", r.err);
		for (const char *line = strchr(r.out, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
			double other = atof(field(line + 1, r.out, "non_matrix"));
			for (size_t i = 0; i < info->n_counters; i++)
				if (info->counter_def[i].part_of)
					other -= atof(field(line + 1, r.out, info->counter_def[i].name));
			cr_assert(other >= 0 && other <= 0.02 * atof(field(line + 1, r.out, "cycles")), "%s: %g other",
				  field(line + 1, r.out, "name"), other);
			layers += atof(field(line + 1, r.out, "cycles")) > 0;
		}
		cr_assert_eq(layers, 5);
		/* in each of three batches four syncs, one for each layer but the last, all while the array has no
		 * work */
		cr_assert_eq((int)sum_of(r.out, "sync_pause", "tpu_v1"), timed ? 3 * 4 * 2000 : 0);
		cli_free(&r);
	}
	npl_device_close(device);
}

/* Returns the sum of a CSV line in these columns, with blanks between them; "-" before a name subtracts. */
static double figure_in(const char *line, const char *header, const char *columns)
{
	double sum = 0;
	char column[40];
	size_t length;
	for (const char *name; (name = npl_next_word(&columns, &length));) {
		const bool subtracts = *name == '-';
		snprintf(column, sizeof column, "%.*s", (int)length - subtracts, name + subtracts);
		sum += (subtracts ? -1 : 1) * atof(field(line, header, column));
	}
	return sum;
}

/* The figure of each key of --sort, as columns of the CSV; "order" is the greatest first of the negative index. */
static const struct sort_key {
	const char *key, *columns;
} sort_keys[] = {{"order", "-index"},   {"time", "seconds"},
		 {"cycles", "cycles"},  {"idle", "cycles -array_active -nfu_active"},
		 {"macs", "macs"},      {"bytes", "memory_bytes link_bytes_within_cycles link_bytes"},
		 {"energy", "energy_j"}};

static void expect_sorted(const struct sort_key *key)
{
	struct cli_result r = cli_run(&plainly, MOBILENET, "--csv", "-", "--sort", key->key);
	double value[2][100];
	int n[2] = {0}, steps = 0;
	cr_assert_eq(r.status, 0, "%s", r.err);
	for (const char *line = strchr(r.out, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
		const int d = strcmp(field(line + 1, r.out, "device"), "tpu_v1") != 0;
		value[d][n[d]++] = figure_in(line + 1, r.out, key->columns);
		cr_assert(n[d] <= 100);
	}
	cr_assert(n[0] == 100 && n[1] == 100);
	for (int k = 1; k < 100; k++) {
		const double before = fmax(value[0][k - 1], value[1][k - 1]), after = fmax(value[0][k], value[1][k]);
		cr_assert(after <= before, "%s: %d", key->key, k);
		steps += after < before;
	}
	cr_assert_gt(steps, 10, "%s: the layers hardly differ", key->key);
	cli_free(&r);
}

/* The figure of the device that has most of it decides, the greatest first, and all devices show the same layers. */
Test(layers, sorted_by_a_figure)
{
	static const char *const words[] = {
#define NPL_LAYER_SORT(constant, word, help) word,
#include "npulab/layer_sorts.def"
	};
	for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
		size_t i = 0;
		while (i < sizeof sort_keys / sizeof *sort_keys && strcmp(sort_keys[i].key, words[w]) != 0)
			i++;
		cr_assert_lt(i, sizeof sort_keys / sizeof *sort_keys, "the test has no columns of the key %s",
			     words[w]);
		expect_sorted(&sort_keys[i]);
	}
	struct cli_result r = cli_run(&plainly, MOBILENET, "--csv", "-", "--top", "5");
	char names[10][200];
	int n = 0;
	for (const char *line = strchr(r.out, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
		if (*field(line + 1, r.out, "index"))
			snprintf(names[n++], sizeof *names, "%s", field(line + 1, r.out, "name"));
	cr_assert_eq(n, 10);
	for (int i = 0; i < 5; i++)
		cr_assert_str_eq(names[i], names[5 + i]);
	cli_free(&r);
	/* which device is named first does not matter; a device without cycles may be */
	r = cli_run(&plainly, "compare", "mobilenet_v2", "--devices", "diannao,tpu_v1", "--timing-only", "--csv", "-",
		    "--top", "5");
	n = 0;
	for (const char *line = strchr(r.out, '\n'); line && line[1] && n < 5; line = strchr(line + 1, '\n'))
		cr_assert_str_eq(field(line + 1, r.out, "name"), names[n++]);
	cr_assert_eq(n, 5);
	cli_free(&r);
	r = cli_run(&plainly, "compare", "digits", "--devices", "gpu_a100,tpu_v1", "--timing-only", "--sort", "cycles");
	cr_assert(!r.status &&
			  cli_says(r.out,
				   "layers sorted by cycles: for each layer that of the device where it is greatest"),
		  "%s%s", r.out, r.err);
	cli_free(&r);
}

Test(layers, the_table_of_layers_has_its_columns)
{
	struct cli_result r = cli_run(&plainly, "compare", "mobilenet_v2", "--devices", "tpu_v1", "--timing-only",
				      "--top", "3");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "tpu_v1 OPERATOR TIME SHARE CYCLES PEAK USED MOVED ENERGY BOUND"), "%s", r.out);
	cr_assert(cli_says(r.out, "CYCLES OF tpu_v1 ARRAY WEIGHT WEIGHT RAW INPUT OUTPUT SYNC OTHER "
				  "ACTIVE STALL SHIFT STALL STALL STALL PAUSE"),
		  "%s", r.out);
	cr_assert(strstr(r.out, "\n97 more layers ") && strstr(r.out, "\nall 100 layers "), "%s", r.out);
	cr_assert(cli_says(r.out, "WEIGHT STALL: the array waits for weights to reach the FIFO;"), "%s", r.out);
	cli_free(&r);
	/* side by side where there are several devices, with the share of each that is left out */
	r = cli_run(&plainly, MOBILENET, "--match", "/classifier/", "--match", "gemm");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "LAYER OPERATOR tpu_v1 diannao classifier Gemm"), "%s", r.out);
	cr_assert(cli_says(r.out, "99 more layers 9"), "%s", r.out);
	cr_assert(cli_says(r.out, "CYCLES OF diannao NFU ACTIVE NFU FILL WAIT SB WAIT NBIN WAIT NBOUT classifier"),
		  "%s", r.out);
	cli_free(&r);
	/* each machine of a placement has its own causes */
	r = cli_run(&plainly, "run", "digits", "--place", "Conv=tpu_v1,*=diannao", "--layers", "--timing-only");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "\nCYCLES OF tpu_v1 ") && strstr(r.out, "\nCYCLES OF diannao "), "%s", r.out);
	cli_free(&r);
	r = cli_run(&plainly, "layer", "gemm", "-m", "4", "-n", "300", "-k", "300", "--devices", "tpu_v1", "--layers");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "\nCYCLES OF tpu_v1 ") && strstr(r.out, " BOUND\n"), "%s", r.out);
	cli_free(&r);
}

/* Long names of devices take no room from the labels of sums; the tables side by side have fewer devices then. */
Test(layers, labels_are_whole)
{
	struct cli_result r = cli_run(&plainly, "compare", "mobilenet_v2", "--devices",
				      "tpu_v1@array.rows=128@array.columns=64,tpu_v1@array.rows=128@array.columns=32,"
				      "diannao@nbin.rows=128@nbout.rows=128@sb.rows=128",
				      "--timing-only", "--top", "2");
	cr_assert_eq(r.status, 0, "%s", r.err);
	char *lines = strdup(r.out), *rest = lines;
	for (const char *line; (line = strsep(&rest, "\n"));)
		cr_assert_leq(npl_text_width(line), 100, "%s", line);
	free(lines);
	int times = 0, left = 0, all = 0;
	for (const char *at = r.out; (at = strstr(at, "\nLAYER ")); at++)
		times++;
	for (const char *at = r.out; (at = strstr(at, "\n98 more layers ")); at++)
		left++;
	for (const char *at = r.out; (at = strstr(at, "\nall 100 layers ")); at++)
		all++;
	cr_assert(times == 3 && left == 6 && all == 3, "%d %d %d: %s", times, left, all, r.out);
	cr_assert(strstr(r.out, "\nless overlap "), "%s", r.out);
	cli_free(&r);
}

/* The JSON stays that of all layers. */
Test(layers, json_has_all)
{
	json_t *root = cli_json(&plainly, MOBILENET, "--top", "2", "--json", "-");
	cr_assert_eq(json_array_size(cli_at(root, "devices.0.layers")), 100);
	cr_assert_str_eq(cli_text(cli_at(root, "devices.0.layers.0.bound")), "idle cells");
	json_decref(root);
}

Test(layers, wrong_choices_of_layers_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	static const struct cli_refusal cases[] = {
		{2,
		 "--match: 'convo' matches no operator of this model after folding; the nearest is 'Conv'",
		 {MOBILENET, "--match", "convo"}},
		{2,
		 "--match: 'classifier' matches no operator of this model; for the node of that name write "
		 "/classifier/",
		 {MOBILENET, "--match", "classifier"}},
		{2,
		 "--match: 'clasifier' matches no node of this model after folding; the nearest is 'classifier'",
		 {MOBILENET, "--match", "/clasifier/"}},
		{2, "--match: /(/ is not a regular expression", {MOBILENET, "--match", "/(/"}},
		{2, "--sort: there is no key 'tim'; the nearest is 'time'", {MOBILENET, "--sort", "tim"}},
		{2, "--top", {MOBILENET, "--top", "0"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
