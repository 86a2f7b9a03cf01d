/* SPDX-License-Identifier: MIT
 *
 * The conformance run on cases written here: what passes, fails and is unsupported, with which reason; the rule for
 * values; data sets; folders; devices; and the command over it. */
#include <float.h>
#include <math.h>

#include "core/base/half.h"
#include "frontend/conformance/impl.h"
#include "tests/kit/cli_json.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* A TensorProto file of a case's data set. */
static void put_tensor(const char *folder, const char *name, int type, int rank, const int64_t *dims, const void *data,
		       size_t bytes)
{
	struct onnx_writer t = onnx_tensor_of("any", type, rank, dims, data, bytes);
	cli_write(folder, name, t.data, t.bytes);
	onnx_writer_free(&t);
}

static void put_row(const char *folder, const char *name, const float x[4])
{
	put_tensor(folder, name, ONNX_FLOAT, 2, DIMS(1, 4), x, 4 * sizeof *x);
}

/* folder/NAME/test_data_set_SET, made. */
static const char *make_set(const char *folder, const char *name, int set)
{
	static char path[CLI_PATH + 256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	mkdir(path, 0777);
	snprintf(path, sizeof path, "%s/%s/test_data_set_%d", folder, name, set);
	cr_assert_eq(mkdir(path, 0777), 0, "%s", path);
	return path;
}

static void put_model(const char *folder, const char *name, struct onnx_writer *g, int64_t opset)
{
	struct onnx_writer model = onnx_model(g, opset);
	char file[CLI_PATH];
	cr_assert_lt(snprintf(file, sizeof file, "%s/model.onnx", name), (int)sizeof file);
	cli_write(folder, file, model.data, model.bytes);
	onnx_writer_free(&model);
}

/* A case of y = OP(x), x and y of four floats. */
static void put_case(const char *folder, const char *name, const char *op, const float x[4], const float y[4])
{
	struct onnx_writer g = {0};
	const char *set = make_set(folder, name, 0);
	put_row(set, "input_0.pb", x);
	put_row(set, "output_0.pb", y);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(&g, op, "node", "x", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, name, &g, 13);
}

static const float some[4] = {-1, 0, 2, 3}, relu_of_some[4] = {0, 0, 2, 3};

static struct npl_conformance run(const char *dir, struct npl_device *device)
{
	struct npl_conformance c;
	struct npl_err err;
	int rc = npl_conformance_run(&dir, 1, &(struct npl_conformance_options){.device = device}, &c, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return c;
}

static const struct npl_case *find(const struct npl_conformance *c, const char *name)
{
	for (int i = 0; i < c->n_cases; i++)
		if (!strcmp(c->cases[i].name, name))
			return &c->cases[i];
	cr_assert_fail("no case %s", name);
	return NULL;
}

static void expect(const struct npl_conformance *c, const char *name, enum npl_case_status status, const char *expected)
{
	const struct npl_case *item = find(c, name);
	cr_expect_eq(item->status, status, "%s: %s: %s", name, npl_case_status_name(item->status),
		     item->reason ? item->reason : "");
	cr_expect(expected ? item->reason && strstr(item->reason, expected) : !item->reason,
		  "%s: expected '%s' in '%s'", name, expected ? expected : "", item->reason ? item->reason : "");
}

static void put_many_missing(const char *folder)
{
	struct onnx_writer g = {0}, domain = {0};
	make_set(folder, "missing", 0);
	onnx_put_string(&domain, 7, "com.example");
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(&g, "Zeta", "", "x", "a", NULL);
	onnx_put_node(&g, "Relu", "", "a", "b", &domain);
	onnx_put_node(&g, "Alpha", "", "b", "c", NULL);
	onnx_put_node(&g, "Zeta", "", "c", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, "missing", &g, 13);
}

/* The operators of a subgraph are missing too. */
static void put_missing_inside(const char *folder)
{
	struct onnx_writer g = {0}, body = {0}, value = {0}, attrs = {0};
	make_set(folder, "inside", 0);
	onnx_put_node(&body, "Alpha", "", "x", "z", NULL);
	onnx_put_message(&value, 6, &body);
	onnx_put_attr(&attrs, "body", 5, &value);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(&g, "Omega", "", "x", "y", &attrs);
	onnx_put_output(&g, "y");
	put_model(folder, "inside", &g, 13);
}

/* Its dimension 1 is symbolic and comes from the data; two data sets of different lengths. */
static void put_symbolic(const char *folder)
{
	struct onnx_writer g = {0};
	for (int set = 0; set < 2; set++) {
		const char *path = make_set(folder, "symbolic", set);
		put_tensor(path, "input_0.pb", ONNX_FLOAT, 2, DIMS(1 + set, 2), some, (size_t)(1 + set) * 8);
		put_tensor(path, "output_0.pb", ONNX_FLOAT, 2, DIMS(1 + set, 2), relu_of_some, (size_t)(1 + set) * 8);
	}
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(-2, -1));
	onnx_put_node(&g, "Relu", "node", "x", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, "symbolic", &g, 13);
}

/* A shape that comes as an input. */
static void put_reshape(const char *folder)
{
	struct onnx_writer g = {0};
	const char *path = make_set(folder, "reshape", 0);
	put_row(path, "input_0.pb", some);
	put_tensor(path, "input_1.pb", ONNX_INT64, 1, DIMS(2), DIMS(2, 2), 16);
	put_tensor(path, "output_0.pb", ONNX_FLOAT, 2, DIMS(2, 2), some, sizeof some);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_input(&g, "shape", ONNX_INT64, 1, DIMS(2));
	onnx_put_node(&g, "Reshape", "node", "x shape", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, "reshape", &g, 13);
}

static void put_strings(const char *folder)
{
	struct onnx_writer g = {0};
	const char *path = make_set(folder, "strings", 0);
	put_tensor(path, "input_0.pb", ONNX_STRING, 1, DIMS(1), "", 0);
	put_tensor(path, "output_0.pb", ONNX_STRING, 1, DIMS(1), "", 0);
	onnx_put_input(&g, "x", ONNX_STRING, 1, DIMS(1));
	onnx_put_node(&g, "Relu", "node", "x", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, "strings", &g, 13);
}

Test(conformance, each_case_gets_its_status)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	put_case(folder, "good", "Relu", some, relu_of_some);
	put_case(folder, "wrong", "Relu", some, some);
	put_case(folder, "broken", "Relu", some, relu_of_some);
	cli_write_text(folder, "broken/model.onnx", "\x08\x07\x3a\x7f");
	put_case(folder, "old", "Relu", some, relu_of_some);
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(&g, "Relu", "node", "x", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, "old", &g, 5);
	put_case(folder, "cut", "Relu", some, relu_of_some);
	cli_write_text(folder, "cut/test_data_set_0/input_0.pb", "\x08\x07\x4a\x7f");
	put_case(folder, "surplus", "Relu", some, relu_of_some);
	put_row(cli_path(folder, "surplus/test_data_set_0"), "input_1.pb", some);
	put_case(folder, "wider", "Relu", some, relu_of_some);
	put_tensor(cli_path(folder, "wider/test_data_set_0"), "input_0.pb", ONNX_FLOAT, 2, DIMS(1, 2), some, 8);
	put_many_missing(folder);
	put_missing_inside(folder);
	put_symbolic(folder);
	put_reshape(folder);
	put_strings(folder);
	cli_write_text(folder, "README", "no case\n");
	mkdir(cli_path(folder, "empty"), 0777);
	struct npl_conformance c = run(folder, NULL);
	cr_assert_eq(c.n_cases, 12);
	expect(&c, "good", NPL_CASE_PASSED, NULL);
	expect(&c, "wrong", NPL_CASE_FAILED, "1 of 4 elements differ, by 1 at most; element 0 is 0, expected -1");
	expect(&c, "broken", NPL_CASE_FAILED, "malformed or truncated protobuf");
	expect(&c, "old", NPL_CASE_UNSUPPORTED, "opset 5 is not supported");
	expect(&c, "cut", NPL_CASE_FAILED, "input_0.pb");
	expect(&c, "surplus", NPL_CASE_FAILED, "the model has 1 input, the data set 2");
	expect(&c, "wider", NPL_CASE_FAILED, "shape 1x2, expected 1x4");
	expect(&c, "missing", NPL_CASE_UNSUPPORTED, "no operators Alpha, Zeta, com.example.Relu");
	expect(&c, "inside", NPL_CASE_UNSUPPORTED, "no operators Alpha, Omega");
	expect(&c, "symbolic", NPL_CASE_PASSED, NULL);
	cr_assert_eq(find(&c, "symbolic")->data_sets, 2);
	expect(&c, "reshape", NPL_CASE_PASSED, NULL);
	expect(&c, "strings", NPL_CASE_UNSUPPORTED, "STRING");
	cr_assert_eq(c.n_missing, 4);
	cr_assert_str_eq(c.missing[0].name, "Alpha");
	cr_assert_eq(c.missing[0].cases, 2);
	cr_assert_eq(c.missing[0].only_missing, 0);
	for (int i = 1; i < c.n_cases; i++)
		cr_assert_lt(strcmp(c.cases[i - 1].name, c.cases[i].name), 0, "sorted by name");
	npl_conformance_free(&c);
	cli_remove_folder(folder);
}

/* A second data set that is wrong makes the case fail, and the reason names it. */
Test(conformance, every_data_set_counts)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	put_case(folder, "two", "Relu", some, relu_of_some);
	const char *second = make_set(folder, "two", 10);
	put_row(second, "input_0.pb", some);
	put_row(second, "output_0.pb", some);
	struct npl_conformance c = run(cli_path(folder, "two"), NULL);
	cr_assert_eq(c.n_cases, 1);
	expect(&c, "two", NPL_CASE_FAILED, "test_data_set_10: output 'y': 1 of 4");
	npl_conformance_free(&c);
	cli_remove_folder(folder);
}

static int check_row(int dtype, int n, const void *found, const void *expected, struct npl_err *err)
{
	const struct npl_tensor a = {.name = "y", .dtype = dtype, .shape = npl_shape_of(1, n), .data = (void *)found},
				b = {.name = "y",
				     .dtype = dtype,
				     .shape = npl_shape_of(1, n),
				     .data = (void *)expected};
	return npl_values_check(&a, &b, &(struct npl_tolerance){1e-3, 1e-7}, err);
}

static int check(int dtype, const void *found, const void *expected)
{
	struct npl_err err;
	return check_row(dtype, 1, found, expected, &err);
}

/* |a - b| <= atol + rtol |b|, not symmetric; NaN is NaN; infinities have a sign; integers are exact. */
Test(conformance, tolerances_are_onnx_s)
{
	static const struct {
		float found, expected;
		bool equal;
	} cases[] = {{1.0f, 1.0f, true},
		     {1.0009f, 1.0f, true},
		     {1.0011f, 1.0f, false},
		     {0.9f, 1.0f, false},
		     {9e-8f, 0, true},
		     {1.1e-7f, 0, false},
		     {NAN, NAN, true},
		     {NAN, 1, false},
		     {1, NAN, false},
		     {INFINITY, INFINITY, true},
		     {-INFINITY, INFINITY, false},
		     {FLT_MAX, INFINITY, false},
		     {INFINITY, FLT_MAX, false},
		     {-0.0f, 0.0f, true},
		     {-1, 1, false},
		     {1000.0f, 1001.0005f, true},
		     {1001.0005f, 1000.0f, false},
		     {1e30f, 1.0005e30f, true}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const double wide[2] = {(double)cases[i].found, (double)cases[i].expected};
		cr_expect_eq(!check(NPL_F32, &cases[i].found, &cases[i].expected), cases[i].equal, "%g, expected %g",
			     wide[0], wide[1]);
		cr_expect_eq(!check(NPL_F64, &wide[0], &wide[1]), cases[i].equal, "%g, expected %g", wide[0], wide[1]);
	}
	for (int i = 0; i < 256; i++) {
		const uint8_t a = (uint8_t)i, b = (uint8_t)(i ^ 1);
		cr_assert(!check(NPL_U8, &a, &a) && check(NPL_U8, &a, &b) && check(NPL_I8, &a, &b));
	}
	const int64_t big[2] = {(int64_t)1 << 60, ((int64_t)1 << 60) + 1};
	cr_assert(check(NPL_I64, &big[0], &big[1]), "far within any tolerance of floats");
	const uint16_t near[2] = {npl_bf16_of_float(1.0f), npl_bf16_of_float(1.0078125f)};
	cr_assert(!check(NPL_BF16, &near[0], &near[1]), "neighbours in bfloat16");
	const uint16_t half[3] = {npl_f16_of_float(1.0f), npl_f16_of_float(1.0009765625f), npl_f16_of_float(1.01f)};
	cr_assert(!check(NPL_F16, &half[0], &half[1]), "neighbours in float16");
	cr_assert(check(NPL_F16, &half[0], &half[2]));
}

/* A NaN is no distance of 0. */
Test(conformance, a_nan_never_equals_a_number)
{
	static const struct {
		float found[4], expected[4];
		const char *says;
	} cases[] = {
		{{1, 2, 3, 4}, {1, NAN, 3, 4}, "1 of 4 elements differ; element 1 is 2, expected NaN"},
		{{1, 2, -NAN, NAN},
		 {1, 2, 3, 4},
		 "2 of 4 elements differ; all differ in which are NaN; element 2 is NaN, expected 3"},
		{{1, 2.5f, NAN, 4},
		 {1, 2, 3, 4},
		 "2 of 4 elements differ, 1 of them in which are NaN, the others by 0.5 at most; element 1 is 2.5, "
		 "expected 2"},
		{{1, 2, 3, 4}, {1, 2, 3, 6}, "1 of 4 elements differ, by 2 at most; element 3 is 4, expected 6"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_err err = {0};
		cr_assert_eq(check_row(NPL_F32, 4, cases[i].found, cases[i].expected, &err), NPL_ECHECK);
		cr_expect(strstr(err.msg, cases[i].says), "expected '%s' in: %s", cases[i].says, err.msg);
	}
}

/* A device of integers: floats are unsupported there, also where they would have come out right; on a device of floats
 * the case passes only when something ran. */
Test(conformance, a_device_passes_only_what_it_ran)
{
	char folder[CLI_PATH];
	struct npl_err err;
	struct npl_device *tpu, *reference, *nothing;
	cli_folder(folder);
	put_case(folder, "relu", "Relu", some, relu_of_some);
	put_reshape(folder);
	cr_assert_eq(npl_device_open("tpu_v1", NULL, &tpu, &err), 0, "%s", err.msg);
	struct npl_conformance c = run(folder, tpu);
	cr_assert_str_eq(c.device, "tpu_v1");
	expect(&c, "relu", NPL_CASE_UNSUPPORTED, "no node between integers");
	npl_conformance_free(&c);
	npl_device_close(tpu);
	cr_assert_eq(npl_device_open("reference", NULL, &reference, &err), 0, "%s", err.msg);
	c = run(folder, reference);
	cr_assert_null(c.device);
	expect(&c, "relu", NPL_CASE_PASSED, NULL);
	expect(&c, "reshape", NPL_CASE_PASSED, NULL);
	npl_conformance_free(&c);
	npl_device_close(reference);
	cr_assert_eq(npl_device_open("null", NULL, &nothing, &err), 0, "%s", err.msg);
	const char *dir = folder;
	cr_assert_eq(npl_conformance_run(&dir, 1, &(struct npl_conformance_options){.device = nothing}, &c, &err),
		     NPL_EUSAGE);
	npl_device_close(nothing);
	if (!npl_device_open("cpu", NULL, &reference, &err)) {
		c = run(folder, reference);
		expect(&c, "relu", NPL_CASE_PASSED, NULL);
		cr_assert_eq(find(&c, "relu")->nodes_on_device, 1);
		expect(&c, "reshape", NPL_CASE_UNSUPPORTED, "other shapes");
		npl_conformance_free(&c);
		npl_device_close(reference);
	}
	cli_remove_folder(folder);
}

static void put_model_alone(const char *folder, const char *name)
{
	struct onnx_writer g = {0};
	cr_assert_eq(mkdir(cli_path(folder, name), 0777), 0);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(1, 4));
	onnx_put_node(&g, "Relu", "node", "x", "y", NULL);
	onnx_put_output(&g, "y");
	put_model(folder, name, &g, 13);
}

/* A folder with ok/good, which passes, ok/missing, whose operator is unknown, and the empty folders bad and none. */
static void put_folders(char folder[CLI_PATH])
{
	cli_folder(folder);
	mkdir(cli_path(folder, "ok"), 0777);
	mkdir(cli_path(folder, "bad"), 0777);
	mkdir(cli_path(folder, "none"), 0777);
	put_case(cli_path(folder, "ok"), "good", "Relu", some, relu_of_some);
	put_many_missing(cli_path(folder, "ok"));
}

Test(conformance, the_command_counts_cases)
{
	char folder[CLI_PATH];
	put_folders(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "conformance", "@/ok");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "2 cases on reference: 1 passed, 0 failed, 1 unsupported"), "%s", r.out);
	cr_assert(strstr(r.out, "com.example.Relu"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&options, "conformance", "@/ok/good");
	cr_assert(cli_says(r.out, "1 case on reference: 1 passed"), "%s", r.out);
	cli_free(&r);
	json_t *root = cli_json(&options, "conformance", "@/ok/good", "@/ok/missing", "--json", "-");
	cr_assert_str_eq(json_string_value(cli_at(root, "schema")), "npulab.conformance/1");
	cr_assert_eq(cli_integer(cli_at(root, "passed")), 1);
	cr_assert_eq(cli_integer(cli_at(root, "unsupported")), 1);
	cr_assert_eq(cli_integer(cli_at(root, "failed")), 0);
	json_t *first = json_array_get(cli_at(root, "cases"), 0);
	cr_assert_str_eq(json_string_value(cli_at(first, "name")), "good");
	cr_assert_str_eq(json_string_value(cli_at(first, "status")), "passed");
	cr_assert(json_is_null(cli_at(first, "reason")));
	json_decref(root);
	cli_remove_folder(folder);
}

Test(conformance, a_failed_case_gives_status_1_and_a_report)
{
	char folder[CLI_PATH];
	put_folders(folder);
	put_case(cli_path(folder, "bad"), "wrong", "Relu", some, some);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "conformance", "@/bad", "--json", "@/report.json", "--quiet");
	cr_assert_eq(r.status, 1, "%s", r.err);
	cr_assert(strstr(r.err, "1 of 1 case failed; the first is wrong"), "%s", r.err);
	cr_assert_eq(r.out_bytes, 0);
	cr_assert_eq(access(cli_path(folder, "report.json"), R_OK), 0, "the report is written all the same");
	cli_free(&r);
	r = cli_run(&options, "help", "conformance");
	cr_assert(cli_says(r.out, "|found - expected| <= 1e-7 + 1e-3 * |expected|"), "%s", r.out);
	cli_free(&r);
	put_case(cli_path(folder, "bad"), "cut", "Relu", some, relu_of_some);
	cli_write_text(folder, "bad/cut/test_data_set_0/output_0.pb", "\x08\x07\x4a\x7f");
	static const char *const slashes[] = {"@/bad/cut//", "@/bad//"};
	for (int i = 0; i < 2; i++) {
		r = cli_run(&options, "conformance", slashes[i]);
		cr_assert(strstr(r.err, "bad/cut/test_data_set_0/output_0.pb"), "one slash: %s", r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* What a wildcard names beside cases is listed, and so is a model without data. Alone they are refused. */
Test(conformance, folders_without_cases_are_listed_or_refused)
{
	char folder[CLI_PATH];
	put_folders(folder);
	put_model_alone(folder, "bare");
	put_model_alone(folder, "ok/bare");
	cli_write_text(folder, "README", "no case");
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "conformance", "@/none", "@/README", "@/ok", "@/bare");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "6 cases on reference: 1 passed, 0 failed, 5 unsupported"), "%s", r.out);
	cr_assert(cli_says(r.out, "holds no case: expected model.onnx"), "%s", r.out);
	cr_assert(cli_says(r.out, "no folder, but a file"), "%s", r.out);
	const char *bare = strstr(r.out, "no test_data_set_0/ beside its model.onnx");
	cr_assert(bare && strstr(bare + 1, "no test_data_set_0/ beside its model.onnx"), "%s", r.out);
	cli_free(&r);
	const struct cli_refusal refusals[] = {
		{2, "which folders", {"conformance"}},
		{3, "none: holds no case", {"conformance", "@/none"}},
		{3, "bare: no test_data_set_0/ beside", {"conformance", "@/bare"}},
		{3, "none and the others: holds no case", {"conformance", "@/none", "@/bare"}},
		{3, "cannot be opened", {"conformance", "@/ok", "@/nowhere"}},
		{2, "needs a --device", {"conformance", "@/ok", "--set", "tpu_v1.array.rows=8"}},
		{2, "computes no values", {"conformance", "@/ok", "--device", "null"}},
		{2, "nosuch", {"conformance", "@/ok", "--device", "nosuch"}},
		{5, "no/folder/a.json", {"conformance", "@/ok", "--json", "@/no/folder/a.json"}},
	};
	CLI_CHECK(folder, refusals);
	cli_remove_folder(folder);
}
