/* SPDX-License-Identifier: MIT
 *
 * npulab layer: one layer on several devices, its operands drawn from a seed. */
#include <string.h>

#include "common.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/number_format.h"
#include "dump_program.h"
#include "layer_spec.h"

struct layer_options {
	struct cli_common common;
	struct cli_layer_options layer;
	const char *precision, *dump;
};

/* Number formats by their names in this command, and in the settings of real devices. */
static const char *const formats[][2] = {
	{"int8", ""}, {"int8x16", "8x16"}, {"Q6.10", ""},        {"float32", "f32"},
	{"tf32", ""}, {"float16", "f16"},  {"bfloat16", "bf16"},
};
#define FORMATS ((int)(sizeof formats / sizeof *formats))

/* Returns the format of a name; NULL: there is none. */
static const char *find_format(const char *name)
{
	for (int i = 0; i < FORMATS; i++)
		if (!strcmp(name, formats[i][0]) || (*name && !strcmp(name, formats[i][1])))
			return formats[i][0];
	return NULL;
}

/* Writes the names of all formats, the last one behind `last`, and returns buf. */
static const char *formats_text(const char *last, char *buf, size_t size)
{
	const char *names[FORMATS];
	for (int i = 0; i < FORMATS; i++)
		names[i] = formats[i][0];
	return cli_names_text(names, FORMATS, last, buf, size);
}

static int check_precision_name(const char *precision, struct npl_err *err)
{
	char text[200];
	if (!precision || find_format(precision))
		return 0;
	return npl_fail(err, NPL_EUSAGE, "layer: --precision %s: there is no such number format, expected %s",
			precision, formats_text(" or ", text, sizeof text));
}

/* Options that only layers of integers have. */
struct integer_option {
	bool is_set;
	const char *name, *scope; /* the scope is followed by the names of the number formats that have the option */
	bool (*applies)(enum npl_format format);
};
enum { INTEGER_OPTIONS = 2 };

static bool has_byte_input(enum npl_format format)
{
	return npl_is_byte(npl_format_dtype(format));
}

static void find_integer_options(const struct layer_options *o, struct integer_option option[INTEGER_OPTIONS])
{
	option[0] = (struct integer_option){o->layer.is_unsigned, "--unsigned", "for an input of", has_byte_input};
	option[1] = (struct integer_option){o->layer.requantise, "--requantise", "for the results of",
					    npl_format_per_channel};
}

/* Says whether an option applies to the device's number format; where not, text says so. */
static bool applies(const struct integer_option *option, const struct npl_device_report *r, char *text, size_t size)
{
	const char *names[NPL_FORMATS];
	char list[80];
	int n = 0;
	if (option->applies(r->info.format))
		return true;
	for (enum npl_format format = 0; format < NPL_FORMATS; format++)
		if (option->applies(format))
			names[n++] = npl_format_name(format);
	snprintf(text, size, "%s is %s %s; %.40s computes in %s and knows none", option->name, option->scope,
		 cli_names_text(names, n, " and ", list, sizeof list), r->name, npl_device_precision(&r->info));
	return false;
}

/* Refuses devices of another number format than that of --precision, and an option that has no meaning in any device's
 * number format. Is called before any device runs. */
static int check_devices(void *data, const struct npl_comparison *c, struct npl_err *err)
{
	const struct layer_options *o = data;
	struct integer_option option[INTEGER_OPTIONS];
	char text[200];
	for (int d = 0; o->precision && d < c->n_devices; d++) {
		const char *format = npl_device_precision(&c->device[d].info);
		if (strcmp(find_format(o->precision), format))
			return npl_fail(err, NPL_EUSAGE, "layer: --precision %s: %s computes in %s", o->precision,
					c->device[d].name, format);
	}
	find_integer_options(o, option);
	for (int i = 0; i < INTEGER_OPTIONS; i++) {
		bool any = !option[i].is_set;
		/* From the last to the first, so that the text is of the first. */
		for (int d = c->n_devices - 1; d >= 0; d--)
			any |= applies(&option[i], &c->device[d], text, sizeof text);
		if (!any)
			return npl_fail(err, NPL_EUSAGE, "layer: %s", text);
	}
	return 0;
}

/* Warns where an option has no meaning in some devices' number format. */
static void warn_of_integers(const struct layer_options *o, const struct npl_comparison *c)
{
	struct integer_option option[INTEGER_OPTIONS];
	char text[200];
	const char *const warning = text;
	find_integer_options(o, option);
	for (int i = 0; i < INTEGER_OPTIONS; i++)
		for (int d = 0; d < c->n_devices; d++)
			if (option[i].is_set && !applies(&option[i], &c->device[d], text, sizeof text))
				cli_warn(NULL, &warning, 1);
}

static int run_layer(const char *kind, struct layer_options *o, struct npl_err *err)
{
	struct npl_layer_spec spec;
	struct npl_arena arena = {0};
	struct npl_comparison comparison;
	struct npl_tensor output = {0};
	struct cli_dump dump = {0};
	struct npl_compare_options compare_options;
	int rc = cli_layer_read(kind, &o->layer, &spec, err);
	if (!rc)
		rc = check_precision_name(o->precision, err);
	if (!rc)
		rc = cli_compare_options(&o->common, &arena, &compare_options, err);
	if (!rc)
		rc = cli_dump_open(&dump, o->dump, o->common.devices, err);
	if (rc) {
		npl_arena_free(&arena);
		return rc;
	}
	spec.seed = (uint64_t)o->common.seed;
	spec.no_accuracy = o->common.no_accuracy;
	spec.check_devices = check_devices;
	spec.check_data = o;
	compare_options.programs = o->dump ? &dump.sink : NULL;
	rc = npl_single_layer(&spec, &compare_options, &comparison, o->common.output ? &output : NULL, err);
	cli_waiting_end();
	if (!rc) {
		struct npl_report_context context = {.model_name = cli_layer_title(kind, &spec, &arena),
						     .single_layer = true,
						     .layers = o->common.layers};
		rc = context.model_name ? 0 : npl_no_memory(err);
		if (!rc && !o->common.quiet)
			warn_of_integers(o, &comparison);
		if (!rc)
			rc = cli_dump_write(&dump, compare_options.device_names[0], comparison.device[0].name,
					    &o->common, err);
		/* --output is of the last device's result, and of no other's where that one cannot start. */
		const struct npl_unavailables *missing = &comparison.unavailable;
		if (missing->n && missing->device[missing->n - 1].entries_before == comparison.n_devices)
			o->common.output = NULL;
		if (!rc)
			rc = cli_report_comparison(&comparison, &context, &output, &o->common, err);
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
	const char *kind = NULL;
	struct cli_layer_options *layer = &o.layer;
	bool help_printed;
	int n_words;
	char names[100], precision_help[200];
	snprintf(precision_help, sizeof precision_help, "refuse devices that compute in another: %s",
		 formats_text(", ", names, sizeof names));
	const struct cli_option options[] = {
		{"input", CLI_TEXT, &o.layer.input, 0, 0, "NxCxHxW", "conv, pool: shape of the input"},
#include "layer_options.def"
		CLI_DEVICES_OPTION(&o.common.devices, CLI_DEVICES),
		{"precision", CLI_TEXT, &o.precision, 0, 0, "P", precision_help},
		CLI_DUMP_OPTION(&o.dump),
		{"output", CLI_OUTPUT, &o.common.output, 0, 0, "Y.npy", "the last device's result"},
		{"seed", CLI_INT, &o.common.seed, 0, INT64_MAX, "N", "of the operands (default 1)"},
		{"set", CLI_SETTINGS, &o.common.set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of a device"},
		{"timing-only", CLI_FLAG, &o.common.timing_only, 0, 0, NULL, "cycles and energy without values"},
		{"layers", CLI_FLAG, &o.common.layers, 0, 0, NULL,
		 "tables of use, bytes, energy and where the cycles went too"},
		CLI_NO_ACCURACY_OPTION(&o.common.no_accuracy),
		CLI_ENGINE_OPTION(&o.common.engine),
		CLI_THREADS_OPTION(&o.common.threads),
		CLI_MEMORY_OPTION(&o.common.max_memory),
		CLI_JSON_OPTION(&o.common.json),
		CLI_HTML_OPTION(&o.common.html),
		{"csv", CLI_OUTPUT, &o.common.csv, 0, 0, "FILE", "one line per device"},
		CLI_QUIET_OPTION(&o.common.quiet, ""),
		{0}};
	if (cli_parse(&cli_layer, options, argc, argv, &kind, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!o.common.devices)
		o.common.devices = o.common.timing_only ? CLI_SIMULATED_DEVICES : CLI_DEVICES;
	if (!kind)
		return npl_fail(err, NPL_EUSAGE, "layer: which? usage: npulab layer %s", cli_layer.arguments);
	if (o.common.output && o.common.timing_only)
		return npl_fail(err, NPL_EUSAGE, "layer: --timing-only computes no values for --output");
	return cli_check_reports(&o.common, err) ? err->code : run_layer(kind, &o, err);
}

const struct cli_command cli_layer = {"layer", CLI_LAYER_WORDS("|") " OPTIONS [--devices A,B,...]",
				      "one layer on several devices", layer_main};
