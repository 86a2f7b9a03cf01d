/* SPDX-License-Identifier: MIT
 *
 * What the program promises about the batch: samples that a network mixes along dimension 0 are one batch where the
 * model leaves it open, with a note; where they would be cut all the same the run is refused and the node named;
 * samples that are independent are cut as before, with the same values; and inputs that hold no samples stay as the
 * model has them. */
#include <math.h>

#include "npulab/graph.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_json.h"

#define ROWS    7
#define COLUMNS 3

static void save(const char *folder, const char *name, struct npl_shape shape, float first)
{
	float data[256];
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = shape, .data = data};
	for (int64_t i = 0; i < npl_tensor_count(&t); i++)
		data[i] = first + (float)((i * 37 + 11) % 23) / 8;
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, name), &t, &err), 0, "%s", err.msg);
}

/* One network: x (N,3), with N open unless `rows` says it, through two operators at most. */
struct group {
	const char *op, *inputs, *then, *then_inputs; /* t is the first's result */
	const char *attr;
	int64_t value;
	bool list;            /* the attribute is a list */
	const char *expected; /* a part of the reason why the samples stay in one batch; NULL: they do not */
	int opset;
};

static void write_layer_group(const char *folder, const char *name, const struct group *c, int64_t rows)
{
	struct onnx_writer g = {0}, attrs = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){rows, COLUMNS});
	onnx_put_int64s(&g, "zero", 1, (int64_t[]){0});
	onnx_put_int64s(&g, "one", 1, (int64_t[]){1});
	onnx_put_int64s(&g, "two", 1, (int64_t[]){2});
	onnx_put_int64s(&g, "flat", 1, (int64_t[]){-1});
	onnx_put_floats(&g, "w", 2, (int64_t[]){COLUMNS, 2}, (float[]){1, -2, 3, -4, 5, -6});
	if (c->list)
		onnx_put_attr_ints(&attrs, c->attr, 1, &c->value);
	else if (c->attr)
		onnx_put_attr_int(&attrs, c->attr, c->value);
	onnx_put_node(&g, c->op, "first", c->inputs, c->then ? "t" : "y", &attrs);
	if (c->then)
		onnx_put_node(&g, c->then, "second", c->then_inputs, "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, c->opset ? c->opset : 13);
	cli_write(folder, name, model.data, model.bytes);
	onnx_writer_free(&model);
	onnx_writer_free(&attrs);
}

static void check_same_file(const char *folder, const char *a, const char *b, const char *subject)
{
	size_t bytes[2];
	char *one = cli_read(cli_path(folder, a), &bytes[0]), *two = cli_read(cli_path(folder, b), &bytes[1]);
	cr_assert(bytes[0] == bytes[1] && !memcmp(one, two, bytes[0]), "%s: %s is not %s", subject, a, b);
	free(one);
	free(two);
}

static const struct group mixing[] = {
	{.op = "Transpose",
	 .inputs = "x",
	 .then = "MatMul",
	 .then_inputs = "x t",
	 .expected = "node 'second' (MatMul)"},
	{.op = "Softmax", .inputs = "x", .attr = "axis", .expected = "node 'first' (Softmax)"},
	{.op = "LpNormalization", .inputs = "x", .attr = "axis", .expected = "node 'first' (LpNormalization)"},
	{.op = "CumSum", .inputs = "x zero", .expected = "node 'first' (CumSum)"},
	{.op = "TopK", .inputs = "x two", .attr = "axis", .expected = "node 'first' (TopK)"},
	{.op = "ReduceMean",
	 .inputs = "x",
	 .then = "Sub",
	 .then_inputs = "x t",
	 .attr = "axes",
	 .list = true,
	 .expected = "node 'first' (ReduceMean)"},
	{.op = "ReduceSum", .inputs = "x zero", .expected = "node 'first' (ReduceSum)"},
	{.op = "MeanVarianceNormalization",
	 .inputs = "x",
	 .attr = "axes",
	 .list = true,
	 .expected = "node 'first' (MeanVarianceNormalization)"},
	{.op = "Gather", .inputs = "x zero", .attr = "axis", .expected = "node 'first' (Gather)"},
	{.op = "Unsqueeze", .inputs = "x zero", .expected = "output 'y' has the samples along dimension 1"},
	{.op = "Transpose", .inputs = "x", .expected = "output 'y' has the samples along dimension 1"},
	{.op = "Softmax", .inputs = "x", .attr = "axis", .opset = 11, .expected = "node 'first' (Softmax)"},
	{.op = "Concat", .inputs = "x x", .attr = "axis", .expected = "output 'y' has each sample in several pieces"},
	{.op = "DynamicQuantizeLinear", .inputs = "x", .expected = "node 'first' (DynamicQuantizeLinear)"},
};

Test(cli_batches, mixed_samples_are_one_batch)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, ROWS, COLUMNS), -1);
	for (size_t i = 0; i < sizeof mixing / sizeof *mixing; i++) {
		const struct group *c = &mixing[i];
		write_layer_group(folder, "net.onnx", c, -1);
		json_t *open = cli_json(&options, "run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy",
					"--output", "@/open.npy", "--json", "-");
		cr_assert(strstr(cli_text(cli_at(open, "model.one_batch")), c->expected), "%s: '%s', expected '%s'",
			  c->op, cli_text(cli_at(open, "model.one_batch")), c->expected);
		cr_assert(cli_integer(cli_at(open, "model.batch")) == ROWS &&
			  cli_integer(cli_at(open, "model.batches")) == 1);
		json_decref(open);
		json_t *asked = cli_json(&options, "run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy",
					 "--output", "@/asked.npy", "--batch", "7", "--json", "-");
		cr_assert(json_is_null(cli_at(asked, "model.one_batch")), "%s: it is what was asked for", c->op);
		json_decref(asked);
		check_same_file(folder, "open.npy", "asked.npy", c->op);
		const struct cli_refusal refused[] = {
			{3,
			 c->expected,
			 {"run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy", "--batch", "3"}},
			{3,
			 "set the batch to 7",
			 {"run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy", "--batch", "8"}},
		};
		cli_check_refusals(folder, refused, 2);
		write_layer_group(folder, "fixed.onnx", c, strcmp(c->op, "TopK") ? 1 : 2);
		const struct cli_refusal fixed = {
			3, c->expected, {"run", "@/fixed.onnx", "--device", "reference", "--input", "@/x.npy"}};
		cli_check_refusals(folder, &fixed, 1);
	}
	struct cli_result table = cli_run(&options, "run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy");
	cr_assert(table.status == 0 && cli_says(table.out, "one batch"), "%s%s", table.err, table.out);
	cli_free(&table);
	cli_remove_folder(folder);
}

/* The results have the same bits in batches of 1, of 3 (the last one is filled up) and of 7. */
Test(cli_batches, independent_samples_are_cut)
{
	static const struct group kept[] = {
		{.op = "Softmax", .inputs = "x", .attr = "axis", .value = 1},
		{.op = "Softmax", .inputs = "x", .attr = "axis", .value = 1, .opset = 11},
		{.op = "MatMul", .inputs = "x w", .then = "Relu", .then_inputs = "t"},
		{.op = "CumSum", .inputs = "x one"},
		{.op = "TopK", .inputs = "x two", .attr = "axis", .value = 1},
		{.op = "ReduceMean",
		 .inputs = "x",
		 .then = "Sub",
		 .then_inputs = "x t",
		 .attr = "axes",
		 .value = 1,
		 .list = true},
		{.op = "Gather", .inputs = "x two", .attr = "axis", .value = 1},
		{.op = "Reshape", .inputs = "x flat", .then = "Sigmoid", .then_inputs = "t"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, ROWS, COLUMNS), -1);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		static const char *const batch[] = {"1", "3", "7"};
		write_layer_group(folder, "net.onnx", &kept[i], -1);
		for (int b = 0; b < 3; b++) {
			char name[16], at[24];
			snprintf(name, sizeof name, "%s.npy", batch[b]);
			snprintf(at, sizeof at, "@/%s", name);
			json_t *root = cli_json(&options, "run", "@/net.onnx", "--device", "reference", "--input",
						"@/x.npy", "--batch", batch[b], "--output", at, "--json", "-");
			cr_assert(json_is_null(cli_at(root, "model.one_batch")));
			cr_assert_eq(cli_integer(cli_at(root, "model.batches")),
				     (ROWS + atoi(batch[b]) - 1) / atoi(batch[b]));
			json_decref(root);
			check_same_file(folder, name, "1.npy", kept[i].op);
		}
	}
	cli_remove_folder(folder);
}

/* Writes a model y = x * b, or x times the transpose of b. */
static void write_two(const char *folder, const char *name, int64_t x_rows, int b_rank, const int64_t *b_dims,
		      bool product)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){x_rows, COLUMNS});
	onnx_put_input(&g, "b", ONNX_FLOAT, b_rank, b_dims);
	if (product)
		onnx_put_node(&g, "Transpose", "turn", "b", "t", NULL);
	onnx_put_node(&g, product ? "MatMul" : "Mul", "last", product ? "x t" : "x b", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, name, &g);
}

Test(cli_batches, inputs_without_samples_are_not_cut)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, ROWS, COLUMNS), -1);
	save(folder, "three.npy", npl_shape_of(1, COLUMNS), 1);
	save(folder, "row.npy", npl_shape_of(2, 1, COLUMNS), 1);
	save(folder, "five.npy", npl_shape_of(2, 5, COLUMNS), 1);
	write_two(folder, "list.onnx", -1, 1, (int64_t[]){COLUMNS}, false);
	write_two(folder, "row.onnx", -1, 2, (int64_t[]){1, COLUMNS}, false);
	write_two(folder, "table.onnx", -1, 2, (int64_t[]){5, COLUMNS}, true);
	write_two(folder, "open.onnx", -1, 2, (int64_t[]){-2, COLUMNS}, true);
	write_two(folder, "equal.onnx", 5, 2, (int64_t[]){5, COLUMNS}, true);
	static const char *const nets[][2] = {{"@/list.onnx", "b=@/three.npy"},
					      {"@/row.onnx", "b=@/row.npy"},
					      {"@/table.onnx", "b=@/five.npy"},
					      {"@/equal.onnx", "b=@/five.npy"}};
	for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
		static const char *const batch[] = {"1", "2", "7"};
		for (int k = 0; k < 3; k++) {
			struct cli_result r = cli_run(&options, "run", nets[i][0], "--device", "reference", "--input",
						      "x=@/x.npy", "--input", nets[i][1], "--batch", batch[k],
						      "--quiet", "--output", k ? "@/k.npy" : "@/0.npy");
			cr_assert_eq(r.status, 0, "%s at %s: %s", nets[i][0], batch[k], r.err);
			cli_free(&r);
			if (k)
				check_same_file(folder, "k.npy", "0.npy", nets[i][0]);
		}
	}
	/* Two open dimensions with files of different lengths: the second is no batch, and stays whole beside each
	 * sample. */
	json_t *root = cli_json(&options, "run", "@/open.onnx", "--device", "reference", "--input", "x=@/x.npy",
				"--input", "b=@/five.npy", "--json", "-", "--output", "@/open.npy");
	cr_assert(json_is_null(cli_at(root, "model.one_batch")) && cli_integer(cli_at(root, "model.batches")) == ROWS);
	json_decref(root);
	struct cli_result r = cli_run(&options, "run", "@/table.onnx", "--device", "reference", "--input", "x=@/x.npy",
				      "--input", "b=@/five.npy", "--quiet", "--output", "@/table.npy");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	check_same_file(folder, "open.npy", "table.npy", "a table of its own length");
	/* Five rows are said of both: the second file has them and the first has not. */
	r = cli_run(&options, "run", "@/equal.onnx", "--device", "reference", "--input", "x=@/x.npy", "--input",
		    "b=@/five.npy", "--quiet", "--output", "@/equal.npy");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	check_same_file(folder, "equal.npy", "table.npy", "a table of the model's number of rows");
	cli_remove_folder(folder);
}

/* A model that takes one sample alone runs them one by one. */
Test(cli_batches, a_model_of_one_sample_runs_them_one_by_one)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, ROWS, COLUMNS), -1);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, COLUMNS});
	onnx_put_int64s(&g, "zero", 1, (int64_t[]){0});
	onnx_put_node(&g, "Squeeze", "one", "x zero", "s", NULL);
	onnx_put_node(&g, "Relu", "act", "s", "r", NULL);
	onnx_put_node(&g, "Unsqueeze", "back", "r zero", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "one.onnx", &g);
	json_t *root = cli_json(&options, "run", "@/one.onnx", "--device", "reference", "--input", "@/x.npy", "--json",
				"-", "--output", "@/y.npy");
	cr_assert_eq(cli_integer(cli_at(root, "model.batches")), ROWS);
	json_decref(root);
	struct npl_tensor x, y;
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(cli_path(folder, "x.npy"), &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
	cr_assert(npl_shape_equal(&x.shape, &y.shape));
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		const float v = ((float *)x.data)[i];
		cr_assert_eq(((float *)y.data)[i], v > 0 ? v : 0);
	}
	npl_tensor_free(&x);
	npl_tensor_free(&y);
	cli_remove_folder(folder);
}

/* Seven rows that the model has for seven samples: one sample would be broadcast to them, two do not fit. */
Test(cli_batches, a_size_that_takes_all_samples_or_one)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0}, attrs = {0};
	const float rows[ROWS] = {0, 1, 2, 3, 4, 5, 6};
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, ROWS, COLUMNS), -1);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){-1, COLUMNS});
	onnx_put_floats(&g, "rows", 2, (int64_t[]){ROWS, 1}, rows);
	onnx_put_attr_ints(&attrs, "axes", 1, (int64_t[]){0});
	onnx_put_node(&g, "Add", "sum", "x rows", "t", NULL);
	onnx_put_node(&g, "ReduceMax", "top", "t", "y", &attrs);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "net.onnx", &g);
	onnx_writer_free(&attrs);
	static const char expected[] = "the model takes 7 samples as one batch, but no batch of 2";
	json_t *root = cli_json(&options, "run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy", "--json",
				"-", "--output", "@/y.npy");
	cr_assert_eq(cli_integer(cli_at(root, "model.batches")), 1);
	cr_assert_str_eq(cli_text(cli_at(root, "model.one_batch")), expected);
	json_decref(root);
	struct npl_tensor x, y;
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(cli_path(folder, "x.npy"), &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
	cr_assert(y.shape.rank == 2 && y.shape.dim[0] == 1 && y.shape.dim[1] == COLUMNS);
	for (int k = 0; k < COLUMNS; k++) {
		float top = -100;
		for (int i = 0; i < ROWS; i++)
			top = fmaxf(top, ((float *)x.data)[i * COLUMNS + k] + rows[i]);
		cr_assert_eq(((float *)y.data)[k], top);
	}
	npl_tensor_free(&x);
	npl_tensor_free(&y);
	/* Seven times one sample would be something else. */
	struct cli_result r = cli_run(&options, "run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy",
				      "--batch", "1");
	cr_assert_eq(r.status, 3);
	cr_assert(strstr(r.err, expected), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Two rows of the model's own, where samples come two by two or one by one. */
Test(cli_batches, a_size_that_is_the_batch_by_chance)
{
	static const char *const ops[] = {"Expand", "Add"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (int rows = 1; rows <= 3; rows++) {
		save(folder, "x.npy", npl_shape_of(2, rows, COLUMNS), -1);
		for (int i = 0; i < 2; i++) {
			struct onnx_writer g = {0};
			onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){-1, COLUMNS});
			onnx_put_int64s(&g, "shape", 2, (int64_t[]){2, COLUMNS});
			onnx_put_floats(&g, "rows", 2, (int64_t[]){2, 1}, (float[]){0.5f, 0.5f});
			onnx_put_node(&g, ops[i], "last", i ? "x rows" : "x shape", "y", NULL);
			onnx_put_output(&g, "y");
			cli_write_model(folder, "net.onnx", &g);
			struct cli_result r = cli_run(&options, "run", "@/net.onnx", "--device", "reference", "--input",
						      "@/x.npy", "--quiet", "--output", "@/y.npy");
			cr_assert_eq(r.status, rows < 3 ? 0 : 3, "%s of %d rows: %d, %s", ops[i], rows, r.status,
				     r.err);
			cli_free(&r);
			if (rows == 3)
				continue;
			struct npl_tensor x, y;
			struct npl_err err;
			cr_assert_eq(npl_tensor_load(cli_path(folder, "x.npy"), &x, &err), 0, "%s", err.msg);
			cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
			cr_assert(y.shape.rank == 2 && y.shape.dim[0] == 2 && y.shape.dim[1] == COLUMNS);
			for (int k = 0; k < 2 * COLUMNS; k++)
				cr_assert_eq(((float *)y.data)[k],
					     ((float *)x.data)[k % (rows * COLUMNS)] + (i ? 0.5f : 0));
			npl_tensor_free(&x);
			npl_tensor_free(&y);
		}
	}
	cli_remove_folder(folder);
}

/* Two rows that the model asks for, where samples come four at a time: in batches of two they would be whole. */
Test(cli_batches, a_size_that_fits_smaller_batches)
{
	static const struct {
		const char *op, *inputs, *expected;
		int opset;
	} cases[] = {
		{"Slice", "x zero two zero", "node 'last' (Slice)", 13},
		{"Slice", "x less most zero", "node 'last' (Slice)", 13},
		{"Reshape", "x shape", "value 'y' does not grow with the samples", 13},
		{"Reshape", "x pair", "value 'y' does not grow with the samples",
		 13}, /* which changes nothing of two */
		{"Resize", "x   sizes", "value 'y' does not grow with the samples", 13},
		{"CenterCropPad", "x sizes", "value 'y' does not grow with the samples", 18},
		{"Slice", "x zero most zero", NULL, 13},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, 4, COLUMNS), -1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){-1, COLUMNS});
		onnx_put_int64s(&g, "zero", 1, (int64_t[]){0});
		onnx_put_int64s(&g, "two", 1, (int64_t[]){2});
		onnx_put_int64s(&g, "less", 1, (int64_t[]){-2});
		onnx_put_int64s(&g, "most", 1, (int64_t[]){INT64_MAX});
		onnx_put_int64s(&g, "shape", 3, (int64_t[]){2, -1, 1});
		onnx_put_int64s(&g, "pair", 2, (int64_t[]){2, -1});
		onnx_put_int64s(&g, "sizes", 2, (int64_t[]){2, COLUMNS});
		onnx_put_node(&g, cases[i].op, "last", cases[i].inputs, "y", NULL);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, cases[i].opset);
		cli_write(folder, "net.onnx", model.data, model.bytes);
		onnx_writer_free(&model);
		struct cli_result r = cli_run(&options, "run", "@/net.onnx", "--device", "reference", "--input",
					      "@/x.npy", "--quiet", "--batch", "2", "--output", "@/y.npy");
		cr_assert_eq(r.status, cases[i].expected ? 3 : 0, "%s %s: %s", cases[i].op, cases[i].inputs, r.err);
		cr_assert(!cases[i].expected || strstr(r.err, cases[i].expected), "%s %s: %s", cases[i].op,
			  cases[i].inputs, r.err);
		cli_free(&r);
		json_t *open = cli_json(&options, "run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy",
					"--json", "-");
		cr_assert_eq(cli_integer(cli_at(open, "model.batches")), cases[i].expected ? 1 : 4, "%s", cases[i].op);
		json_decref(open);
	}
	cli_remove_folder(folder);
}

/* An output that follows from the number of samples alone is not that of one batch: all samples are one. */
Test(cli_batches, outputs_of_the_number_of_samples)
{
	static const struct {
		const char *op;
		int64_t rows, columns;
	} cases[] = {{"ConstantOfShape", ROWS, COLUMNS}, {"Cast", 2, 0}, {"Identity", 2, 0}};
	char folder[CLI_PATH], path[CLI_PATH + 32];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	save(folder, "x.npy", npl_shape_of(2, ROWS, COLUMNS), -1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct onnx_writer g = {0}, attrs = {0};
		struct npl_tensor y = {0};
		struct npl_err err;
		if (!strcmp(cases[i].op, "Cast"))
			onnx_put_attr_int(&attrs, "to", ONNX_FLOAT);
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){-1, COLUMNS});
		onnx_put_node(&g, "Shape", "shape", "x", "s", NULL);
		onnx_put_node(&g, cases[i].op, "last", "s", "y", &attrs);
		onnx_put_output(&g, "y");
		cli_write_model(folder, "net.onnx", &g);
		struct cli_result r = cli_run(&options, "run", "@/net.onnx", "--device", "reference", "--input",
					      "@/x.npy", "--quiet", "--output", "@/y.npy");
		cr_assert_eq(r.status, 0, "%s: %s", cases[i].op, r.err);
		cli_free(&r);
		snprintf(path, sizeof path, "%s/y.npy", folder);
		cr_assert_eq(npl_tensor_load(path, &y, &err), 0, "%s", err.msg);
		cr_assert_eq(y.shape.dim[0], cases[i].rows, "%s: %lld rows", cases[i].op, (long long)y.shape.dim[0]);
		cr_assert(!cases[i].columns || y.shape.dim[1] == cases[i].columns, "%s", cases[i].op);
		npl_tensor_free(&y);
		const struct cli_refusal cut = {
			3,
			"output 'y' follows from the number of samples",
			{"run", "@/net.onnx", "--device", "reference", "--input", "@/x.npy", "--batch", "2"}};
		cli_check_refusals(folder, &cut, 1);
	}
	cli_remove_folder(folder);
}
