/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab validate`: what is published comes from published/, each row with its source; the verdict is the
 * difference against the tolerance; a figure that no validator works out is told apart from one that is not to be had;
 * Table 1 of the TPU paper holds for the shipped applications to the layer; the command prints table or JSON of the
 * schema, --check fails when a figure is outside, and bad files are refused by line. */
#include "tests/kit/cli_json.h"

#include "npulab/report.h"
#include "validate/tpu_applications.h"
#include "validate/validation.h"

static const struct cli_run_options plainly;

static const struct npl_validation_row *find(const struct npl_validation *v, const char *case_name, const char *metric)
{
	for (int i = 0; i < v->n; i++)
		if (!strcmp(v->row[i].case_name, case_name) && !strcmp(v->row[i].metric, metric))
			return &v->row[i];
	return NULL;
}

/* Layers, weights and batch of the six applications, and the machine's own figures. */
Test(validate, table_1_and_the_machine_hold)
{
	static const char *const exact[] = {"fc_layers", "conv_layers", "vector_layers", "pool_layers",
					    "layers",    "weights",     "batch",         "published_ops_per_byte"};
	struct npl_validation v;
	struct npl_err err;
	int judged = 0;
	cr_assert_eq(npl_validate("tpu_v1", &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int i = 0; i < v.n; i++) {
		const struct npl_validation_row *row = &v.row[i];
		bool table1 = false;
		for (size_t k = 0; k < sizeof exact / sizeof *exact; k++)
			table1 |= !strcmp(row->metric, exact[k]);
		bool parameter = row->fitted && isnan(row->published);
		if (!table1 && (strcmp(row->case_name, "TPU") || !row->attempted || parameter))
			continue;
		cr_assert(row->attempted && !isnan(row->model), "%s of %s is not worked out", row->metric,
			  row->case_name);
		cr_assert_neq((int)npl_validation_verdict(row), (int)NPL_OUTSIDE, "%s of %s: %g, published %g",
			      row->metric, row->case_name, row->model, row->published);
		judged += npl_validation_verdict(row) == NPL_WITHIN;
		cr_assert(*row->source && !strcmp(row->reference, "Jouppi et al. (ISCA 2017)"));
	}
	cr_assert_geq(judged, 37, "%d judged", judged);
	/* what the reconstruction cannot meet is shown, not hidden */
	const struct npl_validation_row *vectors = find(&v, "LSTM1", "vector_layers");
	cr_assert(vectors && vectors->published == 19 && vectors->model == 45 && isnan(vectors->tolerance) &&
		  *vectors->note);
	npl_validation_free(&v);
}

/* The four parts of the cycles, as far as the machine ran an application whole. */
Test(validate, shares_sum_to_one)
{
	static const char *const parts[] = {"array_active", "weight_stall", "weight_shift", "non_matrix"};
	static const char *const apps[] = {"MLP0", "MLP1", "CNN0", "CNN1"};
	struct npl_validation v;
	struct npl_err err;
	cr_assert_eq(npl_validate("tpu_v1", &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int a = 0; a < 4; a++) {
		double model = 0, published = 0;
		for (int k = 0; k < 4; k++) {
			model += find(&v, apps[a], parts[k])->model;
			published += find(&v, apps[a], parts[k])->published;
		}
		cr_assert_float_eq(model, 1, 1e-9, "%s: %g", apps[a], model);
		cr_assert_float_eq(published, 1, 0.0025, "%s: %g", apps[a], published); /* three digits each */
		cr_assert_float_eq(find(&v, apps[a], "useful_macs")->model + find(&v, apps[a], "unused_macs")->model,
				   find(&v, apps[a], "array_active")->model, 1e-9);
	}
	npl_validation_free(&v);
}

/* Every figure that is judged is within its tolerance; fitted is the machine, on MLP0 and LSTM0, and on the power
 * at rest; the others are predicted. */
Test(validate, the_paper_is_met)
{
	static const char *const rows[] = {"array_active", "useful_macs", "weight_stall", "weight_shift"};
	struct npl_validation v;
	struct npl_err err;
	int parameters = 0;
	cr_assert_eq(npl_validate("tpu_v1", &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int i = 0; i < v.n; i++) {
		const struct npl_validation_row *row = &v.row[i];
		cr_assert_neq((int)npl_validation_verdict(row), (int)NPL_OUTSIDE, "%s of %s: %g, published %g",
			      row->metric, row->case_name, row->model, row->published);
		parameters += row->fitted && !strcmp(row->case_name, "TPU") && strcmp(row->metric, "die_idle_power");
		cr_assert(!row->fitted || !strcmp(row->case_name, "TPU") || !strcmp(row->case_name, "MLP0") ||
				  !strcmp(row->case_name, "LSTM0"),
			  "%s of %s", row->metric, row->case_name);
	}
	cr_assert(parameters > 0 && parameters <= 3, "%d parameters fitted", parameters);
	for (size_t k = 0; k < 4; k++) {
		static const char *const apps[] = {"MLP0", "LSTM0", "MLP1", "LSTM1", "CNN0"};
		for (size_t a = 0; a < 5; a++) {
			const struct npl_validation_row *row = find(&v, apps[a], rows[k]);
			cr_assert_float_eq(row->tolerance, a < 2 ? 0.02 : 0.05, 1e-9);
			cr_assert_eq((int)npl_validation_verdict(row), (int)NPL_WITHIN);
		}
	}
	npl_validation_free(&v);
}

/* What the paper says of changed machines, as far as the model has it. */
Test(validate, changes_of_the_machine)
{
	static const char *const apps[] = {"MLP0", "MLP1", "LSTM0", "LSTM1"};
	struct npl_validation v;
	struct npl_err err;
	cr_assert_eq(npl_validate("tpu_v1", &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int a = 0; a < 4; a++) {
		const struct npl_validation_row *memory = find(&v, apps[a], "speedup_memory_x4");
		const struct npl_validation_row *clock = find(&v, apps[a], "speedup_clock_x4");
		double n = find(&v, apps[a], "non_matrix")->published;
		cr_assert_float_eq(memory->published, 1 / (n + (1 - n) / 4), 1e-12);
		cr_assert_float_eq(clock->published, 1 / (1 - n + n / 4), 1e-12);
		cr_assert(memory->model > 2 && clock->model >= 1 && clock->at_most);
	}
	cr_assert_lt(find(&v, "LSTM1", "speedup_array_512x512")->model, 1);
	cr_assert_float_eq(find(&v, "LSTM1's 600 x 600", "seconds_256x256")->model * 700e6, 9 * 1344, 2 * 90);
	npl_validation_free(&v);
}

Test(validate, verdicts_follow_the_tolerance)
{
	struct npl_validation v = {0};
	struct npl_err err = {0};
	struct npl_validation_row row = {.published = 0.127, .model = 0.147, .tolerance = 0.02};
	cr_assert_eq(npl_validation_verdict(&row), NPL_WITHIN, "on the edge");
	row.model = 0.1471;
	cr_assert_eq(npl_validation_verdict(&row), NPL_OUTSIDE);
	row.model = 0.1069;
	cr_assert_eq(npl_validation_verdict(&row), NPL_OUTSIDE);
	row.at_most = true;
	cr_assert_eq(npl_validation_verdict(&row), NPL_WITHIN, "less");
	row.model = 0.1471;
	cr_assert_eq(npl_validation_verdict(&row), NPL_OUTSIDE, "more");
	row.tolerance = NAN;
	cr_assert_eq(npl_validation_verdict(&row), NPL_UNJUDGED);
	cr_assert(!npl_validation_shown(&row, false) && npl_validation_shown(&row, true));
	row.model = NAN;
	cr_assert_eq(npl_validation_verdict(&row), NPL_UNJUDGED);
	row.tolerance = 1;
	cr_assert_eq(npl_validation_verdict(&row), NPL_MISSING);
	cr_assert(npl_validation_shown(&row, false), "a judged figure is never hidden");
	row.published = NAN;
	cr_assert_eq(npl_validation_verdict(&row), NPL_UNJUDGED);
	cr_assert_eq(npl_validation_set(&v, "m", "c", "nothing", "W", 0, &err), 0);
	cr_assert_eq(v.n, 0, "an unpublished zero");
	cr_assert_eq(npl_validation_set(&v, "m", "c", "power", "W", 3, &err), 0);
	cr_assert_eq(npl_validation_set(&v, "m", "c", "power", "W", 4, &err), 0);
	cr_assert(v.n == 1 && v.row[0].model == 4 && isnan(v.row[0].published) && v.row[0].attempted);
	cr_assert_eq(npl_validation_set(&v, "m", "c", "power", "mW", 4, &err), NPL_EINTERNAL, "another unit");
	/* a reason is told once, of what was tried and is not there; infinity is no figure; a figure needs none */
	cr_assert_eq(npl_validation_set(&v, "m", "c", "area", "mm2", NAN, &err), 0);
	cr_assert_eq(npl_validation_set(&v, "m", "d", "area", "mm2", NAN, &err), 0);
	cr_assert_eq(npl_validation_set(&v, "m", "d", "rate", "GB/s", INFINITY, &err), 0);
	cr_assert_eq(npl_validation_explain(&v, "m", "c", "this", &err), 0);
	cr_assert_eq(npl_validation_explain(&v, "other", NULL, "not this", &err), 0);
	cr_assert_eq(npl_validation_explain(&v, "m", NULL, "that", &err), 0);
	cr_assert_str_eq(find(&v, "c", "area")->reason, "this");
	cr_assert_str_eq(find(&v, "d", "area")->reason, "that");
	cr_assert(isnan(find(&v, "d", "rate")->model) && strstr(find(&v, "d", "rate")->reason, "no limit"));
	cr_assert_str_eq(find(&v, "c", "power")->reason, "");
	cr_assert_eq(npl_validation_set(&v, "m", "c", "area", "mm2", 2, &err), 0);
	cr_assert_str_eq(find(&v, "c", "area")->reason, "");
	npl_validation_free(&v);
	cr_assert_eq(npl_validate("host", &(struct npl_validate_options){0}, &v, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "host has no published figures to validate, expected one of: tpu_v1, diannao, dram"),
		  "%s", err.msg);
}

Test(validate, json_and_table_have_the_same_rows)
{
	json_t *root = cli_json(&plainly, "validate", "tpu_v1", "--json", "-"), *row;
	size_t i, shown = json_array_size(cli_at(root, "rows"));
	int fitted = 0;
	cr_assert_str_eq(json_string_value(cli_at(root, "schema")), "npulab.validate/1");
	json_array_foreach (cli_at(root, "rows"), i, row) {
		static const char *const keys[] = {
			"machine",   "case",    "metric", "published", "model",     "difference", "relative_difference",
			"tolerance", "at_most", "fitted", "verdict",   "reference", "source",     "unit",
			"note",      "reason"};
		cr_assert_eq(json_object_size(row), 16);
		for (size_t k = 0; k < 16; k++)
			cli_at(row, keys[k]);
		json_t *published = cli_at(row, "published"), *model = cli_at(row, "model"),
		       *relative = cli_at(row, "relative_difference");
		if (json_is_number(published) && json_is_number(model)) {
			const double difference = cli_number(model) - cli_number(published);
			cr_assert_float_eq(cli_number(cli_at(row, "difference")), difference, 1e-9);
			if (cli_number(published) != 0)
				cr_assert_float_eq(cli_number(relative), difference / cli_number(published), 1e-9);
			else
				cr_assert(json_is_null(relative));
		}
		cr_assert_eq(json_is_null(cli_at(row, "reason")) != 0, json_is_number(model) != 0);
		fitted += json_is_true(cli_at(row, "fitted"));
	}
	cr_assert_geq(fitted, 8);
	json_decref(root);
	root = cli_json(&plainly, "validate", "--all", "--json", "-");
	cr_assert_gt(json_array_size(cli_at(root, "rows")), shown + 50);
	json_decref(root);
	/* half the clock, half the peak */
	root = cli_json(&plainly, "validate", "tpu_v1", "--set", "tpu_v1.clock_hz=350000000", "--json", "-");
	json_array_foreach (cli_at(root, "rows"), i, row)
		if (!strcmp(json_string_value(cli_at(row, "metric")), "peak_int8"))
			cr_assert_float_eq(cli_number(cli_at(row, "model")), 45.875, 0.001);
	json_decref(root);
	const struct cli_refusal cases[] = {
		{2, "foo has no published figures", {"validate", "foo"}},
		{1,
		 "outside the tolerance; the first is clock of TPU",
		 {"validate", "tpu_v1", "--quiet", "--check", "--set", "tpu_v1.clock_hz=350000000"}},
		{2, "nearest is", {"validate", "tpu_v1", "--set", "tpu_v1.clock=3"}},
		{2, "none of the machines validated has this name", {"validate", "--set", "host.clock_hz=3"}},
	};
	CLI_CHECK(".", cases);
	struct cli_result table = cli_run(&plainly, "validate", "tpu_v1");
	cr_assert_eq(table.status, 0, "%s", table.err);
	cr_assert(cli_says(table.out, "Table 3, row 1") && cli_says(table.out, "figures within their tolerance") &&
		  !strstr(table.out, "K80"));
	cli_free(&table);
}

/* The power at rest is judged and not known: it is not met therefore, and says why; no other row needs a reason. */
Test(validate, a_missing_figure_fails_and_says_why)
{
	static const char process[] = "tpu_v1.technology.node_nm=0", table[] = "tpu_v1.energy.table=none",
			  reason[] = "neither a table nor the machine file has it";
	const struct npl_validate_options options = {.n_sets = 2, .set = (const char *[]){process, table}};
	struct npl_validation v;
	struct npl_err err;
	cr_assert_eq(npl_validate("tpu_v1", &options, &v, &err), 0, "%s", err.msg);
	for (int i = 0; i < v.n; i++) {
		const struct npl_validation_row *row = &v.row[i];
		const bool is_it = !strcmp(row->case_name, "TPU") && !strcmp(row->metric, "die_idle_power");
		cr_assert_eq(npl_validation_verdict(row) == NPL_MISSING, is_it, "%s of %s", row->metric,
			     row->case_name);
		cr_assert_str_eq(row->reason, is_it ? reason : isnan(row->model) ? "no model works it out" : "");
	}
	npl_validation_free(&v);
	const struct cli_refusal cases[] = {
		{1,
		 "1 judged figure is missing; the first is die_idle_power of TPU: neither a table nor the machine "
		 "file has it",
		 {"validate", "tpu_v1", "--quiet", "--check", "--set", process, "--set", table}}};
	CLI_CHECK(".", cases);
}

/* An application of which the machine leaves a convolution to the host has no counters; they say what the machine
 * said. */
Test(validate, counts_that_are_not_known)
{
	static const char set[] = "tpu_v1.unified_buffer.bytes=4096";
	const struct npl_validate_options options = {.n_sets = 1, .set = (const char *[]){set}};
	struct npl_tpu_counts counts;
	struct npl_err err;
	cr_assert_eq(npl_tpu_count(&npl_tpu_applications[NPL_TPU_CNN0], 1, &options, NULL, 0, &counts, &err), 0, "%s",
		     err.msg);
	cr_assert(isnan(counts.cycles) && isnan(counts.seconds) && isnan(counts.useful_macs));
	cr_assert(strstr(counts.reason, "tpu_v1 leaves layer conv1 to the host: ") &&
			  strstr(counts.reason, "does not fit in the 16 rows of the unified buffer"),
		  "%s", counts.reason);
	cr_assert_eq(npl_tpu_count(&npl_tpu_applications[NPL_TPU_MLP1], 1, &(struct npl_validate_options){0}, NULL, 0,
				   &counts, &err),
		     0, "%s", err.msg);
	cr_assert(counts.cycles > 0);
	cr_assert_str_eq(counts.reason, "");
}

/* One row of the table, blanks between its cells made one; "" without the row. */
static const char *table_row(const char *table, const char *begins, char *row, size_t n)
{
	const char *at = table;
	size_t used = 0;
	while (at && strncmp(at, begins, strlen(begins)) != 0)
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	for (; at && *at && *at != '\n' && used + 1 < n; at++)
		if (*at != ' ' || at[1] != ' ')
			row[used++] = *at;
	row[used] = '\0';
	return row;
}

/* Rows of a validation, with the metric clock, and how the table prints each. */
static const struct {
	struct npl_validation_row row;
	const char *printed;
} printed_rows[] = {
	{{.case_name = "a", .unit = "GHz", .published = 0.98, .model = 0.98, .tolerance = 0.0049},
	 "a clock GHz 0.98 0.98 0 0.5 %"},
	{{.case_name = "b", .unit = "mm2", .published = 0.009767, .model = 0.009, .tolerance = NAN},
	 "b clock mm2 0.009767 0.009 -7.9 %"},
	{{.case_name = "c", .unit = "ratio", .published = 5.58, .model = 68.45, .tolerance = 0.558, .fitted = true},
	 "c clock ratio 5.58 68.45 +1127 % 10 %: OUTSIDE, fitted"},
	{{.case_name = "d", .unit = "fraction", .published = 0.127, .model = 0.131, .tolerance = 0.02},
	 "d clock % 12.7 13.1 +0.4 pt 2 pt"},
	{{.case_name = "e", .unit = "fraction", .published = 0.5, .model = 0.49999, .tolerance = 0, .at_most = true},
	 "e clock % 50.0 50.0 0.0 pt at most"},
	{{.case_name = "f", .unit = "J", .published = 5.234e-4, .model = 5.236e-4, .tolerance = NAN},
	 "f clock uJ 523.4 523.6 +0.04 %"},
	{{.case_name = "g", .unit = "weights", .published = 2e7, .model = 20482880, .tolerance = 6e5},
	 "g clock million weights 20 20.48 +2.4 % 3 %"},
	{{.case_name = "h", .unit = "cycles", .published = 4906611, .model = 4906612, .tolerance = NAN},
	 "h clock cycles 4906611 4906612 0.00 %"},
	{{.case_name = "i", .unit = "clock", .published = 0, .model = 3, .tolerance = 2}, "i clock 0 3 +3 2: OUTSIDE"},
	{{.case_name = "j", .unit = "s", .published = NAN, .model = 6e-6, .tolerance = NAN, .fitted = true},
	 "j clock us - 6 - fitted"},
	{{.case_name = "k", .unit = "W", .published = 28, .model = NAN, .tolerance = 0.28, .reason = "for this reason"},
	 "k clock W 28 - - 1 %: MISSING"},
	{{.case_name = "l", .unit = "W", .published = 28, .model = NAN, .tolerance = NAN, .reason = "for this reason"},
	 "l clock W 28 - -"},
	{{.case_name = "m", .unit = "ratio", .published = 2, .model = 1, .tolerance = 0.02, .at_most = true},
	 "m clock ratio 2 1 -50.0 % at most +1 %"},
	{{.case_name = "n", .unit = "KiB", .published = 2, .model = 2, .tolerance = 0}, "n clock KiB 2 2 0 exact"},
	{{.case_name = "o", .unit = "W", .published = 5e-324, .model = 1e308, .tolerance = 0},
	 "o clock W 4.941e-324 1e+308 > 1e308 % exact: OUTSIDE"},
	{{.case_name = "p", .unit = "W", .published = 5e-324, .model = -1e308, .tolerance = 1e308},
	 "p clock W 4.941e-324 -1e+308 < -1e308 % > 1e308 %"},
	{{.case_name = "q", .unit = "ratio", .published = 5e-324, .model = -1e308, .tolerance = NAN},
	 "q clock ratio 4.941e-324 -1e+308 x < -1e308"},
	{{.case_name = "r", .unit = "fraction", .published = 0.5, .model = 1e308, .tolerance = 1e307},
	 "r clock % 50.0 > 1e308 > 1e308 pt > 1e308 pt: OUTSIDE"},
	{{.case_name = "s", .unit = "s", .published = 0, .model = 1e308, .tolerance = 1},
	 "s clock s 0 1e+308 +1e+308 1: OUTSIDE"},
};

/* Every unit, and every way to differ, as a person reads it. */
Test(validate, the_table_says_how_figures_differ)
{
	struct npl_validation v = {0};
	struct npl_err err;
	char *text = NULL, row[200];
	size_t bytes;
	for (size_t i = 0; i < sizeof printed_rows / sizeof *printed_rows; i++) {
		struct npl_validation_row made = printed_rows[i].row;
		made.metric = "clock";
		made.source = "a source whose title is longer than any column";
		cr_assert_eq(npl_validation_add(&v, "m", &made, &err), 0, "%s", err.msg);
	}
	FILE *out = open_memstream(&text, &bytes);
	npl_validation_table(out, &v, false);
	fclose(out);
	cr_assert(strstr(text, "\na source whose title is longer than any column\n"), "%s", text);
	for (size_t i = 0; i < sizeof printed_rows / sizeof *printed_rows; i++) {
		char begins[] = {printed_rows[i].printed[0], ' ', ' ', '\0'};
		cr_assert_str_eq(table_row(text, begins, row, sizeof row), printed_rows[i].printed);
	}
	cr_assert(strstr(text, "\nno figure of k (clock), l (clock): for this reason\n"), "%s", text);
	cr_assert(strstr(text, "\n7 figures within their tolerance, 5 outside, 1 missing, 6 shown only\n"), "%s", text);
	free(text);
	npl_validation_free(&v);
}

/* A folder of data with one changed line of published/tpu_v1.csv. */
static void write_published(const char *folder, const char *line)
{
	char text[400];
	snprintf(text, sizeof text,
		 "case,metric,value,unit,tolerance,fitted,reference,source,note\nMLP0,batch,200,samples,0,,paper,Table "
		 "1,\n%s\n",
		 line);
	cli_write_text(folder, "published/tpu_v1.csv", text);
}

Test(validate, wrong_published_files_are_refused)
{
	static const char *const lines[][2] = {
		{"MLP0,batch,100,samples,0,,paper,Table 1,", ":3: batch of MLP0 is there already"},
		{"MLP1,batch,many,samples,0,,paper,Table 1,", ":3: value must be a number, got 'many'"},
		{"MLP1,batch,,samples,0,,paper,Table 1,", ":3: case, metric, value and source must not be empty"},
		{"MLP1,batch,168,samples,0,,paper,,", ":3: case, metric, value and source must not be empty"},
		{"MLP1,batch,168,samples,some,,paper,Table 1,", ":3: tolerance must be a number or a percentage"},
		{"MLP1,batch,168,samples,-1,,paper,Table 1,", ":3: tolerance must be a number or a percentage"},
		{"MLP1,batch,168,samples,3%%,,paper,Table 1,", ":3: tolerance must be a number or a percentage"},
		{"MLP1,batch,168,samples,0,no,paper,Table 1,", ":3: fitted must be 'yes' or empty, got 'no'"},
		{"MLP1,batch,168", ":3: 3 fields, expected 9"},
	};
	char folder[CLI_PATH], published[CLI_PATH + 20];
	cli_folder(folder);
	snprintf(published, sizeof published, "%s/published", folder);
	cr_assert_eq(mkdir(published, 0700), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct npl_validation v = {0};
		struct npl_err err = {0};
		write_published(folder, lines[i][0]);
		cr_assert_eq(setenv("NPULAB_DATA", folder, 1), 0);
		cr_assert_eq(npl_validation_load(&v, "tpu_v1", "tpu_v1.csv", &err), NPL_EINPUT, "%s", lines[i][0]);
		cr_assert(strstr(err.msg, "published/tpu_v1.csv") && strstr(err.msg, lines[i][1]),
			  "'%s', expected '%s'", err.msg, lines[i][1]);
		npl_validation_free(&v);
	}
	struct npl_validation v = {0};
	struct npl_err err = {0};
	write_published(folder, "MLP1,batch,168,samples,5%,yes,paper,\"Table 1, batch\",a note");
	cr_assert_eq(npl_validation_load(&v, "tpu_v1", "tpu_v1.csv", &err), 0, "%s", err.msg);
	cr_assert(v.n == 2 && v.row[1].fitted && !v.row[1].attempted && isnan(v.row[1].model));
	cr_assert_float_eq(v.row[1].tolerance, 8.4, 1e-9);
	cr_assert_str_eq(v.row[1].source, "Table 1, batch");
	npl_validation_free(&v);
	cli_remove_folder(folder);
}
