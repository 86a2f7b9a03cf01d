/* SPDX-License-Identifier: MIT
 *
 * npulab layer: one layer on several devices, its operands drawn from a seed. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"
#include "dump_program.h"
#include "npulab/single_layer.h"

struct layer_options {
	struct cli_common common;
	int64_t m, n, k, filters, groups;
	const char *input, *kernel, *stride, *pad, *dilation, *pool, *precision, *dump;
	bool is_unsigned, requantise, private_kernels;
};

/* Parses "3x3" or "3": whole numbers joined by x. Returns how many, 0 when the text is something else. */
static int parse_dims(const char *text, int64_t *dims, int max_dims)
{
	int n = 0;
	while (n < max_dims) {
		char *end;
		if (*text < '0' || *text > '9')
			return 0;
		long long value = strtoll(text, &end, 10);
		if (value < 0 || value > 1 << 30)
			return 0;
		dims[n++] = value;
		if (!*end)
			return n;
		if (*end != 'x')
			return 0;
		text = end + 1;
	}
	return 0;
}

/* Reads a number for both directions or two numbers: "1", "1x2". */
static int parse_pair(const char *name, const char *text, int64_t default_value, int64_t *pair, struct npl_err *err)
{
	pair[0] = pair[1] = default_value;
	if (!text)
		return 0;
	int n = parse_dims(text, pair, 2);
	if (!n)
		return npl_fail(err, NPL_EUSAGE, "layer: --%s expects a number or HxW, got '%s'", name, text);
	if (n == 1)
		pair[1] = pair[0];
	return 0;
}

/* Reads the input's shape and the window. default_stride 0: that of the kernel. */
static int read_window(const struct layer_options *o, struct npl_layer_spec *spec, int64_t default_stride,
		       struct npl_window *w, struct npl_err *err)
{
	int64_t dims[4];
	if (!o->input || parse_dims(o->input, dims, 4) != 4)
		return npl_fail(err, NPL_EUSAGE, "layer: --input expects NxCxHxW, got '%s'",
				o->input ? o->input : "nothing");
	if (!o->kernel)
		return npl_fail(err, NPL_EUSAGE, "layer: --kernel HxW is missing");
	spec->x = npl_shape_of(4, dims[0], dims[1], dims[2], dims[3]);
	w->rank = 2;
	int64_t pad[2];
	if (parse_pair("kernel", o->kernel, 1, w->kernel, err) || parse_pair("pad", o->pad, 0, pad, err) ||
	    parse_pair("stride", o->stride, default_stride, w->stride, err) ||
	    parse_pair("dilation", o->dilation, 1, w->dilation, err))
		return err->code;
	for (int i = 0; i < 2; i++) {
		w->pad_begin[i] = w->pad_end[i] = pad[i];
		w->stride[i] = w->stride[i] || o->stride ? w->stride[i] : w->kernel[i];
	}
	return 0;
}

static int read_gemm(const struct layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	if (!o->m || !o->n || !o->k)
		return npl_fail(err, NPL_EUSAGE, "layer gemm: -m, -n and -k are needed");
	spec->op = NPL_OP_GEMM;
	spec->attrs.gemm = (struct npl_gemm_attrs){.alpha = 1, .beta = 1, .trans_b = true};
	spec->x = npl_shape_of(2, o->m, o->k);
	spec->outputs = o->n;
	return 0;
}

static int read_conv(const struct layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	if (!o->filters)
		return npl_fail(err, NPL_EUSAGE, "layer conv: --filters is needed");
	spec->op = NPL_OP_CONV;
	spec->outputs = o->filters;
	spec->attrs.conv.groups = o->groups ? o->groups : 1;
	spec->attrs.conv.private_kernels = o->private_kernels;
	return read_window(o, spec, 1, &spec->attrs.conv.window, err);
}

static int read_pool(const struct layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	const bool is_average = o->pool && !strcmp(o->pool, "average");
	if (o->pool && !is_average && strcmp(o->pool, "max") != 0)
		return npl_fail(err, NPL_EUSAGE, "layer pool: --type is max or average, got '%s'", o->pool);
	spec->op = is_average ? NPL_OP_AVERAGEPOOL : NPL_OP_MAXPOOL;
	return read_window(o, spec, 0, &spec->attrs.pool.window, err);
}

/* The layers that the command knows, as bits in the options' table. */
enum { GEMM = 1 << 0, CONV = 1 << 1, POOL = 1 << 2 };
static const struct layer_kind {
	const char *word;
	unsigned kind;
	int (*read)(const struct layer_options *o, struct npl_layer_spec *spec, struct npl_err *err);
} layer_kinds[] = {{"gemm", GEMM, read_gemm}, {"conv", CONV, read_conv}, {"pool", POOL, read_pool}};

/* Refuses an option of another kind of layer, which would otherwise be ignored. */
static int refuse_foreign(const struct layer_kind *kind, const struct layer_options *o, struct npl_err *err)
{
	const struct {
		bool is_set;
		unsigned kinds;
		const char *name;
	} option[] = {
		{o->m || o->n || o->k, GEMM, "-m, -n or -k"},
		{o->input || o->kernel || o->stride || o->pad, CONV | POOL, "--input, --kernel, --stride or --pad"},
		{o->dilation, CONV, "--dilation"},
		{o->filters || o->groups, CONV, "--filters or --groups"},
		{o->private_kernels, CONV, "--private"},
		{o->pool, POOL, "--type"},
		{o->requantise, GEMM | CONV, "--requantise"},
	};
	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		if (option[i].is_set && !(option[i].kinds & kind->kind))
			return npl_fail(err, NPL_EUSAGE, "layer %s takes no %s", kind->word, option[i].name);
	return 0;
}

static int read_spec(const char *word, const struct layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	*spec = (struct npl_layer_spec){
		.unsigned_x = o->is_unsigned, .requantise = o->requantise, .seed = (uint64_t)o->common.seed};
	spec->attrs.opset = 13;
	for (size_t i = 0; i < sizeof layer_kinds / sizeof *layer_kinds; i++)
		if (!strcmp(word, layer_kinds[i].word))
			return refuse_foreign(&layer_kinds[i], o, err) ? err->code : layer_kinds[i].read(o, spec, err);
	return npl_fail(err, NPL_EUSAGE, "layer: '%s' is none of gemm, conv, pool", word);
}

/* Number formats by their names in this command, and in the settings of real devices. */
static const char *const formats[][2] = {
	{"int8", ""}, {"int8x16", "8x16"}, {"Q6.10", ""},        {"float32", "f32"},
	{"tf32", ""}, {"float16", "f16"},  {"bfloat16", "bf16"},
};

/* Returns the format of a name; NULL: there is none. */
static const char *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(name, formats[i][0]) || (*name && !strcmp(name, formats[i][1])))
			return formats[i][0];
	return NULL;
}

static int check_precision(const char *precision, const struct npl_comparison *c, struct npl_err *err)
{
	const char *expected = precision ? find_format(precision) : NULL;
	if (precision && !expected)
		return npl_fail(err, NPL_EUSAGE,
				"layer: --precision %s: there is no such number format, expected int8, int8x16, Q6.10, "
				"float32, tf32, float16 or bfloat16",
				precision);
	for (int d = 0; precision && d < c->n_devices; d++) {
		const char *format = npl_device_precision(&c->device[d].info);
		if (strcmp(expected, format))
			return npl_fail(err, NPL_EUSAGE, "layer: --precision %s: %s computes in %s", precision,
					c->device[d].name, format);
	}
	return 0;
}

/* Refuses an option that has no meaning in any device's number format, and warns where it has none for some devices. */
static int check_integers(const struct layer_options *o, const struct npl_comparison *c, struct npl_err *err)
{
	const struct {
		bool is_set, also_int8x16; /* also_int8x16: it applies to int8x16 too */
		const char *name, *scope;
	} option[] = {{o->is_unsigned, false, "--unsigned", "for an input of int8"},
		      {o->requantise, true, "--requantise", "for the results of int8 and int8x16"}};
	for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
		int n_taking = 0;
		for (int pass = 0; pass < 2 && option[i].is_set; pass++)
			for (int d = 0; d < c->n_devices; d++) {
				const enum npl_format format = c->device[d].info.format;
				char text[200];
				const char *const warning = text;
				if (format == NPL_FORMAT_INT8 ||
				    (option[i].also_int8x16 && format == NPL_FORMAT_INT8X16)) {
					n_taking += !pass;
					continue;
				}
				snprintf(text, sizeof text, "%s is %s; %.40s computes in %s and knows none",
					 option[i].name, option[i].scope, c->device[d].name,
					 npl_device_precision(&c->device[d].info));
				if (pass && !n_taking)
					return npl_fail(err, NPL_EUSAGE, "layer: %s", text);
				if (pass && !o->common.quiet)
					cli_warn(NULL, &warning, 1);
			}
	}
	return 0;
}

static const char *layer_title(const char *op, const struct npl_layer_spec *spec, struct npl_arena *arena)
{
	char shape[128];
	const struct npl_window *w = npl_op_window(spec->op, &spec->attrs);
	if (spec->op == NPL_OP_GEMM)
		return npl_arena_printf(arena, "gemm %lldx%lldx%lld", (long long)spec->x.dim[0],
					(long long)spec->outputs, (long long)spec->x.dim[1]);
	npl_shape_text(&spec->x, shape, sizeof shape);
	if (spec->op == NPL_OP_CONV)
		return npl_arena_printf(arena, "conv %s, %lld %sfilters %lldx%lld", shape, (long long)spec->outputs,
					spec->attrs.conv.private_kernels ? "private " : "", (long long)w->kernel[0],
					(long long)w->kernel[1]);
	return npl_arena_printf(arena, "%s %s, window %lldx%lld", op, shape, (long long)w->kernel[0],
				(long long)w->kernel[1]);
}

static int run_layer(const char *op, const struct layer_options *o, struct npl_err *err)
{
	struct npl_layer_spec spec;
	struct npl_arena arena = {0};
	struct npl_comparison comparison;
	struct npl_tensor output = {0};
	struct cli_dump dump = {0};
	struct npl_compare_options compare_options;
	int rc = read_spec(op, o, &spec, err);
	if (!rc)
		rc = cli_compare_options(&o->common, &arena, &compare_options, err);
	if (!rc)
		rc = cli_dump_open(&dump, o->dump, o->common.devices, err);
	if (rc) {
		npl_arena_free(&arena);
		return rc;
	}
	spec.no_accuracy = o->common.no_accuracy;
	compare_options.programs = o->dump ? &dump.sink : NULL;
	rc = npl_single_layer(&spec, &compare_options, &comparison, o->common.output ? &output : NULL, err);
	cli_waiting_end();
	if (!rc) {
		struct npl_report_context context = {
			.model_name = layer_title(op, &spec, &arena), .single_layer = true, .layers = o->common.layers};
		rc = context.model_name ? check_precision(o->precision, &comparison, err) : npl_no_memory(err);
		if (!rc)
			rc = check_integers(o, &comparison, err);
		if (!rc)
			rc = cli_dump_write(&dump, compare_options.device_names[0], comparison.device[0].name,
					    &o->common, err);
		if (!rc)
			rc = cli_report(&comparison, &context, &output, &o->common, err);
		if (!rc)
			rc = cli_missing(&comparison.unavailable, err);
		npl_comparison_free(&comparison);
	}
	cli_dump_close(&dump);
	npl_tensor_free(&output);
	npl_arena_free(&arena);
	return rc;
}

static int layer_main(int argc, char **argv, struct npl_err *err)
{
	struct layer_options o = {.common = {.seed = 1}};
	const char *op = NULL;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"m", CLI_INT, &o.m, 1, 1 << 24, "M", "gemm: rows of the input"},
		{"n", CLI_INT, &o.n, 1, 1 << 24, "N", "gemm: columns of the weights"},
		{"k", CLI_INT, &o.k, 1, 1 << 24, "K", "gemm: depth"},
		{"input", CLI_TEXT, &o.input, 0, 0, "NxCxHxW", "conv, pool: shape of the input"},
		{"kernel", CLI_TEXT, &o.kernel, 0, 0, "HxW", "conv, pool: window"},
		{"filters", CLI_INT, &o.filters, 1, 1 << 24, "F", "conv: output channels"},
		{"stride", CLI_TEXT, &o.stride, 0, 0, "HxW", "default: conv 1, pool the window"},
		{"pad", CLI_TEXT, &o.pad, 0, 0, "HxW", "on each side (default 0)"},
		{"dilation", CLI_TEXT, &o.dilation, 0, 0, "HxW", "default 1"},
		{"groups", CLI_INT, &o.groups, 1, 1 << 24, "G", "conv: groups (default 1)"},
		{"private", CLI_FLAG, &o.private_kernels, 0, 0, NULL,
		 "conv: filters of its own for every position; only diannao and reference"},
		{"type", CLI_TEXT, &o.pool, 0, 0, "T", "pool: max or average (default max)"},
		CLI_DEVICES_OPTION(&o.common.devices, CLI_DEVICES),
		{"precision", CLI_TEXT, &o.precision, 0, 0, "P",
		 "refuse devices that compute in another: int8, int8x16, Q6.10, float32, tf32, float16, bfloat16"},
		{"unsigned", CLI_FLAG, &o.is_unsigned, 0, 0, NULL, "int8: the input is unsigned"},
		{"requantise", CLI_FLAG, &o.requantise, 0, 0, NULL,
		 "gemm, conv in int8: 8-bit results instead of raw 32-bit accumulators"},
		CLI_DUMP_OPTION(&o.dump),
		{"output", CLI_OUTPUT, &o.common.output, 0, 0, "Y.npy", "the last device's result"},
		{"seed", CLI_INT, &o.common.seed, 0, INT64_MAX, "N", "of the operands (default 1)"},
		{"set", CLI_SETTINGS, &o.common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of a device"},
		{"timing-only", CLI_FLAG, &o.common.timing_only, 0, 0, NULL, "cycles and energy without values"},
		{"layers", CLI_FLAG, &o.common.layers, 0, 0, NULL,
		 "tables of use, bytes, energy and where the cycles went too"},
		{"no-accuracy", CLI_FLAG, &o.common.no_accuracy, 0, 0, NULL, "skip the float reference"},
		{"engine", CLI_TEXT, &o.common.engine, 0, 0, "fast|rtl",
		 "of the simulated machines that have both (default fast)"},
		CLI_THREADS_OPTION(&o.common.threads),
		CLI_MEMORY_OPTION(&o.common.max_memory),
		{"json", CLI_OUTPUT, &o.common.json, 0, 0, "FILE", "the machine-readable form; - for standard output"},
		{"csv", CLI_OUTPUT, &o.common.csv, 0, 0, "FILE", "one line per device"},
		{"quiet", CLI_FLAG, &o.common.quiet, 0, 0, NULL, "no table, no progress"},
		{0}};
	if (cli_parse(&cli_layer, options, argc, argv, &op, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!o.common.devices)
		o.common.devices = o.common.timing_only ? CLI_SIMULATED_DEVICES : CLI_DEVICES;
	if (!op)
		return npl_fail(err, NPL_EUSAGE, "layer: which? usage: npulab layer %s", cli_layer.arguments);
	if (o.common.output && o.common.timing_only)
		return npl_fail(err, NPL_EUSAGE, "layer: --timing-only computes no values for --output");
	return cli_check_reports(&o.common, err) ? err->code : run_layer(op, &o, err);
}

const struct cli_command cli_layer = {"layer", "gemm|conv|pool OPTIONS [--devices A,B,...]",
				      "one layer on several devices", layer_main};
