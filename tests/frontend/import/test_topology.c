/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of SCALE-Sim topologies: every row is a layer with the shapes and multiply-accumulates that
 * SCALE-Sim gives it, independent of the others; and what is no topology is refused by line and column. */
#include "npulab/graph.h"
#include "npulab/session.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/support.h"

#define HEADER "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"

#define BEHIND(name)                                                                                                   \
	"Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides, " name ",\n"
#define BATCHED BEHIND("Batch Size")
#define STRIDES BEHIND("Stride Width")
#define SPARSE  BEHIND("Sparsity")

/* Krizhevsky, Sutskever and Hinton (NIPS 2012) without its groups, inputs with their padding. */
static const char alexnet[] = HEADER "Conv1, 227, 227, 11, 11, 3, 96, 4,\n"
				     "Conv2, 31, 31, 5, 5, 96, 256, 1,\n"
				     "Conv3, 15, 15, 3, 3, 256, 384, 1,\n"
				     "Conv4, 15, 15, 3, 3, 384, 384, 1,\n"
				     "Conv5, 15, 15, 3, 3, 384, 256, 1,\n"
				     "FC6, 6, 6, 6, 6, 256, 4096, 1,\n"
				     "FC7, 1, 1, 1, 1, 4096, 4096, 1,\n"
				     "FC8, 1, 1, 1, 1, 4096, 1000, 1,\n";

static struct npl_graph *load(const char *folder, const char *text, int64_t batch)
{
	struct npl_graph *graph;
	struct npl_err err = {0};
	cli_write_text(folder, "net.csv", text);
	int rc = npl_graph_load(cli_path(folder, "net.csv"), &(struct npl_load_options){.batch = batch}, &graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return graph;
}

/* The products of layer counts, and their sum. */
Test(topology, counts_of_alexnet_are_worked_by_hand)
{
	static const uint64_t macs[] = {55 * 55 * 96 * 11 * 11 * 3ull,
					27 * 27 * 256 * 5 * 5 * 96ull,
					13 * 13 * 384 * 3 * 3 * 256ull,
					13 * 13 * 384 * 3 * 3 * 384ull,
					13 * 13 * 256 * 3 * 3 * 384ull,
					6 * 6 * 256 * 4096ull,
					4096 * 4096ull,
					4096 * 1000ull};
	char folder[CLI_PATH];
	uint64_t sum = 0;
	cli_folder(folder);
	struct npl_graph *graph = load(folder, alexnet, 0);
	cr_assert_str_eq(graph->name, "net");
	cr_assert_eq(graph->n_nodes, 8);
	cr_assert_eq(graph->n_inputs, 8);
	cr_assert_eq(graph->n_outputs, 8);
	cr_assert_eq(graph->n_warnings, 0);
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(graph->node[i].macs, macs[i], "layer %d", i);
		sum += macs[i];
	}
	cr_assert_eq(graph->macs, sum);
	cr_assert_eq(sum, 1135256096u, "AlexNet without groups, as usually given: 1.14 G");
	cr_assert_eq(graph->parameters, 62367776u, "62.4 M weights, no biases");
	cr_assert_str_eq(graph->node[5].name, "FC6");
	for (int v = 0; v < graph->n_values; v++)
		cr_assert(!graph->value[v].constant || !graph->value[v].data,
			  "weights are made when they are asked for");
	npl_graph_free(graph);
	cli_remove_folder(folder);
}

/* Random rows: shapes and counts as SCALE-Sim's formulas have them, written here once more in floating point. */
Test(topology, counts_follow_scale_sim_s_formulas)
{
	uint64_t rng = 42;
	char folder[CLI_PATH];
	cli_folder(folder);
	for (int round = 0; round < 30; round++) {
		int64_t of[6][7];
		char *text = NULL;
		size_t bytes;
		FILE *file = open_memstream(&text, &bytes);
		cr_assert(file);
		fputs(HEADER, file);
		for (int i = 0; i < 6; i++) {
			int64_t *v = of[i];
			v[2] = test_range(&rng, 1, 7);
			v[3] = test_range(&rng, 1, 7);
			v[0] = v[2] + test_range(&rng, 0, 30);
			v[1] = v[3] + test_range(&rng, 0, 30);
			v[4] = test_range(&rng, 1, 40);
			v[5] = test_range(&rng, 1, 40);
			v[6] = test_range(&rng, 1, 5);
			fprintf(file, "%s%d", i % 3 == 2 ? "DP" : "conv", i);
			for (int k = 0; k < 7; k++)
				fprintf(file, ",%s%lld", k % 2 ? " " : "\t", (long long)v[k]);
			fputs(i % 2 ? ",\r\n" : "\n", file);
		}
		fclose(file);
		struct npl_graph *graph = load(folder, text, 2);
		for (int i = 0; i < 6; i++) {
			const int64_t *v = of[i];
			const struct npl_shape *out = &graph->value[graph->output[i]].shape;
			double rows = ceil((double)(v[0] - v[2] + v[6]) / (double)v[6]);
			double columns = ceil((double)(v[1] - v[3] + v[6]) / (double)v[6]);
			double channels = (double)(i % 3 == 2 ? v[4] * v[5] : v[5]),
			       depth = i % 3 == 2 ? 1 : (double)v[4];
			cr_assert_eq(out->dim[0], 2);
			cr_assert_eq((double)out->dim[1], channels, "%s", text);
			cr_assert_eq((double)out->dim[2], rows, "%s", text);
			cr_assert_eq((double)out->dim[3], columns, "%s", text);
			cr_assert_eq((double)graph->node[i].macs,
				     2 * rows * columns * channels * depth * (double)(v[2] * v[3]), "%s", text);
		}
		npl_graph_free(graph);
		free(text);
	}
	cli_remove_folder(folder);
}

/* Products with their values: outputs of layers on the same input differ by their own weights only, which are the same
 * in every run and of the deviation promised. */
Test(topology, layers_on_one_input_differ_by_their_weights)
{
	char folder[CLI_PATH];
	struct npl_err err;
	struct npl_tensor out[4] = {{0}};
	cli_folder(folder);
	struct npl_graph *graph = load(folder, "Layer,M,N,K,\nqkv,4,96,128,\nqkv,4,96,128,\n,,,,\nheads, 8,16,32, 2,\n",
				       0);
	cr_assert_eq(graph->n_nodes, 4);
	cr_assert_str_eq(graph->node[0].name, "qkv");
	cr_assert_str_eq(graph->node[1].name, "qkv#2");
	cr_assert_str_eq(graph->node[3].name, "heads.1");
	cr_assert_eq(graph->macs, 2 * 4 * 96 * 128 + 2 * 8 * 16 * 32u);
	float ones[4 * 128];
	for (int i = 0; i < 4 * 128; i++)
		ones[i] = 1;
	struct npl_tensor in[4];
	for (int i = 0; i < 4; i++)
		in[i] = (struct npl_tensor){
			.dtype = NPL_F32, .shape = graph->value[graph->input[i]].shape, .data = ones};
	cr_assert_eq(npl_evaluate(graph, in, out, NULL, &err), 0, "%s", err.msg);
	const float *a = out[0].data, *b = out[1].data;
	double squares = 0;
	for (int i = 0; i < 96; i++) {
		cr_assert_eq(a[i], a[96 + i], "each row of the input is the same");
		cr_assert_neq(a[i], b[i], "each layer has weights of its own");
		squares += (double)a[i] * a[i];
	}
	/* A sum of 128 weights of variance 2 / 128 has variance 2; of 96 such sums the mean square lies within 5
	 * sigma. */
	cr_assert_float_eq(squares / 96, 2, 5 * 2 * sqrt(2.0 / 96));
	for (int i = 0; i < 4; i++)
		npl_tensor_free(&out[i]);
	npl_graph_free(graph);
	cli_remove_folder(folder);
}

Test(topology, sparsity_is_ignored_with_a_word)
{
	static const struct {
		const char *row;
		int warnings;
	} cases[] = {{"a,8,8,3,3,4,4,1,2:4,\n", 1},
		     {"a,8,8,3,3,4,4,1,1:1,\n", 0},
		     {"a,8,8,3,3,4,4,1,#dw\n", 0},
		     {"a,8,8,3,3,4,4,1\n", 0},
		     {"a,8,8,3,3,4,4,1,2:4,#dw\n", 1},
		     {"a,8,8,3,3,4,4,1,,, NPU\n", 0},
		     {"a,8,8,3,3,4,4,1,,,110,110,12100\n", 0}};
	char folder[CLI_PATH], text[400];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, HEADER "%s", cases[i].row);
		struct npl_graph *graph = load(folder, text, 0);
		cr_assert_eq(graph->n_warnings, cases[i].warnings, "%s", cases[i].row);
		cr_assert_eq(graph->macs, 6 * 6 * 3 * 3 * 4 * 4u);
		npl_graph_free(graph);
	}
	cli_remove_folder(folder);
}

/* Columns are read by place, so their names must say the same. */
Test(topology, columns_with_other_names_are_warned_of)
{
	static const struct {
		const char *header;   /* of convolutions with 8 columns, or of products with 4 */
		const char *expected; /* in its warning; NULL: there is none */
	} cases[] = {
		{"layer, ifmap height,ifmap width,filter height,filter width,channel,num filters,stride", NULL},
		{"name,H,W,Filter H,Filter W,Input channels,Output channels,Strides,,,Eh,Ew,e2", NULL},
		{"Layer_Name,Input_H,Input_W,Kernel_H,Kernel_W,Channels,Number of filters,Stride,Sparsity,", NULL},
		{"Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,Filters,Strides,# as in v2",
		 NULL},
		{"Layer name,IFMAP Width,IFMAP Height,Filter Height,Filter Width,Channels,Num Filter,Strides",
		 "column 2 is called 'IFMAP Width' and read as IFMAP Height: columns are read by place"},
		{"Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Num Filter,Channels,Strides",
		 "column 6 is called 'Num Filter' and read as Channels"},
		{"Layer name,Bananas,B,C,D,E,F,G", "column 2 is called 'Bananas' and read as IFMAP Height"},
		{"L,,,,,,,", NULL},
		{"Layer name,IFMAP Height,,Filter Height,Filter Width,Channels,Num Filter,Strides", NULL},
		{"Layer name,H,W,Filter H,Filter W,Channels,Filters,Stride Height,Stride Width", NULL},
		{"Layer name,H,W,Filter H,Filter W,Channels,Filters,Stride,Stride Width", NULL},
		{"Layer name,H,W,Filter H,Filter W,Channels,Filters,Stride,Batch", NULL},
		{"Layer name,H,W,Filter H,Filter W,Channels,Filters,Stride,Sparsity,Batch", NULL},
		{"Layer name,Heightheightheightheightheightheight,W,Filter H,Filter W,Channels,Filters,Stride",
		 "column 2 is called 'Heightheight"},
		{"Layer name, m, n, k,", NULL},
		{"name,M,N,K,Sparsity", NULL},
		{"name,M,N,K,Batch,", NULL},
		{"Layer,M,K,N", "column 3 is called 'K' and read as N"},
		{"Layer,K,M,N", "column 2 is called 'K' and read as M"},
		{"Layer,M,N,Bananas", "column 4 is called 'Bananas' and read as K"},
		{"M,M,N,K", NULL},
		{"Layer,M,N,K,L", NULL},
		{"# by hand\nLayer,M,K,N", "column 3 is called 'K'"},
		{"Products of an attention,M,,,", NULL},
	};
	char folder[CLI_PATH], text[400];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_graph *graph;
		struct npl_err err = {0};
		const bool gemm = strcasestr(cases[i].header, ",M,") || strcasestr(cases[i].header, ", m,");
		snprintf(text, sizeof text, "%s\n%s", cases[i].header, gemm ? "a,3,5,4,\n" : "a,9,8,3,3,16,4,1,\n");
		cli_write_text(folder, "net.csv", text);
		int rc = npl_graph_load(cli_path(folder, "net.csv"), NULL, &graph, &err);
		cr_assert_eq(rc, 0, "%s: %s", cases[i].header, err.msg);
		cr_assert_eq(graph->n_warnings, cases[i].expected != NULL, "%s", cases[i].header);
		cr_assert(!cases[i].expected || strstr(graph->warning[0], cases[i].expected), "expected '%s' in: %s",
			  cases[i].expected, graph->warning[0]);
		cr_assert_eq(graph->macs, gemm ? 3 * 5 * 4u : 7 * 6 * 3 * 3 * 16 * 4u);
		npl_graph_free(graph);
	}
	cli_remove_folder(folder);
}

/* What is after the known columns: the stride of the width, a batch of one, a ratio and a number of products. */
Test(topology, further_columns_are_read)
{
	static const struct {
		const char *text;
		uint64_t macs;
		int nodes, warnings;
	} cases[] = {
		{STRIDES "a,9,8,3,3,16,4,1,2,\n", 7 * 4 * 3 * 3 * 16 * 4, 1, 0}, /* the last window over the edge */
		{STRIDES "a,9,8,3,3,16,4,1,,\n", 7 * 6 * 3 * 3 * 16 * 4, 1, 0},
		{BATCHED "a,9,8,3,3,16,4,1,1,\n", 7 * 6 * 3 * 3 * 16 * 4, 1, 0},
		{"L,M,N,K,Sparsity,Heads\na,3,5,4,2:4,6,\n", 6 * 3 * 5 * 4, 6, 1},
		{"L,M,N,K\na,3,5,4,1:1,6,\n", 6 * 3 * 5 * 4, 6, 0},
		{"any,names\na,9,8,3,3,16,4,1,\n", 7 * 6 * 3 * 3 * 16 * 4, 1, 1},
		{"any,names\na,3,5,4,\n", 3 * 5 * 4, 1, 1},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_graph *graph = load(folder, cases[i].text, 0);
		cr_assert_eq(graph->macs, cases[i].macs, "%s: %llu", cases[i].text, (unsigned long long)graph->macs);
		cr_assert_eq(graph->n_nodes, cases[i].nodes, "%s", cases[i].text);
		cr_assert_eq(graph->n_warnings, cases[i].warnings, "%s", cases[i].text);
		npl_graph_free(graph);
	}
	cli_remove_folder(folder);
}

Test(topology, wrong_files_are_refused_by_line)
{
	static const struct {
		const char *expected, *text;
	} cases[] = {
		{"the file is empty", ""},
		{"there is no row of column names", "# nothing\n"},
		{"expected the names", "a,8,8,3,3,4,4,1,\n"},
		{"net.csv:2: 1 number after the name, expected seven of a convolution", "name,value\nx,3\n"},
		{"net.csv:4: 2 numbers after the name", "name,value\n\n,,\nx,3,4,,5\n"},
		{"net.csv:2: column 9 is a batch of 4, expected 1: --batch 4 makes", BATCHED "a,8,8,3,3,4,4,1,4,\n"},
		{"net.csv:2: column 9 (Stride Width) is '0'", STRIDES "a,8,8,3,3,4,4,1,0,\n"},
		{"net.csv:2: column 9 is '7', expected nothing or a ratio N:M", SPARSE "a,8,8,3,3,4,4,1,7,\n"},
		{"there is no layer", HEADER},
		{"net.csv:3: 7 columns, expected 8", HEADER "a,8,8,3,3,4,4,1,\nb,8,8,3,3,4,4\n"},
		{"net.csv:2: column 4 (Filter Height) is '3x', expected a whole number", HEADER "a,8,8,3x,3,4,4,1,\n"},
		{"net.csv:2: column 8 (Strides) is '', expected", HEADER "a,8,8,3,3,4,4,,\n"},
		{"column 8 (Strides) is '0'", HEADER "a,8,8,3,3,4,4,0,\n"},
		{"column 6 (Channels) is '-4'", HEADER "a,8,8,3,3,-4,4,1,\n"},
		{"column 6 (Channels) is '4.0'", HEADER "a,8,8,3,3,4.0,4,1,\n"},
		{"column 2 (IFMAP Height) is '99999999999999999999'", HEADER "a,99999999999999999999,8,3,3,4,4,1,\n"},
		{"column 4 (Filter Height) is 9, expected at most the input's 8", HEADER "a,8,9,9,9,4,4,1,\n"},
		{"column 5 (Filter Width) is 9, expected at most", HEADER "a,9,8,9,9,4,4,1,\n"},
		{"net.csv:2: ", HEADER "a,16777216,16777216,3,3,16777216,4,1,\n"},
		{"net.csv:2: ", HEADER "DPa,16777216,1,1,1,16777216,16777216,1,\n"},
		{"net.csv:2: 3 columns, expected 4", "Layer,M,N,K\na,1,2\n"},
		{"net.csv:2: column 4 (K) is 'k'", "Layer,M,N,K\na,1,2,k\n"},
		{"column 5 (batch) is '0'", "Layer,M,N,K\na,1,2,3,0,\n"},
		{"column 5 (batch) is '5000'", "Layer,M,N,K\na,1,2,3,5000,\n"},
		{"net.csv:2: column 9 is '7', expected nothing or a ratio N:M", HEADER "a,8,8,3,3,4,4,1,7,\n"},
		{"net.csv:2: column 9 is 'NPU', expected nothing", HEADER "a,8,8,3,3,4,4,1,NPU\n"},
		{"net.csv:2: column 10 is '5', expected nothing or a ratio N:M", HEADER "a,8,8,3,3,4,4,1,2:4,5\n"},
		{"net.csv:2: column 11 is '1:1', expected nothing there", HEADER "a,8,8,3,3,4,4,1,2:4,1:1,1:1\n"},
		{"net.csv:2: column 5 is '7x', expected nothing", "Layer,M,N,K\na,1,2,3,7x,\n"},
		{"net.csv:2: column 7 is '7', expected nothing there", "Layer,M,N,K\na,1,2,3,2:4,4,7,\n"},
		{"net.csv:2: column 5 is '4', expected nothing or a ratio", "Layer,M,N,K,Sparsity\na,1,2,3,4\n"},
		{"net.csv:2: column 5 (batch) is '2:4', expected a whole number", "Layer,M,N,K,Batch\na,1,2,3,2:4\n"},
		{"quote", HEADER "a\"b,8,8,3,3,4,4,1,\n"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_graph *graph;
		struct npl_err err = {0};
		cli_write_text(folder, "net.csv", cases[i].text);
		cr_assert_eq(npl_graph_load(cli_path(folder, "net.csv"), NULL, &graph, &err), NPL_EINPUT, "%s",
			     cases[i].text);
		cr_assert(strstr(err.msg, cases[i].expected), "expected '%s' in: %s", cases[i].expected, err.msg);
		cr_assert(strstr(err.msg, folder), "%s", err.msg);
		cr_assert_null(graph);
	}
	cr_assert_eq(npl_graph_load("no/such.csv", NULL, &(struct npl_graph *){NULL}, &(struct npl_err){0}),
		     NPL_EINPUT);
	cli_remove_folder(folder);
}

/* As a user calls it: every layer on the machine, with accuracy; and its cycles without values are the same. */
Test(topology, a_topology_runs_on_devices_with_accuracy)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "small.csv",
		       HEADER "a, 14, 14, 3, 3, 8, 16, 2,\nDPb, 10, 10, 3, 3, 16, 1, 1,\nc, 9, 9, 1, 1, 16, 8, 2,\n");
	const struct cli_run_options options = {.folder = folder};
	json_t *values = cli_json(&options, "compare", "@/small.csv", "--devices", "tpu_v1,cpu", "--json", "-");
	json_t *timing = cli_json(&options, "compare", "@/small.csv", "--devices", "tpu_v1", "--timing-only", "--json",
				  "-");
	cr_assert_str_eq(cli_text(cli_at(values, "model.name")), "small");
	cr_assert_eq(cli_integer(cli_at(values, "model.macs")),
		     7 * 7 * 3 * 3 * 8 * 16 + 8 * 8 * 3 * 3 * 16 + 5 * 5 * 16 * 8);
	json_t *tpu = cli_device(values, "tpu_v1");
	for (int i = 0; i < 3; i++) {
		char at[40];
		snprintf(at, sizeof at, "layers.%d.ran_on", i);
		cr_assert_str_eq(cli_text(cli_at(tpu, at)), "tpu_v1");
	}
	cr_assert_gt(json_number_value(cli_at(tpu, "accuracy.sqnr_db")), 30);
	cr_assert_eq(cli_integer(cli_at(tpu, "totals.cycles")),
		     cli_integer(cli_at(cli_device(timing, "tpu_v1"), "totals.cycles")));
	json_decref(values);
	json_decref(timing);
	cli_remove_folder(folder);
}

/* A list of many layers is planned in proportion to them: this took more than a minute when places in the buffer were
 * looked for along all others, and it is a second. */
Test(topology, a_long_list_is_planned_in_proportion_to_its_layers)
{
	enum { LAYERS = 20000 };
	char folder[CLI_PATH], *text = NULL;
	size_t bytes;
	FILE *list = open_memstream(&text, &bytes);
	fputs(HEADER, list);
	for (int i = 0; i < LAYERS; i++)
		fprintf(list, "layer%d, 8, 8, 3, 3, 8, 8, 1,\n", i);
	fclose(list);
	cli_folder(folder);
	struct npl_graph *graph = load(folder, text, 0);
	struct npl_device *device;
	struct npl_session *session;
	struct npl_run run;
	struct npl_err err = {0};
	cr_assert_eq(npl_device_open("tpu_v1", NULL, &device, &err), 0, "%s", err.msg);
	struct npl_session_options options = {.n_devices = 1, .device = &device, .plan.timing_only = true};
	cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_session_run(session, NULL, NULL, &run, &err), 0, "%s", err.msg);
	cr_assert_eq(run.n_layers, LAYERS);
	cr_assert_eq(run.macs, (uint64_t)LAYERS * 6 * 6 * 3 * 3 * 8 * 8);
	npl_run_free(&run);
	npl_session_close(session);
	npl_device_close(device);
	npl_graph_free(graph);
	free(text);
	cli_remove_folder(folder);
}
