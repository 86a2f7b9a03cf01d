/* SPDX-License-Identifier: MIT
 *
 * Dimensions that a model leaves open: where their values come from, which comes first, and what is refused; warnings
 * of weights that are no numbers; and the random values of inputs that pick rows. */
#include <math.h>

#include "core/base/dtype.h"
#include "frontend/graph/build.h"
#include "frontend/graph/values.h"
#include "npulab/model.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_json.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* A ValueInfoProto; a dimension is a number or, with a letter first, a word; "?" says nothing. */
static void put_input(struct onnx_writer *graph, const char *name, int type, const char *dims)
{
	struct onnx_writer shape = {0}, tensor = {0}, proto = {0}, value = {0};
	while (*dims) {
		struct onnx_writer dim = {0};
		size_t n = strcspn(dims, " ");
		if (*dims >= '0' && *dims <= '9')
			onnx_put_int(&dim, 1, atoi(dims));
		else if (*dims != '?')
			onnx_put_bytes(&dim, 2, dims, n);
		onnx_put_message(&shape, 1, &dim);
		dims += n + (dims[n] == ' ');
	}
	onnx_put_int(&tensor, 1, type);
	onnx_put_message(&tensor, 2, &shape);
	onnx_put_message(&proto, 1, &tensor);
	onnx_put_string(&value, 1, name);
	onnx_put_message(&value, 2, &proto);
	onnx_put_message(graph, 11, &value);
}

/* Two inputs that pass through; their shapes are the case. */
static struct onnx_writer two_inputs(const char *x, const char *y)
{
	struct onnx_writer g = {0};
	put_input(&g, "x", ONNX_FLOAT, x);
	put_input(&g, "y", ONNX_FLOAT, y);
	onnx_put_node(&g, "Relu", "a", "x", "p", NULL);
	onnx_put_node(&g, "Relu", "b", "y", "q", NULL);
	onnx_put_output(&g, "p");
	onnx_put_output(&g, "q");
	return onnx_model(&g, 13);
}

static int load(const struct onnx_writer *model, const struct npl_load_options *options, struct npl_graph **graph,
		struct npl_err *err)
{
	*err = (struct npl_err){0};
	return npl_graph_load_memory("net.onnx", model->data, model->bytes, options, GRAPH_LIMITS, graph, err);
}

struct dims_case {
	const char *x, *y;           /* declared */
	int64_t batch;               /* --batch */
	const char *dims;            /* --dim, "A=1 B=2" */
	const char *found, *found_y; /* shapes, or found NULL and */
	int code;
	const char *expected;
};

static const struct dims_case dims_cases[] = {
	{"N 3", "N 4", 0, "", "1x3", "1x4", 0, NULL},
	{"N 3", "N 4", 5, "", "5x3", "5x4", 0, NULL},
	{"N 3", "N 4", 0, "N=6", "6x3", "6x4", 0, NULL},
	{"N 3", "3 N", 7, "", "7x3", "3x7", 0, NULL}, /* what the model says stays */
	{"N 3", "1 4", 7, "", "7x3", "1x4", 0, NULL},
	{"1 3", "1 4", 7, "", "7x3", "7x4", 0, NULL},
	{"5 3", "1 4", 7, "", "7x3", "1x4", 0, NULL},
	{"N 3", "M 4", 7, "M=2", "7x3", "2x4", 0, NULL},
	{"N S", "N S", 2, "S=128", "2x128", "2x128", 0, NULL},
	{"N S", "S 4", 2, "S=9", "2x9", "9x4", 0, NULL},
	{"? 3", "? 4", 2, "", "2x3", "2x4", 0, NULL},
	{"? ?", "1 4", 0, "x[1]=8", "1x8", "1x4", 0, NULL},
	{"N 3", "? 4", 0, "y[0]=6", "1x3", "6x4", 0, NULL},
	{"N S", "N S", 0, "S=0", "1x0", "1x0", 0, NULL},
	{"N 3", "N N", 0, "N=0", NULL, NULL, NPL_EUSAGE, "the batch, 'N', is given as 0, expected 1 or more"},
	{"N S", "N 4", 0, "", NULL, NULL, NPL_EINPUT, "input 'x': dimension 1 is symbolic ('S'): give --dim 'S="},
	{"N ?", "N 4", 0, "", NULL, NULL, NPL_EINPUT, "input 'x': dimension 1 is not known: give --dim 'x[1]="},
	{"N S", "N T", 0, "", NULL, NULL, NPL_EINPUT, "('S'): give --dim 'S=N' --dim 'T=N'"},
	{"N S T", "N U", 0, "S=2", NULL, NULL, NPL_EINPUT, "('T'): give --dim 'T=N' --dim 'U=N'"},
	{"N A B C", "N D E ?", 0, "", NULL, NULL, NPL_EINPUT,
	 "('A'): give --dim 'A=N' --dim 'B=N' --dim 'C=N' --dim 'D=N' and 2 more"},
	{"N seq", "N 4", 0, "sek=3", NULL, NULL, NPL_EUSAGE, "no open dimension 'sek'; the nearest is 'seq'"},
	{"1 3", "1 4", 0, "N=3", NULL, NULL, NPL_EUSAGE, "no open dimension 'N': it has none"},
	{"N 3", "N 4", 0, "x[1]=3", NULL, NULL, NPL_EUSAGE, "no open dimension 'x[1]'"},
	{"N 3", "N 4", 2, "N=3", NULL, NULL, NPL_EUSAGE, "given as 2 and as 3"},
	{"N S", "N 4", 0, "S=3 S=4", NULL, NULL, NPL_EINPUT, "the dimension 'S' is 3 in --dim and 4 in --dim"},
};

static int read_dims(const char *text, struct npl_dim *dims, char (*names)[16])
{
	int n = 0, at;
	long long value;
	for (; sscanf(text, " %15[^=]=%lld%n", names[n], &value, &at) == 2; text += at, n++)
		dims[n] = (struct npl_dim){names[n], value};
	return n;
}

Test(onnx_dims, dimensions_come_from_options_files_and_batch)
{
	for (size_t i = 0; i < sizeof dims_cases / sizeof dims_cases[0]; i++) {
		const struct dims_case *c = &dims_cases[i];
		struct onnx_writer model = two_inputs(c->x, c->y);
		struct npl_dim dims[4];
		char names[4][16], text[64];
		struct npl_load_options options = {.batch = c->batch, .dims = dims};
		struct npl_graph *graph;
		struct npl_err err;
		options.n_dims = read_dims(c->dims, dims, names);
		cr_assert_eq(load(&model, &options, &graph, &err), c->code, "case %zu: %s", i, err.msg);
		if (c->code) {
			cr_assert(strstr(err.msg, c->expected), "expected '%s' in: %s", c->expected, err.msg);
		} else {
			const struct npl_value *x = &graph->value[graph->input[0]], *y = &graph->value[graph->input[1]];
			cr_assert_str_eq(npl_shape_text(&x->shape, text, sizeof text), c->found);
			cr_assert_eq(graph->batch, x->shape.dim[0]);
			cr_assert_str_eq(npl_shape_text(&y->shape, text, sizeof text), c->found_y);
		}
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
}

/* Shapes that are given bind every open dimension; two that disagree are refused. */
Test(onnx_dims, shapes_that_are_given_bind_open_dimensions)
{
	struct onnx_writer model = two_inputs("N S", "S 4");
	const struct npl_tensor good[2] = {{.name = "y", .shape = npl_shape_of(2, 6, 4)},
					   {.name = "x", .shape = npl_shape_of(2, 3, 6)}};
	const struct npl_tensor in_order[2] = {{.shape = npl_shape_of(2, 3, 6)}, {.shape = npl_shape_of(2, 6, 4)}};
	const struct npl_tensor bad[2] = {{.name = "y", .shape = npl_shape_of(2, 7, 4)}, good[1]};
	struct npl_graph *graph;
	struct npl_err err;
	char text[64];
	for (int i = 0; i < 2; i++) {
		const struct npl_load_options options = {.n_input_shapes = 2, .input_shape = i ? in_order : good};
		cr_assert_eq(load(&model, &options, &graph, &err), 0, "%s", err.msg);
		cr_assert_str_eq(npl_shape_text(&graph->value[graph->input[0]].shape, text, sizeof text), "3x6");
		cr_assert_str_eq(npl_shape_text(&graph->value[graph->input[1]].shape, text, sizeof text), "6x4");
		cr_assert_eq(graph->batch, 3);
		npl_graph_free(graph);
	}
	const struct npl_load_options options = {.n_input_shapes = 2, .input_shape = bad};
	cr_assert_eq(load(&model, &options, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "the dimension 'S' is 6 in input 'x' and 7 in input 'y'"), "%s", err.msg);
	onnx_writer_free(&model);
}

/* A model as language models are: word numbers and a mask of one symbolic length. y = Flatten(mask) + 0 * ids. */
static void write_words(const char *folder)
{
	struct onnx_writer g = {0};
	put_input(&g, "ids", ONNX_FLOAT, "batch words");
	put_input(&g, "mask", ONNX_FLOAT, "batch words");
	onnx_put_node(&g, "Mul", "pick", "ids mask", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "words.onnx", &g);
}

static void write_array(const char *folder, const char *name, int64_t rows, int64_t columns, float value)
{
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(2, rows, columns)};
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0);
	for (int64_t i = 0; i < rows * columns; i++)
		((float *)t.data)[i] = value;
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, name), &t, &err), 0, "%s", err.msg);
	npl_tensor_free(&t);
}

Test(onnx_dims, inputs_are_given_by_name_in_any_order)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_words(folder);
	write_array(folder, "ids.npy", 4, 6, 3);
	write_array(folder, "mask.npy", 4, 6, 2);
	write_array(folder, "short.npy", 4, 5, 2);
	const struct cli_run_options options = {.folder = folder};
	/* in any order, by name, the length out of the files, four samples in batches of one */
	struct cli_result r = cli_run(&options, "run", "@/words.onnx", "--device", "reference", "--input",
				      "mask=@/mask.npy", "--input", "ids=@/ids.npy", "--output", "@/y.npy", "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	struct npl_tensor y;
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
	cr_assert(y.shape.rank == 2 && y.shape.dim[0] == 4 && y.shape.dim[1] == 6);
	for (int i = 0; i < 24; i++)
		cr_assert_float_eq(((float *)y.data)[i], 6, 0);
	npl_tensor_free(&y);
	json_t *root = cli_json(&options, "inspect", "@/words.onnx", "--dim", "words=12", "--dim", "batch=3", "--json",
				"-");
	cr_assert_eq(cli_integer(cli_at(root, "batch")), 3);
	cr_assert_str_eq(json_string_value(cli_at(json_array_get(cli_at(root, "layers"), 0), "output")), "3x12");
	json_decref(root);
	r = cli_run(&options, "run", "@/words.onnx", "--device", "reference", "--dim", "words=7", "--batch", "2",
		    "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	const struct cli_refusal refusals[] = {
		{3, "give --dim 'words=", {"run", "@/words.onnx", "--device", "reference"}},
		{3, "give --dim 'words=", {"inspect", "@/words.onnx"}},
		{2, "the nearest is 'words'", {"run", "@/words.onnx", "--device", "reference", "--dim", "word=3"}},
		{2, "expected NAME=N", {"run", "@/words.onnx", "--device", "reference", "--dim", "words"}},
		{2, "expected NAME=N", {"run", "@/words.onnx", "--device", "reference", "--dim", "words=-1"}},
		{3,
		 "the dimension 'words' is 6 in",
		 {"run", "@/words.onnx", "--device", "reference", "--input", "ids=@/ids.npy", "--input",
		  "mask=@/short.npy"}},
		{3,
		 "input 'mask' is missing",
		 {"run", "@/words.onnx", "--device", "reference", "--input", "@/ids.npy"}},
		{3,
		 "does not fit input 'ids'",
		 {"run", "@/words.onnx", "--device", "reference", "--dim", "words=7", "--input", "@/ids.npy", "--input",
		  "@/mask.npy"}},
	};
	CLI_CHECK(folder, refusals);
	cli_remove_folder(folder);
}

/* NaN and infinite weights are named and counted, on standard error and in JSON; the network runs all the same. */
Test(onnx_dims, weights_that_are_not_finite_are_counted)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0}, fill = {0}, attrs = {0};
	const float w[4] = {NAN, 1, INFINITY, -INFINITY}, good[4] = {3.4e38f, -3.4e38f, 1e-45f, 0}, inf = INFINITY;
	const double wide[2] = {1e300, NAN};
	const uint16_t half[3] = {0x7c00, 0x7e00, 0x7bff}, brain[3] = {0x7f80, 0xffc0, 0x7f7f};
	cli_folder(folder);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_floats(&g, "w", 1, DIMS(4), w);
	onnx_put_floats(&g, "good", 1, DIMS(4), good);
	onnx_put_int64s(&g, "shape", 1, DIMS(4));
	fill = onnx_tensor_of("f", ONNX_FLOAT, 1, DIMS(1), &inf, sizeof inf);
	onnx_put_attr_tensor(&attrs, "value", &fill);
	onnx_put_node(&g, "ConstantOfShape", "", "shape", "filled", &attrs);
	onnx_put_node(&g, "Add", "a", "x w", "p", NULL);
	onnx_put_node(&g, "Add", "b", "p good", "q", NULL);
	onnx_put_node(&g, "Add", "c", "q filled", "y", NULL);
	onnx_put_output(&g, "y");
	const struct {
		const char *name;
		int type;
		int64_t n;
		const void *data;
		size_t bytes;
	} others[] = {{"d", ONNX_DOUBLE, 2, wide, sizeof wide},
		      {"h", ONNX_FLOAT16, 3, half, sizeof half},
		      {"b16", ONNX_BFLOAT16, 3, brain, sizeof brain}};
	for (int i = 0; i < 3; i++) {
		struct onnx_writer t = onnx_tensor_of(others[i].name, others[i].type, 1, &others[i].n, others[i].data,
						      others[i].bytes);
		onnx_put_message(&g, 5, &t);
		onnx_put_output(&g, others[i].name);
	}
	cli_write_model(folder, "odd.onnx", &g);
	static const char *const expected[] = {
		"tensor 'w': 1 of its 4 elements is NaN, 2 infinite",
		"tensor 'filled': 0 of its 4 elements are NaN, 4 infinite",
		"tensor 'd': 1 of its 2 elements is NaN, 0 infinite",
		"tensor 'h': 1 of its 3 elements is NaN, 1 infinite",
		"tensor 'b16': 1 of its 3 elements is NaN, 1 infinite",
	};
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "inspect", "@/odd.onnx", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *root = json_loads(r.out, 0, NULL);
	cr_assert_eq(json_array_size(cli_at(root, "warnings")), 5);
	json_decref(root);
	for (size_t i = 0; i < 5; i++) {
		cr_assert(strstr(r.err, expected[i]), "expected '%s' in: %s", expected[i], r.err);
		cr_assert(strstr(r.out, expected[i]), "expected '%s' in: %s", expected[i], r.out);
	}
	cr_assert_null(strstr(r.err, "'good'"));
	cr_assert(!strncmp(r.err, "npulab: warning: odd: ", 22), "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "inspect", "@/odd.onnx", "--quiet");
	cr_assert(r.status == 0 && r.err_bytes == 0, "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "inspect", "digits");
	cr_assert(r.status == 0 && r.err_bytes == 0, "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Random inputs that pick rows stay within the rows; bytes use their range; masks are 0 and 1. */
Test(onnx_dims, random_inputs_stay_within_their_use)
{
	enum { N = 4000 };
	static const struct {
		enum npl_dtype dtype;
		int64_t below;
		double low, high;
	} cases[] = {{NPL_I64, 0, 0, 1},     {NPL_I32, 0, 0, 1}, {NPL_BOOL, 0, 0, 1},  {NPL_U8, 0, 0, 255},
		     {NPL_I8, 0, -128, 127}, {NPL_I64, 7, 0, 6}, {NPL_I32, 50, 0, 49}, {NPL_U8, 100, 0, 99},
		     {NPL_I8, 3, 0, 2},      {NPL_I64, 1, 0, 0}};
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct npl_tensor t = {.dtype = cases[c].dtype, .shape = npl_shape_of(1, N)};
		struct npl_random random = {.state = 1};
		struct npl_err err;
		double low = INFINITY, high = -INFINITY;
		cr_assert_eq(npl_tensor_alloc(&t, &err), 0);
		npl_random_sample(&t, cases[c].below, &random);
		for (int i = 0; i < N; i++) {
			double x = t.dtype == NPL_I64   ? (double)((int64_t *)t.data)[i]
				   : t.dtype == NPL_I32 ? ((int32_t *)t.data)[i]
				   : t.dtype == NPL_I8  ? ((int8_t *)t.data)[i]
							: ((uint8_t *)t.data)[i];
			low = fmin(low, x);
			high = fmax(high, x);
		}
		cr_assert(low == cases[c].low && high == cases[c].high, "case %zu: %g to %g", c, low, high);
		npl_tensor_free(&t);
	}
}

/* Random inputs of every float type go from -1 to 1, and few of them are alike. */
Test(onnx_dims, random_floats_fill_their_range)
{
	enum { N = 4000 };
	for (enum npl_dtype dtype = 0; dtype < NPL_DTYPES; dtype++) {
		struct npl_tensor t = {.dtype = dtype, .shape = npl_shape_of(1, N)};
		struct npl_random random = {.state = 1};
		struct npl_err err;
		double low = INFINITY, high = -INFINITY;
		int alike = 0;
		if (!npl_is_float(dtype))
			continue;
		cr_assert_eq(npl_tensor_alloc(&t, &err), 0);
		npl_random_sample(&t, 0, &random);
		for (int i = 0; i < N; i++) {
			const double x = npl_tensor_real(&t, i);
			low = fmin(low, x);
			high = fmax(high, x);
			alike += i && x == npl_tensor_real(&t, i - 1);
		}
		cr_expect(low >= -1 && low < -0.99 && high <= 1 && high > 0.99 && alike < N / 10, "%s: %g to %g",
			  npl_dtype_name(dtype), low, high);
		npl_tensor_free(&t);
	}
}

/* ids -> Unsqueeze -> Gather(table of 10 rows): where there is a Gather, its indices are rows of the smallest table. */
Test(onnx_dims, random_indices_are_rows_of_the_smallest_table)
{
	struct onnx_writer g = {0};
	float table[30] = {0};
	struct npl_graph *graph;
	struct npl_samples samples;
	struct npl_err err;
	if (npl_op_find("Gather") == NPL_OPS)
		cr_skip("no operator Gather");
	put_input(&g, "ids", ONNX_INT64, "1 200");
	onnx_put_floats(&g, "big", 2, DIMS(15, 2), table);
	onnx_put_floats(&g, "small", 2, DIMS(10, 3), table);
	onnx_put_int64s(&g, "axes", 1, DIMS(0));
	onnx_put_node(&g, "Gather", "", "big ids", "p", NULL);
	onnx_put_node(&g, "Unsqueeze", "", "ids axes", "i", NULL);
	onnx_put_node(&g, "Gather", "", "small i", "q", NULL);
	onnx_put_output(&g, "p");
	onnx_put_output(&g, "q");
	struct onnx_writer model = onnx_model(&g, 13);
	cr_assert_eq(load(&model, NULL, &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_samples_load(graph, NULL, 0, NULL, 1, &samples, &err), 0, "%s", err.msg);
	bool seen[10] = {false};
	for (int i = 0; i < 200; i++) {
		uint64_t row = ((uint64_t *)samples.input[0].data)[i];
		cr_assert_lt(row, 10);
		seen[row] = true;
	}
	for (int i = 0; i < 10; i++)
		cr_assert(seen[i]);
	npl_samples_free(&samples);
	npl_graph_free(graph);
	onnx_writer_free(&model);
}
