/* SPDX-License-Identifier: MIT
 *
 * What the program prints and writes: tables of at most 100 columns in which modelled figures carry a "~" and measured
 * ones do not, and files that are whole. */
#include "tests/kit/cli_json.h"

#define FOUR      "reference,tpu_v1,diannao,cpu"
#define SIMULATED "tpu_v1,diannao"

static const struct cli_run_options plainly = {0};

/* Counts the characters of a line, not its bytes. */
static size_t width_of(const char *line, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)line[i] & 0xc0) != 0x80;
	return n;
}

static void check_layout(const char *text)
{
	for (const char *line = text; *line;) {
		size_t bytes = strcspn(line, "\n");
		cr_assert(width_of(line, bytes) <= 100, "wider than 100 columns: %.*s", (int)bytes, line);
		cr_assert(!memchr(line, '\t', bytes) && !memchr(line, '\033', bytes), "a tab or escape: %.*s",
			  (int)bytes, line);
		line += bytes + (line[bytes] == '\n');
	}
}

/* The first line that begins with the name and a blank after `from`, or NULL. */
static const char *find_row(const char *from, const char *name)
{
	size_t length = strlen(name);
	for (const char *line = from; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, name, length) && line[length] == ' ')
			return line;
	return NULL;
}

/* Each figure of the row, after the first two columns, is modelled and says so, or measured and does not. */
static void check_marks(const char *text, const char *name, bool modelled)
{
	const char *row = find_row(text, name);
	cr_assert(row, "%s is not in the table", name);
	int column = 0, figures = 0;
	for (const char *end = row + strcspn(row, "\n"); row < end; column++) {
		const char *gap = strstr(row, "  ");
		size_t length = gap && gap < end ? (size_t)(gap - row) : (size_t)(end - row);
		if (column >= 2 && !(length == 1 && *row == '-')) {
			cr_assert_eq(*row == '~', modelled, "%s: %.*s", name, (int)length, row);
			figures++;
		}
		row += length;
		row += strspn(row, " ");
	}
	cr_assert(figures >= 3, "%s: %d figures", name, figures);
}

Test(cli_output, tables_keep_their_layout)
{
	struct cli_result r = cli_run(&plainly, "compare", "digits", "--devices", "reference,null," SIMULATED ",cpu",
				      "--layers");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert_eq(r.err_bytes, 0, "%s", r.err);
	check_layout(r.out);
	check_marks(r.out, "tpu_v1", true);
	check_marks(r.out, "diannao", true);
	check_marks(r.out, "reference", false);
	check_marks(r.out, "cpu", false);
	static const char *const layers[] = {"conv1", "relu1", "pool2", "flatten", "fc2"};
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		cr_assert(find_row(r.out, layers[i]), "%s is not in the table", layers[i]);
	/* every device has a column in a table of layers */
	const char *header = find_row(r.out, "LAYER");
	static const char *const names[] = {" reference", " null", " tpu_v1", " diannao", " cpu"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_assert(header && strstr(header, names[i]), "no column for%s", names[i]);
	/* and in one of the signal-to-noise ratios, where the reference is exact */
	const char *noise = strstr(r.out, "\nSIGNAL/NOISE OF  OPERATOR");
	cr_assert(noise && strstr(noise, " reference"));
	cr_assert(find_row(noise, "fc2") && strstr(find_row(noise, "fc2"), " exact "));
	cr_assert(strstr(noise, " dB"));
	cr_assert(strstr(noise, "\nlayers       signal over noise of the first batch"), "%s", noise);
	cli_free(&r);
	static const char *const others[][6] = {{"compare", "digits", "--devices", FOUR},
						{"devices"},
						{"devices", "--verbose"},
						{"models"},
						{"inspect", "digits"},
						{"run", "digits", "--place", "Conv=tpu_v1,/fc/=diannao,*=cpu"}};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		r = cli_run_list(&plainly, others[i]);
		cr_assert_eq(r.status, 0, "%s: %s", others[i][0], r.err);
		check_layout(r.out);
		cli_free(&r);
	}
}

/* --quiet prints nothing; files are written whole, beside a table or without one. */
Test(cli_output, quiet_prints_nothing_and_files_are_whole)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "compare", "digits", "--devices", SIMULATED, "--quiet", "--json",
				      "@/r.json", "--csv", "@/r.csv");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(r.out_bytes == 0 && r.err_bytes == 0, "--quiet printed %s%s", r.out, r.err);
	cr_assert_eq(cli_count_files(folder), 2);
	cli_free(&r);
	r = cli_run(&options, "inspect", "digits", "--quiet");
	cr_assert(!r.status && r.out_bytes == 0 && r.err_bytes == 0, "inspect --quiet printed %s%s", r.out, r.err);
	cli_free(&r);
	char *text = cli_read(cli_path(folder, "r.json"), NULL), *csv = cli_read(cli_path(folder, "r.csv"), NULL);
	json_t *root = cli_parse_json(text);
	cli_check_result(root);
	int line = 0, columns = 0, layers = (int)cli_integer(cli_at(root, "model.layers"));
	for (char *at = csv; *at; line++) {
		char *end = strstr(at, "\r\n");
		int commas = 0;
		cr_assert(end, "line %d does not end in CR LF", line);
		for (char *c = at; c < end; c++)
			commas += *c == ',';
		columns = line ? columns : commas;
		cr_assert_eq(commas, columns, "line %d: %.*s", line, (int)(end - at), at);
		if (line > 0) {
			json_t *device = json_array_get(cli_at(root, "devices"), (size_t)((line - 1) / layers));
			json_t *layer = json_array_get(cli_at(device, "layers"), (size_t)((line - 1) % layers));
			char start[200];
			snprintf(start, sizeof start, "digits,%s,%d,%s,%s,%s,", cli_text(cli_at(device, "name")),
				 (line - 1) % layers, cli_text(cli_at(layer, "name")), cli_text(cli_at(layer, "op")),
				 cli_text(cli_at(layer, "ran_on")));
			cr_assert(!strncmp(at, start, strlen(start)), "line %d: %.*s, expected %s...", line,
				  (int)(end - at), at, start);
		}
		at = end + 2;
	}
	cr_assert_eq(line, 1 + 2 * layers);
	cr_assert_geq(columns, 21, "beside the machines' counters");
	r = cli_run(&options, "compare", "digits", "--devices", SIMULATED, "--csv", "-");
	cr_assert_str_eq(r.out, csv, "--csv - differs from the file");
	cli_free(&r);
	json_decref(root);
	free(text);
	free(csv);
	cli_remove_folder(folder);
}

/* Two columns of a CSV: the ratio, "inf" where JSON has an error of 0 and no ratio, nothing where it has neither; and
 * how many batches the figures are of. */
Test(cli_output, csv_says_inf_where_there_is_no_error)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "compare", "digits", "--devices", "reference,tpu_v1", "--quiet",
				      "--json", "@/r.json", "--csv", "@/r.csv");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	char *text = cli_read(cli_path(folder, "r.json"), NULL), *csv = cli_read(cli_path(folder, "r.csv"), NULL);
	json_t *root = cli_parse_json(text);
	int seen[3] = {0}, layers = (int)cli_integer(cli_at(root, "model.layers"));
	char *at = strstr(csv, ",sqnr_db,batches,");
	int before = 0; /* columns */
	cr_assert(at);
	for (const char *c = csv; c <= at; c++)
		before += *c == ',';
	at = strstr(at, "\r\n") + 2;
	for (int i = 0; i < 2 * layers; i++) {
		json_t *device = json_array_get(cli_at(root, "devices"), (size_t)(i / layers));
		json_t *layer = json_array_get(cli_at(device, "layers"), (size_t)(i % layers));
		json_t *ratio = cli_at(layer, "sqnr_db"), *error = cli_at(layer, "max_abs_error");
		char *end = strstr(at, "\r\n"), *batches, *cell = at;
		cr_assert(end);
		*end = '\0';
		for (int k = 0; k < before; k++)
			cell = strchr(cell, ',') + 1;
		batches = strchr(cell, ',');
		*batches++ = '\0';
		cr_assert_eq(atoll(batches), cli_integer(cli_at(root, "model.batches")));
		if (json_is_number(ratio))
			cr_assert_float_eq(strtod(cell, NULL), json_number_value(ratio), 1e-9);
		else
			cr_assert_str_eq(cell, json_is_null(error) ? "" : "inf", "row %d", i);
		cr_assert(json_is_number(ratio) || json_is_null(error) || json_number_value(error) == 0);
		seen[json_is_number(ratio) ? 0 : *cell ? 1 : 2]++;
		at = end + 2;
	}
	cr_assert(!*at && seen[0] && seen[1] && seen[2]);
	json_decref(root);
	free(text);
	free(csv);
	cli_remove_folder(folder);
}

/* Writes a network of 123 layers, some of which run on the host. */
Test(cli_output, a_network_of_123_layers_is_written)
{
	if (access(RESNET, R_OK))
		cr_skip("no " RESNET);
	struct cli_result r = cli_run(&plainly, "compare", RESNET, "--devices", "tpu_v1,cpu", "--no-accuracy",
				      "--layers");
	cr_assert_eq(r.status, 0, "%s", r.err);
	check_layout(r.out);
	cli_free(&r);
}
