/* SPDX-License-Identifier: MIT
 *
 * What `run` tells of a placement: who placed each layer and why it is elsewhere, what crossed which link, when
 * everything took place, in tables, JSON, CSV and trace events that agree with each other. */
#include "tests/kit/cli_figures.h"

#define PLACES "Conv = tpu_v1\n/^fc/ = diannao # both\n\n*Pool = host\nRelu=tpu_v1\n"

/* x -> two convolutions -> LRN of the left one -> their sum. */
static void write_branches(const char *folder)
{
	uint64_t rng = 5;
	struct onnx_writer g = {0}, size = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){1, 4, 16, 16});
	put_random(&g, &rng, "w1", 4, (int64_t[]){8, 4, 3, 3});
	put_random(&g, &rng, "w2", 4, (int64_t[]){8, 4, 3, 3});
	onnx_put_node(&g, "Conv", "left", "x w1", "a", NULL);
	onnx_put_attr_int(&size, "size", 5);
	onnx_put_node(&g, "Conv", "right", "x w2", "b", NULL);
	onnx_put_node(&g, "LRN", "norm", "a", "n", &size);
	onnx_put_node(&g, "Add", "sum", "n b", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "branches.onnx", &g);
}

static json_t *layer_of(json_t *root, const char *name)
{
	size_t i;
	json_t *layer, *match = NULL;
	json_array_foreach (cli_at(root, "devices.0.layers"), i, layer)
		match = strcmp(cli_text(cli_at(layer, "name")), name) ? match : layer;
	cr_assert(match, "no layer %s", name);
	return match;
}

/* Returns the number in a column of a CSV line; "" means "not known". */
static double csv_field(const char *line, int column)
{
	for (; column; column--) {
		line = strchr(line, ',');
		cr_assert(line);
		line++;
	}
	return *line == ',' ? -1 : strtod(line, NULL);
}

/* A link whose machine says that a byte over it costs nothing more has 0 J; one whose bytes are paid for elsewhere has
 * no figure and says where they are; nor has one of which nothing is known. */
Test(cli_dispatch, a_link_has_its_energy_or_says_where_it_is)
{
	static const char rules[] = "Conv=tpu_v1,Gemm=diannao,MaxPool=systolic_16x16,*=host";
	const struct cli_run_options options = {0};
	json_t *root = cli_json(&options, "run", "digits", "--place", rules, "--timing-only", "--json", "-", "--set",
				"systolic_16x16.host_link.energy_origin=absent"),
	       *layer, *part;
	json_t *links = cli_at(root, "devices.0.links");
	cr_assert_eq(json_array_size(links), 3);
	json_t *tpu = json_array_get(links, 0), *diannao = json_array_get(links, 1), *array = json_array_get(links, 2);
	cr_assert_eq(cli_number(cli_at(tpu, "energy_j")), 0);
	cr_assert_str_eq(cli_text(cli_at(tpu, "energy_origin")), "calibrated:jouppi2017");
	cr_assert(json_is_null(cli_at(tpu, "energy_within")));
	cr_assert(json_is_null(cli_at(diannao, "energy_j")));
	cr_assert_str_eq(cli_text(cli_at(diannao, "energy_within")), "the layers' memory");
	cr_assert(json_is_null(cli_at(array, "energy_j")) && json_is_null(cli_at(array, "energy_within")));
	cr_assert_str_eq(cli_text(cli_at(array, "energy_origin")), "absent");
	size_t i, k;
	json_array_foreach (cli_at(root, "devices.0.layers"), i, layer)
		json_array_foreach (cli_at(layer, "energy"), k, part)
			cr_assert(strcmp(cli_text(cli_at(part, "component")), "host link") ||
					  strcmp(cli_text(cli_at(part, "origin")), "modelled:mcpat-chen2014"),
				  "%s: an energy of main memory beside its accesses", cli_text(cli_at(layer, "name")));
	json_decref(root);
	struct cli_result table = cli_run(&options, "run", "digits", "--place", rules, "--timing-only");
	const char *row = strstr(table.out, "main memory "), *end = row ? strchr(row, '\n') : NULL;
	cr_assert(end && !strncmp(end - 2, " -", 2), "%s", table.out);
	cr_assert(cli_says(table.out, "the energy of bytes over its main memory is in the layers' memory"), "%s",
		  table.out);
	cli_free(&table);
}

/* Without values a real device has no time: it is refused where a layer would run on it, and only there; a view runs
 * nowhere. */
Test(cli_dispatch, timing_only_beside_a_real_device)
{
	static const char unused[] = "Conv=tpu_v1,Relu=tpu_v1,MaxPool=tpu_v1,Gemm=diannao,*=cpu";
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	json_t *with = cli_json(&options, "run", "digits", "--place", unused, "--timing-only", "--json", "-");
	json_t *without = cli_json(&options, "run", "digits", "--place",
				   "Conv=tpu_v1,Relu=tpu_v1,MaxPool=tpu_v1,Gemm=diannao", "--timing-only", "--json",
				   "-");
	cr_assert(json_equal(cli_at(with, "devices.0.totals.seconds"), cli_at(without, "devices.0.totals.seconds")));
	json_decref(with);
	json_decref(without);
	const struct cli_refusal cases[] = {
		{2,
		 "--timing-only: cpu is a real device, its time can only be measured",
		 {"run", "digits", "--place", "Conv=tpu_v1,*=cpu", "--timing-only"}},
		{2, "reference is a real device", {"run", "digits", "--device", "reference", "--timing-only"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Rules out of a file place what they say, and each layer says who placed it. */
Test(cli_dispatch, a_file_of_rules)
{
	static const char *const expected[][3] = {{"conv1", "tpu_v1", "Conv=tpu_v1"},
						  {"relu1", "tpu_v1", "Relu=tpu_v1"},
						  {"pool1", "host", "*Pool=host"},
						  {"fc1", "diannao", "/^fc/=diannao"},
						  {"fc2", "diannao", "/^fc/=diannao"}};
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "places", PLACES);
	const struct cli_run_options options = {.folder = folder};
	json_t *root = cli_json(&options, "run", "digits", "--place-file", "@/places", "--json", "-");
	cli_check_result(root);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		json_t *layer = layer_of(root, expected[i][0]);
		cr_assert_str_eq(cli_text(cli_at(layer, "ran_on")), expected[i][1]);
		cr_assert_str_eq(cli_text(cli_at(layer, "placed_by")), expected[i][2]);
	}
	json_t *same = cli_json(&options, "run", "digits", "--place",
				"Conv=tpu_v1,/^fc/=diannao,*Pool=host,Relu=tpu_v1", "--json", "-");
	json_object_del(cli_at(root, "devices.0.totals"), "simulation_wall_seconds");
	json_object_del(cli_at(same, "devices.0.totals"), "simulation_wall_seconds");
	cr_assert(json_equal(root, same), "a file says what --place says");
	json_decref(root);
	json_decref(same);
	cli_write_text(folder, "places", "Conv=tpu_v1\n*=tpu_v1\nGemm=diannao\n");
	struct cli_result r = cli_run(&options, "run", "digits", "--place-file", "@/places");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.err, "npulab: warning: ") && strstr(r.err, "/places:3: 'Gemm=diannao' places nothing"), "%s",
		  r.err);
	cli_free(&r);
	const struct cli_refusal cases[] = {
		{2,
		 "is read by this run and would be overwritten",
		 {"run", "digits", "--place-file", "@/places", "--timeline", "@/places"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Table, JSON and CSV of two branches on two machines. */
Test(cli_dispatch, table_json_and_csv_of_branches_agree)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_branches(folder);
	struct cli_result r;
	json_t *root = RUN_BOTH(folder, &r, "run", "@/branches.onnx", "--place", "/right/=diannao,/left|norm/=tpu_v1",
				"--log-placement", "--csv", "@/r.csv", "--timing-only");
	json_t *totals = cli_at(root, "devices.0.totals"), *layer, *link;
	size_t i;
	cli_check_result(root);
	cr_assert(line_has(find_row(r.err, "#", "0"), "/left|norm/="), "%s", r.err);
	cr_assert(strstr(r.err, "but:") && strstr(r.err, "no rule matches it"), "%s", r.err);
	cr_assert(strstr(r.err, "1024 tpu_v1") && strstr(r.err, "2048 diannao"), "%s", r.err);
	cr_assert(strstr(r.err, "FIRST BATCH") && find_row(r.err, "FIRST BATCH", "link of diannao"), "%s", r.err);
	cr_assert(line_has(find_row(r.out, "LINK OF", "tpu_v1"), "PCIe"), "%s", r.out);
	cr_assert(find_row(r.out, "ON THE HOST OF", "placement") && cli_says(r.out, "goes on while other does"), "%s",
		  r.out);
	cr_assert_str_eq(cli_text(cli_at(layer_of(root, "sum"), "note")), "no rule matches it");
	cr_assert(json_is_null(cli_at(layer_of(root, "sum"), "placed_by")));
	json_array_foreach (cli_at(root, "devices.0.layers"), i, layer)
		cr_assert(json_is_null(cli_at(layer, "output.scale")), "without values nobody has calibrated");
	/* the sums */
	double host = 0, links = 0, work = 0, last = 0, bytes = 0, link_seconds = 0;
	char *csv = cli_read(cli_path(folder, "r.csv"), NULL), *line = csv;
	json_array_foreach (cli_at(root, "devices.0.layers"), i, layer) {
		line = strchr(line, '\n') + 1;
		host += cli_number(cli_at(layer, "host_seconds"));
		links += cli_number(cli_at(layer, "link_seconds"));
		work += cli_number(cli_at(layer, "seconds"));
		bytes += (double)cli_integer(cli_at(layer, "link_bytes"));
		last = fmax(last, cli_number(cli_at(layer, "end_seconds")));
		cr_assert(cli_near(csv_field(line, 7), cli_number(cli_at(layer, "seconds")), 1e-12));
		cr_assert(cli_near(csv_field(line, 8), cli_number(cli_at(layer, "host_seconds")), 1e-12));
		cr_assert(cli_near(csv_field(line, 9), cli_number(cli_at(layer, "link_seconds")), 1e-12));
	}
	free(csv);
	json_array_foreach (cli_at(root, "devices.0.links"), i, link) {
		bytes -= (double)cli_integer(cli_at(link, "bytes"));
		link_seconds += cli_number(cli_at(link, "seconds"));
	}
	cr_assert(bytes == 0 && cli_near(link_seconds, links, 1e-12));
	cr_assert(cli_near(host, cli_number(cli_at(totals, "host_seconds")), 1e-12));
	cr_assert(cli_near(last, cli_number(cli_at(totals, "seconds")), 1e-12));
	double overlap = cli_number(cli_at(totals, "overlap_seconds"));
	cr_assert(overlap > 0 && cli_near(work - overlap, last, 1e-12));
	cli_free(&r);
	json_decref(root);
	/* on one machine nothing overlaps, and rows tell no rule */
	root = cli_json(&(struct cli_run_options){.folder = folder}, "compare", "@/branches.onnx", "--devices",
			"diannao", "--timing-only", "--json", "-");
	cr_assert(json_is_null(cli_at(layer_of(root, "left"), "placed_by")));
	json_decref(root);
	cli_remove_folder(folder);
}

static long long in_nanoseconds(json_t *value)
{
	return llround(cli_number(value) * 1000);
}

/* Trace events: every track has its name, its pieces do not overlap in whole nanoseconds, and the last ends with the
 * run. */
Test(cli_dispatch, trace_events_do_not_overlap_and_end_with_the_run)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_branches(folder);
	struct cli_result r;
	json_t *root = RUN_BOTH(folder, &r, "run", "@/branches.onnx", "--place", "/right/=diannao,*=tpu_v1",
				"--timeline", "@/t.json"),
	       *event;
	char *text = cli_read(cli_path(folder, "t.json"), NULL);
	json_t *trace = cli_parse_json(text);
	long long end[8] = {0}, last = 0;
	int named = 0, pieces = 0, layers = 0;
	bool track[8] = {0};
	size_t i;
	json_array_foreach (cli_at(trace, "traceEvents"), i, event) {
		const char *phase = cli_text(cli_at(event, "ph"));
		long long tid = cli_integer(cli_at(event, "tid"));
		cr_assert(tid >= 0 && tid < 8 && cli_integer(cli_at(event, "pid")) == 1);
		if (!strcmp(phase, "M")) {
			bool is_name = !strcmp(cli_text(cli_at(event, "name")), "thread_name");
			named += is_name;
			track[tid] = track[tid] || (is_name && *cli_text(cli_at(event, "args.name")));
			continue;
		}
		cr_assert_str_eq(phase, "X");
		cr_assert(track[tid], "a piece on a track without a name");
		long long start = in_nanoseconds(cli_at(event, "ts")), length = in_nanoseconds(cli_at(event, "dur"));
		cr_assert(start >= end[tid] && length >= 0, "two pieces at once on track %d", (int)tid);
		end[tid] = start + length;
		last = end[tid] > last ? end[tid] : last;
		layers += !strcmp(cli_text(cli_at(event, "cat")), "layer");
		layer_of(root, cli_text(cli_at(event, "name")));
		pieces++;
	}
	cr_assert(named == 5 && layers == 4 && pieces > 8, "%d tracks, %d layers, %d pieces", named, layers, pieces);
	cr_assert_eq(last, llround(cli_number(cli_at(root, "devices.0.totals.seconds")) * 1e9));
	free(text);
	cli_free(&r);
	json_decref(trace);
	json_decref(root);
	cli_remove_folder(folder);
}

/* Without values nobody reads the samples: a batch whose inputs would not fit into memory is priced all the same. */
Test(cli_dispatch, timing_only_needs_no_samples)
{
	if (cli_no_limits())
		cr_skip("limits on memory make no sense there");
	char folder[CLI_PATH];
	cli_folder(folder);
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 100000});
	onnx_put_node(&g, "Softmax", "s", "x", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "wide.onnx", &g);
	const struct cli_run_options options = {.folder = folder, .address_space = (size_t)1 << 30};
	json_t *root = cli_json(&options, "run", "@/wide.onnx", "--device", "tpu_v1", "--timing-only", "--batch",
				"100000", "--json", "-");
	cr_assert(cli_number(cli_at(root, "devices.0.totals.host_seconds")) > 1);
	json_decref(root);
	cli_remove_folder(folder);
}
