/* SPDX-License-Identifier: MIT
 *
 * The layer that the options of `npulab layer` describe (layer_spec.h). */
#include "layer_spec.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"

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
static int parse_pair(const char *name, const char *text, int64_t least, int64_t default_value, int64_t *pair,
		      struct npl_err *err)
{
	pair[0] = pair[1] = default_value;
	if (!text)
		return 0;
	int n = parse_dims(text, pair, 2);
	if (n == 1)
		pair[1] = pair[0];
	if (!n || pair[0] < least || pair[1] < least)
		return npl_fail(err, NPL_EUSAGE, "layer: --%s expects a number or HxW, from %lld on, got '%s'", name,
				(long long)least, text);
	return 0;
}

static int read_input(const char *text, struct npl_shape *shape, struct npl_err *err)
{
	int64_t dims[4];
	if (!text)
		return npl_fail(err, NPL_EUSAGE, "layer: --input NxCxHxW is missing");
	if (parse_dims(text, dims, 4) != 4 || !dims[0] || !dims[1] || !dims[2] || !dims[3])
		return npl_fail(err, NPL_EUSAGE, "layer: --input expects NxCxHxW, each from 1 on, got '%s'", text);
	*shape = npl_shape_of(4, dims[0], dims[1], dims[2], dims[3]);
	return 0;
}

/* Reads the input's shape and the window. default_stride 0: that of the kernel. */
static int read_window(const struct cli_layer_options *o, struct npl_layer_spec *spec, int64_t default_stride,
		       struct npl_window *w, struct npl_err *err)
{
	int64_t pad[2];
	if (read_input(o->input, &spec->x, err))
		return err->code;
	if (!o->kernel)
		return npl_fail(err, NPL_EUSAGE, "layer: --kernel HxW is missing");
	w->rank = 2;
	if (parse_pair("kernel", o->kernel, 1, 1, w->kernel, err) || parse_pair("pad", o->pad, 0, 0, pad, err) ||
	    parse_pair("stride", o->stride, 1, default_stride, w->stride, err) ||
	    parse_pair("dilation", o->dilation, 1, 1, w->dilation, err))
		return err->code;
	for (int i = 0; i < 2; i++) {
		w->pad_begin[i] = w->pad_end[i] = pad[i];
		w->stride[i] = w->stride[i] || o->stride ? w->stride[i] : w->kernel[i];
	}
	return 0;
}

static int read_gemm(const struct cli_layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	if (!o->m || !o->n || !o->k)
		return npl_fail(err, NPL_EUSAGE, "layer gemm: -m, -n and -k are needed");
	spec->op = NPL_OP_GEMM;
	spec->attrs.gemm = (struct npl_gemm_attrs){.alpha = 1, .beta = 1, .trans_b = true};
	spec->x = npl_shape_of(2, o->m, o->k);
	spec->outputs = o->n;
	return 0;
}

static int read_conv(const struct cli_layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	if (!o->filters)
		return npl_fail(err, NPL_EUSAGE, "layer conv: --filters is needed");
	spec->op = NPL_OP_CONV;
	spec->outputs = o->filters;
	spec->attrs.conv.groups = o->groups ? o->groups : 1;
	spec->attrs.conv.private_kernels = o->private_kernels;
	return read_window(o, spec, 1, &spec->attrs.conv.window, err);
}

static int read_pool(const struct cli_layer_options *o, struct npl_layer_spec *spec, struct npl_err *err)
{
	const bool is_average = o->pool && !strcmp(o->pool, "average");
	if (o->pool && !is_average && strcmp(o->pool, "max") != 0)
		return npl_fail(err, NPL_EUSAGE, "layer pool: --type is max or average, got '%s'", o->pool);
	spec->op = is_average ? NPL_OP_AVERAGEPOOL : NPL_OP_MAXPOOL;
	return read_window(o, spec, 0, &spec->attrs.pool.window, err);
}

static const char *gemm_title(const struct npl_layer_spec *spec, struct npl_arena *arena)
{
	return npl_arena_printf(arena, "gemm %lldx%lldx%lld", (long long)spec->x.dim[0], (long long)spec->outputs,
				(long long)spec->x.dim[1]);
}

static const char *conv_title(const struct npl_layer_spec *spec, struct npl_arena *arena)
{
	char shape[128];
	const struct npl_window *w = &spec->attrs.conv.window;
	npl_shape_text(&spec->x, shape, sizeof shape);
	return npl_arena_printf(arena, "conv %s, %lld %sfilters %lldx%lld", shape, (long long)spec->outputs,
				spec->attrs.conv.private_kernels ? "private " : "", (long long)w->kernel[0],
				(long long)w->kernel[1]);
}

static const char *pool_title(const struct npl_layer_spec *spec, struct npl_arena *arena)
{
	char shape[128];
	const struct npl_window *w = &spec->attrs.pool.window;
	npl_shape_text(&spec->x, shape, sizeof shape);
	return npl_arena_printf(arena, "pool %s, window %lldx%lld", shape, (long long)w->kernel[0],
				(long long)w->kernel[1]);
}

enum {
#define INDEX(word) INDEX_##word,
	CLI_LAYER_KINDS(INDEX, ) KINDS
};
enum {
#define KIND(word) KIND_##word = 1 << INDEX_##word,
	CLI_LAYER_KINDS(KIND, ) ALL_KINDS = (1 << KINDS) - 1
};

static const struct kind {
	const char *word;
	unsigned bit;
	int (*read)(const struct cli_layer_options *o, struct npl_layer_spec *spec, struct npl_err *err);
	const char *(*title)(const struct npl_layer_spec *spec, struct npl_arena *arena);
} kinds[] = {
#define ROW(word) {#word, KIND_##word, read_##word, word##_title},
	CLI_LAYER_KINDS(ROW, )};

static const struct kind *find_kind(const char *word)
{
	for (int i = 0; i < KINDS; i++)
		if (!strcmp(word, kinds[i].word))
			return &kinds[i];
	return NULL;
}

/* Refuses an option of another kind of layer, which would otherwise be ignored. */
static int refuse_foreign(const struct kind *kind, const struct cli_layer_options *o, struct npl_err *err)
{
	const struct {
		bool is_set;
		unsigned kinds;
		const char *name;
	} option[] = {
		{o->input, KIND_conv | KIND_pool, "input"},
#define CLI_LAYER_OPTION(kinds, member, name, ...) {o->member, kinds, name},
#include "layer_options.def"
	};
	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		if (option[i].is_set && !(option[i].kinds & kind->bit))
			return npl_fail(err, NPL_EUSAGE, "layer %s takes no %s%s", kind->word,
					option[i].name[1] ? "--" : "-", option[i].name);
	return 0;
}

const char *cli_layer_kinds_text(const char *last, char *buf, size_t size)
{
	static const char *const words[] = {
#define WORD(word) #word,
		CLI_LAYER_KINDS(WORD, )};
	return cli_names_text(words, KINDS, last, buf, size);
}

int cli_layer_read(const char *word, const struct cli_layer_options *o, struct npl_layer_spec *spec,
		   struct npl_err *err)
{
	const struct kind *kind = find_kind(word);
	char text[100];
	*spec = (struct npl_layer_spec){
		.unsigned_x = o->is_unsigned, .requantise = o->requantise, .zero_percent = o->zero_percent};
	spec->attrs.opset = 13;
	if (kind)
		return refuse_foreign(kind, o, err) ? err->code : kind->read(o, spec, err);
	return npl_fail(err, NPL_EUSAGE, "layer: '%s' is none of %s", word,
			cli_layer_kinds_text(", ", text, sizeof text));
}

const char *cli_layer_title(const char *word, const struct npl_layer_spec *spec, struct npl_arena *arena)
{
	return find_kind(word)->title(spec, arena);
}
