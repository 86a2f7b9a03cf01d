/* SPDX-License-Identifier: MIT
 *
 * What surrounds a run: placement rules (placement.h), samples cut into batches (model.h) and how far outputs are from
 * the reference's (compare.h). */
#include <unistd.h>

#include "npulab/compare.h"
#include "npulab/placement.h"
#include "npulab/tensor_file.h"
#include "tests/kit/session_net.h"

/* Rules that are refused. */
static const char *const wrong_rules[] = {
	"",
	"Conv",
	"=cpu",
	"Conv=",
	",",
	"Conv=cpu,,Relu=cpu",
	"/c1=cpu",
	"/c1/",
	"/c1/cpu",
	"/(/=cpu",
	"//=cpu",
	"/c1\\/=cpu",
	"/zz/=cpu",
	"Softplus=cpu",
	"Conv=cpu,Tanh=cpu",
	"*=tpu_v1,Tanh=cpu",
};

/* Rules, the device of each node and the devices' names. The nodes are c1 Conv, r1 Relu, n1 LRN, p1 MaxPool, f1
 * Flatten, fc Gemm and sm Softmax. Each has a letter: a is the device of the first rule, b that of the next, h is
 * the host. */
static const struct {
	const char *rules, *expected, *names;
} rule_cases[] = {
	{"*=tpu_v1", "aaaaaaa", "tpu_v1"},
	{"Conv=tpu_v1", "ahhhhhh", "tpu_v1"},
	{"conv*=tpu_v1,GEMM=cpu", "ahhhhbh", "tpu_v1 cpu"},
	{"Conv=cpu,*=tpu_v1", "abbbbbb", "cpu tpu_v1"},
	{"/^c1$/=tpu_v1,Conv=tpu_v1,*=cpu", "abbbbbb", "tpu_v1 cpu"}, /* the same again does no harm */
	{"*=tpu_v1,*=cpu", "aaaaaaa", "tpu_v1 cpu"},                  /* nothing is left for the rest */
	{"*=tpu_v1,/.*/=cpu", "aaaaaaa", "tpu_v1 cpu"},
	{"Conv=host,Gemm=cpu,[CG]*=tpu_v1", "hhhhhah", "cpu tpu_v1"},
	{"Conv=tpu_v1,*o*=cpu", "ahhbhhb", "tpu_v1 cpu"}, /* the first device wins */
	{"Conv=host,*=tpu_v1", "haaaaaa", "tpu_v1"},
	{"/^c1$/=diannao,Conv=tpu_v1", "ahhhhhh", "diannao tpu_v1"},
	{"/1$/=diannao,*=cpu", "aaaaabb", "diannao cpu"},
	{"/^(c1|fc)$/=tpu_v1,/[a-z]m/=cpu", "ahhhhab", "tpu_v1 cpu"},
	{"/^[cf],?.{1,2}$/=tpu_v1", "ahhhaah", "tpu_v1"}, /* a comma inside an expression */
	{"*Pool=tpu_v1,*o*=cpu", "bhhahhb", "tpu_v1 cpu"},
	{" Conv = tpu_v1 , * = cpu ", "abbbbbb", "tpu_v1 cpu"}, /* blanks around the parts */
	{"?elu=tpu_v1,[L]RN=tpu_v1", "haahhhh", "tpu_v1"},
	{"Conv=./my.yaml,", "ahhhhhh", "./my.yaml"},
};

Test(placement, rules_place_nodes_as_documented)
{
	uint64_t rng = 9;
	struct net net = make_layer_group(&rng);
	for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
		struct npl_arena arena = {0};
		struct npl_placement placement;
		struct npl_err err;
		char devices[SEQUENCE + 1] = "", names[100] = "";
		cr_assert_eq(npl_placement_parse(net.graph, rule_cases[i].rules, &arena, &placement, &err), 0, "%s: %s",
			     rule_cases[i].rules, err.msg);
		for (int k = 0; k < SEQUENCE; k++)
			devices[k] = (char)(placement.device[k] == NPL_ON_HOST ? 'h' : 'a' + placement.device[k]);
		for (int k = 0; k < placement.n_names; k++)
			snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k ? " " : "",
				 placement.names[k]);
		cr_assert_str_eq(devices, rule_cases[i].expected, "%s: %s", rule_cases[i].rules, devices);
		cr_assert_str_eq(names, rule_cases[i].names, "%s: %s", rule_cases[i].rules, names);
		for (int k = 0; k < SEQUENCE; k++) {
			const char *rule = placement.rule[k], *device = rule ? strrchr(rule, '=') + 1 : "host";
			cr_assert(!rule || strchr(rule_cases[i].rules, ' ') || strstr(rule_cases[i].rules, rule),
				  "%s: %s", rule_cases[i].rules, rule);
			cr_assert_str_eq(device, placement.device[k] == NPL_ON_HOST
							 ? "host"
							 : placement.names[placement.device[k]]);
		}
		npl_arena_free(&arena);
	}
	for (size_t i = 0; i < sizeof wrong_rules / sizeof *wrong_rules; i++) {
		struct npl_arena arena = {0};
		struct npl_placement placement;
		struct npl_err err;
		cr_assert_eq(npl_placement_parse(net.graph, wrong_rules[i], &arena, &placement, &err), NPL_EUSAGE, "%s",
			     wrong_rules[i]);
		cr_assert(!strncmp(err.msg, "--place: ", 9), "%s", err.msg);
		npl_arena_free(&arena);
	}
	free_net(&net);
}

/* Expressions that would end the program, fill its memory or never come back are refused before they are compiled; a
 * list of names and a counted repetition are not. */
Test(placement, expressions_that_cost_too_much_are_refused)
{
	static const struct {
		const char *begin, *repeated, *end;
		int times;
		const char *expected; /* NULL: taken */
	} cases[] = {
		{"", "(", "a", 15000, "is longer than 4096 bytes"},
		{"", "(", "a", 51, "has groups more than 50 deep"},
		{"(a{1,30000})", "", "", 0, "written out"},
		{"(", "(a", "b", 0, "is not a regular expression"},
		{"((((a{1,255}){1,255}){1,255}){1,255})", "", "", 0, "written out"},
		{"a", "+", "", 12, "written out"},
		{"(a*)*(a*)*\\1\\2c", "", "", 0, "back-reference"},
		{"a{99999999999999999999}", "", "", 0, "written out"},
		{"[[:alpha:]]{0,400}[]0-9(\\1]{1}", "", "$", 0, NULL},
		{"\\(|c1", "|a_name_that_no_node_has", "", 150, NULL},
		{"(c|f){1,20}(.{0,3}){1,40}", "x*", "", 1000, NULL},
	};
	uint64_t rng = 9;
	struct net net = make_layer_group(&rng);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_arena arena = {0};
		struct npl_placement placement;
		struct npl_err err = {0};
		const size_t piece = strlen(cases[i].repeated);
		char *rules = calloc(1, 100 + piece * (size_t)cases[i].times);
		strcat(strcpy(rules, "/"), cases[i].begin);
		for (int n = 0; n < cases[i].times; n++)
			strcpy(rules + 1 + strlen(cases[i].begin) + piece * (size_t)n, cases[i].repeated);
		strcat(strcat(rules, cases[i].end), "/=tpu_v1");
		const int code = npl_placement_parse(net.graph, rules, &arena, &placement, &err);
		cr_assert_eq(code, cases[i].expected ? NPL_EUSAGE : 0, "%.60s: %d, %s", rules, code, err.msg);
		cr_assert(!cases[i].expected || strstr(err.msg, cases[i].expected), "%s", err.msg);
		free(rules);
		npl_arena_free(&arena);
	}
	free_net(&net);
}

/* An exception behind the rule that it is one of is without effect: a warning says so. Where an earlier rule has just
 * the same nodes, or the same device, or a later one takes what is left, there is nothing to say. */
Test(placement, rules_without_effect_are_warned_of)
{
	static const struct {
		const char *rules;
		int warnings;
		const char *expected;
	} cases[] = {
		{"*=tpu_v1,Conv=cpu", 1,
		 "--place: 'Conv=cpu' places nothing: '*=tpu_v1' before it has all that it matches"},
		{"?[ea]*=cpu,Gemm=host", 1, "'Gemm=host' places nothing: '?[ea]*=cpu'"},
		{"*=tpu_v1,Conv=cpu,/fc/=cpu", 2, "'Conv=cpu' places nothing"},
		{"*=tpu_v1,Conv=tpu_v1", 0, NULL},
		{"Conv=tpu_v1,*=cpu", 0, NULL},
		{"Conv=tpu_v1,C*=cpu", 0, NULL},
		{"*=tpu_v1,*o*=tpu_v1", 0, NULL},
		{"Conv=tpu_v1,Conv=cpu", 1, "'Conv=cpu' places nothing: 'Conv=tpu_v1'"},
		{"/^c1$/=tpu_v1,/^c1$/=cpu", 1, "'/^c1$/=cpu' places nothing"},
		{"Conv=tpu_v1,Conv=tpu_v1", 0, NULL},
	};
	uint64_t rng = 9;
	struct net net = make_layer_group(&rng);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_arena arena = {0};
		struct npl_placement placement;
		struct npl_err err;
		cr_assert_eq(npl_placement_parse(net.graph, cases[i].rules, &arena, &placement, &err), 0, "%s",
			     err.msg);
		cr_assert_eq(placement.n_warnings, cases[i].warnings, "%s", cases[i].rules);
		cr_assert(!cases[i].expected || strstr(placement.warning[0], cases[i].expected), "%s",
			  placement.warning[0]);
		npl_arena_free(&arena);
	}
	free_net(&net);
}

/* Names of layers have slashes in them where PyTorch has exported them: an expression ends at "/=", and "\\/" is a
 * slash as well. */
Test(placement, expressions_may_have_slashes)
{
	static const char *const names[] = {"/enc/fc1/MatMul", "/enc/fc1/=", "/enc/fc2\\/="};
	static const struct {
		const char *rules, *expected;
	} cases[] = {
		{"/enc/fc1/MatMul/=tpu_v1,*=cpu", "abb"}, {"/\\/enc\\/fc1\\/MatMul/=tpu_v1,*=cpu", "abb"},
		{"/^/enc/fc1/=tpu_v1,*=cpu", "aab"},      {"/fc1\\/=$/ = tpu_v1, *=cpu", "bab"},
		{"/fc2\\\\/=tpu_v1,*=cpu", "bba"},        {"/fc1/M|fc2/=tpu_v1,/enc/ = cpu", "aba"},
	};
	struct onnx_writer g = {0};
	uint64_t rng = 3;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 4});
	put_weights(&g, &rng, "w", 2, (int64_t[]){4, 4});
	onnx_put_node(&g, "MatMul", names[0], "x w", "a", NULL);
	onnx_put_node(&g, "MatMul", names[1], "a w", "b", NULL);
	onnx_put_node(&g, "MatMul", names[2], "b w", "c", NULL);
	onnx_put_output(&g, "c");
	struct net net = make_net(&g, &rng);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_arena arena = {0};
		struct npl_placement placement;
		struct npl_err err;
		char devices[4] = "";
		cr_assert_eq(npl_placement_parse(net.graph, cases[i].rules, &arena, &placement, &err), 0, "%s: %s",
			     cases[i].rules, err.msg);
		for (int k = 0; k < 3; k++)
			devices[k] = (char)('a' + placement.device[k]);
		cr_assert_str_eq(devices, cases[i].expected, "%s: %s", cases[i].rules, devices);
		npl_arena_free(&arena);
	}
	free_net(&net);
}

static char *write_rules(const char *text, size_t bytes)
{
	static char path[40];
	strcpy(path, "/tmp/npulab-rules-XXXXXX");
	int file = mkstemp(path);
	cr_assert(file >= 0 && write(file, text, bytes) == (ssize_t)bytes);
	close(file);
	return path;
}

/* The same rules in a file: one a line, with room for blanks and comments; what is wrong is told with its line. */
Test(placement, rules_in_a_file)
{
	static const struct {
		const char *text, *expected; /* letters as above, or what is said of which line */
	} cases[] = {
		{"*=tpu_v1", "aaaaaaa"},
		{"# first\n\n  Conv = tpu_v1 \r\n\t*\t=\tcpu # the rest\n#", "abbbbbb"},
		{"/^[cf],?.{1,2}$/ = tpu_v1\nSoftmax=host\n", "ahhhaah"},
		{"/^c1( #)?$/=tpu_v1", "ahhhhhh"},
		{"Conv=tpu_v1,\n*=cpu", "abbbbbb"},
		{"Conv=tpu_v1\n\nConf=cpu",
		 ":3: 'Conf' matches no operator of this model after folding; the nearest is 'Conv'"},
		{"/cc/=cpu", ":1: 'cc' matches no node of this model after folding"},
		{"Conv=tpu_v1,*=cpu", ":1: '*=cpu' after the rule, expected one rule a line"},
		{"*=cpu\nConv", ":2: 'Conv': expected PATTERN=DEVICE"},
		{"Conv=", ":1: 'Conv=': expected PATTERN=DEVICE"},
		{"=cpu", ":1: '=cpu': expected PATTERN=DEVICE"},
		{"/c1=cpu", ":1: '/c1=cpu': expected /EXPRESSION/=DEVICE"},
		{"\n/(/=cpu", ":2: /(/ is not a regular expression"},
		{"# nothing\n", ": no rules"},
		{"*=cpu\n\33[1m=cpu", ":2: a control character"},
		{"\xef\xbb\xbf*=cpu\nConv",
		 ":2: 'Conv': expected PATTERN=DEVICE"}, /* the mark is no part of the rule */
	};
	uint64_t rng = 9;
	struct net net = make_layer_group(&rng);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_arena arena = {0};
		struct npl_placement placement;
		struct npl_err err;
		char devices[SEQUENCE + 1] = "", expected[300];
		char *path = write_rules(cases[i].text, strlen(cases[i].text));
		int rc = npl_placement_load(net.graph, path, &arena, &placement, &err);
		if (cases[i].expected[0] == ':') {
			snprintf(expected, sizeof expected, "%s%s", path, cases[i].expected);
			cr_assert(rc == NPL_EINPUT && !strncmp(err.msg, expected, strlen(expected)), "%s: %s", expected,
				  err.msg);
		} else {
			cr_assert_eq(rc, 0, "%s: %s", cases[i].text, err.msg);
			for (int k = 0; k < SEQUENCE; k++)
				devices[k] = (char)(placement.device[k] == NPL_ON_HOST ? 'h'
										       : 'a' + placement.device[k]);
			cr_assert_str_eq(devices, cases[i].expected, "%s", cases[i].text);
		}
		unlink(path);
		npl_arena_free(&arena);
	}
	struct npl_arena arena = {0};
	struct npl_placement placement;
	struct npl_err err;
	char *path = write_rules("*=cpu\0", 6);
	cr_assert_eq(npl_placement_load(net.graph, path, &arena, &placement, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "a zero byte"), "%s", err.msg);
	unlink(path);
	cr_assert_eq(npl_placement_load(net.graph, path, &arena, &placement, &err), NPL_EINPUT, "it is not there");
	npl_arena_free(&arena);
	free_net(&net);
}

static float *tensor_file(const char *path, int64_t samples, int64_t each, uint64_t *rng)
{
	float *data = random_floats(rng, samples * each);
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(2, samples, each), .data = data};
	struct npl_err err;
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
	return data;
}

/* Samples are cut into batches and the last one filled with its last sample; an input without the batch in front is the
 * same for every batch; an output without it is no classifier's. */
Test(placement, the_last_batch_repeats_the_last_sample)
{
	uint64_t rng = 10;
	char x_path[] = "/tmp/npulab-x-XXXXXX.npy", z_path[] = "/tmp/npulab-z-XXXXXX.npy", x_spec[64], z_spec[64];
	int x_file = mkstemps(x_path, 4), z_file = mkstemps(z_path, 4);
	cr_assert(x_file >= 0 && z_file >= 0);
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){3, 2});
	onnx_put_input(&g, "z", ONNX_FLOAT, 2, (int64_t[]){2, 4});
	onnx_put_node(&g, "MatMul", "m", "x z", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	float *x = tensor_file(x_path, 5, 2, &rng), *z = tensor_file(z_path, 2, 4, &rng);
	struct npl_samples samples;
	struct npl_tensor batch[2];
	struct npl_err err;
	int64_t real;
	snprintf(x_spec, sizeof x_spec, "x=%s", x_path);
	snprintf(z_spec, sizeof z_spec, "z=%s", z_path);
	const char *const files[] = {z_spec, x_spec};
	cr_assert_eq(npl_samples_load(net.graph, files, 2, NULL, 0, &samples, &err), 0, "%s", err.msg);
	cr_assert(samples.count == 5 && npl_samples_batches(net.graph, &samples) == 2 && !samples.random);
	for (int64_t b = 0; b < 2; b++) {
		cr_assert_eq(npl_samples_batch(net.graph, &samples, b, batch, &real, &err), 0, "%s", err.msg);
		cr_assert_eq(real, 3 - b);
		cr_assert_eq(memcmp(batch[0].data, x + b * 6, (size_t)real * 8), 0, "batch %d", (int)b);
		cr_assert(b < 1 || !memcmp((float *)batch[0].data + 4, x + 8, 8), "the last sample fills the batch");
		cr_assert_eq(memcmp(batch[1].data, z, 32), 0, "batch %d", (int)b);
		npl_tensor_free(&batch[0]);
		npl_tensor_free(&batch[1]);
	}
	npl_samples_free(&samples);
	/* the unbatched one must have its own shape; seeded ones need no file */
	snprintf(z_spec, sizeof z_spec, "z=%s", x_path);
	cr_assert_eq(npl_samples_load(net.graph, files, 2, NULL, 0, &samples, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "shape 5x2 does not fit input 'z', expected 2x4"), "%s", err.msg);
	cr_assert_eq(npl_samples_load(net.graph, files + 1, 1, NULL, 0, &samples, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "input 'z' is missing"), "%s", err.msg);
	cr_assert_eq(npl_samples_load(net.graph, NULL, 0, NULL, 3, &samples, &err), 0, "%s", err.msg);
	cr_assert(samples.count == 3 && samples.random);
	npl_samples_free(&samples);
	/* and where nobody reads them they take no memory */
	cr_assert_eq(npl_samples_describe(net.graph, NULL, &samples, &err), 0, "%s", err.msg);
	cr_assert(samples.count == 3 && samples.random && !samples.input[0].data && !samples.input[1].data);
	cr_assert_eq(npl_samples_batch(net.graph, &samples, 0, batch, &real, &err), 0, "%s", err.msg);
	cr_assert(real == 3 && !batch[0].data && npl_shape_equal(&batch[0].shape, &samples.input[0].shape));
	npl_samples_free(&samples);
	free(x);
	free(z);
	free_net(&net);
	close(x_file);
	close(z_file);
	unlink(x_path);
	unlink(z_path);
	float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct npl_tensor out = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 4), .data = data};
	struct npl_accuracy accuracy;
	npl_accuracy_of(&out, &out, 1, 2, NULL, &accuracy);
	cr_assert(accuracy.top1_agreement == 1 && isnan(accuracy.top1_accuracy) && accuracy.max_abs_error == 0);
	npl_accuracy_of(&out, &out, 1, 1000000, NULL, &accuracy);
	cr_assert(isnan(accuracy.top1_agreement), "a row per sample that is not there was read");
}

/* Error, signal-to-noise ratio and top-1 by hand. */
Test(placement, accuracy_is_as_worked_by_hand)
{
	float expected[] = {1, 2, 3, 9, 5, 4, 0, 1, 2}, actual[] = {1, 2, 3.5f, 4, 5, 4, 0, 3, 2};
	int64_t classes[] = {2, 0, 1};
	struct npl_tensor a = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 3), .data = expected}, b = a;
	struct npl_tensor labels = {.dtype = NPL_I64, .shape = npl_shape_of(1, 3), .data = classes};
	struct npl_accuracy accuracy;
	b.data = actual;
	npl_accuracy_of(&a, &b, 1, 3, &labels, &accuracy);
	cr_assert_float_eq(accuracy.max_abs_error, 5, 1e-12);
	cr_assert_float_eq(accuracy.sqnr_db, 10 * log10(141 / (0.25 + 25 + 4)), 1e-9);
	cr_assert_float_eq(accuracy.top1_agreement, 1.0 / 3, 1e-12); /* choices 2 1 1, the reference's 2 0 2 */
	cr_assert_float_eq(accuracy.top1_accuracy, 2.0 / 3, 1e-12);
	actual[0] = NAN;
	npl_accuracy_of(&a, &b, 1, 3, NULL, &accuracy);
	cr_assert(accuracy.max_abs_error == INFINITY && accuracy.sqnr_db == -INFINITY && accuracy.not_finite == 1 &&
			  accuracy.reference_not_finite == 0,
		  "a NaN where a number is wanted is an error without bound, not an error that is not known");
	actual[0] = 1;
	actual[8] = -INFINITY;
	npl_accuracy_of(&a, &b, 1, 3, NULL, &accuracy);
	cr_assert(accuracy.max_abs_error == INFINITY && accuracy.sqnr_db == -INFINITY && accuracy.not_finite == 1);
	expected[8] = -INFINITY;
	npl_accuracy_of(&a, &b, 1, 3, NULL, &accuracy);
	cr_assert(isnan(accuracy.max_abs_error) && isnan(accuracy.sqnr_db) && accuracy.not_finite == 0 &&
			  accuracy.reference_not_finite == 1,
		  "from an infinity there is no distance");
	actual[1] = INFINITY;
	npl_accuracy_of(&a, &b, 1, 3, NULL, &accuracy);
	cr_assert(accuracy.max_abs_error == INFINITY && accuracy.not_finite == 1 && accuracy.reference_not_finite == 1);
}

/* Outputs of every type are compared, as integers where they are: a report that says "exact" has looked. Of several
 * outputs the ratio is that of the floats. */
Test(placement, accuracy_of_every_type)
{
	uint8_t a8[] = {7, 250, 3}, b8[] = {7, 251, 3};
	int64_t a64[] = {INT64_MAX, 1, 2}, b64[] = {INT64_MAX - 1, 1, 2};  /* one apart, the same as doubles */
	uint16_t a16[] = {0x3c00, 0x4000, 0}, b16[] = {0x3c00, 0x4200, 0}; /* 1, 2, 0 and 1, 3, 0 */
	double a_double[] = {4, 0, 3}, b_double[] = {4, 0, 3.5};
	const struct npl_shape three = npl_shape_of(1, 3);
	struct npl_tensor a[] = {{.dtype = NPL_U8, .shape = three, .data = a8},
				 {.dtype = NPL_I64, .shape = three, .data = a64},
				 {.dtype = NPL_F16, .shape = three, .data = a16},
				 {.dtype = NPL_F64, .shape = three, .data = a_double}},
			  b[] = {{.dtype = NPL_U8, .shape = three, .data = b8},
				 {.dtype = NPL_I64, .shape = three, .data = b64},
				 {.dtype = NPL_F16, .shape = three, .data = b16},
				 {.dtype = NPL_F64, .shape = three, .data = b_double}};
	static const double maximum[] = {1, 1, 1, 0.5}, signal[] = {62558, 0x1p126, 5, 25}, noise[] = {1, 1, 1, 0.25};
	struct npl_accuracy accuracy;
	for (int i = 0; i < 4; i++) {
		npl_accuracy_of(&a[i], &b[i], 1, 3, NULL, &accuracy);
		cr_assert_eq(accuracy.max_abs_error, maximum[i], "%s", npl_dtype_name(a[i].dtype));
		cr_assert_float_eq(accuracy.sqnr_db, 10 * log10(signal[i] / noise[i]), 1e-9, "%s",
				   npl_dtype_name(a[i].dtype));
		npl_accuracy_of(&a[i], &a[i], 1, 3, NULL, &accuracy);
		cr_assert(accuracy.max_abs_error == 0 && isnan(accuracy.sqnr_db), "exact");
	}
	npl_accuracy_of(a, b, 4, 3, NULL, &accuracy);
	cr_assert_eq(accuracy.max_abs_error, 1);
	cr_assert_float_eq(accuracy.sqnr_db, 10 * log10(30 / 1.25), 1e-9);
	npl_accuracy_of(&a[0], &b[3], 1, 3, NULL, &accuracy);
	cr_assert(isnan(accuracy.max_abs_error), "another type");
	npl_accuracy_of(a, b, 0, 3, NULL, &accuracy);
	cr_assert(isnan(accuracy.max_abs_error), "nothing was compared");
}
